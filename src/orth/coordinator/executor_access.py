"""Who is let in as an executor, and what is written down about those who are not.

An executor proves its token by a signature (``orth.wire.signatures``) or, one of another make, by showing it. With the
token of a group it may speak for the app names of that token alone; the token that all share speaks for all, unless it
is switched off. What is refused goes to the audit, each kind once a minute and never more than a bound: a flood of
strangers must not become a flood of entries.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from orth.clock import Clock
from orth.coordinator.executor_keys import ExecutorKey, ExecutorKeys
from orth.domain.audit import Actor, ActorKind, Deed
from orth.errors import Forbidden, StoreUnavailable, Unauthenticated
from orth.store.audit import record
from orth.store.database import Database
from orth.wire.dialects import token_from
from orth.wire.messages import TurnedAwayCaller
from orth.wire.signatures import BadSignature, Refused, Signed, Verifier, signature_from

_NOTED_EVERY = 60.0
_NOTED_AT_ONCE = 60


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, as far as it is proof of anything. ``path`` begins where every coordinator's does, with /api."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class ExecutorAccess:
    """The door of one coordinator for executors. For one event loop."""

    def __init__(
        self, keys: ExecutorKeys, verifier: Verifier, *, shared_is_good: bool = True, must_sign: bool = False
    ) -> None:
        self.keys = keys
        self.verifier = verifier
        self._shared_is_good = shared_is_good
        self._must_sign = must_sign

    async def admit(self, asked: Asked, *, for_executor: bool = True) -> ExecutorKey:
        """The token that was proved, or ``Unauthenticated``. The shared one is also coordinators': those are not
        ``for_executor``.
        """
        try:
            signed = signature_from(asked.headers)
            key = await (self._signed(asked, signed) if signed is not None else self._shown(asked.headers))
        except BadSignature as bad:
            bad.headers = self.verifier.correction()
            raise
        if for_executor and key.app_names is None and not self._shared_is_good:
            raise Unauthenticated(
                "The access token of the cluster lets no executor in.",
                hint="Set ORTH_SECURITY__ACCESS_TOKEN to a token of its group: orth token create --executor.",
            )
        await self.keys.note_use(key)
        return key

    async def _signed(self, asked: Asked, signed: Signed) -> ExecutorKey:
        key = await self.keys.named(signed.key_id)
        self.verifier.check(signed, None if key is None else key.key, asked.method, asked.path)
        self.verifier.admit(signed, asked.body)
        assert key is not None, "the verifier refuses what nobody has signed"
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


def not_its_app(key: ExecutorKey, app_name: str) -> Forbidden:
    return Forbidden(f"The token {key.name!r} does not speak for {app_name!r}.", hint="Use the token of that group.")


class Refusals:
    """Writes to the audit what was refused to machines, bounded. For one event loop."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._noted: dict[tuple[str, ...], float] = {}

    async def note(self, actor: Actor, deed: Deed, reason: str = "") -> None:
        """Tell of it, unless the same was told within a minute; another ``reason`` makes it another thing."""
        now = self._clock.monotonic()
        self._noted = {what: at for what, at in self._noted.items() if now - at < _NOTED_EVERY}
        what = (actor.name, actor.address, deed.action, deed.object_id, reason)
        if what in self._noted or len(self._noted) >= _NOTED_AT_ONCE:
            return
        self._noted[what] = now
        try:
            await self._db.tx(record, actor, deed, self._clock.now())
        except StoreUnavailable:
            return  # it was refused all the same

    async def note_stranger(self, address: str, path: str, error: Unauthenticated) -> None:
        """Somebody without a good token. An executor's first request, which is good for no process, is not told of."""
        if isinstance(error, BadSignature) and error.why is Refused.UNADDRESSED:
            return
        deed = Deed("executor.unauthenticated", "route", path, after={"reason": error.message})
        await self.note(Actor(ActorKind.STRANGER, "", address), deed, error.message)

    async def note_turned_away(self, key: ExecutorKey, executor: str, caller: TurnedAwayCaller) -> None:
        """Somebody without a good token at an executor's own door, as that executor says."""
        told = {"path": caller.path, "reason": caller.reason, "count": caller.count, "told_by": key.name}
        deed = Deed("executor.turned_away", "executor", f"{executor}{caller.path}", after=told)
        await self.note(Actor(ActorKind.STRANGER, "", caller.address), deed, caller.reason)

    async def note_forbidden(self, key: ExecutorKey, address: str, path: str, reason: str) -> None:
        """An executor that wanted what is not its own."""
        await self.note_executor(key, address, Deed("executor.refused", "route", path, after={"reason": reason}))

    async def note_executor(self, key: ExecutorKey, address: str, deed: Deed) -> None:
        await self.note(Actor(ActorKind.EXECUTOR, key.name, address), deed)
