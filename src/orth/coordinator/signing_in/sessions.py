"""Beginning, going on with and ending sessions: each function is one transaction, with its entry in the audit."""

import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta

from orth.coordinator.signing import Refresh, digest_of
from orth.domain.audit import Actor, ActorKind, Deed
from orth.domain.sessions import Session, SessionKind, Way
from orth.settings import Settings
from orth.store.audit import record
from orth.store.database import Connection
from orth.store.sessions import (
    SignedIn,
    add_session,
    drop_stale_sessions,
    end_session,
    find_signed_in,
    hold_session,
    note_use,
    replace_secret,
)
from orth.store.users import User

GRACE_MS = 10_000
"""How long a refresh token is forgiven after it was replaced."""
_SEEN_EVERY_MS = 60_000
_SECRET_BYTES = 32
_MS = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long sessions live, in milliseconds: unused, by kind, and at most."""

    idle: dict[SessionKind, int]
    longest: int

    @classmethod
    def of(cls, settings: Settings) -> "Lifetimes":
        own = settings.security
        idle = {SessionKind.TOKENS: own.refresh_token_ttl // _MS, SessionKind.BROWSER: own.session_idle // _MS}
        return cls(idle, own.session_ttl // _MS)

    def idle_until(self, kind: SessionKind, now: int, expires_at: int) -> int:
        return min(now + self.idle[kind], expires_at)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a sign-in comes from, for people to recognise it by."""

    address: str
    agent: str


@dataclass(frozen=True, slots=True)
class Begun:
    """A session and its secret, which is known only now."""

    session: Session
    secret: str


@dataclass(frozen=True, slots=True)
class Renewed:
    """A session that goes on with another refresh token."""

    signed_in: SignedIn
    refresh: Refresh
    until: int


def begin_session(
    connection: Connection,
    user: User,
    kind: SessionKind,
    way: Way,
    origin: Origin,
    *,
    lifetimes: Lifetimes,
    now: int,
) -> Begun:
    """A new session of somebody who has shown who they are. Its id is new, whatever the caller had before."""
    secret, expires_at = secrets.token_hex(_SECRET_BYTES), now + lifetimes.longest
    session = Session(
        id=secrets.token_hex(16),
        user_id=user.id,
        kind=kind,
        way=way,
        password_version=user.password_version,
        digest=digest_of(secret),
        created_at=now,
        seen_at=now,
        idle_until=lifetimes.idle_until(kind, now, expires_at),
        expires_at=expires_at,
        address=origin.address[:64],
        agent=origin.agent[:200],
    )
    drop_stale_sessions(connection, now)
    add_session(connection, session)
    deed = Deed("session.begin", "session", session.id, after={"kind": kind.value, "way": way.value})
    record(connection, Actor(ActorKind.USER, user.username, origin.address), deed, now)
    return Begun(session, secret)


def renew_session(
    connection: Connection, shown: Refresh, address: str, *, lifetimes: Lifetimes, now: int
) -> Renewed | None:
    """Go on with a session for whoever shows a refresh token that we made; None when that is over.

    A token that was replaced before ends the session: somebody has a copy.
    """
    session = hold_session(connection, shown.session_id)
    signed_in = find_signed_in(connection, shown.session_id, now)
    if session is None or signed_in is None or session.kind is not SessionKind.TOKENS:
        return None
    digest = digest_of(shown.secret)
    if hmac.compare_digest(digest, session.digest):
        secret = secrets.token_hex(_SECRET_BYTES)
        until = lifetimes.idle_until(session.kind, now, session.expires_at)
        masked = _masked(secret, shown.secret)
        replace_secret(connection, session, digest_of(secret), masked, now=now, idle_until=until)
        return Renewed(signed_in, Refresh(session.id, session.generation + 1, secret), until)
    if session.forgives(now, GRACE_MS) and hmac.compare_digest(digest, session.previous_digest or ""):
        secret = _masked(session.successor or "", shown.secret)
        return Renewed(signed_in, Refresh(session.id, session.generation, secret), session.idle_until)
    end_session(connection, session.id, session.user_id)
    told = {"username": signed_in.user.username, "generation": shown.generation, "current": session.generation}
    deed = Deed("session.reuse", "session", session.id, before=told)
    record(connection, Actor(ActorKind.STRANGER, "", address), deed, now)
    return None


def end_own_session(connection: Connection, actor: Actor, session_id: str, user_id: int, now: int) -> bool:
    """End a session for its user; False when it is none of theirs."""
    if not end_session(connection, session_id, user_id):
        return False
    record(connection, actor, Deed("session.end", "session", session_id), now)
    return True


def is_worth_noting(session: Session, now: int) -> bool:
    """Whether the use of a browser's session is to be written down: not at every request."""
    return session.kind is SessionKind.BROWSER and now - session.seen_at >= _SEEN_EVERY_MS


def note_session_use(connection: Connection, session: Session, lifetimes: Lifetimes, now: int) -> None:
    until = lifetimes.idle_until(session.kind, now, session.expires_at)
    note_use(connection, session.id, now=now, idle_until=until)


def _masked(text: str, key: str) -> str:
    """A secret so that only who has ``key`` can read it; the same again undoes it."""
    pad = hmac.digest(key.encode(), b"orth successor", "sha256")
    return bytes(one ^ other for one, other in zip(bytes.fromhex(text), pad, strict=True)).hex()
