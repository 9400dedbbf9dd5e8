"""Agreement with cronsim and croniter on the part of the language all three read alike.

Left out, because they differ: W, ``?``, years and wrap-around ranges (not in cronsim); ranges of one value (cronsim
reads ``5-5/2`` as ``5/2``, croniter reads the weekdays ``0-0`` as all); a day field that begins with ``*`` beside a
restricted one (croniter joins them by *or*); zones for croniter (it fires double times twice) and, for cronsim, hours
that begin with ``*`` (it takes them for a rhythm even when they leave hours out).
"""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from croniter import croniter
from cronsim import CronSim
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from orth.domain.cron import Cron
from orth.domain.cron.fields import MONTH_NAMES, WEEKDAY_NAMES
from orth.domain.jobs import DstPolicy

# A busy machine may take its time over one example.
UNHURRIED = settings(deadline=None, max_examples=200)
STARTS = st.integers(800_000_000, 2_800_000_000).map(lambda second: datetime.fromtimestamp(second, UTC))


def values(low: int, high: int, names: tuple[str, ...] = ()) -> st.SearchStrategy[str]:
    """One list item: a value, a name, a range, or a range with a step."""
    number = st.integers(low, high).map(str)
    ordered = st.sets(st.integers(low, high), min_size=2, max_size=2).map(lambda pair: f"{min(pair)}-{max(pair)}")
    stepped = st.tuples(ordered, st.integers(1, min(high, 23))).map(lambda pair: f"{pair[0]}/{pair[1]}")
    return st.one_of(number, ordered, stepped, *([st.sampled_from(names)] if names else []))


def listed(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(items, min_size=1, max_size=3).map(",".join)


def starred(high: int) -> st.SearchStrategy[str]:
    return st.one_of(st.just("*"), st.integers(1, high).map(lambda step: f"*/{step}"))


MINUTES = st.one_of(starred(59), listed(values(0, 59)))
HOURS = st.one_of(starred(23), listed(values(0, 23)))
DAYS = listed(values(1, 31))
MONTHS = st.one_of(starred(12), listed(values(1, 12, MONTH_NAMES)))
WEEKDAYS = listed(values(0, 6, WEEKDAY_NAMES))
SPECIAL_DAYS = st.one_of(DAYS, st.just("L"), st.just("LW"), st.just("15,L"))
SPECIAL_WEEKDAYS = st.one_of(
    WEEKDAYS,
    st.tuples(st.integers(0, 7), st.integers(1, 5)).map(lambda pair: f"{pair[0]}#{pair[1]}"),
    st.integers(0, 7).map(lambda weekday: f"{weekday}L"),
)


def ours(cron: Cron, start: datetime, count: int) -> list[datetime]:
    fires = cron.next_n(round(start.timestamp() * 1000), count)
    return [datetime.fromtimestamp(fire / 1000, UTC) for fire in fires]


def ours_before(cron: Cron, start: datetime, count: int) -> list[datetime]:
    found, instant = [], round(start.timestamp() * 1000)
    for _ in range(count):
        previous = cron.previous_before(instant)
        assert previous is not None
        found.append(datetime.fromtimestamp(previous / 1000, UTC))
        instant = previous
    return found


def may_fire(days: str) -> bool:
    """Whether every month has such a day: expressions that never fire are refused here and endless elsewhere."""
    firsts = [re.split("[-/]", part)[0] for part in days.split(",")]
    return any(first in ("*", "L", "LW") or int(first) < 29 for first in firsts)


@UNHURRIED
@given(MINUTES, HOURS, st.one_of(starred(31), SPECIAL_DAYS), MONTHS, st.one_of(starred(7), SPECIAL_WEEKDAYS), STARTS)
def test_unix_expressions_fire_when_cronsim_says(
    minutes: str, hours: str, days: str, months: str, weekdays: str, start: datetime
) -> None:
    assume(may_fire(days))
    # A star with a step beside a restricted field means both must fit; a rare other one may then never come.
    steps = [field for field in (days, weekdays) if field.startswith("*/")]
    assume(not steps or "*" in (days, weekdays) or (steps == [days] and days <= "*/3" and weekdays.isdigit()))
    text = f"{minutes} {hours} {days} {months} {weekdays}"
    cron = Cron.parse(text)
    forward = CronSim(text, start)
    assert ours(cron, start, 4) == [next(forward) for _ in range(4)]
    backward = CronSim(text, start, reverse=True)
    assert ours_before(cron, start, 3) == [next(backward) for _ in range(3)]


@UNHURRIED
@given(listed(values(0, 59)), MINUTES, HOURS, DAYS, MONTHS, STARTS)
def test_seconds_fire_when_cronsim_says(
    seconds: str, minutes: str, hours: str, days: str, months: str, start: datetime
) -> None:
    assume(may_fire(days))
    forward = CronSim(f"{seconds} {minutes} {hours} {days} {months} *", start)
    cron = Cron.parse(f"{seconds} {minutes} {hours} {days} {months} ?")
    assert ours(cron, start, 5) == [next(forward) for _ in range(5)]


@UNHURRIED
@given(MINUTES, HOURS, st.one_of(st.just("*"), DAYS), MONTHS, st.one_of(st.just("*"), WEEKDAYS), STARTS)
def test_unix_expressions_fire_when_croniter_says(
    minutes: str, hours: str, days: str, months: str, weekdays: str, start: datetime
) -> None:
    assume(may_fire(days))
    text = f"{minutes} {hours} {days} {months} {weekdays}"
    cron = Cron.parse(text)
    theirs = croniter(text, start, ret_type=datetime)
    assert ours(cron, start, 4) == [theirs.get_next() for _ in range(4)]


ZONES = [
    ("Europe/Berlin", datetime(2026, 3, 29, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 25, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 3, 8, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 11, 1, tzinfo=UTC)),
    ("America/Sao_Paulo", datetime(2018, 11, 4, tzinfo=UTC)),
    ("Africa/Cairo", datetime(2026, 4, 24, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 5, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 4, tzinfo=UTC)),
    ("Asia/Tokyo", datetime(2026, 5, 5, tzinfo=UTC)),
]


@UNHURRIED
@given(listed(values(0, 59)), listed(values(0, 23)), st.sampled_from(ZONES), st.integers(0, 36 * 60))
def test_fixed_times_fire_around_clock_changes_when_cronsim_says(
    minutes: str, hours: str, change: tuple[str, datetime], back: int
) -> None:
    zone, moment = change
    start = (moment - timedelta(minutes=back)).astimezone(ZoneInfo(zone))
    text = f"{minutes} {hours} * * *"
    theirs = CronSim(text, start)
    fires = ours(Cron.parse(text, zone, DstPolicy.WALL), start, 60)
    assert fires == [next(theirs).astimezone(UTC) for _ in range(60)]
