"""Everything at a glance, for the first page of the console: from counts, and never from the whole history."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from orth.clock import iso
from orth.coordinator.http.callers import CallerHere, needs
from orth.coordinator.http.tools import ToolsHere
from orth.coordinator.planning import schedule_of
from orth.domain.access import Permission
from orth.domain.calendars import Calendar
from orth.domain.executions import Status, status_of
from orth.domain.jobs import Job
from orth.domain.schedules import Schedule
from orth.errors import OrthError
from orth.store.calendars import calendars_by_id
from orth.store.database import Connection
from orth.store.jobs import jobs_by_id
from orth.store.overview import (
    Failing,
    Groups,
    Slow,
    Upcoming,
    count_executors,
    count_jobs,
    list_failing,
    list_lateness,
    list_slowest,
    list_upcoming,
)
from orth.store.statistics import HOUR

router = APIRouter(prefix="/api/v1/stats", tags=["stats"])

_DAY = 24 * HOUR
PER_DAY_LIMIT = 1_500
"""Fires of one job: one a minute for a day, and some more."""


class JobsCounted(BaseModel):
    started: int
    stopped: int
    paused: int = Field(description="Those of the stopped ones that have a schedule: the others run by hand only.")


class ExecutorsCounted(BaseModel):
    alive: int = Field(description="Those whose last beat came in time.")
    total: int


class UpcomingShown(BaseModel):
    """A started job, and when it fires next."""

    job_id: int
    job_group: int
    job_desc: str
    schedule_type: str
    schedule_conf: str
    due_time: str
    per_day: int | None = Field(
        description="Fires in the next 24 hours, without those its calendar leaves out, counted up to "
        f"{PER_DAY_LIMIT:,}; null where the clock does not decide."
    )


class FailingShown(BaseModel):
    """A job that failed in the last day and has not succeeded since. ``streak`` is counted up to 100; what was tried
    again counts once, when its last attempt has failed.
    """

    job_id: int
    job_group: int
    job_desc: str
    execution_id: int
    trigger_code: int
    handle_code: int
    status: Status
    ended_at: str
    streak: int


class SlowShown(BaseModel):
    """A job and how long its executions of the last day took."""

    job_id: int
    job_group: int
    job_desc: str
    executions: int
    mean_ms: int
    longest_ms: int


class LateShown(BaseModel):
    """How long after they were due executions began that schedules opened: the newest of the last day."""

    fires: int
    p50_ms: int
    p95_ms: int


class OverviewShown(BaseModel):
    at: str
    jobs: JobsCounted
    executors: ExecutorsCounted
    upcoming: list[UpcomingShown]
    failing: list[FailingShown]
    slowest: list[SlowShown]
    late: LateShown | None = Field(description="Null when nothing fired in the last day.")


@router.get("/overview", dependencies=[needs(Permission.VIEW)])
async def overview(
    tools: ToolsHere,
    caller: CallerHere,
    upcoming: Annotated[int, Query(ge=0, le=100, description="How many jobs that fire next.")] = 20,
    top: Annotated[int, Query(ge=0, le=50, description="How many that fail, and how many that take long.")] = 8,
) -> OverviewShown:
    """How many jobs and executors there are, which fire next, which fail, which took long in the last day, and how late
    fires began.
    """
    now = tools.clock.now()
    beat = int(tools.settings.registry.heartbeat.total_seconds() * 1000)
    heard_since = now - beat - beat // 10
    seen = caller.rights.groups(Permission.VIEW)
    return await tools.db.read(_overview, now, heard_since, (upcoming, top), seen)


def _overview(
    connection: Connection, now: int, heard_since: int, lengths: tuple[int, int], seen: Groups
) -> OverviewShown:
    since = now - _DAY - (now - _DAY) % HOUR
    coming, top = lengths
    started, stopped, paused = count_jobs(connection, seen)
    alive, total = count_executors(connection, heard_since, seen)
    return OverviewShown(
        at=iso(now),
        jobs=JobsCounted(started=started, stopped=stopped, paused=paused),
        executors=ExecutorsCounted(alive=alive, total=total),
        upcoming=_coming(connection, list_upcoming(connection, coming, seen, now), now),
        failing=[_failing(one) for one in list_failing(connection, since, top, seen)],
        slowest=[_slow(one) for one in list_slowest(connection, since, top, seen)],
        late=summed_up(list_lateness(connection, since, seen)),
    )


def summed_up(lateness: Sequence[int]) -> LateShown | None:
    """``lateness`` is in order, the least first."""
    count = len(lateness)
    if count == 0:
        return None
    p50, p95 = (lateness[-(-count * share // 100) - 1] for share in (50, 95))
    return LateShown(fires=count, p50_ms=p50, p95_ms=p95)


def _coming(connection: Connection, soon: Sequence[Upcoming], now: int) -> list[UpcomingShown]:
    jobs = jobs_by_id(connection, (one.job_id for one in soon))
    calendars = calendars_by_id(connection, {job.calendar_id for job in jobs.values() if job.calendar_id is not None})
    return [_upcoming(one, _per_day(jobs.get(one.job_id), calendars, now)) for one in soon]


def _per_day(job: Job | None, calendars: Mapping[int, Calendar], now: int) -> int | None:
    if job is None:
        return None
    try:
        schedule = schedule_of(job, calendars[job.calendar_id] if job.calendar_id is not None else None)
    except (KeyError, OrthError):  # its next fire is known all the same
        return None
    return fires_of_day(schedule, now) if schedule.repeats_by_clock else None


def fires_of_day(schedule: Schedule, now: int) -> int:
    """How many fires of the next 24 hours run, counted up to a limit."""
    if schedule.calendar is None:
        return schedule.count_between(now, now + _DAY, PER_DAY_LIMIT)
    count, fire = 0, schedule.next_after(now)
    for _ in range(PER_DAY_LIMIT):
        if fire is None or fire > now + _DAY:
            break
        count += schedule.skip_reason(fire) is None
        fire = schedule.next_after(fire)
    return count


def _upcoming(one: Upcoming, per_day: int | None) -> UpcomingShown:
    return UpcomingShown(
        job_id=one.job_id,
        job_group=one.job_group,
        job_desc=one.job_desc,
        schedule_type=one.schedule_type,
        schedule_conf=one.schedule_conf,
        due_time=iso(one.due_time),
        per_day=per_day,
    )


def _failing(one: Failing) -> FailingShown:
    return FailingShown(
        job_id=one.job_id,
        job_group=one.job_group,
        job_desc=one.job_desc,
        execution_id=one.execution_id,
        trigger_code=one.trigger_code,
        handle_code=one.handle_code,
        status=status_of(one.trigger_code, one.handle_code),
        ended_at=iso(one.ended_at),
        streak=one.streak,
    )


def _slow(one: Slow) -> SlowShown:
    return SlowShown(
        job_id=one.job_id,
        job_group=one.job_group,
        job_desc=one.job_desc,
        executions=one.ran,
        mean_ms=one.total_ms // max(1, one.ran),
        longest_ms=one.longest_ms,
    )
