"""Coming fires as people are shown them: in UTC, on the clock of their zone, and with what is special about each."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from orth.clock import iso
from orth.domain.clock_changes import ClockChange, clock_change
from orth.domain.schedules import Schedule


class ComingFire(BaseModel):
    fire_time: str
    due_time: str = Field(description="When it is to happen: later than the fire if the job has a jitter.")
    local_time: str = Field(description="What the clock of the zone shows at the fire, with its offset.")
    skipped: str | None = Field(description="Why it will not run, where the calendar refuses it.")
    clock_change: ClockChange | None = Field(
        description="moved: the clock jumps over its time, so it fires after the gap; first, second: the clock shows "
        "its time twice; changed: the clock was put forward or back since the fire before."
    )


def coming_fires(schedule: Schedule, now: int, n: int) -> list[ComingFire]:
    """The next ``n`` fires after ``now``, or as many as are known."""
    items: list[ComingFire] = []
    before: int | None = None
    fire = schedule.next_after(now)
    while fire is not None and len(items) < n:
        items.append(_shown(schedule, fire, before))
        before = fire
        fire = schedule.next_after(fire) if schedule.repeats_by_clock else None
    return items


def _shown(schedule: Schedule, fire: int, before: int | None) -> ComingFire:
    return ComingFire(
        fire_time=iso(fire),
        due_time=iso(schedule.due_at(fire)),
        local_time=_local(fire, schedule.timezone),
        skipped=schedule.skip_reason(fire),
        clock_change=clock_change(schedule, fire, before),
    )


def _local(instant: int, zone: str) -> str:
    second, millis = divmod(instant, 1000)
    at = datetime.fromtimestamp(second, UTC).replace(microsecond=millis * 1000)
    return at.astimezone(ZoneInfo(zone)).isoformat(timespec="milliseconds")
