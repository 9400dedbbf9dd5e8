"""People who may sign in and what they may, and the secrets the cluster shares."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, delete, select, update

from orth.domain.access import Rights, Role, known_role
from orth.errors import NotFound
from orth.store.access_tables import user_grants, user_preferences
from orth.store.engines import among, insert_all, insert_new, locked
from orth.store.sign_in_tables import identities, sessions, sign_in_links
from orth.store.tables import groups, secrets, users


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with a password. ``password`` is a hash; ``password_version`` grows when it changes."""

    id: int
    username: str
    password: str
    password_version: int
    role: str
    """What holds everywhere; empty: nothing does."""
    grants: Mapping[int, Role] = field(default_factory=dict)
    """What holds in single groups."""
    disabled_at: int | None = None
    created_at: int = 0

    @property
    def rights(self) -> Rights:
        return Rights(known_role(self.role), self.grants)


def find_user(connection: Connection, username: str) -> User | None:
    """The user of exactly that name: MariaDB and MySQL find ``admin`` for ``admin`` with a space behind it, too."""
    row = connection.execute(select(users).where(users.c.username == username)).one_or_none()
    return _one(connection, row if row is not None and row.username == username else None)


def get_user(connection: Connection, user_id: int) -> User:
    found = _one(connection, connection.execute(select(users).where(users.c.id == user_id)).one_or_none())
    if found is None:
        raise NotFound("user", user_id)
    return found


def disabled_among(connection: Connection, usernames: Collection[str]) -> dict[str, bool]:
    """Whether each of these users is disabled; those that do not exist are left out."""
    found = select(users.c.username, users.c.disabled_at).where(among(connection, users.c.username, usernames))
    return {row.username: row.disabled_at is not None for row in connection.execute(found)}


def hold_user(connection: Connection, user_id: int) -> User:
    """The user as it is, kept so until the transaction ends."""
    row = locked(select(users).where(users.c.id == user_id), connection)
    found = _one(connection, connection.execute(row).one_or_none())
    if found is None:
        raise NotFound("user", user_id)
    return found


def list_users(connection: Connection, after: int, limit: int, username: str | None = None) -> list[User]:
    """Users in order of id, those after ``after``; only the one of that name, if one is given."""
    found = select(users).where(users.c.id > after).order_by(users.c.id).limit(limit)
    if username is not None:
        found = found.where(users.c.username == username)
    rows = [row for row in connection.execute(found) if username in (None, row.username)]
    grants = _grants(connection, [row.id for row in rows])
    return [_user(row, grants.get(row.id, {})) for row in rows]


def hold_admins(connection: Connection) -> frozenset[int]:
    """Who is administrator everywhere and not disabled. Until the transaction ends none of them can cease to be one,
    so of two who would remove each other the second sees what the first did.
    """
    found = select(users.c.id).where(users.c.role == Role.ADMIN, users.c.disabled_at.is_(None)).order_by(users.c.id)
    return frozenset(connection.scalars(locked(found, connection)))


def add_user(connection: Connection, username: str, password_hash: str, role: str, now: int) -> bool:
    """Store a new user; False when the name exists, whose password then stays as it is."""
    if find_user(connection, username) is not None:
        return False
    row = {
        "username": username,
        "password": password_hash,
        "password_version": 1,
        "role": role,
        "permission": "",  # of the schema this one grew from; grants say more
        "created_at": now,
        "update_time": now,
    }
    insert_new(connection, users, [row])
    stored = find_user(connection, username)
    return stored is not None and stored.password == password_hash


def set_role(connection: Connection, user_id: int, role: Role | None, now: int) -> None:
    """Write what holds everywhere."""
    connection.execute(update(users).where(users.c.id == user_id).values(role=role or "", update_time=now))


def set_grants(connection: Connection, user_id: int, grants: Mapping[int, Role]) -> None:
    """Write what holds in single groups, in the place of what did."""
    connection.execute(delete(user_grants).where(user_grants.c.user_id == user_id))
    rows = [{"user_id": user_id, "group_id": group, "role": str(role)} for group, role in sorted(grants.items())]
    insert_all(connection, user_grants, rows)


def hold_groups(connection: Connection, ids: Collection[int]) -> frozenset[int]:
    """Those of these groups that exist, kept from being deleted until the transaction ends."""
    found = select(groups.c.id).where(among(connection, groups.c.id, ids)).order_by(groups.c.id)
    return frozenset(connection.scalars(locked(found, connection)))


def set_disabled(connection: Connection, user_id: int, disabled_at: int | None, now: int) -> None:
    """Let nobody in under this name from an instant on, or, with None, let them in again."""
    values = {"disabled_at": disabled_at, "update_time": now}
    connection.execute(update(users).where(users.c.id == user_id).values(**values))


def set_password(connection: Connection, username: str, password_hash: str, now: int) -> bool:
    """Change a password, which ends every session that was begun with the old one, and links that need none."""
    theirs = select(users.c.id).where(users.c.username == username)
    connection.execute(delete(sign_in_links).where(sign_in_links.c.user_id.in_(theirs)))
    done = connection.execute(
        update(users)
        .where(users.c.username == username)
        .values(password=password_hash, password_version=users.c.password_version + 1, update_time=now)
    )
    return done.rowcount == 1


def remove_user(connection: Connection, user_id: int) -> None:
    """Remove a user, what they may and chose, and where they are signed in."""
    for theirs in (sessions, sign_in_links, identities):
        connection.execute(delete(theirs).where(theirs.c.user_id == user_id))
    for theirs in (user_grants, user_preferences):
        connection.execute(delete(theirs).where(theirs.c.user_id == user_id))
    if connection.execute(delete(users).where(users.c.id == user_id)).rowcount == 0:
        raise NotFound("user", user_id)


def shared_secret(connection: Connection, name: str, proposal: str, now: int, *, hold: bool = False) -> str:
    """The secret of that name, which is ``proposal`` if nobody stored one before: all nodes end up with the same. With
    ``hold``, no other transaction changes the secret until this one ends.
    """
    insert_new(connection, secrets, [{"name": name, "value": proposal, "created_at": now}])
    found = select(secrets.c.value).where(secrets.c.name == name)
    value: str = connection.execute(locked(found, connection) if hold else found).scalar_one()
    return value


def find_secret(connection: Connection, name: str) -> str | None:
    return connection.execute(select(secrets.c.value).where(secrets.c.name == name)).scalar_one_or_none()


def replace_secret(connection: Connection, name: str, known: str, proposal: str) -> bool:
    """Put another in the place of a secret; False when it is not the ``known`` one any more."""
    same = update(secrets).where(secrets.c.name == name, secrets.c.value == known)
    return connection.execute(same.values(value=proposal)).rowcount == 1


def _one(connection: Connection, row: Row[Any] | None) -> User | None:
    return None if row is None else _user(row, _grants(connection, [row.id]).get(row.id, {}))


def _grants(connection: Connection, ids: Collection[int]) -> dict[int, dict[int, Role]]:
    """By user and group. A role that this version does not know grants nothing."""
    rows = connection.execute(select(user_grants).where(among(connection, user_grants.c.user_id, ids)))
    found: dict[int, dict[int, Role]] = {}
    for row in rows:
        if (role := known_role(row.role)) is not None:
            found.setdefault(row.user_id, {})[row.group_id] = role
    return found


def _user(row: Row[Any], grants: Mapping[int, Role]) -> User:
    return User(
        row.id,
        row.username,
        row.password,
        row.password_version,
        row.role,
        grants,
        row.disabled_at,
        row.created_at,
    )
