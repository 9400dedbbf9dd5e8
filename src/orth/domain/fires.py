"""What was decided about a due fire.

Every due fire has an execution or a stored reason why not: silence is never an answer.
"""

from dataclasses import dataclass
from typing import Literal

Decision = Literal["run", "skipped", "coalesced"]


@dataclass(frozen=True, slots=True)
class FireDecision:
    """One fire, or a span of fires that met the same fate. ``fires`` None: more than were worth counting."""

    job_id: int
    fire_time: int
    last_time: int
    fires: int | None
    decision: Decision
    reason: str
    job_version: int
