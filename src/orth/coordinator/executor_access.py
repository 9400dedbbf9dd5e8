"""Who is let in as an executor.

An executor proves its token by a signature (``orth.wire.signatures``) or, one of another make, by showing it. With the
token of a group it may speak for the app names of that token alone; the token that all share speaks for all, unless it
is switched off. What is refused goes to the audit (``refusals``).

Coordinators prove to a registry what no executor has (``orth.wire.coordinator_keys``).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from orth.coordinator.executor_keys import ExecutorKey, ExecutorKeys
from orth.errors import Forbidden, Unauthenticated
from orth.wire.dialects import token_from
from orth.wire.signatures import BadSignature, Key, Signed, Verifier, signature_from


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, as far as it is proof of anything. ``path`` begins where every coordinator's does, with /api."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class NotAdmitted(Forbidden):
    """A key that nobody has admitted yet."""

    def __init__(self, executor_id: int) -> None:
        super().__init__(
            f"This executor waits to be admitted as executor {executor_id}.",
            hint=f"An administrator admits it: orth executors admit {executor_id}",
        )


class ExecutorAccess:
    """The door of one coordinator for executors. For one event loop."""

    def __init__(
        self,
        keys: ExecutorKeys,
        verifier: Verifier,
        *,
        shared_is_good: bool = True,
        must_sign: bool = False,
        coordinators: Key | None = None,
    ) -> None:
        """``coordinators`` is the key that coordinators of this database have; without it none is known by it."""
        self._coordinators = coordinators
        self.keys = keys
        self.verifier = verifier
        self._shared_is_good = shared_is_good
        self._must_sign = must_sign

    async def admit(self, asked: Asked, *, for_executor: bool = True, enrols: bool = False) -> ExecutorKey:
        """The token or the executor's key that was proved, or ``Unauthenticated``. The shared one is also
        coordinators': those are not ``for_executor``. Join tokens are good only for who ``enrols``, and then the
        token has to be proved; a key that waits for admission is good for nothing.
        """
        try:
            signed = signature_from(asked.headers)
            key = await (self._signed(asked, signed) if signed is not None else self._shown(asked.headers))
        except BadSignature as bad:
            bad.headers = self.verifier.correction(bad.signed, bad.key)
            raise
        if for_executor and key.app_names is None and not self._shared_is_good:
            raise Unauthenticated(
                "The access token of the cluster lets no executor in.",
                hint="Set ORTH_SECURITY__ACCESS_TOKEN to a token of its group: orth token create --executor.",
            )
        if (key.once and not enrols) or (enrols and (signed is None or key.executor_id is not None)):
            raise Unauthenticated(
                "This credential does not do for that.", hint="A join token admits one executor and does nothing else."
            )
        await self.keys.note_use(key)
        if key.is_waiting:
            raise NotAdmitted(key.executor_id or 0)
        return key

    def proof(self, key: ExecutorKey, headers: Mapping[str, str], status: int, body: bytes) -> dict[str, str]:
        """The header that proves the answer to a request that was admitted with ``key``; none if it was not signed."""
        signed = signature_from(headers)
        return {} if signed is None else self.verifier.proof(signed, key.key, status, body)

    async def glance(self, method: str, path: str, headers: Mapping[str, str]) -> ExecutorKey:
        """Whose token a request seems to prove; ``Unauthenticated`` for one that ``admit`` would refuse whatever its
        body is: before that is read.
        """
        try:
            signed = signature_from(headers)
            if signed is None:
                return await self._shown(headers)
            key = await self.keys.named(signed.key_id)
            self.verifier.check(signed, None if key is None else key.key, method, path)
            assert key is not None, "the verifier refuses what nobody has signed"
            return key
        except BadSignature as bad:
            bad.headers = self.verifier.correction(bad.signed, bad.key)
            raise

    def coordinator(self, asked: Asked) -> Key | None:
        """The key of coordinators, if one of this database has signed it; ``BadSignature`` if it was signed so for
        another process, or at another time.
        """
        try:
            signed = signature_from(asked.headers)
            if signed is None or self._coordinators is None or signed.key_id != self._coordinators.id:
                return None
            self.verifier.check(signed, self._coordinators, asked.method, asked.path)
            self.verifier.admit(signed, asked.body, self._coordinators)
        except BadSignature as bad:
            bad.headers = self.verifier.correction(bad.signed, bad.key)
            raise
        return self._coordinators

    async def _signed(self, asked: Asked, signed: Signed) -> ExecutorKey:
        key = await self.keys.named(signed.key_id)
        self.verifier.check(signed, None if key is None else key.key, asked.method, asked.path)
        assert key is not None, "the verifier refuses what nobody has signed"
        self.verifier.admit(signed, asked.body, key.key)
        return key

    async def _shown(self, headers: Mapping[str, str]) -> ExecutorKey:
        token = token_from(headers)
        key = None if token is None else await self.keys.shown(token)
        if key is None:
            raise Unauthenticated(
                "The access token is missing or wrong.", hint="Set ORTH_SECURITY__ACCESS_TOKEN to the cluster's."
            )
        if self._must_sign:
            raise Unauthenticated(
                "A token alone is not enough here: requests must be signed.",
                hint="Use an executor of this version, or switch security.require_signatures off.",
            )
        return key


def check_network(key: ExecutorKey, address: str) -> None:
    """``Forbidden`` if the token is not accepted from ``address``."""
    if not key.accepts(address):
        raise Forbidden.of("token_not_from_here", name=key.name, address=address or "an unknown address")


def not_of_its_apps(key: ExecutorKey) -> Forbidden:
    """Without a word about whose they are."""
    return Forbidden(
        f"The token {key.name!r} speaks for none of these executions.", hint="Use the token of their group."
    )


def not_its_app(key: ExecutorKey, app_name: str) -> Forbidden:
    return Forbidden(f"The token {key.name!r} does not speak for {app_name!r}.", hint="Use the token of that group.")
