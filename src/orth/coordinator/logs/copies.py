"""A log on its way into the archive: packed as it comes, up to a limit; of a longer one its last lines besides."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from orth.coordinator.logs.archives import Archives, NewFile
from orth.coordinator.logs.blocks import packed
from orth.coordinator.logs.pages import LONG, Lines, gap_note
from orth.store.log_archives import ArchivedLog

_BLOB_LIMIT = 5 * 1024 * 1024
"""Bytes of a packed log in the database, to which the last lines may add one more: MariaDB takes 16 MiB in one
statement by default, and its client writes some bytes as two."""

Kind = Literal["none", "store", "folder"]


@dataclass(frozen=True, slots=True)
class Plan:
    """How logs are archived."""

    kind: Kind
    limit: int
    retention: timedelta


class Copy:
    """A log while it is copied: its beginning, and, if that is not all, its last lines."""

    def __init__(self, archives: Archives, execution_id: int, now: int, plan: Plan) -> None:
        self._id = execution_id
        self._now = now
        self._limit = plan.limit
        self._file: NewFile | None = archives.new_file(execution_id, now) if plan.kind == "folder" else None
        self._packed = bytearray()
        self._size = 0
        self.lines = 0
        self._complete = True
        self._gap = False
        self._noted = 0

    def gap(self, through: int = 0) -> None:
        """Some lines are missing, and will not come; those up to ``through`` are spoken for by a line of the log."""
        self._gap = True
        self._noted = max(self._noted, through)

    def add(self, lines: Lines) -> bool:
        """Keep some lines; false when they no longer fit."""
        fitting = _fitting(lines, self._limit - self._size)
        if fitting.texts:
            self._keep(fitting)
        elif not self.lines:  # of a single line that is too long, its beginning
            self._keep(Lines(lines.first, lines.first, [lines.texts[0][: self._limit // 4]]))
        self._complete = fitting.last == lines.last and len(self._packed) <= _BLOB_LIMIT
        return self._complete

    def add_last(self, lines: Lines) -> None:
        """Keep the last lines of a log that is too long, behind a line that tells what is left out before them."""
        later = lines.since(self.lines + 1)
        if not later.texts or later.last < later.first:
            return
        missing = max(self.lines, self._noted) + 1
        if missing < later.first:
            self._keep(Lines(missing, missing, [gap_note(missing, later.first - 1, LONG)]))
        self._keep(later)

    @property
    def content(self) -> bytes | None:
        return None if self._file is not None else bytes(self._packed)

    def kept(self) -> ArchivedLog:
        return ArchivedLog(
            execution_id=self._id,
            stored_at=self._now,
            lines=self.lines,
            size=self._size,
            complete=self._complete and not self._gap,
            place=None if self._file is None else self._file.place,
        )

    def finish(self) -> None:
        if self._file is not None:
            self._file.finish()

    def give_up(self) -> None:
        if self._file is not None:
            self._file.give_up()

    def _keep(self, lines: Lines) -> None:
        block = packed(lines)
        if self._file is None:
            self._packed += block
        else:
            self._file.write(block)
        self._size += sum(len(text.encode("utf-8", "replace")) + 1 for text in lines.texts)
        self.lines = lines.last


def _fitting(lines: Lines, room: int) -> Lines:
    """Those of the first lines that fit."""
    count = 0
    for text in lines.texts:
        room -= len(text.encode("utf-8", "replace")) + 1
        if room < 0:
            break
        count += 1
    return lines if count == len(lines.texts) else lines.beginning(count)
