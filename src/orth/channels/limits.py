"""How much each part of the channels holds, at most. What does not fit is refused, and the one who sends keeps it."""

from dataclasses import dataclass

LONGEST_NAME = 255
"""Characters of the name of a queue, topic or box."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The same for every backend; ``channels`` in the settings has the first three."""

    queue: int = 100_000
    """Messages of one queue that are not done."""
    box: int = 10_000
    """Messages in one box."""
    message: int = 4 * 1024 * 1024
    """Bytes of one message."""
    dead: int = 1_000
    """Dead letters of one queue; the oldest go first."""
    ear: int = 20_000
    """What somebody who listens may leave unheard; the oldest go first, and are counted."""
