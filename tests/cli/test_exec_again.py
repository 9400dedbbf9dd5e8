"""``orth exec retry`` and ``orth exec dead`` against a served coordinator."""

import json

import pytest

from orth.errors import ApiProblem
from tests.cli.conftest import Run
from tests.cli.signed_in import SignedIn
from tests.coordinator.http.live import Site
from tests.coordinator.http.test_execution_actions import failed, shown


class Orth(SignedIn):
    command = "exec"

    def failing(self, *arguments: str) -> tuple[int, BaseException | None, str]:
        result = self._run("exec", *arguments, **self.environ)
        return result.exit_code, result.exception, result.output


@pytest.fixture
def orth(run: Run, served: Site) -> Orth:
    served.reset()
    return Orth(run, served)


def test_one_is_done_again(orth: Orth) -> None:
    one = failed(orth.site, orth.site.executor(), orth.site.job())
    told = orth("retry", str(one), "--key", "k").split()
    assert told[0] == "Execution"
    assert told[2:] == ["again", "after", str(one)]
    assert json.loads(orth("retry", str(one), "--key", "k", "-o", "json")) == {"id": int(told[1])}
    assert shown(orth.site, int(told[1]))["cause"] == "manual"
    waiting = orth.failing("retry", told[1])[1]
    assert isinstance(waiting, ApiProblem)
    assert waiting.status == 409


def test_many_are_done_again(orth: Orth) -> None:
    job_id = orth.site.job()
    ids = [failed(orth.site, orth.site.executor(), job_id) for _ in range(3)]
    assert orth("retry", "--job", str(job_id), "--max", "2", "--dry-run").splitlines() == [
        f"Would be done  2   {ids[0]}, {ids[1]}",
        "Left           1: repeat the command to go on",
    ]
    assert orth("retry", "--job", str(job_id), "--max", "2").startswith("Opened  2   ")
    assert json.loads(orth("retry", "--job", str(job_id), "-o", "json"))["done"] == 1
    assert orth("retry", "--job", str(job_id)) == "Opened  0\n"


@pytest.mark.parametrize("arguments", [(), ("7", "--job", "1"), ("7", "--dry-run"), ("--job", "1", "--max", "1001")])
def test_what_is_meant_must_be_said_in_one_way(orth: Orth, arguments: tuple[str, ...]) -> None:
    assert orth.failing("retry", *arguments)[0] != 0


def test_dead_letters_are_listed_and_settled(orth: Orth) -> None:
    job_id = orth.site.job()
    first, second, third = [failed(orth.site, orth.site.executor(), job_id) for _ in range(3)]
    head, row, *_ = orth("dead", "list").splitlines()
    assert head.split() == ["EXECUTION", "JOB", "STATUS", "ENDED", "STATE", "REPLAYED", "BY", "REASON", "MESSAGE"]
    assert row.split() == [str(third), str(job_id), "failed", "2026-01-30T10:00:00.000Z", "waiting", "-", "-", "-"]
    assert orth("dead", "drop", str(first)) == f"Dropped  1   {first}\n"
    assert orth("dead", "drop", str(second), "--dry-run") == f"Would be dropped  1   {second}\n"
    assert orth("dead", "replay", "--job", str(job_id), "--max", "1").splitlines()[1].startswith("Left")
    assert orth("dead", "list", "--state", "waiting", "-o", "name").split() == [str(third)]
    assert orth("dead", "replay", str(first), str(second)).splitlines() == ["Opened   0", "Skipped  2"]
    code, problem, _output = orth.failing("dead", "replay")
    assert code != 0
    assert isinstance(problem, ApiProblem)
    assert problem.status == 422
