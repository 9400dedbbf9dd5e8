import asyncio
import logging
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from orth.executor.context import Cancelled, JobContext
from orth.executor.ending import Ended, Stay, climb
from orth.executor.handlers import Handlers
from orth.executor.isolation import IsolatedPerformer, WorkerPool
from orth.executor.performers import FunctionPerformer
from orth.executor.run_logs import RunLogs
from orth.executor.running import Accepted, Tools, begin
from orth.executor.time_limits import TimeLimits
from tests.executor.bench import Ears, HandClock, eventually, request


class Guest:
    """A handler's stay in a thread, and how it ended."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.stay = Stay()
        self.inside = threading.Event()
        self.raised: BaseException | None = None
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self.inside.wait(10)

    def _run(self) -> None:
        try:
            self.stay.spend(self._enter)
        except BaseException as raised:
            self.raised = raised

    def _enter(self) -> None:
        self.inside.set()
        self._call()

    def join(self) -> bool:
        self._thread.join(10)
        return not self._thread.is_alive()


@pytest.fixture
def context(app: Handlers, tmp_path: Path, clock: HandClock, ears: Ears) -> JobContext:
    app.job("hello")(lambda: None)
    handler = app.get("hello")
    assert handler is not None
    tools = Tools(clock, ears, RunLogs(tmp_path, clock, ears), TimeLimits(clock, ears), "this-process")
    return begin(Accepted(request(1, "hello"), handler).request, handler, tools)


def spin() -> None:
    while True:
        pass


def nothing() -> None:
    return


def test_an_endless_loop_is_ended(context: JobContext) -> None:
    guest = Guest(spin)
    assert climb(guest.stay, FunctionPerformer(nothing), context, 5.0)
    assert guest.join()
    assert isinstance(guest.raised, Ended)


def test_a_handler_that_looks_leaves_in_its_own_way(context: JobContext) -> None:
    def look() -> None:
        while not context.cancelled:
            time.sleep(0.001)

    guest = Guest(look)
    assert climb(guest.stay, FunctionPerformer(nothing), context, 5.0)
    assert guest.join()
    assert guest.raised is None


def test_a_handler_that_swallows_the_exception_is_interrupted_again(context: JobContext) -> None:
    swallowed: list[BaseException] = []

    def stubborn() -> None:
        while True:
            try:
                spin()
            except Cancelled as ended:
                swallowed.append(ended)
                if len(swallowed) == 2:
                    raise

    guest = Guest(stubborn)
    assert climb(guest.stay, FunctionPerformer(nothing), context, 1.0)
    assert guest.join()
    assert len(swallowed) == 2


def test_what_blocks_in_c_is_still_there_after_the_grace(context: JobContext) -> None:
    release = threading.Event()
    guest = Guest(lambda: release.wait(20))
    begun = time.monotonic()
    assert not climb(guest.stay, FunctionPerformer(nothing), context, 0.3)
    assert 0.25 < time.monotonic() - begun < 5
    release.set()
    assert guest.join()
    assert isinstance(guest.raised, Ended), "it strikes when the handler is back in Python"


def test_what_the_performer_ends_for_sure_is_not_struck(context: JobContext) -> None:
    class Process(FunctionPerformer):
        def end(self, context: JobContext, grace: float) -> bool:
            release.set()
            return True

    release = threading.Event()
    guest = Guest(lambda: release.wait(20))
    assert climb(guest.stay, Process(nothing), context, 5.0)
    assert guest.join()
    assert guest.raised is None


def test_who_is_barred_does_not_come_in() -> None:
    stay = Stay()
    called: list[int] = []
    assert stay.bar()
    with pytest.raises(Ended):
        stay.spend(lambda: called.append(1))
    assert called == []


def test_nobody_is_struck_before_or_after_its_stay() -> None:
    stay = Stay()
    assert not stay.interrupt()
    stay.spend(nothing)
    assert not stay.interrupt()
    assert stay.wait(0)
    sum(range(100_000))  # a stray exception would strike here


def test_under_fire_the_exception_never_leaves_the_stay() -> None:
    """Stays follow each other in one thread while another interrupts them all the time."""
    current: list[Stay] = [Stay()]
    done = threading.Event()
    struck_outside: list[BaseException] = []
    struck_inside = 0

    def host() -> None:
        nonlocal struck_inside
        try:
            while not done.is_set():
                stay = current[0] = Stay()
                try:
                    stay.spend(lambda: sum(range(50)))
                except Ended:
                    stay.leave()
                    struck_inside += 1
                [number * number for number in range(50)]
        except BaseException as stray:
            struck_outside.append(stray)

    thread = threading.Thread(target=host)
    thread.start()
    deadline = time.monotonic() + 1.5
    shots = 0
    while time.monotonic() < deadline:
        shots += current[0].interrupt()
        time.sleep(0.0002)
    done.set()
    thread.join(10)
    assert struck_outside == []
    assert struck_inside > 0, f"{shots} shots were aimed and none struck: this proves nothing"


TRACED = """
import sys, threading, time
from orth.executor.ending import Ended, Stay

held, inside = threading.Lock(), threading.Event()
held.acquire()

def work():
    inside.set()
    if sys.argv[1] == "blocks":
        held.acquire()
    while True:
        time.sleep(0.001)

def stay_until_struck(stay):
    try:
        stay.spend(work)
    except Ended:
        print("struck")

def looked_at():
    print("traced")

stay = Stay()
thread = threading.Thread(target=stay_until_struck, args=(stay,))
thread.start()
inside.wait()
while not stay.interrupt():
    time.sleep(0.01)
if sys.argv[1] == "ends":
    thread.join()
sys.settrace(lambda *_: None)
looked_at()
sys.settrace(None)
held.release()
thread.join()
"""


@pytest.mark.parametrize(("it", "order"), [("ends", ["struck", "traced"]), ("blocks", ["traced", "struck"])])
def test_a_process_in_which_something_was_interrupted_can_be_traced(it: str, order: list[str]) -> None:
    """As debuggers and coverage do. CPython 3.11 stands still then while it believes that an exception is to come."""
    told = subprocess.run([sys.executable, "-c", TRACED, it], capture_output=True, text=True, timeout=60)
    assert (told.stdout.split(), told.stderr) == (order, "")


def test_waiting_for_a_stay_ends_with_it() -> None:
    release = threading.Event()

    def look() -> Any:
        while not release.wait(0.001):
            pass

    guest = Guest(look)
    assert not guest.stay.wait(0.01)
    release.set()
    eventually(lambda: guest.stay.wait(0))
    assert guest.join()


# --- where it must not strike


def forever(call: Callable[[], object]) -> None:
    while True:
        call()


def step_of(module: Any, call: Callable[[], object]) -> Callable[[], object]:
    """``call``, made by a function that belongs to ``module``."""
    made: Callable[[], object] = eval("lambda: call()", {"__name__": module.__name__, "call": call})
    return made


@pytest.mark.parametrize("module", [logging, threading, queue, asyncio])
def test_inside_code_that_everybody_shares_the_blow_is_put_off(module: Any) -> None:
    gate = threading.Lock()
    gate.acquire()
    guest = Guest(step_of(module, gate.acquire))
    time.sleep(0.01)
    assert not any(guest.stay.interrupt() for _ in range(20))
    gate.release()
    assert guest.join()
    assert guest.raised is None


@pytest.mark.parametrize("module", [logging, asyncio])
def test_the_authors_code_is_struck_whoever_called_it(module: Any) -> None:
    guest = Guest(step_of(module, spin))
    eventually(guest.stay.interrupt)
    assert guest.join()
    assert isinstance(guest.raised, Ended)


@pytest.mark.parametrize(
    "wait",
    [lambda: threading.Event().wait(0.02), lambda: asyncio.run(asyncio.sleep(0.02)), lambda: look_into(queue.Queue())],
)
def test_a_handler_that_mostly_waits_is_ended_all_the_same(context: JobContext, wait: Callable[[], object]) -> None:
    guest = Guest(lambda: forever(wait))
    assert climb(guest.stay, FunctionPerformer(nothing), context, 5.0)
    assert guest.join()
    assert isinstance(guest.raised, Ended)


def look_into(shelf: queue.Queue[int]) -> None:
    with suppress(queue.Empty):
        shelf.get(timeout=0.02)


class Kept(logging.Handler):
    """A handler of records with a lock that all threads need."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: deque[str] = deque(maxlen=1)

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append(record.getMessage())


def test_under_fire_no_lock_of_logging_stays_held() -> None:
    kept = Kept()
    log = logging.Logger("under fire")
    log.addHandler(kept)

    def tick() -> None:
        log.warning("tick")
        time.sleep(0.0005)

    for _ in range(25):
        guests = [Guest(lambda: forever(tick)) for _ in range(4)]
        for guest in guests:
            eventually(guest.stay.interrupt)
        assert all(guest.join() for guest in guests), "one of them waits for a lock that nobody gives back"
        assert all(isinstance(guest.raised, Ended) for guest in guests)
        assert kept.lock is not None
        assert kept.lock.acquire(timeout=10), "the lock was left held"
        kept.lock.release()


def test_a_performer_that_has_nothing_to_end_does_not_hide_the_authors_code(app: Handlers, context: JobContext) -> None:
    """Parameters are read before a worker is taken: then there is no process to end, but somebody to interrupt."""
    performer = IsolatedPerformer(WorkerPool(app, 0, HandClock(), {}))
    guest = Guest(spin)
    assert climb(guest.stay, performer, context, 5.0)
    assert guest.join()
    assert isinstance(guest.raised, Ended)
