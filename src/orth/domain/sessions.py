"""Sessions: how somebody is signed in, and when that is over.

A session ends when it is ended, when nobody used it for a while, or when its time is up, whichever comes first; and
with its user: one who is gone, disabled or has another password than it was begun with is signed in nowhere.
"""

from dataclasses import dataclass
from enum import StrEnum


class SessionKind(StrEnum):
    TOKENS = "tokens"  # an access token, and a refresh token that is replaced whenever it is used
    BROWSER = "browser"  # a cookie


class Way(StrEnum):
    """How a session was begun."""

    PASSWORD = "password"  # noqa: S105  # the name of the way
    LINK = "link"
    OIDC = "oidc"


@dataclass(frozen=True, slots=True)
class Session:
    """One sign-in. ``digest`` is of its secret, which only its holder has."""

    id: str
    user_id: int
    kind: SessionKind
    way: Way
    password_version: int
    digest: str
    created_at: int
    seen_at: int
    idle_until: int
    expires_at: int
    address: str
    agent: str
    generation: int = 1
    previous_digest: str | None = None
    successor: str | None = None
    replaced_at: int | None = None

    def is_over(self, now: int) -> bool:
        return now >= self.idle_until or now >= self.expires_at

    def forgives(self, now: int, grace: int) -> bool:
        """Whether the secret before the one that is good now was replaced only a moment ago."""
        return self.replaced_at is not None and now - self.replaced_at < grace
