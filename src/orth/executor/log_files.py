"""The files behind the logs: opened so that nothing else can be meant, and an index that finds a line of a long one.

A name is followed neither into a symbolic link nor into a pipe or device: the day's folder and the file are opened
without following, and what is open must be a regular file. Paths are plain strings here: this is the busiest spot of
an executor, and making a ``Path`` costs more than some of the calls.

The index of ``<logId>.log`` is ``<logId>.index``: eight bytes for every ``STEP`` lines, the offset where the next line
begins. It exists only beside logs that are that long. The writer appends to it, and only while it can prove that every
byte of the log is its own; so an entry that is there is right, and one that is missing costs a longer search.
"""

import errno
import os
import stat
import threading
from contextlib import suppress

STEP = 1024
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC  # exclusive: neither link nor pipe
_ENTRY = 8


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


class LineIndex:
    """The index of a log while it is written."""

    def __init__(self, log_path: str, *, complete: bool) -> None:
        self._log_path = log_path
        self._lines = 0
        self._complete = complete
        """Whether every byte of the log has been noted here; with the first doubt no entry is added any more."""

    def note(self, data: bytes, begin: int, file: int) -> None:
        """``data`` was just written to ``file``, as its bytes from ``begin`` on."""
        if not self._complete:
            return
        before = self._lines
        self._lines += data.count(b"\n")
        if before // STEP == self._lines // STEP:
            return
        # In append mode the position after a write is the true end: anybody else's bytes move it.
        self._complete = os.lseek(file, 0, os.SEEK_CUR) == begin + len(data)
        if self._complete:
            self._add(data, begin, before)

    def _add(self, data: bytes, begin: int, line: int) -> None:
        entries = []
        place = 0
        while line < self._lines:
            place = data.index(b"\n", place) + 1
            line += 1
            if line % STEP == 0:
                entries.append((begin + place).to_bytes(_ENTRY, "big"))
        try:
            index, _ = open_to_append(index_path(self._log_path))
            try:
                os.write(index, b"".join(entries))
            finally:
                os.close(index)
        except OSError:
            self._complete = False


def index_path(log_path: str) -> str:
    return log_path.removesuffix(".log") + ".index"


def place_before(log_path: str, file: int, wanted: int) -> tuple[int, int]:
    """A line at or before ``wanted`` that the index knows, and the offset where it begins; else the first line."""
    entries = _entries(log_path)
    number = min((wanted - 1) // STEP, len(entries) // _ENTRY)
    if number <= 0:
        return 1, 0
    place = int.from_bytes(entries[(number - 1) * _ENTRY : number * _ENTRY], "big")
    begins_a_line = 0 < place <= os.fstat(file).st_size and os.pread(file, 1, place - 1) == b"\n"
    return (number * STEP + 1, place) if begins_a_line else (1, 0)


def indexed_lines(log_path: str) -> int:
    """How many lines the index covers: the log has at least as many."""
    return len(_entries(log_path)) // _ENTRY * STEP


def _entries(log_path: str) -> bytes:
    with suppress(OSError):
        index = open_to_read(index_path(log_path))
        with os.fdopen(index, "rb") as file:
            return file.read()
    return b""
