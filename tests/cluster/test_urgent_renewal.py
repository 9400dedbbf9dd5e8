"""Renewing a lease and beating do not queue behind work: on real servers, and first in line on SQLite."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from sqlalchemy import Connection, QueuePool, text

from orth.clock import SystemClock
from orth.cluster.election import Election, Node
from orth.cluster.facts import TermEndedHere
from orth.cluster.membership import Membership, Rhythm
from orth.events import Events
from orth.loop import run_loops
from orth.store.database import Database, open_database
from orth.store.leases import Term, find_lease
from orth.testing import Recorder
from orth.testing.stores import prepare_store
from tests.store.builders import until

SIZE = 2
LEASE, RENEW = 1.0, 0.3
BUSY = 2.5 * LEASE
SLEEP = {"postgresql": "SELECT pg_sleep(:seconds)", "mysql": "SELECT SLEEP(:seconds)"}
on_servers = pytest.mark.parametrize("store_url", ["postgresql", "mariadb"], indirect=True)


@pytest.fixture
def pool(store_url: str) -> Iterator[Database]:
    """A store whose few connections are easily kept busy, and for long."""
    prepare_store(store_url)
    with open_database(store_url, size=SIZE, patience=30.0) as database:
        yield database


def dawdle(connection: Connection, seconds: float) -> None:
    connection.execute(text(SLEEP[connection.dialect.name]), {"seconds": seconds})


@asynccontextmanager
async def busy(db: Database) -> AsyncIterator[None]:
    """Every connection does something long, and more of it waits."""
    work = [asyncio.create_task(db.tx(dawdle, BUSY)) for _ in range(2 * SIZE)]
    pool = db.engine.pool
    assert isinstance(pool, QueuePool)
    await until(lambda: pool.checkedout() == SIZE, "every connection busy")
    yield
    assert not any(task.done() for task in work[SIZE:]), "the pool was not busy for as long as it should have been"
    await asyncio.gather(*work)


@on_servers
async def test_a_busy_pool_costs_neither_the_leadership_nor_the_beat(pool: Database) -> None:
    clock, recorder = SystemClock(), Recorder()
    events, node = Events(recorder), Node("one", "this-process")
    election = Election(pool, node, clock, events, lease=timedelta(seconds=LEASE), renew=timedelta(seconds=RENEW))
    rhythm = Rhythm(timedelta(seconds=RENEW), timedelta(seconds=LEASE))
    membership = Membership(
        pool, election, node, clock, events, rhythm=rhythm, url="http://one", voice=None, chance=random.Random(1)
    )
    running = asyncio.create_task(run_loops(election, membership))
    await until(lambda: election.term is not None and membership.beats > 0, "a term and a beat")
    before = membership.beats
    async with busy(pool):
        for _ in range(round(2 * LEASE / RENEW)):
            election.worked()
            assert election.term == Term(1, node.incarnation)
            await asyncio.sleep(RENEW)
        assert membership.beats >= before + 3
        lease = await pool.urgent.read(find_lease)
        assert lease is not None
        assert lease.renewals >= 4
        assert recorder.all(TermEndedHere) == []
        for loop in (election, membership):
            loop.stop()
        await running


async def test_on_sqlite_what_is_urgent_comes_next(sqlite_url: str) -> None:
    prepare_store(sqlite_url)
    done: list[str] = []
    with open_database(sqlite_url, size=1) as db:
        entered, gate = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def hold(_connection: Connection) -> None:
            loop.call_soon_threadsafe(entered.set)
            asyncio.run_coroutine_threadsafe(gate.wait(), loop).result(10)
            done.append("held")

        first = asyncio.create_task(db.tx(hold))
        await entered.wait()
        waiting = [asyncio.create_task(db.tx(lambda _: done.append("work"))) for _ in range(3)]
        await asyncio.sleep(0)
        urgent = asyncio.create_task(db.urgent.tx(lambda _: done.append("urgent")))
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(first, *waiting, urgent)
    assert done == ["held", "urgent", "work", "work", "work"]
