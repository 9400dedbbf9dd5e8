from pathlib import Path

import pytest

from orth.executor import log_writing
from orth.executor.log_writing import LAST_WORDS, LINE_LIMIT, RunLog
from orth.executor.run_logs import RunLogs
from tests.executor.bench import NOON, Ears, HandClock


@pytest.fixture
def small(tmp_path: Path, clock: HandClock, ears: Ears, monkeypatch: pytest.MonkeyPatch) -> RunLogs:
    """Logs of 1,000 bytes, and 400 for the last words."""
    monkeypatch.setattr(log_writing, "LAST_WORDS", 400)
    return RunLogs(tmp_path, clock, ears, file_limit=1000)


def said(log: RunLog) -> list[str]:
    """The lines without their times."""
    return [line.partition(" ")[2] for line in log.path.read_text().splitlines()]


def test_a_log_over_its_limit_leaves_out_its_middle_and_says_so(small: RunLogs) -> None:
    log = small.open(7, NOON)
    for number in range(100):
        log.write(f"line {number:045}")
    over = "… this log may have 1000 bytes; of the rest only the end will be kept …"
    assert said(log)[-1] == over, "who follows the log learns it at once"
    log.write("Traceback (most recent call last):\n  somewhere\nKeyError: 'gone'")
    log.write("--- execution ends: 500", own=True)
    log.close()
    lines = said(log)
    begin, end = lines[: lines.index(over)], lines[lines.index(over) + 2 :]
    assert begin == [f"line {number:045}" for number in range(len(begin))]
    assert len(begin) > 10
    assert end[-4:] == [
        "Traceback (most recent call last):",
        "  somewhere",
        "KeyError: 'gone'",
        "--- execution ends: 500",
    ]
    kept = end[:-4]
    assert kept == [f"line {number:045}" for number in range(100 - len(kept), 100)], "whole lines, without a gap"
    left_out = (100 - len(begin) - len(kept)) * 76
    assert lines[lines.index(over) + 1] == f"… {left_out} bytes are left out here …"
    assert log.path.stat().st_size < 1000 + 400 + 250


def test_last_words_that_fit_follow_without_a_gap(small: RunLogs) -> None:
    log = small.open(7, NOON)
    log.write("x" * 950)
    log.write("--- execution ends: 200", own=True)
    log.close()
    log.close()
    assert said(log)[1:] == [
        "… this log may have 1000 bytes; of the rest only the end will be kept …",
        "--- execution ends: 200",
    ]
    again = small.open(7, NOON)
    again.write("--- another begins")
    again.close()
    assert said(again)[-2:] == ["--- execution ends: 200", "--- another begins"]


def test_the_longest_line_fits_into_the_last_words(tmp_path: Path, clock: HandClock, ears: Ears) -> None:
    log = RunLogs(tmp_path, clock, ears, file_limit=1000).open(7, NOON)
    log.write("x" * 2 * LAST_WORDS)
    log.write("\ud800" * LINE_LIMIT)
    log.close()
    assert said(log)[-1] == r"\ud800" * LINE_LIMIT


def test_a_million_lines_of_sixty_characters_fit(tmp_path: Path, clock: HandClock, ears: Ears) -> None:
    logs = RunLogs(tmp_path, clock, ears)
    log = logs.open(7, NOON)
    for _ in range(1000):
        log.write("\n".join(["0123456789" * 6] * 1000))
    log.close()
    page = logs.tail(7, NOON, 1, finished=True)
    assert (page.from_line, page.content.partition(" ")[2]) == (1_000_000, "0123456789" * 6)
    assert log.path.stat().st_size == 1_000_000 * (60 + 26)
