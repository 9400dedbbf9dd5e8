"""Coordinators and executors as others see them.

A process is known by its *incarnation*, a random id made at its start: host name and address may be reused by a
successor, and a restart on the same address is not a continuation.
"""

from dataclasses import dataclass
from enum import StrEnum


class Liveness(StrEnum):
    """What the age of the last beat says."""

    ALIVE = "alive"
    MISSED_30 = "missed_30"  # one beat missed
    MISSED_60 = "missed_60"  # two
    REMOVED = "removed"  # three: out of the registry


@dataclass(frozen=True, slots=True)
class ExecutorEntry:
    """One executor process as the registry knows it."""

    app_name: str
    address: str
    last_beat: int
    incarnation: str | None  # None: a foreign executor, which does not say
    extensions: frozenset[str] = frozenset()
    """What this executor announced beyond the base protocol; nothing else may be sent to it."""


def liveness(age: int, beat: int, dead_after: int) -> Liveness:
    """What a beat ``age`` ms old means when one is expected every ``beat`` ms and three missing ones are
    ``dead_after`` ms.
    """
    if age >= dead_after:
        return Liveness.REMOVED
    if age >= 2 * beat:
        return Liveness.MISSED_60
    if age > beat + beat // 10:  # a tenth of slack: a beat in flight is not a missed beat
        return Liveness.MISSED_30
    return Liveness.ALIVE


def normal_address(address: str) -> str:
    """An executor address in the one spelling used for comparing: no trailing slash."""
    return address.strip().rstrip("/")
