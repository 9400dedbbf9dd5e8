"""Ending an execution from outside: the ladder.

1. The flag: ``ctx.cancelled`` turns true, ``ctx.checkpoint()`` raises. A handler that looks leaves in its own way.
2. The performer: a process is ended and reaped, which is certain; a coroutine is cancelled at its next ``await``.
3. The exception: ``Ended`` is raised inside the handler's thread, again and again, between two steps of Python code. A
   handler that blocks in C (a ``time.sleep``, a query) does not notice before it is back. It is raised only where code
   of the handler's author could have raised as well.
4. When the grace has passed the thread is abandoned. Python cannot end a thread; nothing here pretends otherwise.

The exception must hit the handler and nothing else: not our own code after it, not the next execution of the same
thread. ``Stay`` is that guard. An exception is aimed only while the stay lasts, under the lock that also ends it, and
one that was aimed but has not struck is taken back as it ends.

It must not strike inside code that others depend on either (see ``blows``). So the thread's stack is looked at first,
and while ``logging``, ``threading`` and their like, or we ourselves, are at work, the blow is put off for some
milliseconds, or until the handler next prints or logs, which then raises it. A pending exception strikes in the
innermost function or at the entry of the next one, before that has taken anything; hence looking at the moment of
aiming is enough.

What remains: another library that takes a lock of Python's in two steps, as ``logging`` does, may be struck in between.
A handler that is inside the modules named here whenever it is looked at ends as one that blocks in C: abandoned.
"""

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TypeVar

from orth.clock import SystemClock
from orth.executor.blows import is_theirs, may_be_struck, put_off, take_back
from orth.executor.context import Cancelled, JobContext
from orth.executor.performers import Performer

T = TypeVar("T")

_LONGEST_NOTICE = 1.0
"""Seconds the flag alone is given, if the grace is long enough; a fifth of it otherwise."""
_BETWEEN_BLOWS = 1.0
"""Seconds a handler may spend in its ``finally`` blocks before it is interrupted again."""
_BETWEEN_LOOKS = 0.002
"""Seconds until a thread that could not be interrupted where it was is looked at again."""
_SHIELDS = 3

_real = SystemClock()
"""Threads wait in real time, whatever clock the executions have."""


class Ended(Cancelled):
    """Raised in the thread of a handler to end it."""


class Stay:
    """The time a handler spends in a thread, as others may know and disturb it."""

    __slots__ = ("_aimed", "_barred", "_lock", "_over", "_put_off", "_thread")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._barred = False
        self._aimed = False
        self._put_off = False
        self._over: threading.Event | None = None

    def spend(self, call: Callable[[], T]) -> T:
        """Call the handler in this thread; while it is inside, ``interrupt`` reaches it."""
        with self._lock:
            if self._barred:
                raise Ended
            self._thread = threading.get_ident()
        try:
            return call()
        finally:
            self.leave()

    def bar(self) -> bool:
        """Keep the handler from entering; false when it is inside."""
        with self._lock:
            self._barred = True
            return self._thread is None

    def leave(self) -> None:
        """From here on nothing is raised in this thread any more. Again is fine."""
        for _ in range(_SHIELDS):  # an exception aimed at the handler may still strike on these lines
            try:
                with self._lock:
                    self._thread = None
                    if self._put_off:
                        take_back(threading.get_ident())
                        self._put_off = False
                    if self._aimed:
                        _raise_nothing_here()
                        self._aimed = False
                    if self._over is not None:
                        self._over.set()
                return
            except Ended:
                continue

    def interrupt(self) -> bool:
        """Raise ``Ended`` in the handler's thread; false when it is not inside, or where nothing may be raised.

        In the second case it is put off until the handler writes something. It is true when that has happened since.
        """
        with self._lock:
            thread = self._thread
            if thread is None:
                return False
            if self._put_off and not take_back(thread):
                self._put_off = False
                return True
            self._put_off = not self._strike(thread)
            if self._put_off:
                put_off(thread, Ended)
            return not self._put_off

    def _strike(self, thread: int) -> bool:
        """Under the lock."""
        leaf = self._leaf()
        if leaf is None:
            return False
        step = leaf.f_lasti
        if not may_be_struck(leaf) or leaf is not self._leaf():
            return False
        self._aimed = True
        target, ended = ctypes.c_ulong(thread), ctypes.py_object(Ended)
        # Looking took steps of Python code, between which other threads may run. Between the next comparison and the
        # call there is none, so what was seen still holds.
        if leaf.f_lasti != step:
            return False
        _set_async_exception(target, ended)
        _raise_nothing_here()
        return True

    def occupied(self) -> bool:
        """Whether code of the handler's author is at work inside; false when only ours is, or nothing."""
        with self._lock:
            return any(is_theirs(frame) for frame in _outwards(self._leaf()))

    def _leaf(self) -> FrameType | None:
        """The innermost frame of the handler's thread. Under the lock."""
        return None if self._thread is None else sys._current_frames().get(self._thread)

    def wait(self, seconds: float) -> bool:
        """Wait until the handler is not inside; false when it took longer."""
        with self._lock:
            if self._thread is None:
                return True
            if self._over is None:
                self._over = threading.Event()
        return self._over.wait(seconds)


def climb(stay: Stay, performer: Performer, context: JobContext, grace: float) -> bool:
    """End what is inside, step by step; false when it is still there after ``grace`` seconds."""
    context.cancel()
    ended = performer.end(context, grace)
    notice = min(_LONGEST_NOTICE, grace / 5)
    pause = min(_BETWEEN_BLOWS, (grace - notice) / 4)
    deadline = _real.monotonic() + grace
    over = (ended and not stay.occupied()) or stay.wait(notice)
    while not over and (left := deadline - _real.monotonic()) > 0:
        # Asked again: the first time may have come before there was anything to end.
        if performer.end(context, left) and not stay.occupied():
            return True
        over = stay.wait(min(left, pause if stay.interrupt() else _BETWEEN_LOOKS))
    return over


def _outwards(leaf: FrameType | None) -> Iterator[FrameType]:
    """The frames of a stay, innermost first."""
    frame = leaf
    while frame is not None and frame.f_code is not _FLOOR:
        yield frame
        frame = frame.f_back


def _raise_nothing_here() -> None:
    """In this thread, in place of what may be to come in it.

    What is aimed at a thread makes CPython believe that some thread has an exception to come: it looks for one at every
    step of all of them, and in 3.11 a process that is traced, as by a debugger, stands still while it does. Only an
    exception that is raised ends that. One that is to come in another thread is thought of again when that goes on.
    """
    try:
        _set_async_exception(ctypes.c_ulong(threading.get_ident()), ctypes.py_object(_Nothing))
        for _ in range(_STEPS):
            pass
    except _Nothing:
        return


class _Nothing(BaseException):
    """What a thread raises in itself and does not let out."""


_STEPS = 1000
"""More than CPython takes until it raises what is to come: one, so far."""

_FLOOR = Stay.spend.__code__
_set_async_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
