"""Whom this executor listens to: whoever proves its token, and for work whoever proves its work key as well.

Until a coordinator has taken a beat of this process nobody knows that it is there, so nobody has work for it: a token
is enough only for what asks for no work and shows nothing of it. If that coordinator says that it knows the work key
(``orth.wire.work_keys``), this stays so until the process ends, whoever comes: a thief of the token must not be able to
pass for a coordinator that has forgotten. If it says nothing of the kind, it is of another make, or older, and knows
nothing but the token: then that is enough for everything, until one does.

Only an executor with ``executor.show_token`` or ``executor.token_until_registered`` works for such coordinators. Every
other executor takes nothing but the work key from its first moment.
"""

import asyncio
import hmac
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from orth.errors import OrthError, Unauthenticated
from orth.executor.turned_away import NotRegistered, TokenAlone, Unsigned
from orth.wire.dialects import APP_NAME_HEADER, app_name_from, is_foreign, token_from
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
        app_name: str = "",
        work_key: str | None = None,
        executor_key: str | None = None,
        must_sign: bool = False,
        work_key_alone: bool = False,
        token_until_registered: bool = False,
    ) -> None:
        """With ``must_sign`` no bare token is accepted anywhere; with ``work_key_alone`` no work is taken but with the
        work key, from the beginning. With ``token_until_registered`` a token is enough before anybody knows of this
        process.
        """
        self._token = token.encode()
        self._app_name = app_name
        self._key = key_of(token)
        self._verifier = verifier
        self._must_sign = must_sign
        self._own = None if executor_key is None else key_of(executor_key)
        with_ = executor_key or token
        self._work = work_key_of(with_, work_key) if verifier is not None and work_key is not None else None
        self.work_key_alone = self._work is not None and work_key_alone
        """Whether a token is not enough to ask for work."""
        self._is_known = self._work is None or token_until_registered
        self._lock = threading.Lock()
        self._waiting: list[Callable[[], object]] = []
        """Those who wait to be known, by what wakes them."""

    def acknowledge(self, key_id: str | None) -> None:
        """A coordinator has taken a beat, and says that it has the key of this name. From any thread."""
        if self._work is not None and key_id == self._work.id:
            self.work_key_alone = True

        with self._lock:
            self._is_known = True
            waiting, self._waiting = self._waiting, []
        for wake in waiting:
            with suppress(RuntimeError):  # its loop has ended
                wake()

    async def known(self, within: float) -> None:
        """Return when a coordinator has taken a beat, or after ``within`` seconds."""
        loop, told = asyncio.get_running_loop(), asyncio.Event()
        with self._lock:
            if self._is_known:
                return
            self._waiting.append(lambda: loop.call_soon_threadsafe(told.set))
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await told.wait()

    def check(self, method: str, path: str, headers: Mapping[str, str]) -> None:
        """``Unauthenticated`` unless the caller proves what is needed for ``path``."""
        signed = signature_from(headers) if self._verifier is not None else None
        if signed is not None and self._verifier is not None:
            self._verifier.check(signed, self._signed_with(signed), method, path)
            with_token = self._work is None or signed.key_id != self._work.id
        else:
            self._check_token(token_from(headers))
            self._check_app(headers)
            with_token = True
        if not with_token or path in TOKEN_PATHS:
            return
        if self.work_key_alone:
            raise TokenAlone
        if not self._is_known:
            raise NotRegistered

    def admit(self, headers: Mapping[str, str], body: bytes) -> None:
        """``BadSignature`` if a signed request has another body, or came before; once for each request."""
        signed = signature_from(headers) if self._verifier is not None else None
        if signed is not None and self._verifier is not None:
            self._verifier.admit(signed, body, self._key_named(signed.key_id))

    def correction(self, error: OrthError, headers: Mapping[str, str], *, for_good: bool = True) -> Mapping[str, str]:
        """What a caller that is refused is told so that it can do better. If it is refused ``for_good``, that is
        proved: with the key that it has signed with, or with our own if that key is not ours.
        """
        if self._verifier is None or not isinstance(error, BadSignature | TokenAlone | NotRegistered):
            return {}
        if not for_good:
            return self._verifier.correction()
        if isinstance(error, BadSignature):
            unknown = error.signed is not None and self._key_named(error.signed.key_id) is None
            return self._verifier.correction(error.signed, (self._own or self._key) if unknown else error.key)
        signed = signature_from(headers)
        return self._verifier.correction(signed, None if signed is None else self._key_named(signed.key_id))

    def proof(
        self, method: str, path: str, headers: Mapping[str, str], status: int, body: bytes, *, admitted: bool
    ) -> Mapping[str, str]:
        """The header that proves the answer to a signed request. If it was not ``admitted``, it never will be."""
        with suppress(BadSignature):
            signed = signature_from(headers) if self._verifier is not None else None
            key = None if signed is None else self._key_named(signed.key_id)
            if signed is None or key is None or self._verifier is None:
                return {}
            if admitted:
                return self._verifier.proof(signed, key, status, body)
            self._verifier.check(signed, key, method, path)
            if self._verifier.refuses(signed, key):
                return self._verifier.proof(signed, key, status, body)
        return {}

    def _signed_with(self, signed: Signed) -> Key | None:
        found = self._key_named(signed.key_id)
        if found is None and self._verifier is not None and signed.receiver != self._verifier.receiver:
            raise BadSignature(Refused.OTHER_RECEIVER).about(signed)  # the work key of a process that was here before
        return found

    def _key_named(self, key_id: str) -> Key | None:
        keys = (self._work, self._own, self._key)
        return next((key for key in keys if key is not None and key.id == key_id), None)

    def _check_app(self, headers: Mapping[str, str]) -> None:
        """A coordinator of xxl-job 3.5 says whom it means, as a second half of its credential. Ours say it in what they
        send, and are told more when it is another (``MISDIRECTED``).
        """
        meant = app_name_from(headers) if self._app_name and is_foreign(headers) else None
        if meant is not None and meant != self._app_name:
            raise Unauthenticated(f"The {APP_NAME_HEADER} of the request is not the app name of this executor.")

    def _check_token(self, token: str | None) -> None:
        # Compared also when there is none: how long it takes tells nothing.
        if not hmac.compare_digest((token or "").encode(), self._token) or token is None:
            raise Unauthenticated("The access token is missing or is not the one of this executor.")
        if self._must_sign:
            raise Unsigned
