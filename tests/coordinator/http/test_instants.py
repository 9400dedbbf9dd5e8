"""Instants as people write them, and times no calendar has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.coordinator.http.instants import instant, shown_instant
from orth.errors import Invalid

NOW = 1_769_767_200_000  # 2026-01-30T10:00:00Z


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-30T10:00:00Z", NOW),
        ("2026-01-30T10:00:00.001Z", NOW + 1),
        ("2026-01-30T10:00:00.999999Z", NOW + 999),
        ("2026-01-30T11:00:00+01:00", NOW),
        ("2026-01-30T11:00:00 01:00", NOW),  # a plus sign that was not encoded
        ("2026-01-30T10:00:00", NOW),
        ("2026-01-30 10:00:00", NOW),
        ("2026-01-30", NOW - 10 * 3_600_000),
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59.999Z", -1),
        ("0s", NOW),
        ("1ms", NOW - 1),
        ("2h", NOW - 7_200_000),
        ("1h30m", NOW - 5_400_000),
    ],
)
def test_an_instant_or_an_age_is_read_to_the_millisecond(text: str, expected: int) -> None:
    assert instant(text, NOW, "since") == expected


@pytest.mark.parametrize("text", ["", "yesterday", "-1h", "5", "2026-13-01", "1h-", "9" * 30 + "d", "²h", "\x00"])
def test_anything_else_is_refused_with_a_way_out(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        instant(text, NOW, "since")
    assert refused.value.field == "since"
    assert refused.value.hint


@given(st.text(max_size=40))
def test_no_text_gives_more_than_a_refusal_or_a_number_a_database_takes(text: str) -> None:
    try:
        found = instant(text, NOW, "since")
    except Invalid:
        return
    assert -(2**63) <= found < 2**63


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_every_stored_time_can_be_shown(moment: int) -> None:
    shown = shown_instant(moment)
    assert shown is None or instant(shown, NOW, "since") == moment


def test_times_no_calendar_has_are_not_known() -> None:
    assert shown_instant(0) == "1970-01-01T00:00:00.000Z"
    assert shown_instant(253_402_300_799_000) == "9999-12-31T23:59:59.000Z"
    assert shown_instant(2**62) is None
    assert shown_instant(None) is None
