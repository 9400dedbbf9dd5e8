"""Archived logs: where they are, reading them, and writing the files.

A file is ``<folder>/yyyy-MM-dd/<execution>.log.gz``, the day being that of its archiving in UTC; its name is made from
two integers, and what the database says about its place is checked against that form. It is written beside its name and
then given it, so a file that has the name is whole.
"""

import asyncio
import os
import re
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

from orth.clock import iso
from orth.coordinator.logs.blocks import last_lines, opened, page_from
from orth.coordinator.logs.pages import Lines
from orth.errors import Unreadable
from orth.store.database import Database
from orth.store.log_archives import ArchivedLog, archived_content

T = TypeVar("T")

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PLACE = re.compile(rf"{_DAY.pattern}/[0-9]{{1,19}}\.log\.gz")


class Archives:
    """All archived logs, as one coordinator reaches them."""

    def __init__(self, db: Database, folder: Path) -> None:
        self._db = db
        self._folder = folder

    async def page(self, kept: ArchivedLog, from_line: int) -> tuple[Lines, bool] | None:
        """Lines from ``from_line`` on and whether none follow; None when the log is not to be had here."""
        return await self._read(kept, lambda file: page_from(file, from_line))

    async def tail(self, kept: ArchivedLog, count: int) -> Lines | None:
        """The last lines; None as above."""
        return await self._read(kept, lambda file: last_lines(file, count))

    async def _read(self, kept: ArchivedLog, look: Callable[[BinaryIO], T]) -> T | None:
        if kept.place is not None:
            return await asyncio.to_thread(self._read_file, kept.place, look)
        content = await self._db.read(archived_content, kept.execution_id)
        return None if content is None else await asyncio.to_thread(lambda: look(opened(content)))

    def _read_file(self, place: str, look: Callable[[BinaryIO], T]) -> T | None:
        path = self._path(place)
        try:
            with path.open("rb") as file:
                return look(file)
        except FileNotFoundError:  # another coordinator has it, or it is gone
            return None

    def new_file(self, execution_id: int, now: int) -> "NewFile":
        """A file to write a log to."""
        place = f"{iso(now)[:10]}/{execution_id}.log.gz"
        return NewFile(self._path(place), place)

    def remove(self, places: Iterable[str]) -> None:
        """Remove files, as far as they are here."""
        for place in places:
            self._path(place).unlink(missing_ok=True)

    def remove_days_before(self, instant: int) -> list[str]:
        """Remove what was archived on days before that of ``instant``; which days those were."""
        today = iso(instant)[:10]
        if not self._folder.is_dir():
            return []
        old = sorted(day.name for day in self._folder.iterdir() if _DAY.fullmatch(day.name) and day.name < today)
        for day in old:
            shutil.rmtree(self._folder / day, ignore_errors=True)
        return old

    def _path(self, place: str) -> Path:
        if _PLACE.fullmatch(place) is None:
            raise Unreadable.of("log_misplaced")
        return self._folder / place


class NewFile:
    """A file being written; it has its name only once ``finish`` was called."""

    def __init__(self, path: Path, place: str) -> None:
        self.place = place
        self._path = path
        self._part = path.with_name(f".{path.name}.part")
        path.parent.mkdir(mode=0o750, parents=True, exist_ok=True)
        self._file = os.fdopen(os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640), "wb")

    def write(self, data: bytes) -> None:
        self._file.write(data)

    def finish(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._part.replace(self._path)

    def give_up(self) -> None:
        with suppress(OSError):
            self._file.close()
        self._part.unlink(missing_ok=True)
