"""Lines of some levels: by their words, and with all of a traceback."""

import pytest

from orth.coordinator.logs.levels import TRACEBACK_LINES, Level, LevelFilter

STAMP = "2026-01-30T10:00:00.123Z "
TRACEBACK = ["Traceback (most recent call last):", '  File "a.py", line 1, in f', "    INFO()", "ValueError: no INFO"]
GROUP = [
    "  + Exception Group Traceback (most recent call last):",
    '  |   File "a.py", line 2, in <module>',
    "  | ExceptionGroup: two (1 sub-exception)",
    "  +-+---------------- 1 ----------------",
    "    | Traceback (most recent call last):",
    '    |   File "b.py", line 2, in g',
    "    | KeyError: 1",
    "    +------------------------------------",
]
JOINED = [*TRACEBACK, "", "During handling of the above exception, another exception occurred:", "", *TRACEBACK]


def of(levels: list[Level], *pages: list[str]) -> list[int]:
    """The lines of ``levels``, from 1 on."""
    lines = LevelFilter(levels)
    found: list[int] = []
    first = 1
    for page in pages:
        found += [first + index for index, _, _ in lines.kept(first, page, None)]
        first += len(page)
    return found


@pytest.mark.parametrize("stamp", ["", STAMP])
def test_a_traceback_is_an_error_with_all_its_lines(stamp: str) -> None:
    texts = [stamp + text for text in ["INFO a: it begins", "ERROR a: it failed", *TRACEBACK, "  goes on", "INFO x"]]
    assert of(["error"], texts) == [2, 3, 4, 5, 6]
    assert of(["info"], texts) == [1, 8]
    assert of(["other"], texts) == [7]
    assert of(["other", "error"], texts) == [2, 3, 4, 5, 6, 7]
    assert of(["warning"], texts) == []


@pytest.mark.parametrize("texts", [TRACEBACK, GROUP, JOINED], ids=["one", "group", "joined"])
def test_wherever_a_page_ends_in_it(texts: list[str]) -> None:
    log = [STAMP + text for text in ["hello", *texts, "and so on", ""]]
    for middle in range(len(log) + 1):
        assert of(["error"], log[:middle], log[middle:]) == list(range(2, 2 + len(texts)))
        assert of(["other"], log[:middle], log[middle:]) == [1, len(log) - 1, len(log)]


def test_an_empty_line_in_the_place_of_the_exception_ends_it() -> None:
    assert of(["error"], [*TRACEBACK[:-1], "", "hello"]) == [1, 2, 3]


def test_where_lines_are_missing_nothing_goes_on() -> None:
    lines = LevelFilter(["error"])
    assert len(lines.kept(1, TRACEBACK[:2], None)) == 2
    assert lines.kept(10, TRACEBACK[2:], None) == []


def test_one_that_does_not_end_is_no_longer_than_somebody_looks_back() -> None:
    endless = [TRACEBACK[0], *["  and on"] * (2 * TRACEBACK_LINES)]
    assert of(["error"], endless) == list(range(1, TRACEBACK_LINES + 1))


def test_of_those_that_fit_only_those_of_the_levels_are_kept() -> None:
    texts = ["INFO row 7", "ERROR row 7", "row 7", *TRACEBACK]
    assert LevelFilter(["error"]).kept(1, texts, [(0, 5, 8), (1, 6, 9), (2, 0, 3), (4, 1, 2)]) == [(1, 6, 9), (4, 1, 2)]
