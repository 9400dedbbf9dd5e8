"""People who may sign in, and the secrets the cluster shares."""

from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from orth.store.engines import insert_new
from orth.store.tables import secrets, users


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with a password. ``password`` is a hash; ``password_version`` grows when it changes."""

    id: int
    username: str
    password: str
    password_version: int
    role: str


def find_user(connection: Connection, username: str) -> User | None:
    row = connection.execute(select(users).where(users.c.username == username)).one_or_none()
    return None if row is None else User(row.id, row.username, row.password, row.password_version, row.role)


def add_user(
    connection: Connection, username: str, password_hash: str, role: str, now: int, *, permission: str = ""
) -> bool:
    """Store a new user; False when the name exists, whose password then stays as it is."""
    if find_user(connection, username) is not None:
        return False
    row = {
        "username": username,
        "password": password_hash,
        "password_version": 1,
        "role": role,
        "permission": permission,
        "created_at": now,
        "update_time": now,
    }
    insert_new(connection, users, [row])
    stored = find_user(connection, username)
    return stored is not None and stored.password == password_hash


def set_password(connection: Connection, username: str, password_hash: str, now: int) -> bool:
    """Change a password, which ends every session that was begun with the old one."""
    done = connection.execute(
        update(users)
        .where(users.c.username == username)
        .values(password=password_hash, password_version=users.c.password_version + 1, update_time=now)
    )
    return done.rowcount == 1


def shared_secret(connection: Connection, name: str, proposal: str, now: int) -> str:
    """The secret of that name, which is ``proposal`` if nobody stored one before: all nodes end up with the same."""
    insert_new(connection, secrets, [{"name": name, "value": proposal, "created_at": now}])
    value: str = connection.execute(select(secrets.c.value).where(secrets.c.name == name)).scalar_one()
    return value
