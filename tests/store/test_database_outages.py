"""A server that dies, comes back, or never was there."""

import asyncio
import threading
from typing import Any

import pytest
from sqlalchemy import Connection, event, text

from orth.errors import StoreUnavailable
from orth.store.database import Database, open_database, ping
from orth.store.leases import read_lease, take_lease
from orth.store.migrating import upgrade
from orth.store.users import add_user, find_user
from tests.conftest import StartServer
from tests.servers.mariadb import MariaDBServer
from tests.servers.postgres import PostgresServer
from tests.servers.server import Server
from tests.store.builders import NOW, on_servers


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


@on_servers
async def test_a_server_that_takes_no_writes_is_away_until_one_does(db: Database) -> None:
    """As after a failover: the same name leads to a standby for a while, on connections that stay."""
    term = await db.tx(take_lease, await db.tx(read_lease), "node", "process")
    assert term is not None
    orders = {
        "postgresql": "SET default_transaction_read_only = on",
        "mysql": "SET SESSION TRANSACTION READ ONLY",
        "mariadb": "SET SESSION TRANSACTION READ ONLY",
    }

    def demote(connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(orders[db.engine.dialect.name])
        connection.commit()

    event.listen(db.engine, "connect", demote)
    db.engine.dispose()
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="a standby, or set to read only"):
            await db.tx(add_user, "ada", "hash", "admin", NOW)
    with pytest.raises(StoreUnavailable):
        await db.leader_tx(term, add_user, "ada", "hash", "admin", NOW)
    event.remove(db.engine, "connect", demote)
    assert await db.leader_tx(term, add_user, "ada", "hash", "admin", NOW)
