"""The list of executors, kept honest: beats come in, stale ones go out.

A beat is stored before it is answered: if the database cannot take it, the executor learns so and tries another
coordinator.
"""

from datetime import timedelta

from orth.clock import Clock
from orth.cluster.election import Election, Term
from orth.cluster.leading import LeaderLoop
from orth.coordinator.facts import ExecutorJoined, ExecutorLeft
from orth.events import Events
from orth.store.database import Database
from orth.store.registry import Beat, record_beat, remove_executor, remove_stale
from orth.wire.messages import Extension, RegistryRequest


class Registrations:
    """Takes beats and good-byes; any node does."""

    def __init__(self, db: Database, clock: Clock, events: Events) -> None:
        self._db = db
        self._clock = clock
        self._events = events

    async def beat(self, request: RegistryRequest) -> None:
        said = request.orth
        beat = Beat(
            request.registry_key,
            request.registry_value,
            incarnation=said.incarnation if said else None,
            extensions=frozenset(said.extensions) & set(Extension) if said else frozenset(),
            version=said.version if said else None,
            handlers=said.model_dump_json(include={"handlers"}, by_alias=False) if said else None,
        )
        if await self._db.tx(record_beat, beat, self._clock.now()):
            self._events.emit(ExecutorJoined(beat.app_name, beat.address))

    async def leave(self, request: RegistryRequest) -> None:
        app_name, address = request.registry_key, request.registry_value
        incarnation = request.orth.incarnation if request.orth else None
        if await self._db.tx(remove_executor, app_name, address, self._clock.now(), incarnation):
            self._events.emit(ExecutorLeft(app_name, address, "it said good-bye"))


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
        dead_after: timedelta,
    ) -> None:
        super().__init__(election, clock, events)
        self._db = db
        self._every = every.total_seconds()
        self._dead_after = dead_after

    async def lead(self, term: Term) -> float:
        now = self.clock.now()
        before = now - int(self._dead_after.total_seconds() * 1000)
        for entry in await self._db.leader_tx(term.epoch, remove_stale, before, now):
            silent = (now - entry.last_beat) / 1000
            self.events.emit(ExecutorLeft(entry.app_name, entry.address, f"no beat for {silent:.0f} s"))
        return self._every
