"""Types of options that several commands share."""

import click
import pytest

from orth.cli.options import SECONDS


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0), ("90", 90), ("0s", 0), ("5s", 5), ("1h30m", 5400), (" 2d ", 172_800), ("5000ms", 5)]
)
def test_seconds_are_a_number_or_a_duration(text: str, seconds: int) -> None:
    assert SECONDS.convert(text, None, None) == seconds


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("500ms", "'500ms' is not a whole number of seconds"),
        ("soon", "'soon' is not a duration. Write a number and a unit"),
        ("-1", "'-1' is not a duration"),
        ("1.5", "'1.5' is not a duration"),
        ("", "'' is not a duration"),
        ("99999999999999d", "longer than any clock counts"),
    ],
)
def test_what_is_no_duration_is_refused(text: str, said: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        SECONDS.convert(text, None, None)
    assert said in refused.value.message
