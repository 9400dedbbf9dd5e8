"""Lines of all processes: as they come, as they are kept, as they are read again.

A line is shown behind the name of its process. The last ones are kept in memory for the screen, and all go to a file in
the data folder, which is cut in two when it is large: ``orth logs`` reads it, also when nothing runs any more.
"""

import json
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

LOG_FILE = "up.log"
_KEPT = 5000
_LARGEST_FILE = 8 * 1024 * 1024
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_RECORD = re.compile(
    r"(?:\d{4}-\d\d-\d\d )?(\d\d:\d\d:\d\d)(?:\.\d+)? +(DEBUG|INFO|WARNING|ERROR|CRITICAL) +(.*)", re.S
)
_STORED = re.compile(r"(\S+) *\| ?(.*)", re.S)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of one process, without anything a terminal would obey."""

    name: str
    text: str

    @classmethod
    def of(cls, name: str, text: str) -> "Line":
        return cls(name, printable(text))

    def plain(self, width: int = 0) -> str:
        return f"{self.name:<{width}} | {self.text}"


@dataclass(frozen=True, slots=True)
class Record:
    """A line taken apart: when (may be empty), how loud, what."""

    time: str
    level: str
    text: str


def printable(text: str) -> str:
    """``text`` without escape sequences and control characters; a tab is blanks."""
    bare = _ESCAPES.sub("", text).expandtabs(4)
    return "".join(char if char.isprintable() else " " if char.isspace() else "\ufffd" for char in bare)


def record_of(text: str) -> Record:
    """The log record in a line of ours, as text or as JSON; any other line is all text."""
    if found := _RECORD.fullmatch(text):
        return Record(found[1], found[2], found[3].removeprefix("orth: "))
    if text.startswith("{"):
        with suppress(ValueError):
            said = json.loads(text)
            if isinstance(said, dict) and isinstance(said.get("message"), str):
                time = str(said.get("time", ""))[11:19]
                return Record(time, str(said.get("level", "")).upper(), printable(said["message"]))
    return Record("", "", text)


class LastLines:
    """The last lines of all processes, numbered from the first one ever."""

    def __init__(self, kept: int = _KEPT) -> None:
        self._lines: deque[Line] = deque(maxlen=kept)
        self.count = 0

    def add(self, line: Line) -> None:
        self._lines.append(line)
        self.count += 1

    def since(self, number: int) -> list[Line]:
        """Those after the first ``number`` that are still there."""
        missing = max(0, self.count - number)
        return list(self._lines)[-missing:] if missing else []

    def __iter__(self) -> Iterator[Line]:
        return iter(self._lines)

    def __reversed__(self) -> Iterator[Line]:
        return reversed(self._lines)


class LogFile:
    """Where lines are kept: the file and the one before it."""

    def __init__(self, folder: Path, *, largest: int = _LARGEST_FILE) -> None:
        self.path = folder / LOG_FILE
        self._largest = largest
        self._out: TextIO | None = None
        self._size = 0

    def add(self, line: Line) -> None:
        """Write it; where that fails, say nothing: the line was shown."""
        with suppress(OSError, ValueError):
            text = line.plain() + "\n"
            if self._out is None or self._size + len(text) > self._largest:
                self._open()
            assert self._out is not None
            self._out.write(text)
            self._out.flush()
            self._size += len(text.encode())

    def close(self) -> None:
        if self._out is not None:
            self._out.close()

    def _open(self) -> None:
        """A new file; what was there, from now or from an earlier run, becomes the one before it."""
        self.close()
        with suppress(FileNotFoundError):
            self.path.replace(older(self.path))
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self._out, self._size = os.fdopen(descriptor, "w", encoding="utf-8", errors="replace"), 0


def older(path: Path) -> Path:
    return path.with_name(path.name + ".1")


def stored_lines(texts: Iterable[str]) -> Iterator[Line]:
    """The lines in what a log file says."""
    for text in texts:
        if found := _STORED.fullmatch(text.rstrip("\n")):
            yield Line(found[1], found[2])


def read_log(folder: Path) -> list[Line]:
    """All stored lines, the oldest first."""
    found: list[Line] = []
    for path in (older(folder / LOG_FILE), folder / LOG_FILE):
        with suppress(FileNotFoundError), path.open(encoding="utf-8", errors="replace") as file:
            found += stored_lines(file)
    return found


class Follower:
    """Reads on in a log file that somebody writes, also into the next one after it was cut."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOG_FILE
        self._file: TextIO | None = None
        self._rest = ""

    def to_end(self) -> None:
        """Begin after what is there."""
        if self._opened():
            assert self._file is not None
            self._file.seek(0, os.SEEK_END)

    def new_lines(self) -> list[Line]:
        if not self._opened():
            return []
        assert self._file is not None
        text = self._file.read()
        with suppress(FileNotFoundError):
            if os.fstat(self._file.fileno()).st_ino != self._path.stat().st_ino:  # it was cut
                text += self._file.read()
                self._file.close()
                self._file = self._path.open(encoding="utf-8", errors="replace")
                text += self._file.read()
        *whole, self._rest = (self._rest + text).split("\n")
        return list(stored_lines(whole))

    def _opened(self) -> bool:
        if self._file is None:
            with suppress(FileNotFoundError):
                self._file = self._path.open(encoding="utf-8", errors="replace")
        return self._file is not None
