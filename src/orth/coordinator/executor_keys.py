"""Which tokens executors have: those of their groups, or the one that all may share.

The two directions of the same question. What an executor shows is looked up here, by the name of its key; and what a
coordinator shows to an executor is the token that executor registered with, so that each accepts its own. Nothing is
shown to an address that nobody has registered and no group lists: whoever may name an address must not be able to
collect tokens there. An address that a group lists is asked with signatures. The bare token is shown there only if the
dialect of the group says that its executors are third-party, and never where an executor of the group enrolled a key.

An executor that left the registry with open executions stays known here until they have ended:
its logs can be read, its executions killed, and it is asked what it has.

An executor whose token is no longer good is not called at all, and least of all with another one: who has stolen a
token must not be given a better one when it is revoked. Several apps may be registered at one address,
rightly or not; each call shows what belongs to the app it is made for.

An executor that has told its work key is asked with a key made from both (``orth.wire.work_keys``). A process that was
started a moment ago may have told it to another coordinator, or to none yet: when it refuses, the database is asked
what it knows of that very process, and as long as it knows nothing the token has to do. The key with which a process
was first asked is remembered: who registers its address with a key of his own changes little for those who know it.

Keys are remembered for a few seconds, so a revoked one is good for that long at most.
"""

import asyncio
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from orth.clock import Clock
from orth.coordinator.roster import Roster
from orth.coordinator.sealing import Sealing
from orth.coordinator.work_keys import WorkKeys
from orth.domain.enrolments import Admission, EnrolledKey, KeyState
from orth.domain.jobs import GroupDialect
from orth.domain.networks import is_within, network_of
from orth.domain.nodes import ExecutorEntry, normal_address
from orth.domain.tokens import TokenKind
from orth.errors import StoreUnavailable, Unreadable
from orth.store.database import Connection, Database
from orth.store.enrolments import admission_of, apps_enrolled_at, find_enrolled, note_proved
from orth.store.executor_entries import FORMER, executors_at, list_executors, list_former_executors
from orth.store.groups import manual_dialects
from orth.store.tokens import Proven, find_by_key, good_for_app, note_use
from orth.wire.credentials import Credential, Refusal
from orth.wire.entry_signatures import KEYS_LIMIT
from orth.wire.executor_link import NotSent
from orth.wire.messages import Extension
from orth.wire.signatures import Key, key_of, receiver_name
from orth.wire.work_keys import work_key_of

REMEMBERED = 5.0
"""Seconds for which what the database said is believed."""
WITHOUT_STORE = 300.0
"""The same while it is away."""
USE_NOTED_EVERY = 60.0
PROOF_NOTED_EVERY = 600.0
"""The same for keys of executors, of which there are many more than tokens."""
GLOBAL = "executors"
"""The name of whoever shows the token that all share."""
_SIGNING_KEYS = KEYS_LIMIT - 2
"""Tokens of one app that count; two are shared by all."""
_LIMIT = 20_000
_STARTING = (0.0, 0.2, 0.4, 0.8)
"""Seconds between two looks for the work key of a process that may be starting; it tells that first of all."""


@dataclass(frozen=True, slots=True)
class ExecutorKey:
    """A token of executors. ``app_names`` are those it may speak for; None: for all."""

    token: str
    name: str = GLOBAL
    app_names: frozenset[str] | None = None
    token_id: int | None = None
    networks: tuple[str, ...] = ()
    """Those from which it is accepted; none: from everywhere."""
    once: bool = False
    """It admits one executor, and is good for nothing else."""
    executor_id: int | None = None
    """Of an executor's own key: which executor. None: a token, which several may have."""
    is_waiting: bool = False
    """Of an executor's own key: nobody has admitted it yet."""

    @property
    def key(self) -> Key:
        return key_of(self.token)

    def serves(self, app_name: str) -> bool:
        return self.app_names is None or app_name in self.app_names

    def owner(self, address: str) -> str:
        """Who owns what a caller at ``address`` uses with it: all that the same token of a group let in are one owner.
        The owners of the token that all share are told apart by their networks.
        """
        return f"{self.name} at {network_of(address)}" if self.token_id is None else f"executor token {self.token_id}"

    def accepts(self, address: str) -> bool:
        """Whether a caller at ``address`` may use it."""
        return not self.networks or is_within(address, self.networks)


@dataclass(frozen=True, slots=True)
class _Place:
    """What is known of an address: who is registered there, the one heard last first, then who was when it left with
    open executions, and which apps list it by hand.
    """

    entries: tuple[ExecutorEntry, ...] = ()
    listed: Mapping[str, str] = field(default_factory=dict)
    """By app, the code of the reason why the bare token of the app is not shown there; empty if it is shown."""

    def knows(self, app_name: str, receiver: str = "") -> bool:
        """Whether it says what this app has there; without a name, whether anybody has something. Who is asked for a
        ``receiver`` has to know that process.
        """
        if receiver:
            return any(_is(entry, receiver) for entry in self.of(app_name))
        apps = {*(entry.app_name for entry in self.entries), *self.listed}
        return app_name in apps if app_name else bool(apps)

    def of(self, app_name: str) -> list[ExecutorEntry]:
        """What an app has registered there; without a name, what anybody has."""
        return [entry for entry in self.entries if app_name in ("", entry.app_name)]


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
        self._work_keys = WorkKeys(sealing)
        self._shared = {key_of(token).id: ExecutorKey(token) for token in shared}
        self._newest = ExecutorKey(shared[0])
        self._shared_is_good = shared_is_good
        self._must_sign = must_sign
        self._found: dict[str, tuple[ExecutorKey, float]] = {}
        self._places: dict[str, tuple[_Place, float]] = {}
        self._for_apps: dict[str, tuple[tuple[ExecutorKey, ...], float]] = {}
        self._used: dict[tuple[bool, int | None], float] = {}
        self._elsewhere: dict[tuple[str, str], tuple[tuple[ExecutorEntry, ...], float]] = {}
        """Processes that were met at an address that they have not registered."""
        self._met: dict[tuple[str, str, str, str | None], Key] = {}
        """What each process was first asked with, by app, address, process and token."""
        self._waited: dict[str, float] = {}
        """Where a process that refused was waited for in vain, and when."""
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
            found = await self._found_by(key_id)
        except StoreUnavailable:
            if known is not None and now - at < WITHOUT_STORE:
                return known
            raise
        if found is None:
            self._found.pop(key_id, None)
            return None
        _remember(self._found, key_id, (found, now))
        return found

    async def _found_by(self, key_id: str) -> ExecutorKey | None:
        """What the database has under this name: a token, or the key of an executor."""
        proven, enrolled = await self._db.read(_find_key, key_id)
        return self._opened(proven) if enrolled is None else await self._enrolled(enrolled)

    async def _enrolled(self, stored: EnrolledKey) -> ExecutorKey | None:
        """The key of an executor, unless it was revoked, or the token that alone let it in is over."""
        if stored.state is KeyState.REVOKED:
            return None
        networks: tuple[str, ...] = ()
        if stored.decided_by is None:
            token = await self.named(stored.token_key)
            if token is None or not token.serves(stored.app_name) or not (token.app_names or self._shared_is_good):
                return None
            networks = token.networks
        try:
            text = self._sealing.open(stored.sealed, enrolled_context(stored.key_id)).hex()
        except Unreadable:
            return None
        return ExecutorKey(
            text,
            f"executor {stored.id}",
            frozenset({stored.app_name}),
            stored.token_id,
            networks,
            executor_id=stored.id,
            is_waiting=stored.state is KeyState.WAITING,
        )

    def forget(self, key_id: str) -> None:
        """A key was changed: look for it again."""
        self._found.pop(key_id, None)

    async def admission(self, app_name: str) -> Admission:
        """Whom the group of an app lets in."""
        return await self._db.read(admission_of, app_name)

    async def shown(self, token: str) -> ExecutorKey | None:
        """The token with this text, if it is good. The key of an executor is proved, never shown."""
        found = await self.named(key_of.__wrapped__(token).id)  # strangers' texts must not fill the memory of ours
        if found is not None and found.executor_id is not None:
            return None
        same = hmac.compare_digest((found.token if found else "").encode(), token.encode())
        return found if same else None

    async def note_use(self, key: ExecutorKey) -> None:
        """Write down that a token is in use, once in a while."""
        number = key.token_id if key.executor_id is None else key.executor_id
        now, used = self._clock.monotonic(), (key.executor_id is not None, number)
        pause = USE_NOTED_EVERY if key.executor_id is None else PROOF_NOTED_EVERY
        if number is None or now - self._used.get(used, float("-inf")) < pause:
            return
        _remember(self._used, used, now)
        await self._db.tx(note_use if key.executor_id is None else note_proved, number, self._clock.now())

    # --- what executors are shown

    async def credential(self, address: str, app_name: str, receiver: str = "") -> Credential:
        """What to show to whoever is at ``address`` in a call for an app, or, without a name, for any that is there;
        ``NotSent`` when there is nothing that may be shown. ``receiver`` is the process there, if it has said so.
        """
        return await self._shown_at(
            await self._place(normal_address(address), app_name, receiver), address, app_name, receiver
        )

    async def another(self, address: str, app_name: str, receiver: str, refused: Key) -> Credential | None:
        """What to show to a process that has refused a key, if the database knows better. One that may just be starting
        is waited for, for a moment and not by every call.
        """
        place = normal_address(address)
        now, waited_at = self._clock.monotonic(), self._waited.get(place, float("-inf"))
        for pause in _STARTING if now - waited_at >= REMEMBERED else _STARTING[:1]:
            await self._clock.sleep_unless(asyncio.Event(), pause)
            try:
                found = await self._look_up(place)
            except StoreUnavailable:
                return None
            shown = await self._shown_at(found, address, app_name, receiver)
            if shown.key != refused:
                return shown
            for entry in found.of(app_name):
                if (met := self._met_at(entry, receiver)) not in (None, refused):
                    return replace(shown, work_key=met)
            if all(entry.work_key is None for entry in found.of(app_name)):
                return None
        _remember(self._waited, place, self._clock.monotonic())
        return None

    async def successor(self, address: str, app_name: str, receiver: str) -> Refusal:
        """Whether the process ``receiver`` has registered ``address`` instead of the one that had it, and what it is
        shown. One that may just be starting is waited for, for a moment and not by every call.
        """
        place = normal_address(address)
        now, waited_at = self._clock.monotonic(), self._waited.get(place, float("-inf"))
        for pause in _STARTING if now - waited_at >= REMEMBERED else _STARTING[:1]:
            await self._clock.sleep_unless(asyncio.Event(), pause)
            try:
                registered = await self._db.read(executors_at, place)
            except StoreUnavailable:
                return Refusal(None, False)
            now_there = [entry for entry in registered if _is(entry, receiver)]
            if own := [entry for entry in now_there if entry.app_name == app_name]:
                await self._look_up(place)
                return Refusal(await self._registered(own, receiver), True)
            before = max((entry.last_beat for entry in registered if entry.app_name == app_name), default=0)
            if any(entry.since > before for entry in now_there):
                return Refusal(None, True)
        _remember(self._waited, place, self._clock.monotonic())
        return Refusal(None, False)

    async def _shown_at(self, place: _Place, address: str, app_name: str, receiver: str) -> Credential:
        if own := place.of(app_name):
            return await self._registered(own, receiver)
        listed = app_name if app_name in place.listed else next(iter(place.listed), "") if not app_name else ""
        if listed:
            return await self._listed(address, listed, receiver, place.listed[listed])
        for entry in place.entries:  # a trigger may name an executor of another app that has the same token
            key = await self._key_of(entry)
            if key is not None and key.serves(app_name):
                return await self._registered([entry], receiver)
        return Credential("")

    async def _registered(self, entries: Sequence[ExecutorEntry], receiver: str) -> Credential:
        """What the first of these that can be shown something is shown."""
        trouble = ""
        named = [entry for entry in entries if _is(entry, receiver)] if receiver else entries
        for entry in named or entries:
            key = await self._key_of(entry)
            signs = Extension.SIGNED in entry.extensions or (key is not None and key.executor_id is not None)
            if key is not None and (signs or not self._must_sign):
                asked_with = self._asked_with(entry, key) if named else self._met_at(entry, receiver)
                proves = signs and Extension.PROOFS in entry.extensions
                return Credential(key.token, signs, entry.incarnation or "", asked_with if signs else None, proves)
            trouble = "executor_key_gone" if key is None else "executor_reads_no_signatures"
        raise NotSent.of(trouble, address=entries[0].address)

    def _asked_with(self, entry: ExecutorEntry, key: ExecutorKey) -> Key | None:
        """What a registered process is asked with for work, if it has told a work key."""
        work_key = self._work_keys.opened(entry)
        if work_key is None or entry.incarnation is None:
            return None
        who = (entry.app_name, entry.address, receiver_name(entry.incarnation), entry.key_id)
        found = work_key_of(key.token, work_key)
        if who not in self._met:
            _remember(self._met, who, found)
        return found

    async def work_key(self, entry: ExecutorEntry) -> Key | None:
        """What a registered process is asked with for work; None if it has told no work key, or has no good token."""
        key, work_key = await self._key_of(entry), self._work_keys.opened(entry)
        return None if key is None or work_key is None else work_key_of(key.token, work_key)

    def _met_at(self, entry: ExecutorEntry, receiver: str) -> Key | None:
        """What a process was first asked with that answers where an entry with the same token says another one is."""
        return self._met.get((entry.app_name, entry.address, receiver, entry.key_id))

    async def _key_of(self, entry: ExecutorEntry) -> ExecutorKey | None:
        """The token an executor registered with, while it is good."""
        # Without a name, an earlier version of ours took its beat: that knew the shared one alone.
        key = self._newest if entry.key_id is None else await self.named(entry.key_id)
        if key is None or key.is_waiting or key.once:
            return None
        return key if key.app_names is not None or self._shared_is_good else None

    async def _listed(self, address: str, app_name: str, receiver: str, hidden: str) -> Credential:
        """What an executor is shown that says nothing about itself, or that has registered under another address. The
        bare token only if it is not ``hidden``.
        """
        if receiver and (entries := await self._processes(app_name, receiver)):
            return await self._registered(entries, receiver)
        key = next(iter(await self._for_app(app_name)), self._newest if self._shared_is_good else None)
        if key is None:
            raise NotSent.of("executor_without_token", address=address, group=app_name)
        hidden = "executor_reads_no_signatures" if self._must_sign else hidden
        return Credential(key.token, bool(hidden), hidden=hidden)

    async def _place(self, address: str, app_name: str, receiver: str) -> _Place:
        here = _Place(tuple(self._roster.all_at(address)) if self._roster is not None else ())
        if here.knows(app_name, receiver):
            return here
        known, at = self._places.get(address, (here, float("-inf")))
        if self._clock.monotonic() - at < REMEMBERED and known.knows(app_name):
            return known
        try:
            return await self._look_up(address)
        except StoreUnavailable:
            return known

    async def _processes(self, app_name: str, receiver: str) -> Sequence[ExecutorEntry]:
        """A process of an app, wherever it says that it is; or of another app, with a token that is good for both."""
        known, at = self._elsewhere.get((app_name, receiver), ((), float("-inf")))
        now = self._clock.monotonic()
        if known and now - at < REMEMBERED:
            return known
        try:
            everybody = await self._db.read(_everybody)
        except StoreUnavailable:
            return known
        same = [entry for entry in everybody if _is(entry, receiver)]
        keys = [(entry, await self._key_of(entry)) for entry in same]
        fit = [entry for entry, key in keys if entry.app_name == app_name or (key is not None and key.serves(app_name))]
        found = tuple(sorted(fit, key=lambda entry: entry.app_name != app_name))
        if found:
            _remember(self._elsewhere, (app_name, receiver), (found, now))
        return found

    async def _look_up(self, address: str) -> _Place:
        found = await self._db.read(_look, address)
        _remember(self._places, address, (found, self._clock.monotonic()))
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
        token = proven.token
        return ExecutorKey(text, token.name, frozenset(token.app_names), token.id, token.networks, token.once)


def enrolled_context(key_id: str) -> str:
    """What the key of an executor is sealed for: a row of its own."""
    return f"executor key {key_id}"


def seal_context(digest: str) -> str:
    """What a token's text is sealed for: a row of its own."""
    return f"executor token {digest}"


def _is(entry: ExecutorEntry, receiver: str) -> bool:
    return entry.incarnation is not None and receiver_name(entry.incarnation) == receiver


def _find_key(connection: Connection, key_id: str) -> tuple[Proven | None, EnrolledKey | None]:
    proven = find_by_key(connection, key_id)
    return proven, find_enrolled(connection, key_id) if proven is None else None


def _look(connection: Connection, address: str) -> _Place:
    listing = manual_dialects(connection)
    listed = {app_name: dialect for one, app_name, dialect in listing if normal_address(one) == address}
    # Keys of other apps do not count: the executors of one group must not decide what another group shows.
    enrolled = apps_enrolled_at(connection, address) if any(map(_is_third_party, listed.values())) else ()
    hidden = {
        app_name: _IS_OURS if app_name in enrolled else "" if _is_third_party(listed[app_name]) else _NOT_THIRD_PARTY
        for app_name in sorted(listed)
    }
    here = executors_at(connection, address)
    return _Place((*here, *executors_at(connection, address, FORMER)), hidden)


_NOT_THIRD_PARTY, _IS_OURS = "token_not_shown", "token_not_shown_to_orth"


def _is_third_party(dialect: GroupDialect) -> bool:
    return dialect is not GroupDialect.AUTO


def _everybody(connection: Connection) -> list[ExecutorEntry]:
    return [*list_executors(connection), *list_former_executors(connection)]


def _remember(memory: dict, key: object, value: object) -> None:  # type: ignore[type-arg]  # of several kinds
    if len(memory) >= _LIMIT and key not in memory:
        del memory[next(iter(memory))]
    memory[key] = value
