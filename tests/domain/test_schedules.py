from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orth.domain.calendars import Calendar
from orth.domain.jobs import DstPolicy, ScheduleType
from orth.domain.schedules import LAST_INSTANT, LONGEST_JITTER, Schedule, parse_schedule
from orth.errors import Invalid, InvalidSchedule

DAY = 86_400_000
NOW = int(datetime(2026, 6, 1, 12, tzinfo=UTC).timestamp()) * 1000


def ms(text: str, zone: str = "UTC") -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


def at(conf: str, zone: str = "UTC") -> int | None:
    return parse_schedule(ScheduleType.AT, conf, timezone=zone).next_after(-1)


# --- kinds ------------------------------------------------------------------------------------------------------------


def test_none_never_fires_by_itself() -> None:
    schedule = parse_schedule(ScheduleType.NONE, "whatever is written here")
    assert schedule.next_after(0) is None
    assert schedule.previous_before(LAST_INSTANT) is None
    assert schedule.count_between(0, LAST_INSTANT, 10) == 0
    assert not schedule.repeats_by_clock
    schedule.check_future(NOW)


def test_cron_fires_by_its_expression() -> None:
    schedule = parse_schedule(ScheduleType.CRON, "30 2 * * *", timezone="Europe/Berlin")
    assert schedule.next_after(ms("2026-03-28T12:00")) == ms("2026-03-29T01:00")
    assert schedule.previous_before(ms("2026-03-29T01:00") + 1) == ms("2026-03-29T01:00")
    assert schedule.count_between(ms("2026-03-01T00:00"), ms("2026-04-01T00:00"), 100) == 31
    assert schedule.count_between(ms("2026-03-01T00:00"), ms("2026-04-01T00:00"), 7) == 7
    assert schedule.repeats_by_clock
    rhythm = parse_schedule(ScheduleType.CRON, "30 2 * * *", timezone="Europe/Berlin", dst=DstPolicy.RHYTHM)
    assert rhythm.next_after(ms("2026-03-28T12:00")) == ms("2026-03-30T00:30")


@pytest.mark.parametrize(
    ("conf", "period"),
    [
        ("1", 1000),
        ("30", 30_000),
        ("500ms", 500),
        ("10ms", 10),
        ("1.5s", 1500),
        ("0.25s", 250),
        ("5m", 300_000),
        ("0.5m", 30_000),
        ("2h", 7_200_000),
        ("1d", DAY),
        ("366d", 366 * DAY),
        (" 30s ", 30_000),
        ("30S", 30_000),
    ],
)
def test_durations(conf: str, period: int) -> None:
    rate = parse_schedule(ScheduleType.FIX_RATE, conf)
    assert rate.next_after(0) == period
    assert rate.previous_before(period + 1) == period
    delay = parse_schedule(ScheduleType.FIX_DELAY, conf)
    assert delay.next_after(NOW + 7) == NOW + 7 + period
    assert delay.previous_before(NOW) is None
    assert not delay.repeats_by_clock


@pytest.mark.parametrize(
    ("conf", "words"),
    [
        ("0", "shorter than 10 ms"),
        ("0s", "shorter than 10 ms"),
        ("9ms", "shorter than 10 ms"),
        ("0.001s", "shorter than 10 ms"),
        ("-5", "not a duration"),
        ("-5s", "not a duration"),
        ("1ns", "not a duration"),
        ("1.5", "not a duration"),
        ("1.s", "not a duration"),
        (".5s", "not a duration"),
        ("1e3", "not a duration"),
        ("NaN", "not a duration"),
        ("inf", "not a duration"),
        ("٣s", "not a duration"),
        ("1_000", "not a duration"),
        ("1h30m", "not a duration"),
        ("5 m", "not a duration"),
        ("", "not a duration"),
        ("10.0005s", "not a whole number of milliseconds"),
        ("10.5ms", "not a whole number of milliseconds"),
        ("367d", "longer than 366 days"),
        ("1000000000000000000", "longer than 366 days"),
        ("9" * 65, "the limit is 64"),
        ("9" * 1_000_000, "the limit is 64"),
    ],
)
@pytest.mark.parametrize("kind", [ScheduleType.FIX_RATE, ScheduleType.FIX_DELAY])
def test_durations_refused(kind: ScheduleType, conf: str, words: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        parse_schedule(kind, conf)
    assert words in str(caught.value)
    assert caught.value.hint
    assert len(str(caught.value)) < 300


def test_a_fixed_rate_is_anchored() -> None:
    plain = parse_schedule(ScheduleType.FIX_RATE, "1h")
    assert plain.next_after(NOW + 1) == NOW + 3_600_000
    moved = parse_schedule(ScheduleType.FIX_RATE, "1h", anchor=NOW + 60_000)
    assert moved.next_after(NOW) == NOW + 60_000
    assert moved.next_after(NOW + 60_000) == NOW + 3_660_000
    assert moved.previous_before(NOW) == NOW - 3_540_000
    assert moved.previous_before(NOW + 60_000) == NOW - 3_540_000


def test_a_fixed_rate_has_a_first_and_a_last_fire() -> None:
    schedule = parse_schedule(ScheduleType.FIX_RATE, "7s", anchor=3000)
    assert schedule.next_after(-(10**18)) == 3000
    assert schedule.previous_before(3000) is None
    last = schedule.previous_before(10**18)
    assert last is not None
    assert LAST_INSTANT - 7000 < last <= LAST_INSTANT
    assert schedule.next_after(last) is None
    assert schedule.next_after(10**18) is None
    assert parse_schedule(ScheduleType.FIX_DELAY, "1d").next_after(LAST_INSTANT) is None


@settings(deadline=None)
@given(
    period=st.integers(10, 10_000),
    anchor=st.integers(-(10**6), 10**13),
    after=st.integers(-10, 10**6),
    span=st.integers(-100, 200_000),
    limit=st.integers(0, 500),
)
def test_a_fixed_rate_counts_by_arithmetic_what_walking_would_count(
    period: int, anchor: int, after: int, span: int, limit: int
) -> None:
    schedule = parse_schedule(ScheduleType.FIX_RATE, f"{period}ms", anchor=anchor)
    count, fire = 0, schedule.next_after(after)
    while fire is not None and fire <= after + span and count < limit:
        count += 1
        following = schedule.next_after(fire)
        assert following == fire + period
        assert schedule.previous_before(following) == fire
        fire = following
    assert schedule.count_between(after, after + span, limit) == count


def test_a_year_of_missed_fires_is_counted_at_once() -> None:
    schedule = parse_schedule(ScheduleType.FIX_RATE, "10ms")
    assert schedule.count_between(NOW, NOW + 365 * DAY, 10**15) == 365 * DAY // 10


@pytest.mark.parametrize(
    ("conf", "zone", "instant"),
    [
        ("2027-05-01T08:00:00Z", "UTC", ms("2027-05-01T08:00")),
        ("2027-05-01T08:00:00Z", "Europe/Berlin", ms("2027-05-01T08:00")),
        ("2027-05-01t08:00z", "UTC", ms("2027-05-01T08:00")),
        ("2027-05-01T08:00:00+02:00", "UTC", ms("2027-05-01T06:00")),
        ("2027-05-01T08:00:00+0200", "UTC", ms("2027-05-01T06:00")),
        ("2027-05-01T08:00+14:00", "UTC", ms("2027-04-30T18:00")),
        ("2027-05-01T08:00-00:44", "UTC", ms("2027-05-01T08:44")),
        ("2027-05-01 08:00:00", "UTC", ms("2027-05-01T08:00")),
        ("2027-05-01 08:00:00", "Europe/Berlin", ms("2027-05-01T06:00")),
        ("2027-05-01", "Europe/Berlin", ms("2027-04-30T22:00")),
        ("2027-05-01T08:00:00.5Z", "UTC", ms("2027-05-01T08:00") + 500),
        ("2027-05-01T08:00:00.123Z", "UTC", ms("2027-05-01T08:00") + 123),
        ("2027-05-01T08:00:00.123456Z", "UTC", ms("2027-05-01T08:00") + 124),
        ("2027-05-01T08:00:00.999999999Z", "UTC", ms("2027-05-01T08:00") + 1000),
        ("1809158400000", "Europe/Berlin", 1_809_158_400_000),
        ("2028-02-29T00:00Z", "UTC", ms("2028-02-29T00:00")),
        ("1970-01-01T00:00Z", "UTC", 0),
        ("2199-12-31T23:59:59.999Z", "UTC", LAST_INSTANT),
        # a gap, an overlap, a skipped day
        ("2026-03-29T02:30:00.250", "Europe/Berlin", ms("2026-03-29T01:00")),
        ("2026-10-25T02:30", "Europe/Berlin", ms("2026-10-25T00:30")),
        ("2011-12-30T15:00", "Pacific/Apia", ms("2011-12-30T10:00")),
    ],
)
def test_instants(conf: str, zone: str, instant: int) -> None:
    assert at(conf, zone) == instant


@pytest.mark.parametrize(
    ("conf", "carets", "words"),
    [
        ("2027-13-01T08:00Z", "     ^^", "no month 13"),
        ("2027-02-29T08:00Z", "        ^^", "Write 1 to 28."),
        ("2027-02-28T24:00Z", "           ^^", "no hour 24"),
        ("2027-02-28T08:60Z", "              ^^", "no minute 60"),
        ("2027-02-28T08:00:60Z", "                 ^^", "no second 60"),
        ("2027-02-28T08:00+24:00", "                 ^^", "no offset hour 24"),
        ("0001-01-01T00:00Z", "^^^^", "Write 1970 to 2199."),
        ("9999-12-31T00:00Z", "^^^^", "Write 1970 to 2199."),
        ("1970-01-01T00:00+00:01", "^" * 22, "outside the years"),
        ("2199-12-31T23:59-14:00", "^" * 22, "outside the years"),
        ("99999999999999999999", "^" * 20, "outside the years"),
        ("tomorrow", "^" * 8, "not a point in time"),
        ("2027-5-1", "^" * 8, "not a point in time"),
        ("2027-W01-1", "^" * 10, "not a point in time"),
        ("-1", "^^", "not a point in time"),
        ("1e12", "^^^^", "not a point in time"),
        ("١٨٠٩", "^^^^", "not a point in time"),
        ("2027-05-01T08:00 Europe/Berlin", "^" * 30, "not a point in time"),
        ("", "^", "not a point in time"),
    ],
)
def test_instants_refused(conf: str, carets: str, words: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        at(conf)
    assert caught.value.pointer() == f"{conf}\n{carets}"
    assert words in str(caught.value)
    assert caught.value.hint


def test_an_instant_fires_once() -> None:
    schedule = parse_schedule(ScheduleType.AT, str(NOW))
    assert schedule.next_after(NOW - 1) == NOW
    assert schedule.next_after(NOW) is None
    assert schedule.previous_before(NOW) is None
    assert schedule.previous_before(NOW + 1) == NOW
    assert schedule.count_between(NOW - 1, NOW, 10) == 1
    assert schedule.count_between(NOW, NOW + 1, 10) == 0
    assert schedule.repeats_by_clock


# --- what is refused for every kind -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ScheduleType)
def test_zone_and_jitter_are_checked_for_every_kind(kind: ScheduleType) -> None:
    conf = {"CRON": "* * * * *", "AT": "2027-01-01", "NONE": ""}.get(kind, "5m")
    with pytest.raises(InvalidSchedule) as caught:
        parse_schedule(kind, conf, timezone="../../etc/passwd")
    assert caught.value.field == "timezone"
    for jitter in (-1, LONGEST_JITTER + 1):
        with pytest.raises(Invalid) as refused:
            parse_schedule(kind, conf, jitter=jitter)
        assert refused.value.field == "jitter"
    assert parse_schedule(kind, conf, jitter=LONGEST_JITTER).jitter == LONGEST_JITTER


@pytest.mark.parametrize(
    ("kind", "conf", "words"),
    [
        (ScheduleType.CRON, "0 0 0 1 1 ? 1999", "its last fire was 1999-01-01 00:00 UTC"),
        (ScheduleType.AT, "2020-01-01T00:00Z", "its last fire was 2020-01-01 00:00 UTC"),
        (ScheduleType.AT, str(NOW), "no fire left"),
    ],
)
def test_a_schedule_without_a_future_is_refused_at_save(kind: ScheduleType, conf: str, words: str) -> None:
    schedule = parse_schedule(kind, conf)
    with pytest.raises(InvalidSchedule, match="no fire left") as caught:
        schedule.check_future(NOW)
    assert words in str(caught.value)
    assert caught.value.pointer() == f"{conf}\n{'^' * len(conf)}"


def test_a_schedule_with_a_future_is_not_refused() -> None:
    for kind, conf in (
        (ScheduleType.CRON, "0 0 29 2 *"),
        (ScheduleType.AT, "2027-01-01"),
        (ScheduleType.FIX_DELAY, "5m"),
    ):
        parse_schedule(kind, conf).check_future(NOW)


# --- jitter -----------------------------------------------------------------------------------------------------------


def test_without_jitter_a_fire_is_due_at_its_time() -> None:
    assert parse_schedule(ScheduleType.CRON, "* * * * *", key=9).due_at(NOW) == NOW


def test_the_shift_depends_on_job_and_fire_and_on_nothing_else() -> None:
    def due(key: int, fire: int) -> int:
        return parse_schedule(ScheduleType.CRON, "0 * * * *", jitter=600_000, key=key).due_at(fire)

    assert due(1, NOW) == due(1, NOW)
    # Fixed for good: coordinators of different versions must agree.
    assert due(1, NOW) - NOW == 548_369
    shifts = [due(key, NOW) - NOW for key in range(2000)]
    assert min(shifts) >= 0
    assert max(shifts) <= 600_000
    assert len(set(shifts)) > 1900
    assert 270_000 < sum(shifts) / len(shifts) < 330_000
    assert len({due(1, NOW + n * 3_600_000) - n * 3_600_000 for n in range(50)}) > 45


SCHEDULES: list[tuple[ScheduleType, str]] = [
    (ScheduleType.CRON, "* * * * * ?"),
    (ScheduleType.CRON, "*/7 1-3 * * *"),
    (ScheduleType.CRON, "0 0 * * *"),
    (ScheduleType.FIX_RATE, "10ms"),
    (ScheduleType.FIX_RATE, "45m"),
]


@settings(deadline=None)
@given(
    kind=st.sampled_from(SCHEDULES),
    jitter=st.integers(0, LONGEST_JITTER),
    key=st.integers(0, 2**63),
    start=st.integers(0, 4 * 10**12),
)
def test_jitter_never_reorders_or_merges_fires(
    kind: tuple[ScheduleType, str], jitter: int, key: int, start: int
) -> None:
    schedule: Schedule = parse_schedule(*kind, jitter=jitter, key=key, timezone="Europe/Berlin")
    fires = [start]
    for _ in range(20):
        following = schedule.next_after(fires[-1])
        assert following is not None
        fires.append(following)
    fires = fires[1:]
    dues = [schedule.due_at(fire) for fire in fires]
    for fire, due in zip(fires, dues, strict=True):
        assert fire <= due <= fire + jitter
    for due, following in zip(dues, fires[1:], strict=False):
        assert due < following


# --- calendars --------------------------------------------------------------------------------------------------------


def test_a_calendar_skips_fires_without_hiding_them() -> None:
    christmas = Calendar(frozenset({1, 2, 3, 4, 5}), dates_out=frozenset({date(2026, 12, 25)}))
    schedule = parse_schedule(ScheduleType.CRON, "0 0 * * *", timezone="Europe/Berlin", calendar=christmas)
    fire = schedule.next_after(ms("2026-12-23T12:00"))
    reasons = []
    for _ in range(4):
        assert fire is not None
        reasons.append(schedule.skip_reason(fire))
        fire = schedule.next_after(fire)
    assert reasons == [
        None,
        "the calendar leaves out 2026-12-25",
        "the calendar leaves out Saturdays, and 2026-12-26 is one",
        "the calendar leaves out Sundays, and 2026-12-27 is one",
    ]
    assert parse_schedule(ScheduleType.CRON, "0 0 * * *").skip_reason(NOW) is None
