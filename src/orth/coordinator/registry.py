"""The list of executors, kept honest: beats come in, silent ones go out.

A beat is stored before it is answered: if the database cannot take it, the executor learns so and tries another
coordinator. Beats that come together share a transaction. Whether or not it can be stored, a beat was heard: the
roster and the opinion about its address (``reach``) follow it. A beat for an address whose process has told another
work key is another matter: until that process is known to be gone (``contests``), it is neither stored nor heard.

An app may have so many executors (``registry.executors_per_app``): who has stolen a token for one could invent any
number of addresses, and each would be called.

Who is silent is removed by the leader, but never for a silence that may be ours. Beats that could not be stored look
like silence, and so does a clock that was set. Therefore the leader goes by two signs: the stored time of the last beat
is old enough, *and* it has watched that very time stay the same for a whole beat interval, on its own monotonic clock,
since its term began and since the database last failed it. Everybody who lives has beaten by then.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import groupby

from orth.clock import Clock
from orth.cluster.election import Election
from orth.cluster.leading import LeaderLoop
from orth.coordinator.contests import AddressHeld, Claim, Contests, ExecutorKeyInUse
from orth.coordinator.facts import (
    AddressContested,
    AppFull,
    AppNameUnusable,
    ClaimRefused,
    ExecutorJoined,
    ExecutorLeft,
    ExecutorRestarted,
)
from orth.coordinator.reach import Reach
from orth.coordinator.roster import SLACK, Roster
from orth.coordinator.work_keys import WorkKeys
from orth.domain.app_names import trouble_with
from orth.domain.nodes import ExecutorEntry, Unavailability, Vitals
from orth.errors import StoreUnavailable, TooBusy
from orth.events import Events
from orth.store.database import Connection, Database
from orth.store.enrolments import drop_unseen_keys
from orth.store.executor_drains import drop_old_drains
from orth.store.executor_entries import executors_with_key, list_overdue
from orth.store.gathering import Gathering
from orth.store.handler_lists import LISTS_LIMIT, SMALL_LIST, UNUSED_KEPT, remove_unused_lists
from orth.store.leases import Term
from orth.store.reachability import drop_old_doubts
from orth.store.registry import (
    Arrival,
    Beat,
    Farewell,
    Goodbye,
    drop_former,
    record_beats,
    remove_executors,
    remove_silent,
)
from orth.wire.messages import Announcement, Extension, Load, RegistryRequest
from orth.wire.work_keys import is_same_key

BEATS_WAITING = 20_000
DOUBTS_KEPT = timedelta(minutes=30)
_NAMES_TOLD = 1000
_FULL_TOLD_EVERY = 60.0
_TURNS = 3
"""How often a beat is written whose address changes hands meanwhile."""

ClockOffset = Callable[[str], int | None]
Named = Callable[[str, str, Sequence[int]], None]
"""Hears which executions a process of an app says it has, by its incarnation. Whoever beats may name any incarnation;
the app is the one its token is good for."""


class TooManyExecutors(TooBusy):
    """An address more than an app may have."""

    kind = "too-many-executors"
    retry_after = 30

    def __init__(self, app_name: str, limit: int) -> None:
        super().__init__(
            f"The app {app_name!r} has {limit} executors, as many as it may have.",
            hint="If all of them are meant, raise registry.executors_per_app; if not, look who has its token.",
        )


class TooManyHandlers(TooBusy):
    """A large list of handlers more than an app may have."""

    kind = "too-many-handlers"
    retry_after = 600

    def __init__(self, app_name: str) -> None:
        super().__init__(
            f"The executors of the app {app_name!r} announce more than {LISTS_LIMIT >> 20} MiB of different handlers.",
            hint="Let its executors announce the same handlers, or shorter descriptions. A list of at most "
            f"{SMALL_LIST >> 10} KiB is always taken. If executors are not yours, revoke the token of the app.",
        )


class Registrations:
    """Takes beats and good-byes; any node does."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        events: Events,
        *,
        roster: Roster,
        reach: Reach,
        clock_offset: ClockOffset = lambda _address: None,
        named: Named = lambda _app_name, _incarnation, _ids: None,
        work_keys: WorkKeys | None = None,
        contests: Contests | None = None,
        per_app: int | None = None,
    ) -> None:
        """Without ``work_keys`` none are kept; without ``contests`` nobody is asked whether it is still there;
        ``per_app`` is how many executors an app may have.
        """
        self._per_app = per_app
        self._full: dict[str, float] = {}
        """Apps that were told to be full lately, and when."""
        self._work_keys = work_keys
        self._contests = contests
        self._db = db
        self._clock = clock
        self._events = events
        self._roster = roster
        self._reach = reach
        self._clock_offset = clock_offset
        self._named = named
        self._gathering: Gathering[Beat | Goodbye, Arrival | Farewell] = Gathering(
            db, self._record, waiting=BEATS_WAITING
        )
        self.failed_at = float("-inf")
        """When a beat last could not be stored, on the monotonic clock."""
        self._unusable: set[str] = set()
        """App names no group can have, as far as they have been told."""
        self.beats = 0
        """Beats stored."""

    async def beat(
        self, request: RegistryRequest, key_id: str | None = None, generation: frozenset[str] = frozenset()
    ) -> bool:
        """Take a beat; ``key_id`` names the key it was proved with, and ``generation`` is what is known of an
        executor that announces nothing itself. Whether another process claims its address, too.
        ``AddressHeld`` if that one has it, ``TooManyExecutors`` if it is new and its app has no room,
        ``TooManyHandlers`` if that has none for its handlers.
        """
        beat = replace(_beat(request, self._clock_offset(request.registry_value), generation), key_id=key_id)
        work_key = request.orth.work_key if request.orth else None
        digest = _digest(beat, work_key)
        known = self._roster.last_known(beat.app_name, beat.address)
        is_expected = known is None or self._is_of(known, beat.incarnation, work_key)
        if is_expected:
            self._hear(request)
        beat = _beside(beat, self._roster.last_stored(beat.app_name, beat.address, digest))
        contested = not beat.repeated and self._is_contested(beat, work_key)
        if work_key is not None and not beat.repeated:
            await self._check_key_is_here(beat)
        beat = replace(beat, work_key=self._sealed(beat, work_key))
        arrival = await self._store(beat, work_key)
        if not is_expected:
            self._hear(request)
        self.beats += 1
        self._roster.stored(_entry(beat, arrival.at), digest, arrival.row, earlier=arrival.earlier)
        if not beat.repeated:
            self._tell_unusable(beat)
        if arrival.joined:
            self._events.emit(ExecutorJoined(beat.app_name, beat.address))
        elif arrival.earlier is not None:
            named = beat.incarnation or "one that does not say who it is"
            self._events.emit(ExecutorRestarted(beat.app_name, beat.address, arrival.earlier, named))
        if contested:
            self._events.emit(AddressContested(beat.app_name, beat.address, beat.incarnation or ""))
        return contested

    async def _check_key_is_here(self, beat: Beat) -> None:
        """An executor is at one address. If it answers at another one, its data directory was copied, and the newcomer
        is refused.
        """
        if beat.key_id is None or self._contests is None:
            return
        for other in await self._db.read(executors_with_key, beat.app_name, beat.key_id):
            if other.address == beat.address or other.incarnation == beat.incarnation:
                continue
            if await self._contests.answers(other):
                self._events.emit(ClaimRefused(beat.app_name, beat.address, "beat"))
                raise ExecutorKeyInUse(beat.app_name, beat.address, other.address)

    def _hear(self, request: RegistryRequest) -> None:
        """A process is where it says it is, as far as this coordinator knows."""
        app_name, address = request.registry_key, request.registry_value
        self._roster.heard(app_name, address)
        self._reach.heard(address, alone=self._roster.has_alone(app_name, address))
        if request.orth is not None:
            held = (*request.orth.running, *request.orth.unacknowledged)
            self._named(app_name, request.orth.incarnation, held)

    async def _store(self, beat: Beat, work_key: str | None) -> Arrival:
        """Write a beat; instead of the process that has its address, if that is there no more."""
        for _turn in range(_TURNS):
            arrival = await self._put(beat)
            assert isinstance(arrival, Arrival)
            holder = arrival.held_by
            if arrival.lacks_room:
                raise self._too_many(beat.app_name, beat.address)
            if arrival.lacks_room_for_handlers:
                raise TooManyHandlers(beat.app_name)
            if holder is None:
                return arrival
            if not self._is_of(holder, beat.incarnation, work_key) and not await self._has_left(holder):
                break
            beat = replace(beat, instead_of=holder.work_key)
        raise self._refused(beat.app_name, beat.address, "beat")

    def _is_of(self, entry: ExecutorEntry, incarnation: str | None, work_key: str | None) -> bool:
        """Whether an entry is of the process that says so, or of one that has told no work key: it may be anybody."""
        known = None if self._work_keys is None else self._work_keys.opened(entry)
        return known is None or (entry.incarnation == incarnation and is_same_key(known, work_key))

    async def _has_left(self, holder: ExecutorEntry) -> bool:
        return self._contests is None or await self._contests.has_left(holder)

    def _refused(self, app_name: str, address: str, claim: Claim) -> AddressHeld:
        self._events.emit(ClaimRefused(app_name, address, claim))
        return AddressHeld(app_name, address, claim)

    def _too_many(self, app_name: str, address: str) -> TooManyExecutors:
        limit, now = self._per_app or 0, self._clock.monotonic()
        self._full = {one: told for one, told in self._full.items() if now - told < _FULL_TOLD_EVERY}
        if app_name not in self._full:
            self._full[app_name] = now
            self._events.emit(AppFull(app_name, address, limit))
        return TooManyExecutors(app_name, limit)

    def _sealed(self, beat: Beat, work_key: str | None) -> str | None:
        if work_key is None or beat.incarnation is None or self._work_keys is None:
            return None
        known = self._roster.last_known(beat.app_name, beat.address)
        return self._work_keys.sealed(beat.app_name, beat.address, beat.incarnation, work_key, known)

    def _is_contested(self, beat: Beat, work_key: str | None) -> bool:
        """Whether two processes that live say that they have one address, which nobody does by restarting: one that was
        replaced there is heard again, or one process is said to have two work keys.
        """
        known = self._roster.last_known(beat.app_name, beat.address)
        stored = None if known is None or self._work_keys is None else self._work_keys.opened(known)
        if known is not None and known.incarnation == beat.incarnation:
            return stored is not None and stored != work_key
        return self._roster.comes_back(beat.app_name, beat.address, beat.incarnation)

    def _tell_unusable(self, beat: Beat) -> None:
        """Say once why executors of this name get no work, if they never can."""
        trouble = trouble_with(beat.app_name)
        if trouble and beat.app_name not in self._unusable and len(self._unusable) < _NAMES_TOLD:
            self._unusable.add(beat.app_name)
            self._events.emit(AppNameUnusable(beat.app_name, beat.address, trouble.message))

    async def leave(self, request: RegistryRequest) -> None:
        """Take a good-bye; ``AddressHeld`` if it is for a process whose work key it does not tell. Of one that has a
        successor nothing is left to take.
        """
        app_name, address = request.registry_key, request.registry_value
        incarnation, work_key = (request.orth.incarnation, request.orth.work_key) if request.orth else (None, None)
        farewell = await self._take_out(Goodbye(app_name, address, incarnation), work_key)
        if farewell.left:
            self._roster.left(app_name, address)
            self._events.emit(ExecutorLeft(app_name, address, "it said good-bye"))
        elif farewell.held_by is not None and not self._roster.was_before(app_name, address, incarnation):
            raise self._refused(app_name, address, "good-bye")

    def taken_off(self, app_name: str, address: str) -> None:
        """Somebody took an executor off the list in the store."""
        self._roster.left(app_name, address)
        self._events.emit(ExecutorLeft(app_name, address, "it was taken off the list"))

    async def _take_out(self, goodbye: Goodbye, work_key: str | None) -> Farewell:
        farewell = await self._put(goodbye)
        assert isinstance(farewell, Farewell)
        holder = farewell.held_by
        if holder is None or not self._is_of(holder, goodbye.incarnation, work_key) or goodbye.proved is not None:
            return farewell
        return await self._take_out(replace(goodbye, proved=holder.work_key), work_key)

    async def _put(self, item: Beat | Goodbye) -> Arrival | Farewell:
        try:
            return await self._gathering.put(item)
        except StoreUnavailable:
            self.failed_at = self._clock.monotonic()
            raise

    def _record(self, connection: Connection, items: Sequence[Beat | Goodbye]) -> list[Arrival | Farewell]:
        """In their order: who comes back after a good-bye is there, and who leaves after a beat is not."""
        now = self._clock.now()
        results: list[Arrival | Farewell] = []
        for kind, some in groupby(items, type):
            if kind is Beat:
                beats = [one for one in some if isinstance(one, Beat)]
                results += record_beats(connection, beats, now, per_app=self._per_app)
            else:
                results += remove_executors(connection, [one for one in some if isinstance(one, Goodbye)], now)
        return results


def _beat(request: RegistryRequest, clock_offset: int | None, generation: frozenset[str]) -> Beat:
    said = request.orth
    if said is None:
        return Beat(request.registry_key, request.registry_value, extensions=generation)
    return Beat(
        request.registry_key,
        request.registry_value,
        incarnation=said.incarnation,
        extensions=frozenset(said.extensions) & set(Extension),
        version=said.version,
        handlers=said.model_dump_json(include={"handlers"}, by_alias=False),
        labels=json.dumps(said.labels, sort_keys=True) if said.labels else None,
        load=min(said.load.running + said.load.queued, _LARGEST_LOAD) if said.load else None,
        clock_offset=clock_offset,
        vitals=_vitals(said),
        unavailable=said.unavailable,
    )


def _vitals(said: Announcement) -> Vitals:
    load = Load() if said.load is None else said.load
    counts = {name: min(count, _LARGEST_LOAD) for name, count in load.model_dump().items()}
    left_behind = tuple((one.log_id, one.since) for one in said.left_behind)
    return Vitals(**counts, python=said.python, left_behind=left_behind)


_LARGEST_LOAD = 2**31 - 1
_OFFSET_MOVED = 5  # milliseconds; the network alone makes as much of a difference from one measurement to the next


def _beside(beat: Beat, last: tuple[ExecutorEntry, int | None] | None) -> Beat:
    """The beat with what is known of the one before it."""
    if last is None:
        return beat
    entry, row = last
    offset, was = beat.clock_offset, entry.clock_offset
    if offset is not None and was is not None and abs(offset - was) < _OFFSET_MOVED:
        offset = was
    moved = (beat.load, offset, beat.vitals, beat.unavailable) != (entry.load, was, entry.vitals, entry.unavailable)
    return replace(beat, repeated=True, row=row, moved=moved, clock_offset=offset)


def _digest(beat: Beat, work_key: str | None) -> int:
    """Of what a process announces once and repeats; never 0. One that is leaving announces that, once."""
    leaving = beat.unavailable == Unavailability.LEAVING
    said = (beat.incarnation, beat.extensions, beat.version, beat.handlers, beat.labels, beat.key_id, work_key, leaving)
    return hash(said) or 1


def _entry(beat: Beat, now: int) -> ExecutorEntry:
    return ExecutorEntry(
        beat.app_name,
        beat.address,
        now,
        beat.incarnation,
        beat.extensions,
        version=beat.version,
        load=beat.load,
        labels=json.loads(beat.labels) if beat.labels else {},
        clock_offset=beat.clock_offset,
        key_id=beat.key_id,
        work_key=beat.work_key,
        vitals=beat.vitals,
        unavailable=beat.unavailable,
    )


class RegistryMonitor(LeaderLoop):
    """Removes executors that have been silent for too long."""

    def __init__(
        self,
        db: Database,
        election: Election,
        clock: Clock,
        events: Events,
        *,
        every: timedelta,
        beat: timedelta,
        dead_after: timedelta,
        store_failed: Callable[[], float] = lambda: float("-inf"),
    ) -> None:
        super().__init__(election, clock, events)
        self._db = db
        self._every = every.total_seconds()
        self._grace = beat.total_seconds() * SLACK
        self._dead_after = dead_after.total_seconds()
        self._store_failed = store_failed
        self._watched: dict[tuple[str, str, int], float] = {}
        """Overdue beats, and since when each has been the last one: on the monotonic clock, within this term."""
        self._epoch: int | None = None

    async def lead(self, term: Term) -> float:
        if self._epoch != term.epoch:
            self._epoch = term.epoch
            self._watched.clear()
        try:
            return await self._look(term)
        except StoreUnavailable:
            self._watched.clear()
            raise

    async def _look(self, term: Term) -> float:
        now, here = self.clock.now(), self.clock.monotonic()
        overdue = await self._db.read(list_overdue, now - int(self._grace * 1000))
        waits = [(entry, self._wait(entry, now, here)) for entry in overdue]
        self._watched = {_beat_of(entry): self._watched_since(entry, here) for entry in overdue}
        silent = [entry for entry, wait in waits if wait <= 0]
        for entry in await self._db.leader_tx(term, _clean, silent, now):
            told = f"no beat for {(now - entry.last_beat) / 1000:.0f} s"
            self.events.emit(ExecutorLeft(entry.app_name, entry.address, told, silent=True))
        return max(1.0, min([self._every, *(wait for _entry, wait in waits if wait > 0)]))

    def _wait(self, entry: ExecutorEntry, now: int, here: float) -> float:
        """Seconds until this silence is long enough, if it lasts."""
        return max(
            self._dead_after - (now - entry.last_beat) / 1000,
            self._grace - (here - self._watched_since(entry, here)),
        )

    def _watched_since(self, entry: ExecutorEntry, here: float) -> float:
        return max(self._watched.get(_beat_of(entry), here), min(here, self._store_failed()))


def _beat_of(entry: ExecutorEntry) -> tuple[str, str, int]:
    return (entry.app_name, entry.address, entry.last_beat)


def _clean(connection: Connection, silent: Sequence[ExecutorEntry], now: int) -> list[ExecutorEntry]:
    drop_old_doubts(connection, now - int(DOUBTS_KEPT.total_seconds() * 1000))
    drop_old_drains(connection, now)
    drop_unseen_keys(connection, now)
    drop_former(connection)
    removed = remove_silent(connection, silent, now)
    remove_unused_lists(connection, now - UNUSED_KEPT)
    return removed
