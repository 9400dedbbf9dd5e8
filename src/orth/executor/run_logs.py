"""The text of each execution: one file, appended while it runs, read by line number, from its end, or as it grows.

Files are ``<dir>/yyyy-MM-dd/<logId>.log``. The day is that of ``logDateTime`` in UTC, and so are the times in front of
the lines: both ends can compute the name, and neither a change of the machine's zone nor daylight saving moves a file.
Names are made from two integers only; no text from the network reaches the file system.

Each line is handed to the operating system as soon as it is written, whole, in one call. A killed executor therefore
loses no line that its handler finished, and a reader sees whole lines. Every line begins with its time, whatever the
text holds: line breaks of every kind begin a new line here, other control characters are kept as they are.

A log that cannot be written (a full disk) does not fail its execution: the trouble is told once as ``LogUnwritable``,
text is dropped while it lasts, and a line in the log says how much was lost once it can be written again.

A log that has reached its limit says so. From there on only the end of what comes is kept, in memory, and written when
the log is closed: the traceback and the line that says how the execution ended are what people look for.
"""

import asyncio
import os
import threading
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from orth.clock import Clock, iso
from orth.errors import Invalid
from orth.events import Events
from orth.executor.facts import LogUnwritable
from orth.executor.log_files import STEP, LatestFolder, LineIndex, indexed_lines, open_to_read, place_before
from orth.wire.messages import LogPage

LINE_LIMIT = 32 * 1024  # characters; a longer line is broken, so that a page always holds at least one
FILE_LIMIT = 1024 * 1024 * 1024
LAST_WORDS = 256 * 1024  # bytes kept beyond the limit; the longest line fits, whatever its characters
PAGE_LINES = 1000
PAGE_BYTES = 1024 * 1024
LATEST_INSTANT = 253_402_300_799_999  # the last millisecond of the year 9999
_REMEMBERED_PLACES = 256
_DAY = 86_400_000
_FOLLOW_PAUSE = 1.0
"""How soon a follower looks again unasked: the end of an execution comes after the last line of its log."""


class RunLog:
    """The open log of one execution. Safe to write from any thread; after ``close`` lines are dropped."""

    def __init__(
        self,
        log_id: int,
        path: str,
        clock: Clock,
        events: Events,
        growth: "Growth",
        folder: LatestFolder,
        limit: int,
    ) -> None:
        self.log_id = log_id
        self._path = path
        self._clock = clock
        self._events = events
        self._growth = growth
        self._limit = limit
        self._lock = threading.Lock()
        self._size = 0
        self._lost = 0
        self._torn = False
        self._told = False
        self._closed = False
        self._file: int | None = None
        growth.opened(path)
        try:
            self._file, self._size = folder.create(path)
        except OSError as error:
            self._tell(error)
        self._last_words = _LastWords() if self._size > limit else None
        self._index = LineIndex(path, complete=self._size == 0)

    @property
    def path(self) -> Path:
        return Path(self._path)

    def write(self, text: str) -> None:
        """Append ``text``; each of its lines gets the time in front."""
        stamp = iso(self._clock.now())
        if "\r" in text:
            text = text.replace("\r\n", "\n").rstrip("\r").replace("\r", "\n")
        lines = "".join(f"{stamp} {piece}\n" for line in text.split("\n") for piece in _pieces(line))
        with self._lock:
            self._append(lines.encode("utf-8", "backslashreplace"))

    @property
    def closed(self) -> bool:
        """Whether the execution has ended, as far as its log is concerned."""
        return self._closed

    def close(self) -> None:
        with self._lock:
            self._write_last_words()
            self._let_go()
            if not self._closed:
                self._closed = True
                self._growth.closed(self._path)

    def _append(self, data: bytes) -> None:
        if self._file is None:
            return
        if self._last_words is None and self._size + len(data) > self._limit:
            self._last_words = _LastWords()
            note = self._remark(f"this log may have {self._limit} bytes; of the rest only the end will be kept")
            self._hand_over(self._file, note)
        if self._last_words is None:
            self._hand_over(self._file, data)
        else:
            self._last_words.add(data)

    def _write_last_words(self) -> None:
        if self._file is None or self._last_words is None:
            return
        words = self._last_words.taken()
        left_out = self._last_words.left_out
        note = self._remark(f"{left_out} bytes are left out here") if left_out else b""
        if words:
            self._hand_over(self._file, note + words)

    def _let_go(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _hand_over(self, file: int, data: bytes) -> None:
        if self._lost:
            told = self._remark(f"{self._lost} bytes are missing here: they could not be written")
            data = (b"\n" if self._torn else b"") + told + data
        begin, written = self._size, 0
        try:
            while written < len(data):
                written += os.write(file, data[written:])
            self._lost, self._torn = 0, False
        except OSError as error:
            self._lost += len(data) - written
            self._torn = data[:written][-1:] != b"\n" if written else self._torn
            self._tell(error)
        self._size += written
        self._index.note(data[:written], begin, file)
        self._growth.written(self._path, written)

    def _remark(self, text: str) -> bytes:
        return f"{iso(self._clock.now())} … {text} …\n".encode()

    def _tell(self, error: OSError) -> None:
        if not self._told:
            self._told = True
            self._events.emit(LogUnwritable(self.log_id, str(error)))


class _LastWords:
    """The end of all that is added, in whole lines."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self.left_out = 0

    def add(self, lines: bytes) -> None:
        self._kept += lines
        if len(self._kept) > 2 * LAST_WORDS:  # not at every line: what is kept moves when its beginning goes
            self._shorten()

    def taken(self) -> bytes:
        """What is kept; from here on nothing is."""
        self._shorten()
        kept, self._kept = bytes(self._kept), bytearray()
        return kept

    def _shorten(self) -> None:
        excess = len(self._kept) - LAST_WORDS
        if excess > 0:
            begin = self._kept.index(b"\n", excess - 1) + 1
            del self._kept[:begin]
            self.left_out += begin


def _pieces(line: str) -> list[str]:
    if len(line) <= LINE_LIMIT:
        return [line]
    return [line[start : start + LINE_LIMIT] for start in range(0, len(line), LINE_LIMIT)]


class Growth:
    """What is being written, and who waits for more of it."""

    def __init__(self) -> None:
        self.bytes_written = 0
        self._lock = threading.Lock()
        self._open: set[str] = set()
        self._waiting: dict[str, list[Callable[[], None]]] = {}

    def opened(self, path: str) -> None:
        with self._lock:
            self._open.add(path)

    def written(self, path: str, count: int) -> None:
        with self._lock:
            self.bytes_written += count
            if self._waiting:
                for wake in self._waiting.get(path, ()):
                    wake()

    def closed(self, path: str) -> None:
        with self._lock:
            self._open.discard(path)
        self.written(path, 0)

    def is_written_to(self, folder: str) -> bool:
        """Whether a log in ``folder`` is open."""
        with self._lock:
            return any(path.startswith(f"{folder}/") for path in self._open)

    @contextmanager
    def awaited(self, path: str) -> Iterator[asyncio.Event]:
        """An event of the running loop that is set whenever the log at ``path`` grows."""
        grown = asyncio.Event()
        home = asyncio.get_running_loop()

        def wake() -> None:
            with suppress(RuntimeError):  # the follower's loop has ended without it
                home.call_soon_threadsafe(grown.set)

        with self._lock:
            self._waiting.setdefault(path, []).append(wake)
        try:
            yield grown
        finally:
            with self._lock:
                self._waiting[path].remove(wake)
                if not self._waiting[path]:
                    del self._waiting[path]


@lru_cache(maxsize=16)
def _day(number: int) -> str:
    return datetime.fromtimestamp(number * _DAY / 1000, UTC).strftime("%Y-%m-%d")


class RunLogs:
    """All logs below one directory."""

    def __init__(self, directory: Path, clock: Clock, events: Events, *, file_limit: int = FILE_LIMIT) -> None:
        self.directory = directory
        self._file_limit = file_limit
        self._root = str(directory)
        self.growth = Growth()
        self._folder = LatestFolder()
        self._clock = clock
        self._events = events
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
        return RunLog(log_id, path, self._clock, self._events, self.growth, self._folder, self._file_limit)

    def close(self) -> None:
        """Let go of what is kept open between logs; what is asked for later is opened again."""
        self._folder.close()

    def read(self, log_id: int, log_time: int, from_line: int, *, finished: bool) -> LogPage:
        """A page from ``from_line`` (the first is 1). Learn whether it is ``finished`` before calling, not after."""
        wanted = max(1, from_line)
        path = self._path_of(log_id, log_time)
        try:
            with os.fdopen(open_to_read(path), "rb") as file:
                return self._page(path, file, wanted, finished)
        except OSError as error:
            return _no_page(log_id, wanted, finished or not isinstance(error, FileNotFoundError))

    def tail(self, log_id: int, log_time: int, lines: int, *, finished: bool) -> LogPage:
        """The last ``lines`` lines, fewer if they would not fit into a page. Reads no more than the end of the file."""
        path = self._path_of(log_id, log_time)
        count = min(max(1, lines), PAGE_LINES)
        try:
            with os.fdopen(open_to_read(path), "rb") as file:
                first, place = place_before(path, file.fileno(), indexed_lines(path) - count + 1)
                file.seek(place)
                return _last_lines(file, first, count, finished)
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

    def _page(self, path: str, file: BinaryIO, wanted: int, finished: bool) -> LogPage:
        taken: list[bytes] = []
        size = 0
        at_end = True
        line, place = self._known_place(path, file.fileno(), wanted)
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
        return _page_of(taken, wanted, max(line, wanted) - 1, end=finished and at_end)

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


def _last_lines(file: BinaryIO, first: int, count: int, finished: bool) -> LogPage:
    kept: deque[bytes] = deque(maxlen=count)
    line = first
    for raw in file:
        if not raw.endswith(b"\n") and not finished:
            break
        kept.append(raw)
        line += 1
    size = sum(map(len, kept))
    while len(kept) > 1 and size > PAGE_BYTES:
        size -= len(kept.popleft())
    return _page_of(list(kept), line - len(kept), line - 1, end=finished)


def _page_of(lines: list[bytes], first: int, last: int, *, end: bool) -> LogPage:
    content = b"".join(lines).decode("utf-8", "replace").removesuffix("\n")
    return LogPage(from_line=first, to_line=last, content=content, end=end)


def _no_page(log_id: int, wanted: int, for_good: bool) -> LogPage:
    content = f"There is no log of execution {log_id} here: it did not run on this executor, or was cleaned up."
    return LogPage(from_line=wanted, to_line=wanted - 1, content=content if for_good else "", end=for_good)
