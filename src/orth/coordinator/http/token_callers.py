"""Programs that show an API token."""

from orth.coordinator.http.callers import Caller
from orth.coordinator.http.tools import Tools
from orth.domain.audit import ActorKind
from orth.domain.tokens import API_PREFIX, TokenKind, digest_of
from orth.errors import Unauthenticated
from orth.store.tokens import find_by_digest, note_use

USE_NOTED_EVERY = 60_000
"""Milliseconds between two times of use that are written down."""
_LONGEST = 200


async def token_caller(tools: Tools, text: str, address: str = "") -> Caller | None:
    """Who shows this API token; None when it is none, ``Unauthenticated`` when it is not good (any more)."""
    if not text.startswith(API_PREFIX):
        return None
    proven = await tools.db.read(find_by_digest, digest_of(text)) if len(text) <= _LONGEST else None
    now = tools.clock.now()
    if proven is None or not proven.is_good(now) or proven.token.kind is not TokenKind.API:
        raise Unauthenticated("The API token is not valid.", hint="It may have expired, or was revoked or replaced.")
    token = proven.token
    if token.last_used_at is None or now - token.last_used_at >= USE_NOTED_EVERY:
        await tools.db.tx(note_use, token.id, now)
    return Caller(f"token:{token.name}", token.rights, ActorKind.TOKEN, address)
