"""Executors that are known by a key of their own, and who lets them in.

An executor makes its key once and keeps it. Coordinators learn it at its enrolment, for which it needs a token of its
group. ``Admission`` says what follows from a new key; ``KeyState`` is what coordinators think of one.
"""

from dataclasses import dataclass
from enum import StrEnum


class Admission(StrEnum):
    """Whom a group lets in as an executor."""

    OPEN = "open"  # whoever has a token of the group
    KNOWN = "known"  # whom an administrator admitted, or who came with a join token


class KeyState(StrEnum):
    WAITING = "waiting"
    ADMITTED = "admitted"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class EnrolledKey:
    """The key of one executor, as coordinators keep it."""

    id: int
    key_id: str
    app_name: str
    sealed: str
    state: KeyState
    address: str
    """Where the executor says that it is."""
    source: str
    """Where its enrolment came from."""
    token_id: int | None
    """The token of its group that it enrolled with; None: the one that all executors share."""
    token_key: str
    """The name of that token's key."""
    first_seen: int
    last_seen: int | None
    """When it last proved its key, to within ten minutes."""
    decided_by: str | None
    """Who admitted or revoked it; None: a token alone let it in, and it is good as long as that token is."""
    decided_at: int | None


def first_state(admission: Admission, *, joins: bool) -> KeyState:
    """What a new key is; one that ``joins`` came with a join token."""
    return KeyState.ADMITTED if joins or admission is Admission.OPEN else KeyState.WAITING
