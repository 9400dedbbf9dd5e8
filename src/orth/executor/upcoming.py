"""When the schedule that a handler's author proposes would fire."""

from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from orth.domain.cron.zones import zone_named
from orth.domain.schedules import parse_instant, parse_schedule, read_schedule
from orth.errors import Invalid
from orth.executor.handlers import Handler

_DEFAULT_ZONE = "UTC"


@dataclass(frozen=True, slots=True)
class UpcomingFire:
    """A fire, as UTC epoch milliseconds and as people read it."""

    instant: int
    timezone: str

    @property
    def local(self) -> str:
        """On the wall clock of the schedule's zone, with its offset: ``2026-03-29T03:00+02:00``."""
        return _written(datetime.fromtimestamp(self.instant / 1000, ZoneInfo(self.timezone)))

    @property
    def utc(self) -> str:
        """``2026-03-29T01:00Z``."""
        return _written(datetime.fromtimestamp(self.instant / 1000, UTC)).replace("+00:00", "Z")


def _written(moment: datetime) -> str:
    """To the minute, unless it needs more."""
    exact = "milliseconds" if moment.microsecond else "seconds" if moment.second else "minutes"
    return moment.isoformat(timespec=exact)


def upcoming_fires(handler: Handler, count: int, after: int) -> list[UpcomingFire]:
    """The next ``count`` fires after an instant, fewer if the schedule ends; ``Invalid`` when there is no schedule."""
    if handler.proposal.schedule is None:
        raise Invalid(f"Handler {handler.name} proposes no schedule.", hint='Add schedule="…" to its decorator.')
    timezone = handler.proposal.timezone or _DEFAULT_ZONE
    schedule = parse_schedule(*read_schedule(handler.proposal.schedule), timezone=timezone)
    found: list[UpcomingFire] = []
    fire = schedule.next_after(after)
    while fire is not None and len(found) < count:
        found.append(UpcomingFire(fire, timezone))
        fire = schedule.next_after(fire)
    return found


def instant_of(moment: str | datetime | int, handler: Handler) -> int:
    """``moment`` in epoch milliseconds; without an offset it is on the wall clock of the handler's zone."""
    if isinstance(moment, int):
        return moment
    text = moment.isoformat() if isinstance(moment, datetime) else moment
    return parse_instant(text, zone_named(handler.proposal.timezone or _DEFAULT_ZONE))
