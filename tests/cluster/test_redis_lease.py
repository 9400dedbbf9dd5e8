"""The lock in Redis: it may hasten and put off an election, and never decides one."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
import redis

from orth.clock import SystemClock
from orth.cluster.election import Election, Node
from orth.cluster.facts import LeaseHintAway, TermBegan
from orth.cluster.redis_lease import RedisLease
from orth.errors import TermEnded
from orth.events import Events
from orth.store.database import Connection, Database, open_database
from orth.store.leases import LEADER, Term
from orth.testing import ManualClock, Recorder
from orth.testing.stores import prepare_store
from tests.conftest import StartServer
from tests.servers.redis import ForgetfulRedisServer

LEASE, RENEW = timedelta(seconds=30), timedelta(seconds=10)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    url = f"sqlite:///{tmp_path / 'orth.db'}"
    prepare_store(url)
    with open_database(url, size=2) as database:
        yield database


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@asynccontextmanager
async def contender(
    db: Database, clock: ManualClock, recorder: Recorder, url: str, name: str
) -> AsyncIterator[Election]:
    node, events = Node(name, f"incarnation-of-{name}"), Events(recorder)
    hint = RedisLease(url, node, clock, events, lease=LEASE.total_seconds(), renew=RENEW.total_seconds())
    try:
        yield Election(db, node, clock, events, lease=LEASE, renew=RENEW, hint=hint)
    finally:
        await hint.close()


async def test_the_leader_holds_the_lock_for_a_lease_and_gives_it_up(
    db: Database, clock: ManualClock, recorder: Recorder, redis_url: str
) -> None:
    with redis.Redis.from_url(redis_url, decode_responses=True) as outsider:
        async with contender(db, clock, recorder, redis_url, "one") as one:
            await one.turn()
            assert outsider.get(LEADER) == "term 1 one/incarnation-of-one"
            assert 29_000 < outsider.pttl(LEADER) <= 30_000
            outsider.pexpire(LEADER, 5_000)
            one.worked()
            await one.turn()
            assert outsider.pttl(LEADER) > 29_000, "renewed"
            await one.resign()
            assert outsider.get(LEADER) is None


async def test_who_comes_after_a_crash_waits_for_a_missed_renewal_and_not_for_a_lease(
    db: Database, clock: ManualClock, recorder: Recorder, redis_url: str
) -> None:
    with redis.Redis.from_url(redis_url) as outsider:
        async with contender(db, clock, recorder, redis_url, "one") as one:
            await one.turn()
        outsider.delete(LEADER)  # it has crashed long ago
        async with contender(db, clock, recorder, redis_url, "two") as two:
            await two.turn()
            clock.move(14.9)
            await two.turn()
            assert two.term is None, "Redis may have been emptied: the row must have missed a renewal as well"
            clock.move(0.2)
            await two.turn()
            assert two.term is not None
            assert two.term.epoch == 2


async def test_a_lock_that_is_there_hastens_nothing_and_puts_nothing_off(
    db: Database, clock: ManualClock, recorder: Recorder, redis_url: str
) -> None:
    async with (
        contender(db, clock, recorder, redis_url, "one") as one,
        contender(db, clock, recorder, redis_url, "two") as two,
    ):
        await one.turn()
        await two.turn()
        clock.move(29.9)
        await two.turn()
        assert two.term is None
        clock.move(0.1)
        await two.turn()
        assert two.term is not None, "the database says that it is free; that is enough"


async def test_a_healthy_leader_is_not_replaced_when_redis_is_emptied(
    db: Database, clock: ManualClock, recorder: Recorder, redis_url: str
) -> None:
    async with (
        contender(db, clock, recorder, redis_url, "one") as one,
        contender(db, clock, recorder, redis_url, "two") as two,
    ):
        await one.turn()
        with redis.Redis.from_url(redis_url) as outsider:
            for _ in range(10):
                outsider.flushdb()
                for _ in range(4):
                    await two.turn()
                    clock.move(2.5)
                one.worked()
                await one.turn()
        assert one.term is not None
        assert [begun.epoch for begun in recorder.all(TermBegan)] == [1]


async def test_one_competes_and_the_others_leave_it_to_that_one_for_a_moment(
    db: Database, clock: ManualClock, recorder: Recorder, redis_url: str
) -> None:
    with redis.Redis.from_url(redis_url) as outsider:
        outsider.set(LEADER, "three/incarnation-of-three")  # of somebody who was about to, and says so for ever
        async with contender(db, clock, recorder, redis_url, "one") as one:
            await one.turn()
            assert one.term is None
            clock.move(1.9)
            await one.turn()
            assert one.term is None
            clock.move(0.2)
            await one.turn()
            assert one.term is not None, "a lock that leads to nothing keeps nobody"
        outsider.delete(LEADER)
        async with (
            contender(db, clock, recorder, redis_url, "two") as two,
            contender(db, clock, recorder, redis_url, "four") as four,
        ):
            clock.move(31)
            for node in (two, four):
                await node.turn()
            clock.move(31)
            await asyncio.gather(two.turn(), four.turn())
            assert sorted([two.term is None, four.term is None]) == [False, True]


async def test_a_lock_of_another_cluster_keeps_nobody_from_leading(
    db: Database, clock: ManualClock, recorder: Recorder, redis_url: str
) -> None:
    with redis.Redis.from_url(redis_url, decode_responses=True) as outsider:
        outsider.set(LEADER, "term 900 other/incarnation")
        async with contender(db, clock, recorder, redis_url, "one") as one:
            await one.turn()
            assert one.term is not None


async def test_an_old_term_does_not_overwrite_the_lock_of_a_newer_one_and_its_writes_are_refused(
    db: Database, clock: ManualClock, recorder: Recorder, redis_url: str
) -> None:
    with redis.Redis.from_url(redis_url, decode_responses=True) as outsider:
        async with contender(db, clock, recorder, redis_url, "one") as one:
            await one.turn()
        outsider.delete(LEADER)
        async with (
            contender(db, clock, recorder, redis_url, "two") as two,
            contender(db, clock, recorder, redis_url, "one") as late,
        ):
            await two.turn()
            clock.move(15.1)
            await two.turn()
            assert two.term is not None
            await late._hint.held(1)
            await late._hint.given_up(1)
            assert outsider.get(LEADER) == "term 2 two/incarnation-of-two"
            with pytest.raises(TermEnded):
                await db.leader_tx(Term(1, "incarnation-of-one"), _nothing)


def _nothing(_connection: Connection) -> None:
    pass


async def test_redis_that_is_away_or_stands_still_neither_stops_nor_delays_an_election(
    db: Database, clock: ManualClock, recorder: Recorder, start_server: StartServer
) -> None:
    server = start_server(ForgetfulRedisServer)
    real = SystemClock()
    async with contender(db, clock, recorder, server.url(), "one") as one:
        await one.turn()
        os.kill(server.pid, signal.SIGSTOP)
        try:
            began = real.monotonic()
            for _ in range(5):
                one.worked()
                await one.turn()
                assert one.term is not None
            assert real.monotonic() - began < 2, "asked once, not with every renewal"
        finally:
            os.kill(server.pid, signal.SIGCONT)
        assert len(recorder.all(LeaseHintAway)) == 1
        server.kill()
        async with contender(db, clock, recorder, server.url(), "two") as two:
            await two.turn()
            clock.move(15.1)
            await two.turn()
            assert two.term is None, "who cannot ask waits for the whole lease"
            clock.move(15)
            await two.turn()
            assert two.term is not None
        server.start()
        with redis.Redis.from_url(server.url(), decode_responses=True) as outsider:
            clock.move(11)
            async with contender(db, clock, recorder, server.url(), "two") as again:
                await again._hint.held(2)
            assert outsider.get(LEADER) == "term 2 two/incarnation-of-two"
