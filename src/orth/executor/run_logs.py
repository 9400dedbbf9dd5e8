"""The text of each execution: one file, appended while it runs, read by line number.

Files are ``<dir>/yyyy-MM-dd/<logId>.log``. The day is that of ``logDateTime`` in UTC, and so are the times in front of
the lines: both ends can compute the name, and neither a change of the machine's zone nor daylight saving moves a file.
Names are made from two integers only; no text from the network reaches the file system.

Each line is handed to the operating system as soon as it is written, whole, in one call. A killed executor therefore
loses no line that its handler finished, and a reader sees whole lines. A log that cannot be written (a full disk) does
not fail its execution: the trouble is told once as ``LogUnwritable`` and the rest of the text is dropped.
"""

import os
import threading
from collections import OrderedDict
from datetime import UTC, datetime
from pathlib import Path

from orth.clock import Clock, iso
from orth.errors import Invalid
from orth.events import Events
from orth.executor.facts import LogUnwritable
from orth.wire.messages import LogPage

LINE_LIMIT = 32 * 1024  # characters; a longer line is broken, so that a page always holds at least one
FILE_LIMIT = 64 * 1024 * 1024
PAGE_LINES = 1000
PAGE_BYTES = 1024 * 1024
LATEST_INSTANT = 253_402_300_799_999  # the last millisecond of the year 9999
_REMEMBERED_PLACES = 256


class RunLog:
    """The open log of one execution. Safe to write from any thread; after ``close`` lines are dropped."""

    def __init__(self, log_id: int, path: Path, clock: Clock, events: Events) -> None:
        self.log_id = log_id
        self.path = path
        self._clock = clock
        self._events = events
        self._lock = threading.Lock()
        self._size = 0
        self._file: int | None = None
        try:
            self._file = _open_to_append(path)
            self._size = os.fstat(self._file).st_size
        except OSError as error:
            events.emit(LogUnwritable(log_id, str(error)))

    def write(self, text: str) -> None:
        """Append ``text``; each of its lines gets the time in front."""
        stamp = iso(self._clock.now())
        lines = "".join(f"{stamp} {piece}\n" for line in text.split("\n") for piece in _pieces(line.rstrip("\r")))
        with self._lock:
            self._append(lines.encode("utf-8", "backslashreplace"))

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def _append(self, data: bytes) -> None:
        if self._file is None:
            return
        full = self._size + len(data) > FILE_LIMIT
        if full:
            stamp = iso(self._clock.now())
            data = f"{stamp} … this log has reached {FILE_LIMIT} bytes; the rest is left out …\n".encode()
        self._size += len(data)
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            self._events.emit(LogUnwritable(self.log_id, str(error)))
            full = True
        if full:
            os.close(self._file)
            self._file = None


def _open_to_append(path: Path) -> int:
    how = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    try:
        return os.open(path, how, 0o640)
    except FileNotFoundError:  # the first execution of its day
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, how, 0o640)


def _pieces(line: str) -> list[str]:
    return [line[start : start + LINE_LIMIT] for start in range(0, len(line), LINE_LIMIT)] or [""]


class RunLogs:
    """All logs below one directory."""

    def __init__(self, directory: Path, clock: Clock, events: Events) -> None:
        self.directory = directory
        self._clock = clock
        self._events = events
        self._lock = threading.Lock()
        self._places: OrderedDict[Path, tuple[int, int]] = OrderedDict()
        """Where the last page of a file ended: a viewer asks for the line after it, which must not cost a full read."""

    def path_of(self, log_id: int, log_time: int) -> Path:
        if log_id < 0 or not 0 <= log_time <= LATEST_INSTANT:
            raise Invalid(f"There can be no log {log_id} of instant {log_time}.")
        day = datetime.fromtimestamp(log_time / 1000, UTC).strftime("%Y-%m-%d")
        return self.directory / day / f"{log_id}.log"

    def open(self, log_id: int, log_time: int) -> RunLog:
        return RunLog(log_id, self.path_of(log_id, log_time), self._clock, self._events)

    def read(self, log_id: int, log_time: int, from_line: int, *, finished: bool) -> LogPage:
        """A page from ``from_line`` (the first is 1). Learn whether it is ``finished`` before calling, not after."""
        path = self.path_of(log_id, log_time)
        wanted = max(1, from_line)
        try:
            return self._page(path, wanted, finished)
        except FileNotFoundError:
            if not finished:
                return LogPage(from_line=wanted, to_line=wanted - 1)
            content = f"There is no log of execution {log_id} here: it did not run on this executor, or was cleaned up."
            return LogPage(from_line=wanted, to_line=wanted - 1, content=content, end=True)

    def _page(self, path: Path, wanted: int, finished: bool) -> LogPage:
        taken: list[bytes] = []
        size = 0
        at_end = True
        with path.open("rb") as file:
            line, place = self._known_place(path, wanted, os.fstat(file.fileno()).st_size)
            file.seek(place)
            for raw in file:
                if not raw.endswith(b"\n") and not finished:
                    break  # the writer is in the middle of it
                if line >= wanted:
                    if len(taken) == PAGE_LINES or (taken and size + len(raw) > PAGE_BYTES):
                        at_end = False
                        break
                    taken.append(raw)
                    size += len(raw)
                place += len(raw)
                line += 1
        self._remember_place(path, line, place)
        content = b"".join(taken).decode("utf-8", "replace").removesuffix("\n")
        return LogPage(from_line=wanted, to_line=max(line, wanted) - 1, content=content, end=finished and at_end)

    def _known_place(self, path: Path, wanted: int, size: int) -> tuple[int, int]:
        """A line at or before ``wanted`` and the offset where it begins."""
        with self._lock:
            line, place = self._places.get(path, (1, 0))
        return (line, place) if line <= wanted and place <= size else (1, 0)

    def _remember_place(self, path: Path, line: int, place: int) -> None:
        with self._lock:
            self._places[path] = (line, place)
            self._places.move_to_end(path)
            if len(self._places) > _REMEMBERED_PLACES:
                self._places.popitem(last=False)
