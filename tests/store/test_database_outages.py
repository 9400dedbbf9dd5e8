"""A server that dies, comes back, or never was there."""

import asyncio
import threading

import pytest
from sqlalchemy import Connection, text

from orth.errors import StoreUnavailable
from orth.store.database import open_database, ping
from orth.store.migrating import upgrade
from orth.store.users import add_user, find_user
from tests.conftest import StartServer
from tests.servers.mariadb import MariaDBServer
from tests.servers.postgres import PostgresServer
from tests.servers.server import Server
from tests.store.builders import NOW


@pytest.mark.parametrize("kind", [PostgresServer, MariaDBServer], ids=lambda kind: kind.name)
async def test_a_server_may_be_killed_in_the_middle_and_come_back(
    kind: type[Server], start_server: StartServer
) -> None:
    server = start_server(kind)
    url = server.create_database()
    upgrade(url)
    in_the_middle, killed = threading.Event(), threading.Event()

    def add_two(connection: Connection) -> None:
        add_user(connection, "first", "hash", "admin", NOW)
        in_the_middle.set()
        assert killed.wait(30)
        add_user(connection, "second", "hash", "admin", NOW)

    with open_database(url, size=2) as db:
        await db.tx(add_user, "before", "hash", "admin", NOW)
        await db.tx(write_out)
        cut = asyncio.create_task(db.tx(add_two))
        assert await asyncio.to_thread(in_the_middle.wait, 10)
        await asyncio.to_thread(server.kill)
        killed.set()
        with pytest.raises(StoreUnavailable):
            await cut
        for _ in range(3):  # whichever pooled connection it meets
            with pytest.raises(StoreUnavailable) as refusal:
                await db.tx(add_user, "meanwhile", "the-hash", "admin", NOW)
            assert "the-hash" not in str(refusal.value)
        await asyncio.to_thread(server.start)
        assert await db.tx(add_two_at_once)
        assert await db.read(find_user, "before") is not None
        assert await db.read(find_user, "first") is None
        assert await db.read(find_user, "meanwhile") is None


def write_out(connection: Connection) -> None:
    """Let a server that is quick rather than safe write what was committed."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("CHECKPOINT"))


def add_two_at_once(connection: Connection) -> bool:
    return all(add_user(connection, name, "hash", "admin", NOW) for name in ("second", "third"))


@pytest.mark.parametrize("url", ["postgresql://orth@127.0.0.1:{}/orth", "mysql://root@127.0.0.1:{}/orth"])
async def test_nobody_at_the_address(url: str, free_port: int) -> None:
    with open_database(url.format(free_port)) as db, pytest.raises(StoreUnavailable, match=r"(?i)connect|refused"):
        await db.tx(ping)
