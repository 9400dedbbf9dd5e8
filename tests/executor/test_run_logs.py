import os
import threading
from pathlib import Path

import pytest

from orth.errors import Invalid
from orth.executor import run_logs
from orth.executor.facts import LogUnwritable
from orth.executor.run_logs import LINE_LIMIT, RunLogs
from orth.wire.messages import LogPage
from tests.executor.bench import NOON, Ears, HandClock


@pytest.fixture
def logs(tmp_path: Path, clock: HandClock, ears: Ears) -> RunLogs:
    return RunLogs(tmp_path, clock, ears)


def test_the_file_is_named_by_the_utc_day_and_the_id(logs: RunLogs, tmp_path: Path) -> None:
    just_before_midnight = 1_735_689_599_999
    assert logs.path_of(7, just_before_midnight) == tmp_path / "2024-12-31" / "7.log"
    assert logs.path_of(7, just_before_midnight + 1) == tmp_path / "2025-01-01" / "7.log"


@pytest.mark.parametrize(("log_id", "log_time"), [(-1, NOON), (7, -1), (7, 2**62)])
def test_numbers_that_name_no_file_are_refused(logs: RunLogs, log_id: int, log_time: int) -> None:
    with pytest.raises(Invalid):
        logs.read(log_id, log_time, 1, finished=True)


def test_each_line_has_its_time_and_is_there_at_once(logs: RunLogs) -> None:
    log = logs.open(7, NOON)
    log.write("one\ntwo")
    assert log.path.read_text() == "2025-06-15T15:06:40.000Z one\n2025-06-15T15:06:40.000Z two\n"


def test_reading_goes_on_where_the_last_page_ended(logs: RunLogs) -> None:
    log = logs.open(7, NOON)
    log.write("one\ntwo")
    first = logs.read(7, NOON, 1, finished=False)
    assert (first.from_line, first.to_line, first.end) == (1, 2, False)
    nothing_new = logs.read(7, NOON, 3, finished=False)
    assert (nothing_new.from_line, nothing_new.to_line, nothing_new.content, nothing_new.end) == (3, 2, "", False)
    log.write("three")
    log.close()
    last = logs.read(7, NOON, 3, finished=True)
    assert (last.to_line, last.end) == (3, True)
    assert last.content.endswith(" three")
    again = logs.read(7, NOON, 2, finished=True)
    assert [line.split(" ", 1)[1] for line in again.content.split("\n")] == ["two", "three"]


def test_a_page_is_bounded_and_the_end_is_only_said_on_the_last(logs: RunLogs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_logs, "PAGE_LINES", 3)
    log = logs.open(7, NOON)
    log.write("\n".join(str(number) for number in range(1, 8)))
    log.close()
    pages: list[LogPage] = []
    line = 1
    while not pages or not pages[-1].end:
        pages.append(logs.read(7, NOON, line, finished=True))
        line = pages[-1].to_line + 1
    assert [(page.from_line, page.to_line, page.end) for page in pages] == [
        (1, 3, False),
        (4, 6, False),
        (7, 7, True),
    ]


def test_a_page_is_bounded_in_bytes_but_never_empty(logs: RunLogs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_logs, "PAGE_BYTES", 10)
    log = logs.open(7, NOON)
    log.write("longer than ten bytes\nand another")
    page = logs.read(7, NOON, 1, finished=True)
    assert (page.to_line, page.end) == (1, False)


def test_a_line_being_written_is_not_shown_until_it_is_whole(logs: RunLogs) -> None:
    log = logs.open(7, NOON)
    log.write("whole")
    with log.path.open("ab") as file:
        file.write(b"half")
        file.flush()
        assert logs.read(7, NOON, 1, finished=False).to_line == 1
        assert logs.read(7, NOON, 1, finished=True).to_line == 2


def test_a_missing_log_says_so_and_ends_unless_it_may_still_come(logs: RunLogs) -> None:
    gone = logs.read(7, NOON, 1, finished=True)
    assert gone.end
    assert "no log of execution 7" in gone.content
    not_yet = logs.read(7, NOON, 1, finished=False)
    assert (not_yet.content, not_yet.end, not_yet.to_line) == ("", False, 0)


def test_a_log_that_was_replaced_is_read_from_the_start(logs: RunLogs) -> None:
    log = logs.open(7, NOON)
    log.write("a long first life\nwith two lines")
    assert logs.read(7, NOON, 1, finished=False).to_line == 2
    log.path.write_text("new\n")
    assert logs.read(7, NOON, 3, finished=True).to_line == 2
    assert logs.read(7, NOON, 1, finished=True).content == "new"


def test_odd_text_is_kept_readable(logs: RunLogs) -> None:
    log = logs.open(7, NOON)
    log.write("half a pair: \ud800")
    log.write("x" * (LINE_LIMIT + 1))
    log.close()
    lines = log.path.read_text().splitlines()
    assert lines[0].endswith(r"half a pair: \ud800")
    assert [len(line.split(" ", 1)[1]) for line in lines[1:]] == [LINE_LIMIT, 1]


def test_a_log_stops_at_its_cap_and_says_so(logs: RunLogs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_logs, "FILE_LIMIT", 1000)
    log = logs.open(7, NOON)
    for _ in range(100):
        log.write("0123456789" * 5)
    log.close()
    lines = log.path.read_text().splitlines()
    assert "the rest is left out" in lines[-1]
    assert 10 < len(lines) < 20


def test_lines_of_many_threads_stay_whole(logs: RunLogs) -> None:
    log = logs.open(7, NOON)

    def write(number: int) -> None:
        for _ in range(50):
            log.write(f"{number}" * 200)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    texts = [line.split(" ", 1)[1] for line in log.path.read_text().splitlines()]
    assert len(texts) == 200
    assert {len(set(text)) for text in texts} == {1}


def test_an_unwritable_log_is_told_and_fails_nobody(logs: RunLogs, ears: Ears, tmp_path: Path) -> None:
    (tmp_path / "2025-06-15").write_text("a file where the day's folder should be")
    log = logs.open(7, NOON)
    log.write("dropped")
    log.close()
    assert [event.log_id for event in ears.of(LogUnwritable)] == [7]


def test_a_disk_that_fills_up_is_told_once(logs: RunLogs, ears: Ears) -> None:
    log = logs.open(7, NOON)
    full = os.open("/dev/full", os.O_WRONLY)
    assert log._file is not None
    os.dup2(full, log._file)
    os.close(full)
    log.write("one")
    log.write("two")
    assert [event.error for event in ears.of(LogUnwritable)] == ["[Errno 28] No space left on device"]
