import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.apphost.lines import Follower, LastLines, Line, LogFile, Record, printable, read_log, record_of


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b[2J\x1b[1;1Hgone", "gone"),
        ("a\tb", "a   b"),
        ("bell\x07 and \x9b31m", "bell\ufffd and \ufffd31m"),
    ],
)
def test_nothing_reaches_the_terminal_that_it_would_obey(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text())
def test_every_line_is_printable(text: str) -> None:
    assert Line.of("a", text).text.isprintable()


def test_records_are_taken_apart() -> None:
    text = "2026-01-30 10:00:05.123 WARNING orth: the cat is on the table"
    assert record_of(text) == Record("10:00:05", "WARNING", "the cat is on the table")
    assert record_of("2026-01-30 10:00:05.123 INFO  jobs: x") == Record("10:00:05", "INFO", "jobs: x")
    line = '{"time": "2026-01-30T10:00:05.123+00:00", "level": "error", "logger": "orth", "message": "no\\u001b[2J"}'
    assert record_of(line) == Record("10:00:05", "ERROR", "no")
    for other in ("hello", "{}", '{"a"', '{"message": 1}', "[1]"):
        assert record_of(other) == Record("", "", other)


def test_the_last_lines_are_numbered_from_the_first() -> None:
    lines = LastLines(kept=3)
    for number in range(5):
        lines.add(Line("a", str(number)))
    assert [line.text for line in lines.since(4)] == ["4"]
    assert [line.text for line in lines.since(0)] == ["2", "3", "4"], "older ones are gone"
    assert lines.since(5) == []


def test_lines_are_kept_in_a_file_of_bounded_size(tmp_path: Path) -> None:
    file = LogFile(tmp_path, largest=200)
    for number in range(100):
        file.add(Line("agent-1", f"line {number}"))
    file.close()
    kept = read_log(tmp_path)
    assert kept[-1] == Line("agent-1", "line 99")
    numbers = [int(line.text.split()[1]) for line in kept]
    assert numbers == list(range(numbers[0], 100)), "without a hole"
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert len(sizes) == 2
    assert max(sizes) <= 200


def test_a_follower_reads_on_into_the_next_file(tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    assert follower.new_lines() == []
    file = LogFile(tmp_path, largest=60)
    seen: list[str] = []
    for number in range(20):
        file.add(Line("a", f"line {number}"))
        if number % 3 == 0:
            seen += [line.text for line in follower.new_lines()]
    seen += [line.text for line in follower.new_lines()]
    file.close()
    assert seen[-1] == "line 19"
    assert len(seen) == len(set(seen))


def test_a_follower_waits_for_the_end_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "up.log"
    path.write_text("a | whole\na | ha")
    follower = Follower(tmp_path)
    assert follower.new_lines() == [Line("a", "whole")]
    with path.open("a") as out:
        out.write("lf\n")
    assert follower.new_lines() == [Line("a", "half")]


def test_a_line_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "missing")
    file.add(Line("a", "b"))
    assert not os.path.exists(file.path)
