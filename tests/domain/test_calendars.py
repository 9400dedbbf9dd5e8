import json
from datetime import UTC, date, datetime

import pytest

from orth.domain.calendars import DATES_LIMIT, Calendar
from orth.errors import Invalid

WORKDAYS = frozenset({1, 2, 3, 4, 5})
CHRISTMAS = date(2026, 12, 25)  # a Friday
SATURDAY = date(2026, 12, 19)


def noon(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp()) * 1000


@pytest.mark.parametrize(
    ("calendar", "day", "reason"),
    [
        (Calendar(), CHRISTMAS, None),
        (Calendar(WORKDAYS), CHRISTMAS, None),
        (Calendar(WORKDAYS), SATURDAY, "the calendar leaves out Saturdays, and 2026-12-19 is one"),
        (Calendar(WORKDAYS, dates_in=frozenset({SATURDAY})), SATURDAY, None),
        (Calendar(WORKDAYS, dates_out=frozenset({CHRISTMAS})), CHRISTMAS, "the calendar leaves out 2026-12-25"),
        (Calendar(dates_in=frozenset({CHRISTMAS}), dates_out=frozenset({CHRISTMAS})), CHRISTMAS, None),
        (
            Calendar(frozenset(), dates_in=frozenset({CHRISTMAS})),
            SATURDAY,
            "the calendar leaves out Saturdays, and 2026-12-19 is one",
        ),
    ],
)
def test_dates_in_come_before_dates_out_before_weekdays(calendar: Calendar, day: date, reason: str | None) -> None:
    assert calendar.refusal(noon(day)) == reason
    assert calendar.admits(noon(day)) is (reason is None)


def test_a_day_is_that_of_the_zone() -> None:
    calendar = Calendar(dates_out=frozenset({CHRISTMAS}))
    late = int(datetime(2026, 12, 24, 23, 30, tzinfo=UTC).timestamp()) * 1000
    assert calendar.admits(late)
    assert not calendar.admits(late, "Europe/Berlin")
    assert calendar.admits(late, "America/New_York")
    at_home = Calendar(dates_out=frozenset({CHRISTMAS}), zone="Europe/Berlin")
    assert not at_home.admits(late, "America/New_York")


def test_the_json_form_goes_there_and_back() -> None:
    calendar = Calendar(WORKDAYS, frozenset({SATURDAY}), frozenset({CHRISTMAS, date(2027, 1, 1)}), "Europe/Berlin")
    form = json.loads(json.dumps(calendar.to_dict()))
    assert form == {
        "weekdays": [1, 2, 3, 4, 5],
        "dates_in": ["2026-12-19"],
        "dates_out": ["2026-12-25", "2027-01-01"],
        "zone": "Europe/Berlin",
    }
    assert Calendar.parse(form) == calendar
    assert Calendar.parse({}) == Calendar()
    assert Calendar.parse(Calendar().to_dict()) == Calendar()


@pytest.mark.parametrize(
    ("form", "field", "words"),
    [
        ({"weekdays": [0]}, "weekdays", "no weekday 0"),
        ({"weekdays": [1, 8]}, "weekdays", "no weekday 8"),
        ({"weekdays": ["MON"]}, "weekdays", "not a list of numbers"),
        ({"weekdays": [True]}, "weekdays", "not a list of numbers"),
        ({"weekdays": 5}, "weekdays", "not a list of numbers"),
        ({"weekdays": []}, "weekdays", "admits no day"),
        ({"dates_in": "2026-12-25"}, "dates_in", "not a list"),
        ({"dates_in": ["25.12.2026"]}, "dates_in", "'25.12.2026' in dates_in is not a date"),
        ({"dates_out": ["2026-02-30"]}, "dates_out", "not a date"),
        ({"dates_out": ["1969-12-31"]}, "dates_out", "not a date"),
        ({"dates_out": ["2200-01-01"]}, "dates_out", "not a date"),
        ({"dates_out": ["20261225"]}, "dates_out", "not a date"),
        ({"dates_out": [20261225]}, "dates_out", "not a date"),
        ({"dates_out": ["2026-12-25"] * (DATES_LIMIT + 1)}, "dates_out", "more than 5000"),
        ({"zone": 5}, "zone", "not a text"),
        ({"zone": "../../etc/passwd"}, "zone", "no time zone"),
        ({"holidays": "DE"}, "holidays", "no member 'holidays'"),
    ],
)
def test_refusals_name_the_member(form: dict[str, object], field: str, words: str) -> None:
    with pytest.raises(Invalid) as caught:
        Calendar.parse(form)
    assert caught.value.field == field
    assert caught.value.hint
    assert words in str(caught.value)


def test_only_an_object_is_a_calendar() -> None:
    with pytest.raises(Invalid, match="A calendar is an object"):
        Calendar.parse([1, 2])  # type: ignore[arg-type] # what a client may send
