"""Removing old logs, day by day.

A day's folder goes when every instant of it lies further back than the retention, and never while a log in it is
written. Only what this executor puts there is removed: regular files named by an execution, in folders named by a day.
Whatever else somebody keeps there stays, and with it the folder. A turn removes a bounded number of files, so that a
million of them do not occupy the disk at once.
"""

import asyncio
import os
import re
from contextlib import suppress
from datetime import date
from pathlib import Path

from orth.clock import Clock
from orth.events import Events
from orth.executor.facts import LogsKept, LogsRemoved
from orth.executor.log_files import open_folder
from orth.executor.run_logs import RunLogs
from orth.loop import Loop

FILES_PER_TURN = 1000
_PAUSE = 3600.0
_PAUSE_WITH_MORE = 0.2
_EPOCH = date(1970, 1, 1).toordinal()
_SECONDS_OF_DAY = 86_400
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_LOG = re.compile(r"\d+(\.\d+)?\.(log|index)", re.ASCII)


class Retention(Loop):
    """Removes the logs of days that lie further back than ``keep`` seconds."""

    def __init__(self, logs: RunLogs, keep: float, clock: Clock, events: Events) -> None:
        super().__init__(clock, events)
        self._logs = logs
        self._keep = keep

    async def turn(self) -> float:
        return await asyncio.to_thread(self._remove_some)

    def _remove_some(self) -> float:
        left = FILES_PER_TURN
        for folder in self._old_folders():
            try:
                removed, empty = _empty_out(folder, left)
            except OSError as error:
                self.events.emit(LogsKept(folder.name, str(error)))
                continue
            left -= removed
            if empty:
                with suppress(OSError):  # somebody keeps files of their own there
                    folder.rmdir()
            if removed:
                self.events.emit(LogsRemoved(folder.name, removed))
            if left <= 0:
                return _PAUSE_WITH_MORE
        return _PAUSE

    def _old_folders(self) -> list[Path]:
        try:
            names = sorted(name for name in os.listdir(self._logs.directory) if _DAY.fullmatch(name))
        except OSError as error:
            self.events.emit(LogsKept(self._logs.directory.name, str(error)))
            return []
        folders = [self._logs.directory / name for name in names if self._is_over(name)]
        return [folder for folder in folders if not self._logs.growth.is_written_to(str(folder))]

    def _is_over(self, name: str) -> bool:
        try:
            day = date.fromisoformat(name)
        except ValueError:  # 2025-02-30 is no day
            return False
        ended = (day.toordinal() + 1 - _EPOCH) * _SECONDS_OF_DAY
        return ended + self._keep <= self.clock.now() / 1000


def _empty_out(folder: Path, limit: int) -> tuple[int, bool]:
    """Remove up to ``limit`` logs; how many, and whether none is left."""
    handle = open_folder(str(folder))
    try:
        removed = 0
        with os.scandir(handle) as entries:
            for entry in entries:
                if not _LOG.fullmatch(entry.name) or not entry.is_file(follow_symlinks=False):
                    continue
                if removed == limit:
                    return removed, False
                os.unlink(entry.name, dir_fd=handle)
                removed += 1
        return removed, True
    finally:
        os.close(handle)
