"""The files behind the logs: opened so that nothing else can be meant, and an index that finds a line of a long one.

A name is followed neither into a symbolic link nor into a pipe or device: the day's folder and the file are opened
without following, and what is open must be a regular file. Paths are plain strings here: this is the busiest spot of
an executor, and making a ``Path`` costs more than some of the calls.

The index of ``<logId>.log`` is ``<logId>.index``: eight bytes for every ``STEP`` lines, the offset where the next line
begins. It exists only beside logs that are that long. An entry is what somebody has counted in the file itself, from
an entry before it on: others than the writer may have written there, a child that a handler forked or a script that
knows the name. The writer counts every so many lines of its own; a reader who has had to count further keeps that, too.
A log only grows, so all of them come to the same, each entry has its place, and nobody has to wait for anybody. One
that is missing costs a longer search, once.
"""

import errno
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

STEP = 1024
LONGEST_LINE = 1024 * 1024
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC  # exclusive: neither link nor pipe
_ENTRY = 8
_WITHIN_A_LINE = 0
"""The entry of a place that could not be told from a wrong one, because no line break is before it."""


def open_to_append(path: str) -> tuple[int, int]:
    """The file at ``path``, made with its folder when missing, and its size."""
    how = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    try:
        return _open(path, how)
    except FileNotFoundError:  # the first execution of its day
        os.makedirs(os.path.dirname(path), mode=0o750, exist_ok=True)
        return _open(path, how)


def open_to_read(path: str) -> int:
    return _open(path, os.O_RDONLY)[0]


def open_folder(path: str) -> int:
    """A handle of the folder at ``path`` itself, not of what it may point to."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _open(path: str, how: int) -> tuple[int, int]:
    parent, _, name = path.rpartition("/")
    folder = open_folder(parent)
    try:
        # Without blocking: a pipe put in the place of a log would hold us until somebody opened its other end.
        file = os.open(name, how | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o640, dir_fd=folder)
    finally:
        os.close(folder)
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return file, found.st_size


class LatestFolder:
    """Makes new logs in the folder that was used last without looking for it again: it is nearly always today's."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._path = ""
        self._handle = -1
        self._prepared = ""

    def prepare(self, folder: str) -> None:
        """Make the folder, so that others may write there before the first log does."""
        if folder != self._prepared:
            with suppress(OSError):  # it is told when a log cannot be made
                os.makedirs(folder, mode=0o750, exist_ok=True)
                self._prepared = folder

    def part(self) -> None:
        """In a forked child."""
        self._lock = threading.RLock()

    def create(self, path: str) -> tuple[int, int]:
        """A file to append to, as ``open_to_append`` gives it; cheaper when there is none at ``path`` yet."""
        parent, _, name = path.rpartition("/")
        try:
            with self._lock:  # nobody closes the handle while it is used
                if parent != self._path:
                    self._enter(parent)
                return os.open(name, _NEW, 0o640, dir_fd=self._handle), 0
        except FileNotFoundError:  # the folder is not there yet, or was removed since
            self.close()
        except FileExistsError:
            pass
        return open_to_append(path)

    def write_new(self, path: str, text: bytes) -> bool:
        """Make a file that holds ``text``, if the folder is the latest and there is none; false if it was not so."""
        parent, _, name = path.rpartition("/")
        with self._lock:
            if parent != self._path:
                return False
            try:
                file = os.open(name, _NEW, 0o640, dir_fd=self._handle)
            except OSError:  # there is one, or no folder any more, or no room
                return False
        try:
            if os.write(file, text) == len(text):
                return True
        except OSError:
            pass
        finally:
            os.close(file)
        os.truncate(path, 0)  # a full disk: whoever tries again begins at the beginning
        return False

    def close(self) -> None:
        with self._lock:
            self._leave()

    def _enter(self, parent: str) -> None:
        self._leave()
        self._handle = open_folder(parent)
        self._path = parent

    def _leave(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
        self._path, self._handle = "", -1


class LineCount:
    """Counts the lines of a log from one of them on; what it finds is for the index."""

    def __init__(self, log_path: str, line: int, place: int) -> None:
        """``line`` begins at the offset ``place``."""
        self.line = line
        """The next one."""
        self.place = place
        self._log_path = log_path
        self._first = (line - 1) // STEP
        self._found = bytearray()

    def add(self, raw: bytes) -> None:
        """The next line, or as much of an endless one as counts as a line."""
        self.place += len(raw)
        self.line += 1
        if (self.line - 1) % STEP == 0:
            place = self.place if raw.endswith(b"\n") else _WITHIN_A_LINE
            self._found += place.to_bytes(_ENTRY, "big")

    def keep(self) -> bool:
        """Put what was found into the index; false when that cannot be done."""
        if not self._found:
            return True
        try:
            index, _ = _open(index_path(self._log_path), os.O_WRONLY | os.O_CREAT)
            try:
                os.pwrite(index, self._found, self._first * _ENTRY)
            finally:
                os.close(index)
        except OSError:
            return False
        self._first += len(self._found) // _ENTRY
        self._found.clear()
        return True


class LineIndex:
    """Keeps the index of a log up to date while it is written."""

    def __init__(self, log_path: str) -> None:
        self._log_path = log_path
        self._lines = 0
        self._count = LineCount(log_path, 1, 0)
        self._given_up = False

    def note(self, data: bytes) -> None:
        """``data`` was just written to the log."""
        before = self._lines
        self._lines += data.count(b"\n")
        if before // STEP != self._lines // STEP and not self._given_up:
            self._given_up = not self._count_on()

    def _count_on(self) -> bool:
        """Count what has come, whoever wrote it; false when the index cannot be written."""
        try:
            with os.fdopen(open_to_read(self._log_path), "rb") as file:
                file.seek(self._count.place)
                for raw in lines_of(file):
                    if is_begun(raw):
                        break
                    self._count.add(raw)
        except OSError:
            return False
        return self._count.keep()


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """The lines from here on. One that is longer than ``LONGEST_LINE`` counts as several: we break long lines when we
    write them, but a script knows the name of its log, and may write there whatever it likes.
    """
    while raw := file.readline(LONGEST_LINE):
        yield raw


def is_begun(raw: bytes) -> bool:
    """Whether more of this line may come."""
    return not raw.endswith(b"\n") and len(raw) < LONGEST_LINE


def index_path(log_path: str) -> str:
    return log_path.removesuffix(".log") + ".index"


def place_before(log_path: str, file: int, wanted: int) -> tuple[int, int]:
    """A line at or before ``wanted`` that the index knows, and the offset where it begins; else the first line."""
    entries = _entries(log_path)
    number = min((wanted - 1) // STEP, len(entries) // _ENTRY)
    while number > 0 and _place(entries, number) == _WITHIN_A_LINE:
        number -= 1
    if number <= 0:
        return 1, 0
    place = _place(entries, number)
    begins_a_line = place <= os.fstat(file).st_size and os.pread(file, 1, place - 1) == b"\n"
    return (number * STEP + 1, place) if begins_a_line else (1, 0)


def _place(entries: bytes, number: int) -> int:
    return int.from_bytes(entries[(number - 1) * _ENTRY : number * _ENTRY], "big")


def indexed_lines(log_path: str) -> int:
    """How many lines the index covers: the log has at least as many."""
    return len(_entries(log_path)) // _ENTRY * STEP


def _entries(log_path: str) -> bytes:
    with suppress(OSError):
        index = open_to_read(index_path(log_path))
        with os.fdopen(index, "rb") as file:
            return file.read()
    return b""
