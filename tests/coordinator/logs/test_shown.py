"""A line as it is shown: what is searched is what the console draws."""

import json
from pathlib import Path

import pytest

from orth.coordinator.logs.levels import level_of
from orth.coordinator.logs.shown import body_of, place_in, shown_texts

LINES = json.loads(
    (Path(__file__).parents[3] / "console/src/parts/log/shownLines.json").read_text("utf-8")
)  # the tests of the console read them as well
STAMP = "2026-01-30T10:00:00.123Z "


@pytest.mark.parametrize("one", LINES, ids=lambda one: one["shown"])
def test_a_line_is_searched_and_has_its_level_as_the_console_shows_it(one: dict[str, str]) -> None:
    assert shown_texts([one["line"]], spelled=True) == [one["shown"]]
    (searched,) = shown_texts([one["line"]])
    assert shown_texts([searched], spelled=True) == [one["shown"]]
    assert level_of(searched) == one["level"]


def test_lines_stay_lines_whatever_is_in_them() -> None:
    texts = ["\x1b[1ma\x1b]8;;http://x", "b\x07c", "two\nin \x1b[0mone", "", "\x1b[0m"]
    assert shown_texts(texts) == ["a\x1b]8;;http://x", "b\x07c", "two\nin one", "", ""]
    plain = ["a", "b"]
    assert shown_texts(plain) is plain


def test_a_place_of_what_is_shown_is_one_of_the_line() -> None:
    line = "ab\x1b[31mcd\x1b[0m\x1b[1me\x1b[0m"
    assert [line[place_in(line, place)] for place in range(5)] == list("abcde")
    line = "a\x07\x1b[0mb\u202ec"
    assert [line[place_in(line, place, spelled=True)] for place in (0, 5, 12)] == list("abc")


def test_what_stands_behind_the_time_of_a_line_is_its_body() -> None:
    assert body_of(f"{STAMP}hello") == "hello"
    assert body_of("2026-01-30 11:00:00,5+01:00 x") == "x"
    assert body_of(STAMP) == ""
    for line in ("2026-01-30 10:00:00 nobody knows the clock", "hello", ""):
        assert body_of(line) == line
