"""Whatever is done to a job and to the leader while fires are planned ahead: none is early, each has one truth.

``make faults`` tells more stories of it than ``make test``.
"""

import asyncio
import os
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from orth.coordinator.defining import edit, start_job, stop_job
from orth.coordinator.planning import schedule_of
from orth.domain import reasons
from orth.domain.executions import Status
from orth.domain.fires import FireDecision
from orth.domain.jobs import BlockStrategy, Job, ScheduleType
from orth.domain.schedules import Schedule
from orth.executor.context import JobContext
from orth.executor.handlers import Handlers
from orth.settings import Settings
from orth.store.fires import list_fires
from orth.store.jobs import get_job
from orth.testing import Cluster

EXAMPLES = 25 if os.environ.get("ORTH_TEST_FAULTS") == "long" else 3
LEASE = Settings.model_validate({"cluster": {"lease": timedelta(seconds=3), "lease_renew": timedelta(seconds=1)}})
RECALLED = {reasons.JOB_STOPPED, reasons.JOB_CHANGED}

STEPS = st.one_of(
    st.tuples(st.just("wait"), st.integers(1, 4_000)),
    st.tuples(st.just("stop"), st.just(0)),
    st.tuples(st.just("start"), st.just(0)),
    st.tuples(st.just("every"), st.sampled_from([400, 1_000, 1_500, 3_000])),
    st.tuples(st.just("param"), st.integers(0, 9)),
    st.tuples(st.just("kill the leader"), st.just(0)),
)


@dataclass
class Span:
    """From when to when the job was started with a schedule: fires due after ``began`` and up to ``ended`` are its."""

    schedule: Schedule
    began: int
    ended: int | None = None

    def fires(self) -> list[int]:
        assert self.ended is not None
        found = []
        fire = self.schedule.next_after(self.began)
        while fire is not None and fire <= self.ended:
            if self.schedule.due_at(fire) <= self.ended:
                found.append(fire)
            fire = self.schedule.next_after(fire)
        return found


@dataclass
class Story:
    """One cluster with one job, and what was done to it."""

    cluster: Cluster
    job: Job
    spans: list[Span] = field(default_factory=list)

    async def do(self, step: str, value: int) -> None:
        match step:
            case "wait":
                await self.cluster.advance(seconds=value / 1000)
            case "stop":
                await self.cluster.db.tx(stop_job, self.job.id, self.now)
                self.end_span()
            case "start":
                await self.cluster.db.tx(start_job, self.job.id, self.now)
                await self.begin_span()
            case "every":
                await self.change(replace(await self.stored(), schedule_conf=f"{value}ms"))
            case "param":
                await self.change(replace(await self.stored(), executor_param=str(value)))
            case "kill the leader":
                await self.kill_leader()
        for coordinator in self.cluster.coordinators:
            coordinator.work.due.wake()
            coordinator.work.recalls.wake()

    @property
    def now(self) -> int:
        return self.cluster.clock.now()

    async def stored(self) -> Job:
        return await self.cluster.db.read(get_job, self.job.id)

    async def change(self, edited: Job) -> None:
        stored = await self.stored()
        await self.cluster.db.tx(edit, stored, edited, self.now, True)
        if stored.trigger_status and stored.schedule_conf != edited.schedule_conf:
            self.end_span()
            await self.begin_span()

    async def begin_span(self) -> None:
        if not self.spans or self.spans[-1].ended is not None:
            self.spans.append(Span(schedule_of(await self.stored()), self.now))

    def end_span(self) -> None:
        if self.spans and self.spans[-1].ended is None:
            self.spans[-1].ended = self.now

    async def kill_leader(self) -> None:
        leader = next((one for one in self.cluster.coordinators if one.work.election.term), None)
        if leader is not None:
            self.cluster.add_coordinator()
            await self.cluster.kill_coordinator(leader)


def note_into(calls: list[tuple[int, int]], clusters: list[Cluster]) -> Handlers:
    app, lock = Handlers("tests"), threading.Lock()

    @app.job("note")
    def note(ctx: JobContext) -> None:
        assert ctx.schedule_time is not None
        with lock:
            calls.append((clusters[0].clock.now(), round(ctx.schedule_time.timestamp() * 1000)))

    return app


@pytest.mark.parametrize("ahead", [0.0, 0.05, 1.0, 5.0])
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # an example takes a second: too long to make it smaller
)
@given(
    steps=st.lists(STEPS, min_size=3, max_size=12),
    jitter=st.sampled_from([0, 300]),
    block=st.sampled_from([BlockStrategy.SERIAL_EXECUTION, BlockStrategy.CONCURRENT, BlockStrategy.DISCARD_LATER]),
)
def test_no_start_is_early_and_every_fire_has_one_truth(
    ahead: float, steps: list[tuple[str, int]], jitter: int, block: BlockStrategy
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_told(Path(folder), ahead, steps, jitter, block))


async def _told(folder: Path, ahead: float, steps: list[tuple[str, int]], jitter: int, block: BlockStrategy) -> None:
    calls: list[tuple[int, int]] = []
    clusters: list[Cluster] = []
    made = Cluster(folder, note_into(calls, clusters), coordinators=2, settings=LEASE, plan_ahead=ahead)
    async with made as cluster:
        clusters.append(cluster)
        fields = {"schedule_type": ScheduleType.FIX_RATE, "schedule_conf": "1s", "jitter": jitter}
        job = await cluster.job(executor_handler="note", executor_block_strategy=block, **fields)
        story = Story(cluster, job)
        await story.begin_span()
        for step, value in steps:
            await story.do(step, value)
        await story.do("wait", 500)
        await story.do("stop", 0)
        await story.do("wait", 70_000)
        await _check(story, calls)


async def _check(story: Story, calls: list[tuple[int, int]]) -> None:
    ledger = await story.cluster.db.read(list_fires, story.job.id, 10_000)
    executions = {one.schedule_time: one for one in await story.cluster.executions(story.job)}
    wanted = {fire: span.schedule.due_at(fire) for span in story.spans for fire in span.fires()}
    recalled = {fire for fire, one in executions.items() if one.reason_code in RECALLED}

    assert set(Counter(fire for _moment, fire in calls).values()) <= {1}, "a fire started twice"
    assert all(one.status.terminal for one in executions.values())
    for moment, fire in calls:
        assert moment >= wanted[fire], "early, or not a fire of the job at all"
        assert executions[fire].status is Status.SUCCESS
    assert {entry.fire_time for entry in ledger if entry.decision == "run"} == set(executions) - recalled
    for fire in wanted:
        truths = [entry.decision for entry in ledger if _covers(entry, fire)]
        # One that was recalled may lie in a span that was skipped later, which says the same.
        assert len(truths) == 1 or (fire in recalled and set(truths) == {"skipped"}), f"fire {fire}: {truths}"
    assert set(executions) - set(wanted) <= recalled, "what was not due any more was recalled"
    assert recalled.isdisjoint(fire for _moment, fire in calls)


def _covers(entry: FireDecision, fire: int) -> bool:
    return entry.fire_time <= fire <= entry.last_time
