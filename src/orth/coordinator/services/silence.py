"""The Silence loop: services that miss three beats have failed, and are removed when that has lasted.

A silence may be ours. Beats that could not be stored look like silence, and so does a clock that was set. Therefore
two signs are asked for, as with executors: the stored time of the last beat is old enough, and the count of beats has
been watched to stay the same for a whole beat, on this process's own clock, since the database last failed it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto

from orth.clock import Clock
from orth.coordinator.roster import SLACK
from orth.coordinator.services.duty import Duty
from orth.coordinator.services.facts import ServiceFailed, ServiceForgotten
from orth.domain.services import Failing, Service, ServiceStatus
from orth.errors import StoreUnavailable
from orth.events import Events
from orth.loop import Loop
from orth.store.database import Database
from orth.store.service_events import surplus_events, trim_events
from orth.store.services import Watched, fail_silent, forget_services, list_overdue

MISSED_BEATS = 3
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a service may be silent."""

    beat: timedelta
    forget_after: timedelta

    @property
    def grace(self) -> float:
        """Seconds within which everybody who lives has beaten."""
        return self.beat.total_seconds() * SLACK

    @property
    def fails_after(self) -> float:
        return self.beat.total_seconds() * MISSED_BEATS

    @property
    def removed_after(self) -> float:
        return self.fails_after + self.forget_after.total_seconds()


class Verdict(Enum):
    WAIT = auto()
    FAIL = auto()
    REMOVE = auto()


def judge(service: Service, silent: float, watched: float, patience: Patience) -> tuple[Verdict, float]:
    """What to do about a service that has been silent, and watched, for so many seconds; and how many are left until
    the next thing would be to do.
    """
    over = service.status in (ServiceStatus.FAILED, ServiceStatus.STOPPED)
    due, verdict = (patience.removed_after, Verdict.REMOVE) if over else (patience.fails_after, Verdict.FAIL)
    left = max(due - silent, patience.grace - watched)
    return (Verdict.WAIT, left) if left > 0 else (verdict, 0.0)


class Silence(Loop):
    """Looks for services that are silent, and keeps the events few."""

    def __init__(
        self,
        db: Database,
        duty: Duty,
        clock: Clock,
        events: Events,
        *,
        every: timedelta,
        patience: Patience,
        events_kept: int,
        store_failed: Callable[[], float] = lambda: float("-inf"),
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(clock, events)
        self._db = db
        self._duty = duty
        self._every = every.total_seconds()
        self._patience = patience
        self._events_kept = events_kept
        self._store_failed = store_failed
        self._changed = changed
        self._watched: dict[Watched, float] = {}
        """Silent services, and since when each has had that many beats."""
        duty.election.led.append(self)

    async def turn(self) -> float:
        try:
            if not await self._duty.is_ours():
                self._watched.clear()
                return self._every
            return await self._look()
        except StoreUnavailable:
            self._watched.clear()
            raise

    async def _look(self) -> float:
        now, here = self.clock.now(), self.clock.monotonic()
        overdue = await self._db.read(list_overdue, now - int(self._patience.grace * 1000))
        self._watched = {_watched(one): self._since(one, here) for one in overdue}
        found = [(one, *self._judge(one, now, here)) for one in overdue]
        await self._fail([one for one, verdict, _left in found if verdict is Verdict.FAIL], now)
        await self._forget([one for one, verdict, _left in found if verdict is Verdict.REMOVE], now)
        if await self._db.read(surplus_events, self._events_kept):
            await self._db.tx(trim_events, self._events_kept)
        return max(1.0, min([self._every, *(left for _one, verdict, left in found if verdict is Verdict.WAIT)]))

    def _judge(self, service: Service, now: int, here: float) -> tuple[Verdict, float]:
        silent = (now - service.last_heartbeat) / 1000
        return judge(service, silent, here - self._since(service, here), self._patience)

    def _since(self, service: Service, here: float) -> float:
        return max(self._watched.get(_watched(service), here), min(here, self._store_failed()))

    async def _fail(self, silent: Sequence[Service], now: int) -> None:
        for some in _chunks(silent):
            for one in await self._db.tx(fail_silent, some, now):
                self.events.emit(ServiceFailed(one.kind, one.id, one.url, Failing.SILENCE))
            self._changed()

    async def _forget(self, silent: Sequence[Service], now: int) -> None:
        for some in _chunks(silent):
            for one in await self._db.tx(forget_services, some, now):
                self.events.emit(ServiceForgotten(one.kind, one.id, one.url))
            self._changed()


def _chunks(silent: Sequence[Service]) -> Iterator[list[Watched]]:
    for start in range(0, len(silent), _AT_ONCE):
        yield [_watched(one) for one in silent[start : start + _AT_ONCE]]


def _watched(service: Service) -> Watched:
    return Watched(service.id, service.beats)
