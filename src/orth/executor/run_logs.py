"""The text of each execution: one file, appended while it runs, read by line number, from its end, or as it grows.

Files are ``<dir>/yyyy-MM-dd/<logId>.log``. The day is that of ``logDateTime`` in UTC, and so are the times in front of
the lines: both ends can compute the name, and neither a change of the machine's zone nor daylight saving moves a file.
Should a coordinator use an id again on a day, the earlier log is kept as ``<logId>.<its time>.log``.
Names are made from integers only; no text from the network reaches the file system.

How they are written is in ``log_writing``; whoever reads here sees everything that was written before.
"""

import asyncio
import os
import threading
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from orth.clock import Clock
from orth.errors import Invalid
from orth.events import Events
from orth.executor.log_files import (
    LONGEST_LINE,
    STEP,
    LineCount,
    index_path,
    indexed_lines,
    is_begun,
    lines_of,
    open_to_read,
    place_before,
)
from orth.executor.log_writing import LogsHome, RunLog
from orth.forked import let_go_in_child
from orth.wire.messages import LogPage

FILE_LIMIT = 1024 * 1024 * 1024
PAGE_LINES = 1000
"""Lines of a page, unless more are asked for."""
LONG_PAGE_LINES = 50_000
PAGE_BYTES = LONGEST_LINE
LATEST_INSTANT = 253_402_300_799_999  # the last millisecond of the year 9999
_REMEMBERED_PLACES = 256
_DAY = 86_400_000
_FOLLOW_PAUSE = 1.0
"""How soon a follower looks again unasked: the end of an execution comes after the last line of its log."""


@lru_cache(maxsize=16)
def _day(number: int) -> str:
    return datetime.fromtimestamp(number * _DAY / 1000, UTC).strftime("%Y-%m-%d")


class RunLogs:
    """All logs below one directory."""

    def __init__(self, directory: Path, clock: Clock, events: Events, *, file_limit: int = FILE_LIMIT) -> None:
        self.directory = directory
        self._root = str(directory)
        self._home = LogsHome(clock, events, file_limit)
        self._keep_in_child = let_go_in_child(self._home.part)
        self.growth = self._home.growth
        self._clock = clock
        self._lock = threading.Lock()
        self._places: OrderedDict[str, tuple[int, int]] = OrderedDict()
        """Where the last page of a file ended: a viewer asks for the line after it, which must not cost a full read."""

    def path_of(self, log_id: int, log_time: int) -> Path:
        return Path(self._path_of(log_id, log_time))

    def _path_of(self, log_id: int, log_time: int) -> str:
        if log_id < 0 or not 0 <= log_time <= LATEST_INSTANT:
            raise Invalid(f"There can be no log {log_id} of instant {log_time}.")
        return f"{self._root}/{_day(log_time // _DAY)}/{log_id}.log"

    def open(self, log_id: int, log_time: int) -> RunLog:
        path = self._path_of(log_id, log_time)
        self._home.folder.prepare(path.rpartition("/")[0])
        return RunLog(log_id, path, self._home)

    def set_aside(self, log_id: int, log_time: int, ended_time: int) -> None:
        """Keep the log of an earlier execution that had the same id, triggered at ``ended_time``, under another name:
        the one that comes has its own.
        """
        path = self._path_of(log_id, log_time)
        if path != self._path_of(log_id, ended_time):
            return
        self._home.unwritten.write_those_at(path)
        with suppress(OSError):  # it never had one, or it is gone
            os.rename(path, f"{path.removesuffix('.log')}.{ended_time}.log")
            os.unlink(index_path(path))
        with self._lock:
            self._places.pop(path, None)

    def write_ended(self) -> None:
        """See to it that the logs of executions which have ended are in their files."""
        self._home.unwritten.write_ended()

    def close(self) -> None:
        """Let go of what is kept open between logs; what is asked for later is opened again."""
        self._home.unwritten.close()
        self._home.folder.close()
        self._keep_in_child()

    def read(self, log_id: int, log_time: int, from_line: int, *, finished: bool, lines: int | None = None) -> LogPage:
        """A page from ``from_line`` (the first is 1), of up to ``lines`` lines if so many are asked for. Learn whether
        it is ``finished`` before calling, not after.
        """
        wanted, most = max(1, from_line), min(lines or PAGE_LINES, LONG_PAGE_LINES)
        path = self._path_of(log_id, log_time)
        self._home.unwritten.write_those_at(path)
        try:
            with os.fdopen(open_to_read(path), "rb") as file:
                return self._page(path, file, wanted, most, finished)
        except OSError as error:
            return _no_page(log_id, wanted, finished or not isinstance(error, FileNotFoundError))

    def tail(self, log_id: int, log_time: int, lines: int, *, finished: bool) -> LogPage:
        """The last ``lines`` lines, fewer if they would not fit into a page. Reads no more than the end of the file."""
        path = self._path_of(log_id, log_time)
        most = min(max(1, lines), PAGE_LINES)
        self._home.unwritten.write_those_at(path)
        try:
            with os.fdopen(open_to_read(path), "rb") as file:
                first, place = place_before(path, file.fileno(), indexed_lines(path) - most + 1)
                return _last_lines(file, LineCount(path, first, place), most, finished)
        except OSError as error:
            return _no_page(log_id, 1, finished or not isinstance(error, FileNotFoundError))

    async def follow(
        self, log_id: int, log_time: int, from_line: int = 1, *, finished: Callable[[], bool]
    ) -> AsyncIterator[LogPage]:
        """Pages from ``from_line`` on, as they come; the last has ``end``. ``finished`` says when no more will."""
        line = max(1, from_line)
        with self.growth.awaited(self._path_of(log_id, log_time)) as grown:
            while True:
                grown.clear()
                page = await asyncio.to_thread(self.read, log_id, log_time, line, finished=finished())
                if page.end or page.to_line >= line:
                    yield page
                if page.end:
                    return
                if page.to_line < line:
                    await self._clock.sleep_unless(grown, _FOLLOW_PAUSE)
                line = page.to_line + 1

    def _page(self, path: str, file: BinaryIO, wanted: int, most: int, finished: bool) -> LogPage:
        taken: list[bytes] = []
        size = 0
        at_end = True
        count = LineCount(path, *self._known_place(path, file.fileno(), wanted))
        file.seek(count.place)
        for raw in lines_of(file):
            if is_begun(raw) and not finished:
                break  # the writer is in the middle of it
            if count.line >= wanted:
                if len(taken) == most or (taken and size + len(raw) > PAGE_BYTES):
                    at_end = False
                    break
                taken.append(raw)
                size += len(raw)
            count.add(raw)
        count.keep()
        self._remember_place(path, count.line, count.place)
        return _page_of(taken, wanted, max(count.line, wanted) - 1, end=finished and at_end)

    def _known_place(self, path: str, file: int, wanted: int) -> tuple[int, int]:
        """A line at or before ``wanted`` and the offset where it begins."""
        with self._lock:
            line, place = self._places.get(path, (1, 0))
        remembered = (line, place) if line <= wanted and place <= os.fstat(file).st_size else (1, 0)
        if wanted - remembered[0] < STEP:
            return remembered
        return max(remembered, place_before(path, file, wanted))

    def _remember_place(self, path: str, line: int, place: int) -> None:
        with self._lock:
            self._places[path] = (line, place)
            self._places.move_to_end(path)
            if len(self._places) > _REMEMBERED_PLACES:
                self._places.popitem(last=False)


def _last_lines(file: BinaryIO, count: LineCount, most: int, finished: bool) -> LogPage:
    kept: deque[bytes] = deque()
    size = 0
    file.seek(count.place)
    for raw in lines_of(file):
        if is_begun(raw) and not finished:
            break
        kept.append(raw)
        count.add(raw)
        size += len(raw)
        while len(kept) > 1 and (len(kept) > most or size > PAGE_BYTES):
            size -= len(kept.popleft())
    count.keep()
    return _page_of(list(kept), count.line - len(kept), count.line - 1, end=finished)


def _page_of(lines: list[bytes], first: int, last: int, *, end: bool) -> LogPage:
    content = b"".join(lines).decode("utf-8", "replace").removesuffix("\n")
    return LogPage(from_line=first, to_line=last, content=content, end=end)


def _no_page(log_id: int, wanted: int, for_good: bool) -> LogPage:
    why = "it did not run on this executor, died with it as it began, or was cleaned up"
    if not for_good:
        return LogPage(from_line=wanted, to_line=wanted - 1, content="", end=False)
    # Not a line of it: whoever asked for line 5 must not take it for one.
    content = f"There is no log of execution {log_id} here: {why}."
    return LogPage(from_line=wanted, to_line=0, content=content, end=True)
