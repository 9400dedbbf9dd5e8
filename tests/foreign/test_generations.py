"""A coordinator and executors of every generation that cannot be installed here, as recorded in ``exchanges/``."""

from collections.abc import Iterator

import pytest

from orth.domain.jobs import GroupDialect
from orth.wire.executor_calls import ExecutorCalls
from tests.foreign.conftest import Coordinator
from tests.foreign.executors import EXCHANGES, Recorded
from tests.walk.processes import TOKEN, eventually

GENERATIONS = sorted(path.stem for path in EXCHANGES.glob("*.json"))


def test_the_generations_are_all_there() -> None:
    assert GENERATIONS == ["orth-fork", "xxl-job-2.2", "xxl-job-2.3", "xxl-job-3.2", "xxl-job-3.4", "xxl-job-3.5"]


@pytest.fixture(params=GENERATIONS)
def executor(request: pytest.FixtureRequest, coordinator: Coordinator) -> Iterator[Recorded]:
    with Recorded(request.param, coordinator.url, coordinator.app_name()) as executor:
        yield executor
        assert executor.complaints == []


def job_of(coordinator: Coordinator, executor: Recorded, **fields: object) -> int:
    group = coordinator.group(executor.app_name, dialect=executor.recording["dialect"])
    return coordinator.job(group, executor_param="from orth", executor_timeout=30, **fields)


def test_from_registration_to_good_bye(coordinator: Coordinator, executor: Recorded) -> None:
    told = executor.say("registry")
    assert told["code"] == 200
    assert told["content"] == told["data"]
    job = job_of(coordinator, executor)
    execution = coordinator.trigger(job)
    pending = coordinator.until(execution, status="pending")
    assert pending["executor_address"].rstrip("/") == executor.address
    first = coordinator.api.call("GET", f"/api/v1/executions/{execution}/log?from=1")
    assert (first["from_line"], first["to_line"], first["end"]) == (1, 2, False)
    assert first["content"].endswith("second")
    assert executor.say("succeeded")["code"] == 200
    ended = coordinator.until(execution, status="success")
    assert ended["handle_msg"] in ("done", "")
    last = coordinator.api.call("GET", f"/api/v1/executions/{execution}/log?from=3")
    assert (last["to_line"], last["content"], last["end"]) == (2, "", True)
    assert executor.say("succeeded")["code"] == 200  # again, as after a lost answer
    assert coordinator.execution(execution) == ended
    assert executor.say("registryRemove")["code"] == 200
    assert coordinator.api.call("GET", f"/api/v1/executors?app_name={executor.app_name}")["items"] == []


@pytest.mark.parametrize(("route", "question"), [("FAILOVER", "beat"), ("BUSYOVER", "idleBeat")])
def test_it_is_asked_before_it_is_sent_anything(
    coordinator: Coordinator, executor: Recorded, route: str, question: str
) -> None:
    executor.say("registry")
    execution = coordinator.trigger(job_of(coordinator, executor, executor_route_strategy=route))
    coordinator.until(execution, status="pending")
    assert question in [name for name, _body in executor.calls]
    executor.say("succeeded")
    coordinator.until(execution, status="success")


async def test_it_is_killed_by_job_and_reports_that_itself(coordinator: Coordinator, executor: Recorded) -> None:
    executor.say("registry")
    job = job_of(coordinator, executor)
    execution = coordinator.trigger(job)
    coordinator.until(execution, status="pending")
    dialect = GroupDialect(executor.recording["dialect"])
    async with ExecutorCalls() as calls:
        reply = await calls.kill(
            executor.address, job, execution, token=TOKEN, app_name=executor.app_name, dialect=dialect
        )
    assert reply.ok
    assert executor.got("kill") == [{"jobId": job}]
    assert executor.say("killed")["code"] == 200
    ended = coordinator.until(execution, status="failed")
    assert "job kill" in ended["handle_msg"]


def test_auto_serves_a_group_of_two_generations(coordinator: Coordinator) -> None:
    app_name = coordinator.app_name()
    with (
        Recorded("xxl-job-3.4", coordinator.url, app_name) as older,
        Recorded("xxl-job-3.5", coordinator.url, app_name) as newer,
    ):
        older.say("registry")
        newer.say("registry")
        group = coordinator.group(app_name)
        job = coordinator.job(
            group, executor_param="from orth", executor_timeout=30, executor_route_strategy="SHARDING_BROADCAST"
        )
        coordinator.api.call("POST", f"/api/v1/jobs/{job}/trigger", {})
        eventually(lambda: older.got("run") and newer.got("trigger"), what="a trigger for each")
        assert [(len(one.got("run")), len(one.got("trigger"))) for one in (older, newer)] == [(1, 0), (0, 1)]


@pytest.mark.parametrize("wrong", ["xxl35", "xxl"])
def test_a_refusal_that_looks_like_the_wrong_dialect_says_so(coordinator: Coordinator, wrong: str) -> None:
    name = "xxl-job-3.5" if wrong != "xxl35" else "xxl-job-3.4"
    with Recorded(name, coordinator.url, coordinator.app_name()) as executor:
        executor.say("registry")
        group = coordinator.group(executor.app_name, dialect=wrong)
        execution = coordinator.trigger(coordinator.job(group))
        failed = coordinator.until(execution, status="trigger_failed")
        assert failed["reason_code"] == "wrong_dialect"
        assert failed["trigger_msg"].endswith(f"another dialect than {wrong}, which its group names.")


@pytest.mark.parametrize("wrong", ["xxl35", "xxl", "orth"])
def test_the_wrong_dialect_is_a_failure_that_names_the_executor(coordinator: Coordinator, wrong: str) -> None:
    """Each recorded executor refuses what another generation would take; so the test above can fail."""
    name = "xxl-job-3.5" if wrong != "xxl35" else "xxl-job-3.4"
    with Recorded(name, coordinator.url, coordinator.app_name()) as executor:
        executor.say("registry")
        group = coordinator.group(executor.app_name, dialect=wrong)
        execution = coordinator.trigger(coordinator.job(group))
        failed = coordinator.until(execution, status="trigger_failed")
        assert executor.address in failed["trigger_msg"]
        eventually(lambda: executor.calls, what="a call")
