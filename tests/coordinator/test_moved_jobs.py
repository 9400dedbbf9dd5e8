"""A job is moved to another group while something of it is under way: nothing goes where nobody agreed to it."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from orth.coordinator.batches import BatchRequest, start_batch
from orth.coordinator.defining import define_group, edit
from orth.coordinator.facts import BatchEnded
from orth.coordinator.triggering import open_again
from orth.domain import reasons
from orth.domain.batches import BatchState
from orth.domain.executions import Status
from orth.domain.jobs import AddressType, ChildParam, Group, Job, RouteStrategy, ScheduleType, TriggerCause
from orth.executor.context import JobContext, JobFailed
from orth.executor.handlers import Handlers
from orth.store.batches import get_batch
from orth.store.jobs import get_job
from orth.store.notes import notes_of
from orth.testing import Cluster

HOURLY = {"schedule_type": ScheduleType.CRON, "schedule_conf": "0 * * * *"}
DAY = BatchRequest(key="k", start="2026-01-01", end="2026-01-02", limit=10_000)
ELSEWHERE = "http://10.0.0.77:9999"


class Ran:
    """Counts its runs, which fail."""

    def __init__(self) -> None:
        self.app = Handlers("tests")
        self.params: list[str] = []
        self._lock = threading.Lock()
        self.app.job("fail")(self._fail)

    def _fail(self, ctx: JobContext) -> None:
        with self._lock:
            self.params.append(ctx.param or "")
        raise JobFailed("on purpose")


@pytest.fixture
def ran() -> Ran:
    return Ran()


async def move(cluster: Cluster, job: Job) -> int:
    """To a group with one address of its own; its id."""
    now = cluster.clock.now()
    other = Group(0, "other", "", AddressType.MANUAL, (ELSEWHERE,))
    group = await cluster.db.tx(define_group, other, now)
    stored = await cluster.db.read(get_job, job.id)
    await cluster.db.tx(edit, stored, replace(stored, job_group=group), now, True)
    return group


@pytest.mark.parametrize("named", [True, False])
async def test_a_batch_does_not_follow_its_job_into_another_group(tmp_path: Path, ran: Ran, named: bool) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="fail", **HOURLY)
        addresses = (cluster.executors[0].address,) if named else ()
        asked = replace(DAY, param="of the first group", addresses=addresses)
        batch = await cluster.db.tx(start_batch, job.id, asked, cluster.clock.now())
        await cluster.coordinators[0].work.batches.guarded_turn()
        await move(cluster, job)
        await cluster.advance(seconds=60)
        ended = await cluster.db.read(get_batch, batch.id)
        assert (ended.state, ended.reason) == (BatchState.CANCELLED, "the job was moved to another group")
        assert cluster.recorder.all(BatchEnded, batch_id=batch.id, state="cancelled")
        assert {one.job_group for one in await cluster.executions(job)} == {job.job_group}


async def test_what_waits_when_its_job_is_moved_ends_and_says_why(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="fail", executor_fail_retry_count=3)
        ids = [await cluster.trigger(job), *await cluster.trigger_all(job, addresses=[cluster.executors[0].address])]
        await move(cluster, job)
        await cluster.advance(seconds=10)
        ended = [await cluster.execution(one) for one in ids]
        assert [(one.status, one.reason_code) for one in ended] == [(Status.TRIGGER_FAILED, reasons.JOB_MOVED)] * 2
        assert all("moved out of the group" in (one.trigger_msg or "") for one in ended)
        assert len(await cluster.executions(job)) == 2, "no attempt in the other group"
        assert ran.params == []


async def test_what_fails_after_its_job_was_moved_is_not_tried_again_there(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="fail", executor_fail_retry_count=3)
        execution_id = await cluster.trigger(job, "of the first group")
        await cluster.coordinators[0].work.dispatch.guarded_turn()
        await cluster.settle()  # it has run, and nobody has heard of it yet
        await move(cluster, job)
        await cluster.advance(seconds=60)
        assert ran.params == ["of the first group"]
        assert [one.id for one in await cluster.executions(job)] == [execution_id]


async def test_what_succeeds_after_its_job_was_moved_starts_nothing_there(tmp_path: Path, ran: Ran) -> None:
    """Its result would be the parameter of a job whose people never heard of whoever asked for it."""
    ran.app.job("succeed")(lambda ctx: "chosen in the first group")
    async with Cluster(tmp_path, ran.app) as cluster:
        child = await cluster.job(start=False, executor_handler="fail")
        job = await cluster.job(
            start=False, executor_handler="succeed", child_job_ids=(child.id,), child_param=ChildParam.RESULT
        )
        execution_id = await cluster.trigger(job)
        await cluster.coordinators[0].work.dispatch.guarded_turn()
        await cluster.settle()
        await move(cluster, job)
        await cluster.advance(seconds=10)
        assert (await cluster.execution(execution_id)).status is Status.SUCCESS
        assert await cluster.executions(child) == []
        notes = {note.code: note.message for note in await cluster.db.read(notes_of, execution_id)}
        assert str(child.id) not in notes[reasons.JOB_MOVED], "named by people of the other group"


@pytest.mark.parametrize("strategy", [RouteStrategy.FIRST, RouteStrategy.SHARDING_BROADCAST])
async def test_what_is_done_again_elsewhere_is_not_sent_to_the_old_address(
    tmp_path: Path, ran: Ran, strategy: RouteStrategy
) -> None:
    """A shard keeps its address, and so does what somebody sent to one."""
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="fail", executor_route_strategy=strategy)
        (before,) = await cluster.trigger_all(job, addresses=[cluster.executors[0].address])
        await cluster.advance(seconds=5)
        group = await move(cluster, job)
        moved, ended = await cluster.db.read(get_job, job.id), await cluster.execution(before)
        again = await cluster.db.tx(open_again, [(moved, ended)], TriggerCause.MANUAL, cluster.clock.now())
        await cluster.advance(seconds=5)
        refused = await cluster.execution(again[before])
        assert (refused.job_group, refused.status) == (group, Status.TRIGGER_FAILED)
        is_shard = strategy is RouteStrategy.SHARDING_BROADCAST
        assert refused.reason_code == (reasons.EXECUTOR_LEFT if is_shard else reasons.ADDRESS_REFUSED)
        assert cluster.executors[0].address in (refused.trigger_msg or "")
        assert len(ran.params) == 1


async def test_an_address_that_was_taken_out_of_the_group_gets_nothing(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        gone = cluster.executors[0]
        job = await cluster.job(start=False, executor_handler="fail")
        (execution_id,) = await cluster.trigger_all(job, addresses=[gone.address])
        await gone.stop()
        await cluster.advance(seconds=1)
        ended = await cluster.execution(execution_id)
        assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.ADDRESS_REFUSED)
