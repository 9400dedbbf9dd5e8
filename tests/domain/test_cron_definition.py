"""Fires held against a second evaluator that enumerates by the definition.

The evaluator knows nothing of stretches. It asks ``zoneinfo`` about one local time after another (PEP 495): a time that
exists fires at its first occurrence; one that does not fires at the first instant whose local time is later.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orth.domain.cron import Cron
from orth.domain.jobs import DstPolicy

MINUTE = timedelta(minutes=1)

Admits = Callable[[datetime], bool]


def local_of(instant: datetime, zone: ZoneInfo) -> datetime:
    return instant.astimezone(zone).replace(tzinfo=None)


def wall_fire(local: datetime, zone: ZoneInfo, step: timedelta) -> datetime:
    """When a local time fires under the wall policy."""
    first = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if local_of(first, zone) == local:
        return first
    instant = local.replace(tzinfo=zone, fold=1).astimezone(UTC)  # in a gap this lies before the change
    while local_of(instant, zone) <= local:
        instant += step
    return instant


def enumerated(
    admits: Admits, zone: ZoneInfo, start: datetime, end: datetime, step: timedelta, rhythm: bool
) -> list[int]:
    """All fires in [start, end), by looking at every step of the clock."""
    fires = set()
    if rhythm:
        instant = start
        while instant < end:
            if admits(local_of(instant, zone)):
                fires.add(instant)
            instant += step
    else:
        margin = timedelta(hours=30)  # a skipped day moves a fire by as much
        local = local_of(start, zone) - margin
        while local < local_of(end, zone) + margin:
            if admits(local):
                fires.add(wall_fire(local, zone, step))
            local += step
    return sorted(round(fire.timestamp() * 1000) for fire in fires if start <= fire < end)


def walked(cron: Cron, start: datetime, end: datetime) -> tuple[list[int], list[int]]:
    """All fires in [start, end) as found forwards, and as found backwards."""
    low, high = round(start.timestamp() * 1000), round(end.timestamp() * 1000)
    ahead, fire = [], cron.next_after(low - 1)
    while fire is not None and fire < high:
        ahead.append(fire)
        fire = cron.next_after(fire)
    behind, fire = [], cron.previous_before(high)
    while fire is not None and fire >= low:
        behind.append(fire)
        fire = cron.previous_before(fire)
    return ahead, behind[::-1]


CHANGES = [
    ("Europe/Berlin", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("Europe/Dublin", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 3, 8, 7, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 11, 1, 6, tzinfo=UTC)),
    ("America/Sao_Paulo", datetime(2018, 11, 4, 3, tzinfo=UTC)),
    ("America/Sao_Paulo", datetime(2019, 2, 17, 2, tzinfo=UTC)),
    ("America/St_Johns", datetime(2011, 3, 13, 3, 31, tzinfo=UTC)),
    ("America/Caracas", datetime(2007, 12, 9, 7, tzinfo=UTC)),
    ("Africa/Cairo", datetime(2026, 4, 23, 22, tzinfo=UTC)),
    ("Africa/Cairo", datetime(2026, 10, 29, 21, tzinfo=UTC)),
    ("Africa/Casablanca", datetime(2026, 2, 15, 2, tzinfo=UTC)),
    ("Africa/Casablanca", datetime(2026, 3, 22, 2, tzinfo=UTC)),
    ("Asia/Beirut", datetime(2026, 3, 28, 22, tzinfo=UTC)),
    ("Asia/Beirut", datetime(2026, 10, 24, 21, tzinfo=UTC)),
    ("Asia/Kathmandu", datetime(1985, 12, 31, 18, 30, tzinfo=UTC)),
    ("Asia/Pyongyang", datetime(2015, 8, 14, 15, tzinfo=UTC)),
    ("Antarctica/Troll", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Antarctica/Vostok", datetime(2023, 12, 17, 19, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 4, 15, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, 15, 30, tzinfo=UTC)),
    ("Pacific/Apia", datetime(2011, 12, 30, 10, tzinfo=UTC)),
    ("Pacific/Kwajalein", datetime(1993, 8, 21, 12, tzinfo=UTC)),
    ("Pacific/Chatham", datetime(2026, 4, 4, 14, tzinfo=UTC)),
    ("Asia/Kolkata", datetime(2026, 1, 1, tzinfo=UTC)),
]


Unit = tuple[str, frozenset[int]]


@st.composite
def unit(draw: st.DrawFn, high: int, kinds: tuple[str, ...] = ("*", "step", "list", "range")) -> Unit:
    """One field of minutes or hours: its text and its values."""
    kind = draw(st.sampled_from(kinds))
    if kind == "*":
        return "*", frozenset(range(high + 1))
    if kind == "step":
        step = draw(st.integers(1, high))
        return f"*/{step}", frozenset(range(0, high + 1, step))
    if kind == "range":
        first = draw(st.integers(0, high))
        last = draw(st.integers(first, high))
        return f"{first}-{last}", frozenset(range(first, last + 1))
    listed = draw(st.frozensets(st.integers(0, high), min_size=1, max_size=4))
    return ",".join(map(str, sorted(listed))), listed


@settings(max_examples=150, deadline=None)
@given(
    change=st.sampled_from(CHANGES),
    minutes=unit(59),
    hours=st.one_of(unit(23), unit(3, ("list", "range"))),  # the early hours are where clocks change
    weekday=st.sampled_from(["*", "0", "1", "6", "5-6", "0,3"]),
    dst=st.sampled_from(DstPolicy),
)
def test_all_fires_around_a_clock_change_are_those_of_the_definition(
    change: tuple[str, datetime],
    minutes: Unit,
    hours: Unit,
    weekday: str,
    dst: DstPolicy,
) -> None:
    zone, moment = change
    start, end = moment - timedelta(hours=30), moment + timedelta(hours=30)
    cron = Cron.parse(f"{minutes[0]} {hours[0]} * * {weekday}", zone, dst)
    weekdays = {"*": range(7), "0": [0], "1": [1], "6": [6], "5-6": [5, 6], "0,3": [0, 3]}[weekday]

    def admits(local: datetime) -> bool:
        return local.minute in minutes[1] and local.hour in hours[1] and local.isoweekday() % 7 in weekdays

    rhythm = dst is DstPolicy.RHYTHM or (dst is DstPolicy.AUTO and len(hours[1]) == 24)
    wanted = enumerated(admits, ZoneInfo(zone), start, end, MINUTE, rhythm)
    ahead, behind = walked(cron, start, end)
    assert ahead == wanted
    assert behind == wanted


@pytest.mark.parametrize("dst", [DstPolicy.WALL, DstPolicy.RHYTHM])
@pytest.mark.parametrize("text", ["*/20 * * * * ?", "15 */10 0 * * ?", "0/7 44-46 23,0 * * ?"])
def test_a_gap_of_odd_seconds(text: str, dst: DstPolicy) -> None:
    # Liberia's clock was 44 minutes and 30 seconds behind until 7 January 1972.
    moment = datetime(1972, 1, 7, 0, 44, 30, tzinfo=UTC)
    start, end = moment - timedelta(hours=2), moment + timedelta(hours=2)
    fields = Cron.parse(text).expression.times

    def admits(local: datetime) -> bool:
        return local.second in fields.seconds and local.minute in fields.minutes and local.hour in fields.hours

    zone = "Africa/Monrovia"
    wanted = enumerated(admits, ZoneInfo(zone), start, end, timedelta(seconds=1), dst is DstPolicy.RHYTHM)
    assert wanted
    assert walked(Cron.parse(text, zone, dst), start, end) == (wanted, wanted)


ZONES = sorted({zone for zone, _ in CHANGES} | {"UTC"})


@settings(max_examples=200, deadline=None)
@given(
    zone=st.sampled_from(ZONES),
    minutes=unit(59),
    hours=unit(23),
    days=st.sampled_from(
        ["* * ?", "L * ?", "15W * ?", "LW 2,6 ?", "? * 6#3", "? * 2L", "29 2 ?", "? 2 2#5", "1 1 ? 2030"]
    ),
    dst=st.sampled_from(DstPolicy),
    instant=st.integers(-(10**9), 7_000_000_000_000),
)
def test_next_and_previous_walk_through_one_set(
    zone: str,
    minutes: Unit,
    hours: Unit,
    days: str,
    dst: DstPolicy,
    instant: int,
) -> None:
    text = f"17 {minutes[0]} {hours[0]} {days}"
    cron = Cron.parse(text, zone, dst)
    after, before = cron.next_after(instant), cron.previous_before(instant)
    if after is not None:
        assert after > instant
        assert cron.matches(after)
        # Nothing lies between: from the fire one comes back to ``instant`` or behind it.
        assert cron.previous_before(after + 1) == after
        assert (cron.previous_before(after) or -(10**12)) <= instant
    if before is not None:
        assert before < instant
        assert cron.matches(before)
        assert cron.next_after(before - 1) == before
        following = cron.next_after(before)
        assert following is None or following >= instant
    # What a search remembers never changes what another finds.
    assert Cron.parse(text, zone, dst).next_after(instant) == after
    assert Cron.parse(text, zone, dst).previous_before(instant) == before
