"""Archived logs: found by line, readable by any gzip program, and whatever was in them."""

import gzip
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.coordinator.logs.blocks import last_lines, packed, page_from
from orth.coordinator.logs.pages import Lines, lines_of
from orth.errors import Unreadable

LINE = st.text(st.characters(blacklist_characters="\n", blacklist_categories=("Cs",)), max_size=20)


def archive(*pages: Lines) -> BytesIO:
    return BytesIO(b"".join(map(packed, pages)))


def pages_of(texts: list[str], sizes: list[int]) -> list[Lines]:
    pages, line = [], 1
    while line <= len(texts):
        size = sizes[len(pages) % len(sizes)]
        part = texts[line - 1 : line - 1 + size]
        pages.append(Lines(line, line + len(part) - 1, part))
        line += len(part)
    return pages


@given(st.lists(LINE, min_size=1, max_size=50), st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 60))
def test_every_line_is_found_by_its_number(texts: list[str], sizes: list[int], line: int) -> None:
    file = archive(*pages_of(texts, sizes))
    found: list[str] = []
    while True:
        lines, end = page_from(file, line + len(found))
        assert lines.first == line + len(found)
        found += lines.texts
        if end:
            break
    assert found == texts[line - 1 :]
    tail = last_lines(file, line)
    assert list(tail.texts) == texts[-line:]
    assert (tail.first, tail.last) == (max(1, len(texts) - line + 1), len(texts))


def test_any_gzip_program_reads_it() -> None:
    file = archive(Lines(1, 2, ["<b>", "\x1b[31m"]), Lines(3, 3, ["ü"]))
    assert gzip.decompress(file.getvalue()).decode() == "<b>\n\x1b[31m\nü\n"


def test_numbers_may_jump() -> None:
    file = archive(Lines(1, 2, ["a", "b"]), Lines(90, 91, ["y", "z"]))
    lines, end = page_from(file, 3)
    assert (lines.first, list(lines.texts), end) == (90, ["y", "z"], True)
    assert last_lines(file, 10).first == 90


@pytest.mark.parametrize("change", [lambda data: data[:20], lambda data: data[:-9], lambda data: b"x" + data])
def test_damage_is_noticed(change: object) -> None:
    assert callable(change)
    file = BytesIO(change(packed(Lines(1, 1, ["a" * 100]))))
    with pytest.raises(Unreadable):
        page_from(file, 1)


@pytest.mark.parametrize(
    ("content", "last", "texts"),
    [
        ("a\nb", 2, ["a", "b"]),
        ("a\nb\n", 2, ["a", "b"]),
        ("a\nb\nc", 2, ["a", "b\nc"]),
        ("a", 3, ["a"]),
        ("", 1, [""]),
        ("anything", 0, []),
    ],
)
def test_numbers_are_those_of_whoever_counted(content: str, last: int, texts: list[str]) -> None:
    lines = lines_of(1, last, content)
    assert (list(lines.texts), lines.last) == (texts, last)
