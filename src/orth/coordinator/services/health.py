"""The Health loop: services are asked how they are, and what they answer drives their status.

A service that beats may be unable to work all the same. So its ``/health`` (of a coordinator ``/health/live``) is asked
in rounds; failing several times in a row makes it Failed, and the first good answer makes it again what it was. How
many are asked in a second is bounded: with very many services a round takes longer.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from orth.clock import Clock
from orth.coordinator.services.duty import Duty
from orth.coordinator.services.facts import ServiceFailed, ServiceRecovered
from orth.domain.services import Failing, Service, ServiceKind, ServiceStatus
from orth.events import Events
from orth.loop import Loop
from orth.store.database import Database
from orth.store.services import list_services, record_health
from orth.wire.health_calls import HealthLink

PATHS = {ServiceKind.ORCHESTRATOR: "/health/live", ServiceKind.AGENT: "/health"}
_BREATH = 1.0


@dataclass(frozen=True, slots=True)
class Rounds:
    """How services are asked."""

    every: timedelta
    failures: int
    """In a row, before a service counts as failed."""
    rate: int
    """Services asked in a second, at most."""
    silent_after: float
    """Seconds without a beat after which a good answer does not help."""


class Health(Loop):
    """Asks services how they are."""

    def __init__(
        self,
        db: Database,
        duty: Duty,
        link: HealthLink,
        clock: Clock,
        events: Events,
        *,
        rounds: Rounds,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(clock, events)
        self._db = db
        self._duty = duty
        self._link = link
        self._rounds = rounds
        self._changed = changed
        self._left: deque[Service] = deque()
        """Who is still to be asked in this round."""
        self._next_round = clock.monotonic()
        self._bad_answers: dict[str, int] = {}
        """Bad answers in a row."""
        duty.election.led.append(self)

    async def turn(self) -> float:
        if not self._left:
            wait = self._next_round - self.clock.monotonic()
            if wait > 0:
                return wait
            self._next_round = self.clock.monotonic() + self._rounds.every.total_seconds()
            await self._begin()
        some = [self._left.popleft() for _ in range(min(self._rounds.rate, len(self._left)))]
        await self._note(some, await asyncio.gather(*(self._link.ask(one.url, PATHS[one.kind]) for one in some)))
        return _BREATH if self._left else max(_BREATH, self._next_round - self.clock.monotonic())

    async def _begin(self) -> None:
        if not await self._duty.is_ours():
            self._bad_answers.clear()
            return
        found, _seq = await self._db.read(list_services)
        asked = [one for one in found if _can_be_asked(one)]
        self._bad_answers = {one.id: self._bad_answers.get(one.id, 0) for one in asked}
        self._left.extend(asked)

    async def _note(self, asked: list[Service], answers: list[str | None]) -> None:
        well: dict[str, bool] = {}
        for one, trouble in zip(asked, answers, strict=True):
            self._bad_answers[one.id] = 0 if trouble is None else self._bad_answers.get(one.id, 0) + 1
            failing = one.standing.failing is Failing.HEALTH
            if trouble is None and failing:
                well[one.id] = True
            elif self._bad_answers[one.id] >= self._rounds.failures and not failing:
                well[one.id] = False
        if well:
            await self._write(well)

    async def _write(self, well: Mapping[str, bool]) -> None:
        now = self.clock.now()
        changed = await self._db.tx(record_health, well, now - int(self._rounds.silent_after * 1000), now)
        for one in changed:
            if one.status is ServiceStatus.FAILED:
                self.events.emit(ServiceFailed(one.kind, one.id, one.url, Failing.HEALTH))
            else:
                self.events.emit(ServiceRecovered(one.kind, one.id, one.status))
        if changed:
            self._changed()


def _can_be_asked(service: Service) -> bool:
    """Not one that has stopped, nor one that is Failed for another reason: its health would change nothing."""
    if service.status is ServiceStatus.FAILED:
        return service.standing.failing is Failing.HEALTH
    return service.status not in (ServiceStatus.STOPPING, ServiceStatus.STOPPED)
