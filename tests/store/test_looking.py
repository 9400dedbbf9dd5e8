"""Looking at a database: what it is and which schema it has, without changing it."""

import sqlite3
from pathlib import Path

import pytest

from orth.clock import SystemClock
from orth.errors import StoreUnavailable
from orth.store.looking import OLDEST, look
from orth.store.migrating import VERSION_TABLE, known_versions, upgrade


def test_what_a_store_says_of_itself(store_url: str) -> None:
    bare = look(store_url, SystemClock())
    assert bare.schema is None
    upgrade(store_url)
    found = look(store_url, SystemClock())
    assert (
        found.kind
        == {"sqlite": "SQLite", "postgresql": "PostgreSQL", "mysql": "MariaDB", "mariadb": "MariaDB"}[
            store_url.partition(":")[0].partition("+")[0]
        ]
    )
    assert found.schema == found.needed == known_versions()[-1]
    assert (found.too_old, found.newer) == (False, False)
    assert found.version.partition(".")[0].isdigit()
    assert found.oldest == ".".join(map(str, OLDEST[found.kind]))
    assert 0 < found.seconds < 5


def test_a_later_program_has_been_there(sqlite_url: str, tmp_path: Path) -> None:
    upgrade(sqlite_url)
    with sqlite3.connect(tmp_path / "orth.db") as connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    connection.close()
    found = look(sqlite_url, SystemClock())
    assert (found.schema, found.newer) == ("9999", True)


def test_nobody_there(free_port: int) -> None:
    for url in (f"postgresql://orth@127.0.0.1:{free_port}/x", f"mysql://orth@127.0.0.1:{free_port}/x"):
        with pytest.raises(StoreUnavailable, match="cannot be used"):
            look(url, SystemClock())
