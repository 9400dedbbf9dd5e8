"""Fires in zones: worked examples, and a second evaluator that enumerates by the definition.

The evaluator knows nothing of stretches. It asks ``zoneinfo`` about one local time after another (PEP 495): a time that
exists fires at its first occurrence; one that does not fires at the first instant whose local time is later.
"""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orth.domain.cron import Cron
from orth.domain.jobs import DstPolicy

MINUTE = timedelta(minutes=1)


def ms(text: str, zone: str = "UTC") -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


def shown(fires: list[int], zone: str) -> list[str]:
    return [datetime.fromtimestamp(fire / 1000, ZoneInfo(zone)).isoformat(" ", "minutes") for fire in fires]


@pytest.mark.parametrize(
    ("text", "zone", "start", "fires"),
    [
        # Berlin: 02:00-03:00 does not exist on 29 March 2026 and exists twice on 25 October 2026.
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-03-28T12:00",
            ["2026-03-29 03:00+02:00", "2026-03-30 02:30+02:00"],
        ),
        (
            "*/10 2 * * *",
            "Europe/Berlin",
            "2026-03-28T12:00",
            ["2026-03-29 03:00+02:00", "2026-03-30 02:00+02:00"],
        ),
        (
            "0,30 2,3 * * *",
            "Europe/Berlin",
            "2026-03-28T12:00",
            ["2026-03-29 03:00+02:00", "2026-03-29 03:30+02:00", "2026-03-30 02:00+02:00"],
        ),
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-24T12:00",
            ["2026-10-25 02:30+02:00", "2026-10-26 02:30+01:00"],
        ),
        (
            "0 */2 * * *",
            "Europe/Berlin",
            "2026-10-25T00:30",
            ["2026-10-25 02:00+02:00", "2026-10-25 04:00+01:00"],
        ),
        (
            "30 * * * *",
            "Europe/Berlin",
            "2026-03-29T00:45",
            ["2026-03-29 01:30+01:00", "2026-03-29 03:30+02:00"],
        ),
        (
            "30 * * * *",
            "Europe/Berlin",
            "2026-10-25T01:45",
            ["2026-10-25 02:30+02:00", "2026-10-25 02:30+01:00", "2026-10-25 03:30+01:00"],
        ),
        # Half an hour: 02:00-02:30 is missing on 4 October 2026, 01:30-02:00 comes twice on 5 April 2026.
        (
            "15 2 * * *",
            "Australia/Lord_Howe",
            "2026-10-03T12:00",
            ["2026-10-04 02:30+11:00", "2026-10-05 02:15+11:00"],
        ),
        (
            "45 1 * * *",
            "Australia/Lord_Howe",
            "2026-04-04T12:00",
            ["2026-04-05 01:45+11:00", "2026-04-06 01:45+10:30"],
        ),
        (
            "*/15 * * * *",
            "Australia/Lord_Howe",
            "2026-04-05T01:30",
            ["2026-04-05 01:45+11:00", "2026-04-05 01:30+10:30", "2026-04-05 01:45+10:30", "2026-04-05 02:00+10:30"],
        ),
        # Gaps at midnight: the day begins at 01:00.
        (
            "0 0 * * *",
            "America/Sao_Paulo",
            "2018-11-03T12:00",
            ["2018-11-04 01:00-02:00", "2018-11-05 00:00-02:00"],
        ),
        (
            "30 0 * * *",
            "Africa/Cairo",
            "2026-04-23T12:00",
            ["2026-04-24 01:00+03:00", "2026-04-25 00:30+03:00"],
        ),
        (
            "0 0 29 3 *",
            "Asia/Beirut",
            "2026-01-01T00:00",
            ["2026-03-29 01:00+03:00", "2027-03-29 00:00+03:00"],
        ),
        (
            "59 23 * * *",
            "Asia/Beirut",
            "2026-03-28T12:00",
            ["2026-03-28 23:59+02:00", "2026-03-29 23:59+03:00"],
        ),
        # A whole day that does not exist: all its fires are one, together with midnight after it.
        (
            "0 0,6,12 * * *",
            "Pacific/Apia",
            "2011-12-29T01:00",
            ["2011-12-29 06:00-10:00", "2011-12-29 12:00-10:00", "2011-12-31 00:00+14:00", "2011-12-31 06:00+14:00"],
        ),
        ("0 12 30 12 *", "Pacific/Apia", "2011-01-01T00:00", ["2011-12-31 00:00+14:00", "2012-12-30 12:00+14:00"]),
        # Kwajalein went over the date line too, and an offset changed by two hours at Troll.
        ("0 9 21 8 *", "Pacific/Kwajalein", "1993-01-01T00:00", ["1993-08-22 00:00+12:00", "1994-08-21 09:00+12:00"]),
        ("30 1 * * *", "Antarctica/Troll", "2026-03-28T12:00", ["2026-03-29 03:00+02:00", "2026-03-30 01:30+02:00"]),
        # Ramadan turns Morocco's clock back and forward within weeks.
        ("30 2 * * *", "Africa/Casablanca", "2026-02-14T12:00", ["2026-02-15 02:30+01:00", "2026-02-16 02:30+00:00"]),
        ("30 2 * * *", "Africa/Casablanca", "2026-03-21T12:00", ["2026-03-22 03:00+01:00", "2026-03-23 02:30+01:00"]),
    ],
)
def test_clock_changes(text: str, zone: str, start: str, fires: list[str]) -> None:
    cron = Cron.parse(text, zone)
    found = cron.next_n(ms(start, zone), len(fires))
    assert shown(found, zone) == fires
    back, instant = [], found[-1] + 1
    for _ in fires:
        previous = cron.previous_before(instant)
        assert previous is not None
        back.append(previous)
        instant = previous
    assert back == found[::-1]


def test_the_policy_can_be_chosen() -> None:
    start = ms("2026-10-25T01:45", "Europe/Berlin")
    every_hour, once = "30 * * * *", "30 2 * * *"
    wall = Cron.parse(every_hour, "Europe/Berlin", DstPolicy.WALL)
    assert shown(wall.next_n(start, 2), "Europe/Berlin") == ["2026-10-25 02:30+02:00", "2026-10-25 03:30+01:00"]
    rhythm = Cron.parse(once, "Europe/Berlin", DstPolicy.RHYTHM)
    assert shown(rhythm.next_n(start, 2), "Europe/Berlin") == ["2026-10-25 02:30+02:00", "2026-10-25 02:30+01:00"]
    spring = ms("2026-03-28T12:00", "Europe/Berlin")
    assert shown(rhythm.next_n(spring, 1), "Europe/Berlin") == ["2026-03-30 02:30+02:00"]
    gap = Cron.parse(every_hour, "Europe/Berlin", DstPolicy.WALL).next_n(ms("2026-03-29T01:45", "Europe/Berlin"), 2)
    assert shown(gap, "Europe/Berlin") == ["2026-03-29 03:00+02:00", "2026-03-29 03:30+02:00"]


@pytest.mark.parametrize(
    ("text", "rhythm"),
    [
        ("* * * * *", True),
        ("0 */1 * * *", True),
        ("0 0-23 * * *", True),
        ("0 0 12-11 * * ?", True),
        ("0 0-22 * * *", False),
        ("0 */2 * * *", False),
        ("@hourly", True),
        ("@daily", False),
    ],
)
def test_an_expression_that_admits_every_hour_is_a_rhythm(text: str, rhythm: bool) -> None:
    assert Cron.parse(text, "Europe/Berlin").rhythm is rhythm


def test_fires_are_strictly_after_and_strictly_before() -> None:
    noon = ms("2026-06-01T12:00")
    cron = Cron.parse("0 12 * * *")
    assert cron.next_after(noon - 1) == noon
    assert cron.next_after(noon) == noon + 86_400_000
    assert cron.next_after(noon + 1) == noon + 86_400_000
    assert cron.previous_before(noon + 1) == noon
    assert cron.previous_before(noon) == noon - 86_400_000
    assert cron.matches(noon)
    assert not cron.matches(noon + 1)
    assert not cron.matches(noon - 1000)


def test_the_search_ends_at_its_bounds() -> None:
    cron = Cron.parse("0 0 0 1 1 ? 2030")
    fire = ms("2030-01-01T00:00")
    assert cron.next_after(-(10**18)) == fire
    assert cron.next_after(fire) is None
    assert cron.next_after(10**18) is None
    assert cron.previous_before(10**18) == fire
    assert cron.previous_before(fire) is None
    assert cron.previous_before(-(10**18)) is None
    assert cron.next_n(0, 5) == [fire]
    for zone in ("Pacific/Kiritimati", "Pacific/Midway"):
        every = Cron.parse("* * * * *", zone)
        last = every.previous_before(10**18)
        assert last is not None
        assert shown([last], zone)[0].startswith("2199-12-31 23:59")
        assert every.next_after(last) is None
        first = every.next_after(-(10**18))
        assert first is not None
        assert shown([first], zone)[0].startswith("1970-01-01 00:00")
        assert every.previous_before(first) is None


def test_a_rhythm_that_only_ever_meets_gaps_ends_too() -> None:
    # The last Sunday of March at 02:30 has not existed in Berlin since 1981.
    cron = Cron.parse("0 30 2 ? 3 1L", "Europe/Berlin", DstPolicy.RHYTHM)
    assert cron.next_after(ms("2026-01-01T00:00")) is None
    last = cron.previous_before(ms("2026-01-01T00:00"))
    assert last is not None
    assert shown([last], "Europe/Berlin") == ["1980-03-30 02:30+01:00"]


def test_a_cron_may_be_shared_between_threads() -> None:
    shared = Cron.parse("*/7 3-5 * * *", "Europe/Berlin")
    starts = [ms("2026-03-01T00:00") + n * 86_400_000 * 11 for n in range(4)]
    wanted = [Cron.parse("*/7 3-5 * * *", "Europe/Berlin").next_n(start, 3000) for start in starts]
    found: dict[int, list[int]] = {}
    threads = [
        threading.Thread(target=lambda n=n: found.update({n: shared.next_n(starts[n], 3000)}))
        for n in range(len(starts))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[n] for n in range(len(starts))] == wanted


# --- the second evaluator -------------------------------------------------------------------------------------------

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
