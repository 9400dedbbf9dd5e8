"""Schedules: the fires of a job, whatever kind of schedule it has.

``parse_schedule`` turns a job's ``schedule_type`` and ``schedule_conf`` into a ``Schedule``. A *fire* is a logical
time: it is what the ledger, the execution and every search speak of. Two things are asked about a fire apart from that,
and neither changes which fires there are:

* ``due_at(fire)``: when it is to happen, which is a little later if the job has a jitter. The shift is a hash of job
  and fire, so every coordinator computes the same; it never reaches the following fire, so order is kept.
* ``skip_reason(fire)``: whether the job's calendar refuses the day.

Fires lie between 1970 and the end of 2199.
"""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import Protocol

from orth.domain.calendars import Calendar
from orth.domain.cron.days import END, FIRST_YEAR, LAST_YEAR
from orth.domain.cron.fields import Fragment
from orth.domain.cron.search import Cron
from orth.domain.cron.zones import DAY, Zone, zone_named
from orth.domain.jobs import DstPolicy, ScheduleType
from orth.errors import Invalid, InvalidSchedule

LAST_INSTANT = END * DAY * 1000 - 1
SHORTEST_PERIOD = 10
LONGEST_PERIOD = 366 * DAY * 1000
LONGEST_JITTER = 3_600_000
_REMEMBERED = 10_000
CONF_LIMIT = 64  # of everything but cron expressions, which have their own

_NAMED_TYPES = {one.value: one for one in (ScheduleType.FIX_RATE, ScheduleType.FIX_DELAY, ScheduleType.AT)}
_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": DAY * 1000}
_DURATION = re.compile(r"([0-9]+)(?:\.([0-9]+))?(ms|s|m|h|d)?")
_INSTANT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?)?"
    r"(Z|([+-])([0-9]{2}):?([0-9]{2}))?",
    re.IGNORECASE | re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Fires(Protocol):
    """A set of fires, searched in both directions."""

    def next_after(self, instant: int) -> int | None: ...

    def previous_before(self, instant: int) -> int | None: ...


@dataclass(frozen=True, slots=True)
class FixedRate:
    """Fires at ``anchor`` and every ``period`` before and after it."""

    period: int
    anchor: int = 0

    def next_after(self, instant: int) -> int | None:
        instant = max(instant, -1)
        return _within(instant + self.period - (instant - self.anchor) % self.period)

    def previous_before(self, instant: int) -> int | None:
        instant = min(instant - 1, LAST_INSTANT)
        return _within(instant - (instant - self.anchor) % self.period)

    def count_between(self, after: int, until: int) -> int:
        after, until = max(after, -1), min(until, LAST_INSTANT)
        return max(0, (until - self.anchor) // self.period - (after - self.anchor) // self.period)


@dataclass(frozen=True, slots=True)
class FixedDelay:
    """Fires ``delay`` after the previous execution ended, which is the instant ``next_after`` is asked about."""

    delay: int

    def next_after(self, instant: int) -> int | None:
        return _within(instant + self.delay)

    def previous_before(self, instant: int) -> int | None:  # noqa: ARG002 - nothing is known of earlier executions
        return None


@dataclass(frozen=True, slots=True)
class Once:
    """Fires once, or never if ``fire`` is None."""

    fire: int | None
    moved: bool = False
    """Whether the clock jumps over the local time that was written."""

    def next_after(self, instant: int) -> int | None:
        return self.fire if self.fire is not None and self.fire > instant else None

    def previous_before(self, instant: int) -> int | None:
        return self.fire if self.fire is not None and self.fire < instant else None


def _within(fire: int) -> int | None:
    return fire if 0 <= fire <= LAST_INSTANT else None


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a job fires. All instants are UTC epoch milliseconds."""

    schedule_type: ScheduleType
    conf: str
    fires: Fires
    timezone: str
    jitter: int
    key: int
    calendar: Calendar | None

    @property
    def repeats_by_clock(self) -> bool:
        """Whether the clock alone decides the next fire; otherwise something else must happen first."""
        return self.schedule_type not in (ScheduleType.NONE, ScheduleType.FIX_DELAY)

    def next_after(self, instant: int) -> int | None:
        """The first fire strictly after ``instant``."""
        return self.fires.next_after(instant)

    def previous_before(self, instant: int) -> int | None:
        """The last fire strictly before ``instant``."""
        return self.fires.previous_before(instant)

    def count_between(self, after: int, until: int, limit: int) -> int:
        """How many fires lie after ``after`` and not after ``until``; counting stops at ``limit``."""
        if isinstance(self.fires, FixedRate):
            return min(limit, self.fires.count_between(after, until))
        count = 0
        fire = self.next_after(after)
        while fire is not None and fire <= until and count < limit:
            count += 1
            fire = self.next_after(fire)
        return count

    def due_at(self, fire: int) -> int:
        """When ``fire`` is to happen: at it or, with a jitter, up to so much later, but before the following fire."""
        if not self.jitter:
            return fire
        following = self.next_after(fire)
        longest = self.jitter if following is None else min(self.jitter, following - fire - 1)
        digest = blake2b(f"{self.key}:{fire}".encode(), digest_size=8).digest()
        return fire + int.from_bytes(digest) % (longest + 1)

    def skip_reason(self, fire: int) -> str | None:
        """Why ``fire`` is to be skipped; None if it is to run."""
        return None if self.calendar is None else self.calendar.refusal(fire, self.timezone)

    def check_future(self, now: int) -> None:
        """Refuse a schedule that the clock will never make fire again, as one does before saving it."""
        if not self.repeats_by_clock or self.next_after(now) is not None:
            return
        last = self.previous_before(now + 1)
        told = {} if last is None else {"at": f"{_EPOCH + timedelta(milliseconds=last):%Y-%m-%d %H:%M}"}
        code = "no_fire_left" if last is None else "no_fire_left_since"
        raise InvalidSchedule.at(code, told, text=self.conf, length=len(self.conf))


def parse_schedule(
    schedule_type: ScheduleType,
    conf: str,
    *,
    timezone: str = "UTC",
    dst: DstPolicy = DstPolicy.AUTO,
    jitter: int = 0,
    key: int = 0,
    calendar: Calendar | None = None,
    anchor: int = 0,
) -> Schedule:
    """The schedule a definition describes; ``InvalidSchedule`` with the place and a way out when it describes none.

    ``key`` (the job's id) and ``jitter`` (milliseconds, at most an hour) spread fires; ``anchor`` moves the fires of a
    fixed rate, which otherwise are the multiples of its period since 1970: it is any of the fires.
    """
    if not 0 <= jitter <= LONGEST_JITTER:
        raise Invalid.of("jitter_outside", jitter=str(jitter), limit=LONGEST_JITTER, field="jitter")
    # One way to name it, so that the same fires are remembered once.
    anchor = anchor % parse_duration(conf) if anchor and schedule_type is ScheduleType.FIX_RATE else 0
    fires = _fires(schedule_type, conf, timezone, dst, anchor)
    return Schedule(schedule_type, conf, fires, timezone, jitter, key, calendar)


@lru_cache(maxsize=_REMEMBERED)  # planning asks with every fire, and thousands of jobs share a few expressions
def _fires(schedule_type: ScheduleType, conf: str, timezone: str, dst: DstPolicy, anchor: int) -> Fires:
    zone = zone_named(timezone)
    match schedule_type:
        case ScheduleType.CRON:
            return Cron.parse(conf, timezone, dst)
        case ScheduleType.FIX_RATE:
            return FixedRate(parse_duration(conf), anchor)
        case ScheduleType.FIX_DELAY:
            return FixedDelay(parse_duration(conf))
        case ScheduleType.AT:
            return Once(parse_instant(conf, zone), is_jumped_over(conf, zone))
        case ScheduleType.NONE:
            return Once(None)


def read_schedule(text: str) -> tuple[ScheduleType, str]:
    """Type and ``schedule_conf`` of a schedule that is written as one text, as in ``@app.job(schedule=…)``.

    ``FIX_RATE 30s``, ``FIX_DELAY 30s`` and ``AT 2030-01-31T06:00`` name their type; other texts are cron.
    """
    name, _, conf = text.strip().partition(" ")
    found = _NAMED_TYPES.get(name.upper())
    return (ScheduleType.CRON, text) if found is None else (found, conf.strip())


def parse_duration(text: str) -> int:
    """A period in milliseconds, from whole seconds (``30``) or a number with a unit (``500ms``, ``1.5s``, ``1d``)."""
    whole = _short(text)
    found = _DURATION.fullmatch(whole.text.lower())
    if not found or (found[2] and not found[3]):
        raise whole.refused("not_a_duration", said=text)
    digits, decimals = found[1], found[2] or ""
    scale: int = 10 ** len(decimals)
    period, remainder = divmod(int(digits + decimals) * _UNITS[found[3] or "s"], scale)
    if remainder:
        raise whole.refused("not_whole_ms", said=text)
    if not SHORTEST_PERIOD <= period <= LONGEST_PERIOD:
        raise whole.refused("period_too_short" if period < SHORTEST_PERIOD else "period_too_long", said=text)
    return period


def parse_instant(text: str, zone: Zone) -> int:
    """An instant from ISO 8601 or epoch milliseconds; a time without offset is read off the wall clock of ``zone``.

    A local time that the clock skips means the first instant after the gap, one that it shows twice the first of both.
    Finer parts than a millisecond are rounded up, for a fire is never early.
    """
    whole = _short(text)
    if re.fullmatch("[0-9]+", text.strip()):
        instant = int(text)
    else:
        found = _INSTANT.fullmatch(whole.whole, whole.start, whole.end)
        if not found:
            raise whole.refused("not_a_point_in_time", said=text)
        instant = _instant_of(found, zone)
    if not 0 <= instant <= LAST_INSTANT:
        raise whole.refused("outside_the_years", said=text, first=FIRST_YEAR, last=LAST_YEAR)
    return instant


def is_jumped_over(text: str, zone: Zone) -> bool:
    """Whether an instant that can be parsed is a local time that the clock of ``zone`` never shows."""
    found = _INSTANT.fullmatch(text.strip())
    if not found or found[8] or found[9]:
        return False
    local, _millis = _local_of(found)
    stretch = zone.owner_of(local)
    return local - stretch.offset < stretch.start


def _instant_of(found: re.Match[str], zone: Zone) -> int:
    local, millis = _local_of(found)
    if found[9]:
        offset = _number(found, 10, "offset hour", 0, 23) * 3600 + _number(found, 11, "offset minute", 0, 59) * 60
        return (local - offset if found[9] == "+" else local + offset) * 1000 + millis
    if found[8]:
        return local * 1000 + millis
    stretch = zone.owner_of(local)
    return max((local - stretch.offset) * 1000 + millis, stretch.start * 1000)


def _local_of(found: re.Match[str]) -> tuple[int, int]:
    """Seconds since 1970 on the clock that was written, and milliseconds."""
    year = _number(found, 1, "year", FIRST_YEAR, LAST_YEAR)
    month = _number(found, 2, "month", 1, 12)
    day = _number(found, 3, "day", 1, monthrange(year, month)[1])
    hour = _number(found, 4, "hour", 0, 23)
    minute = _number(found, 5, "minute", 0, 59)
    second = _number(found, 6, "second", 0, 59)
    millis = -(-int((found[7] or "0").ljust(9, "0")) // 1_000_000)
    return (date(year, month, day) - _EPOCH.date()).days * DAY + hour * 3600 + minute * 60 + second, millis


def _number(found: re.Match[str], group: int, name: str, low: int, high: int) -> int:
    if found[group] is None:
        return 0
    number = int(found[group])
    if not low <= number <= high:
        fragment = Fragment(found.string, *found.span(group))
        raise fragment.refused("no_such_time", part=name, number=number, low=low, high=high)
    return number


def _short(text: str) -> Fragment:
    """``text`` without the blanks around it; refused when it is longer than any duration or instant can be."""
    if len(text) > CONF_LIMIT:
        shown = Fragment(text[:40] + "…", 40, 41)
        raise shown.refused("schedule_too_long", characters=len(text), limit=CONF_LIMIT)
    stripped = text.strip()
    start = text.index(stripped)
    return Fragment(text, start, start + len(stripped))
