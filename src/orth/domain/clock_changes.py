"""What a change of the clock does to a fire: for people who look at coming fires and wonder."""

from enum import StrEnum

from orth.domain.cron.search import Cron
from orth.domain.cron.zones import zone_named
from orth.domain.schedules import Fires, Once, Schedule


class ClockChange(StrEnum):
    """What is special about a fire."""

    MOVED = "moved"  # the clock jumps over its local time, so it fires right after the gap
    FIRST = "first"  # the clock shows its local time twice: this is the first time
    SECOND = "second"  # and this the second
    CHANGED = "changed"  # since the fire before, the clock was put forward or back


def clock_change(schedule: Schedule, fire: int, before: int | None = None) -> ClockChange | None:
    """What a change of the clock does to ``fire``; ``before`` is the fire before it, if it was looked at too."""
    zone = zone_named(schedule.timezone)
    second = fire // 1000
    stretch = zone.stretch_at(second)
    local = second + stretch.offset
    if _moved(schedule.fires, fire):
        return ClockChange.MOVED
    if local < stretch.floor:
        return ClockChange.SECOND
    if local >= stretch.end + zone.stretch_at(stretch.end).offset:
        return ClockChange.FIRST
    if before is not None and zone.stretch_at(before // 1000).offset != stretch.offset:
        return ClockChange.CHANGED
    return None


def _moved(fires: Fires, fire: int) -> bool:
    return fires.moved if isinstance(fires, Once) else isinstance(fires, Cron) and not fires.shows(fire)
