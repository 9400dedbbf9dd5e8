"""A SQLite file that others hold, or open at the same moment."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from orth.store.engines import open_engine, read_url
from orth.store.locked_file import write_ahead


def test_who_is_refused_the_write_ahead_log_asks_until_it_is_granted(tmp_path: Path) -> None:
    holder = sqlite3.connect(tmp_path / "orth.db", isolation_level=None)
    asked: list[str] = []

    class Opener(sqlite3.Connection):
        def execute(self, statement: str, *rest: Any) -> sqlite3.Cursor:
            asked.append(statement)
            if len(asked) == 3:
                holder.execute("ROLLBACK")
            return super().execute(statement, *rest)

    opener = sqlite3.connect(tmp_path / "orth.db", timeout=0, isolation_level=None, factory=Opener)
    holder.execute("BEGIN EXCLUSIVE")
    write_ahead(opener, 10.0)
    assert asked == ["PRAGMA journal_mode=WAL"] * 3
    assert opener.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    for connection in (opener, holder):
        connection.close()


def test_who_is_refused_the_write_ahead_log_to_the_end_is_told(tmp_path: Path) -> None:
    holder, opener = (sqlite3.connect(tmp_path / "orth.db", timeout=0, isolation_level=None) for _ in range(2))
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(sqlite3.OperationalError, match="database is locked"):
        write_ahead(opener, 0.1)
    for connection in (opener, holder):
        connection.close()


def test_several_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    """Without asking again somebody is refused one file in a few hundred, and now and then one in forty."""
    at_once = Barrier(4)

    def open_and_write(path: Path) -> None:
        at_once.wait()
        engine = open_engine(read_url(f"sqlite:///{path}"), size=1, patience=30.0)
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS t (x)")
        engine.dispose()

    with ThreadPoolExecutor(4) as pool:
        for number in range(300):
            list(pool.map(open_and_write, [tmp_path / f"{number}.db"] * 4))
