"""One job that cannot be read or planned is stopped, and what it has open ends; nobody else notices."""

from pathlib import Path

import pytest
from sqlalchemy import Connection, update

from orth.coordinator.facts import JobQuarantined
from orth.domain import reasons
from orth.domain.calendars import Calendar
from orth.domain.executions import Status
from orth.domain.jobs import Job, ScheduleType
from orth.executor.context import JobContext
from orth.executor.handlers import Handlers
from orth.store.calendars import create_calendar
from orth.store.fires import list_fires
from orth.store.jobs import list_jobs
from orth.store.notes import notes_of
from orth.store.tables import calendars, jobs
from orth.testing import Cluster

EVERY_SECOND = {"executor_handler": "work", "schedule_type": ScheduleType.FIX_RATE, "schedule_conf": "1s"}

app = Handlers("tests")


@app.job("work")
def work() -> None:
    """Ends at once."""


def write(connection: Connection, job: Job, **values: object) -> None:
    """Write what no verb of the store would."""
    connection.execute(update(jobs).where(jobs.c.id == job.id).values(**values))


async def standing(cluster: Cluster, job: Job) -> bool:
    """Whether a job is started, readable or not."""
    (found,) = [one for one in await cluster.db.read(list_jobs, 0, 100) if one.id == job.id]
    return found.trigger_status


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"misfire_strategy": "FIRE_SOME"}, "it cannot be read: misfire_strategy is 'FIRE_SOME'"),
        ({"executor_route_strategy": "WEIGHTED"}, "executor_route_strategy is 'WEIGHTED'"),
        ({"glue_type": "GLUE_RUBY"}, "glue_type is 'GLUE_RUBY'"),
        ({"child_jobid": "1,x"}, "child_jobid is '1,x'"),
        ({"trigger_next_time": 999_999_999_999_999, "due_time": 1}, "trigger_next_time is '999999999999999'"),
        ({"schedule_type": "NONE"}, "KeyError"),  # started without a schedule: nobody foresaw that
        ({"timezone": "Mars/Olympus"}, "There is no time zone 'Mars/Olympus'"),
    ],
)
async def test_a_bad_job_is_stopped_and_the_others_go_on(tmp_path: Path, values: dict[str, object], told: str) -> None:
    async with Cluster(tmp_path, app) as cluster:
        good, bad = [await cluster.job(**EVERY_SECOND) for _ in range(2)]
        await cluster.advance(seconds=3)
        await cluster.db.tx(write, bad, **values)
        before = len(await cluster.executions(good))
        await cluster.advance(seconds=5)
        assert len(await cluster.executions(good)) == before + 5
        assert await standing(cluster, good)
        assert not await standing(cluster, bad)
        (event,) = cluster.recorder.all(JobQuarantined)
        assert event.job_id == bad.id
        assert told in event.reason
        (decision,) = [one for one in await cluster.db.read(list_fires, bad.id, 100) if one.decision == "skipped"]
        assert decision.reason.startswith("the job was stopped: ")
        assert told in decision.reason


async def test_a_calendar_that_cannot_be_read_stops_only_the_jobs_that_name_it(tmp_path: Path) -> None:
    async with Cluster(tmp_path, app) as cluster:
        now = cluster.clock.now()
        named = [await cluster.db.tx(create_calendar, name, Calendar(), now) for name in ("good", "bad")]
        good, bad = [await cluster.job(**EVERY_SECOND, calendar_id=one) for one in named]
        await cluster.db.tx(
            lambda c: c.execute(update(calendars).where(calendars.c.id == named[1]).values(definition='{"moons": 3}'))
        )
        await cluster.advance(seconds=3)
        assert len(await cluster.executions(good)) == 3
        assert await cluster.executions(bad) == []
        (event,) = cluster.recorder.all(JobQuarantined, job_id=bad.id)
        assert event.reason == f"calendar {named[1]} does not exist or cannot be read"


async def test_what_was_opened_before_ends_and_says_why(tmp_path: Path) -> None:
    async with Cluster(tmp_path, app) as cluster:
        good, bad = [
            await cluster.job(start=False, executor_handler="work", executor_fail_retry_count=3) for _ in range(2)
        ]
        ran, waiting = await cluster.trigger(good), await cluster.trigger(bad)
        await cluster.db.tx(write, bad, executor_route_strategy="WEIGHTED")
        await cluster.advance(seconds=2)
        assert (await cluster.execution(ran)).status is Status.SUCCESS
        (ended,) = await cluster.executions(bad)  # and no retry
        assert (ended.id, ended.status, ended.reason_code) == (waiting, Status.TRIGGER_FAILED, reasons.JOB_UNREADABLE)
        assert ended.trigger_msg == "The job cannot be read: executor_route_strategy is 'WEIGHTED'."


class Spoils:
    """A handler while which the row of its job is overwritten."""

    def __init__(self) -> None:
        self.app = Handlers("tests")
        self.app.job("work")(self._work)
        self.cluster: Cluster
        self.values: dict[str, object] = {}
        self.runs = 0

    def _work(self, ctx: JobContext) -> None:
        self.runs += 1
        with self.cluster.db.engine.begin() as connection:
            connection.execute(update(jobs).where(jobs.c.id == ctx.job_id).values(**self.values))


async def test_a_result_counts_though_its_job_cannot_be_read_any_more(tmp_path: Path) -> None:
    spoils = Spoils()
    async with Cluster(tmp_path, spoils.app) as cluster:
        spoils.cluster, spoils.values = cluster, {"child_jobid": "1,x"}
        child = await cluster.job(start=False, executor_handler="work")
        bad = await cluster.job(start=False, executor_handler="work", child_job_ids=(child.id,))
        one = await cluster.trigger(bad)
        await cluster.advance(seconds=2)
        assert (await cluster.execution(one)).status is Status.SUCCESS
        (note,) = [note for note in await cluster.db.read(notes_of, one) if note.code == reasons.JOB_UNREADABLE]
        assert "child_jobid is '1,x'" in note.message
        assert await cluster.executions(child) == []


@pytest.mark.parametrize("values", [{"schedule_conf": "garbage"}, {"misfire_strategy": "FIRE_SOME"}])
async def test_a_delay_that_cannot_begin_stops_the_job_and_keeps_the_result(
    tmp_path: Path, values: dict[str, object]
) -> None:
    spoils = Spoils()
    async with Cluster(tmp_path, spoils.app) as cluster:
        spoils.cluster, spoils.values = cluster, values
        bad = await cluster.job(executor_handler="work", schedule_type=ScheduleType.FIX_DELAY, schedule_conf="1s")
        await cluster.advance(seconds=5)
        assert [one.status for one in await cluster.executions(bad)] == [Status.SUCCESS]
        assert spoils.runs == 1
        assert cluster.recorder.all(JobQuarantined, job_id=bad.id)
        assert not await standing(cluster, bad)
