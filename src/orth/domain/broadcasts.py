"""Broadcasts: how many shards have ended for good."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tally:
    """Shards that have ended for good, by how."""

    succeeded: int = 0
    failed: int = 0

    @property
    def ended(self) -> int:
        return self.succeeded + self.failed

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.succeeded + other.succeeded, self.failed + other.failed)
