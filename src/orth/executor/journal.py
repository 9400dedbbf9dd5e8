"""The outbox on disk: append-only segments of checked records, safe against being killed at any byte.

A record is one line: the CRC-32 of its body in hexadecimal, the length of the body, the body. The body is JSON, which
has no raw line breaks, so a reader that meets damage finds its feet again at the next line; if it is the line break
that is damaged, at the end that the length tells. Three kinds exist: ``put``
holds a result, ``done`` the ids of results that need no longer be sent, ``ended`` what remains of those: how and when.
What was put and is not done is waiting.

``put`` is forced to the disk before it counts; writers that arrive together share one fsync. ``done`` is not forced:
losing one makes a result be sent again, which changes nothing. After a failed write or fsync the segment is never
trusted again; ``rewrite`` begins a new one with everything that waits, and only then removes the old ones. A segment
that could not be read to its end is never removed: it stays for the next start, which may be luckier. Results it holds
may then be sent a second time, which changes nothing either.

Of results that are done, the newest ``ENDED_KEPT`` are remembered, also in the next process: a trigger that is repeated
after a restart is recognized. That costs no fsync.

A lock file keeps a second process out: two writers would delete each other's segments.

A removed file can still be written and forced to the disk, and the next process would not find it. So the segment and
the lock are compared with what their paths name before a ``put`` counts, and now and then (``check_files``). A segment
without its name is a failed one; ``rewrite`` makes the folder and takes the lock again. What another process left there
meanwhile stays for the next start.
"""

import errno
import fcntl
import json
import os
import re
import stat
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from orth.errors import Conflict
from orth.events import Events
from orth.executor.facts import RecordQuarantined
from orth.executor.results import Result
from orth.forked import let_go_in_child
from orth.wire.messages import RunRequest

VERSION = 1
RECORD_LIMIT = 2 * 1024 * 1024
ENDED_KEPT = 10_000
_SAME_WITHIN = 60_000
"""Milliseconds between the trigger times of two requests with one id that are one execution."""
_ENDED_PER_RECORD = 500
_QUARANTINE_LIMIT = 4 * 1024 * 1024
_FRAME = re.compile(rb"([0-9a-f]{8}) (\d{1,7}) ")
_SUFFIX = ".journal"
_QUARANTINE = "quarantined"
_LOCK = "lock"


def put_record(item: Result) -> bytes:
    return _framed(b'{"v":%d,"put":%s}' % (VERSION, item.model_dump_json(by_alias=True, exclude_none=True).encode()))


def done_record(log_ids: Iterable[int]) -> bytes:
    return _framed(json.dumps({"v": VERSION, "done": list(log_ids)}, separators=(",", ":")).encode())


def ended_records(ended: Mapping[int, "Ended"]) -> Iterator[bytes]:
    lines = [(log_id, *how) for log_id, how in ended.items()]
    for first in range(0, len(lines), _ENDED_PER_RECORD):
        some = lines[first : first + _ENDED_PER_RECORD]
        # The jobs stand beside, so that a program from before they were kept can read the rest.
        body = {"v": VERSION, "ended": [line[:3] for line in some], "jobs": [line[3] for line in some]}
        yield _framed(json.dumps(body, separators=(",", ":")).encode())


Ended = tuple[int, int, int]
"""What is remembered of an execution that has ended: its code, its trigger time and its job. A plain tuple of numbers,
for these are kept by the hundred thousand and the garbage collector looks at no such tuple twice.
"""


def is_same(request: RunRequest, log_time: int, job_id: int) -> bool:
    """Whether a request is for what is known here under its id, with this trigger time, of this job (0: not known)."""
    return abs(request.log_date_time - log_time) <= _SAME_WITHIN and job_id in (request.job_id, 0)


def _framed(written: bytes) -> bytes:
    return b"%08x %d %s\n" % (zlib.crc32(written), len(written), written)


@dataclass(slots=True)
class _Batch:
    """Records that go to the disk together."""

    records: list[bytes] = field(default_factory=list)
    force: bool = False
    written: bool = False
    failure: OSError | None = None


class Journal:
    """The segments of one directory. Safe to append to from any thread."""

    def __init__(self, directory: Path, events: Events) -> None:
        self._directory = directory
        self._events = events
        self._filling = threading.Lock()
        self._batch = _Batch()
        self._writing = threading.Lock()
        self._segment: int | None = None
        self._number = 0
        self._unread: set[Path] = set()
        self.ended: dict[int, Ended] = {}
        """What was lately delivered, oldest first."""
        self.size = 0
        """Bytes in the current segment."""
        self.fsyncs = 0
        self._lock_file = _take_lock(directory)
        self._keep_in_child = let_go_in_child(self._leave_lock)

    def recover(self) -> dict[int, Result]:
        """What waits, from all segments; they are replaced by one fresh segment that holds exactly that."""
        waiting: dict[int, Result] = {}
        for path in self._segments():
            self._number = max(self._number, int(path.stem))
            self._replay(path, waiting)
        self._forget()
        self.rewrite(lambda: map(put_record, waiting.values()))
        return waiting

    def remember(self, items: Iterable[Result]) -> None:
        """Keep in mind how these ended. By itself this writes nothing: ``done`` and ``put`` together say the same."""
        for item in items:
            self.ended.pop(item.log_id, None)  # the newest are last
            self.ended[item.log_id] = (item.handle_code, item.log_date_time, item.job_id)
        self._forget()

    def _forget(self) -> None:
        for log_id in list(islice(self.ended, max(0, len(self.ended) - ENDED_KEPT))):
            del self.ended[log_id]

    @property
    def broken(self) -> bool:
        """Whether nothing can be appended until ``rewrite`` succeeds."""
        return self._segment is None

    def append(self, record: bytes, *, force: bool) -> None:
        """Write ``record``; with ``force`` return only when it is on the disk. ``OSError`` if that failed."""
        with self._filling:
            batch = self._batch
            batch.records.append(record)
            batch.force |= force
        with self._writing:  # those who waited here find their batch written by the one before them
            if not batch.written:
                with self._filling:
                    self._batch = _Batch()
                self._write(batch)
        if batch.failure is not None:
            raise batch.failure

    def rewrite(self, records: Callable[[], Iterable[bytes]]) -> None:
        """Begin a new segment with ``records`` and what is remembered, and remove the older ones.

        ``records`` is asked while nobody can append, so nothing falls between the old segment and the new.
        """
        with self._writing:
            self._take_folder_again()
            number = self._number + 1
            path = self._path(number)
            segment = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                size = sum(_write_all(segment, record) for record in chain(ended_records(self.ended), records()))
                os.fsync(segment)
                _fsync_directory(self._directory)
            except BaseException:
                os.close(segment)
                with suppress(OSError):
                    path.unlink()
                raise
            self._leave_segment()
            self._segment, self._number, self.size = segment, number, size
            for old in self._segments():
                if int(old.stem) < number and old not in self._unread:
                    with suppress(OSError):  # left behind it is replayed before this one, and changes nothing
                        old.unlink()

    def check_files(self) -> None:
        """``OSError`` if the segment or the lock is no longer the file of its name; then the journal is broken."""
        with self._writing:
            if self._segment is not None:
                self._check_names()

    def _check_names(self) -> None:
        try:
            if self._segment is not None and not _is_named(self._segment, self._path(self._number)):
                raise OSError(errno.ENOENT, "the file was removed or replaced", str(self._path(self._number)))
            if not _is_named(self._lock_file, self._directory / _LOCK):
                self._take_folder_again()
        except OSError:
            self._leave_segment()
            raise

    def _take_folder_again(self) -> None:
        """Have the folder and its lock, if somebody has removed them."""
        if _is_named(self._lock_file, self._directory / _LOCK):
            return
        try:
            taken = _take_lock(self._directory)
        except Conflict as conflict:
            raise OSError(errno.EBUSY, conflict.message) from None
        os.close(self._lock_file)
        self._lock_file = taken
        own = self._path(self._number)
        others = {path for path in self._segments() if path != own or self._segment is None}
        self._unread |= others
        self._number = max([self._number, *(int(path.stem) for path in others)])

    def close(self) -> None:
        """Let go of the files, as the end of the process would."""
        with self._writing:
            self._leave_segment()
            self._keep_in_child()
            if self._lock_file >= 0:
                self._leave_lock()

    def _write(self, batch: _Batch) -> None:
        batch.written = True
        if self._segment is None:
            batch.failure = OSError("the journal is closed after an earlier failure")
            return
        try:
            self.size += _write_all(self._segment, b"".join(batch.records))
            if batch.force:
                os.fsync(self._segment)
                self.fsyncs += 1
                self._check_names()
        except OSError as failure:
            batch.failure = failure
            self._leave_segment()

    def _leave_segment(self) -> None:
        if self._segment is not None:
            os.close(self._segment)
            self._segment = None

    def _leave_lock(self) -> None:
        """Closed and never unlocked: in a forked child that would unlock it for the parent too."""
        os.close(self._lock_file)
        self._lock_file = -1

    def _path(self, number: int) -> Path:
        return self._directory / f"{number:08d}{_SUFFIX}"

    def _segments(self) -> list[Path]:
        return sorted(path for path in self._directory.glob(f"*{_SUFFIX}") if path.stem.isdecimal())

    def _replay(self, path: Path, waiting: dict[int, Result]) -> None:
        read = 0
        try:
            for line in _lines(_open_own(path)):
                self._apply(path, read, line, waiting)
                read += len(line)
        except OSError as error:  # a link, a pipe, somebody else's file: not to be believed; or a disk that fails
            self._unread.add(path)
            reason = f"{error}; the file stays where it is and is looked at again at the next start"
            self._events.emit(RecordQuarantined(path.name, read, max(0, _size_of(path) - read), reason))

    def _apply(self, path: Path, offset: int, line: bytes, waiting: dict[int, Result]) -> None:
        try:
            body = _unframed(line)
            if "put" in body:
                item = Result.model_validate(body["put"])
                waiting[item.log_id] = item
            elif "ended" in body:
                ended = body["ended"]
                lines = zip(ended, body.get("jobs", [0] * len(ended)), strict=True)
                self.ended |= {int(id_): (int(code), int(time), int(job)) for (id_, code, time), job in lines}
            else:
                self.remember([waiting.pop(log_id) for log_id in body["done"] if log_id in waiting])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as damage:
            self._quarantine(path, offset, line, _reason(damage))

    def _quarantine(self, path: Path, offset: int, line: bytes, reason: str) -> None:
        """Keep the bytes for whoever wants to understand them, within a bound, and tell it."""
        aside = self._directory / _QUARANTINE
        with suppress(OSError), aside.open("ab") as file:
            if file.tell() + len(line) <= _QUARANTINE_LIMIT:
                file.write(line)
        self._events.emit(RecordQuarantined(path.name, offset, len(line), reason))


def _take_lock(directory: Path) -> int:
    """The lock of a folder, which is made if need be; ``Conflict`` if another process has it."""
    for folder in (directory.parent, directory):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_named(lock, directory / _LOCK):
                return lock
        except BlockingIOError:
            os.close(lock)
            raise Conflict(f"Another executor uses {directory}.") from None
        os.close(lock)  # removed after it was opened: another process would lock another file


def _is_named(file: int, path: Path) -> bool:
    """Whether ``path`` names the file that is open."""
    try:
        return os.path.samestat(os.fstat(file), os.lstat(path))
    except FileNotFoundError:
        return False


def _unframed(line: bytes) -> dict[str, Any]:
    """The body of a record; ``ValueError`` says what is wrong with it."""
    if not line.endswith(b"\n"):
        raise ValueError("the record is cut off")
    crc, length, written = line[:-1].split(b" ", 2)
    if int(length) != len(written) or int(crc, 16) != zlib.crc32(written):
        raise ValueError("the checksum does not match")
    body: dict[str, Any] = json.loads(written)
    if body["v"] != VERSION:
        raise ValueError(f"the record has version {body['v']}, this program knows {VERSION}")
    return body


def _reason(damage: Exception) -> str:
    if isinstance(damage, ValidationError):
        return f"not a result: {damage.error_count()} fields do not fit"
    return str(damage) or type(damage).__name__


def _open_own(path: Path) -> int:
    """A regular file that belongs to this user, opened without following or waiting for anything."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(file)
        raise OSError(errno.EPERM, "not a file of this executor", path.name)
    return file


def _size_of(path: Path) -> int:
    with suppress(OSError):
        return path.lstat().st_size
    return 0


def _lines(segment: int) -> Iterator[bytes]:
    """Lines in their order; what is longer than any record comes in pieces, which no checksum will match."""
    with os.fdopen(segment, "rb") as file:
        while line := file.readline(RECORD_LIMIT):
            while (end := _end_within(line)) is not None:
                yield line[:end] + b"\n"
                line = line[end + 1 :]
            yield line


def _end_within(line: bytes) -> int | None:
    """Where a whole record ends before its line does: the byte behind it was a line break, and is damaged."""
    frame = _FRAME.match(line)
    if frame is None:
        return None
    begin, end = frame.end(), frame.end() + int(frame[2])
    is_whole = end < len(line) - 1 and zlib.crc32(line[begin:end]) == int(frame[1], 16)
    return end if is_whole else None


def _write_all(file: int, data: bytes) -> int:
    left = data
    while left:
        left = left[os.write(file, left) :]
    return len(data)


def _fsync_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
