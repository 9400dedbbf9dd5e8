"""Zones: names, and stretches held against the zone files themselves."""

import importlib.resources
import struct
import zoneinfo
from datetime import UTC, datetime
from pathlib import Path

import pytest

from orth.domain.cron.zones import ABBREVIATIONS, DAY, Zone, fixed_zone, zone_named, zone_names
from orth.errors import InvalidSchedule

END_OF_TABLES = int(datetime(2199, 1, 1, tzinfo=UTC).timestamp())


def zone_file(name: str) -> bytes:
    for folder in zoneinfo.TZPATH:
        path = Path(folder, name)
        if path.is_file():
            return path.read_bytes()
    return importlib.resources.files("tzdata").joinpath("zoneinfo", name).read_bytes()


def changes_in_file(data: bytes) -> list[tuple[int, int, int]]:
    """Second, offset before and offset after of every change in the 64-bit part of a TZif file (RFC 8536)."""

    def counts(at: int) -> tuple[int, ...]:
        assert data[at : at + 4] == b"TZif"
        return struct.unpack_from(">6l", data, at + 20)

    isut, isstd, leap, times, types, chars = counts(0)
    second = 44 + times * 5 + types * 6 + chars + leap * 8 + isstd + isut
    _, _, _, times, types, _ = counts(second)
    at = second + 44
    seconds = struct.unpack_from(f">{times}q", data, at)
    kinds = struct.unpack_from(f">{times}B", data, at + times * 8)
    offsets = [struct.unpack_from(">l", data, at + times * 9 + kind * 6)[0] for kind in range(types)]
    before = offsets[0]
    found = []
    for moment, kind in zip(seconds, kinds, strict=True):
        if offsets[kind] != before:
            found.append((moment, before, offsets[kind]))
        before = offsets[kind]
    return found


def test_every_change_of_every_zone_since_1970_is_found() -> None:
    files = {zone_file(name): name for name in sorted(zoneinfo.available_timezones() - {"localtime", "Factory"})}
    assert len(files) > 300
    checked = 0
    for data, name in files.items():
        zone = Zone(name)
        for second, before, after in changes_in_file(data):
            if 0 < second < END_OF_TABLES:
                stretch = zone.stretch_at(second)
                assert (stretch.start, stretch.offset) == (second, after), name
                assert zone.stretch_at(second - 1).offset == before, name
                assert zone.stretch_at(second - 1).end == second, name
                checked += 1
    assert checked > 10_000


@pytest.mark.parametrize(
    "name",
    [
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "Africa/Casablanca",
        "Pacific/Apia",
        "Asia/Gaza",
        "UTC",
    ],
)
def test_stretches_follow_each_other_and_share_out_all_local_times(name: str) -> None:
    zone = Zone(name)
    info = zoneinfo.ZoneInfo(name)
    stretch = zone.stretch_at(0)
    while stretch.end < END_OF_TABLES:
        following = zone.stretch_at(stretch.end)
        assert following.start == stretch.end
        assert following.floor == stretch.ceiling
        assert following.floor <= following.ceiling
        offset = datetime.fromtimestamp(following.start, info).utcoffset()
        assert offset is not None
        assert following.offset == offset.total_seconds()
        stretch = following


def test_the_owner_of_a_local_time_is_where_the_clock_first_gets_that_far() -> None:
    berlin = zone_named("Europe/Berlin")
    spring = int(datetime(2026, 3, 29, 1, tzinfo=UTC).timestamp())
    autumn = int(datetime(2026, 10, 25, 1, tzinfo=UTC).timestamp())
    half_past_two = spring + 3600 + 1800  # of the night in which it does not exist
    assert berlin.owner_of(half_past_two).reach(half_past_two) == spring
    twice = autumn + 3600 + 1800
    assert berlin.owner_of(twice).reach(twice) == twice - 7200
    assert berlin.local(autumn) == autumn + 3600
    assert berlin.local(autumn - 1) == autumn - 1 + 7200


def test_samoa_has_no_30_december_2011() -> None:
    apia = zone_named("Pacific/Apia")
    skipped = int(datetime(2011, 12, 30, 12, tzinfo=UTC).timestamp())
    change = int(datetime(2011, 12, 30, 10, tzinfo=UTC).timestamp())
    assert apia.owner_of(skipped).reach(skipped) == change
    assert apia.local(change) - apia.local(change - 1) == DAY + 1


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("europe/berlin", "Did you mean Europe/Berlin?"),
        ("Berlin", "Did you mean Europe/Berlin?"),
        ("Europe/Berlim", "Did you mean Europe/Berlin?"),
        ("America/NewYork", "Did you mean America/New_York?"),
        ("utc", "Did you mean UTC?"),
        ("../../etc/passwd", "such as UTC or Europe/Berlin"),
        ("/etc/localtime", "such as UTC or Europe/Berlin"),
        ("Europe/../Europe/Berlin", "such as UTC or Europe/Berlin"),
        ("localtime", "such as UTC or Europe/Berlin"),
        ("Factory", "such as UTC or Europe/Berlin"),
        ("posix/Europe/Berlin", "Europe/Berlin"),
        ("", "such as UTC or Europe/Berlin"),
        ("Europe/Berlin\n", "such as UTC or Europe/Berlin"),
        ("Europe/Berlin\0", "such as UTC or Europe/Berlin"),
        ("+02:00", "this offset: Etc/GMT-2."),
        ("+08:00", "this offset: Asia/Shanghai, Etc/GMT-8."),
        ("-0500", "this offset: Etc/GMT+5."),
        ("+8", "this offset: Asia/Shanghai, Etc/GMT-8."),
        ("+00:00", "Did you mean UTC?"),
        ("+05:30", "such as UTC or Europe/Berlin"),
        ("8", "such as UTC or Europe/Berlin"),
        ("CST", "may mean: Asia/Shanghai, America/Chicago."),
        ("cst", "may mean: Asia/Shanghai, America/Chicago."),
        ("PST", "may mean: America/Los_Angeles."),
        ("IST", "may mean: Asia/Kolkata, "),
        ("Mars/Olympus_Mons", "such as UTC or Europe/Berlin"),
        ("GMT+8", "this offset: Asia/Shanghai, Etc/GMT-8."),
        ("gmt+8", "this offset: Asia/Shanghai, Etc/GMT-8."),
        ("GMT+08", "this offset: Asia/Shanghai, Etc/GMT-8."),
        ("GMT+08:00", "this offset: Asia/Shanghai, Etc/GMT-8."),
        ("GMT+0800", "this offset: Asia/Shanghai, Etc/GMT-8."),
        ("GMT+800", "this offset: Asia/Shanghai, Etc/GMT-8."),
        ("UTC+8", "this offset: Asia/Shanghai, Etc/GMT-8."),
        ("UTC+8:00", "this offset: Asia/Shanghai, Etc/GMT-8."),
        ("GMT-8", "this offset: Etc/GMT+8."),
        ("UTC-08:00", "this offset: Etc/GMT+8."),
        ("GMT+13", "this offset: Etc/GMT-13."),
        ("GMT+00:00", "Did you mean UTC?"),
        ("UTC-0", "Did you mean UTC?"),
        ("GMT-13", "such as UTC or Europe/Berlin"),
        ("UTC+15", "such as UTC or Europe/Berlin"),
        ("GMT+5:30", "such as UTC or Europe/Berlin"),
        ("UTC8", "such as UTC or Europe/Berlin"),
        ("GMT8", "such as UTC or Europe/Berlin"),
        ("Etc/UTC+8", "such as UTC or Europe/Berlin"),
        ("Etc/GMT+08", "such as UTC or Europe/Berlin"),
        ("Etc/GMT+15", "such as UTC or Europe/Berlin"),
        ("CST6", "such as UTC or Europe/Berlin"),
        ("etc/gmt+8", "Did you mean Etc/GMT+8?"),
        ("est5edt", "Did you mean EST5EDT?"),
        ("x" * 100_000, "such as UTC or Europe/Berlin"),
    ],
)
def test_only_names_of_the_zone_database_are_zones(name: str, hint: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        zone_named(name)
    assert hint in (caught.value.hint or "")
    assert caught.value.field == "timezone"
    assert len(str(caught.value)) < 250


def test_every_zone_of_an_abbreviation_exists_and_no_abbreviation_is_a_zone() -> None:
    for abbreviation, zones in ABBREVIATIONS.items():
        assert abbreviation not in zone_names()
        assert set(zones) <= set(zone_names())


@pytest.mark.parametrize(
    ("name", "zone", "hours"),
    [
        ("GMT+8", "Etc/GMT-8", 8),
        ("GMT+08:00", "Etc/GMT-8", 8),
        ("UTC+8", "Etc/GMT-8", 8),
        ("UTC+0800", "Etc/GMT-8", 8),
        ("UT-5", "Etc/GMT+5", -5),
        ("GMT-12:00", "Etc/GMT+12", -12),
        ("UTC+00:00", "UTC", 0),
    ],
)
def test_an_offset_from_gmt_in_whole_hours_is_a_fixed_zone(name: str, zone: str, hours: int) -> None:
    assert fixed_zone(name) == zone
    assert zone_named(zone).stretch_at(0).offset == hours * 3600


@pytest.mark.parametrize(
    "name", ["+08:00", "+8", "CST", "GMT8", "gmt+8", "GMT+5:30", "GMT+15", "GMT-13", "Etc/GMT-8", "GMT", "", "GMT+8\n"]
)
def test_other_names_are_no_fixed_zone(name: str) -> None:
    assert fixed_zone(name) is None


def test_a_zone_is_loaded_once() -> None:
    assert zone_named("Asia/Tokyo") is zone_named("Asia/Tokyo")
