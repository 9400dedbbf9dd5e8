"""Putting results on the disk, in a thread of its own.

Forcing bytes to a disk takes a millisecond or more, whether they are one result or a hundred. One thread therefore
writes for all job threads: whatever has come while it was busy goes together next time, and no job waits for the disk
before it takes its next trigger. A process killed in between has lost a result that nobody was told of, as it would
have a moment earlier, when the handler was still running. What else has to be on the disk before a result counts, its
log, is written first, here as well (``first``).

Where one result follows the other, a few milliseconds lie between two writes, so that several share the second.

When hundreds of triggers come due at one instant, starting them goes first: while ``starting`` says so results wait,
no longer than a quarter of a second.
"""

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Generic, Protocol, TypeVar

from orth.clock import SystemClock
from orth.executor.journal import Journal


class Recordable(Protocol):
    """Whatever has bytes to be kept."""

    @property
    def record(self) -> bytes: ...


R = TypeVar("R", bound=Recordable)
_LOOK_AGAIN = 0.05
_STEP = 0.01
_STEPS = 25
_APART = 0.005
_real = SystemClock()
"""A disk is not turned by hand."""


class Recorder(Generic[R]):
    """Writes what it is given, in order, and says so to ``recorded``, with the failure if there was one."""

    def __init__(
        self,
        journal: Journal,
        recorded: Callable[[list[R], OSError | None], None],
        first: Callable[[], None],
        starting: Callable[[], bool] = lambda: False,
    ) -> None:
        self._journal = journal
        self._recorded = recorded
        self._first = first
        self._starting_others = starting
        self._hurry = threading.Event()
        """Somebody waits for what was given."""
        self._given: SimpleQueue[R | threading.Event] = SimpleQueue()
        """Results, and between them the marks of those who wait until everything before is done."""
        self._closed = False
        self._starting = threading.Lock()
        self._recording = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Have the thread now, while there are some to be had."""
        self._start()

    def give(self, item: R) -> None:
        if self._closed:
            return
        self._given.put(item)
        if self._thread is None:
            self._start()

    def join(self) -> None:
        """Wait until everything given so far has been dealt with."""
        if self._thread is None and self._given.empty():
            return
        mark = threading.Event()
        self._given.put(mark)
        self._hurry.set()
        if self._closed or (self._thread is None and not self._start()):  # no thread to be had: whoever waits does it
            self._record_what_is_there()
        mark.wait()

    def close(self) -> None:
        """Write what was given; take nothing more."""
        self._closed = True
        self._hurry.set()
        while self._thread is not None and self._thread.is_alive():
            self._given.put(threading.Event())  # so that the thread looks up; who joins just now may take it away
            self._thread.join(_LOOK_AGAIN)
        self._record_what_is_there()

    def _start(self) -> bool:
        """Have a thread; false when the system has none to give: then it is asked again with the next result."""
        with self._starting:
            if self._thread is None and not self._closed:
                thread = threading.Thread(target=self._run, name="orth-recorder", daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    return False
                self._thread = thread
            return True

    def _run(self) -> None:
        written = -_APART
        while not self._closed:
            taken = self._given.get()
            self._let_others_start()
            soon = written + _APART - _real.monotonic()
            if soon > 0:
                self._hurry.wait(soon)
            self._record_what_is_there(taken)
            self._hurry.clear()
            written = _real.monotonic()

    def _let_others_start(self) -> None:
        for _ in range(_STEPS):
            if not self._starting_others() or self._hurry.wait(_STEP):
                break

    def _record_what_is_there(self, *taken: R | threading.Event) -> None:
        with self._recording:
            given = [*taken]
            try:
                while True:
                    given.append(self._given.get_nowait())
            except Empty:
                self._record([one for one in given if not isinstance(one, threading.Event)])
            for one in given:
                if isinstance(one, threading.Event):
                    one.set()

    def _record(self, batch: list[R]) -> None:
        if not batch:
            return
        failure = None
        try:
            self._first()
            self._journal.append(b"".join([item.record for item in batch]), force=True)
        except OSError as error:
            failure = error
        self._recorded(batch, failure)
