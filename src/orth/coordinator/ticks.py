"""What executors' own clocks show, so that a trigger sent ahead does not start late by what it took to arrive.

Every process has a clock that only goes forward and is never set: its *tick*, in milliseconds. ``/health`` tells it.
The executor read it between our asking and our hearing, so half of that time bounds the error of the distance between
its clock and ours. From then on the two may drift apart, and the bound grows with the age of the measurement. A moment
of ours, translated with the whole bound added, has surely come when the executor's clock shows it. Wall clocks of two
machines are never compared.

The measurement that is the surest now is kept; while triggers go to an executor it is asked again every few seconds.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from orth.domain.nodes import normal_address

_DRIFT = 0.001
"""Seconds per second: two clocks, each slewed by as much as systems allow, one forward and one back."""
_MEASURE_EVERY = 5.0
_SUREST_USED = 0.5
"""A bound above this many seconds is no help: counting from the arrival is better."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """By how many seconds the clock of an executor process is ahead of ours, and how far that may be off."""

    incarnation: str
    ahead: float
    error: float
    taken: float
    """On our clock."""

    def bound(self, now: float) -> float:
        return self.error + _DRIFT * (now - self.taken)


class Ticks:
    """The measurements, by address. For one event loop."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._surest: dict[str, Measurement] = {}
        self._asked: dict[str, float] = {}
        self.wants: set[str] = set()
        """Addresses to be measured; whoever measures takes them out."""
        self._wake = wake

    def measured(self, address: str, found: Measurement) -> None:
        key = normal_address(address)
        known = self._surest.get(key)
        if known is None or known.incarnation != found.incarnation or found.error <= known.bound(found.taken):
            self._surest[key] = found

    def forget(self, address: str) -> None:
        key = normal_address(address)
        self._surest.pop(key, None)
        self._asked.pop(key, None)
        self.wants.discard(key)

    def tick_at(self, address: str, incarnation: str | None, moment: float, now: float) -> int | None:
        """What the clock of that process shows when ``moment`` of ours has surely come; None when nobody knows."""
        key = normal_address(address)
        if now - self._asked.get(key, -math.inf) >= _MEASURE_EVERY:
            self._asked[key] = now
            self.wants.add(key)
            self._wake()
        known = self._surest.get(key)
        if known is None or known.incarnation != incarnation or known.bound(now) > _SUREST_USED:
            return None
        # The bound at the moment itself, not now: it is still growing until then.
        return math.ceil((moment + known.ahead + known.bound(max(now, moment))) * 1000)
