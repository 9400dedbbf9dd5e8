"""Code of a handler's author that runs around the handler, and does not end: one result follows all the same."""

import logging
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import BeforeValidator

from orth.executor.facts import DestroyFailed, ThreadMissing
from orth.executor.handlers import Handlers
from orth.wire.messages import CallbackItem, KillRequest
from tests.executor.bench import Rig, eventually
from tests.executor.conftest import MakeRig
from tests.executor.dawdling_jobs import app as dawdling_app
from tests.executor.survivors import outcome, turning

COVER = {"executor_block_strategy": "COVER_EARLY"}


@pytest.fixture
def stuck() -> Iterator[threading.Lock]:
    """Waited for in C, where no exception strikes, until the test is over."""
    lock = threading.Lock()
    with lock:
        yield lock


def register_those_that_hang(app: Handlers, lock: threading.Lock) -> None:
    def hang(value: object) -> str:
        with lock:
            return "late"

    class Hanging(Exception):
        __str__ = __repr__ = hang

    @app.job
    def raised() -> None:
        raise Hanging

    app.job("returned")(lambda: Hanging())

    @app.job
    def validated(pace: Annotated[str, BeforeValidator(hang)], more: int = 0) -> None: ...


WHERE = [("validated", '{"pace": "slow"}'), ("returned", ""), ("raised", "")]


def kill(ran: Rig, job_id: int = 1) -> None:
    assert ran.runtime.admission.kill(KillRequest(job_id=job_id)).ok


def result_of(ran: Rig, log_id: int) -> CallbackItem:
    """Of an execution whose thread may still be inside."""
    eventually(lambda: log_id not in ran.runtime.threads.open_ids())
    return outcome(ran, log_id)


@pytest.mark.parametrize(("handler", "text"), WHERE)
def test_what_hangs_around_the_handler_is_killed_as_the_handler_is(
    app: Handlers, rig: MakeRig, stuck: threading.Lock, handler: str, text: str
) -> None:
    register_those_that_hang(app, stuck)
    ran = rig(kill_grace=0.2)
    ran.run(1, handler, executor_params=text)
    eventually(lambda: 1 in ran.runtime.tools.contexts)
    kill(ran)
    item = result_of(ran, 1)
    assert item.handle_code == 500
    assert "it was killed on request" in item.handle_msg
    assert len(ran.runtime.tools.abandoned) == 1


@pytest.mark.parametrize(("handler", "text"), WHERE)
def test_what_hangs_around_the_handler_is_within_its_limit(
    app: Handlers, rig: MakeRig, stuck: threading.Lock, handler: str, text: str
) -> None:
    register_those_that_hang(app, stuck)
    ran = rig(kill_grace=0.2)
    with turning(ran):
        ran.run(1, handler, executor_params=text, executor_timeout=1)
        assert result_of(ran, 1).handle_code == 502
        eventually(lambda: len(ran.runtime.tools.abandoned) == 1)


def test_parameters_for_a_worker_can_be_ended_while_they_are_read(tmp_path: Path) -> None:
    ran = Rig(dawdling_app, tmp_path / "workers", warm_workers=1)
    try:
        ran.run(1, "dawdling", executor_params='{"pace": "long"}')
        eventually(lambda: 1 in ran.runtime.tools.contexts)
        kill(ran)
        assert "it was killed on request" in result_of(ran, 1).handle_msg
        assert outcome(ran, 1).handle_code == 500
        assert ran.result(2, "dawdling", executor_params='{"pace": "short"}').handle_msg == "short 0"
    finally:
        ran.runtime.close()


def register_versions(app: Handlers, lock: threading.Lock) -> None:
    @app.job("old")
    class Old:
        def execute(self) -> str:
            return "old"

        def destroy(self) -> None:
            with lock:
                return

    app.job("new")(lambda: "new")


def test_a_destroy_that_hangs_does_not_hold_up_the_next_version(
    app: Handlers, rig: MakeRig, stuck: threading.Lock
) -> None:
    register_versions(app, stuck)
    ran = rig(kill_grace=0.2)
    ran.result(1, "old")
    with turning(ran):
        ran.run(2, "new")
        assert result_of(ran, 2).handle_msg == "new"
        [told] = ran.ears.wait(DestroyFailed)
        assert (told.handler, "did not end within 0.2 s" in told.error) == ("old", True)
        ran.run(3, "new")
        assert result_of(ran, 3).handle_msg == "new"


def test_waiting_for_the_old_version_to_go_is_within_the_limit_of_the_new(
    app: Handlers, rig: MakeRig, stuck: threading.Lock
) -> None:
    register_versions(app, stuck)
    ran = rig(kill_grace=3.0)
    ran.result(1, "old")
    with turning(ran):
        ran.run(2, "new", executor_timeout=1)
        assert result_of(ran, 2).handle_code == 502


def test_the_old_version_is_gone_before_the_new_one_begins(app: Handlers, rig: MakeRig) -> None:
    story: list[str] = []

    @app.job("old")
    class Old:
        def execute(self) -> None: ...

        def destroy(self) -> None:
            time.sleep(0.05)
            story.append("old destroyed")

    app.job("new")(lambda: story.append("new begins"))
    ran = rig()
    ran.result(1, "old")
    ran.result(2, "new")
    assert story == ["old destroyed", "new begins"]


def test_a_handler_is_destroyed_in_the_thread_that_has_begun_it(app: Handlers, rig: MakeRig, tmp_path: Path) -> None:
    """SQLite's connections refuse to be closed by another thread than their own."""
    closed: list[str] = []

    class Version:
        def init(self) -> None:
            self.connection = sqlite3.connect(tmp_path / "kept.db")

        def execute(self) -> str:
            self.connection.execute("SELECT 1")
            return threading.current_thread().name

        def destroy(self) -> None:
            self.connection.close()
            closed.append(type(self).__name__)

    for name in ("One", "Two", "Three"):
        app.job(name)(type(name, (Version,), {}))
    ran = rig()
    names = [ran.result(number, name).handle_msg for number, name in enumerate(("One", "Two", "Two", "Three"), 1)]
    assert names == ["orth-job-1-One", "orth-job-1-Two-2", "orth-job-1-Two-2", "orth-job-1-Three-3"]
    assert closed == ["One", "Two"]
    ran.runtime.threads.drain(5)
    assert closed == ["One", "Two", "Three"]
    assert not ran.ears.of(DestroyFailed)


def test_without_another_thread_the_old_version_still_makes_way(
    app: Handlers, rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    register_versions(app, threading.Lock())
    ran = rig()
    ran.result(1, "old")
    start, refused = threading.Thread.start, []

    def starting(thread: threading.Thread) -> None:
        if thread.name.startswith("orth-job-1-new") and not refused:
            refused.append(thread.name)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", starting)
    assert ran.result(2, "new").handle_msg == "new"
    assert refused
    assert [missing.job_id for missing in ran.ears.of(ThreadMissing)] == [1]


def test_threads_that_do_not_leave_hold_up_the_stop_once_and_not_one_after_another(
    app: Handlers, rig: MakeRig, stuck: threading.Lock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orth.executor.job_threads._DESTROY_GRACE", 0.5)
    register_versions(app, stuck)
    ran = rig()
    for job_id in range(1, 9):
        ran.result(job_id, "old", job_id=job_id)
    begun = time.monotonic()
    assert ran.runtime.threads.drain(1.0) == 0
    assert 0.5 <= time.monotonic() - begun < 8 * 0.5


def test_handlers_that_log_all_the_time_are_ended_and_freeze_nobody(app: Handlers, rig: MakeRig) -> None:
    log = logging.getLogger(__name__)

    @app.job
    def tick() -> None:
        while True:
            log.warning("tick")
            time.sleep(0.001)

    @app.job
    def probe() -> str:
        log.warning("hello")
        return "logged"

    ran = rig(kill_grace=2.0)
    with turning(ran):
        for turn in range(3):
            ids = range(turn * 10 + 1, turn * 10 + 7)
            for log_id in ids:
                ran.run(log_id, "tick", job_id=log_id % 10, executor_timeout=1, **COVER)
            assert {result_of(ran, log_id).handle_code for log_id in ids} == {502}
            eventually(lambda: not ran.runtime.tools.contexts)
            ran.run(1000 + turn, "probe", job_id=99)
            assert result_of(ran, 1000 + turn).handle_msg == "logged"
        begun = time.monotonic()
        ran.runtime.threads.drain(1.0)
        assert time.monotonic() - begun < 5
