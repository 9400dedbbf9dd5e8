"""Rate limits for what executors send with the token of a group.

One token serves all executors of a group, so its rate of registrations grows with the executors that are known. Calls
with results, and of the channels, pay only where their bodies are larger than those of our executors, or where they are
refused for what they say: such a call pays for its bytes, values and results, after it was begun, and the next one
waits until that is paid. Refused calls are paid for by address, so that an executor that sends malformed bodies does
not keep out the other executors of its group. The shared token serves every group and is not limited.
"""

from collections import Counter

from orth.clock import Clock
from orth.coordinator.executor_keys import ExecutorKey
from orth.coordinator.http.rates import Buckets
from orth.coordinator.roster import Roster
from orth.domain.networks import network_of
from orth.wire.strict_json import has_more_values, values_at_most

_CALLS_PER_BEAT = 3
"""Calls of an honest executor in each heartbeat interval: a beat, a beat of its agent and a status."""
_COUNTED_EVERY = 5.0
_LARGE = 64 * 1024
"""Bytes of a body that cost as much as one call: reading a larger one holds up others."""
_VALUES = 5_000
"""Values of a body that cost as much: so many has a beat of that size that describes handlers."""
_RESULTS = 100
"""Results that cost as much."""
_REFUSED = 10
"""A call that is refused costs as much as so many others: executors of ours make none, and reading it is work."""
_TOO_MANY = 5
"""A call that is refused because there were too many costs as much as so many others."""
_LARGE_CALL = 1024 * 1024
_LARGE_CALL_VALUES = 8_000
"""Values of a body that is read within some milliseconds. 500 results of our executors have 6,500."""


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

    def check(self, key: ExecutorKey, body: bytes = b"") -> None:
        """Raise ``TooOften`` if the token of a group registers too often."""
        if key.token_id is None:
            return
        now = self._clock.monotonic()
        if now - self._counted_at >= _COUNTED_EVERY:
            self._known = Counter(entry.app_name for entry, _age in self._roster.entries())
            self._counted_at = now
        beats = sum(self._known[name] for name in key.app_names or ()) * _CALLS_PER_BEAT / self._heartbeat
        cost = max(1.0, len(body) / _LARGE, values_at_most(body) / _VALUES)
        self._buckets.take(f"executor token {key.token_id}", cost * self._rate / (self._rate + beats))

    def pay_large(self, key: ExecutorKey, body: bytes) -> None:
        """Let the token of a group pay for a large call; ``TooOften`` if it has not paid for the ones before."""
        if key.token_id is None:
            return
        self._buckets.check(_large_calls(key))
        self._buckets.pay(_large_calls(key), len(body) / _LARGE + values_at_most(body) / _VALUES)

    def check_refused(self, key: ExecutorKey, address: str) -> None:
        """``TooOften`` if calls with the token of a group from this address were refused too often."""
        if key.token_id is not None:
            self._buckets.check(_refused_calls(key, address))

    def pay_refused(self, key: ExecutorKey, address: str, body: bytes) -> None:
        """Let the token of a group pay for a call that was refused for what it says."""
        if key.token_id is not None:
            cost = 1 + len(body) / _LARGE + values_at_most(body) / _VALUES
            self._buckets.pay(_refused_calls(key, address), _REFUSED * cost)

    def floods(self, key: ExecutorKey) -> bool:
        """Whether the token of a group sends so many calls that are refused for being too many that its answers should
        wait; tell it of each of these calls.
        """
        if key.token_id is None:
            return False
        bucket = f"calls too many of executor token {key.token_id}"
        if self._buckets.refusal(bucket) is not None:
            return True
        self._buckets.pay(bucket, _TOO_MANY)
        return False

    def pay_results(self, key: ExecutorKey, count: int) -> None:
        """Let the token of a group pay for the results that a large call had."""
        if key.token_id is not None:
            self._buckets.pay(_large_calls(key), count / _RESULTS)


def _refused_calls(key: ExecutorKey, address: str) -> str:
    return f"refused calls of {key.owner(address)} at {network_of(address)}"


def is_large(body: bytes) -> bool:
    """Whether a body is larger than those of our executors are."""
    if len(body) > _LARGE_CALL or values_at_most(body) <= _LARGE_CALL_VALUES:
        return len(body) > _LARGE_CALL
    return has_more_values(body.decode("utf-8", "replace"), _LARGE_CALL_VALUES)


def _large_calls(key: ExecutorKey) -> str:
    return f"large calls of executor token {key.token_id}"
