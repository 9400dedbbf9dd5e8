"""Telling executions that their time is up.

One loop watches every limit, on the clock it was given: no thread counts seconds for itself, and a test that turns the
clock by hand turns the limits with it.
"""

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from orth.clock import Clock
from orth.events import Events
from orth.loop import Loop

_NOTHING_TO_WATCH = 3600.0


class TimeLimits(Loop):
    """Calls what was left with it when the time has come."""

    def __init__(self, clock: Clock, events: Events) -> None:
        super().__init__(clock, events)
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._watched: dict[int, tuple[float, Callable[[], None]]] = {}

    @contextmanager
    def watching(self, seconds: float, expire: Callable[[], None]) -> Iterator[None]:
        """Call ``expire`` once, from another thread, if the block is not left within ``seconds``."""
        number = next(self._numbers)
        with self._lock:
            self._watched[number] = (self.clock.monotonic() + seconds, expire)
        self.wake()
        try:
            yield
        finally:
            with self._lock:
                self._watched.pop(number, None)

    async def turn(self) -> float:
        now = self.clock.monotonic()
        with self._lock:
            due = [number for number, (deadline, _) in self._watched.items() if deadline <= now]
            expired = [self._watched.pop(number)[1] for number in due]
            pause = min((deadline for deadline, _ in self._watched.values()), default=now + _NOTHING_TO_WATCH) - now
        for expire in expired:
            expire()
        return pause
