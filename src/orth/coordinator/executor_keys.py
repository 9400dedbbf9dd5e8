"""Which tokens executors have: those of their groups, or the one that all may share.

The two directions of the same question. What an executor shows is looked up here, by the name of its key; and what a
coordinator shows to an executor is the token that executor registered with, so that each accepts its own. Nothing is
shown to an address that nobody has registered and no group lists: whoever may name an address must not be able to
collect tokens there. An executor whose token is no longer good is not called at all, and least of all with another one:
who has stolen a token must not be given a better one when it is revoked. Several apps may be registered at one address,
rightly or not; each call shows what belongs to the app it is made for.

Keys are remembered for a few seconds, so a revoked one is good for that long at most.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass

from orth.clock import Clock
from orth.coordinator.roster import Roster
from orth.coordinator.sealing import Sealing
from orth.domain.nodes import ExecutorEntry, normal_address
from orth.domain.tokens import TokenKind
from orth.errors import StoreUnavailable, Unreadable
from orth.store.database import Connection, Database
from orth.store.groups import manual_addresses
from orth.store.registry import executors_at
from orth.store.tokens import Proven, find_by_key, good_for_app, note_use
from orth.wire.entry_signatures import KEYS_LIMIT
from orth.wire.executor_calls import Credential, NotSent
from orth.wire.messages import Extension
from orth.wire.signatures import Key, key_of

REMEMBERED = 5.0
"""Seconds for which what the database said is believed."""
WITHOUT_STORE = 300.0
"""The same while it is away."""
USE_NOTED_EVERY = 60.0
GLOBAL = "executors"
"""The name of whoever shows the token that all share."""
_SIGNING_KEYS = KEYS_LIMIT - 2
"""Tokens of one app that count; two are shared by all."""
_LIMIT = 20_000
_NO_KEY = "the token it registered with is good no more, so it is not called"
_NO_SIGNATURES = "it does not say that it reads signatures, and security.require_signatures allows nothing else"


@dataclass(frozen=True, slots=True)
class ExecutorKey:
    """A token of executors. ``app_names`` are those it may speak for; None: for all."""

    token: str
    name: str = GLOBAL
    app_names: frozenset[str] | None = None
    token_id: int | None = None

    @property
    def key(self) -> Key:
        return key_of(self.token)

    def serves(self, app_name: str) -> bool:
        return self.app_names is None or app_name in self.app_names


@dataclass(frozen=True, slots=True)
class _Place:
    """What is known of an address: who registered there, the one heard last first, and which apps list it by hand."""

    entries: tuple[ExecutorEntry, ...] = ()
    listed: tuple[str, ...] = ()

    def knows(self, app_name: str) -> bool:
        """Whether it says what this app has there; without a name, whether anybody has something."""
        apps = {*(entry.app_name for entry in self.entries), *self.listed}
        return app_name in apps if app_name else bool(apps)


class ExecutorKeys:
    """The tokens of one cluster's executors, as one coordinator knows them. For one event loop."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        sealing: Sealing,
        shared: tuple[str, ...],
        *,
        shared_is_good: bool = True,
        must_sign: bool = False,
    ) -> None:
        """``shared`` are the tokens good for all, the newest first; executors have them only if ``shared_is_good``.
        Who ``must_sign`` shows no executor its token.
        """
        self._db = db
        self._clock = clock
        self._sealing = sealing
        self._shared = {key_of(token).id: ExecutorKey(token) for token in shared}
        self._newest = ExecutorKey(shared[0])
        self._shared_is_good = shared_is_good
        self._must_sign = must_sign
        self._found: dict[str, tuple[ExecutorKey, float]] = {}
        self._places: dict[str, tuple[_Place, float]] = {}
        self._for_apps: dict[str, tuple[tuple[ExecutorKey, ...], float]] = {}
        self._used: dict[int, float] = {}
        self._roster: Roster | None = None

    def follow(self, roster: Roster) -> None:
        """From now on ask this one first who is where."""
        self._roster = roster

    # --- what executors show

    async def named(self, key_id: str) -> ExecutorKey | None:
        """The token whose key has this name, if it is good."""
        shared = self._shared.get(key_id)
        if shared is not None:
            return shared
        known, at = self._found.get(key_id, (None, float("-inf")))
        now = self._clock.monotonic()
        if known is not None and now - at < REMEMBERED:
            return known
        try:
            found = self._opened(await self._db.read(find_by_key, key_id))
        except StoreUnavailable:
            if known is not None and now - at < WITHOUT_STORE:
                return known
            raise
        if found is None:
            self._found.pop(key_id, None)
            return None
        _remember(self._found, key_id, (found, now))
        return found

    async def shown(self, token: str) -> ExecutorKey | None:
        """The token with this text, if it is good."""
        found = await self.named(key_of.__wrapped__(token).id)  # strangers' texts must not fill the memory of ours
        same = hmac.compare_digest((found.token if found else "").encode(), token.encode())
        return found if same else None

    async def note_use(self, key: ExecutorKey) -> None:
        """Write down that a token is in use, once in a while."""
        now, token_id = self._clock.monotonic(), key.token_id
        if token_id is None or now - self._used.get(token_id, float("-inf")) < USE_NOTED_EVERY:
            return
        _remember(self._used, token_id, now)
        await self._db.tx(note_use, token_id, self._clock.now())

    # --- what executors are shown

    async def credential(self, address: str, app_name: str) -> Credential:
        """What to show to whoever is at ``address`` in a call for an app, or, without a name, for any that is there;
        ``NotSent`` when there is nothing that may be shown.
        """
        place = await self._place(normal_address(address), app_name)
        own = [entry for entry in place.entries if app_name in ("", entry.app_name)]
        if own:
            return await self._registered(own)
        listed = app_name if app_name in place.listed else next(iter(place.listed), "") if not app_name else ""
        if listed:
            return await self._listed(address, listed)
        for entry in place.entries:  # a trigger may name an executor of another app that has the same token
            key = await self._key_of(entry)
            if key is not None and key.serves(app_name):
                return await self._registered([entry])
        return Credential("")

    async def _registered(self, entries: Sequence[ExecutorEntry]) -> Credential:
        """What the first of these that can be shown something is shown."""
        trouble = ""
        for entry in entries:
            key, signs = await self._key_of(entry), Extension.SIGNED in entry.extensions
            if key is not None and (signs or not self._must_sign):
                return Credential(key.token, signs, entry.incarnation or "")
            trouble = _NO_KEY if key is None else _NO_SIGNATURES
        raise NotSent(f"{entries[0].address}: {trouble}.")

    async def _key_of(self, entry: ExecutorEntry) -> ExecutorKey | None:
        """The token an executor registered with, while it is good."""
        # Without a name, an earlier version of ours took its beat: that knew the shared one alone.
        key = self._newest if entry.key_id is None else await self.named(entry.key_id)
        return key if key is None or key.app_names is not None or self._shared_is_good else None

    async def _listed(self, address: str, app_name: str) -> Credential:
        """What an executor is shown that says nothing about itself."""
        key = next(iter(await self._for_app(app_name)), self._newest if self._shared_is_good else None)
        if key is None:
            raise NotSent(f"{address}: the group of {app_name!r} has no token to show it.")
        return Credential(key.token, self._must_sign)

    async def _place(self, address: str, app_name: str) -> _Place:
        here = _Place(tuple(self._roster.all_at(address)) if self._roster is not None else ())
        if here.knows(app_name):
            return here
        known, at = self._places.get(address, (here, float("-inf")))
        now = self._clock.monotonic()
        if now - at < REMEMBERED and known.knows(app_name):
            return known
        try:
            found = await self._db.read(_look, address)
        except StoreUnavailable:
            return known
        _remember(self._places, address, (found, now))
        return found

    async def signing_keys(self, app_name: str) -> tuple[Key, ...]:
        """What executors of an app may have, for what is signed for whichever of them takes it."""
        own = await self._for_app(app_name)
        return tuple(one.key for one in (*own, *self._shared.values()))

    async def _for_app(self, app_name: str) -> tuple[ExecutorKey, ...]:
        """The tokens of a group whose executors do not say which one they have, the newest first."""
        known, at = self._for_apps.get(app_name, ((), float("-inf")))
        now = self._clock.monotonic()
        if now - at < REMEMBERED:
            return known
        try:
            proven = await self._db.read(good_for_app, app_name, self._clock.now())
        except StoreUnavailable:
            return known
        found = tuple(key for one in proven[:_SIGNING_KEYS] if (key := self._opened(one)) is not None)
        _remember(self._for_apps, app_name, (found, now))
        return found

    def _opened(self, proven: Proven | None) -> ExecutorKey | None:
        if proven is None or not proven.is_good(self._clock.now()) or proven.token.kind is not TokenKind.EXECUTOR:
            return None
        try:
            text = self._sealing.open(proven.secret.sealed or "", seal_context(proven.secret.digest)).decode()
        except Unreadable:
            return None  # sealed with a key this node does not have: its executors are not known here
        return ExecutorKey(text, proven.token.name, frozenset(proven.token.app_names), proven.token.id)


def seal_context(digest: str) -> str:
    """What a token's text is sealed for: a row of its own."""
    return f"executor token {digest}"


def _look(connection: Connection, address: str) -> _Place:
    listed = {app_name for one, app_name in manual_addresses(connection) if normal_address(one) == address}
    return _Place(tuple(executors_at(connection, address)), tuple(sorted(listed)))


def _remember(memory: dict, key: object, value: object) -> None:  # type: ignore[type-arg]  # of several kinds
    if len(memory) >= _LIMIT and key not in memory:
        del memory[next(iter(memory))]
    memory[key] = value
