"""The circuit breaker between a process and its registry: what has failed for long is left alone for a while.

*Closed*: calls pass. After so many failures in a row it is *open*: none passes until the cooldown is over. Then it is
*half open*: one call passes and probes. Its success closes the circuit, its failure opens it for another cooldown. The
cooldown does not grow, so a registry that is back is found within one of them, however long it was away.
"""

from dataclasses import dataclass
from enum import StrEnum

_PROBING = 1.0


class Circuit(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(slots=True)
class Breaker:
    """Time is the caller's monotonic clock."""

    after: int
    cooldown: float
    failures: int = 0
    state: Circuit = Circuit.CLOSED
    open_until: float = 0.0

    def passes(self, now: float) -> bool:
        """Whether a call may begin; of several that would probe, one."""
        return self.state is Circuit.CLOSED or (self.state is Circuit.OPEN and now >= self.open_until)

    def passes_at(self, now: float) -> float:
        """When the next call may begin; while one probes, it is worth looking a little later."""
        if self.state is Circuit.HALF_OPEN:
            return now + _PROBING
        return max(now, self.open_until) if self.state is Circuit.OPEN else now

    def begin(self, now: float) -> bool:
        """A call that passes begins; True when it is the one that probes."""
        if self.state is not Circuit.OPEN or now < self.open_until:
            return False
        self.state = Circuit.HALF_OPEN
        return True

    def succeeded(self) -> bool:
        """True when that closed the circuit."""
        changed = self.state is not Circuit.CLOSED
        self.failures, self.state = 0, Circuit.CLOSED
        return changed

    def failed(self, now: float, *, may_open: bool = True) -> bool:
        """True when that opened the circuit. A failure that may not open it counts all the same."""
        self.failures += 1
        enough = may_open and self.failures >= self.after
        if self.state is Circuit.OPEN or (self.state is Circuit.CLOSED and not enough):
            return False
        self.state, self.open_until = Circuit.OPEN, now + self.cooldown
        return True

    def may_try(self, now: float) -> None:
        """Something else says that it may be worth while, or the call that probed was given up: the next one probes."""
        if self.state is not Circuit.CLOSED:
            self.state, self.open_until = Circuit.OPEN, now
