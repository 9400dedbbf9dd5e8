"""A server that hangs: reached through a line that swallows everything from one moment on."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.engine import make_url

from orth.errors import StoreUnavailable
from orth.store.database import Database, open_database, ping
from orth.store.life_locks import LifeLock
from orth.store.silence import AFTER, PATIENCE, Silence
from orth.testing import ManualClock
from tests.walk.cut_line import CutLine

SERVERS = ("postgres_server", "mariadb_server")
NOTICED = AFTER + PATIENCE + 4
"""Seconds within which a silent server is known as such; looked for once a second, on a machine with other work."""


@pytest.fixture(params=SERVERS)
def reached(request: pytest.FixtureRequest) -> Iterator[tuple[Database, CutLine]]:
    url = make_url(request.getfixturevalue(request.param).create_database())
    assert url.port is not None
    with CutLine(url.port) as line:
        through = url.set(host="127.0.0.1", port=line.port).render_as_string(hide_password=False)
        with open_database(through, size=3, patience=60) as db:
            yield db, line
            line.mend()


async def test_who_asks_a_silent_server_is_told_so_soon_and_then_at_once(reached: tuple[Database, CutLine]) -> None:
    db, line = reached
    await asyncio.gather(*(db.tx(ping) for _ in range(6)), db.urgent.tx(ping))
    line.cut()
    began = time.monotonic()
    told = await asyncio.gather(*(db.tx(ping) for _ in range(9)), db.urgent.tx(ping), return_exceptions=True)
    assert {type(one) for one in told} == {StoreUnavailable}
    assert time.monotonic() - began < NOTICED
    began = time.monotonic()
    with pytest.raises(StoreUnavailable, match="does not answer"):
        await db.read(ping)
    assert time.monotonic() - began < NOTICED / 2, "it is known already"
    line.drop()
    line.mend()
    await _answered(db)


async def _answered(db: Database) -> None:
    until = time.monotonic() + NOTICED
    while True:
        try:
            return await db.tx(ping)
        except StoreUnavailable:
            assert time.monotonic() < until, "it answers again, and nobody notices"
            await asyncio.sleep(0.1)


async def test_what_only_takes_long_is_left_alone(reached: tuple[Database, CutLine]) -> None:
    db, _line = reached

    def dawdle(connection: Connection) -> int:
        sleep = "pg_sleep" if connection.dialect.name == "postgresql" else "SLEEP"
        connection.execute(text(f"SELECT {sleep}({AFTER + 2})"))
        return connection.execute(text("SELECT 7")).scalar_one()

    assert await db.tx(dawdle) == 7


async def test_the_lock_of_a_process_waits_for_a_silent_server_no_longer(reached: tuple[Database, CutLine]) -> None:
    """Its loop has to end when the process stops, whatever the server does."""
    db, line = reached
    lock = LifeLock(db, "process-1")
    assert lock.keep()
    line.cut()
    async with asyncio.timeout(NOTICED):
        assert not await asyncio.to_thread(lock.keep)
    line.drop()
    line.mend()
    await _answered(db)
    kept = [lock.keep(), lock.keep()]
    lock.close()
    assert kept[-1], "it is held again"


class Server:
    """Answers a new connection, refuses it, or lets the clock run."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.asked = 0
        self.how: Any = None

    def __call__(self) -> None:
        self.asked += 1
        if self.how is TimeoutError:
            self.clock.move(PATIENCE)
        if self.how is not None:
            raise self.how


def test_the_server_is_asked_only_when_something_does_not_get_on() -> None:
    clock = ManualClock(0)
    server = Server(clock)
    silence = Silence(server, clock)
    silence.look()
    with silence.looked_at():
        clock.move(AFTER - 0.1)
        silence.look()
        assert server.asked == 0
        clock.move(0.2)
        silence.look()
        silence.look()
        assert (server.asked, silence.silent) == (1, False), "asked again only after a while"
        clock.move(AFTER)
        silence.look()
        assert server.asked == 2
    silence.close()


@pytest.mark.parametrize(
    ("how", "silent"), [(ConnectionRefusedError, False), (ValueError, False), (TimeoutError, True)]
)
def test_who_refuses_has_answered(how: type[Exception], silent: bool) -> None:
    clock = ManualClock(0)
    server = Server(clock)
    silence = Silence(server, clock)
    server.how = how
    with silence.looked_at():
        clock.move(AFTER)
        silence.look()
    assert silence.silent is silent
    if silent:
        with pytest.raises(StoreUnavailable), silence.looked_at():
            pass
        server.how = None
        silence.look()
    with silence.looked_at():
        pass
    silence.close()
