"""Takes what services say, in any process that serves the Registry API.

It is stored before it is answered, and what comes together shares a transaction. Who is not known learns so at once,
and registers again.
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
from orth.domain.services import ServiceKind, ServiceStatus
from orth.errors import NotFound, StoreUnavailable, TooBusy
from orth.events import Events
from orth.store.database import Connection, Database
from orth.store.gathering import Gathering
from orth.store.services import Beat, Departure, Outcome, Registration, Report, Said, carry_out

SAID_WAITING = 20_000


class Registrar:
    """For one event loop. ``changed`` hears that there are new events."""

    def __init__(
        self, db: Database, clock: Clock, events: Events, *, limit: int, changed: Callable[[], None] = lambda: None
    ) -> None:
        self._clock = clock
        self._events = events
        self._limit = limit
        self._changed = changed
        self._gathering: Gathering[Said, Outcome] = Gathering(db, self._carry_out, waiting=SAID_WAITING)
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
    ) -> str:
        """Enter a service; its id, which is the one it had if its url is known."""
        agents_own = orchestrator_id if kind is ServiceKind.AGENT else None
        said = Registration(kind, url, secrets.token_hex(16), incarnation, agents_own, name)
        outcome = await self._put(said)
        if outcome.id is None:
            raise TooBusy(
                f"There are {self._limit:,} services already.",
                hint="Unregister those that are gone, or raise registry.services_limit.",
            )
        if outcome.news is not None:
            self._tell(ServiceRegistered(kind, outcome.id, url))
        return outcome.id

    async def beat(self, kind: ServiceKind, id: str) -> None:
        """Note that a service lives; ``NotFound`` when it is not known."""
        try:
            outcome = self._known(kind, id, await self._put(Beat(kind, id)))
        except (NotFound, StoreUnavailable, TooBusy) as error:
            self._events.emit(ServiceBeatFailed(_cause(error)))
            raise
        self.beats += 1
        if outcome.news is not None:
            self._tell(ServiceStatusChanged(kind, id, outcome.news.status))

    async def report(self, kind: ServiceKind, id: str, status: ServiceStatus) -> None:
        """Note what a service says of its status; ``NotFound`` when it is not known."""
        outcome = self._known(kind, id, await self._put(Report(kind, id, status)))
        if outcome.news is not None:
            self._tell(ServiceStatusChanged(kind, id, outcome.news.status))

    async def leave(self, kind: ServiceKind, id: str) -> None:
        """Forget a service; ``NotFound`` when it is not known."""
        outcome = self._known(kind, id, await self._put(Departure(kind, id)))
        if outcome.news is not None:
            self._tell(ServiceUnregistered(kind, id, outcome.news.url))

    def _known(self, kind: ServiceKind, id: str, outcome: Outcome) -> Outcome:
        if outcome.id is None:
            raise NotFound(kind, id)
        return outcome

    def _tell(self, fact: ServiceRegistered | ServiceStatusChanged | ServiceUnregistered) -> None:
        self._events.emit(fact)
        self._changed()

    async def _put(self, said: Said) -> Outcome:
        try:
            return await self._gathering.put(said)
        except StoreUnavailable:
            self.failed_at = self._clock.monotonic()
            raise

    def _carry_out(self, connection: Connection, said: Sequence[Said]) -> list[Outcome]:
        return carry_out(connection, said, self._limit, self._clock.now())


def _cause(error: NotFound | StoreUnavailable | TooBusy) -> BeatFailure:
    if isinstance(error, NotFound):
        return BeatFailure.UNKNOWN
    return BeatFailure.STORE if isinstance(error, StoreUnavailable) else BeatFailure.BUSY
