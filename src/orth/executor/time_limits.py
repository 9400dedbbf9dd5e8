"""Doing something when a time has come, unless it was called off before.

One loop watches every deadline of an executor, on the clock it was given: no thread counts seconds for itself, and a
test that turns the clock by hand turns the limits with it. Deadlines that were called off stay in the heap until they
are due or outnumber the others, so that short executions with long limits cost neither time nor memory.
"""

import heapq
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from orth.clock import Clock
from orth.events import Events
from orth.loop import Loop

_NOTHING_TO_WATCH = 3600.0
_FEW = 64


class TimeLimits(Loop):
    """Calls what was left with it when the time has come."""

    def __init__(self, clock: Clock, events: Events) -> None:
        super().__init__(clock, events)
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._watched: dict[int, Callable[[], None]] = {}
        self._deadlines: list[tuple[float, int]] = []

    def __len__(self) -> int:
        return len(self._watched)

    def after(self, seconds: float, expire: Callable[[], None]) -> int:
        """Call ``expire`` once, from another thread, in ``seconds``. It must not block. The number calls it off."""
        deadline = self.clock.monotonic() + seconds
        with self._lock:
            number = next(self._numbers)
            first = not self._deadlines or deadline < self._deadlines[0][0]
            self._watched[number] = expire
            heapq.heappush(self._deadlines, (deadline, number))
        if first:
            self.wake()
        return number

    def call_off(self, number: int) -> None:
        """Forget a deadline; too late is no error."""
        with self._lock:
            self._watched.pop(number, None)
            if len(self._deadlines) > 2 * len(self._watched) + _FEW:
                self._deadlines = [entry for entry in self._deadlines if entry[1] in self._watched]
                heapq.heapify(self._deadlines)

    @contextmanager
    def watching(self, seconds: float, expire: Callable[[], None]) -> Iterator[None]:
        """Call ``expire`` if the block is not left within ``seconds``."""
        number = self.after(seconds, expire)
        try:
            yield
        finally:
            self.call_off(number)

    async def turn(self) -> float:
        expired = []
        with self._lock:
            now = self.clock.monotonic()
            while self._deadlines and (self._deadlines[0][0] <= now or self._deadlines[0][1] not in self._watched):
                _, number = heapq.heappop(self._deadlines)
                if number in self._watched:
                    expired.append(self._watched.pop(number))
            pause = self._deadlines[0][0] - now if self._deadlines else _NOTHING_TO_WATCH
        for expire in expired:
            expire()
        return pause
