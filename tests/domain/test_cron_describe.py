import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orth.domain.cron import describe
from orth.domain.jobs import DstPolicy


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("* * * * *", "Every minute, every day, UTC time."),
        ("* * * * * ?", "Every second, every day, UTC time."),
        ("0/5 * * * * ?", "Every 5 seconds, every day, UTC time."),
        ("0 0/10 * * * ?", "Every 10 minutes, every day, UTC time."),
        ("0 5/10 * * * ?", "Every 10 minutes from minute 5, every day, UTC time."),
        ("*/5 8-17 * * mon-fri", "Every 5 minutes, between 08:00 and 17:59, on Monday to Friday, UTC time."),
        ("*/7 3 * * *", "Every 7 minutes, between 03:00 and 03:59, every day, UTC time."),
        ("10-40/5 */6 * * *", "Every 5 minutes from minute 10 to 40, every 6 hours, every day, UTC time."),
        ("5,20,35 * * * *", "At minutes 5, 20 and 35, every hour, every day, UTC time."),
        ("*/10 15 * * * ?", "Every 10 seconds, at minute 15, every hour, every day, UTC time."),
        ("0-9 * 8,9,17 * * ?", "At seconds 0 to 9, every minute, in hours 8, 9 and 17, every day, UTC time."),
        ("30 2 * * *", "At 02:30, every day, UTC time."),
        ("15 30 2 * * ?", "At 02:30:15, every day, UTC time."),
        ("0 8,12,18 * * *", "At 08:00, 12:00 and 18:00, every day, UTC time."),
        ("0 0 22-2 * * ?", "At 00:00, 01:00, 02:00, 22:00 and 23:00, every day, UTC time."),
        ("0 0 1,15 * *", "At 00:00, on days 1 and 15 of the month, UTC time."),
        ("0 0 29 2 *", "At 00:00, on day 29 of the month, in February, UTC time."),
        ("0 0 13 * FRI", "At 00:00, on day 13 of the month or on Friday, UTC time."),
        ("0 0 */2 * 1", "At 00:00, every 2 days from day 1, if that is also Monday, UTC time."),
        ("0 0 * * */2", "At 00:00, on Sunday, Tuesday, Thursday and Saturday, UTC time."),
        ("0 0 1 */3 *", "At 00:00, on day 1 of the month, in January, April, July and October, UTC time."),
        ("0 0 12 L * ?", "At 12:00, on the last day of the month, UTC time."),
        ("0 0 12 L-1 * ?", "At 12:00, on 1 day before the last day of the month, UTC time."),
        ("0 0 12 LW * ?", "At 12:00, on the last workday (Monday to Friday) of the month, UTC time."),
        ("0 0 12 15W * ?", "At 12:00, on the workday (Monday to Friday) nearest to day 15, UTC time."),
        ("0 0 12 ? * 6#3", "At 12:00, on the third Friday of the month, UTC time."),
        ("0 0 12 ? * 6L", "At 12:00, on the last Friday of the month, UTC time."),
        ("0 0 12 ? * FRI-MON", "At 12:00, on Friday to Monday, UTC time."),
        ("0 0 0 1 1 ? 2027/2", "At 00:00, on day 1 of the month, in January, every 2 years from year 2027, UTC time."),
        ("0 0 0 1 JAN-MAR ? 2027", "At 00:00, on day 1 of the month, in January to March, in 2027, UTC time."),
        ("@weekly", "At 00:00, on Sunday, UTC time."),
    ],
)
def test_sentences(text: str, sentence: str) -> None:
    explanation = describe(text)
    assert explanation.sentence == sentence
    assert explanation.valid
    assert explanation.pointer is None
    assert str(explanation) == sentence


def test_every_field_is_explained() -> None:
    fields = describe("0 15 10 ? JAN-MAR 6L 2027", "Europe/Berlin").fields
    assert [(field.name, field.text, field.meaning) for field in fields] == [
        ("second", "0", "second 0"),
        ("minute", "15", "minute 15"),
        ("hour", "10", "hour 10"),
        ("day-of-month", "?", "left to the other day field"),
        ("month", "JAN-MAR", "January to March"),
        ("day-of-week", "6L", "the last Friday of the month"),
        ("year", "2027", "2027"),
    ]


def test_clock_changes_are_mentioned_where_a_clock_may_change() -> None:
    assert describe("30 2 * * *", "Europe/Berlin").clock_changes.startswith("A time the clock skips fires once")
    assert describe("30 * * * *", "Europe/Berlin").clock_changes.startswith("Follows real time")
    assert describe("30 2 * * *", "Europe/Berlin", DstPolicy.RHYTHM).clock_changes.startswith("Follows real time")
    assert describe("30 2 * * *", "UTC").clock_changes == ""


def test_a_refusal_is_explained_with_its_place() -> None:
    explanation = describe("0 25 * * *")
    assert not explanation.valid
    assert explanation.position == 2
    assert explanation.length == 2
    assert str(explanation) == "0 25 * * *\n  ^^\nhour 25 is outside 0-23.\nWrite a number from 0 to 23."


def test_an_unknown_zone_is_explained_too() -> None:
    explanation = describe("0 5 * * *", "Berlin")
    assert not explanation.valid
    assert explanation.hint == "Did you mean Europe/Berlin?"


@settings(deadline=None)
@given(st.text(alphabet="0123456789*/-,?LW#@ MONJAF", max_size=40))
def test_any_text_gets_a_sentence(text: str) -> None:
    explanation = describe(text)
    assert explanation.sentence.endswith((".", "?"))
    assert explanation.valid == (explanation.pointer is None)
