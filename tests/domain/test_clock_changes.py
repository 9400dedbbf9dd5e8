"""What a change of the clock does to coming fires. Berlin goes forward on 2026-03-29 and back on 2026-10-25."""

import pytest

from orth.domain.clock_changes import ClockChange, clock_change
from orth.domain.cron.zones import zone_named
from orth.domain.jobs import DstPolicy, ScheduleType
from orth.domain.schedules import Schedule, parse_instant, parse_schedule

BERLIN = "Europe/Berlin"
UTC = zone_named("UTC")


def marks(schedule: Schedule, after: str, count: int) -> list[ClockChange | None]:
    before, found = None, []
    fire = schedule.next_after(parse_instant(after, UTC))
    for _ in range(count):
        assert fire is not None
        found.append(clock_change(schedule, fire, before))
        before, fire = fire, schedule.next_after(fire)
    return found


def cron(text: str, zone: str = BERLIN, dst: DstPolicy = DstPolicy.AUTO) -> Schedule:
    return parse_schedule(ScheduleType.CRON, text, timezone=zone, dst=dst)


def test_a_time_the_clock_jumps_over_is_moved_and_the_next_one_is_not() -> None:
    nightly = cron("0 30 2 * * ?")
    assert marks(nightly, "2026-03-27T12:00:00Z", 3) == [None, ClockChange.MOVED, None]


def test_a_single_fire_is_moved_like_any_other() -> None:
    def once(conf: str) -> Schedule:
        return parse_schedule(ScheduleType.AT, conf, timezone=BERLIN)

    assert marks(once("2026-03-29T02:30:00"), "2026-03-27T12:00:00Z", 1) == [ClockChange.MOVED]
    assert marks(once("2026-03-29T03:00:00"), "2026-03-27T12:00:00Z", 1) == [None]
    assert marks(once("2026-03-29T02:30:00Z"), "2026-03-27T12:00:00Z", 1) == [None]
    assert marks(once("2026-10-25T02:30:00"), "2026-03-27T12:00:00Z", 1) == [ClockChange.FIRST]


def test_a_time_that_really_falls_on_the_end_of_the_gap_is_not_moved() -> None:
    assert marks(cron("0 0 3 * * ?"), "2026-03-28T12:00:00Z", 2) == [None, None]
    assert marks(cron("0 0 3 * * ?"), "2026-03-27T12:00:00Z", 2) == [None, ClockChange.CHANGED]


def test_a_time_that_is_shown_twice_fires_the_first_time() -> None:
    assert marks(cron("0 30 2 * * ?"), "2026-10-24T12:00:00Z", 2) == [ClockChange.FIRST, ClockChange.CHANGED]


def test_a_rhythm_fires_both_times() -> None:
    hourly = cron("0 0 * * * ?")
    expected = [None, ClockChange.FIRST, ClockChange.SECOND, None, None]
    assert marks(hourly, "2026-10-24T22:30:00Z", 5) == expected  # 01:00, 02:00, 02:00, 03:00, 04:00


def test_the_first_fire_after_a_change_says_so() -> None:
    assert marks(cron("0 0 12 * * ?"), "2026-03-27T18:00:00Z", 3) == [None, ClockChange.CHANGED, None]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai"])
def test_where_the_clock_never_changes_nothing_is_special(zone: str) -> None:
    assert set(marks(cron("0 30 2 * * ?", zone), "2026-03-01T00:00:00Z", 300)) == {None}


def test_a_rate_is_never_moved() -> None:
    rate = parse_schedule(ScheduleType.FIX_RATE, "30m", timezone=BERLIN)
    found = marks(rate, "2026-03-29T00:00:00Z", 4)
    assert ClockChange.MOVED not in found
    assert ClockChange.CHANGED in found
