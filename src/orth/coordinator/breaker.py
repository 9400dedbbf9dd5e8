"""The circuit breaker of one executor: what keeps failing is left alone for a while.

``reach`` says whether anybody is there, from one call; a probe clears it. This says whether work gets through: an
executor may answer every probe and still time out on every trigger, because probes are small. So they are two things,
and routing asks both. A connection that is refused is no failure here: it costs nothing, and nobody is there to be
spared. Another incarnation on the same address begins with a closed circuit.

*Closed*: requests pass. After some failures in a row it is *open*: none passes until the pause is over. Then it is
*half open*: one passes, and its outcome closes the circuit or opens it again for twice as long, up to a limit.
"""

from dataclasses import dataclass, field
from enum import StrEnum

_LONGEST = 12
"""The longest pause, as a multiple of the first."""


class Circuit(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(slots=True)
class Breaker:
    """Time is the caller's monotonic clock."""

    after: int
    pause: float
    failures: int = 0
    open_until: float | None = None
    _pause: float = field(init=False)

    def __post_init__(self) -> None:
        self._pause = self.pause

    def state(self, now: float) -> Circuit:
        if self.open_until is None:
            return Circuit.CLOSED
        return Circuit.OPEN if now < self.open_until else Circuit.HALF_OPEN

    def succeeded(self) -> bool:
        """A request got through; True when that closed the circuit."""
        was_open = self.open_until is not None
        self.failures, self.open_until, self._pause = 0, None, self.pause
        return was_open

    def failed(self, now: float) -> bool:
        """A request did not get through; True when the circuit is open from now on."""
        self.failures += 1
        state = self.state(now)
        if state is Circuit.OPEN:  # it was on its way before the others failed
            return False
        if state is Circuit.HALF_OPEN:
            self._pause = min(2 * self._pause, _LONGEST * self.pause)
        elif self.failures < self.after:
            return False
        self.open_until = now + self._pause
        return True
