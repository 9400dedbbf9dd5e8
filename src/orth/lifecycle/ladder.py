"""When to try to register: a few attempts with growing pauses, then one now and then for as long as it takes."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ladder:
    """The pauses before the first attempts, one for each, and the pause before every later one."""

    pauses: Sequence[float]
    again: float

    @property
    def attempts(self) -> int:
        """How many attempts the ladder has; later ones are made in the background."""
        return len(self.pauses)

    def pause_before(self, attempt: int) -> float:
        """Seconds between the failure of the attempt before and this one; the first is number 1."""
        return self.pauses[attempt - 1] if attempt <= len(self.pauses) else self.again

    @property
    def shortest(self) -> float:
        """The least distance of two attempts: "at once" must not become a storm when a registry forgets as fast as it
        is told.
        """
        return min((pause for pause in (*self.pauses, self.again) if pause > 0), default=self.again)
