"""Executions of one job keep to one executor while any of them may be running, on a hand-cranked cluster."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from orth.coordinator.defining import start_job
from orth.coordinator.killing import Killing
from orth.domain import reasons
from orth.domain.audit import Actor, ActorKind
from orth.domain.executions import Phase, Status
from orth.domain.jobs import BlockStrategy, Job, Overlap, RouteStrategy, ScheduleType
from orth.store.dispatching import put_back
from orth.store.executor_drains import drain_executor, resume_executor
from orth.store.jobs import replace_job
from orth.store.possibly_running import list_unconfirmed
from orth.testing import Cluster
from orth.testing.network import Line
from tests.coordinator.test_dispatch import Ran


@pytest.fixture
def ran() -> Ran:
    return Ran()


async def a_job(cluster: Cluster, **fields: object) -> Job:
    return await cluster.job(
        start=False, **{"executor_handler": "note", "executor_route_strategy": RouteStrategy.ROUND, **fields}
    )


async def sent(cluster: Cluster, job: Job, seconds: float = 0) -> int:
    """Trigger the job and let it be sent."""
    execution_id = await cluster.trigger(job)
    await cluster.advance(seconds=seconds)
    return execution_id


async def doubted(cluster: Cluster, job: Job) -> tuple[int, str]:
    """An execution whose answer was lost, and where it may be running."""
    for executor in cluster.executors:
        cluster.set_line(executor, Line.LOST_REQUESTS)
    execution_id = await sent(cluster, job)
    found = await cluster.execution(execution_id)
    assert found.phase is Phase.UNKNOWN
    assert found.executor_address is not None
    for executor in cluster.executors:
        if executor.address != found.executor_address:
            cluster.set_line(executor, Line.UP)
    return execution_id, found.executor_address


async def standing(cluster: Cluster, execution_id: int) -> tuple[Phase, str | None, str | None]:
    found = await cluster.execution(execution_id)
    return found.phase, found.executor_address, found.reason_code


async def test_a_doubted_execution_keeps_its_job_where_it_may_be(ran: Ran, tmp_path: Path) -> None:
    async with Cluster(tmp_path, ran.app, executors=3) as cluster:
        job = await a_job(cluster)
        _first, address = await doubted(cluster, job)
        later = [await sent(cluster, job) for _ in range(4)]
        for one in later:
            assert await standing(cluster, one) == (Phase.OPENED, None, reasons.BUSY_ELSEWHERE)
        assert ran.params == []
        cluster.network.set_line(address, Line.UP)
        await cluster.advance(seconds=5)
        ended = await cluster.executions(job)
        assert [one.status for one in ended] == [Status.SUCCESS] * 5
        assert len(ran.params) == 5


@pytest.mark.parametrize(
    "fields", [{"overlap": Overlap.EXECUTOR}, {"executor_block_strategy": BlockStrategy.CONCURRENT}]
)
async def test_jobs_that_may_overlap_go_round_the_executors(
    ran: Ran, tmp_path: Path, fields: dict[str, object]
) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        job = await a_job(cluster, **fields)
        first, address = await doubted(cluster, job)
        second = await sent(cluster, job)
        phase, where, _reason = await standing(cluster, second)
        assert phase is Phase.ENDED
        assert where != address
        assert (await cluster.execution(first)).phase is Phase.UNKNOWN


async def test_discard_later_discards_while_anything_may_be_running(ran: Ran, tmp_path: Path) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        job = await a_job(cluster, executor_block_strategy=BlockStrategy.DISCARD_LATER)
        await doubted(cluster, job)
        second = await cluster.execution(await sent(cluster, job))
        assert (second.status, second.reason_code) == (Status.TRIGGER_FAILED, reasons.DISCARDED)


@pytest.mark.parametrize("how", ["drained", "address_list"])
async def test_what_cannot_go_there_waits(ran: Ran, tmp_path: Path, how: str) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        job = await a_job(cluster)
        first, address = await doubted(cluster, job)
        other = next(one.address for one in cluster.executors if one.address != address)
        if how == "drained":
            await cluster.db.tx(drain_executor, "tests", address, cluster.clock.now())
            second = await sent(cluster, job)
        else:
            (second,) = await cluster.trigger_all(job, addresses=[other])
            await cluster.advance(seconds=0)
        assert await standing(cluster, second) == (Phase.OPENED, None, reasons.BUSY_ELSEWHERE)
        cluster.network.set_line(address, Line.UP)
        await cluster.advance(seconds=5)
        assert (await cluster.execution(first)).status is Status.SUCCESS
        ended = await cluster.execution(second)
        assert (ended.status, ended.executor_address) == (Status.SUCCESS, other)


async def test_a_killed_execution_keeps_its_place_until_its_executor_confirms(ran: Ran, tmp_path: Path) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        job = await a_job(cluster)
        first, address = await doubted(cluster, job)
        await _kill(cluster, first)
        second = await sent(cluster, job, seconds=1)
        assert await standing(cluster, second) == (Phase.OPENED, None, reasons.BUSY_ELSEWHERE)
        assert [one.id for one in await cluster.db.read(list_unconfirmed, 10, queued=False)] == [first]
        cluster.network.set_line(address, Line.UP)
        await cluster.advance(seconds=10)
        assert await cluster.db.read(list_unconfirmed, 10, queued=False) == []
        assert (await cluster.execution(second)).status is Status.SUCCESS


async def test_who_is_cut_off_keeps_its_place_until_it_counts_as_lost(ran: Ran, tmp_path: Path) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        job = await a_job(cluster, lost_after=30)
        first, address = await doubted(cluster, job)
        await _kill(cluster, first)
        await cluster.db.tx(drain_executor, "tests", address, cluster.clock.now())
        second = await sent(cluster, job, seconds=25)
        assert await standing(cluster, second) == (Phase.OPENED, None, reasons.BUSY_ELSEWHERE)
        await cluster.advance(seconds=10)
        ended = await cluster.execution(second)
        assert ended.status is Status.SUCCESS
        assert ended.executor_address != address


async def test_an_executor_that_answers_keeps_the_place_of_what_it_has_for_longer_than_lost_after(
    ran: Ran, tmp_path: Path
) -> None:
    async with Cluster(tmp_path, ran.app, executors=2, plan_ahead=30) as cluster:
        job = await a_job(cluster, schedule_type=ScheduleType.FIX_RATE, schedule_conf="60s", lost_after=5)
        await cluster.db.tx(start_job, job.id, cluster.clock.now())
        await cluster.advance(seconds=35)
        (held,) = await cluster.executions(job)
        address = held.executor_address or ""
        cluster.network.set_line(address, Line.LOST_REQUESTS)
        await _kill(cluster, held.id)
        cluster.network.set_line(address, Line.UP)
        await cluster.advance(seconds=15)
        assert [one.id for one in await cluster.db.read(list_unconfirmed, 10, queued=False)] == [held.id]
        cluster.network.set_line(address, Line.LOST_REQUESTS)
        await cluster.advance(seconds=3)
        assert [one.id for one in await cluster.db.read(list_unconfirmed, 10, queued=False)] == [held.id]
        await cluster.advance(seconds=4)
        assert await cluster.db.read(list_unconfirmed, 10, queued=False) == []


async def test_what_is_surely_not_sent_goes_elsewhere_together(ran: Ran, tmp_path: Path) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        job = await a_job(cluster, executor_route_strategy=RouteStrategy.FIRST)
        first, second = cluster.executors
        cluster.set_line(first, Line.REFUSED)
        ids = [await cluster.trigger(job) for _ in range(2)]
        await cluster.advance(seconds=2)
        assert {(await cluster.execution(one)).executor_address for one in ids} == {second.address}


async def test_fires_held_ahead_make_nothing_wait_that_is_due_before_them(ran: Ran, tmp_path: Path) -> None:
    async with Cluster(tmp_path, ran.app, executors=3, plan_ahead=12) as cluster:
        job = await a_job(cluster, schedule_type=ScheduleType.FIX_RATE, schedule_conf="4s")
        await cluster.db.tx(start_job, job.id, cluster.clock.now())
        await cluster.advance(seconds=1)
        held = [one for one in await cluster.executions(job) if one.phase is Phase.DISPATCHED]
        assert len(held) >= 2
        assert len({one.executor_address for one in held}) == 1
        by_hand = await cluster.execution(await sent(cluster, job))
        assert (by_hand.status, by_hand.executor_address) == (Status.SUCCESS, held[0].executor_address)
        await cluster.advance(seconds=30)
        fires = [one for one in await cluster.executions(job) if one.schedule_time and one.phase is Phase.ENDED]
        assert len(fires) >= 7
        assert [(one.start_time or 0) - (one.schedule_time or 0) for one in fires] == [0] * len(fires)


@pytest.mark.parametrize("strategy", [RouteStrategy.ROUND, RouteStrategy.LEAST_RECENTLY_USED])
async def test_a_job_that_always_has_a_fire_ahead_goes_to_a_new_executor(
    ran: Ran, tmp_path: Path, strategy: RouteStrategy
) -> None:
    async with Cluster(tmp_path, ran.app, executors=2, plan_ahead=5) as cluster:
        first, second = (one.address for one in cluster.executors)
        await cluster.db.tx(drain_executor, "tests", second, cluster.clock.now())
        job = await a_job(
            cluster,
            schedule_type=ScheduleType.FIX_RATE,
            schedule_conf="1s",
            executor_route_strategy=strategy,
        )
        await cluster.db.tx(start_job, job.id, cluster.clock.now())
        await cluster.advance(seconds=40)  # its duration is known by now
        assert {one.executor_address for one in await cluster.executions(job)} == {first}
        await cluster.db.tx(resume_executor, "tests", second)
        await cluster.advance(seconds=130)
        fires = [one for one in await cluster.executions(job) if one.phase is Phase.ENDED]
        assert {one.executor_address for one in fires} == {first, second}
        assert {one.status for one in fires} == {Status.SUCCESS}
        assert [(one.start_time or 0) - (one.schedule_time or 0) for one in fires] == [0] * len(fires)
        moves = sum(one.executor_address != next_.executor_address for one, next_ in pairwise(fires))
        assert moves <= 30, "most fires are sent ahead, to where the one before is"


async def test_no_fire_is_sent_ahead_past_one_that_waits(ran: Ran, tmp_path: Path) -> None:
    async with Cluster(tmp_path, ran.app, executors=2, plan_ahead=5) as cluster:
        job = await a_job(cluster, schedule_type=ScheduleType.FIX_RATE, schedule_conf="4s")
        _first, address = await doubted(cluster, job)
        other = next(one.address for one in cluster.executors if one.address != address)
        (pinned,) = await cluster.trigger_all(job, "pinned", addresses=[other])
        await cluster.advance(seconds=0)
        await cluster.db.tx(start_job, job.id, cluster.clock.now())
        await cluster.advance(seconds=9)
        fires = [one for one in await cluster.executions(job) if one.schedule_time]
        assert fires
        assert {one.phase for one in fires} == {Phase.OPENED}
        cluster.network.set_line(address, Line.UP)
        await cluster.advance(seconds=3)
        ended = await cluster.execution(pinned)
        assert (ended.status, ran.params[:2]) == (Status.SUCCESS, ["", "pinned"])


async def test_an_edit_does_not_let_go_of_what_ended_without_its_executor(ran: Ran, tmp_path: Path) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        job = await a_job(cluster, overlap=Overlap.EXECUTOR)
        first, address = await doubted(cluster, job)
        await _kill(cluster, first)
        await _edit(cluster, job, overlap=Overlap.CLUSTER)
        second = await sent(cluster, job, seconds=1)
        assert await standing(cluster, second) == (Phase.OPENED, None, reasons.BUSY_ELSEWHERE)
        cluster.network.set_line(address, Line.UP)
        await cluster.advance(seconds=10)
        assert (await cluster.execution(second)).status is Status.SUCCESS


async def test_shards_wait_for_a_run_that_is_no_shard(ran: Ran, tmp_path: Path) -> None:
    async with Cluster(tmp_path, ran.app, executors=3) as cluster:
        job = await a_job(cluster)
        _first, address = await doubted(cluster, job)
        await _edit(cluster, job, executor_route_strategy=RouteStrategy.SHARDING_BROADCAST)
        shards = await cluster.trigger_all(job)
        await cluster.advance(seconds=1)
        assert len(shards) >= 2
        for one in shards:
            assert await standing(cluster, one) == (Phase.OPENED, None, reasons.BUSY_ELSEWHERE)
        cluster.network.set_line(address, Line.UP)
        await cluster.advance(seconds=5)
        assert {(await cluster.execution(one)).status for one in shards} == {Status.SUCCESS}


async def test_a_run_that_is_no_shard_waits_for_every_shard(ran: Ran, tmp_path: Path) -> None:
    async with Cluster(tmp_path, ran.app, executors=3) as cluster:
        job = await a_job(cluster, executor_route_strategy=RouteStrategy.SHARDING_BROADCAST)
        for executor in cluster.executors[:2]:
            cluster.set_line(executor, Line.LOST_REQUESTS)
        shards = await cluster.trigger_all(job)
        await cluster.advance(seconds=0)
        await _edit(cluster, job, executor_route_strategy=RouteStrategy.ROUND)
        later = await sent(cluster, job, seconds=1)
        assert len(shards) == 3
        assert await standing(cluster, later) == (Phase.OPENED, None, reasons.BUSY_ELSEWHERE)
        for executor in cluster.executors[:2]:
            cluster.set_line(executor, Line.UP)
        await cluster.advance(seconds=5)
        assert (await cluster.execution(later)).status is Status.SUCCESS


async def test_what_waits_is_found_again_after_a_commit_whose_answer_was_lost(ran: Ran, tmp_path: Path) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await a_job(cluster)
        one = await cluster.trigger(job)
        await cluster.db.tx(put_back, [one], None, reasons.BUSY_ELSEWHERE, 1, cluster.clock.now())
        await cluster.advance(seconds=61)
        assert (await cluster.execution(one)).status is Status.SUCCESS


async def _edit(cluster: Cluster, job: Job, **changes: Any) -> None:
    await cluster.db.tx(replace_job, replace(job, **changes), cluster.clock.now())


async def _kill(cluster: Cluster, execution_id: int) -> None:
    given = cluster.coordinators[0].given
    killing = Killing(cluster.db, given.link, cluster.clock, cluster.events, token=given.access_token)
    await killing.kill(execution_id, Actor(ActorKind.USER, "somebody"))
