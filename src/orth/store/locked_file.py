"""The write lock of a SQLite file, which somebody else may hold for long: a backup, a tool, another process that hangs.

Whoever writes waits for it with patience. If that was in vain, those who come next only glance at it until one of them
gets it: they would wait one after the other, and each of them as long. So a locked file costs one patience and not one
for each who writes, and a process that has to stop does so in time.
"""

import sqlite3
import time

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

GLANCE = 0.02
"""Seconds: others who write for a moment are waited for."""
_PRIMARY = 0xFF
"""What of an error code is not detail."""


def write_ahead(connection: sqlite3.Connection, patience: float) -> None:
    """Let the file have a write-ahead log, as it has from then on. Of several that are the first to open a new file
    SQLite refuses some at once, however long they would wait: they ask again, for ``patience`` seconds.
    """
    until = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() >= until:
                raise
            time.sleep(GLANCE)
        else:
            return


class LockedFile:
    """Begins transactions that write, on the only connection that does. For one thread at a time."""

    def __init__(self, patience: float) -> None:
        """Connections come with ``patience`` seconds of their own."""
        self._patience = patience
        self._in_vain = False

    def begin(self, connection: Connection) -> None:
        waited_in_vain = self._in_vain
        if waited_in_vain:
            _wait(connection, GLANCE)
        try:
            # Taking the write lock first means never having to give up a transaction that has already read.
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        except OperationalError as error:
            self._in_vain = waited_in_vain or _is_busy(error.orig)
            raise
        self._in_vain = False
        if waited_in_vain:
            _wait(connection, self._patience)


def _wait(connection: Connection, seconds: float) -> None:
    connection.exec_driver_sql(f"PRAGMA busy_timeout={round(seconds * 1000)}")


def _is_busy(error: BaseException | None) -> bool:
    code = getattr(error, "sqlite_errorcode", 0)
    return isinstance(code, int) and code & _PRIMARY == sqlite3.SQLITE_BUSY
