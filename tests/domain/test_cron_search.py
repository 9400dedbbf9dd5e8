"""Fires in zones: worked examples, bounds, and sharing between threads."""

import threading
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from orth.domain.cron import Cron
from orth.domain.jobs import DstPolicy


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
