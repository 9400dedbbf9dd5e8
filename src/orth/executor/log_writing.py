"""Writing the log of one execution.

What a handler writes is handed to the operating system as soon as it is written, whole, in one call: a killed executor
loses no line that its handler finished, and a reader sees whole lines. Our own remarks (that it begins, how it ended)
may wait a moment in memory (``Unwritten``). Most executions write nothing themselves, and making a file, which costs
more than all else they need, is then one step, off the thread of the job, with the whole text in it. They wait no
longer than until something is written or read, the result is recorded, or ``_LONGEST_WAIT`` has passed. Before a
handler forks they are written too; the child writes to the same file, under locks of its own.

Every line begins with its time, whatever the text holds: line breaks of every kind begin a new line here, other
control characters are kept as they are.

A log that cannot be written (a full disk) does not fail its execution: the trouble is told once as ``LogUnwritable``,
text is dropped while it lasts, and a line in the log says how much was lost once it can be written again. It is tried
again with every line.

The locks here can be taken again by the thread that has them: the garbage collector may run a destructor that prints
at any step.

A log that has reached its limit says so. From there on only the end of what comes is kept, in memory, and written when
the log is closed: the traceback and the line that says how the execution ended are what people look for.
"""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from orth.clock import Clock, iso
from orth.events import Events
from orth.executor.facts import LogUnwritable
from orth.executor.log_files import LatestFolder, LineIndex
from orth.executor.masking import NOTHING_HIDDEN, Mask

LINE_LIMIT = 32 * 1024  # characters; a longer line is broken, so that a page always holds at least one
LAST_WORDS = 256 * 1024  # bytes kept beyond the limit; the longest line fits, whatever its characters
_LONGEST_WAIT = 0.1
_WHOLE = 4096
_OWN_MARK = "--- execution "
"""How lines begin in which the executor says that an execution begins, or how it ended. A line of a handler that begins
like that is indented by a space, so that no reader takes it for a line of the executor."""


class LogsHome:
    """What the logs of one directory share."""

    def __init__(self, clock: Clock, events: Events, limit: int) -> None:
        self.clock = clock
        self.events = events
        self.limit = limit
        self.growth = Growth()
        self.folder = LatestFolder()
        self.unwritten = Unwritten()

    def part(self) -> None:
        """In a forked child: other threads, which are not here, may have had the locks."""
        self.growth.part()
        self.folder.part()
        self.unwritten = Unwritten()


class RunLog:
    """The open log of one execution. Safe to write from any thread; after ``close`` lines are dropped."""

    mask: Mask = NOTHING_HIDDEN
    """What must not be read in it."""

    def __init__(self, log_id: int, path: str, home: LogsHome) -> None:
        self.log_id = log_id
        self.name = path
        """Its file, as a text."""
        self._home = home
        self._lock = threading.RLock()
        self._waiting = b""
        self._size = 0
        self._lost = 0
        self._torn = False
        self._told = False
        self._closed = False
        self._file: int | None = None
        self._index: LineIndex | None = None
        self._last_words: _LastWords | None = None
        home.growth.opened(path)

    @property
    def path(self) -> Path:
        return Path(self.name)

    def is_at(self, path: str) -> bool:
        return self.name == path

    @property
    def closed(self) -> bool:
        """Whether the execution has ended, as far as its log is concerned."""
        return self._closed

    def write(self, text: str, *, own: bool = False) -> None:
        """Append ``text``; each of its lines gets the time in front. ``own`` text is the executor's, no handler's."""
        data = self._stamped(text, own)
        with self._lock:
            if not self._closed:
                self._bring_out(data)

    def remark(self, text: str) -> None:
        """As ``write`` of the executor's own, but with the next text is soon enough."""
        data = self._stamped(text, own=True)
        with self._lock:
            if self._closed:
                return
            if self._file is not None:
                self._append(self._file, data)
                return
            if not self._waiting:
                self._home.unwritten.add(self)
            self._waiting += data

    def close(self) -> None:
        """Nothing follows. What waits in memory is written by whoever comes first to ask for it."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._waiting:
                self._home.unwritten.ended(self)
            else:
                self._finish()

    def bring_out(self) -> None:
        """Write what waits in memory."""
        with self._lock:
            if not self._waiting:
                return
            if self._closed and self._file is None and not self._lost and self._write_whole(self._waiting):
                return
            self._bring_out(b"")
            if self._closed:
                self._finish()

    def _stamped(self, text: str, own: bool) -> bytes:
        stamp = iso(self._home.clock.now())
        lines = lines_of_text(self.mask.hide(text))
        if _OWN_MARK in text:  # a parameter, which the first own line repeats, may have line breaks
            lines = [line if own and number == 0 else _not_ours(line) for number, line in enumerate(lines)]
        return "".join([f"{stamp} {line}\n" for line in lines]).encode("utf-8", "backslashreplace")

    def _write_whole(self, text: bytes) -> bool:
        """Make the file with all that will ever be in it, which is the usual way; false when it takes the other."""
        if len(text) > min(_WHOLE, self._home.limit) or not self._home.folder.write_new(self.name, text):
            return False
        self._waiting = b""
        self._home.unwritten.forget(self)
        self._home.growth.written(self.name, len(text))
        self._home.growth.closed(self.name)
        return True

    def part(self) -> None:
        """In a forked child: what waits is the parent's to write."""
        self._lock = threading.RLock()
        self._waiting = b""

    def _bring_out(self, more: bytes) -> None:
        waited, self._waiting = self._waiting, b""
        file = self._opened()
        if file is None:
            self._lost += len(waited) + len(more)
        else:
            self._append(file, waited + more)
        if waited:
            self._home.unwritten.forget(self)  # now: until it is in the file, readers must find it

    def _opened(self) -> int | None:
        if self._file is None:
            try:
                self._file, self._size = self._home.folder.create(self.name)
            except OSError as error:
                self._tell(error)
                return None
            self._index = LineIndex(self.name)
            if self._size > self._home.limit:
                self._last_words = _LastWords()
        return self._file

    def _finish(self) -> None:
        if self._file is None and self._lost and (file := self._opened()) is not None:
            self._hand_over(file, b"")
        self._write_last_words()
        if self._file is not None:
            os.close(self._file)
            self._file = None
        self._home.growth.closed(self.name)

    def _append(self, file: int, data: bytes) -> None:
        limit = self._home.limit
        if self._last_words is None and self._size + len(data) > limit:
            self._last_words = _LastWords()
            note = self._told_apart(f"this log may have {limit} bytes; of the rest only the end will be kept")
            self._hand_over(file, note)
        if self._last_words is None:
            self._hand_over(file, data)
        else:
            self._last_words.add(data)

    def _write_last_words(self) -> None:
        if self._file is None or self._last_words is None:
            return
        words = self._last_words.taken()
        left_out = self._last_words.left_out
        note = self._told_apart(f"{left_out} bytes are left out here") if left_out else b""
        if words:
            self._hand_over(self._file, note + words)

    def _hand_over(self, file: int, data: bytes) -> None:
        if self._lost:
            told = self._told_apart(f"{self._lost} bytes are missing here: they could not be written")
            data = (b"\n" if self._torn else b"") + told + data
        written = 0
        try:
            while written < len(data):
                written += os.write(file, data[written:])
            self._lost, self._torn = 0, False
        except OSError as error:
            self._lost += len(data) - written
            self._torn = data[:written][-1:] != b"\n" if written else self._torn
            self._tell(error)
        self._size += written
        if self._index is not None:
            self._index.note(data[:written])
        self._home.growth.written(self.name, written)

    def _told_apart(self, text: str) -> bytes:
        return f"{iso(self._home.clock.now())} … {text} …\n".encode()

    def _tell(self, error: OSError) -> None:
        if not self._told:
            self._told = True
            self._home.events.emit(LogUnwritable(self.log_id, str(error)))


class Unwritten:
    """Logs whose text is in memory so far.

    Every execution passes here, in threads that all want the interpreter: a lock they shared would be handed from one
    sleeping thread to the next. Steps that Python does as one (a dictionary's, a deque's) need none.
    """

    def __init__(self) -> None:
        self._waiting: dict[RunLog, None] = {}
        self._ended: deque[RunLog] = deque()
        """Those among them that are complete."""
        self._starting = threading.Lock()
        self._watched = False
        self._watcher: threading.Thread | None = None
        self._hurry = threading.Event()

    def add(self, log: RunLog) -> None:
        self._waiting[log] = None
        if not self._watched:
            self._watch()

    def ended(self, log: RunLog) -> None:
        self._ended.append(log)

    def forget(self, log: RunLog) -> None:
        """It is written."""
        self._waiting.pop(log, None)

    def write_ended(self) -> None:
        """Write the logs that are complete."""
        with suppress(IndexError):  # when there are none left
            while True:
                self._ended.popleft().bring_out()

    def write_those_at(self, path: str) -> None:
        """Write what waits for the file at ``path``, before somebody reads it."""
        for log in tuple(self._waiting):
            if log.is_at(path):
                log.bring_out()

    def close(self) -> None:
        """Write what waits, and leave no thread behind."""
        watcher = self._watcher
        if watcher is not None:
            self._hurry.set()
            watcher.join()
            self._hurry.clear()
        self.write_ended()

    def _watch(self) -> None:
        with self._starting:
            if self._watched:
                return
            self._watched = True
            watcher = threading.Thread(target=self._wait, name="orth-logs", daemon=True)
            try:
                watcher.start()
                self._watcher = watcher
            except RuntimeError:  # no thread to be had: the end of an execution will see to it
                self._watched = False

    def _wait(self) -> None:
        """Write what has waited long enough, until nothing waits."""
        while self._watched:
            waiting = tuple(self._waiting)
            self._hurry.wait(_LONGEST_WAIT)
            self.write_ended()
            for log in waiting:
                log.bring_out()
            with self._starting:
                self._watched = bool(self._waiting)
        # One that came between looking and saying so has seen that it is watched; it is looked for once more.
        if self._waiting:
            self._watch()


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


def _not_ours(line: str) -> str:
    return f" {line}" if line.startswith(_OWN_MARK) else line


def lines_of_text(text: str) -> list[str]:
    """The lines a log has of ``text``: line breaks of every kind end one, and a long one is broken."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").rstrip("\r").replace("\r", "\n")
    lines = text.split("\n")
    if len(text) <= LINE_LIMIT:
        return lines
    return [line[start : start + LINE_LIMIT] for line in lines for start in range(0, len(line) or 1, LINE_LIMIT)]


class Growth:
    """What is being written, and who waits for more of it."""

    def __init__(self) -> None:
        self.bytes_written = 0
        self._lock = threading.RLock()
        self._open: set[str] = set()
        self._waiting: dict[str, list[Callable[[], None]]] = {}
        self._listener: Callable[[str], None] | None = None

    def part(self) -> None:
        """In a forked child."""
        self._lock = threading.RLock()
        self._waiting = {}
        self._listener = None

    def listen(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Have ``listener`` called with the path of every log that grows, by the thread that writes it; what ends
        that. There is one at most.
        """
        self._listener = listener

        def unlisten() -> None:
            self._listener = None

        return unlisten

    def opened(self, path: str) -> None:
        self._open.add(path)

    def written(self, path: str, count: int) -> None:
        with self._lock:
            self.bytes_written += count
            if self._waiting:
                for wake in self._waiting.get(path, ()):
                    wake()
        if self._listener is not None:
            self._listener(path)

    def closed(self, path: str) -> None:
        self._open.discard(path)
        if self._waiting:
            self.written(path, 0)

    def is_written_to(self, folder: str) -> bool:
        """Whether a log in ``folder`` is open."""
        return any(path.startswith(f"{folder}/") for path in tuple(self._open))

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
