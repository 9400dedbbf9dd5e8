"""Dispatch over real sockets: slow peers, refused ones, batches, and strategies that ask first."""

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from orth.clock import SystemClock
from orth.cluster.election import Node
from orth.coordinator.facts import CircuitOpened
from orth.coordinator.node import Coordinator
from orth.coordinator.rooms import Surroundings
from orth.coordinator.triggering import Request as Trigger
from orth.coordinator.triggering import open_requested
from orth.domain import reasons
from orth.domain.executions import Execution, Phase, Status
from orth.domain.jobs import AddressType, BlockStrategy, Group, Job, Overlap, RouteStrategy, TriggerCause
from orth.domain.nodes import Reachability
from orth.events import Events
from orth.loop import run_loops
from orth.settings import Settings
from orth.store.database import Connection, Database, open_database
from orth.store.execution_lists import list_executions
from orth.store.executions import find_execution
from orth.store.groups import create_group
from orth.store.jobs import create_job, get_job
from orth.store.registry import Beat, record_beats
from orth.testing import Recorder
from orth.testing.stores import prepare_store
from orth.wire.executor_calls import ExecutorCalls
from orth.wire.fields import BATCH_LIMIT, BODY_LIMIT
from tests.store.builders import until
from tests.wire.peers import Exchange, Peer, refusing

OURS = frozenset({"resend", "batch-run"})


@dataclass
class Taker:
    """An executor that takes what it is sent, after a pause, and remembers it."""

    pause: float = 0.0
    refuse: Callable[[int], bool] = lambda _log_id: False
    busy: bool = False
    taken: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, exchange: Exchange) -> None:
        path = exchange.request.path
        if path in ("/run", "/runs"):
            self._run(exchange)
        elif path == "/idleBeat" and self.busy:
            exchange.respond(json.dumps({"code": 500, "msg": "job thread is running"}).encode())
        else:
            exchange.respond(b'{"code": 200}')

    def _run(self, exchange: Exchange) -> None:
        body = json.loads(exchange.request.body)
        requests = body["requests"] if exchange.request.path == "/runs" else [body]
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            self.taken += [request["logId"] for request in requests if not self.refuse(request["logId"])]
            self.sizes.append(len(requests))
        exchange.stopping.wait(self.pause)
        with self._lock:
            self.at_once -= 1
        replies = [
            {"logId": one["logId"], "code": 500 if self.refuse(one["logId"]) else 200, "msg": None} for one in requests
        ]
        single = exchange.request.path == "/run"
        exchange.respond(json.dumps({"code": replies[0]["code"]} if single else _batch(replies)).encode())


def _batch(replies: Sequence[dict[str, object]]) -> dict[str, object]:
    return {"code": 200, "data": {"replies": replies}}


@dataclass
class Site:
    """A coordinator at work on real sockets and a real clock."""

    db: Database
    coordinator: Coordinator
    recorder: Recorder
    groups: int = 0

    async def job(
        self, addresses: Sequence[str], strategy: RouteStrategy, *, extensions: frozenset[str] = OURS, **fields: object
    ) -> Job:
        """A job whose group has these addresses."""
        self.groups += 1
        return await self.db.tx(self._define, f"app-{self.groups}", addresses, strategy, extensions, fields)

    def _define(
        self,
        connection: Connection,
        app_name: str,
        addresses: Sequence[str],
        strategy: RouteStrategy,
        extensions: frozenset[str],
        fields: dict[str, object],
    ) -> Job:
        now = self.coordinator.given.clock.now()
        group = Group(0, app_name, app_name, AddressType.MANUAL, tuple(addresses))
        group_id = create_group(connection, group, now)
        if extensions:
            beats = [Beat(app_name, address, f"process-{address}", extensions) for address in addresses]
            record_beats(connection, beats, now)
        spread = {"overlap": Overlap.EXECUTOR, "executor_route_strategy": strategy}
        job = _changed(Job(id=0, job_group=group_id, job_desc="h", executor_handler="h"), spread)
        return get_job(connection, create_job(connection, _changed(job, fields), now))

    async def trigger(self, job: Job, times: int = 1, param: str | None = None) -> list[int]:
        def write(connection: Connection) -> list[int]:
            now = self.coordinator.given.clock.now()
            ids: list[int] = []
            for _ in range(times):
                key = f"{job.id}-{time.monotonic_ns()}-{len(ids)}"
                ids += open_requested(connection, job, Trigger(TriggerCause.API, key, param, ()), now) or []
            return ids

        ids = await self.db.tx(write)
        self.coordinator.work.dispatch.wake()
        return ids

    async def execution(self, execution_id: int) -> Execution:
        found = await self.db.read(find_execution, execution_id)
        assert found is not None
        return found

    async def until(self, ids: Sequence[int], phases: set[Phase], within: float = 20.0) -> list[Execution]:
        """The executions, once each is in one of these phases."""
        deadline = time.monotonic() + within
        while True:
            found = [await self.execution(one) for one in ids]
            if all(one.phase in phases for one in found):
                return found
            assert time.monotonic() < deadline, Counter((one.phase, one.trigger_msg) for one in found)
            await asyncio.sleep(0.02)


def _changed(job: Job, fields: dict[str, object]) -> Job:
    return replace(job, **fields)  # type: ignore[arg-type]  # fields of Job


@asynccontextmanager
async def running(folder: Path, **changes: object) -> AsyncIterator[Site]:
    url = f"sqlite:///{folder / 'orth.db'}"
    prepare_store(url)
    defaults = Settings()
    settings = defaults.model_copy(update={"coordinator": defaults.coordinator.model_copy(update=changes)})
    recorder = Recorder()
    with open_database(url) as db:
        async with ExecutorCalls(timeout=settings.coordinator.dispatch_timeout.total_seconds()) as link:
            events = Events(recorder)
            node = Node("node-1", "incarnation-1")
            coordinator = Coordinator(
                Surroundings(settings, node, db, link, SystemClock(), events, "token", "secret" * 8)
            )
            loops = (coordinator.work.election, coordinator.work.dispatch, coordinator.care.unknowns)
            work = asyncio.create_task(run_loops(*loops))
            try:
                yield Site(db, coordinator, recorder)
            finally:
                for loop in loops:
                    loop.stop()
                await work
                await coordinator.leave()


TAKEN = {Phase.DISPATCHED}


async def test_one_request_carries_many_triggers(tmp_path: Path) -> None:
    taker = Taker()
    with Peer(taker) as peer:
        async with running(tmp_path) as site:
            ids = await site.trigger(await site.job([peer.address], RouteStrategy.FIRST), 700)
            await site.until(ids, TAKEN)
    assert sorted(taker.taken) == ids
    assert max(taker.sizes) <= BATCH_LIMIT
    assert len(taker.sizes) <= 6


async def test_an_executor_that_announced_nothing_gets_one_at_a_time_within_its_limit(tmp_path: Path) -> None:
    taker = Taker(pause=0.02)
    with Peer(taker) as peer:
        async with running(tmp_path, dispatch_per_executor=4) as site:
            job = await site.job([peer.address], RouteStrategy.FIRST, extensions=frozenset())
            ids = await site.trigger(job, 60)
            await site.until(ids, TAKEN)
    assert sorted(taker.taken) == ids
    assert set(taker.sizes) == {1}
    assert taker.most_at_once <= 4


async def test_a_slow_executor_delays_nobody_else(tmp_path: Path) -> None:
    slow, quick = Taker(pause=2.5), Taker()
    with Peer(slow) as slow_peer, Peer(quick) as quick_peer:
        async with running(tmp_path, dispatch_in_flight=8, dispatch_per_executor=4) as site:
            job = await site.job([slow_peer.address], RouteStrategy.FIRST, extensions=frozenset())
            await site.trigger(job, 200)
            other = await site.job([quick_peer.address], RouteStrategy.FIRST, extensions=frozenset())
            started = time.monotonic()
            ids = await site.trigger(other, 100)
            await site.until(ids, TAKEN)
            spent = time.monotonic() - started
            assert slow.at_once == 4, "it still works on its first ones"
    assert spent < 2.5, f"100 triggers took {spent:.1f} s beside a slow executor"


async def test_a_refused_item_spoils_nothing_around_it(tmp_path: Path) -> None:
    taker = Taker(refuse=lambda log_id: log_id % 3 == 0)
    with Peer(taker) as peer:
        async with running(tmp_path) as site:
            ids = await site.trigger(await site.job([peer.address], RouteStrategy.FIRST), 30)
            found = await site.until(ids, {Phase.DISPATCHED, Phase.ENDED})
    for one in found:
        if one.id % 3:
            assert one.phase is Phase.DISPATCHED
        else:
            assert (one.status, one.reason_code) == (Status.TRIGGER_FAILED, reasons.REFUSED)


async def test_what_a_block_strategy_discards_has_its_own_reason(tmp_path: Path) -> None:
    def refuse(exchange: Exchange) -> None:
        msg = "Refused: job 1 is busy here, and its block strategy is DISCARD_LATER."
        exchange.respond(json.dumps({"code": 500, "msg": msg}).encode())

    with Peer(refuse) as peer:
        async with running(tmp_path) as site:
            job = await site.job(
                [peer.address], RouteStrategy.FIRST, executor_block_strategy=BlockStrategy.DISCARD_LATER
            )
            (found,) = await site.until(await site.trigger(job), {Phase.ENDED})
    assert (found.status, found.reason_code) == (Status.TRIGGER_FAILED, reasons.DISCARDED)


@pytest.mark.parametrize(
    ("said", "busy_with", "code"),
    [
        ("busy, sorry", "the job", reasons.DISCARDED),
        ("busy, sorry", "nothing", reasons.REFUSED),
        ("busy, sorry", "everything", reasons.REFUSED),
        ("busy, sorry", "no answer", reasons.REFUSED),
        ("busy, sorry", "no answer about the job", reasons.REFUSED),
        ("job handler [nightly] not found.", "the job", reasons.REFUSED),
        ("The access token is wrong.", "the job", reasons.REFUSED),
        (None, "the job", reasons.DISCARDED),
    ],
)
async def test_a_foreign_executor_that_refuses_in_its_own_words_is_asked_whether_it_is_busy(
    tmp_path: Path, said: str | None, busy_with: str, code: str
) -> None:
    def answer(exchange: Exchange) -> None:
        asked = json.loads(exchange.request.body or b"{}").get("jobId")
        no = json.dumps({"code": 500, "msg": said}).encode()
        if exchange.request.path == "/run":
            exchange.respond(no)
        elif busy_with == "no answer" or (busy_with == "no answer about the job" and asked):
            exchange.close()
        elif busy_with == "everything" or (busy_with == "the job" and asked):
            exchange.respond(no)
        else:
            exchange.respond(b'{"code": 200}')

    with Peer(answer) as peer:
        async with running(tmp_path) as site:
            job = await site.job(
                [peer.address],
                RouteStrategy.FIRST,
                extensions=frozenset(),
                executor_block_strategy=BlockStrategy.DISCARD_LATER,
                executor_fail_retry_count=1,
            )
            (found,) = await site.until(await site.trigger(job), {Phase.ENDED})
            opened = await site.db.read(list_executions, limit=10)
    assert (found.status, found.reason_code) == (Status.TRIGGER_FAILED, code)
    assert len(opened) == (1 if code == reasons.DISCARDED else 2), "what was discarded is not tried again"


async def test_a_job_that_does_not_discard_is_refused_without_a_question(tmp_path: Path) -> None:
    with Peer(Taker(refuse=lambda _log_id: True, busy=True)) as peer:
        async with running(tmp_path) as site:
            job = await site.job([peer.address], RouteStrategy.FIRST, extensions=frozenset())
            (found,) = await site.until(await site.trigger(job), {Phase.ENDED})
    assert found.reason_code == reasons.REFUSED
    assert "/idleBeat" not in {request.path for request in peer.requests}


async def test_a_batch_that_says_nothing_about_an_item_leaves_it_unknown(tmp_path: Path) -> None:
    asked: list[int] = []

    def forgetful(exchange: Exchange) -> None:
        requests = json.loads(exchange.request.body)
        many = requests.get("requests", [requests])
        asked.append(len(many))
        told = [{"logId": one["logId"], "code": 200} for one in many]
        if len(asked) == 1:
            told = told[:-1]
        exchange.respond(json.dumps(_batch(told) if "requests" in requests else {"code": 200}).encode())

    with Peer(forgetful) as peer:
        async with running(tmp_path) as site:
            ids = await site.trigger(await site.job([peer.address], RouteStrategy.FIRST), 5)
            await site.until(ids, TAKEN)
    assert asked == [5, 1], "the one without an answer was asked about, and only that one"


async def test_a_request_stays_below_the_body_limit(tmp_path: Path) -> None:
    sizes: list[int] = []
    taker = Taker()

    def weigh(exchange: Exchange) -> None:
        sizes.append(len(exchange.request.body))
        taker(exchange)

    with Peer(weigh) as peer:
        async with running(tmp_path) as site:
            job = await site.job([peer.address], RouteStrategy.FIRST)
            ids = await site.trigger(job, 200, param='"' * 60_000)  # each doubles when it is written as JSON
            await site.until(ids, TAKEN)
    assert sorted(taker.taken) == ids
    assert max(sizes) <= BODY_LIMIT
    assert len(sizes) >= 5


async def test_a_peer_that_never_answers_opens_its_circuit_and_hands_back_what_waits(tmp_path: Path) -> None:
    hanging = Taker(pause=60)
    with Peer(hanging) as peer, Peer(Taker()) as other:
        changes = {"dispatch_timeout": timedelta(seconds=1.5), "dispatch_per_executor": 2, "breaker_failures": 2}
        async with running(tmp_path, **changes) as site:
            job = await site.job([peer.address, other.address], RouteStrategy.FIRST, extensions=frozenset())
            ids = await site.trigger(job, 40)
            found = await site.until(ids, {Phase.DISPATCHED, Phase.UNKNOWN})
    where = Counter((one.phase, one.executor_address) for one in found)
    assert where[Phase.UNKNOWN, peer.address] <= 4
    assert where[Phase.DISPATCHED, other.address] >= 36
    assert [one.address for one in site.recorder.all(CircuitOpened)] == [peer.address]


async def test_a_trigger_that_is_taken_clears_a_doubt_and_one_that_is_refused_does_not(tmp_path: Path) -> None:
    with Peer(Taker()) as good, Peer(Taker(refuse=lambda _log_id: True)) as bad:
        async with running(tmp_path) as site:
            reach = site.coordinator.presence.reach
            for peer, ended in ((good, TAKEN), (bad, {Phase.ENDED})):
                reach.unfit(peer.address, "it answers, and says: shutting down", probed=True)
                job = await site.job([peer.address], RouteStrategy.FIRST, extensions=frozenset())
                await site.until(await site.trigger(job), ended)
            assert reach.state(good.address) is Reachability.REACHABLE
            assert reach.state(bad.address) is Reachability.SUSPECT


async def test_failover_takes_the_first_that_answers(tmp_path: Path) -> None:
    taker = Taker()
    with refusing() as nobody, Peer(taker) as peer:
        async with running(tmp_path) as site:
            job = await site.job([nobody, peer.address], RouteStrategy.FAILOVER)
            found = await site.until(await site.trigger(job, 20), TAKEN)
            beats = [request.path for request in peer.requests].count("/beat")
    assert {one.executor_address for one in found} == {peer.address}
    assert beats < 20, "many executions of one moment ask once"


async def test_busyover_takes_the_first_idle_one_and_says_when_there_is_none(tmp_path: Path) -> None:
    busy, idle = Taker(busy=True), Taker()
    with Peer(busy) as busy_peer, Peer(idle) as idle_peer:
        async with running(tmp_path) as site:
            job = await site.job([busy_peer.address, idle_peer.address], RouteStrategy.BUSYOVER)
            (found,) = await site.until(await site.trigger(job), TAKEN)
            assert found.executor_address == idle_peer.address
            idle.busy = True
            (ended,) = await site.until(await site.trigger(job), {Phase.ENDED})
    assert busy.taken == []
    assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.NONE_IDLE)
    assert "job thread is running" in (ended.trigger_msg or "")


async def test_busyover_gives_two_at_once_to_two_executors(tmp_path: Path) -> None:
    takers = [Taker(pause=0.5), Taker(pause=0.5)]
    with ExitStack() as stack:
        peers = [stack.enter_context(Peer(taker)) for taker in takers]
        async with running(tmp_path) as site:
            job = await site.job([peer.address for peer in peers], RouteStrategy.BUSYOVER)
            await site.until(await site.trigger(job, 2), TAKEN)
    assert [len(taker.taken) for taker in takers] == [1, 1]


@dataclass
class Losing:
    """An executor of another make whose answers to triggers are lost; it may be busy with the job or not."""

    busy: bool = False

    def __call__(self, exchange: Exchange) -> None:
        if exchange.request.path == "/run":
            exchange.reset()
        else:
            exchange.respond(b'{"code": 500, "msg": "busy"}' if self.busy else b'{"code": 200}')


@pytest.mark.parametrize("bounds", [{"lost_after": 2}, {"lost_after": 1, "executor_timeout": 2}])
async def test_that_an_executor_of_another_make_is_idle_does_not_say_that_it_did_not_run(
    tmp_path: Path, bounds: dict[str, int]
) -> None:
    with Peer(Losing()) as peer:
        async with running(tmp_path) as site:
            fields = {"executor_fail_retry_count": 1, **bounds}
            job = await site.job([peer.address], RouteStrategy.FIRST, extensions=frozenset(), **fields)
            (ended,) = await site.until(await site.trigger(job), {Phase.ENDED})
            opened = await site.db.read(list_executions, limit=10)
            asked = Counter(request.path for request in peer.requests)
    assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.NEVER_RESOLVED)
    assert f"job {job.id} is idle there" in (ended.trigger_msg or "")
    assert (ended.handle_time or 0) - ended.trigger_time >= 2_000, "its result may be on its way until then"
    assert [one.id for one in opened] == [ended.id], "it is not tried again"
    assert (asked["/run"], asked["/idleBeat"]) == (1, 2)


async def test_while_an_executor_of_another_make_is_busy_with_the_job_it_may_have_it(tmp_path: Path) -> None:
    losing = Losing(busy=True)
    with Peer(losing) as peer:
        async with running(tmp_path) as site:
            job = await site.job([peer.address], RouteStrategy.FIRST, extensions=frozenset(), lost_after=1)
            ids = await site.trigger(job)
            await until(lambda: [one.path for one in peer.requests].count("/idleBeat") >= 3, "three questions")
            assert (await site.execution(ids[0])).phase is Phase.UNKNOWN
            losing.busy = False
            (ended,) = await site.until(ids, {Phase.ENDED})
    assert ended.reason_code == reasons.NEVER_RESOLVED


async def test_many_doubts_about_one_executor_are_asked_in_one_request(tmp_path: Path) -> None:
    runs: list[int] = []

    def once_lost(exchange: Exchange) -> None:
        many = json.loads(exchange.request.body)["requests"]
        runs.append(len(many))
        if len(runs) == 1:
            exchange.reset()
        else:
            assert {one["resendTo"] for one in many} == {f"process-{peer.address}"}
            exchange.respond(json.dumps(_batch([{"logId": one["logId"], "code": 200} for one in many])).encode())

    with Peer(once_lost) as peer:
        async with running(tmp_path) as site:
            ids = await site.trigger(await site.job([peer.address], RouteStrategy.FIRST), 50)
            await site.until(ids, TAKEN)
    assert runs == [50, 50]


async def test_what_has_not_been_sent_when_the_node_stops_goes_back(tmp_path: Path) -> None:
    with Peer(Taker(pause=0.5)) as peer:
        async with running(tmp_path, dispatch_per_executor=1) as site:
            ids = await site.trigger(await site.job([peer.address], RouteStrategy.FIRST, extensions=frozenset()), 10)
            await until(lambda: bool(peer.requests), "the first request")
        with open_database(f"sqlite:///{tmp_path / 'orth.db'}") as db:
            found = [await db.read(find_execution, one) for one in ids]
    phases = Counter(one.phase for one in found if one is not None)
    assert phases[Phase.OPENED] >= 7
    assert phases[Phase.OPENED] + phases[Phase.DISPATCHED] == 10
    assert {one.reason_code for one in found if one is not None and one.phase is Phase.OPENED} == {reasons.HANDED_BACK}
