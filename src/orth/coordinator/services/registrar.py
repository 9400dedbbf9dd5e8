"""Takes what services say, in any process that serves the Registry API.

It is stored before it is answered, and what comes together shares a transaction. Who is not known learns so at once,
and registers again. What a person says in a service's place is a change like any other, and told to the audit.
"""

import secrets
from collections.abc import Callable, Sequence

from orth.clock import Clock
from orth.coordinator.services.facts import (
    BeatFailure,
    ServiceBeatFailed,
    ServiceRegistered,
    ServiceStatusChanged,
    ServiceUnregistered,
)
from orth.domain.audit import Actor, Deed
from orth.domain.services import Service, ServiceKind, ServiceStatus
from orth.errors import Conflict, NotFound, StoreUnavailable, TooBusy
from orth.events import Events
from orth.store.audit import record
from orth.store.database import Connection, Database
from orth.store.gathering import Gathering
from orth.store.services import Beat, Departure, Outcome, Registration, Rejection, Report, Said, carry_out

SAID_WAITING = 20_000
_ACTIONS: dict[type[Said], str] = {
    Registration: "service.register",
    Beat: "service.beat",
    Report: "service.report",
    Departure: "service.unregister",
}

_Spoken = tuple[Said, Actor | None]
"""What was said, and the person who said it in the place of the service, if one did."""


class Registrar:
    """For one event loop. ``changed`` hears that there are new events; ``by`` is a person who speaks for a service."""

    def __init__(
        self, db: Database, clock: Clock, events: Events, *, limit: int, changed: Callable[[], None] = lambda: None
    ) -> None:
        self._clock = clock
        self._events = events
        self._limit = limit
        self._changed = changed
        self._gathering: Gathering[_Spoken, Outcome] = Gathering(db, self._carry_out, waiting=SAID_WAITING)
        self.beats = 0
        """Beats stored."""
        self.failed_at = float("-inf")
        """When the database last could not take something, on the monotonic clock."""

    async def register(
        self,
        kind: ServiceKind,
        url: str,
        *,
        incarnation: str | None = None,
        name: str | None = None,
        orchestrator_id: str | None = None,
        apps: frozenset[str] | None = None,
        by: Actor | None = None,
        bounded: bool = True,
    ) -> str:
        """Enter a service; its id, which is the one it had if its url is known. ``apps`` are the names that whoever
        says so speaks for, None: all; what others have registered at that url stays as it is. The limit does not hold
        for a service that is not ``bounded``.
        """
        agents_own = orchestrator_id if kind is ServiceKind.AGENT else None
        said = Registration(kind, url, secrets.token_hex(16), incarnation, agents_own, name, apps, bounded)
        outcome = await self._put(said, by)
        if outcome.rejection is Rejection.NO_EXECUTOR:
            raise Conflict.of("agent_without_executor", app=said.owner, url=url, field="url")
        if outcome.id is None:
            raise TooBusy.of("services_full", limit=self._limit)
        if outcome.news is not None:
            self._tell(ServiceRegistered(kind, outcome.id, url))
        return outcome.id

    async def beat(self, kind: ServiceKind, id: str, by: Actor | None = None) -> None:
        """Note that a service lives; ``NotFound`` when it is not known."""
        try:
            outcome = self._known(kind, id, await self._put(Beat(kind, id), by))
        except (NotFound, StoreUnavailable, TooBusy) as error:
            self._events.emit(ServiceBeatFailed(_cause(error)))
            raise
        self.beats += 1
        if outcome.news is not None:
            self._tell(ServiceStatusChanged(kind, id, outcome.news.status))

    async def report(self, kind: ServiceKind, id: str, status: ServiceStatus, by: Actor | None = None) -> None:
        """Note what a service says of its status; ``NotFound`` when it is not known."""
        outcome = self._known(kind, id, await self._put(Report(kind, id, status), by))
        if outcome.news is not None:
            self._tell(ServiceStatusChanged(kind, id, outcome.news.status))

    async def leave(self, kind: ServiceKind, id: str, by: Actor | None = None) -> None:
        """Forget a service; ``NotFound`` when it is not known."""
        outcome = self._known(kind, id, await self._put(Departure(kind, id), by))
        if outcome.news is not None:
            self._tell(ServiceUnregistered(kind, id, outcome.news.url))

    def _known(self, kind: ServiceKind, id: str, outcome: Outcome) -> Outcome:
        if outcome.id is None:
            raise NotFound(kind, id)
        return outcome

    def _tell(self, fact: ServiceRegistered | ServiceStatusChanged | ServiceUnregistered) -> None:
        self._events.emit(fact)
        self._changed()

    async def _put(self, said: Said, by: Actor | None) -> Outcome:
        try:
            return await self._gathering.put((said, by))
        except StoreUnavailable:
            self.failed_at = self._clock.monotonic()
            raise

    def _carry_out(self, connection: Connection, spoken: Sequence[_Spoken]) -> list[Outcome]:
        now = self._clock.now()
        outcomes = carry_out(connection, [said for said, _by in spoken], self._limit, now)
        for (said, by), outcome in zip(spoken, outcomes, strict=True):
            if by is not None and outcome.news is not None:
                record(connection, by, _deed(said, outcome.news, outcome.before), now)
        return outcomes


def _deed(said: Said, service: Service, before: Service | None) -> Deed:
    was = None if before is None else _told(before)
    after = None if isinstance(said, Departure) else _told(service)
    return Deed(_ACTIONS[type(said)], said.kind.value, service.id, before=was, after=after)


def _told(service: Service) -> dict[str, object]:
    """What the audit says of a service."""
    return {
        "url": service.url,
        "name": service.name,
        "incarnation": service.incarnation,
        "orchestrator_id": service.orchestrator_id,
        "status": service.status.value,
    }


def _cause(error: NotFound | StoreUnavailable | TooBusy) -> BeatFailure:
    if isinstance(error, NotFound):
        return BeatFailure.UNKNOWN
    return BeatFailure.STORE if isinstance(error, StoreUnavailable) else BeatFailure.BUSY
