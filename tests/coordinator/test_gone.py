"""Triggers that a process held until their time when it died: sent again if that is certain, never started twice."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from orth.coordinator.facts import ExecutionsReopened
from orth.domain import reasons
from orth.domain.executions import Execution, Phase, Status
from orth.domain.jobs import Job, RouteStrategy
from orth.executor.runtime import Runtime
from orth.store.ahead import reopen_unstarted
from orth.store.notes import notes_of
from orth.store.tables import executions
from orth.testing import Cluster
from orth.testing.network import Line
from tests.coordinator.test_planning_ahead import EVERY_TEN, Started, started, stop

__all__ = ["started"]  # the fixture

FIRST = {"executor_route_strategy": RouteStrategy.FIRST, **EVERY_TEN}


async def sent_ahead(cluster: Cluster, **more: Any) -> tuple[Job, Execution, Runtime]:
    """A job with a fire that an executor holds, due in about four seconds."""
    job = await cluster.job(executor_handler="note", **FIRST, **more)
    await cluster.advance(seconds=6)
    (one,) = await cluster.executions(job)
    assert one.phase is Phase.DISPATCHED
    return job, one, next(runtime for runtime in cluster.executors if runtime.address == one.executor_address)


async def test_what_a_killed_executor_held_starts_elsewhere_and_in_time(tmp_path: Path, started: Started) -> None:
    async with started.at(Cluster(tmp_path, started.app, executors=2, plan_ahead=8.0)) as cluster:
        _job, one, holder = await sent_ahead(cluster)
        cluster.kill_executor(holder)
        await cluster.advance(seconds=5)
        assert [call[:2] for call in started.calls] == [(one.not_before, one.schedule_time)]
        ended = await cluster.execution(one.id)
        assert (ended.status, ended.executor_address) == (Status.SUCCESS, cluster.executors[0].address)
        notes = await cluster.db.read(notes_of, one.id)
        assert [note.code for note in notes if note.code == reasons.EXECUTOR_GONE] == [reasons.EXECUTOR_GONE]
        assert cluster.recorder.all(ExecutionsReopened, address=holder.address, count=1)


async def test_what_a_restarted_executor_held_is_sent_to_its_successor(tmp_path: Path, started: Started) -> None:
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=8.0)) as cluster:
        _job, one, holder = await sent_ahead(cluster)
        cluster.kill_executor(holder)
        successor = cluster.add_executor(at=holder)
        await cluster.advance(seconds=5)
        assert [call[:2] for call in started.calls] == [(one.not_before, one.schedule_time)]
        assert (await cluster.execution(one.id)).incarnation == successor.incarnation


@pytest.mark.parametrize("line", [Line.LOST_REQUESTS, Line.LOST_ANSWERS])
async def test_what_a_silent_executor_holds_stays_there(tmp_path: Path, started: Started, line: Line) -> None:
    async with started.at(Cluster(tmp_path, started.app, executors=2, plan_ahead=8.0)) as cluster:
        _job, one, holder = await sent_ahead(cluster)
        cluster.set_line(holder, line)
        await cluster.advance(seconds=5)
        assert started.fires == [one.schedule_time], "it is not dead: it starts what it holds"
        assert (await cluster.execution(one.id)).executor_address == holder.address
        assert not cluster.recorder.all(ExecutionsReopened)


async def test_what_the_successor_has_is_not_sent_again(tmp_path: Path, started: Started) -> None:
    """It was sent to whoever is there now, while the registry still knew the process before."""
    async with started.at(Cluster(tmp_path, started.app, executors=2, plan_ahead=8.0)) as cluster:
        _job, one, _holder = await sent_ahead(cluster)
        await cluster.db.tx(_took_by, one.id, "the-process-before")
        await cluster.advance(seconds=5)
        assert started.fires == [one.schedule_time]
        assert not cluster.recorder.all(ExecutionsReopened)


async def test_what_is_recalled_is_not_sent_again(tmp_path: Path, started: Started) -> None:
    async with started.at(Cluster(tmp_path, started.app, executors=2, plan_ahead=8.0)) as cluster:
        job, _one, holder = await sent_ahead(cluster)
        cluster.kill_executor(holder)
        await stop(cluster, job)
        await cluster.advance(seconds=15)
        assert started.calls == []


async def test_only_what_that_process_has_and_cannot_have_begun_waits_again(tmp_path: Path, started: Started) -> None:
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=8.0)) as cluster:
        _job, one, holder = await sent_ahead(cluster)
        due, now, gone = one.not_before or 0, cluster.clock.now(), reasons.EXECUTOR_GONE
        assert await cluster.db.tx(reopen_unstarted, [one.id], holder.incarnation, due, now, gone) == []
        assert await cluster.db.tx(reopen_unstarted, [one.id], "another", due - 1, now, gone) == []
        assert await cluster.db.tx(reopen_unstarted, [one.id], holder.incarnation, due - 1, now, gone) == [one.id]
        assert await cluster.db.tx(reopen_unstarted, [one.id], holder.incarnation, due - 1, now, gone) == []
        again = await cluster.execution(one.id)
        assert (again.status, again.executor_address, again.not_before) == (Status.INIT, None, due)


def _took_by(connection: Any, execution_id: int, incarnation: str) -> None:
    connection.execute(update(executions).where(executions.c.id == execution_id).values(incarnation=incarnation))
