"""Rate limit for registrations with the token of a group.

One token serves all executors of a group, so its rate grows with the executors that are known. Results and channel
calls are not limited: a result is never refused for its rate. The shared token serves every group and is not limited.
"""

from collections import Counter

from orth.clock import Clock
from orth.coordinator.executor_keys import ExecutorKey
from orth.coordinator.http.rates import Buckets
from orth.coordinator.roster import Roster

_CALLS_PER_BEAT = 3
"""Calls of an honest executor in each heartbeat interval: a beat, a beat of its agent and a status."""
_COUNTED_EVERY = 5.0
_LARGE = 64 * 1024
"""Bytes of a body that cost as much as one call: reading a larger one holds up others."""


class ExecutorRates:
    """For one event loop."""

    def __init__(self, buckets: Buckets, roster: Roster, clock: Clock, *, rate: float, heartbeat: float) -> None:
        """``rate`` is what ``buckets`` let through in a second for a token without executors."""
        self._buckets = buckets
        self._roster = roster
        self._clock = clock
        self._rate = rate
        self._heartbeat = heartbeat
        self._known: Counter[str] = Counter()
        self._counted_at = float("-inf")

    def check(self, key: ExecutorKey, size: int = 0) -> None:
        """Raise ``TooOften`` if the token of a group registers too often; ``size`` is that of the body."""
        if key.token_id is None:
            return
        now = self._clock.monotonic()
        if now - self._counted_at >= _COUNTED_EVERY:
            self._known = Counter(entry.app_name for entry, _age in self._roster.entries())
            self._counted_at = now
        beats = sum(self._known[name] for name in key.app_names or ()) * _CALLS_PER_BEAT / self._heartbeat
        self._buckets.take(
            f"executor token {key.token_id}", max(1.0, size / _LARGE) * self._rate / (self._rate + beats)
        )
