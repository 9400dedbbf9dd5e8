"""Around every gap of every zone: wherever a search begins, it meets the one set of fires.

The set comes from a second evaluator that enumerates by the definition (``test_cron_definition``), a second at a time
where the clock jumps; references lie within seconds of the jump, at every millisecond, and within hours of it.
"""

from bisect import bisect_left, bisect_right
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from hypothesis import given, settings
from hypothesis import strategies as st

from orth.domain.cron import Cron
from orth.domain.cron.zones import Zone
from orth.domain.jobs import DstPolicy, ScheduleType
from orth.domain.schedules import parse_schedule

SECOND = timedelta(seconds=1)
NEAR = timedelta(hours=30)  # the largest gap is a day
FROM, UNTIL = 0, int(datetime(2030, 1, 1, tzinfo=UTC).timestamp())


@cache
def gaps_of(name: str) -> tuple[tuple[int, int], ...]:
    """The first second after each gap of a zone, and how much the clock jumped."""
    zone = Zone(name)
    found = []
    before = zone.stretch_at(FROM)
    while before.end < UNTIL:
        after = zone.stretch_at(before.end)
        if after.offset > before.offset:
            found.append((after.start, after.offset - before.offset))
        before = after
    return tuple(found)


@cache
def zones() -> tuple[str, ...]:
    return tuple(name for name in sorted(available_timezones() - {"localtime", "Factory"}) if gaps_of(name))


def ms(instant: datetime) -> int:
    return round(instant.timestamp() * 1000)


def wall_fires(times: list[timedelta], zone: ZoneInfo, moment: datetime) -> list[int]:
    """Every instant within ``NEAR`` of ``moment`` at which one of these times of day fires under the wall policy."""
    fires = set()
    day = (moment.astimezone(zone) - NEAR - timedelta(days=1)).date()
    midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - a local time, on purpose
    for _ in range(6):
        fires |= {_fire(midnight + time, zone) for time in times}
        midnight += timedelta(days=1)
    return sorted(ms(fire) for fire in fires if moment - NEAR <= fire < moment + NEAR)


def _fire(local: datetime, zone: ZoneInfo) -> datetime:
    first = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if _shown(first, zone) == local:
        return first
    low = local.replace(tzinfo=zone, fold=1).astimezone(UTC)  # in a gap: before the change
    high = first
    while high - low > SECOND:  # the first instant that shows a later time
        middle = low + SECOND * ((high - low) // SECOND // 2)
        low, high = (low, middle) if _shown(middle, zone) > local else (middle, high)
    return high


def _shown(instant: datetime, zone: ZoneInfo) -> datetime:
    return instant.astimezone(zone).replace(tzinfo=None)


def rhythm_fires(times: list[timedelta], zone: ZoneInfo, moment: datetime) -> list[int]:
    fires = set()
    day = (moment.astimezone(zone) - NEAR - timedelta(days=1)).date()
    midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - a local time, on purpose
    for _ in range(6):
        for local in (midnight + time for time in times):
            both = [local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
            fires |= {instant for instant in both if _shown(instant, zone) == local}
        midnight += timedelta(days=1)
    return sorted(ms(fire) for fire in fires if moment - NEAR <= fire < moment + NEAR)


@st.composite
def gaps(draw: st.DrawFn) -> tuple[str, datetime, int]:
    name = draw(st.sampled_from(zones()))
    start, jumped = draw(st.sampled_from(gaps_of(name)))
    return name, datetime.fromtimestamp(start, UTC), jumped


@st.composite
def times_near(draw: st.DrawFn, shown: datetime, jumped: int) -> tuple[list[int], list[int], list[int]]:
    """Seconds, minutes and hours, with a liking for the times in and beside the gap."""
    distance = st.sampled_from([-3600, -60, -1, 0, 1, 60, 3600]) | st.integers(-jumped - 5, 5)
    near = [shown + timedelta(seconds=draw(distance)) for _ in range(draw(st.integers(1, 3)))]
    return (
        sorted({one.second for one in near}),
        sorted({one.minute for one in near}),
        sorted({one.hour for one in near}),
    )


NEARBY = st.integers(-2_001, 2_001) | st.integers(-20 * 3_600_000, 20 * 3_600_000)


@settings(max_examples=400, deadline=None)
@given(st.data(), gaps(), st.sampled_from([DstPolicy.WALL, DstPolicy.RHYTHM]))
def test_every_search_near_a_gap_meets_the_same_fires(
    data: st.DataObject, gap: tuple[str, datetime, int], dst: DstPolicy
) -> None:
    name, moment, jumped = gap
    zone = ZoneInfo(name)
    seconds, minutes, hours = data.draw(times_near(_shown(moment, zone), jumped))
    text = f"{','.join(map(str, seconds))} {','.join(map(str, minutes))} {','.join(map(str, hours))} * * ?"
    times = [timedelta(hours=h, minutes=m, seconds=s) for h in hours for m in minutes for s in seconds]
    fires = (wall_fires if dst is DstPolicy.WALL else rhythm_fires)(times, zone, moment)
    schedule = parse_schedule(ScheduleType.CRON, text, timezone=name, dst=dst)
    distances = data.draw(st.lists(NEARBY, min_size=1, max_size=20))
    references = sorted({ms(moment) + distance for distance in distances} | {one - 1 for one in fires} | set(fires))
    for reference in references:
        after, before = bisect_right(fires, reference), bisect_left(fires, reference)
        if after < len(fires):
            assert schedule.next_after(reference) == fires[after], (text, reference)
        if before:
            assert schedule.previous_before(reference) == fires[before - 1], (text, reference)
        # What an earlier search remembered makes no difference.
        assert Cron.parse(text, name, dst).next_after(reference) == schedule.next_after(reference)


def test_what_a_gap_swallowed_is_found_from_every_moment_before_it() -> None:
    assert len(zones()) > 300
    for name, start, jumped in [(zone, *gap) for zone in zones() for gap in gaps_of(zone)]:
        end = start * 1000
        swallowed = _shown(datetime.fromtimestamp(start, UTC), ZoneInfo(name)) - timedelta(seconds=(jumped + 1) // 2)
        cron = Cron.parse(f"{swallowed:%S %M %H} * * ?", name, DstPolicy.WALL)
        for back in (3_600_000, 1_001, 1_000, 999, 1):
            assert cron.next_after(end - back) == end, (name, end, back)
        assert cron.next_after(end) != end
        assert [cron.previous_before(end + ahead) for ahead in (1, 999, 1_000, 1_001)] == [end] * 4
        assert cron.next_after(end - 1) == end, "whatever was asked meanwhile"
