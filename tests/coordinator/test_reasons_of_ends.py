"""Each end that is no success and no failure of the handler has a reason code, whoever ended the execution."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import orth.coordinator
from orth.domain.executions import Status
from orth.executor.context import JobFailed
from orth.executor.handlers import Handlers
from orth.testing import Cluster

SOURCES = Path(orth.coordinator.__file__).parent


@pytest.fixture
def app() -> Handlers:
    made = Handlers("tests")

    def fails() -> None:
        raise JobFailed("by itself")

    made.job("fails")(fails)
    return made


async def test_one_whose_handler_fails_by_itself_has_none(tmp_path: Path, app: Handlers) -> None:
    async with Cluster(tmp_path, app) as cluster:
        job = await cluster.job(start=False, executor_handler="fails")
        failed = await cluster.trigger(job)
        await cluster.advance(seconds=1)
        one = await cluster.execution(failed)
        assert (one.status, one.reason_code) == (Status.FAILED, None)


def calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    for file in sorted(SOURCES.rglob("*.py")):
        for call in ast.walk(ast.parse(file.read_text())):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == name:
                yield f"{file.name}:{call.lineno}", call


def test_whatever_ends_an_execution_says_why() -> None:
    endings = {place: {keyword.arg for keyword in call.keywords} for place, call in calls("Ending")}
    assert len(endings) > 10
    assert [place for place, named in endings.items() if not named & {"reason_code", "reported_reason"}] == []


def test_whatever_is_said_of_a_letter_that_was_not_taken_has_a_code() -> None:
    answers = dict(calls("Answer"))
    assert len(answers) > 10
    without = {place: ast.unparse(call.args[1]) for place, call in answers.items() if len(call.args) < 4}
    assert set(without.values()) == {"Outcome.TAKEN"}
