"""Making tokens: the text that is shown once, and what is kept of it."""

import secrets

from orth.coordinator.executor_keys import seal_context
from orth.coordinator.sealing import Sealing
from orth.domain.access import Rights, Role
from orth.domain.audit import Actor, Deed
from orth.domain.tokens import API_PREFIX, EXECUTOR_PREFIX, Token, TokenKind, digest_of, shown_of
from orth.store.audit import record
from orth.store.database import Connection, open_database
from orth.store.tokens import TokenSecret, create_token
from orth.wire.signatures import key_of

_BYTES = 32


def make_secret(kind: TokenKind, sealing: Sealing) -> tuple[str, TokenSecret]:
    """A new text, and what proves it. The texts of executor tokens are sealed: coordinators show them to executors."""
    if kind is TokenKind.API:
        return _api_secret()
    text = EXECUTOR_PREFIX + secrets.token_urlsafe(_BYTES)
    digest = digest_of(text)
    return text, TokenSecret(digest, key_of(text).id, shown_of(text), sealing.seal(text.encode(), seal_context(digest)))


def _api_secret() -> tuple[str, TokenSecret]:
    text = API_PREFIX + secrets.token_urlsafe(_BYTES)
    return text, TokenSecret(digest_of(text), key_of(text).id, shown_of(text), None)


def token_at(url: str, owner: str, actor: Actor, *, lasts_ms: int, now: int) -> str:
    """A new API token of an administrator from the store at ``url``, for a program at the machine; it is named after
    that program.
    """
    with open_database(url, size=1) as db, db.engine.begin() as connection:
        return _add_token(connection, owner, actor, now + lasts_ms, now)


def _add_token(connection: Connection, owner: str, actor: Actor, until: int, now: int) -> str:
    text, secret = _api_secret()
    token = Token(TokenKind.API, actor.name, Rights(Role.ADMIN), created_by=owner, created_at=now, expires_at=until)
    token_id = create_token(connection, token, secret, now)
    told = {"name": token.name, "role": Role.ADMIN.value, "expires_at": until}
    record(connection, actor, Deed("token.create", "token", str(token_id), after=told), now)
    return text
