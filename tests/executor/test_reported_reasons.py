"""A result has a code that says why its execution ended, unless its handler returned or failed by itself."""

import ast
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orth.domain.jobs import BlockStrategy
from orth.domain.reasons import REASONS, ReportedReason
from orth.errors import Unavailable
from orth.executor import job_thread
from orth.executor.context import JobContext, JobFailed
from orth.executor.handlers import Handlers
from orth.executor.isolation import WorkerPool
from orth.wire.messages import CallbackItem, KillRequest
from tests.executor.bench import HandClock, Rig, eventually
from tests.executor.conftest import MakeRig
from tests.executor.gates import Gates
from tests.executor.isolated_jobs import app as isolated_app

COVER = {"executor_block_strategy": BlockStrategy.COVER_EARLY}
SOURCES = Path(job_thread.__file__).parent
BY_HANDLERS = ("context.py", "isolation.py", "running.py", "worker.py")
"""Where outcomes are made of what handlers return and raise."""


@pytest.fixture
def gates(app: Handlers) -> Iterator[Gates]:
    made = Gates(app)
    yield made
    made.let(*range(10))


def reasons_of(ran: Rig, *log_ids: int) -> list[ReportedReason | None]:
    eventually(lambda: set(log_ids) <= ran.waiting().keys())
    return [ran.waiting()[one].reason for one in log_ids]


def one_runs_and_one_waits(ran: Rig, gates: Gates, **more: Any) -> None:
    for log_id in (1, 2):
        assert ran.run(log_id, "patient", **more).ok
    gates.wait_for(1)


def test_a_later_execution_that_covers(rig: MakeRig, gates: Gates) -> None:
    ran = rig()
    one_runs_and_one_waits(ran, gates)
    ran.run(3, "patient", **COVER)
    gates.let(3)
    assert reasons_of(ran, 1, 2, 3) == [ReportedReason.COVERED, ReportedReason.COVERED, None]


def test_another_handler_for_the_job(rig: MakeRig, gates: Gates) -> None:
    ran = rig()
    one_runs_and_one_waits(ran, gates)
    ran.run(3, "polite")
    gates.let(3)
    assert reasons_of(ran, 1, 2, 3) == [ReportedReason.HANDLER_CHANGED, ReportedReason.HANDLER_CHANGED, None]


@pytest.mark.parametrize("log_id", [None, 1])
def test_a_kill(rig: MakeRig, gates: Gates, log_id: int | None) -> None:
    ran = rig()
    one_runs_and_one_waits(ran, gates)
    assert ran.run(3, "patient", start_in=60_000).ok
    for killed in (log_id, 2, 3):
        ran.runtime.admission.kill(KillRequest(job_id=1, log_id=killed))
    assert reasons_of(ran, 1, 2, 3) == [ReportedReason.KILLED] * 3


def test_a_kill_of_a_handler_that_cannot_be_ended(rig: MakeRig, gates: Gates) -> None:
    ran = rig(kill_grace=0.1)
    assert ran.run(1, "deaf").ok
    gates.wait_for(1)
    ran.runtime.admission.kill(KillRequest(job_id=1, log_id=1))
    assert reasons_of(ran, 1) == [ReportedReason.KILLED]
    assert ran.waiting()[1].still_inside


async def test_a_time_limit(rig: MakeRig, gates: Gates, clock: HandClock) -> None:
    ran = rig(clock=clock)
    assert ran.run(1, "patient", executor_timeout=5).ok
    gates.wait_for(1)
    clock.advance(5)
    await ran.runtime.limits.turn()
    assert reasons_of(ran, 1) == [ReportedReason.TIMED_OUT]


def test_an_executor_that_stops(rig: MakeRig, gates: Gates) -> None:
    ran = rig(kill_grace=0.1)
    one_runs_and_one_waits(ran, gates)
    assert ran.run(3, "patient", start_in=60_000).ok
    ran.runtime.admission.close()
    ran.runtime.threads.drain(0.05)
    assert reasons_of(ran, 1, 2, 3) == [ReportedReason.EXECUTOR_STOPPED] * 3


def test_an_executor_that_gives_everything_up(rig: MakeRig, gates: Gates) -> None:
    ran = rig()
    one_runs_and_one_waits(ran, gates)
    ran.runtime.threads.give_up("it was told twice to stop")
    assert reasons_of(ran, 1, 2) == [ReportedReason.EXECUTOR_STOPPED] * 2


def test_an_error_of_the_executor(rig: MakeRig, gates: Gates, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_given: object, **_named: object) -> CallbackItem:
        raise RuntimeError("a bug")

    monkeypatch.setattr(job_thread, "carry_out", fail)
    ran = rig()
    assert ran.run(1, "patient").ok
    assert reasons_of(ran, 1) == [ReportedReason.EXECUTOR_FAILED]


def test_no_thread_when_its_time_has_come(
    rig: MakeRig, gates: Gates, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    ran = rig(clock=clock)
    assert ran.run(1, "patient", start_in=1_000).ok
    (thread,) = ran.runtime.threads._threads.values()
    with thread.lock:
        thread._hands = 0  # as if the thread that was made for it had left
    monkeypatch.setattr(threading.Thread, "start", no_more)
    clock.advance(1)
    ran.runtime.threads._start_due()
    assert reasons_of(ran, 1) == [ReportedReason.EXECUTOR_FAILED]


def test_a_process_that_dies_and_one_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = Rig(isolated_app, tmp_path / "executor")
    try:
        assert ran.result(1, "fails", executor_params="segfault").reason is ReportedReason.PROCESS_DIED
        monkeypatch.setattr(WorkerPool, "take", failing)
        assert ran.result(2, "where").reason is ReportedReason.EXECUTOR_FAILED
    finally:
        ran.runtime.close()


def failing(_pool: WorkerPool) -> Any:
    raise Unavailable("no process can be made")


def test_what_a_handler_says_itself_has_none(rig: MakeRig, app: Handlers) -> None:
    def fails() -> None:
        raise JobFailed("by itself")

    def raises() -> None:
        raise ValueError("by itself")

    def exits() -> None:
        raise SystemExit(3)

    def says(ctx: JobContext) -> None:
        ctx.result(502, "too late, it finds")

    def takes(number: int) -> None: ...

    ways: list[Callable[..., object]] = [fails, raises, exits, says, takes]
    for way in ways:
        app.job(way.__name__)(way)
    ran = rig()
    for log_id, way in enumerate(ways, 1):
        item = ran.result(log_id, way.__name__)
        assert (item.handle_code != 200, item.reason) == (True, None), way.__name__


def test_every_code_has_its_text() -> None:
    assert {one.value for one in ReportedReason} <= REASONS.keys()


def test_no_other_outcome_of_the_executor_is_without_a_reason() -> None:
    """What an executor makes of its own accord is a failure with a reason."""
    without = [
        f"{file.name}:{call.lineno}"
        for file in sorted(SOURCES.glob("*.py"))
        if file.name not in BY_HANDLERS
        for call in ast.walk(ast.parse(file.read_text()))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Outcome"
        if "reason" not in {keyword.arg for keyword in call.keywords}
    ]
    assert without == []
