"""Programs that show an API token. Each acts for the user who owns it, and may what both may at that moment."""

from orth.coordinator.http.callers import Caller
from orth.coordinator.http.tools import Tools
from orth.domain.audit import ActorKind
from orth.domain.tokens import API_PREFIX, TokenKind, digest_of
from orth.errors import Unauthenticated
from orth.store.database import Connection
from orth.store.tokens import Proven, find_by_digest, note_use
from orth.store.users import User, find_user

USE_NOTED_EVERY = 60_000
"""Milliseconds between two times of use that are written down."""
_LONGEST = 200


async def token_caller(tools: Tools, text: str, address: str = "") -> Caller | None:
    """Who shows this API token; None when it is none, ``Unauthenticated`` when it is not good (any more)."""
    if not text.startswith(API_PREFIX):
        return None
    found = await tools.db.read(_find, digest_of(text)) if len(text) <= _LONGEST else None
    now = tools.clock.now()
    if found is None or not found[0].is_good(now) or found[1].disabled_at is not None:
        raise Unauthenticated.of("api_token_not_valid")
    token, owner = found[0].token, found[1]
    if token.last_used_at is None or now - token.last_used_at >= USE_NOTED_EVERY:
        await tools.db.tx(note_use, token.id, now)
    rights = token.rights.within(owner.rights)
    return Caller(f"token:{token.name}", rights, ActorKind.TOKEN, address, token=token)


def _find(connection: Connection, digest: str) -> tuple[Proven, User] | None:
    """The API token and its owner; None when either is not there."""
    proven = find_by_digest(connection, digest)
    if proven is None or proven.token.kind is not TokenKind.API:
        return None
    owner = find_user(connection, proven.token.created_by)
    return None if owner is None else (proven, owner)
