"""Probing over real sockets: which executors are watched by a connection, and what its end means."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from orth.clock import SystemClock
from orth.coordinator.facts import ExecutorReachable, ExecutorSuspected, ExecutorUnreachable
from orth.coordinator.probing import Probing, Watching
from orth.coordinator.reach import Reach
from orth.coordinator.roster import Roster
from orth.domain.jobs import AddressType, Group
from orth.domain.nodes import Reachability
from orth.events import Events
from orth.store.database import Database, open_database
from orth.store.executor_entries import list_executors
from orth.store.groups import create_group
from orth.store.registry import Beat, record_beats
from orth.testing import Recorder
from orth.testing.stores import prepare_store
from orth.wire.executor_calls import ExecutorCalls
from orth.wire.messages import RunRequest
from tests.wire.peers import Behaviour, Exchange, Peer, answering, serving_one_at_a_time

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

    async def join(self, address: str, incarnation: str | None = "one", *app_names: str) -> None:
        """One of each app, ``app`` unless named, all at once: the first alone would be probed as the only one there."""
        beats = [Beat(app_name, address, incarnation) for app_name in app_names or ("app",)]
        await self.db.tx(record_beats, beats, self.clock.now())
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


async def test_one_that_serves_one_connection_at_a_time_is_not_occupied_by_probes(tmp_path: Path) -> None:
    async with bench(tmp_path) as here, ExecutorCalls(timeout=5) as sending:
        with serving_one_at_a_time() as address:
            await here.join(address, incarnation=None)
            await until(lambda: here.reach.state(address) is Reachability.REACHABLE, "reachable")
            trigger = RunRequest(job_id=1, log_id=2, executor_handler="h")
            assert (await sending.run(address, trigger, token="token")).ok
            assert here.recorder.all(ExecutorSuspected) == []


NOT_AVAILABLE = [
    (b"<html>Welcome</html>", 200, "no executor answers there: HTTP 200"),
    (b"<html>Not Found</html>", 404, "no executor answers there: HTTP 404"),
    (b"<html>no backend</html>", 503, "no executor answers there: HTTP 503"),
    (b'{"detail": "Not Found"}', 404, "no executor answers there: HTTP 404"),
]


@pytest.mark.parametrize("incarnation", ["one", None], ids=["ours", "foreign"])
@pytest.mark.parametrize(("body", "status", "reason"), NOT_AVAILABLE, ids=["a page", "no page", "a gateway", "json"])
async def test_something_else_that_answers_is_not_the_executor(
    tmp_path: Path, incarnation: str | None, body: bytes, status: int, reason: str
) -> None:
    answer = executor()
    async with bench(tmp_path) as here:
        with Peer(lambda exchange: answer(exchange)) as peer:
            await here.join(peer.address, incarnation)
            await until(lambda: here.reach.state(peer.address) is Reachability.REACHABLE, "reachable")
            answer = lambda exchange: exchange.respond(body, status, "text/html")  # noqa: E731  # what is there now
            here.reach.silent(peer.address, "its connection was closed")
            found = await here.recorder.seen(ExecutorUnreachable, address=peer.address)
            assert reason in found.reason
            answer = executor()
            await here.recorder.seen(ExecutorReachable, address=peer.address)


async def test_a_foreign_executor_that_says_no_is_avoided_until_it_says_yes(tmp_path: Path) -> None:
    said = b'{"code": 500, "msg": "shutting down"}'
    async with bench(tmp_path) as here:
        with Peer(lambda exchange: exchange.respond(said, content_type="text/html;charset=UTF-8")) as peer:
            await here.join(peer.address, incarnation=None)
            found = await here.recorder.seen(ExecutorUnreachable, address=peer.address)
            assert found.reason == "it answers, and says: shutting down"
            here.reach.spoke(peer.address)  # a trigger was refused
            assert here.reach.state(peer.address) is Reachability.UNREACHABLE
            said = b'{"code":200}'
            await here.recorder.seen(ExecutorReachable, address=peer.address)


async def test_one_that_knows_no_beat_gets_work_again_once_it_took_some(tmp_path: Path) -> None:
    said = b'{"code": 500, "msg": "invalid request, uri-mapping(/beat) not found."}'
    async with bench(tmp_path) as here:
        with Peer(lambda exchange: exchange.respond(said)) as peer:
            await here.join(peer.address, incarnation=None)
            await here.recorder.seen(ExecutorUnreachable, address=peer.address)
            here.reach.took(peer.address)
            before = len(peer.requests)
            await until(lambda: len(peer.requests) >= before + 3, "probes")
            assert here.reach.state(peer.address) is Reachability.REACHABLE
            assert len(here.recorder.all(ExecutorSuspected)) == 1


@pytest.mark.parametrize("others", [("other",), ()], ids=["in the registry", "in nobody's list"])
async def test_a_no_to_somebody_elses_token_tells_only_that_it_is_there(
    tmp_path: Path, others: tuple[str, ...]
) -> None:
    async with bench(tmp_path) as here:
        with Peer(answering(code=500, msg="The access token is wrong.")) as peer:
            if others:
                await here.join(peer.address, None, "app", *others)
            here.reach.silent(peer.address, "a trigger was not answered")
            await here.recorder.seen(ExecutorReachable, address=peer.address)
            assert here.recorder.all(ExecutorUnreachable) == []


async def test_an_address_in_the_lists_of_two_groups_is_not_judged_with_the_token_of_one(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        wrong_token = answering(code=500, msg="The access token is wrong.")
        with Peer(wrong_token) as peer, Peer(wrong_token) as alone:
            for app_name, addresses in (("first", (peer.address,)), ("second", (peer.address + "/", alone.address))):
                group = Group(0, app_name, app_name, AddressType.MANUAL, addresses)
                await here.db.tx(create_group, group, here.clock.now())
            await here.recorder.seen(ExecutorUnreachable, address=alone.address)
            await until(lambda: here.reach.state(peer.address) is Reachability.REACHABLE, "reachable")


async def test_another_process_at_the_address_is_avoided_until_it_is_registered(tmp_path: Path) -> None:
    who = "one"

    def answer(exchange: Exchange) -> None:
        exchange.respond(json.dumps({"status": "ok", "incarnation": who}).encode())

    async with bench(tmp_path) as here:
        with Peer(answer) as peer:
            await here.join(peer.address)
            await until(lambda: here.reach.state(peer.address) is Reachability.REACHABLE, "reachable")
            who = "another"
            here.reach.silent(peer.address, "its connection was closed")
            found = await here.recorder.seen(ExecutorUnreachable, address=peer.address)
            assert found.reason == "another process is there, not the registered one"
            # It was restarted, and told so to another coordinator.
            await here.db.tx(record_beats, [Beat("app", peer.address, "another")], here.clock.now())
            await here.recorder.seen(ExecutorReachable, address=peer.address)


async def test_beyond_the_limit_ours_are_called_too(tmp_path: Path) -> None:
    async with bench(tmp_path, limit=1) as here:
        with Peer(executor()) as first, Peer(executor()) as second:
            await here.join(first.address)
            await until(lambda: first.requests, "the first is watched")
            await here.join(second.address)
            await until(lambda: len(second.requests) >= 2, "the second is called")
            assert {request.path for request in second.requests} == {"/beat"}
            assert [request.path for request in first.requests] == ["/health"]


async def test_a_web_server_in_the_place_of_one_of_ours_stays_avoided(tmp_path: Path) -> None:
    page = b"<html>Not Found</html>"
    async with bench(tmp_path) as here:
        with Peer(lambda exchange: exchange.respond(page, 404, Connection="close")) as peer:
            await here.join(peer.address)
            await here.recorder.seen(ExecutorUnreachable, address=peer.address)
            await until(lambda: len(peer.requests) >= 6, "probes")
            assert {request.path for request in peer.requests} == {"/health"}
            assert here.reach.state(peer.address) is Reachability.UNREACHABLE


async def test_one_app_does_not_say_for_another_what_kind_of_executor_is_there(tmp_path: Path) -> None:
    def foreign(exchange: Exchange) -> None:
        if exchange.request.path == "/beat":
            exchange.respond(b'{"code":200}')
        else:
            exchange.respond(b"<html>Not Found</html>", 404)

    async with bench(tmp_path) as here:
        with Peer(foreign) as peer:
            await here.join(peer.address, incarnation=None)
            await until(lambda: here.reach.state(peer.address) is Reachability.REACHABLE, "an answer")
            await here.join(peer.address, "made up", "another")
            before = len(peer.requests)
            await until(lambda: len(peer.requests) >= before + 4, "probes")
            assert {request.path for request in peer.requests} == {"/beat"}
            assert here.reach.state(peer.address) is Reachability.REACHABLE


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
