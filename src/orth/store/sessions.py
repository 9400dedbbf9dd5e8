"""Sessions as the store has them. A session that is ended is removed: no credential that names it is good any more."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, insert, select, update

from orth.domain.sessions import Session, SessionKind, Way
from orth.store.engines import among, locked
from orth.store.sign_in_tables import sessions, sign_in_links
from orth.store.tables import users
from orth.store.users import User, get_user

MOST_OF_ONE_USER = 100
"""Sessions; the oldest make room."""
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A session that is good, and whose it is."""

    session: Session
    user: User


def add_session(connection: Connection, session: Session) -> None:
    """Store a new session, and let the oldest of its user go if there are too many."""
    connection.execute(insert(sessions).values(**asdict(session)))
    mine = select(sessions.c.id).where(sessions.c.user_id == session.user_id)
    newest_first = mine.order_by(sessions.c.created_at.desc(), sessions.c.id != session.id)
    too_many = connection.execute(newest_first.offset(MOST_OF_ONE_USER).limit(_AT_ONCE)).scalars().all()
    _remove(connection, too_many)


def find_signed_in(connection: Connection, session_id: str, now: int) -> SignedIn | None:
    """The session of that id with its user, if both are good."""
    found = select(sessions).join(users, users.c.id == sessions.c.user_id)
    row = connection.execute(found.where(sessions.c.id == session_id, _good(now))).one_or_none()
    return None if row is None else SignedIn(_session(row), get_user(connection, row.user_id))


def hold_session(connection: Connection, session_id: str) -> Session | None:
    """The session as it is, good or not, and nobody else's to change until the transaction ends."""
    row = connection.execute(locked(select(sessions).where(sessions.c.id == session_id), connection)).one_or_none()
    return None if row is None else _session(row)


def good_sessions(connection: Connection, session_ids: Iterable[str], now: int) -> set[str]:
    """Those of ``session_ids`` that are good."""
    asked, good = list(session_ids), set[str]()
    for start in range(0, len(asked), _AT_ONCE):
        part = among(connection, sessions.c.id, asked[start : start + _AT_ONCE])
        found = select(sessions.c.id).join(users, users.c.id == sessions.c.user_id).where(part, _good(now))
        good.update(connection.execute(found).scalars())
    return good


def sessions_of(connection: Connection, user_id: int, now: int) -> list[Session]:
    """The good sessions of a user, newest first."""
    found = select(sessions).join(users, users.c.id == sessions.c.user_id)
    mine = found.where(sessions.c.user_id == user_id, _good(now)).order_by(sessions.c.created_at.desc(), sessions.c.id)
    return [_session(row) for row in connection.execute(mine.limit(MOST_OF_ONE_USER))]


def newest_origins(connection: Connection, limit: int) -> list[tuple[str, str]]:
    """The addresses from which sessions were begun, and under which names; the newest last."""
    found = select(sessions.c.address, users.c.username).join(users, users.c.id == sessions.c.user_id)
    rows = connection.execute(found.order_by(sessions.c.created_at.desc()).limit(limit)).all()
    return [(row.address, row.username) for row in reversed(rows)]


def replace_secret(
    connection: Connection, session: Session, digest: str, successor: str, *, now: int, idle_until: int
) -> None:
    """Let another secret be the good one of a session that is held."""
    connection.execute(
        update(sessions)
        .where(sessions.c.id == session.id)
        .values(
            digest=digest,
            previous_digest=session.digest,
            successor=successor,
            generation=session.generation + 1,
            replaced_at=now,
            seen_at=now,
            idle_until=idle_until,
        )
    )


def note_use(connection: Connection, session_id: str, *, now: int, idle_until: int) -> None:
    connection.execute(update(sessions).where(sessions.c.id == session_id).values(seen_at=now, idle_until=idle_until))


def carry_over(connection: Connection, session_id: str, password_version: int) -> None:
    """Let a session outlive the change of password that was made in it."""
    connection.execute(update(sessions).where(sessions.c.id == session_id).values(password_version=password_version))


def end_session(connection: Connection, session_id: str, user_id: int) -> bool:
    """End a session of a user; False when there is none."""
    mine = delete(sessions).where(sessions.c.id == session_id, sessions.c.user_id == user_id)
    return connection.execute(mine).rowcount == 1


def end_sessions(connection: Connection, user_id: int, *, but: str | None = None) -> list[str]:
    """End all sessions of a user except ``but``, and what one could still begin one with without a password; their
    ids.
    """
    connection.execute(delete(sign_in_links).where(sign_in_links.c.user_id == user_id))
    mine = select(sessions.c.id).where(sessions.c.user_id == user_id, sessions.c.id != (but or ""))
    ids = list(connection.execute(mine).scalars())
    for start in range(0, len(ids), _AT_ONCE):
        _remove(connection, ids[start : start + _AT_ONCE])
    return ids


def drop_stale_sessions(connection: Connection, now: int, limit: int = 100) -> None:
    """Remove some that are over."""
    old = select(sessions.c.id).where(sessions.c.idle_until <= now).order_by(sessions.c.idle_until).limit(limit)
    _remove(connection, connection.execute(old).scalars().all())


def _remove(connection: Connection, ids: Sequence[str]) -> None:
    if ids:
        connection.execute(delete(sessions).where(among(connection, sessions.c.id, ids)))


def _good(now: int) -> ColumnElement[bool]:
    return and_(
        sessions.c.idle_until > now,
        sessions.c.expires_at > now,
        sessions.c.password_version == users.c.password_version,
        users.c.disabled_at.is_(None),
    )


def _session(row: Row[Any]) -> Session:
    stored = row._mapping
    fields = {name: stored[name] for name in Session.__dataclass_fields__}
    return Session(**{**fields, "kind": SessionKind(stored["kind"]), "way": Way(stored["way"])})
