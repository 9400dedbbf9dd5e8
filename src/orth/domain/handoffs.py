"""Why an execution changed hands, and which of the four cases of a handover it was.

An execution is *offered* by an owner that lives and goes on with it, or *abandoned*: by an owner that left before
anybody took it, or because its owner is gone. Cases A to D are about handing over; who died has handed over nothing.
"""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why an execution is to change hands."""

    SHUTDOWN = "Shutdown"
    NODE_CRASH = "NodeCrash"
    REBALANCE = "Rebalance"
    ORPHAN = "Orphan"


class Case(StrEnum):
    """How a handover went."""

    TAKEN = "A"  # in time
    ASKED_AGAIN = "B"
    ABANDONED = "C"  # nobody took it in time, and the orphan check found it a new owner
    NOBODY_THERE = "D"  # nobody else was alive


@dataclass(frozen=True, slots=True)
class PastHandoff:
    """A change of hands, as it is remembered."""

    id: int
    execution_id: int
    job_id: int
    from_node: str | None
    to_node: str
    reason: Reason
    offered: bool
    waited_ms: int
    taker_came_later: bool
    at: int


def reason_of(*, had_owner: bool, offered: bool, giver_left: bool) -> Reason:
    """Why it changed hands; ``giver_left``: its owner was draining, or had said good-bye."""
    if not had_owner:
        return Reason.ORPHAN
    if giver_left:
        return Reason.SHUTDOWN
    return Reason.REBALANCE if offered else Reason.NODE_CRASH


def case_of(reason: Reason, *, offered: bool, waited: float, ack_timeout: float, taker_came_later: bool) -> Case | None:
    """Which case it was, when it was taken ``waited`` seconds after it was offered or abandoned; None: nobody handed it
    over.
    """
    if reason in (Reason.ORPHAN, Reason.NODE_CRASH):
        return None
    if offered:
        return Case.TAKEN if waited <= ack_timeout else Case.ASKED_AGAIN
    return Case.NOBODY_THERE if taker_came_later else Case.ABANDONED


def times_asked(*, offered: bool, waited: float, ack_timeout: float, tries: int) -> int:
    """How often the others were asked until one took it: an owner asks again after each ``ack_timeout``."""
    return min(tries, 1 + int(waited // ack_timeout)) if offered else tries
