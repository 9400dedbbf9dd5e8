"""Whom this executor listens to: whoever proves its token, and for work whoever proves its work key as well.

Until a coordinator has said that it knows the work key of this process (``orth.wire.work_keys``), a token is enough for
everything, as it always was: coordinators of another make know nothing else. From then on it is enough only for what
asks for no work and shows nothing of it. That stays so until the process ends, whoever comes: a thief of the token must
not be able to pass for a coordinator that has forgotten.

Executors that take nothing but signatures take nothing but the work key from their first moment, and so do those that
have their work from queues, which nobody asks over HTTP.
"""

import hmac
from collections.abc import Mapping

from orth.errors import OrthError, Unauthenticated
from orth.executor.turned_away import TokenAlone, Unsigned
from orth.wire.dialects import token_from
from orth.wire.signatures import BadSignature, Key, Refused, Signed, Verifier, key_of, signature_from
from orth.wire.work_keys import work_key_of

TOKEN_PATHS = frozenset({"/beat", "/health", "/metrics"})
"""Where a token is enough: these say whether the process lives and count what it does."""


class Callers:
    """Judges who asks. Without a ``verifier`` no signature is understood, and there is no work key."""

    def __init__(
        self,
        token: str,
        verifier: Verifier | None = None,
        *,
        work_key: str | None = None,
        must_sign: bool = False,
        work_key_alone: bool = False,
    ) -> None:
        """With ``must_sign`` no bare token is accepted anywhere; with ``work_key_alone`` no work is taken but with the
        work key, from the beginning.
        """
        self._token = token.encode()
        self._key = key_of(token)
        self._verifier = verifier
        self._must_sign = must_sign
        self._work = work_key_of(token, work_key) if verifier is not None and work_key is not None else None
        self.work_key_alone = self._work is not None and work_key_alone
        """Whether a token is not enough to ask for work."""

    def acknowledge(self, key_id: str | None) -> None:
        """A coordinator says that it has the key of this name."""
        if self._work is not None and key_id == self._work.id:
            self.work_key_alone = True

    def check(self, method: str, path: str, headers: Mapping[str, str]) -> None:
        """``Unauthenticated`` unless the caller proves what is needed for ``path``."""
        signed = signature_from(headers) if self._verifier is not None else None
        if signed is not None and self._verifier is not None:
            self._verifier.check(signed, self._signed_with(signed), method, path)
            with_token = signed.key_id == self._key.id
        else:
            self._check_token(token_from(headers))
            with_token = True
        if with_token and self.work_key_alone and path not in TOKEN_PATHS:
            raise TokenAlone

    def admit(self, headers: Mapping[str, str], body: bytes) -> None:
        """``BadSignature`` if a signed request has another body, or came before; once for each request."""
        signed = signature_from(headers) if self._verifier is not None else None
        if signed is not None and self._verifier is not None:
            self._verifier.admit(signed, body)

    def correction(self, error: OrthError) -> Mapping[str, str]:
        """What a caller that is refused is told so that it can do better."""
        worth = self._verifier is not None and isinstance(error, BadSignature | TokenAlone)
        return self._verifier.correction() if worth and self._verifier is not None else {}

    def _signed_with(self, signed: Signed) -> Key | None:
        found = next((key for key in (self._work, self._key) if key is not None and key.id == signed.key_id), None)
        if found is None and self._verifier is not None and signed.receiver != self._verifier.receiver:
            raise BadSignature(Refused.OTHER_RECEIVER)  # the work key of a process that was here before
        return found

    def _check_token(self, token: str | None) -> None:
        # Compared also when there is none: how long it takes tells nothing.
        if not hmac.compare_digest((token or "").encode(), self._token) or token is None:
            raise Unauthenticated("The access token is missing or is not the one of this executor.")
        if self._must_sign:
            raise Unsigned
