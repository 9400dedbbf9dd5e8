"""Cron expressions and every other kind of schedule, and the search for their fires."""

from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from orth.domain.cron import Cron, describe
from orth.domain.jobs import DstPolicy, ScheduleType
from orth.domain.schedules import LAST_INSTANT, parse_schedule
from orth.errors import Invalid, InvalidSchedule
from tests.fuzz.mutations import mutated
from tests.fuzz.target import Target

_EXPRESSIONS = [
    b"*/5 * * * *", b"0 0 29 2 1", b"0 0 30 2 *", b"15 10 ? * MON-FRI", b"0 0 12 1/5 * ?", b"0 0 0 LW * ?",
    b"0 0 0 L-3 FEB ? 2028", b"0 0 0 ? * 6#3", b"0 0 0 ? * FRIL", b"0 0 0 15W * ? 2024/4", b"0 30 2 * * ?",
    b"59 59 23 31 12 ? 2199", b"@yearly", b"0-59/7 22-2 1,15,L * 7", b"0 0 0 29 FEB ? 2096-2104", b"* * * * * ? *",
]  # fmt: skip
_CONFS = [
    *_EXPRESSIONS, b"30", b"500ms", b"1.5s", b"5m", b"2h", b"366d", b"0", b"-1", b"2027-05-01T08:00:00Z",
    b"2027-05-01 08:00", b"2027-05-01T08:00+14:00", b"1893456000000", b"9999-12-31T23:59:59.999999999-00:44", b"",
]  # fmt: skip
_ZONES = ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca", "America/St_Johns"]
_ODD_ZONES = ["", "localtime", "../../etc/passwd", "Europe/Berlin/x", "europe/berlin", "UTC\0", "Factory", "x" * 5_000]

_NUMBERS = ["*", "0", "5", "*/7", "1-5", "58-2", "3,4,9", "0/20", "10-50/13"]
_DAYS = ["*", "1", "29", "31", "L", "LW", "15W", "L-3", "1,15,L", "28-2", "?", "1-31/2"]
_MONTHS = ["*", "2", "FEB", "JAN,DEC", "11-2", "*/3", "4"]
_WEEKDAYS = ["?", "?", "*", "MON-FRI", "7", "6#5", "FRIL", "SUN,WED", "1"]
_YEARS = ["*", "2096-2104", "2100", "1970/7", "2199"]
_numbers, _days, _months = st.sampled_from(_NUMBERS), st.sampled_from(_DAYS), st.sampled_from(_MONTHS)
_fields = st.one_of(
    st.tuples(_numbers, _numbers, _days, _months, st.sampled_from(_WEEKDAYS[2:])),
    st.tuples(_numbers, _numbers, _numbers, _days, _months, st.sampled_from(_WEEKDAYS)),
    st.tuples(_numbers, _numbers, _numbers, _days, _months, st.sampled_from(_WEEKDAYS), st.sampled_from(_YEARS)),
)
_texts = st.one_of(
    _fields.map(" ".join),
    mutated(_CONFS).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
    st.lists(st.text("0123456789*/,-?LW#@ MONJAN", max_size=8), min_size=5, max_size=7).map(" ".join),
    st.text(max_size=300),
)
_zones = st.one_of(st.sampled_from(_ZONES), st.sampled_from(_ZONES + _ODD_ZONES), st.text(max_size=20))
_instants = st.one_of(
    st.integers(0, LAST_INSTANT), st.sampled_from([-(2**63), -1, 0, 951_782_400_000, LAST_INSTANT, 2**63])
)


def _search_cron(given: tuple[str, str, DstPolicy, int]) -> None:
    text, zone, dst, instant = given
    describe(text, zone, dst)  # explains also what is refused
    cron = Cron.parse(text, zone, dst)
    fires = cron.next_n(instant, 5)
    assert all(fire > instant for fire in fires)
    assert all(one < other for one, other in pairwise(fires))
    if fires:
        assert cron.matches(fires[0])
    before = cron.previous_before(instant)
    assert before is None or before < instant


def _search_schedule(given: tuple[ScheduleType, str, str, int]) -> None:
    kind, conf, zone, instant = given
    schedule: Any = parse_schedule(kind, conf, timezone=zone)
    fire = schedule.next_after(instant)
    assert fire is None or (fire > instant and schedule.due_at(fire) >= fire)
    schedule.previous_before(instant)


TARGETS = [
    Target(
        "cron expressions and their fires",
        st.tuples(_texts, _zones, st.sampled_from(list(DstPolicy)), _instants),
        _search_cron,
        (InvalidSchedule,),
    ),
    Target(
        "schedules of every kind",
        st.tuples(st.sampled_from(list(ScheduleType)), _texts, _zones, _instants),
        _search_schedule,
        (Invalid,),
    ),
]
