"""Triggers that arrived before their time.

A coordinator sends what it planned ahead early, with the span that must pass before it may start. The span is counted
from the arrival on this machine's own monotonic clock, so no two clocks are compared: what the network took makes the
start that much later, never earlier. One timer serves them all. Whatever has come due is let go in the order of the due
times, and only then does its job's queue see it; a few at a time, because hundreds of threads woken at once spend more
on fighting for the interpreter than on their work.

Everything here happens under the one lock of ``JobThreads``.
"""

import heapq
from collections.abc import Callable

from orth.clock import Clock
from orth.executor.running import Accepted
from orth.executor.time_limits import TimeLimits

_AT_ONCE = 32
_BREATH = 0.001


class Held:
    """What waits for its time, soonest first."""

    def __init__(self, clock: Clock, limits: TimeLimits, look: Callable[[], None]) -> None:
        self._clock = clock
        self._limits = limits
        self._look = look
        """Called, without the lock, when something has come due."""
        self._waiting: list[tuple[float, int, Accepted]] = []
        self._looking_at: float | None = None

    def add(self, accepted: Accepted, due: float) -> None:
        """Keep a trigger until ``due`` on the monotonic clock."""
        heapq.heappush(self._waiting, (due, accepted.number, accepted))
        self._set_timer()

    def come_due(self) -> list[Accepted]:
        """Those whose time has come and that were not ended meanwhile; a few, and the others a moment later."""
        now = self._clock.monotonic()
        due: list[Accepted] = []
        while self._waiting and self._waiting[0][0] <= now and len(due) < _AT_ONCE:
            accepted = heapq.heappop(self._waiting)[2]
            if not accepted.settled:
                due.append(accepted)
        if self._looking_at is not None and self._looking_at <= now:
            self._looking_at = None
        self._set_timer()
        return due

    @property
    def starting(self) -> bool:
        """Whether some have come due that are not let go yet. Needs no lock, and may be a moment behind."""
        return any(due <= self._clock.monotonic() for due, _, _accepted in self._waiting[:1])

    def due_after(self, span: float) -> list[Accepted]:
        """Those whose time comes more than ``span`` seconds from now."""
        latest = self._clock.monotonic() + span
        return [accepted for due, _, accepted in self._waiting if due > latest and not accepted.settled]

    def clear(self) -> None:
        self._waiting.clear()

    def _set_timer(self) -> None:
        if self._waiting and (self._looking_at is None or self._waiting[0][0] < self._looking_at):
            now = self._clock.monotonic()
            self._looking_at = max(self._waiting[0][0], now + _BREATH)
            self._limits.after(self._looking_at - now, self._look)
