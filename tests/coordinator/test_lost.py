"""Signs of loss that only the executor itself can give: it is silent, or it says that it has nothing."""

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from orth.coordinator.defining import edit_group
from orth.domain import reasons
from orth.domain.executions import Status
from orth.domain.jobs import AddressType, Group, Job
from orth.executor.handlers import Handlers
from orth.testing.cluster import Cluster
from orth.testing.network import Line


@pytest.fixture
def held() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@asynccontextmanager
async def written_by_hand(folder: Path, held: threading.Event, **fields: object) -> AsyncIterator[tuple[Cluster, Job]]:
    """A cluster whose one executor is known by its address only, as those of other makes may be."""
    app = Handlers("tests")
    app.job("hang")(lambda: held.wait(30) and None)
    async with Cluster(folder, app) as cluster:
        job = await cluster.job(start=False, executor_handler="hang", **fields)
        executor = cluster.executors[0]
        await executor.heartbeat.unregister(1)
        group = Group(job.job_group, "tests", "tests", AddressType.MANUAL, (executor.address,))
        await cluster.db.tx(edit_group, group, cluster.clock.now())
        yield cluster, job


async def taken(cluster: Cluster, job: Job) -> int:
    execution_id = await cluster.trigger(job)
    dispatch = cluster.coordinators[0].dispatch
    await dispatch.guarded_turn()
    await dispatch.all_answered()
    await dispatch.guarded_turn()
    assert (await cluster.execution(execution_id)).status is Status.PENDING
    return execution_id


async def seconds_until_lost(cluster: Cluster, execution_id: int, limit: int) -> int | None:
    """Let time pass for the coordinator alone, in steps of 20 s; when the execution ended."""
    coordinator = cluster.coordinators[0]
    for step in range(limit // 20):
        if (await cluster.execution(execution_id)).status.terminal:
            return step * 20
        cluster.clock.move(20)
        await coordinator.election.guarded_turn()
        coordinator.election.worked()
        await coordinator.lost.guarded_turn()
    return None


async def test_who_says_that_it_is_busy_is_believed(tmp_path: Path, held: threading.Event) -> None:
    async with written_by_hand(tmp_path, held) as (cluster, job):
        execution_id = await taken(cluster, job)
        assert await seconds_until_lost(cluster, execution_id, 3600) is None
        held.set()
        await cluster.advance(seconds=5)
        assert (await cluster.execution(execution_id)).status is Status.SUCCESS


async def test_who_says_twice_that_it_is_idle_has_lost_it(tmp_path: Path, held: threading.Event) -> None:
    async with written_by_hand(tmp_path, held) as (cluster, job):
        execution_id = await taken(cluster, job)
        executor = cluster.executors[0]
        cluster.kill_executor(executor)
        cluster.add_executor(at=executor)  # it remembers nothing, and never registered either
        after = await seconds_until_lost(cluster, execution_id, 1200)
        assert after is not None
        assert 600 + 60 <= after <= 600 + 100, "the setting, and a second look"
        lost = await cluster.execution(execution_id)
        assert lost.handle_msg == "Result lost: the executor says that nothing of the job runs or waits there."
        assert (lost.status, lost.reason_code) == (Status.FAILED, reasons.RESULT_LOST)


async def test_who_does_not_answer_at_an_address_written_by_hand_is_gone_in_the_end(
    tmp_path: Path, held: threading.Event
) -> None:
    async with written_by_hand(tmp_path, held) as (cluster, job):
        execution_id = await taken(cluster, job)
        cluster.set_line(cluster.executors[0], Line.REFUSED)
        after = await seconds_until_lost(cluster, execution_id, 2400)
        assert after is not None
        assert after >= 2 * 600
        held.set()
        assert "does not answer" in ((await cluster.execution(execution_id)).handle_msg or "")


@pytest.mark.parametrize(("fields", "earliest"), [({"lost_after": 120}, 120), ({"executor_timeout": 1800}, 1800)])
async def test_a_job_may_have_its_own_patience_and_its_time_limit_is_waited_for(
    tmp_path: Path, held: threading.Event, fields: dict[str, object], earliest: int
) -> None:
    async with written_by_hand(tmp_path, held, **fields) as (cluster, job):
        execution_id = await taken(cluster, job)
        executor = cluster.executors[0]
        cluster.kill_executor(executor)
        cluster.add_executor(at=executor)
        after = await seconds_until_lost(cluster, execution_id, 3600)
        assert after is not None
        assert earliest + 60 <= after <= earliest + 100
