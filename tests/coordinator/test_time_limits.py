"""The leader's watch over time limits that an executor does not keep."""

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, update

from orth.coordinator.defining import edit_group
from orth.coordinator.time_limits import OURS_GET
from orth.domain import reasons
from orth.domain.executions import Phase, Status
from orth.domain.jobs import BlockStrategy, GroupDialect, Job
from orth.executor.handlers import Handlers
from orth.store.groups import get_group
from orth.store.jobs import replace_job
from orth.store.possibly_running import confirm_ends, note_unconfirmed
from orth.store.tables import executions
from orth.testing.cluster import Cluster
from orth.testing.network import Line

GRACE = 10
LIMIT = 30


@pytest.fixture
def held() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@asynccontextmanager
async def hanging(folder: Path, held: threading.Event, **fields: Any) -> AsyncIterator[tuple[Cluster, Job]]:
    """A cluster whose handlers hang and whose executor was told of no limit, with a job that has one."""
    app = Handlers("tests")
    app.job("hang")(lambda: held.wait(30) and None)
    async with Cluster(folder, app) as cluster:
        yield cluster, await cluster.job(start=False, executor_handler="hang", **fields)


async def limited(cluster: Cluster, job: Job, count: int = 1, *, foreign: bool = True) -> list[int]:
    """Executions that an executor has, of a job that has a limit from then on."""
    ids = [await cluster.trigger(job) for _ in range(count)]
    dispatch = cluster.coordinators[0].work.dispatch
    await dispatch.guarded_turn()
    await dispatch.all_answered()
    await dispatch.guarded_turn()
    for one in ids:
        assert (await cluster.execution(one)).phase is Phase.DISPATCHED
    await cluster.db.tx(replace_job, replace(job, executor_timeout=LIMIT), cluster.clock.now())
    if foreign:
        await cluster.db.tx(_forget_incarnation)
    return ids


def _forget_incarnation(connection: Connection) -> None:
    connection.execute(update(executions).values(incarnation=None))


async def watch(cluster: Cluster, seconds: int) -> None:
    """Let time pass for the watch alone."""
    coordinator = cluster.coordinators[0]
    for _ in range(seconds):
        await coordinator.care.time_limits.guarded_turn()
        cluster.clock.move(1)
        await coordinator.work.election.guarded_turn()
        coordinator.work.election.worked()


async def test_what_outlasts_its_limit_and_the_grace_is_ended_and_never_before(
    tmp_path: Path, held: threading.Event
) -> None:
    async with hanging(tmp_path, held, executor_fail_retry_count=1) as (cluster, job):
        (one,) = await limited(cluster, job)
        await watch(cluster, LIMIT + GRACE)
        assert (await cluster.execution(one)).phase is Phase.DISPATCHED, "not before"
        await watch(cluster, 2)
        ended = await cluster.execution(one)
        assert (ended.status, ended.reason_code) == (Status.TIMEOUT, reasons.TIME_LIMIT)
        assert ended.handle_msg == "It ran longer than 30 s, and its executor did not end it."
        assert [again.attempt for again in await cluster.executions(job)] == [1, 2]
        held.set()


async def test_our_own_get_longer(tmp_path: Path, held: threading.Event) -> None:
    async with hanging(tmp_path, held) as (cluster, job):
        (one,) = await limited(cluster, job, foreign=False)
        await watch(cluster, LIMIT + GRACE * OURS_GET)
        assert (await cluster.execution(one)).phase is Phase.DISPATCHED
        await watch(cluster, 2)
        assert (await cluster.execution(one)).status is Status.TIMEOUT
        held.set()


async def test_who_cannot_be_told_is_said_to_work_on(tmp_path: Path, held: threading.Event) -> None:
    async with hanging(tmp_path, held) as (cluster, job):
        (one,) = await limited(cluster, job)
        cluster.set_line(cluster.executors[0], Line.LOST_REQUESTS)
        await watch(cluster, LIMIT + GRACE + 2)
        ended = await cluster.execution(one)
        assert ended.status is Status.TIMEOUT
        assert "could not be told to, and may still be working" in (ended.handle_msg or "")
        held.set()


async def test_what_waits_behind_another_does_not_run(tmp_path: Path, held: threading.Event) -> None:
    async with hanging(tmp_path, held) as (cluster, job):
        first, second = await limited(cluster, job, 2)
        cluster.set_line(cluster.executors[0], Line.LOST_REQUESTS)
        await watch(cluster, LIMIT + GRACE + 2)
        assert (await cluster.execution(first)).status is Status.TIMEOUT
        assert (await cluster.execution(second)).phase is Phase.DISPATCHED
        await watch(cluster, LIMIT + GRACE - 4)
        assert (await cluster.execution(second)).phase is Phase.DISPATCHED, "its time began with the end of the first"
        await watch(cluster, 6)
        assert (await cluster.execution(second)).status is Status.TIMEOUT
        held.set()


async def of_another_make(cluster: Cluster, job: Job) -> None:
    """Let the executor be one that can end a job only as a whole."""
    group = await cluster.db.read(get_group, job.job_group)
    await cluster.db.tx(edit_group, replace(group, dialect=GroupDialect.XXL), cluster.clock.now())


async def test_what_is_ended_as_a_whole_ends_in_one_step(tmp_path: Path, held: threading.Event) -> None:
    async with hanging(tmp_path, held, executor_fail_retry_count=1) as (cluster, job):
        first, second, third = await limited(cluster, job, 3)
        await of_another_make(cluster, job)
        await watch(cluster, LIMIT + GRACE + 2)
        ended = [await cluster.execution(one) for one in (first, second, third)]
        assert [one.status for one in ended] == [Status.TIMEOUT, Status.FAILED, Status.FAILED]
        assert [one.reason_code for one in ended[1:]] == [reasons.ENDED_TOGETHER] * 2
        assert ended[0].handle_time == ended[1].handle_time == ended[2].handle_time
        assert ended[1].handle_msg == (
            "It had not begun: it waited behind others of its job and was ended with them because "
            f"execution {first} ran longer than 30 s, and its executor can end a job only as a whole."
        )
        assert sorted(one.attempt for one in await cluster.executions(job)) == [1, 1, 1, 2, 2, 2]
        held.set()


async def test_those_that_ran_beside_it_are_not_said_to_have_waited(tmp_path: Path, held: threading.Event) -> None:
    fields = {"executor_block_strategy": BlockStrategy.CONCURRENT, "executor_concurrency": 2}
    async with hanging(tmp_path, held, **fields) as (cluster, job):
        (first,) = await limited(cluster, job)
        await of_another_make(cluster, job)
        await watch(cluster, 20)
        (second,) = await limited(cluster, replace(job, version=job.version + 1))
        await watch(cluster, LIMIT + GRACE - 18)
        assert (await cluster.execution(first)).status is Status.TIMEOUT
        beside = await cluster.execution(second)
        assert beside.reason_code == reasons.ENDED_TOGETHER
        assert (beside.handle_msg or "").startswith(f"It was ended because execution {first} ran longer than 30 s")
        held.set()


async def test_who_cannot_be_told_has_not_ended_the_others(tmp_path: Path, held: threading.Event) -> None:
    async with hanging(tmp_path, held) as (cluster, job):
        first, second = await limited(cluster, job, 2)
        await of_another_make(cluster, job)
        cluster.set_line(cluster.executors[0], Line.LOST_REQUESTS)
        await watch(cluster, LIMIT + GRACE + 2)
        assert (await cluster.execution(first)).status is Status.TIMEOUT
        assert (await cluster.execution(second)).phase is Phase.DISPATCHED
        held.set()


async def test_our_own_queue_is_left_to_its_executor(tmp_path: Path, held: threading.Event) -> None:
    async with hanging(tmp_path, held) as (cluster, job):
        ids = await limited(cluster, job, 2, foreign=False)
        await watch(cluster, LIMIT + GRACE * OURS_GET + 30)
        assert [(await cluster.execution(one)).phase for one in ids] == [Phase.DISPATCHED] * 2
        held.set()


async def test_what_waits_for_a_handler_that_could_not_be_ended_does_not_run(
    tmp_path: Path, held: threading.Event
) -> None:
    async with hanging(tmp_path, held) as (cluster, job):
        (one,) = await limited(cluster, job, foreign=False)
        stuck = replace(await cluster.execution(one), id=one + 1000)
        await cluster.db.tx(note_unconfirmed, [stuck], cluster.clock.now())
        await watch(cluster, LIMIT + GRACE * OURS_GET + 30)
        assert (await cluster.execution(one)).phase is Phase.DISPATCHED
        await cluster.db.tx(confirm_ends, [stuck.id])
        await watch(cluster, LIMIT + GRACE * OURS_GET)
        assert (await cluster.execution(one)).phase is Phase.DISPATCHED, "its time began when the other was gone"
        await watch(cluster, 2)
        assert (await cluster.execution(one)).status is Status.TIMEOUT
        held.set()


async def test_those_beside_each_other_are_judged_each_for_itself(tmp_path: Path, held: threading.Event) -> None:
    fields = {"executor_block_strategy": BlockStrategy.CONCURRENT, "executor_concurrency": 2}
    async with hanging(tmp_path, held, **fields) as (cluster, job):
        (first,) = await limited(cluster, job)
        await watch(cluster, 20)
        job = replace(job, version=job.version + 1)
        (second,) = await limited(cluster, job)
        await watch(cluster, LIMIT + GRACE - 18)
        assert (await cluster.execution(first)).status is Status.TIMEOUT
        assert (await cluster.execution(second)).phase is Phase.DISPATCHED
        held.set()


async def test_a_new_leader_counts_from_its_first_look(tmp_path: Path, held: threading.Event) -> None:
    async with hanging(tmp_path, held) as (cluster, job):
        (one,) = await limited(cluster, job)
        await watch(cluster, LIMIT)
        await cluster.kill_coordinator(cluster.coordinators[0])
        successor = cluster.add_coordinator().work.election
        for _ in range(30):
            if successor.term is None:
                cluster.clock.move(5)
                await successor.guarded_turn()
        assert successor.term is not None
        await watch(cluster, LIMIT + GRACE)
        assert (await cluster.execution(one)).phase is Phase.DISPATCHED
        await watch(cluster, 2)
        assert (await cluster.execution(one)).status is Status.TIMEOUT
        held.set()


async def test_without_a_limit_nothing_is_watched(tmp_path: Path, held: threading.Event) -> None:
    async with hanging(tmp_path, held) as (cluster, job):
        (one,) = await limited(cluster, job)
        await cluster.db.tx(replace_job, replace(job, version=2, executor_timeout=0), cluster.clock.now())
        await watch(cluster, 3 * LIMIT)
        assert (await cluster.execution(one)).phase is Phase.DISPATCHED
        held.set()
