"""When cron expressions fire: in the time zone of the import, in another one, and as xxl-job itself has planned.

xxl-job reads its expressions in the zone of its Java process. Its database does not store this zone: ``time_zone`` of
the database is another one. A running job has the instant of its next fire (``trigger_next_time``), and with enough of
these the offset of the zone can be told, but not its name. So the zone is asked for, and checked against those. A later
schema has a zone for each job (``schedule_timezone``), which counts where it is not empty.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orth.clock import iso
from orth.domain.cron.zones import zone_named
from orth.domain.jobs import ScheduleType
from orth.domain.schedules import parse_schedule
from orth.errors import InvalidSchedule
from orth.importing.mapping import MappedJob, Origin

UTC, COMMON = "UTC", "Asia/Shanghai"
"""The zones that are shown beside the one that was given. Most installations of xxl-job stand in the second."""
_FIRES = 3
_QUARTER = 15 * 60_000
_OFFSETS = range(-12 * 4, 14 * 4 + 1)
_JOBS_LOOKED_AT = 200


@dataclass(frozen=True, slots=True)
class Reading:
    """The next fires of one job, by zone; ``planned`` is the next one over there, 0 if it is not known."""

    origin: Origin
    conf: str
    fires: tuple[tuple[str, tuple[int, ...]], ...]
    planned: int
    fits: bool
    """Whether what is planned over there is a fire in the first of the zones."""
    timezone: str | None
    """In which the expression was read; None if nobody said it."""
    own_zone: bool

    def as_json(self) -> dict[str, object]:
        return {
            "from_id": max(0, self.origin.id),
            "name": self.origin.name,
            "schedule_conf": self.conf,
            "timezone": self.timezone,
            "next": {zone: [iso(fire) for fire in fires] for zone, fires in self.fires},
            "planned_there": iso(self.planned) if self.planned else None,
        }


def readings(jobs: Iterable[MappedJob], timezone: str | None, now: int) -> list[Reading]:
    """The next fires of each job with a cron expression: in its own zone, or ``timezone``, and in another zone; without
    a zone in both others.
    """
    found = []
    for one in jobs:
        if one.job.schedule_type is not ScheduleType.CRON:
            continue
        conf = one.job.schedule_conf
        zone = one.own_zone or timezone
        fires = tuple((shown, _next(conf, shown, now)) for shown in _zones(zone))
        fits = zone is None or not one.planned or _is_fire(conf, zone, one.planned)
        found.append(Reading(one.origin, conf, fires, one.planned, fits, zone, bool(one.own_zone)))
    return found


def offset_there(jobs: Sequence[MappedJob]) -> int | None:
    """The only offset from UTC, in minutes, in which all that is planned there is a fire; None if there is none. Jobs
    with a zone of their own say nothing about it.
    """
    fitting = list(_OFFSETS)
    cron = (one for one in jobs if one.job.schedule_type is ScheduleType.CRON)
    planned = [one for one in cron if one.planned and not one.own_zone]
    for one in planned[:_JOBS_LOOKED_AT]:
        fitting = [at for at in fitting if _is_fire(one.job.schedule_conf, UTC, one.planned + at * _QUARTER)]
    return fitting[0] * 15 if len(fitting) == 1 else None


def offset_of(timezone: str, now: int) -> int:
    """The offset of a zone from UTC now, in minutes."""
    return zone_named(timezone).stretch_at(now // 1000).offset // 60


def shown_offset(minutes: int) -> str:
    sign = "-" if minutes < 0 else "+"
    return f"UTC{sign}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def _zones(timezone: str | None) -> tuple[str, ...]:
    if timezone is None:
        return (UTC, COMMON)
    return (timezone, COMMON if timezone == UTC else UTC)


def _next(conf: str, zone: str, now: int) -> tuple[int, ...]:
    schedule = parse_schedule(ScheduleType.CRON, conf, timezone=zone)
    fires: list[int] = []
    while len(fires) < _FIRES and (fire := schedule.next_after(fires[-1] if fires else now)) is not None:
        fires.append(fire)
    return tuple(fires)


def _is_fire(conf: str, zone: str, instant: int) -> bool:
    try:
        return parse_schedule(ScheduleType.CRON, conf, timezone=zone).next_after(instant - 1) == instant
    except InvalidSchedule:
        return False
