"""The Health loop: services are asked how they are, and what they answer drives their status.

A service that beats may be unable to work all the same. So its ``/health`` (of a coordinator ``/health/live``) is asked
in rounds; failing several times in a row makes it Failed, and the first good answer makes it again what it was. How
many are asked in a second is bounded: with very many services a round takes longer.

The holder of the token of one app chooses the urls of that app, and what answers there. So the services of one token
are asked one after another, tokens take turns, and a token whose services are slow has rounds of its own length.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
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
_NOBODY = ""
"""The owner of services that registered with a credential for all apps: those are asked at once."""


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
        self._left: dict[str, deque[Service]] = {}
        """Who is still to be asked in the round of each token. Credentials that speak for all have no name."""
        self._next_round = clock.monotonic()
        self._bad_answers: dict[str, int] = {}
        """Bad answers in a row."""
        duty.election.led.append(self)

    async def turn(self) -> float:
        if self.clock.monotonic() >= self._next_round:
            self._next_round = self.clock.monotonic() + self._rounds.every.total_seconds()
            await self._begin()
        some = self._take()
        answers = await asyncio.gather(*(self._ask_all(owner, asked) for owner, asked in some.items()))
        await self._note([answer for of_one in answers for answer in of_one])
        left = self._next_round - self.clock.monotonic()
        return _BREATH if self._left else max(_BREATH, left) if some else left

    async def _begin(self) -> None:
        """Begin a round for each token whose last one has ended."""
        if not await self._duty.is_ours():
            self._bad_answers.clear()
            self._left.clear()
            return
        found, _seq = await self._db.read(list_services)
        asked = [one for one in found if _can_be_asked(one)]
        self._bad_answers = {one.id: self._bad_answers.get(one.id, 0) for one in asked}
        for owner, queue in by_owner(asked).items():
            self._left.setdefault(owner, queue)

    def _take(self) -> dict[str, list[Service]]:
        """Who is asked now, by token. Each token gives one in turn."""
        some: dict[str, list[Service]] = {}
        for _ in range(self._rounds.rate):
            if not self._left:
                break
            owner, queue = next(iter(self._left.items()))
            some.setdefault(owner, []).append(queue.popleft())
            del self._left[owner]
            if queue:
                self._left[owner] = queue  # behind the others
        return some

    async def _ask_all(self, owner: str, asked: Sequence[Service]) -> list[tuple[Service, str | None]]:
        """The answers of services of one token. Who was not asked in time comes first in the next turn."""
        if owner == _NOBODY:
            return list(zip(asked, await asyncio.gather(*map(self._ask, asked)), strict=True))
        until, answers = self.clock.monotonic() + _BREATH, list[tuple[Service, str | None]]()
        for number, one in enumerate(asked):
            if number and self.clock.monotonic() >= until:
                self._left.setdefault(owner, deque()).extendleft(reversed(asked[number:]))
                break
            answers.append((one, await self._ask(one)))
        return answers

    async def _ask(self, one: Service) -> str | None:
        return await self._link.ask(one.url, PATHS[one.kind])

    async def _note(self, answers: Sequence[tuple[Service, str | None]]) -> None:
        well: dict[str, bool] = {}
        for one, trouble in answers:
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


def by_owner(services: Sequence[Service]) -> dict[str, deque[Service]]:
    """The same, for each token."""
    found: dict[str, deque[Service]] = {}
    for one in services:
        found.setdefault(one.owner, deque()).append(one)
    return found
