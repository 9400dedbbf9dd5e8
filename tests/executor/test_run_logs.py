import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from orth.clock import SystemClock
from orth.errors import Invalid
from orth.executor import run_logs
from orth.executor.facts import LogUnwritable
from orth.executor.log_writing import LINE_LIMIT
from orth.executor.run_logs import RunLogs
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


def test_who_reads_a_whole_log_is_given_longer_pages(logs: RunLogs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_logs, "LONG_PAGE_LINES", 3000)
    path = logs.path_of(7, NOON)
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"line {number}\n" for number in range(1, 5001)))
    ends = [logs.read(7, NOON, 1, finished=True, lines=lines).to_line for lines in (None, 2000, 9999)]
    assert ends == [1000, 2000, 3000]


def test_a_page_is_bounded_in_bytes_but_never_empty(logs: RunLogs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_logs, "PAGE_BYTES", 10)
    log = logs.open(7, NOON)
    log.write("longer than ten bytes\nand another")
    page = logs.read(7, NOON, 1, finished=True)
    assert (page.to_line, page.end) == (1, False)


def test_a_line_longer_than_a_page_comes_in_pieces(logs: RunLogs) -> None:
    """A script knows the name of its log, and may write there without end and without a line break."""
    log = logs.open(7, NOON)
    log.write("ours")
    size = 2 * run_logs.PAGE_BYTES + 5
    with log.path.open("ab") as file:
        file.write(b"x" * size + b"\nafter\n")
    pages = [logs.read(7, NOON, line, finished=False) for line in (1, 2, 3, 4)]
    assert [page.from_line for page in pages] == [1, 2, 3, 4]
    assert [page.to_line for page in pages] == [1, 2, 3, 5]
    assert all(len(page.content) <= run_logs.PAGE_BYTES for page in pages)
    assert sum(page.content.count("x") for page in pages) == size
    assert pages[-1].content.endswith("\nafter")
    assert logs.tail(7, NOON, 1, finished=True).content == "after"
    assert len(logs.tail(7, NOON, 1000, finished=True).content) <= run_logs.PAGE_BYTES


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
    assert logs.read(7, NOON, 5, finished=True).to_line == 0, "what it says is not line 5 of the log"
    assert logs.read(7, NOON, 5, finished=False).to_line == 4


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
    log.write("there is room")
    full = os.open("/dev/full", os.O_WRONLY)
    assert log._file is not None
    os.dup2(full, log._file)
    os.close(full)
    log.write("one")
    log.write("two")
    assert [event.error for event in ears.of(LogUnwritable)] == ["[Errno 28] No space left on device"]


def test_lines_cannot_be_forged_and_other_control_characters_are_kept(logs: RunLogs) -> None:
    log = logs.open(7, NOON)
    log.write("a\r2001-01-01T00:00:00.000Z forged\rb\r\n2001-01-01T00:00:00.000Z too\x1b[31m\x07\x85\u2028\x0c|\r")
    log.close()
    page = logs.read(7, NOON, 1, finished=True)
    stamp = "2025-06-15T15:06:40.000Z "
    assert [line.removeprefix(stamp) for line in page.content.split("\n")] == [
        "a",
        "2001-01-01T00:00:00.000Z forged",
        "b",
        "2001-01-01T00:00:00.000Z too\x1b[31m\x07\x85\u2028\x0c|",
    ]
    assert all(line.startswith(stamp) for line in page.content.split("\n"))
    assert page.to_line == 4


# --- remarks, which may wait ------------------------------------------------------------------------------------------


def test_remarks_alone_make_one_file_when_the_log_has_ended(logs: RunLogs) -> None:
    log = logs.open(7, NOON)
    log.remark("begins")
    log.remark("ends")
    log.close()
    log.remark("too late")
    assert not log.path.exists()
    logs.write_ended()
    assert [line.split(" ")[1] for line in log.path.read_text().splitlines()] == ["begins", "ends"]
    assert not logs.growth.is_written_to(str(log.path.parent))


def test_what_a_handler_writes_brings_out_the_remarks_before_it(logs: RunLogs) -> None:
    log = logs.open(7, NOON)
    log.remark("begins")
    log.write("hello")
    log.remark("ends")
    assert [line.split(" ")[1] for line in log.path.read_text().splitlines()] == ["begins", "hello", "ends"]


@pytest.mark.parametrize("closed", [False, True])
def test_a_reader_sees_remarks_that_wait(logs: RunLogs, closed: bool) -> None:
    log = logs.open(7, NOON)
    log.remark("begins")
    if closed:
        log.close()
    assert logs.read(7, NOON, 1, finished=closed).content.endswith("begins")
    assert logs.tail(7, NOON, 1, finished=closed).content.endswith("begins")


def test_remarks_do_not_wait_for_long(logs: RunLogs) -> None:
    log = logs.open(7, NOON)
    log.remark("begins, and runs for hours")
    deadline = time.monotonic() + 10
    while not (log.path.exists() and log.path.read_text().endswith("for hours\n")):
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_reader_waits_for_the_one_who_is_just_writing_it(logs: RunLogs, monkeypatch: pytest.MonkeyPatch) -> None:
    log = logs.open(7, NOON)
    log.remark("ends")
    log.close()
    writing, let_go = threading.Event(), threading.Event()
    real = os.write

    def slow_write(file: int, data: bytes) -> int:
        writing.set()
        assert let_go.wait(10)
        return real(file, data)

    monkeypatch.setattr(os, "write", slow_write)
    writer = threading.Thread(target=logs.write_ended)
    writer.start()
    assert writing.wait(10)
    pages: list[LogPage] = []
    reader = threading.Thread(target=lambda: pages.append(logs.read(7, NOON, 1, finished=True)))
    reader.start()
    reader.join(0.1)
    assert pages == [], "whoever is told that the execution has ended must not be shown less than all of it"
    let_go.set()
    reader.join(10)
    writer.join(10)
    assert pages[0].content.endswith("ends")


def test_a_log_that_could_not_be_made_is_tried_again_and_says_what_is_missing(
    logs: RunLogs, ears: Ears, tmp_path: Path
) -> None:
    in_the_way = tmp_path / "2025-06-15"
    in_the_way.write_text("a file where the day's folder should be")
    log = logs.open(7, NOON)
    log.remark("begins")
    log.write("lost")
    in_the_way.unlink()
    log.write("kept")
    log.close()
    said = [line.partition(" ")[2] for line in log.path.read_text().splitlines()]
    assert said == ["… 62 bytes are missing here: they could not be written …", "kept"]
    assert len(ears.of(LogUnwritable)) == 1


def test_a_log_that_could_not_be_made_until_its_end_says_at_least_that(logs: RunLogs, tmp_path: Path) -> None:
    in_the_way = tmp_path / "2025-06-15"
    in_the_way.write_text("a file where the day's folder should be")
    log = logs.open(7, NOON)
    log.write("lost")
    in_the_way.unlink()
    log.close()
    assert "30 bytes are missing here" in log.path.read_text()


def test_a_destructor_that_writes_while_a_line_is_written_holds_up_nobody(
    logs: RunLogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = logs.open(7, NOON)
    real = os.write

    def collecting(file: int, data: bytes) -> int:
        monkeypatch.setattr(os, "write", real)
        log.write("from a destructor")
        return real(file, data)

    monkeypatch.setattr(os, "write", collecting)
    writer = threading.Thread(target=log.write, args=("one",), daemon=True)
    writer.start()
    writer.join(10)
    assert not writer.is_alive()
    assert {line.partition(" ")[2] for line in log.path.read_text().splitlines()} == {"one", "from a destructor"}


# --- from the end -----------------------------------------------------------------------------------------------------


@pytest.fixture
def million(logs: RunLogs) -> RunLogs:
    log = logs.open(7, NOON)
    for start in range(0, 1_000_000, 1000):
        log.write("\n".join(f"line {number}" for number in range(start + 1, start + 1001)))
    log.close()
    return logs


def test_a_million_lines_are_read_from_the_end_without_reading_from_the_start(million: RunLogs) -> None:
    path = million.path_of(7, NOON)
    assert path.stat().st_size > 30_000_000
    before = bytes_read()
    began = time.monotonic()
    page = million.read(7, NOON, 999_901, finished=True)
    tail = million.tail(7, NOON, 100, finished=True)
    middle = RunLogs(million.directory, HandClock(), Ears()).read(7, NOON, 500_000, finished=True)
    took, read = time.monotonic() - began, bytes_read() - before
    assert page == tail
    assert (page.from_line, page.to_line, page.end) == (999_901, 1_000_000, True)
    assert page.content.endswith("line 1000000")
    assert middle.content.split("\n")[0].endswith(" line 500000")
    assert read < 1_000_000, "a page, its way from the index, and the index itself"
    assert took < 5


def test_lines_of_somebody_else_do_not_make_the_end_dear(logs: RunLogs) -> None:
    """A child that the handler forked, or a script that knows the name."""
    log = logs.open(7, NOON)
    log.write("line 1")
    with log.path.open("a") as other:
        other.write("line 2\n")
    for start in range(3, 100_001, 2):
        log.write(f"line {start}\nline {start + 1}")
    before = bytes_read()
    tail = logs.tail(7, NOON, 20, finished=False)
    assert (tail.from_line, tail.to_line) == (99_981, 100_000)
    assert tail.content.endswith(" line 100000")
    assert bytes_read() - before < 300_000


def test_what_a_reader_had_to_count_is_not_counted_again(logs: RunLogs) -> None:
    log = logs.open(7, NOON)
    log.write("line 1")
    with log.path.open("a") as other:
        other.writelines(f"line {number}\n" for number in range(2, 100_001))
    first = logs.tail(7, NOON, 20, finished=False)
    before = bytes_read()
    assert logs.tail(7, NOON, 20, finished=False) == first
    assert logs.read(7, NOON, 60_000, finished=False).content.startswith("line 60000\n")
    assert bytes_read() - before < 300_000


def bytes_read() -> int:
    """What this process has read from files, as the kernel counts it."""
    told = Path("/proc/self/io").read_text()
    return int(told.split("rchar: ")[1].split()[0])


@pytest.mark.parametrize(("asked", "got"), [(1, 1), (3, 3), (10, 10), (11, 10), (0, 1), (-5, 1), (10**9, 10)])
def test_the_tail_has_the_last_lines_and_their_numbers(logs: RunLogs, asked: int, got: int) -> None:
    log = logs.open(7, NOON)
    log.write("\n".join(str(number) for number in range(1, 11)))
    page = logs.tail(7, NOON, asked, finished=False)
    assert (page.from_line, page.to_line, page.end) == (11 - got, 10, False)
    assert [line.split(" ")[1] for line in page.content.split("\n")] == [str(n) for n in range(11 - got, 11)]


def test_a_tail_too_large_for_a_page_keeps_its_end(logs: RunLogs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_logs, "PAGE_BYTES", 80)
    log = logs.open(7, NOON)
    log.write("\n".join(str(number) for number in range(1, 11)))
    with log.path.open("ab") as file:
        file.write(b"half")
    page = logs.tail(7, NOON, 5, finished=False)
    assert (page.from_line, page.to_line) == (9, 10)
    assert logs.tail(7, NOON, 1, finished=True).content == "half"


def test_the_tail_of_nothing_is_nothing(logs: RunLogs) -> None:
    assert logs.tail(7, NOON, 5, finished=False).content == ""
    assert logs.tail(7, NOON, 5, finished=True).end
    path = logs.path_of(7, NOON)
    path.parent.mkdir()
    path.touch()
    page = logs.tail(7, NOON, 5, finished=True)
    assert (page.from_line, page.to_line, page.content, page.end) == (1, 0, "", True)


# --- as it grows ------------------------------------------------------------------------------------------------------


async def test_following_gives_every_line_once_and_ends(tmp_path: Path, ears: Ears) -> None:
    logs = RunLogs(tmp_path, SystemClock(), ears)
    open_here = threading.Event()
    open_here.set()

    def write() -> None:
        log = logs.open(7, NOON)
        for number in range(1, 3001):
            log.write(str(number))
        log.close()
        open_here.clear()

    writer = threading.Thread(target=write)
    followed = logs.follow(7, NOON, finished=lambda: not open_here.is_set())
    writer.start()
    async with asyncio.timeout(20):
        pages = [page async for page in followed]
    writer.join()
    lines = [
        line.split(" ")[1] for page in pages if page.to_line >= page.from_line for line in page.content.split("\n")
    ]
    assert lines == [str(number) for number in range(1, 3001)]
    assert [page.end for page in pages] == [False] * (len(pages) - 1) + [True]
    assert logs.growth._waiting == {}


async def test_a_follower_is_woken_by_a_line_and_not_by_its_pause(tmp_path: Path, ears: Ears) -> None:
    class Sleepless(SystemClock):
        """A clock on which only being woken ends a sleep."""

        async def sleep_unless(self, woken: asyncio.Event, seconds: float) -> None:
            await woken.wait()

    logs = RunLogs(tmp_path, Sleepless(), ears)
    log = logs.open(7, NOON)
    pages = logs.follow(7, NOON, finished=lambda: False)
    first = asyncio.ensure_future(anext(pages))
    await asyncio.sleep(0)
    log.write("one")
    async with asyncio.timeout(10):
        assert (await first).to_line == 1
        second = asyncio.ensure_future(anext(pages))
        await asyncio.sleep(0)
        await asyncio.to_thread(log.write, "two")
        assert (await second).content.endswith("two")
    await pages.aclose()
    log.write("nobody listens")


# --- tricks with the file system, and a disk that is full -------------------------------------------------------------


@pytest.mark.parametrize("trick", ["link", "linked folder", "pipe", "folder"])
def test_what_is_no_plain_file_is_neither_read_nor_written(
    logs: RunLogs, tmp_path: Path, ears: Ears, trick: str
) -> None:
    path = logs.path_of(7, NOON)
    secret = tmp_path / "elsewhere" / "7.log"
    secret.parent.mkdir()
    secret.write_text("a secret\n")
    if trick == "linked folder":
        path.parent.symlink_to(secret.parent)
    else:
        path.parent.mkdir()
        {"link": lambda: path.symlink_to(secret), "pipe": lambda: os.mkfifo(path), "folder": path.mkdir}[trick]()
    page = logs.read(7, NOON, 1, finished=False)
    assert page.end
    assert "no log of execution 7" in page.content
    assert logs.tail(7, NOON, 5, finished=False).end
    log = logs.open(7, NOON)
    log.write("dropped")
    log.close()
    assert secret.read_text() == "a secret\n"
    assert [event.log_id for event in ears.of(LogUnwritable)] == [7]


FULL_DISK = """
import resource, sys
from pathlib import Path
from orth.executor import run_logs
from orth.executor.facts import LogUnwritable
from orth.executor.run_logs import RunLogs
from tests.executor.bench import NOON, Ears, HandClock

directory, ears = Path(sys.argv[1]), Ears()
logs = RunLogs(directory, HandClock(), ears)
log = logs.open(7, NOON)
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
for number in range(100):
    log.write(f"line {number}")
assert log.path.stat().st_size == 1000, log.path.stat()
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
log.write("there is room again")
log.write("and the end is here")
log.close()
[told] = ears.of(LogUnwritable)
print(told.error)
"""


def test_a_full_disk_costs_text_and_the_log_says_how_much(logs: RunLogs) -> None:
    root = Path(__file__).parents[2]
    child = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(logs.directory)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert child.returncode == 0, child.stderr
    assert child.stdout == "[Errno 27] File too large\n"
    lines = [line.split(" ", 1) for line in logs.read(7, NOON, 1, finished=True).content.split("\n")]
    whole = [text for _stamp, text in (line for line in lines if len(line) == 2) if text.startswith("line ")]
    assert whole[0] == "line 0"
    assert 20 < len(whole) < 40
    assert lines[-3][1].startswith("… ")
    assert lines[-3][1].endswith(" bytes are missing here: they could not be written …")
    assert [text for _stamp, text in lines[-2:]] == ["there is room again", "and the end is here"]
