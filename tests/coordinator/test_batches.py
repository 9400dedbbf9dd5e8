"""Batches on a hand-cranked cluster: every fire of the span, once, in order, at the pace that was asked for."""

import asyncio
import threading
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orth.coordinator.batches import (
    RUNNING_LIMIT,
    BatchRequest,
    Survey,
    cancel_batch,
    start_batch,
    survey_batch,
)
from orth.coordinator.defining import define, define_group, edit, remove_job, stop_job
from orth.coordinator.facts import BatchEnded
from orth.coordinator.finishing import finish
from orth.domain.batches import Batch, BatchState, fires_within, timing_of
from orth.domain.calendars import Calendar
from orth.domain.executions import Phase, Status
from orth.domain.jobs import AddressType, Group, Job, RouteStrategy, ScheduleType, TriggerCause
from orth.domain.schedules import parse_schedule
from orth.errors import Conflict, Invalid, TooBusy
from orth.executor.context import JobContext, JobFailed
from orth.executor.handlers import Handlers
from orth.store.batches import get_batch, progress_of
from orth.store.calendars import create_calendar
from orth.store.database import open_database
from orth.store.jobs import get_job
from orth.testing import Cluster
from tests.store.builders import NOW, refusal

HOURLY = {"schedule_type": ScheduleType.CRON, "schedule_conf": "0 * * * *"}
DAY = BatchRequest(key="k", start="2026-01-01", end="2026-01-02", limit=10_000)


class Ran:
    """A handler that notes the logical times it ran for; ``fails`` fail, once for each mention."""

    def __init__(self) -> None:
        self.app = Handlers("tests")
        self.times: list[int] = []
        self.params: set[str] = set()
        self.fails: list[int] = []
        self._lock = threading.Lock()
        self.app.job("note")(self._note)

    def _note(self, ctx: JobContext) -> None:
        assert ctx.schedule_time is not None
        instant = int(ctx.schedule_time.timestamp() * 1000)
        with self._lock:
            self.times.append(instant)
            self.params.add(ctx.param or "")
            if instant in self.fails:
                self.fails.remove(instant)
                raise JobFailed("on purpose")


@pytest.fixture
def ran() -> Ran:
    return Ran()


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


HOURS = [at("2026-01-01") + hour * 3_600_000 for hour in range(24)]


async def begin(cluster: Cluster, job: Job, asked: BatchRequest = DAY) -> Batch:
    batch = await cluster.db.tx(start_batch, job.id, asked, cluster.clock.now())
    for coordinator in cluster.coordinators:
        coordinator.work.batches.wake()
    return batch


async def test_every_fire_of_the_span_runs_once_in_order_with_its_logical_time(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="note", executor_param="own", **HOURLY)
        batch = await begin(cluster, job)
        assert batch.total == 24
        await cluster.advance(seconds=60)
        assert ran.times == HOURS
        assert ran.params == {"own"}
        executions = await cluster.executions(job)
        assert [(one.cause, one.schedule_time) for one in executions] == [(TriggerCause.BATCH, hour) for hour in HOURS]
        assert [one.trigger_key for one in executions] == [f"batch:{batch.id}:{hour}" for hour in HOURS]
        ended = await cluster.db.read(get_batch, batch.id)
        assert (ended.state, ended.opened, ended.total) == (BatchState.DONE, 24, 24)
        assert cluster.recorder.all(BatchEnded, batch_id=batch.id, state="done")
        assert (await cluster.db.read(progress_of, [batch.id]))[batch.id].succeeded == 24


async def test_a_batch_and_the_schedule_do_not_know_each_other(tmp_path: Path, ran: Ran) -> None:
    """The job is started and fires as ever; what the batch runs is run though it ran before."""
    async with Cluster(tmp_path, ran.app) as cluster:
        now = cluster.clock.now()
        rate = {"schedule_type": ScheduleType.FIX_RATE, "schedule_conf": "10s"}
        job = await cluster.job(executor_handler="note", **rate)
        await cluster.advance(seconds=30)
        asked = replace(DAY, start=str(now + 1), end=str(now + 30_001))
        await begin(cluster, job, asked)
        await cluster.advance(seconds=30)
        again = Counter(ran.times)
        assert sorted(again.values(), reverse=True)[:3] == [2, 2, 2]
        await cluster.db.tx(stop_job, job.id, cluster.clock.now())
        await begin(cluster, job, replace(asked, key="2"))
        await cluster.advance(seconds=10)
        assert max(Counter(ran.times).values()) == 3


@settings(max_examples=8, deadline=None)
@given(at_once=st.integers(1, 30), failing=st.lists(st.sampled_from(HOURS), max_size=6), shards=st.integers(1, 2))
async def test_never_more_at_once_than_asked_for(
    tmp_path_factory: pytest.TempPathFactory, at_once: int, failing: list[int], shards: int
) -> None:
    ran = Ran()
    ran.fails = list(failing)
    async with Cluster(tmp_path_factory.mktemp("batch"), ran.app, executors=shards) as cluster:
        job = await cluster.job(
            start=False,
            executor_handler="note",
            executor_fail_retry_count=1,
            executor_route_strategy=RouteStrategy.SHARDING_BROADCAST,
            **HOURLY,
        )
        batch = await begin(cluster, job, replace(DAY, at_once=at_once))
        batches = cluster.coordinators[0].work.batches
        for _ in range(200):
            if (await cluster.db.read(get_batch, batch.id)).state is BatchState.DONE:
                break
            await batches.guarded_turn()
            open_now = {one.schedule_time for one in await cluster.executions(job) if one.phase is not Phase.ENDED}
            assert len(open_now) <= at_once
            await cluster.advance(seconds=0.2)
        executions = await cluster.executions(job)
        first = [one for one in executions if one.cause is TriggerCause.BATCH]
        assert Counter(one.schedule_time for one in first) == Counter(HOURS * shards)
        assert all(one.batch_id == batch.id for one in executions)
        progress = (await cluster.db.read(progress_of, [batch.id]))[batch.id]
        good = sum(one.status is Status.SUCCESS for one in executions)
        assert (progress.running, progress.succeeded, progress.failed) == (0, good, 24 * shards - good)


async def test_a_batch_survives_its_leader(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, coordinators=2) as cluster:
        job = await cluster.job(start=False, executor_handler="note", **HOURLY)
        await begin(cluster, job, replace(DAY, at_once=3))
        (leader,) = [one for one in cluster.coordinators if one.work.election.term is not None]
        await leader.work.batches.guarded_turn()
        assert len(await cluster.executions(job)) == 3
        await cluster.kill_coordinator(leader)
        await cluster.advance(seconds=120)
        assert sorted(ran.times) == HOURS


async def test_cancelled_it_opens_nothing_more(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="note", **HOURLY)
        batch = await begin(cluster, job, replace(DAY, at_once=2))
        await cluster.coordinators[0].work.batches.guarded_turn()
        for _ in range(2):
            await cluster.db.tx(cancel_batch, batch.id, "admin", cluster.clock.now())
        await cluster.advance(seconds=60)
        assert ran.times == HOURS[:2]  # what was open goes on
        ended = await cluster.db.read(get_batch, batch.id)
        assert (ended.state, ended.reason, ended.opened) == (BatchState.CANCELLED, "cancelled by admin", 2)


async def test_a_done_batch_cannot_be_cancelled(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="note", **HOURLY)
        batch = await begin(cluster, job, replace(DAY, at_once=30))
        await cluster.advance(seconds=5)
        with pytest.raises(Conflict, match="is done"):
            await cluster.db.tx(cancel_batch, batch.id, "admin", cluster.clock.now())


async def test_a_changed_schedule_cancels_and_another_edit_does_not(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="note", **HOURLY)
        batch = await begin(cluster, job)
        for changes in ({"executor_param": "new", "jitter": 5}, {"schedule_conf": "30 * * * *"}):
            await cluster.coordinators[0].work.batches.guarded_turn()
            stored = await cluster.db.read(get_job, job.id)
            changed = replace(stored, **changes)  # type: ignore[arg-type]  # fields of Job
            await cluster.db.tx(edit, stored, changed, cluster.clock.now(), True)
            (waiting,) = [one for one in await cluster.executions(job) if one.phase is Phase.OPENED]
            await cluster.db.tx(finish, [refusal(waiting.id)], cluster.clock.now())
        await cluster.advance(seconds=60)
        assert [one.executor_param for one in await cluster.executions(job)] == ["", "new"]
        ended = await cluster.db.read(get_batch, batch.id)
        assert (ended.state, ended.reason) == (BatchState.CANCELLED, "the schedule or handler of the job was changed")


async def test_a_parameter_does_not_become_code_while_a_batch_runs(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="note", **HOURLY)
        batches = [await begin(cluster, job, replace(DAY, key=key, param=key or None)) for key in ("given", "")]
        stored = await cluster.db.read(get_job, job.id)
        command = replace(stored, executor_handler="orth.command")
        await cluster.db.tx(edit, stored, command, cluster.clock.now(), True)
        batches.append(await begin(cluster, job, replace(DAY, key="by who may", param="by who may")))
        await cluster.coordinators[0].work.batches.guarded_turn()
        states = [(await cluster.db.read(get_batch, batch.id)).state for batch in batches]
        assert states == [BatchState.CANCELLED, BatchState.RUNNING, BatchState.RUNNING]


async def test_a_job_with_a_running_batch_is_not_deleted(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="note", **HOURLY)
        batch = await cluster.db.tx(start_batch, job.id, DAY, cluster.clock.now())
        with pytest.raises(Conflict, match="batch that is not over"):
            await cluster.db.tx(remove_job, job.id, cluster.clock.now())
        await cluster.db.tx(cancel_batch, batch.id, "admin", cluster.clock.now())
        await cluster.db.tx(remove_job, job.id, cluster.clock.now())


async def test_what_was_done_is_left_out_when_asked_for(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="note", **HOURLY)
        ran.fails = [HOURS[2]]
        await begin(cluster, job, replace(DAY, end="2026-01-01T05:00"))
        await cluster.advance(seconds=20)
        ran.times.clear()
        asked = replace(DAY, key="again", skip_done=True)
        survey: Survey = await cluster.db.read(survey_batch, job.id, asked)
        assert (survey.count, survey.done) == (20, 4)
        batch = await begin(cluster, job, asked)
        await cluster.advance(seconds=60)
        assert ran.times == [HOURS[2], *HOURS[5:]]
        ended = await cluster.db.read(get_batch, batch.id)
        assert (ended.total, ended.opened, ended.state) == (20, 20, BatchState.DONE)


async def test_the_calendar_of_the_job_is_kept(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        calendar = Calendar.parse({"dates_out": ["2026-01-02"]})
        calendar_id = await cluster.db.tx(create_calendar, "days", calendar, cluster.clock.now())
        job = await cluster.job(
            start=False,
            executor_handler="note",
            schedule_type=ScheduleType.CRON,
            schedule_conf="0 12 * * *",
            timezone="Europe/Berlin",
            calendar_id=calendar_id,
        )
        asked = replace(DAY, end="2026-01-04")
        survey = await cluster.db.read(survey_batch, job.id, asked)
        assert (survey.count, survey.refused) == (2, 1)
        await begin(cluster, job, asked)
        await cluster.advance(seconds=20)
        assert ran.times == [at("2026-01-01T11:00"), at("2026-01-03T11:00")]  # noon in Berlin


async def test_the_span_is_read_in_the_zone_of_the_job_and_ends_before_its_end(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=0) as cluster:
        job = await cluster.job(start=False, executor_handler="note", timezone="Asia/Tokyo", **HOURLY)
        survey = await cluster.db.read(survey_batch, job.id, DAY)
        assert (survey.count, survey.first[0], survey.last[-1]) == (
            24,
            at("2025-12-31T15:00"),
            at("2026-01-01T14:00"),
        )
        assert (len(survey.first), len(survey.last)) == (20, 20)
        offset = replace(DAY, start="2026-01-01T00:00:00Z", end="2026-01-01T01:00:00.001Z")
        assert (await cluster.db.read(survey_batch, job.id, offset)).first == (HOURS[0], HOURS[1])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"start": "yesterday"}, "not a point in time"),
        ({"end": "2026-13-01"}, "There is no month 13"),
        ({"end": "2026-01-01"}, "ends before it begins"),
        ({"end": "2025-01-01"}, "ends before it begins"),
        ({"start": "2026-01-01T00:01", "end": "2026-01-01T00:59"}, "nothing to run"),
        ({"limit": 10}, "has 24 fires; a batch may have 10"),
        ({"limit": 3}, "has more than 15 fires; a batch may have 3"),
        ({"addresses": ("http://10.9.9.9:1",)}, "is not an executor of"),
    ],
    ids=str,
)
async def test_what_cannot_be_a_batch_is_refused(
    tmp_path: Path, ran: Ran, changes: dict[str, object], words: str
) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="note", **HOURLY)
        asked = replace(DAY, **changes)  # type: ignore[arg-type]  # fields of BatchRequest
        with pytest.raises(Invalid, match=words):
            await begin(cluster, job, asked)


@pytest.mark.parametrize(
    "schedule",
    [(ScheduleType.NONE, ""), (ScheduleType.FIX_DELAY, "5"), (ScheduleType.AT, "2199-01-01T00:00:00Z")],
    ids=str,
)
async def test_only_what_repeats_by_the_clock_has_a_span(
    tmp_path: Path, ran: Ran, schedule: tuple[ScheduleType, str]
) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(
            start=False, executor_handler="note", schedule_type=schedule[0], schedule_conf=schedule[1]
        )
        with pytest.raises(Conflict, match="A batch needs CRON or FIX_RATE"):
            await begin(cluster, job)


async def test_a_repeated_request_is_the_same_batch(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="note", **HOURLY)
        first = await begin(cluster, job)
        assert (await begin(cluster, job, replace(DAY, limit=1))).id == first.id  # no longer counted
        assert (await begin(cluster, job, replace(DAY, key="other"))).id != first.id
        with pytest.raises(Invalid, match="another body"):
            await begin(cluster, job, replace(DAY, at_once=2))


async def test_the_same_request_through_two_nodes_at_once_is_one_batch(race_url: str) -> None:
    with open_database(race_url, size=4) as one, open_database(race_url, size=4) as other:
        group_id = await one.tx(define_group, Group(0, "batch-race", "b", AddressType.AUTO, ()), NOW)
        job = Job(id=0, job_group=group_id, job_desc="j", executor_handler="h", **HOURLY)  # type: ignore[arg-type]
        job_id = await one.tx(define, job, NOW, True)
        begun = await asyncio.gather(*(db.tx(start_batch, job_id, DAY, NOW) for db in (one, other) * 3))
        assert len({batch.id for batch in begun}) == 1
        removed = await asyncio.gather(
            one.tx(start_batch, job_id, replace(DAY, key="late"), NOW),
            other.tx(remove_job, job_id, NOW),
            return_exceptions=True,
        )
        assert isinstance(removed[1], Conflict)  # the first one runs


async def test_too_many_batches_are_refused(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app) as cluster:
        job = await cluster.job(start=False, executor_handler="note", **HOURLY)
        for number in range(RUNNING_LIMIT):
            await cluster.db.tx(start_batch, job.id, replace(DAY, key=str(number)), cluster.clock.now())
        with pytest.raises(TooBusy, match="batches are running"):
            await begin(cluster, job)


@given(
    period=st.integers(10, 100_000),
    start=st.integers(0, 10**12),
    length=st.integers(0, 200_000),
)
def test_the_fires_of_a_span_are_those_of_the_schedule(period: int, start: int, length: int) -> None:
    schedule = parse_schedule(ScheduleType.FIX_RATE, f"{period}ms")
    found = [fire for fire, _refusal in fires_within(schedule, start, start + min(length, period * 50))]
    assert all(start <= fire < start + length and fire % period == 0 for fire in found)
    assert len(found) == schedule.count_between(start - 1, start + min(length, period * 50) - 1, 10_000)


def test_the_timing_is_what_decides_the_fires() -> None:
    job = Job(id=1, job_group=1, job_desc="j", schedule_type=ScheduleType.CRON, schedule_conf="0 * * * *")

    def timing(changed: Job, calendar: Calendar | None = None) -> str:
        schedule = parse_schedule(
            changed.schedule_type, changed.schedule_conf, timezone=changed.timezone, calendar=calendar
        )
        return timing_of(changed, schedule)

    base = timing(job)
    assert timing(replace(job, jitter=5, executor_param="x", version=9)) == base
    others = [
        timing(replace(job, schedule_conf="1 * * * *")),
        timing(replace(job, timezone="Europe/Berlin")),
        timing(job, Calendar(dates_out=frozenset({datetime(2026, 1, 1, tzinfo=UTC).date()}))),
    ]
    assert len({base, *others}) == 4
