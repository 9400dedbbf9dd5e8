"""Fires decided before they are due: never early, and taken back when the job is stopped, changed or deleted."""

import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from orth.coordinator.claiming import Wait
from orth.coordinator.defining import edit, remove_job, start_job, stop_job
from orth.coordinator.facts import ExecutionFinished, ExecutionRecalled, JobQuarantined
from orth.coordinator.settling import Verdicts
from orth.domain import reasons
from orth.domain.calendars import Calendar
from orth.domain.executions import Execution, Phase, Status
from orth.domain.jobs import BlockStrategy, Job, RouteStrategy, ScheduleType, TriggerCause
from orth.errors import Conflict
from orth.executor.context import JobContext
from orth.executor.handlers import Handlers
from orth.store.ahead import list_recalled
from orth.store.calendars import create_calendar
from orth.store.daily_reports import list_reports, write_reports
from orth.store.fires import list_fires
from orth.store.job_board import last_runs
from orth.store.jobs import get_job
from orth.store.overview import list_failing
from orth.store.statistics import Span, counts_by_status
from orth.testing import Cluster
from orth.testing.network import Line

EVERY_TEN = {"schedule_type": ScheduleType.FIX_RATE, "schedule_conf": "10s"}
ON_TIME = {"executor_block_strategy": BlockStrategy.DISCARD_LATER}
"""Planned ahead, but sent when it is due: so there is something ahead that was not sent."""


class Started:
    """A handler that notes when it began, on the cluster's clock, and for which fire."""

    def __init__(self) -> None:
        self.app = Handlers("tests")
        self.cluster: Cluster | None = None
        self.calls: list[tuple[int, int, str]] = []
        self._lock = threading.Lock()
        self.app.job("note")(self._note)

    def _note(self, ctx: JobContext) -> None:
        assert self.cluster is not None
        assert ctx.schedule_time is not None
        with self._lock:
            self.calls.append((self.cluster.clock.now(), round(ctx.schedule_time.timestamp() * 1000), ctx.param))

    def at(self, cluster: Cluster) -> Cluster:
        self.cluster = cluster
        return cluster

    @property
    def fires(self) -> list[int]:
        return [fire for _began, fire, _param in self.calls]


@pytest.fixture
def started() -> Started:
    return Started()


async def change(cluster: Cluster, job: Job, **changes: Any) -> None:
    stored = await cluster.db.read(get_job, job.id)
    await cluster.db.tx(edit, stored, replace(stored, **changes), cluster.clock.now(), True)
    wake(cluster)


async def stop(cluster: Cluster, job: Job) -> None:
    await cluster.db.tx(stop_job, job.id, cluster.clock.now())
    wake(cluster)


async def start(cluster: Cluster, job: Job) -> None:
    await cluster.db.tx(start_job, job.id, cluster.clock.now())
    wake(cluster)


def wake(cluster: Cluster) -> None:
    """As the API does on the node that was asked."""
    for coordinator in cluster.coordinators:
        coordinator.work.due.wake()
        coordinator.work.recalls.wake()


async def ledger(cluster: Cluster, job: Job) -> dict[int, str]:
    return {entry.fire_time: entry.decision for entry in await cluster.db.read(list_fires, job.id, 10_000)}


async def test_it_is_opened_and_sent_ahead_and_starts_when_it_is_due(tmp_path: Path, started: Started) -> None:
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=1.0)) as cluster:
        began = cluster.clock.now()
        job = await cluster.job(executor_handler="note", **EVERY_TEN)
        await cluster.advance(seconds=8.9)
        assert await cluster.executions(job) == []
        await cluster.advance(seconds=0.7)
        (one,) = await cluster.executions(job)
        assert (one.phase, one.not_before, one.schedule_time) == (Phase.DISPATCHED, began + 10_000, began + 10_000)
        assert began + 9_000 <= one.trigger_time <= began + 9_500, "when it was opened: half of the window was left"
        await cluster.advance(seconds=0.39)
        assert started.calls == []
        await cluster.advance(seconds=10.02)
        assert [call[:2] for call in started.calls] == [
            (began + 10_000, began + 10_000),
            (began + 20_000, began + 20_000),
        ]
        assert await ledger(cluster, job) == {began + 10_000: "run", began + 20_000: "run"}


async def test_a_rate_in_milliseconds_opens_many_fires_in_one_pass(tmp_path: Path, started: Started) -> None:
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=0.5)) as cluster:
        began = cluster.clock.now()
        job = await cluster.job(executor_handler="note", schedule_type=ScheduleType.FIX_RATE, schedule_conf="10ms")
        await cluster.advance(seconds=1.001)
        assert started.fires == [began + 10 * n for n in range(1, 101)]
        assert all(moment == fire for moment, fire, _param in started.calls)
        opened = {one.trigger_time for one in await cluster.executions(job)}
        assert len(opened) < 15


@pytest.mark.parametrize("sent", [False, True])
async def test_jitter_moves_the_start_with_the_due_time(tmp_path: Path, started: Started, sent: bool) -> None:
    more = {} if sent else ON_TIME
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=2.0)) as cluster:
        job = await cluster.job(executor_handler="note", jitter=5_000, **EVERY_TEN, **more)
        await cluster.advance(seconds=61)
        executions = {one.schedule_time: one for one in await cluster.executions(job)}
        assert len(started.calls) >= 5
        for moment, fire, _param in started.calls:
            assert moment == executions[fire].not_before
            assert 0 <= moment - fire <= 5_000


@pytest.mark.parametrize("kind", [ScheduleType.AT, ScheduleType.FIX_DELAY])
async def test_what_is_not_for_the_clock_to_decide_is_planned_on_time(
    tmp_path: Path, started: Started, kind: ScheduleType
) -> None:
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=1.0)) as cluster:
        began = cluster.clock.now()
        conf = str(began + 10_000) if kind is ScheduleType.AT else "10s"
        job = await cluster.job(executor_handler="note", schedule_type=kind, schedule_conf=conf)
        await cluster.advance(seconds=9.999)
        assert await cluster.executions(job) == []
        assert (await cluster.db.read(get_job, job.id)).trigger_status
        await cluster.advance(seconds=0.002)
        assert [call[:2] for call in started.calls] == [(began + 10_000, began + 10_000)]


async def test_stopped_ahead_and_not_sent_it_is_as_if_never_planned(tmp_path: Path, started: Started) -> None:
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=1.0)) as cluster:
        began = cluster.clock.now()
        job = await cluster.job(executor_handler="note", **EVERY_TEN, **ON_TIME)
        await cluster.advance(seconds=9.7)
        assert [one.phase for one in await cluster.executions(job)] == [Phase.OPENED]
        await stop(cluster, job)
        assert await cluster.executions(job) == []
        assert await ledger(cluster, job) == {}
        await cluster.advance(seconds=0.1)
        await start(cluster, job)
        await cluster.advance(seconds=1)
        assert started.fires == [began + 10_000], "started again in time, it has its fire"
        assert await ledger(cluster, job) == {began + 10_000: "run"}


async def test_stopped_after_it_was_sent_it_is_recalled_and_not_tried_again(tmp_path: Path, started: Started) -> None:
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=1.0)) as cluster:
        began = cluster.clock.now()
        job = await cluster.job(executor_handler="note", executor_fail_retry_count=3, **EVERY_TEN)
        await cluster.advance(seconds=9.7)
        await stop(cluster, job)
        await cluster.advance(seconds=60)
        assert started.calls == []
        (one,) = await cluster.executions(job)
        assert (one.status, one.reason_code) == (Status.FAILED, reasons.JOB_STOPPED)
        assert cluster.recorder.all(ExecutionRecalled, execution_id=one.id, reason=reasons.JOB_STOPPED)
        assert await ledger(cluster, job) == {began + 10_000: "skipped"}
        (decision,) = await cluster.db.read(list_fires, job.id, 10)
        assert decision.reason.startswith(reasons.JOB_STOPPED)


@pytest.mark.parametrize("stopped", [True, False], ids=["stopped", "changed"])
async def test_what_was_taken_back_before_it_began_is_cancelled_and_no_failure(
    tmp_path: Path, started: Started, store_url: str, *, stopped: bool
) -> None:
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=1.0, store_url=store_url)) as cluster:
        job = await cluster.job(executor_handler="note", **EVERY_TEN)
        await cluster.advance(seconds=10.5)
        (ran,) = await cluster.executions(job)
        assert ran.status is Status.SUCCESS
        await cluster.advance(seconds=9.2)
        if stopped:
            await stop(cluster, job)
        else:
            await change(cluster, job, schedule_conf="3600")
        await cluster.advance(seconds=60)
        _ran, one = await cluster.executions(job)
        assert (one.status, one.cancelled, one.start_time) == (Status.FAILED, True, None), "the pair stays what it is"
        why = "the job was stopped" if stopped else "the schedule of the job was changed"
        assert one.handle_msg == f"Cancelled: {why} before this fire began."
        whole_day = Span(since=0, until=2**62, job_id=job.id)
        counts = await cluster.db.read(counts_by_status, whole_day)
        assert {status: count.executions for status, count in counts.items()} == {Status.SUCCESS: 1}
        everything = await cluster.db.read(counts_by_status, Span(since=0, until=2**62))
        assert everything.keys() == {Status.SUCCESS}
        await cluster.db.tx(write_reports, cluster.clock.now(), 1)
        *_before, report = await cluster.db.read(list_reports, 0)
        assert (report.succeeded, report.failed) == (1, 0)
        assert await cluster.db.read(list_failing, 0, 10, None) == []
        runs = await cluster.db.read(last_runs, [job.id], 10, None)
        assert [run.id for run in runs[job.id]] == [ran.id]
        (told,) = cluster.recorder.all(ExecutionFinished, execution_id=one.id)
        assert (told.cancelled, told.tag) == (True, "Cancelled 200/500")


async def test_started_again_it_waits_for_the_fire_after_the_recalled_ones(tmp_path: Path, started: Started) -> None:
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=15.0)) as cluster:
        began = cluster.clock.now()
        job = await cluster.job(executor_handler="note", **EVERY_TEN)
        await cluster.advance(seconds=6)
        assert [one.phase for one in await cluster.executions(job)] == [Phase.DISPATCHED] * 2
        await stop(cluster, job)
        await start(cluster, job)
        assert (await cluster.db.read(get_job, job.id)).trigger_next_time == began + 30_000
        await cluster.advance(seconds=25)
        assert started.fires == [began + 30_000]
        told = await ledger(cluster, job)
        assert (told[began + 10_000], told[began + 20_000], told[began + 30_000]) == ("skipped", "skipped", "run")


async def test_changed_and_changed_back_it_waits_for_the_fire_after_the_recalled_one(
    tmp_path: Path, started: Started
) -> None:
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=1.0)) as cluster:
        began = cluster.clock.now()
        job = await cluster.job(executor_handler="note", **EVERY_TEN)
        await cluster.advance(seconds=9.7)
        await change(cluster, job, schedule_conf="1h")
        await change(cluster, job, schedule_conf="10s")
        assert (await cluster.db.read(get_job, job.id)).trigger_next_time == began + 20_000
        await cluster.advance(seconds=11)
        assert started.fires == [began + 20_000]
        assert await ledger(cluster, job) == {began + 10_000: "skipped", began + 20_000: "run"}


async def test_a_fire_that_goes_on_is_not_waited_for_again(tmp_path: Path, started: Started) -> None:
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=15.0)) as cluster:
        began = cluster.clock.now()
        job = await cluster.job(executor_handler="note", **EVERY_TEN)
        await cluster.advance(seconds=6)
        await change(cluster, job, schedule_conf="5s")
        assert (await cluster.db.read(get_job, job.id)).trigger_next_time == began + 15_000
        await cluster.advance(seconds=20)
        assert started.fires == [began + 10_000, began + 15_000, began + 20_000, began + 25_000]


async def test_what_has_begun_is_not_recalled(tmp_path: Path, started: Started) -> None:
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=1.0)) as cluster:
        job = await cluster.job(executor_handler="note", **EVERY_TEN)
        await cluster.advance(seconds=10.001)
        await stop(cluster, job)
        await cluster.advance(seconds=10)
        (one,) = await cluster.executions(job)
        assert (one.status, one.reason_code) == (Status.SUCCESS, None)


async def test_a_recall_that_cannot_arrive_changes_nothing(tmp_path: Path, started: Started) -> None:
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=1.0)) as cluster:
        began = cluster.clock.now()
        job = await cluster.job(executor_handler="note", **EVERY_TEN)
        await cluster.advance(seconds=9.7)
        cluster.set_line(cluster.executors[0], Line.REFUSED)
        await stop(cluster, job)
        await cluster.advance(seconds=2)
        assert len(started.calls) == 1
        (one,) = await cluster.executions(job)
        assert (one.status, one.reason_code) == (Status.SUCCESS, None)
        assert await cluster.db.read(list_recalled, cluster.clock.now(), 10) == []
        (decision,) = await cluster.db.read(list_fires, job.id, 10)
        assert (decision.fire_time, decision.decision) == (began + 10_000, "run"), "for it ran"
        assert decision.reason.startswith(reasons.JOB_STOPPED)


async def test_a_failure_after_a_recall_that_came_too_late_ran_too(tmp_path: Path, started: Started) -> None:
    @started.app.job("fail")
    def fail() -> None:
        raise RuntimeError("on its own")

    async with started.at(Cluster(tmp_path, started.app, plan_ahead=1.0)) as cluster:
        job = await cluster.job(executor_handler="fail", **EVERY_TEN)
        await cluster.advance(seconds=9.7)
        cluster.set_line(cluster.executors[0], Line.REFUSED)
        await stop(cluster, job)
        await cluster.advance(seconds=2)
        (one,) = await cluster.executions(job)
        assert one.status is Status.FAILED
        assert one.start_time is not None
        assert set((await ledger(cluster, job)).values()) == {"run"}


async def test_the_ledger_says_skipped_only_when_every_shard_was_dropped(tmp_path: Path, started: Started) -> None:
    more = {"executor_route_strategy": RouteStrategy.SHARDING_BROADCAST}
    async with started.at(Cluster(tmp_path, started.app, executors=2, plan_ahead=1.0)) as cluster:
        job = await cluster.job(executor_handler="note", **EVERY_TEN, **more)
        await cluster.advance(seconds=9.7)
        cluster.set_line(cluster.executors[0], Line.REFUSED)
        await stop(cluster, job)
        await cluster.advance(seconds=2)
        assert len(started.calls) == 1
        assert sorted(str(one.reason_code) for one in await cluster.executions(job)) == ["None", reasons.JOB_STOPPED]
        assert set((await ledger(cluster, job)).values()) == {"run"}


@pytest.mark.parametrize("leader_dies", [False, True])
async def test_what_a_node_that_died_was_told_to_stop_is_recalled_by_the_leader(
    tmp_path: Path, started: Started, leader_dies: bool
) -> None:
    async with started.at(Cluster(tmp_path, started.app, coordinators=2, plan_ahead=60.0)) as cluster:
        job = await cluster.job(executor_handler="note", schedule_type=ScheduleType.FIX_RATE, schedule_conf="1m")
        await cluster.advance(seconds=5)
        assert [one.phase for one in await cluster.executions(job)] == [Phase.DISPATCHED]
        told = next(one for one in cluster.coordinators if bool(one.work.election.term) is leader_dies)
        await cluster.db.tx(stop_job, job.id, cluster.clock.now())  # and nobody is woken: it died with its answer
        await cluster.kill_coordinator(told)
        await cluster.advance(seconds=30 if leader_dies else 1.1)
        assert [one.reason_code for one in await cluster.executions(job)] == [reasons.JOB_STOPPED]
        await cluster.advance(seconds=60)
        assert started.calls == []
        assert set((await ledger(cluster, job)).values()) == {"skipped"}


async def test_without_a_window_nobody_looks_for_what_to_recall(tmp_path: Path, started: Started) -> None:
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=0.0)) as cluster:
        await cluster.advance(seconds=5)
        assert await cluster.coordinators[0].work.recalls.turn() > 60
    async with started.at(Cluster(tmp_path / "ahead", started.app, coordinators=2, plan_ahead=1.0)) as cluster:
        await cluster.advance(seconds=5)
        pauses = {bool(one.work.election.term): await one.work.recalls.turn() for one in cluster.coordinators}
        assert pauses[True] == 1.0
        assert pauses[False] > 60


@pytest.mark.parametrize("more", [{}, ON_TIME])
async def test_a_calendar_holds_for_what_has_not_begun(tmp_path: Path, started: Started, more: dict[str, Any]) -> None:
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=1.0)) as cluster:
        began = cluster.clock.now()
        job = await cluster.job(executor_handler="note", **EVERY_TEN, **more)
        await cluster.advance(seconds=9.7)
        assert len(await cluster.executions(job)) == 1
        today = Calendar.parse({"dates_out": [f"{datetime.fromtimestamp(began / 1000, UTC):%Y-%m-%d}"]})
        calendar_id = await cluster.db.tx(create_calendar, "out", today, cluster.clock.now())
        await change(cluster, job, calendar_id=calendar_id)
        await cluster.advance(seconds=11)
        assert started.calls == []
        assert await ledger(cluster, job) == {began + 10_000: "skipped", began + 20_000: "skipped"}
        await change(cluster, job, calendar_id=None)
        await cluster.advance(seconds=10)
        assert started.fires == [began + 30_000]


async def test_an_edit_of_something_else_applies_to_what_was_not_sent(tmp_path: Path, started: Started) -> None:
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=1.0)) as cluster:
        began = cluster.clock.now()
        job = await cluster.job(executor_handler="note", executor_param="old", **EVERY_TEN, **ON_TIME)
        await cluster.advance(seconds=9.7)
        await change(cluster, job, executor_param="new")
        await cluster.advance(seconds=11)
        assert started.calls == [
            (began + 10_000, began + 10_000, "new"),
            (began + 20_000, began + 20_000, "new"),
        ]
        assert [one.not_before for one in await cluster.executions(job)] == [began + 10_000, began + 20_000]


async def test_what_was_sent_goes_on_as_it_was_if_the_new_schedule_has_it_too(tmp_path: Path, started: Started) -> None:
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=1.0)) as cluster:
        began = cluster.clock.now()
        job = await cluster.job(executor_handler="note", executor_param="old", **EVERY_TEN)
        await cluster.advance(seconds=9.7)
        await change(cluster, job, executor_param="new", schedule_conf="5s")
        await cluster.advance(seconds=5.4)
        assert started.calls == [
            (began + 10_000, began + 10_000, "old"),
            (began + 15_000, began + 15_000, "new"),
        ]


async def test_what_the_new_schedule_does_not_have_is_recalled(tmp_path: Path, started: Started) -> None:
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=1.0)) as cluster:
        began = cluster.clock.now()
        job = await cluster.job(executor_handler="note", executor_fail_retry_count=2, **EVERY_TEN)
        await cluster.advance(seconds=9.7)
        await change(cluster, job, schedule_conf="20s")
        await cluster.advance(seconds=20.4)
        assert started.fires == [began + 20_000]
        first, second = await cluster.executions(job)
        assert (first.status, first.reason_code) == (Status.FAILED, reasons.JOB_CHANGED)
        assert second.status is Status.SUCCESS


async def test_a_job_can_be_deleted_ahead_unless_something_was_sent(tmp_path: Path, started: Started) -> None:
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=1.0)) as cluster:
        unsent = await cluster.job(executor_handler="note", **EVERY_TEN, **ON_TIME)
        sent = await cluster.job(executor_handler="note", **EVERY_TEN)
        await cluster.advance(seconds=9.7)
        await cluster.db.tx(remove_job, unsent.id, cluster.clock.now())
        with pytest.raises(Conflict, match="has not ended"):
            await cluster.db.tx(remove_job, sent.id, cluster.clock.now())
        await cluster.advance(seconds=1)
        assert len(started.calls) == 1
        assert await ledger(cluster, unsent) == {}


async def test_a_broadcast_is_taken_back_as_a_whole(tmp_path: Path, started: Started) -> None:
    more = {"executor_route_strategy": RouteStrategy.SHARDING_BROADCAST}
    async with started.at(Cluster(tmp_path, started.app, executors=3, plan_ahead=1.0)) as cluster:
        unsent = await cluster.job(executor_handler="note", **EVERY_TEN, **ON_TIME, **more)
        sent = await cluster.job(executor_handler="note", **EVERY_TEN, **more)
        await cluster.advance(seconds=9.7)
        assert len(await cluster.executions(unsent)) == 3
        await stop(cluster, unsent)
        await stop(cluster, sent)
        await cluster.advance(seconds=5)
        assert started.calls == []
        assert await cluster.executions(unsent) == []
        assert {one.reason_code for one in await cluster.executions(sent)} == {reasons.JOB_STOPPED}


async def test_an_executor_that_comes_in_time_gets_what_was_planned_without_it(
    tmp_path: Path, started: Started
) -> None:
    async with started.at(Cluster(tmp_path, started.app, executors=0, plan_ahead=3.0)) as cluster:
        began = cluster.clock.now()
        job = await cluster.job(executor_handler="note", **EVERY_TEN)
        await cluster.advance(seconds=9)
        assert [one.phase for one in await cluster.executions(job)] == [Phase.OPENED]
        cluster.add_executor()
        await cluster.advance(seconds=1.5)
        assert [call[:2] for call in started.calls] == [(began + 10_000, began + 10_000)]


async def test_without_an_executor_it_fails_when_it_is_due_and_not_before(tmp_path: Path, started: Started) -> None:
    async with started.at(Cluster(tmp_path, started.app, executors=0, plan_ahead=3.0)) as cluster:
        began = cluster.clock.now()
        job = await cluster.job(executor_handler="note", **EVERY_TEN)
        await cluster.advance(seconds=10.5)
        (one,) = await cluster.executions(job)
        assert (one.status, one.reason_code) == (Status.TRIGGER_FAILED, reasons.NO_EXECUTOR)
        assert one.handle_time is not None
        assert one.handle_time >= began + 10_000


def test_waiting_for_an_executor_makes_nothing_due_earlier() -> None:
    ahead = Execution(
        id=1,
        job_id=1,
        job_group=1,
        cause=TriggerCause.CRON,
        trigger_code=0,
        handle_code=0,
        phase=Phase.OPENED,
        schedule_time=5_000,
        trigger_time=1_000,
        not_before=5_000,
    )
    verdicts = Verdicts()
    verdicts.wait(ahead, Wait(reasons.CIRCUIT_OPEN, "left alone", 2_000))
    verdicts.wait(replace(ahead, id=2, not_before=None), Wait(reasons.CIRCUIT_OPEN, "left alone", 2_000))
    assert verdicts.waits == {(5_000, reasons.CIRCUIT_OPEN): [1], (2_000, reasons.CIRCUIT_OPEN): [2]}


@pytest.mark.parametrize("more", [{}, ON_TIME])
async def test_another_leader_sends_what_was_planned(tmp_path: Path, started: Started, more: dict[str, Any]) -> None:
    async with started.at(Cluster(tmp_path, started.app, coordinators=2, plan_ahead=60.0)) as cluster:
        began = cluster.clock.now()
        job = await cluster.job(
            executor_handler="note", schedule_type=ScheduleType.FIX_RATE, schedule_conf="1m", **more
        )
        await cluster.advance(seconds=5)
        leader = next(one for one in cluster.coordinators if one.work.election.term)
        await cluster.kill_coordinator(leader)
        await cluster.advance(seconds=56)
        assert [call[:2] for call in started.calls] == [(began + 60_000, began + 60_000)]
        assert (await ledger(cluster, job))[began + 60_000] == "run"


async def test_broken_jobs_among_many_stop_nobody(tmp_path: Path, started: Started) -> None:
    async with started.at(Cluster(tmp_path, started.app, plan_ahead=1.0)) as cluster:
        jobs = [await cluster.job(executor_handler="note", **EVERY_TEN) for _ in range(300)]
        broken = jobs[::50]
        await cluster.db.tx(_break, [job.id for job in broken])
        await cluster.advance(seconds=10.5)
        assert len(started.calls) == len(jobs) - len(broken)
        assert len(cluster.recorder.all(JobQuarantined)) == len(broken)
        for job in broken:
            assert set((await ledger(cluster, job)).values()) == {"skipped"}


def _break(connection: Any, ids: list[int]) -> None:
    from sqlalchemy import update

    from orth.store.tables import jobs

    connection.execute(update(jobs).where(jobs.c.id.in_(ids)).values(schedule_conf="never", version=99))
