"""Few threads at a time come out of their sleep.

When triggers of many jobs come due at one instant, as many threads would wake. All but one then wait for the
interpreter, and each that waits asks for it two hundred times a second: with a thousand of them the machine is busy
with nothing else. So a job asks here before one of its threads wakes; a place is free again when that thread is about
to call its handler, and is handed on in the order of asking. What the handlers do after that is their own affair.

A thread that does not get that far in time, because a disk stands still for instance, loses its place, so that others
go on without it.
"""

import itertools
import threading
from collections import deque
from typing import Protocol

from orth.clock import Clock
from orth.executor.time_limits import TimeLimits

WIDTH = 4
"""Threads on their way from sleep to their handler."""
PATIENCE = 0.1
"""Seconds after which the place of one that does not get there is another's."""


class Sleeper(Protocol):
    """A job whose threads ask to wake."""

    def let_in(self, place: int) -> bool:
        """Wake a thread for ``place``, which leaves it later; false when there is nothing to wake it for."""


class Turnstile:
    """Who may wake. Takes the locks of jobs, so ``leave`` is not called with one of them held."""

    def __init__(self, clock: Clock, limits: TimeLimits) -> None:
        self._clock = clock
        self._limits = limits
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._inside: dict[int, float] = {}
        """Places that are taken, and since when."""
        self._outside: deque[Sleeper] = deque()
        self._watched = False

    @property
    def crowded(self) -> bool:
        """Whether somebody waits for a place. Needs no lock, and may be a moment behind."""
        return bool(self._outside)

    def ask(self, sleeper: Sleeper) -> None:
        """Let it in, now or when there is a place. The caller holds its lock, and has something to start."""
        with self._lock:
            if len(self._inside) >= WIDTH or self._outside:
                self._outside.append(sleeper)
                self._watch()
                return
            place = self._enter()
        if not sleeper.let_in(place):
            with self._lock:
                self._inside.pop(place, None)

    def leave(self, place: int) -> None:
        """Hand a place on. One that was lost, or left before, is no error."""
        while True:
            with self._lock:
                if self._inside.pop(place, None) is None or not self._outside:
                    return
                sleeper, place = self._outside.popleft(), self._enter()
            if sleeper.let_in(place):
                return

    def _enter(self) -> int:
        place = next(self._numbers)
        self._inside[place] = self._clock.monotonic()
        return place

    def _watch(self) -> None:
        if not self._watched:
            self._watched = True
            self._limits.after(PATIENCE, self._look)

    def _look(self) -> None:
        """Take their places from those who have had them for too long, while somebody waits for one."""
        with self._lock:
            self._watched = False
            latest = self._clock.monotonic() - PATIENCE
            late = [place for place, since in self._inside.items() if since <= latest] if self._outside else []
            if self._outside:
                self._watch()
        for place in late:
            self.leave(place)
