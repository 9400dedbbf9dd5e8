"""Handlers in threads that write without a pause: whenever they are looked at, they are inside ``logging`` or Orth."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from orth.executor import blows
from orth.executor.capture import capturing
from orth.executor.context import Cancelled, JobContext, entered
from orth.executor.ending import Ended
from orth.executor.facts import ExecutionAbandoned
from orth.executor.handlers import Handlers
from orth.executor.run_logs import RunLogs
from tests.executor.bench import Ears, HandClock, Rig, eventually, make_context
from tests.executor.conftest import MakeRig
from tests.executor.gates import TOLD
from tests.executor.survivors import turning

log = logging.getLogger("jobs")

WAYS: dict[str, Callable[[JobContext], object]] = {
    "print": lambda _: print("x"),
    "logging": lambda _: log.warning("x"),
    "log": lambda context: context.log("x"),
}


def end_by_limit(ran: Rig, handler: str) -> None:
    """Run it until its limit and the grace have passed, or it has left its thread."""
    with turning(ran):
        assert ran.run(1, handler, executor_timeout=1).ok
        eventually(lambda: bool(ran.waiting() or ran.desk.results))
        assert ran.runtime.join_idle(20)
        eventually(lambda: "execution ends" in ran.text(1) or bool(ran.ears.of(ExecutionAbandoned)))


# The blow may fall while the garbage collector calls one of the test tools back: Python reports it there, and the next
# blow ends the handler.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("way", WAYS)
def test_a_handler_that_writes_without_a_pause_is_ended(app: Handlers, rig: MakeRig, way: str) -> None:
    write = WAYS[way]

    @app.job
    def endless(ctx: JobContext) -> None:
        until = time.monotonic() + TOLD
        while time.monotonic() < until:
            write(ctx)

    ran = rig(kill_grace=2.0)
    end_by_limit(ran, "endless")
    assert ran.ears.of(ExecutionAbandoned) == []
    assert "Ended" in ran.text(1), "where it was is told"
    assert blows.waiting == {}


def test_a_coroutine_that_writes_without_a_pause_is_ended(app: Handlers, rig: MakeRig) -> None:
    @app.job
    async def endless() -> None:
        until = time.monotonic() + TOLD
        while time.monotonic() < until:
            print("x")

    ran = rig(kill_grace=2.0)
    end_by_limit(ran, "endless")
    assert ran.ears.of(ExecutionAbandoned) == []


def test_who_is_struck_can_write_while_it_cleans_up(app: Handlers, rig: MakeRig) -> None:
    struck: list[BaseException] = []

    @app.job
    def tidy(ctx: JobContext) -> None:
        until = time.monotonic() + TOLD
        try:
            while time.monotonic() < until:
                print("x")
        except Cancelled as ended:
            struck.append(ended)
            print("printed at the end")
            log.warning("logged at the end")
            ctx.log("said at the end")
            raise

    ran = rig(kill_grace=5.0)
    end_by_limit(ran, "tidy")
    assert [type(one) for one in struck] == [Ended]
    text = ran.text(1)
    assert all(f"{how} at the end" in text for how in ("printed", "logged", "said"))


def test_the_flag_alone_silences_nobody(app: Handlers, rig: MakeRig) -> None:
    @app.job
    def polite(ctx: JobContext) -> None:
        while not ctx.cancelled:
            print("working")
        for number in range(50):
            print("leaving", number)

    ran = rig(kill_grace=20.0)  # the flag has a second for itself
    end_by_limit(ran, "polite")
    assert "leaving 49" in ran.text(1)
    assert "Ended" not in ran.text(1)


@pytest.fixture
def context(tmp_path: Path, clock: HandClock, ears: Ears) -> JobContext:
    return make_context(RunLogs(tmp_path, clock, ears).open(7, 0))


def test_a_blow_strikes_once_and_only_its_own_thread(context: JobContext) -> None:
    blows.put_off(threading.get_ident(), Ended)
    with capturing(), entered(context):
        other = threading.Thread(target=lambda: print("another thread of the handler"))
        other.start()
        other.join()
        with pytest.raises(Ended):
            print("never written")
        print("written")
    text = context.run_log.path.read_text()
    assert "another thread of the handler" in text
    assert "never" not in text
    assert text.endswith("written\n")


def test_code_that_everybody_shares_writes_undisturbed(context: JobContext) -> None:
    blows.put_off(threading.get_ident(), Ended)
    try:
        with capturing(), entered(context), closing(asyncio.new_event_loop()) as loop:
            loop.call_exception_handler({"message": "a callback failed"})
            logging.getLogger("orth").error("ours")
        assert "a callback failed" in context.run_log.path.read_text()
        assert blows.take_back(threading.get_ident()), "it is still to come"
    finally:
        blows.waiting.clear()
