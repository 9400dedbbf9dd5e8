"""Making tokens: the text that is shown once, and what is kept of it."""

import secrets

from orth.coordinator.executor_keys import seal_context
from orth.coordinator.sealing import Sealing
from orth.domain.tokens import API_PREFIX, EXECUTOR_PREFIX, TokenKind, digest_of, shown_of
from orth.store.tokens import TokenSecret
from orth.wire.signatures import key_of

_BYTES = 32


def make_secret(kind: TokenKind, sealing: Sealing) -> tuple[str, TokenSecret]:
    """A new text, and what proves it. The texts of executor tokens are sealed: coordinators show them to executors."""
    text = (API_PREFIX if kind is TokenKind.API else EXECUTOR_PREFIX) + secrets.token_urlsafe(_BYTES)
    digest = digest_of(text)
    sealed = sealing.seal(text.encode(), seal_context(digest)) if kind is TokenKind.EXECUTOR else None
    return text, TokenSecret(digest, key_of(text).id, shown_of(text), sealed)
