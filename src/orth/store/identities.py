"""Which of our users somebody is whom an issuer knows."""

from sqlalchemy import Connection, select

from orth.store.engines import insert_new
from orth.store.sign_in_tables import identities


def find_identity(connection: Connection, digest: str) -> int | None:
    """The id of the user."""
    found = connection.execute(select(identities.c.user_id).where(identities.c.digest == digest)).scalar()
    return None if found is None else int(found)


def is_bound(connection: Connection, user_id: int) -> bool:
    """Whether somebody is that user already."""
    found = select(identities.c.digest).where(identities.c.user_id == user_id).limit(1)
    return connection.execute(found).first() is not None


def bind_identity(connection: Connection, digest: str, user_id: int, now: int) -> bool:
    """Let somebody be that user from now on; False when they are another one."""
    insert_new(connection, identities, [{"digest": digest, "user_id": user_id, "bound_at": now}])
    return find_identity(connection, digest) == user_id
