"""A coordinator and a real executor of another make, pyxxl: the whole walk, and what it does differently."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from orth.wire.executor_calls import ExecutorCalls
from orth.wire.messages import LogRequest
from tests.foreign.conftest import Coordinator
from tests.foreign.pyxxl_process import Pyxxl, interpreter
from tests.walk.processes import HTTP, TOKEN, Site, eventually
from tests.wire.peers import Exchange, Peer


@pytest.fixture(scope="session")
def python() -> Path:
    return interpreter()


@pytest.fixture
def pyxxl(python: Path, coordinator: Coordinator, tmp_path: Path) -> Iterator[Pyxxl]:
    """A running executor, registered."""
    admin = f"{coordinator.url}/xxl-job-admin/api/"
    with Pyxxl(python, tmp_path / "pyxxl", coordinator.app_name(), admin) as executor:
        registered(coordinator, executor)
        yield executor


@pytest.fixture
def group(coordinator: Coordinator, pyxxl: Pyxxl) -> int:
    return coordinator.group(pyxxl.app_name)


def registered(coordinator: Coordinator, executor: Pyxxl) -> None:
    path = f"/api/v1/executors?app_name={executor.app_name}"
    eventually(lambda: coordinator.api.call("GET", path)["items"], what="its registration")


async def test_register_run_log_and_good_bye(coordinator: Coordinator, pyxxl: Pyxxl, group: int) -> None:
    (shown,) = coordinator.api.call("GET", f"/api/v1/executors?app_name={pyxxl.app_name}")["items"]
    assert (shown["address"], shown["state"]) == (pyxxl.address, "alive")
    job = coordinator.job(group, executor_handler="give", executor_param='"hello"')
    execution = coordinator.trigger(job)
    ended = coordinator.until(execution, status="success")
    assert (ended["handle_msg"], ended["executor_address"]) == ("hello", pyxxl.address)
    page = coordinator.api.call("GET", f"/api/v1/executions/{execution}/log?from=1")
    assert 'giving "hello"' in page["content"]
    following = coordinator.api.call("GET", f"/api/v1/executions/{execution}/log?from={page['to_line'] + 1}")
    assert following["end"]
    async with ExecutorCalls() as calls:
        asked = LogRequest(log_id=execution, log_date_time=0, from_line_num=1)
        assert 'giving "hello"' in (await calls.log(pyxxl.address, asked, token=TOKEN)).content
    pyxxl.stop()
    assert coordinator.api.call("GET", f"/api/v1/executors?app_name={pyxxl.app_name}")["items"] == []


@pytest.mark.parametrize(
    ("param", "message"),
    [
        ('{"rows": 3, "names": ["ü"]}', '{"rows": 3, "names": ["ü"]}'),
        ("[1, 2.5]", "[1, 2.5]"),
        ("42", "42"),
        ("null", ""),
        ("true", "true"),
    ],
)
def test_results_that_are_no_texts(
    coordinator: Coordinator, pyxxl: Pyxxl, group: int, param: str, message: str
) -> None:
    execution = coordinator.trigger(coordinator.job(group, executor_handler="give", executor_param=param))
    assert coordinator.until(execution, status="success")["handle_msg"] == message


def test_failures_time_limits_and_unknown_handlers(coordinator: Coordinator, pyxxl: Pyxxl, group: int) -> None:
    failed = coordinator.trigger(coordinator.job(group, executor_handler="fail"))
    assert "failed as asked" in coordinator.until(failed, status="failed")["handle_msg"]
    late = coordinator.job(group, executor_handler="hold", executor_param="late", executor_timeout=1)
    coordinator.until(coordinator.trigger(late), status="failed")  # it does not report 502
    unknown = coordinator.trigger(coordinator.job(group, executor_handler="no-such-handler"))
    assert pyxxl.address in coordinator.until(unknown, status="trigger_failed")["trigger_msg"]


def two_at_once(coordinator: Coordinator, pyxxl: Pyxxl, group: int, strategy: str) -> tuple[int, int]:
    """Two triggers of a job, the second while the first one runs."""
    job = coordinator.job(group, executor_handler="hold", executor_block_strategy=strategy)
    first = coordinator.trigger(job, executor_param="first")
    pyxxl.until("began first")
    return first, coordinator.trigger(job, executor_param="second")


def test_serial_waits(coordinator: Coordinator, pyxxl: Pyxxl, group: int) -> None:
    first, second = two_at_once(coordinator, pyxxl, group, "SERIAL_EXECUTION")
    coordinator.until(second, status="pending")
    assert pyxxl.notes() == ["began first"]
    pyxxl.release("second")
    pyxxl.release("first")
    for execution, message in ((first, "released first"), (second, "released second")):
        assert coordinator.until(execution, status="success")["handle_msg"] == message
    assert pyxxl.notes() == ["began first", "ended first", "began second", "ended second"]


def test_discard_refuses_the_later_one(coordinator: Coordinator, pyxxl: Pyxxl, group: int) -> None:
    first, second = two_at_once(coordinator, pyxxl, group, "DISCARD_LATER")
    assert coordinator.until(second, status="trigger_failed")["reason_code"] == "discarded"
    pyxxl.release("first")
    coordinator.until(first, status="success")
    assert pyxxl.notes() == ["began first", "ended first"]


def test_cover_ends_the_earlier_one(coordinator: Coordinator, pyxxl: Pyxxl, group: int) -> None:
    first, second = two_at_once(coordinator, pyxxl, group, "COVER_EARLY")
    coordinator.until(first, status="failed")
    pyxxl.until("began second")
    pyxxl.release("second")
    coordinator.until(second, status="success")
    assert "ended first" not in pyxxl.notes()


def test_kill_ends_what_runs_and_what_waited(coordinator: Coordinator, pyxxl: Pyxxl, group: int) -> None:
    first, second = two_at_once(coordinator, pyxxl, group, "SERIAL_EXECUTION")
    coordinator.until(second, status="pending")
    answer = coordinator.kill(first)
    assert (answer["told"], sorted(answer["ended"])) == (True, [first, second])
    assert coordinator.execution(first)["handle_msg"] == "Killed by admin"
    # It forgets what waited and tells nobody.
    waited = coordinator.execution(second)
    assert (waited["status"], waited["reason_code"]) == ("failed", "killed")
    job = coordinator.execution(first)["job_id"]
    coordinator.trigger(job, executor_param="third")
    pyxxl.until("began third")  # nothing of what was killed is in its way
    pyxxl.release("third")
    pyxxl.until("ended third")
    assert pyxxl.notes() == ["began first", "began third", "ended third"]


def test_a_killed_handler_that_goes_on_cannot_turn_into_a_success(
    coordinator: Coordinator, pyxxl: Pyxxl, group: int
) -> None:
    job = coordinator.job(group, executor_handler="stubborn", executor_param="mule")
    execution = coordinator.trigger(job)
    pyxxl.until("began mule")
    coordinator.until(execution, status="pending")
    assert coordinator.kill(execution)["told"]
    pyxxl.until("swallowed mule")
    after = coordinator.job(group, executor_handler="give", executor_param="1")
    coordinator.until(coordinator.trigger(after), status="success")  # its reports come one after the other
    ended = coordinator.execution(execution)
    assert (ended["status"], ended["handle_msg"]) == ("failed", "Killed by admin")


class Forgetful:
    """A line to the coordinator on which the answer to the first report is lost."""

    def __init__(self, coordinator: str) -> None:
        self._coordinator = coordinator
        self.reports = 0

    def __call__(self, exchange: Exchange) -> None:
        asked = exchange.request
        headers = {name: value for name, value in asked.headers.items() if name not in ("host", "content-length")}
        answer = HTTP.request("POST", self._coordinator + asked.path, body=asked.body, headers=headers)
        if asked.path.endswith("/callback"):
            self.reports += 1
            if self.reports == 1:
                exchange.close()
                return
        exchange.respond(answer.data, answer.status, answer.headers["content-type"])


def test_a_result_that_is_reported_twice_counts_once(python: Path, coordinator: Coordinator, tmp_path: Path) -> None:
    line = Forgetful(coordinator.url)
    with (
        Peer(line) as peer,
        Pyxxl(python, tmp_path / "pyxxl", coordinator.app_name(), f"{peer.address}/xxl-job-admin/api/") as executor,
    ):
        registered(coordinator, executor)
        group = coordinator.group(executor.app_name)
        job = coordinator.job(group, executor_handler="give", executor_param='{"once": true}')
        execution = coordinator.trigger(job)
        ended = coordinator.until(execution, status="success")
        eventually(lambda: line.reports >= 2, what="the second report")
        assert coordinator.execution(execution) == ended
        assert ended["handle_msg"] == '{"once": true}'
        assert len(coordinator.api.items(f"/api/v1/executions?job_id={job}")) == 1


def test_a_result_outlives_the_coordinator_that_sent_the_trigger(python: Path, tmp_path: Path) -> None:
    with Site(tmp_path) as site:  # with the usual patience: while nobody listens its result is only late, not lost
        first = site.coordinator()
        coordinator = Coordinator(site)
        with Pyxxl(python, tmp_path / "pyxxl", "outliving", f"{site.url}/xxl-job-admin/api/") as executor:
            registered(coordinator, executor)
            job = coordinator.job(coordinator.group("outliving"), executor_handler="hold", executor_param="long")
            execution = coordinator.trigger(job)
            executor.until("began long")
            coordinator.until(execution, status="pending")
            first.end(signal.SIGKILL)
            executor.release("long")
            executor.until("ended long")
            site.coordinator()
            assert coordinator.until(execution, status="success")["handle_msg"] == "released long"
            again = coordinator.trigger(job)
            assert coordinator.until(again, status="success")["executor_address"] == executor.address
