"""One-time links: who opens one is signed in, once, within a quarter of an hour.

Somebody at the machine, who can read the store anyway, gets in without a password. The store keeps a digest only.
"""

import secrets
from urllib.parse import quote

from orth.coordinator.signing import digest_of
from orth.domain.audit import Actor, Deed
from orth.errors import NotFound
from orth.store.audit import record
from orth.store.database import Connection, open_database
from orth.store.sign_in_tallies import add_link, drop_stale_links, take_link
from orth.store.users import User, find_user, get_user

GOOD_FOR_MS = 15 * 60_000


def make_link(connection: Connection, username: str, actor: Actor, now: int) -> str:
    """A new token for that user, which is known only now."""
    user = find_user(connection, username)
    if user is None or user.disabled_at is not None:
        raise NotFound("user", username)
    token = secrets.token_urlsafe(32)
    drop_stale_links(connection, now)
    add_link(connection, digest_of(token), user.id, now + GOOD_FOR_MS)
    record(connection, actor, Deed("link.make", "user", username), now)
    return token


def use_link(connection: Connection, token: str, now: int) -> User | None:
    """Whose link it is; None when it is no link, was used or is too old. It is no link any more in any case."""
    user_id = take_link(connection, digest_of(token), now)
    if user_id is None:
        return None
    try:
        user = get_user(connection, user_id)
    except NotFound:  # removed since
        return None
    return None if user.disabled_at is not None else user


def link_at(url: str, username: str, actor: Actor, now: int) -> str:
    """A new token from the store at ``url``, for somebody at the machine."""
    with open_database(url, size=1) as db, db.engine.begin() as connection:
        return make_link(connection, username, actor, now)


def link_url(console: str, token: str) -> str:
    return f"{console.rstrip('/')}/?t={quote(token, safe='')}"
