"""Killing on a hand-cranked cluster: one end for each execution, whatever the executor does or says."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from orth.coordinator.defining import edit_group
from orth.coordinator.facts import StrayResults
from orth.coordinator.killing import UNSENT, Killed, Killing, may_start_yet
from orth.domain import reasons
from orth.domain.audit import Actor, ActorKind
from orth.domain.executions import Execution, Phase, Status
from orth.domain.jobs import AddressType, BlockStrategy, Group, Job, ScheduleType
from orth.errors import Conflict, NotFound
from orth.executor.handlers import Handlers
from orth.store.dispatching import Assignment, assign_executions, record_accepted
from orth.store.jobs import get_job
from orth.testing import Cluster
from orth.testing.cluster import TOKEN
from orth.testing.network import ExecutorEnd, Line
from orth.wire.messages import CallbackItem, Verdict
from tests.servers.processes import wait_until
from tests.store.builders import until_blocked


class Work:
    """Handlers that say when they begin; ``hold`` goes on until it is released, ended or tired."""

    def __init__(self) -> None:
        self.app = Handlers("tests")
        self.began: list[str] = []
        self.ended: list[str] = []
        self.released = threading.Event()
        self.app.job("hold")(self._hold)
        self.app.job("note")(self._note)

    def _note(self, text: str = "") -> None:
        self.began.append(text)

    def _hold(self, text: str) -> str:
        self.began.append(text)
        try:
            for _ in range(2000):
                if self.released.wait(0.01):
                    return text
        finally:
            self.ended.append(text)
        return "tired"


@pytest.fixture
def work() -> Iterator[Work]:
    work = Work()
    yield work
    work.released.set()


async def kill(cluster: Cluster, execution_id: int, user: str = "ann") -> Killed:
    return await _killing(cluster).kill(execution_id, Actor(ActorKind.USER, user))


def _killing(cluster: Cluster, coordinator: int = 0) -> Killing:
    db = cluster.coordinators[coordinator].given.db
    return Killing(db, ExecutorEnd(cluster.network), cluster.clock, cluster.events, token=TOKEN)


async def sent(cluster: Cluster, job: Job, param: str | None = None) -> int:
    """A new execution, once what its executor answered is stored."""
    execution_id = await cluster.trigger(job, param)
    dispatch = cluster.coordinators[0].work.dispatch
    await dispatch.guarded_turn()
    await dispatch.all_answered()
    await dispatch.guarded_turn()
    return execution_id


async def running(cluster: Cluster, job: Job, work: Work, param: str) -> int:
    execution_id = await sent(cluster, job, param)
    await asyncio.to_thread(wait_until, lambda: param in work.began, f"{param} to begin")
    return execution_id


async def ended_there(work: Work, param: str) -> None:
    await asyncio.to_thread(wait_until, lambda: param in work.ended, f"{param} to end")


def ending(one: Execution) -> tuple[Status, str | None, str | None]:
    message = one.trigger_msg if one.status is Status.TRIGGER_FAILED else one.handle_msg
    return one.status, message, one.reason_code


ANN = Actor(ActorKind.USER, "ann")
KILLED = (Status.FAILED, "Killed by ann", reasons.KILLED)


async def test_what_was_not_sent_never_is(tmp_path: Path, work: Work) -> None:
    async with Cluster(tmp_path, work.app) as cluster:
        job = await cluster.job(start=False, executor_handler="note", executor_fail_retry_count=2)
        execution_id = await cluster.trigger(job, "never")
        killed = await kill(cluster, execution_id)
        assert (killed.told, [one.execution.id for one in killed.closed.finished]) == (False, [execution_id])
        await cluster.advance(seconds=5)
        assert ending(await cluster.execution(execution_id)) == (Status.TRIGGER_FAILED, UNSENT, reasons.KILLED)
        assert work.began == []
        assert len(await cluster.executions(job)) == 1


async def test_what_runs_is_ended_there_and_nothing_follows(tmp_path: Path, work: Work) -> None:
    async with Cluster(tmp_path, work.app) as cluster:
        child = await cluster.job(start=False, executor_handler="note")
        job = await cluster.job(
            start=False, executor_handler="hold", executor_fail_retry_count=2, child_job_ids=(child.id,)
        )
        execution_id = await running(cluster, job, work, "mule")
        killed = await kill(cluster, execution_id)
        assert killed.told
        assert killed.message == f"{cluster.executors[0].address} was told to end execution {execution_id}."
        assert ending(killed.closed.execution) == KILLED
        await ended_there(work, "mule")
        await cluster.advance(seconds=5)
        assert ending(await cluster.execution(execution_id)) == KILLED
        assert len(await cluster.executions(job)) == 1
        assert await cluster.executions(child) == []
        assert [one.count for one in cluster.recorder.all(StrayResults)] == [1]  # its own report came too late


async def test_ours_end_one_execution_and_leave_the_others(tmp_path: Path, work: Work) -> None:
    async with Cluster(tmp_path, work.app) as cluster:
        job = await cluster.job(
            start=False,
            executor_handler="hold",
            executor_block_strategy=BlockStrategy.CONCURRENT,
            executor_concurrency=2,
        )
        first, second = await running(cluster, job, work, "first"), await running(cluster, job, work, "second")
        killed = await kill(cluster, first)
        assert [one.execution.id for one in killed.closed.finished] == [first]
        await ended_there(work, "first")
        assert work.ended == ["first"]
        work.released.set()
        await cluster.advance(seconds=1)
        assert (await cluster.execution(second)).status is Status.SUCCESS


async def test_what_nobody_is_sure_about_is_ended_and_the_executor_told(tmp_path: Path, work: Work) -> None:
    async with Cluster(tmp_path, work.app) as cluster:
        job = await cluster.job(start=False, executor_handler="hold")
        cluster.set_line(cluster.executors[0], Line.LOST_ANSWERS)
        execution_id = await running(cluster, job, work, "doubted")
        assert (await cluster.execution(execution_id)).phase is Phase.UNKNOWN
        cluster.set_line(cluster.executors[0], Line.UP)
        assert (await kill(cluster, execution_id)).told
        await ended_there(work, "doubted")
        await cluster.advance(seconds=5)
        assert ending(await cluster.execution(execution_id)) == KILLED


async def test_a_trigger_that_arrives_after_the_kill_is_killed_again(
    tmp_path: Path, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Cluster(tmp_path, work.app) as cluster:
        job = await cluster.job(start=False, executor_handler="hold")
        arrives, exchange = asyncio.Event(), cluster.network.exchange

        async def slow(address: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
            if path.startswith("/run"):
                await arrives.wait()
            return await exchange(address, path, body, headers)

        monkeypatch.setattr(cluster.network, "exchange", slow)
        execution_id = await cluster.trigger(job, "late")
        dispatch = cluster.coordinators[0].work.dispatch
        await dispatch.guarded_turn()
        assert (await cluster.execution(execution_id)).phase is Phase.DISPATCHING
        killed = await kill(cluster, execution_id)
        assert ending(killed.closed.execution) == KILLED
        assert may_start_yet(killed.closed)
        again = asyncio.create_task(_killing(cluster).tell_again(killed.closed, 3.0))
        arrives.set()
        await dispatch.all_answered()
        await asyncio.to_thread(wait_until, lambda: work.began == ["late"], "the late trigger")
        assert work.ended == []
        cluster.clock.move(3.0)
        await again
        await ended_there(work, "late")
        await cluster.advance(seconds=1)
        assert ending(await cluster.execution(execution_id)) == KILLED


async def test_what_was_sent_ahead_does_not_start(tmp_path: Path, work: Work) -> None:
    async with Cluster(tmp_path, work.app, plan_ahead=1.0) as cluster:
        job = await cluster.job(executor_handler="note", schedule_type=ScheduleType.FIX_RATE, schedule_conf="10s")
        await cluster.advance(seconds=9.7)
        (ahead,) = await cluster.executions(job)
        assert (ahead.phase, ahead.not_before) == (Phase.DISPATCHED, ahead.schedule_time)
        assert (await kill(cluster, ahead.id)).told
        await cluster.advance(seconds=5)
        assert ending(await cluster.execution(ahead.id)) == KILLED
        assert work.began == []
        await cluster.advance(seconds=6)
        assert [one.status for one in await cluster.executions(job)] == [Status.FAILED, Status.SUCCESS]


@pytest.mark.parametrize("line", [Line.REFUSED, Line.LOST_REQUESTS])
async def test_an_executor_that_cannot_be_told_changes_nothing_and_is_told_again(
    tmp_path: Path, work: Work, line: Line
) -> None:
    async with Cluster(tmp_path, work.app) as cluster:
        job = await cluster.job(start=False, executor_handler="hold")
        execution_id = await running(cluster, job, work, "deaf")
        cluster.set_line(cluster.executors[0], line)
        killed = await kill(cluster, execution_id)
        assert not killed.told
        assert "could not be told" in killed.message
        assert "may still be working" in killed.message
        assert ending(await cluster.execution(execution_id)) == KILLED
        cluster.set_line(cluster.executors[0], Line.UP)
        assert work.ended == []
        again = await kill(cluster, execution_id, "bob")
        assert (again.told, again.closed.finished) == (True, [])
        await ended_there(work, "deaf")
        await cluster.advance(seconds=1)
        assert ending(await cluster.execution(execution_id)) == KILLED


async def test_a_result_that_comes_after_the_kill_is_counted_and_not_applied(tmp_path: Path, work: Work) -> None:
    async with Cluster(tmp_path, work.app) as cluster:
        job = await cluster.job(start=False, executor_handler="hold")
        execution_id = await running(cluster, job, work, "deaf")
        cluster.set_line(cluster.executors[0], Line.REFUSED)
        await kill(cluster, execution_id)
        work.released.set()
        await cluster.advance(seconds=1)
        assert ending(await cluster.execution(execution_id)) == KILLED
        assert [one.count for one in cluster.recorder.all(StrayResults)] == [1]


@asynccontextmanager
async def foreign(folder: Path, work: Work) -> AsyncIterator[tuple[Cluster, Job, Job]]:
    """A cluster whose one executor is known by its address only, as those of other makes are, and two jobs."""
    async with Cluster(folder, work.app) as cluster:
        jobs = [await cluster.job(start=False, executor_handler="hold") for _ in range(2)]
        executor = cluster.executors[0]
        await executor.heartbeat.unregister(1)
        group = Group(jobs[0].job_group, "tests", "tests", AddressType.MANUAL, (executor.address,))
        await cluster.db.tx(edit_group, group, cluster.clock.now())
        yield cluster, jobs[0], jobs[1]


async def test_others_end_the_whole_job_so_all_of_it_there_is_closed(tmp_path: Path, work: Work) -> None:
    async with foreign(tmp_path, work) as (cluster, job, other):
        runs = await running(cluster, job, work, "runs")
        waits, elsewhere = await sent(cluster, job, "waits"), await running(cluster, other, work, "other")
        unsent = await cluster.trigger(job, "unsent")
        killed = await kill(cluster, waits)
        assert killed.told
        assert killed.message.endswith(f"was told to end all of job {job.id}, of which 2 were open there.")
        assert sorted(one.execution.id for one in killed.closed.finished) == [runs, waits]
        assert ending(await cluster.execution(waits)) == KILLED
        together = f"Killed by ann, together with execution {waits}: its executor can end a job only as a whole"
        assert ending(await cluster.execution(runs)) == (Status.FAILED, together, reasons.KILLED)
        await ended_there(work, "runs")
        assert work.ended == ["runs"]
        assert (await cluster.execution(unsent)).phase is Phase.OPENED
        work.released.set()
        await cluster.advance(seconds=1)
        assert "waits" not in work.began
        for survivor in (elsewhere, unsent):
            assert (await cluster.execution(survivor)).status is Status.SUCCESS
        with pytest.raises(Conflict):  # told again, it would end what was sent since
            await kill(cluster, waits)


async def test_what_has_ended_stays_as_it_is(tmp_path: Path, work: Work) -> None:
    async with Cluster(tmp_path, work.app) as cluster:
        execution_id = await cluster.trigger(await cluster.job(start=False, executor_handler="note"), "done")
        await cluster.advance(seconds=1)
        before = await cluster.execution(execution_id)
        with pytest.raises(Conflict, match="has ended: Success 200/200"):
            await kill(cluster, execution_id)
        assert await cluster.execution(execution_id) == before
        with pytest.raises(NotFound):
            await kill(cluster, execution_id + 1)


async def test_a_delay_begins_with_the_kill(tmp_path: Path, work: Work) -> None:
    async with Cluster(tmp_path, work.app) as cluster:
        job = await cluster.job(executor_handler="note", schedule_type=ScheduleType.FIX_DELAY, schedule_conf="10s")
        cluster.clock.move(10)
        await cluster.coordinators[0].work.due.guarded_turn()
        (opened,) = await cluster.executions(job)
        assert (await cluster.db.read(get_job, job.id)).trigger_next_time == 0
        await kill(cluster, opened.id)
        assert (await cluster.db.read(get_job, job.id)).trigger_next_time == cluster.clock.now() + 10_000


@pytest.mark.parametrize("incarnation", ["ours", None], ids=["ours", "foreign"])
async def test_of_a_kill_and_a_result_one_ends_the_execution(
    tmp_path: Path, work: Work, store_url: str, incarnation: str | None
) -> None:
    async with Cluster(tmp_path, work.app, store_url=store_url, coordinators=2, executors=0) as cluster:
        job = await cluster.job(start=False, executor_handler="note")
        ids = [await cluster.trigger(job, "x") for _ in range(12)]
        nowhere = [Assignment(one, "http://10.0.0.1:9999", incarnation, "by hand") for one in ids]
        await cluster.db.tx(assign_executions, nowhere, 1, cluster.clock.now())
        await cluster.db.tx(record_accepted, ids, cluster.clock.now())

        triggered = cluster.clock.now()

        async def killed(number: int, one: int) -> list[int]:
            try:
                won = await _killing(cluster, number % 2).kill(one, ANN)
            except Conflict:
                return []
            return [each.execution.id for each in won.closed.finished]

        async def reported(number: int, one: int) -> list[int]:
            item = CallbackItem(log_id=one, log_date_time=triggered, handle_code=200, handle_msg="done")
            (verdict,) = (await cluster.coordinators[1 - number % 2].work.callbacks.take([item])).verdicts
            return [one] if verdict.verdict is Verdict.STORED else []

        by_kill, by_result = await asyncio.gather(
            asyncio.gather(*(killed(number, one) for number, one in enumerate(ids))),
            asyncio.gather(*(reported(number, one) for number, one in enumerate(ids))),
        )
        killed_ids, reported_ids = [x for won in by_kill for x in won], [x for won in by_result for x in won]
        assert sorted(killed_ids + reported_ids) == ids
        for one in ids:
            expected = Status.FAILED if one in killed_ids else Status.SUCCESS
            assert (await cluster.execution(one)).status is expected


@pytest.mark.parametrize("store_url", ["postgresql", "mariadb"], indirect=True)
async def test_what_is_sent_while_the_kill_looks_is_not_taken_for_unsent(
    tmp_path: Path, work: Work, store_url: str
) -> None:
    async with Cluster(tmp_path, work.app, store_url=store_url, coordinators=2, executors=0) as cluster:
        job = await cluster.job(start=False, executor_handler="note")
        before, late = await cluster.trigger(job, "x"), await cluster.trigger(job, "x")
        now, address = cluster.clock.now(), "http://10.0.0.1:9999"
        await cluster.db.tx(assign_executions, [Assignment(before, address, None, "by hand")], 1, now)
        with cluster.db.engine.begin() as dispatching:
            assign_executions(dispatching, [Assignment(late, address, None, "by hand")], 1, now)
            killing = asyncio.create_task(_killing(cluster, 1).kill(late, ANN))
            await until_blocked(cluster.db)
        killed = await killing
        assert ending(killed.closed.execution) == KILLED
        assert [one.execution.id for one in killed.closed.finished] == [before, late]
