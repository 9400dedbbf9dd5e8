"""Probing over real sockets: which executors are watched by a connection, and what its end means."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from orth.clock import SystemClock
from orth.coordinator.facts import ExecutorReachable, ExecutorSuspected, ExecutorUnreachable
from orth.coordinator.probing import Probing, Watching
from orth.coordinator.reach import Reach
from orth.coordinator.roster import Roster
from orth.domain.nodes import Reachability
from orth.events import Events
from orth.store.database import Database, open_database
from orth.store.registry import Beat, list_executors, record_beats
from orth.testing import Recorder
from orth.testing.stores import prepare_store
from orth.wire.executor_calls import ExecutorCalls
from tests.wire.peers import Behaviour, Exchange, Peer

EVERY = timedelta(milliseconds=50)


class Bench:
    """A coordinator's probing, running, on a database with nobody in it."""

    def __init__(self, db: Database, link: ExecutorCalls, limit: int) -> None:
        self.db = db
        self.clock = SystemClock()
        self.recorder = Recorder()
        events = Events(self.recorder)
        self.reach = Reach(self.clock, events)
        self.roster = Roster(self.clock, dead_after=90)
        second = timedelta(seconds=1)
        watching = Watching("token", EVERY, 1000, 30 * second, second, 8 * second, limit)
        self.probing = Probing(
            db, "node", link, self.clock, events, reach=self.reach, roster=self.roster, watching=watching
        )

    async def join(self, address: str, incarnation: str | None = "one") -> None:
        await self.db.tx(record_beats, [Beat("app", address, incarnation)], self.clock.now())
        self.roster.begin_look()
        self.roster.follow(await self.db.read(list_executors))


@asynccontextmanager
async def bench(folder: Path, limit: int = 10) -> AsyncIterator[Bench]:
    url = f"sqlite:///{folder}/orth.db"
    prepare_store(url)
    with open_database(url) as db:
        async with ExecutorCalls(timeout=1.0) as link:
            here = Bench(db, link, limit)
            running = asyncio.create_task(here.probing.run())
            try:
                yield here
            finally:
                here.probing.stop()
                await running
                await here.probing.close()


async def until(condition: Callable[[], object], what: str) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  # it looks at what another thread has done
            await asyncio.sleep(0.01)
    assert condition(), what


def executor(status: Callable[[], str] = lambda: "ok", **headers: str) -> Behaviour:
    """Answers /health with its status and /beat with yes."""

    def answer(exchange: Exchange) -> None:
        if exchange.request.path == "/beat":
            exchange.respond(b'{"code": 200}')
        else:
            said = {"status": status(), "incarnation": "one", "now": SystemClock().now() - 60_000}
            exchange.respond(json.dumps(said).encode(), **headers)

    return answer


async def test_one_of_ours_is_watched_by_one_connection_and_its_end_is_its_own(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        with Peer(executor()) as peer:
            await here.join(peer.address)
            await until(lambda: here.reach.state(peer.address) is Reachability.REACHABLE, "reachable")
            assert [request.path for request in peer.requests] == ["/health"]
            offset = here.probing.clock_offset(peer.address)
            assert offset is not None
            assert abs(offset + 60_000) < 1_000
        await here.recorder.seen(ExecutorSuspected, address=peer.address)
        await here.recorder.seen(ExecutorUnreachable, address=peer.address)
        assert here.reach.avoid((peer.address, "http://10.0.0.1:9999")) == ("http://10.0.0.1:9999",)


async def test_a_foreign_executor_is_called_and_never_kept_waiting(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        with Peer(executor()) as peer:
            await here.join(peer.address, incarnation=None)
            await until(lambda: len(peer.requests) >= 3, "calls")
            assert {request.path for request in peer.requests} == {"/beat"}
            assert here.reach.state(peer.address) is Reachability.REACHABLE
        await here.recorder.seen(ExecutorUnreachable, address=peer.address)


async def test_beyond_the_limit_ours_are_called_too(tmp_path: Path) -> None:
    async with bench(tmp_path, limit=1) as here:
        with Peer(executor()) as first, Peer(executor()) as second:
            await here.join(first.address)
            await until(lambda: first.requests, "the first is watched")
            await here.join(second.address)
            await until(lambda: len(second.requests) >= 2, "the second is called")
            assert {request.path for request in second.requests} == {"/beat"}
            assert [request.path for request in first.requests] == ["/health"]


async def test_one_whose_connections_do_not_last_is_called_instead_and_not_avoided(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        with Peer(executor(Connection="close")) as peer:
            await here.join(peer.address)
            await until(lambda: [r.path for r in peer.requests].count("/beat") >= 2, "calls instead")
            assert [request.path for request in peer.requests].count("/health") == 3
            assert here.reach.state(peer.address) is Reachability.REACHABLE


async def test_an_executor_that_says_it_is_not_well_is_avoided_until_it_is(tmp_path: Path) -> None:
    status = "stopping"
    async with bench(tmp_path) as here:
        with Peer(executor(lambda: status)) as peer:
            await here.join(peer.address)
            suspected = await here.recorder.seen(ExecutorSuspected, address=peer.address)
            assert suspected.reason == "it answers, and says: stopping"
            status = "ok"
            await here.recorder.seen(ExecutorReachable, address=peer.address)
            assert len(peer.connections) == 1


async def test_who_left_is_not_watched_any_more(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        with Peer(executor()) as peer:
            await here.join(peer.address)
            await until(lambda: here.reach.state(peer.address) is Reachability.REACHABLE, "reachable")
            here.roster.left("app", peer.address)
            await until(lambda: here.reach.state(peer.address) is Reachability.UNTRIED, "forgotten")
        assert here.recorder.all(ExecutorSuspected) == []
