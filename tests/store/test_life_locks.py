"""A lock that says whether a process lives: held by its connection, and gone with it."""

import asyncio

import pytest

from orth.store.database import Connection, Database
from orth.store.life_locks import LifeLock, lives
from tests.store.builders import on_servers


@on_servers
async def test_it_is_held_as_long_as_the_connection_lives(db: Database, peer: Database) -> None:
    lock = LifeLock(db, "process-1")
    try:
        assert await peer.read(lives, "process-1") is False
        assert lock.keep()
        assert lock.keep(), "twice is once"
        assert await peer.read(lives, "process-1") is True
        assert await peer.read(lives, "process-2") is False
    finally:
        lock.close()
    async with asyncio.timeout(5):
        while await peer.read(lives, "process-1"):  # the server ends the session when it notices
            pass


@on_servers
async def test_a_connection_that_breaks_is_made_anew(db: Database, peer: Database) -> None:
    lock = LifeLock(db, "process-1")
    try:
        assert lock.keep()
        await peer.tx(_break_all_others)
        assert [lock.keep(), lock.keep()] == [False, True]
        assert await peer.read(lives, "process-1") is True
    finally:
        lock.close()


async def test_sqlite_has_none(tmp_path_factory: pytest.TempPathFactory) -> None:
    from orth.store.database import open_database

    with open_database(f"sqlite:///{tmp_path_factory.mktemp('life') / 'orth.db'}") as database:
        assert await database.read(lives, "process-1") is None


def _break_all_others(connection: Connection) -> None:
    """End the session that holds the lock, as an administrator would."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
    else:
        holder = connection.exec_driver_sql("SELECT IS_USED_LOCK('orth:process-1')").scalar_one()
        connection.exec_driver_sql(f"KILL {holder}")
