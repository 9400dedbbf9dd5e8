"""Tokens of programs and of executors: what each may, and for how long.

An *API token* acts for a program, in the place of its owner: it has rights, as people do, but never more than its owner
has at that moment, and none once its owner is gone. An *executor token* is one group's: with it a process is
an executor of its app names, and nothing else. Both are random, shown once, and told apart by how they begin.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256

from orth.domain.access import Permission, Rights, Role, granted

API_PREFIX = "orth_pat_"
EXECUTOR_PREFIX = "orth_ext_"
_SHOWN = 6  # characters after the prefix by which people know a token again; those that are left cannot be guessed


class TokenKind(StrEnum):
    API = "api"
    EXECUTOR = "executor"


class OwnerState(StrEnum):
    """Whether whoever an API token acts for is let in. It is good only while they are."""

    ACTIVE = "active"
    DISABLED = "disabled"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Token:
    """One of them, without what proves it. ``expires_at`` is None where it is good until revoked. ``created_by`` is the
    owner, also where that one made it with another token.
    """

    kind: TokenKind
    name: str
    rights: Rights = field(default_factory=Rights)
    app_names: tuple[str, ...] = ()
    created_by: str = ""
    created_at: int = 0
    expires_at: int | None = None
    last_used_at: int | None = None
    revoked_at: int | None = None
    once: bool = False
    """Of an executor token: it admits one executor, and is used up by that (a join token)."""
    id: int = 0
    networks: tuple[str, ...] = ()
    """Of an executor token: those from which it is accepted; none: from everywhere."""

    def outlives(self, other: "Token") -> bool:
        return other.expires_at is not None and (self.expires_at is None or self.expires_at > other.expires_at)

    def is_good(self, now: int) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def digest_of(text: str) -> str:
    """What is stored of it. Without salt or effort: nobody guesses 256 random bits."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def shown_of(text: str) -> str:
    """The beginning of it."""
    return text[: len(API_PREFIX) + _SHOWN]


def excess(wanted: Rights, own: Rights) -> tuple[Permission, int | None] | None:
    """What ``wanted`` allows and ``own`` does not, and in which group (None: in every one); None when there is nothing
    of the kind.
    """
    if wanted.everywhere is not None:
        missing = _missing(wanted.everywhere, own, None)
        if missing:
            return missing[0], None
    for group_id, role in sorted(wanted.in_groups.items()):
        missing = _missing(role, own, group_id)
        if missing:
            return missing[0], group_id
    return None


def _missing(role: Role, own: Rights, group_id: int | None) -> list[Permission]:
    return [one for one in Permission if one in granted(role) and not own.allows(one, group_id)]
