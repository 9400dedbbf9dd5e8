"""Ending an execution from outside: the ladder.

1. The flag: ``ctx.cancelled`` turns true, ``ctx.checkpoint()`` raises. A handler that looks leaves in its own way.
2. The performer: a process is ended and reaped, which is certain; a coroutine is cancelled at its next ``await``.
3. The exception: ``Ended`` is raised inside the handler's thread, again and again, between two steps of Python code. A
   handler that blocks in C (a ``time.sleep``, a query) does not notice before it is back.
4. When the grace has passed the thread is abandoned. Python cannot end a thread; nothing here pretends otherwise.

The exception must hit the handler and nothing else: not our own code after it, not the next execution of the same
thread. ``Stay`` is that guard. An exception is aimed only while the stay lasts, under the lock that also ends it, and
one that was aimed but has not struck is taken back as it ends.
"""

import ctypes
import threading
from collections.abc import Callable
from typing import TypeVar

from orth.executor.context import Cancelled, JobContext
from orth.executor.performers import Performer

T = TypeVar("T")

_LONGEST_NOTICE = 1.0
"""Seconds the flag alone is given, if the grace is long enough; a fifth of it otherwise."""
_BETWEEN_BLOWS = 1.0
"""Seconds a handler may spend in its ``finally`` blocks before it is interrupted again."""
_SHIELDS = 3


class Ended(Cancelled):
    """Raised in the thread of a handler to end it."""


class Stay:
    """The time a handler spends in a thread, as others may know and disturb it."""

    __slots__ = ("_aimed", "_barred", "_lock", "_over", "_thread")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._barred = False
        self._aimed = False
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
                    if self._aimed:
                        _raise_in(threading.get_ident(), None)
                    if self._over is not None:
                        self._over.set()
                return
            except Ended:
                continue

    def interrupt(self) -> bool:
        """Raise ``Ended`` in the handler's thread; false when it is not inside."""
        with self._lock:
            if self._thread is None:
                return False
            self._aimed = True
            _raise_in(self._thread, Ended)
            return True

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
    if performer.end(context, grace):
        return True
    notice = min(_LONGEST_NOTICE, grace / 5)
    pause = min(_BETWEEN_BLOWS, (grace - notice) / 4)
    left = grace - notice
    over = stay.wait(notice)
    while not over and left > 0:
        # Asked again: the first time may have come before there was anything to end.
        over = performer.end(context, left) or not stay.interrupt() or stay.wait(pause)
        left -= pause
    return over


def _raise_in(thread: int, what: type[BaseException] | None) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), what and ctypes.py_object(what))
