"""When the wall clock is set: it is told, periods go on from the new time, and no fire runs twice."""

import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from orth.coordinator.defining import start_job, stop_job
from orth.coordinator.due import ClockWatch, FireQuota
from orth.coordinator.facts import ClockStepped
from orth.coordinator.planning import Plan, PlannedRun
from orth.domain.fires import FireDecision
from orth.domain.jobs import Job, ScheduleType, TriggerCause
from orth.executor.context import JobContext
from orth.executor.handlers import Handlers
from orth.settings import Settings
from orth.settings.sections import ClusterSection, SecuritySection
from orth.store.fires import list_fires
from orth.testing import Cluster, ManualClock
from tests.store.builders import a_job

HOUR = 3600
MINUTES = 120
"""For those who wait until the clock has caught up."""


class Starts:
    """A handler that notes for which fire it ran."""

    def __init__(self) -> None:
        self.app = Handlers("tests")
        self.fires: list[int] = []
        self._lock = threading.Lock()
        self.app.job("note")(self._note)

    def _note(self, ctx: JobContext) -> None:
        assert ctx.schedule_time is not None
        with self._lock:
            self.fires.append(round(ctx.schedule_time.timestamp() * 1000))

    async def during(self, cluster: Cluster, seconds: float) -> list[int]:
        """The fires that ran within some seconds from now."""
        before = len(self.fires)
        await cluster.advance(seconds=seconds)
        return self.fires[before:]


@pytest.fixture
def starts() -> Starts:
    return Starts()


async def reasons_of(cluster: Cluster, job: Job) -> list[FireDecision]:
    found = await cluster.db.read(list_fires, job.id, 10_000)
    return [entry for entry in found if "set back" in entry.reason]


@pytest.mark.parametrize("seconds", [-HOUR, -1.5, 1.5, HOUR])
def test_a_step_is_seen_once_with_its_size(seconds: float) -> None:
    clock = ManualClock()
    watch = ClockWatch(clock)
    clock.move(7)
    assert watch.step() == 0
    clock.move(0.5)
    clock.jump(seconds)
    assert watch.step() == round(seconds * 1000)
    clock.move(100)
    assert watch.step() == 0


def test_small_corrections_and_time_that_passes_are_no_step() -> None:
    clock = ManualClock()
    watch = ClockWatch(clock)
    for correction in (0.9, -0.9, 0.5):
        clock.jump(correction)
        clock.move(86_400)
        assert watch.step() == 0


def test_a_process_that_is_held_up_between_the_clocks_sees_no_step() -> None:
    class HeldUp(ManualClock):
        hold = 0.0

        def now(self) -> int:
            self.move(self.hold)
            return super().now()

    clock = HeldUp()
    watch = ClockWatch(clock)
    clock.hold = 30
    assert watch.step() == 0
    clock.hold = 0
    assert watch.step() == 0


@pytest.mark.parametrize("ahead", [0.0, 3.0])
@pytest.mark.parametrize(
    ("kind", "conf", "jitter"),
    [
        (ScheduleType.FIX_RATE, "1s", 0),
        (ScheduleType.FIX_RATE, "250ms", 0),
        (ScheduleType.FIX_RATE, "2s", 1_500),
        (ScheduleType.FIX_DELAY, "1s", 0),
    ],
)
async def test_a_period_goes_on_when_the_clock_was_set_back(
    tmp_path: Path, starts: Starts, ahead: float, kind: ScheduleType, conf: str, jitter: int
) -> None:
    async with Cluster(tmp_path, starts.app, plan_ahead=ahead) as cluster:
        job = await cluster.job(executor_handler="note", schedule_type=kind, schedule_conf=conf, jitter=jitter)
        assert len(await starts.during(cluster, 10)) >= 4
        cluster.clock.jump(-HOUR)
        await cluster.advance(seconds=5 + ahead)  # what was sent ahead runs, and one period passes
        assert len(await starts.during(cluster, 10)) >= 4
        assert [event.seconds for event in cluster.recorder.all(ClockStepped)] == [-HOUR]
        (told,) = await reasons_of(cluster, job)
        assert (told.decision, told.reason[:42]) == ("skipped", "the clock was set back by 3600.0 s: this l")
        cluster.clock.jump(-HOUR)  # once more, and more than it was behind
        await cluster.advance(seconds=5 + ahead)
        assert len(await starts.during(cluster, 10)) >= 4
        assert len(set(starts.fires)) == len(starts.fires)


async def test_a_rate_keeps_its_new_rhythm_and_no_fire_runs_twice(tmp_path: Path, starts: Starts) -> None:
    rate: dict[str, Any] = {"schedule_type": ScheduleType.FIX_RATE, "schedule_conf": "10s"}
    async with Cluster(tmp_path, starts.app) as cluster:
        job = await cluster.job(executor_handler="note", **rate)
        await cluster.advance(seconds=65)
        cluster.clock.jump(-MINUTES)
        await cluster.advance(seconds=1)
        since = cluster.clock.now()
        fires = await starts.during(cluster, MINUTES + 200)
        assert {later - sooner for sooner, later in pairwise(fires)} == {10_000}
        assert since < fires[0] <= since + 10_000
        assert len(fires) >= 31
        await cluster.db.tx(stop_job, job.id, cluster.clock.now())
        await cluster.db.tx(start_job, job.id, cluster.clock.now())
        cluster.coordinators[0].work.due.wake()
        anew = await starts.during(cluster, 25)
        assert {fire % 10_000 for fire in anew} == {0}, "started anew, it is as any other"
        assert len(set(starts.fires)) == len(starts.fires)


async def test_a_rate_that_is_stopped_and_started_in_the_repeated_hour_goes_on(tmp_path: Path, starts: Starts) -> None:
    rate: dict[str, Any] = {"schedule_type": ScheduleType.FIX_RATE, "schedule_conf": "10s"}
    async with Cluster(tmp_path, starts.app) as cluster:
        job = await cluster.job(executor_handler="note", **rate)
        await cluster.advance(seconds=150)
        cluster.clock.jump(-MINUTES)
        await cluster.advance(seconds=1)
        await cluster.db.tx(stop_job, job.id, cluster.clock.now())
        await cluster.db.tx(start_job, job.id, cluster.clock.now())
        cluster.coordinators[0].work.due.wake()
        assert len(await starts.during(cluster, 50)) >= 4


async def test_a_cron_fire_keeps_its_instant(tmp_path: Path, starts: Starts) -> None:
    cron: dict[str, Any] = {"schedule_type": ScheduleType.CRON, "schedule_conf": "*/10 * * * * ?"}
    async with Cluster(tmp_path, starts.app) as cluster:
        job = await cluster.job(executor_handler="note", **cron)
        assert len(await starts.during(cluster, 61)) == 6
        cluster.clock.jump(-MINUTES)
        assert await starts.during(cluster, MINUTES - 10) == []
        assert len(await starts.during(cluster, 40)) >= 3
        assert len(set(starts.fires)) == len(starts.fires)
        assert await reasons_of(cluster, job) == []


async def test_a_long_period_that_is_not_held_up_is_left_alone(tmp_path: Path, starts: Starts) -> None:
    async with Cluster(tmp_path, starts.app) as cluster:
        job = await cluster.job(
            executor_handler="note", schedule_type=ScheduleType.FIX_RATE, schedule_conf="2h", jitter=60_000
        )
        cluster.clock.move(3700)
        await cluster.advance(seconds=10)
        cluster.clock.jump(-HOUR)
        await cluster.advance(seconds=10)
        assert await reasons_of(cluster, job) == []
        assert [event.seconds for event in cluster.recorder.all(ClockStepped)] == [-HOUR]


async def test_forward_it_is_told_and_what_was_missed_is_a_misfire(tmp_path: Path, starts: Starts) -> None:
    async with Cluster(tmp_path, starts.app) as cluster:
        job = await cluster.job(executor_handler="note", schedule_type=ScheduleType.FIX_RATE, schedule_conf="10s")
        await cluster.advance(seconds=15)
        cluster.clock.jump(HOUR)
        assert len(await starts.during(cluster, 31)) >= 3
        assert [event.seconds for event in cluster.recorder.all(ClockStepped)] == [HOUR]
        decisions = await cluster.db.read(list_fires, job.id, 10_000)
        assert any(entry.reason.startswith("missed") for entry in decisions)


async def test_a_group_fires_so_often_in_a_minute_and_says_what_it_skips(tmp_path: Path, starts: Starts) -> None:
    settings = Settings(security=SecuritySection(fires_per_minute_per_group=5))
    async with Cluster(tmp_path, starts.app, settings=settings) as cluster:
        cluster.clock.move(60 - cluster.clock.monotonic() % 60)  # so that what follows is in one minute
        rate: dict[str, Any] = {"schedule_type": ScheduleType.FIX_RATE, "schedule_conf": "1s"}
        job = await cluster.job(executor_handler="note", **rate)
        assert len(await starts.during(cluster, 12)) == 5
        skipped = [one for one in await cluster.db.read(list_fires, job.id, 100) if one.decision == "skipped"]
        assert 5 <= sum(one.fires or 0 for one in skipped) <= 12
        assert {"fires of a minute (security.fires_per_minute_per_group)" in one.reason for one in skipped} == {True}


async def test_what_waits_for_its_end_is_never_skipped(tmp_path: Path, starts: Starts) -> None:
    """Nothing else would let it go on."""
    settings = Settings(security=SecuritySection(fires_per_minute_per_group=1))
    async with Cluster(tmp_path, starts.app, settings=settings) as cluster:
        delay: dict[str, Any] = {"schedule_type": ScheduleType.FIX_DELAY, "schedule_conf": "5s"}
        await cluster.job(executor_handler="note", **delay)
        assert len(await starts.during(cluster, 15)) >= 2


def test_a_quota_is_of_one_group_and_of_what_was_written() -> None:
    clock = ManualClock()
    quota = FireQuota(3, clock)
    ours, theirs = a_job(1), a_job(2)
    its = Plan(tuple(PlannedRun(n, TriggerCause.FIXED_RATE, n) for n in range(5)), (), 0, 9, 9, running=True)
    assert len(quota.within(ours, its, {}).runs) == 3
    assert len(quota.within(ours, its, {1: 2}).runs) == 1, "this pass has had two"
    quota.count({1: 3})
    assert [len(quota.within(job, its, {}).runs) for job in (ours, theirs)] == [0, 3]
    clock.move(60)
    assert len(quota.within(ours, its, {}).runs) == 3
    assert FireQuota(0, clock).within(ours, its, {1: 10**9}) is its


@pytest.mark.parametrize(("lease", "renew"), [("1s", "300ms"), ("2s", "600ms"), ("30s", "10s")])
async def test_an_idle_leader_plans_several_times_within_its_lease(
    tmp_path: Path, starts: Starts, lease: str, renew: str
) -> None:
    settings = Settings(cluster=ClusterSection(lease=lease, lease_renew=renew))
    async with Cluster(tmp_path, starts.app, settings=settings) as cluster:
        await cluster.advance(seconds=1)
        coordinator = cluster.coordinators[0]
        assert coordinator.work.election.term is not None
        assert await coordinator.work.due.turn() <= min(1.0, coordinator.work.election.lease / 3)
