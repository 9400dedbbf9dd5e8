"""What is going to fire soon, for a picture of the hours around now: bounded, however many jobs there are."""

from itertools import chain
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from orth.clock import iso
from orth.coordinator.http.callers import CallerHere, needs
from orth.coordinator.http.tools import ToolsHere
from orth.coordinator.planning import schedule_of
from orth.domain.access import Permission
from orth.domain.jobs import Job
from orth.domain.schedules import Schedule
from orth.errors import OrthError
from orth.store.calendars import calendars_by_id
from orth.store.database import Connection
from orth.store.fires import planned_after
from orth.store.jobs import jobs_by_id
from orth.store.overview import Groups, list_upcoming

router = APIRouter(prefix="/api/v1/schedules", tags=["schedules"])

JOBS_LIMIT = 200
FIRES_LIMIT = 60
"""Fires of one job: one a minute for an hour."""


class UpcomingJob(BaseModel):
    """A started job, and when it is due."""

    job_id: int
    job_group: int
    job_desc: str
    tags: list[str]
    due_times: list[str]
    more: bool = Field(description=f"Whether it fires more often than the {FIRES_LIMIT} times that are told.")


class UpcomingFires(BaseModel):
    at: str
    until: str
    items: list[UpcomingJob]
    more: bool = Field(description=f"Whether more than {JOBS_LIMIT} jobs fire in this time.")


@router.get("/upcoming", dependencies=[needs(Permission.VIEW)])
async def upcoming_fires(
    tools: ToolsHere,
    caller: CallerHere,
    minutes: Annotated[int, Query(ge=1, le=1440, description="How far to look ahead.")] = 60,
) -> UpcomingFires:
    """Started jobs that fire soon, the soonest first, and when. What a calendar refuses is left out."""
    now = tools.clock.now()
    return await tools.db.read(_upcoming, now, now + minutes * 60_000, caller.rights.groups(Permission.VIEW))


def _upcoming(connection: Connection, now: int, until: int, seen: Groups) -> UpcomingFires:
    soon = [one for one in list_upcoming(connection, JOBS_LIMIT + 1, seen, now) if one.due_time <= until]
    jobs = jobs_by_id(connection, (one.job_id for one in soon[:JOBS_LIMIT]))
    calendars = calendars_by_id(connection, {job.calendar_id for job in jobs.values() if job.calendar_id is not None})
    planned = planned_after(connection, jobs, now)
    items = []
    for one in soon[:JOBS_LIMIT]:
        if (job := jobs.get(one.job_id)) is None:
            continue
        try:
            schedule = schedule_of(job, calendars[job.calendar_id] if job.calendar_id is not None else None)
        except (KeyError, OrthError):  # its next fire is known all the same
            due = [one.due_time]
        else:
            due = _due_times(job, schedule, planned.get(job.id, []), until)
            due = [one for one in due if now <= one <= until]
        if due:
            items.append(_shown(job, due))
    return UpcomingFires(at=iso(now), until=iso(until), items=items, more=len(soon) > JOBS_LIMIT)


def _due_times(job: Job, schedule: Schedule, planned: list[int], until: int) -> list[int]:
    """When the job is due, one more than are told: first what is planned already, then the fire it waits for, which a
    delay may have put off.
    """
    fires = [job.trigger_next_time]
    while schedule.repeats_by_clock and len(fires) <= FIRES_LIMIT:
        following = schedule.next_after(fires[-1])
        if following is None or following > until:
            break
        fires.append(following)
    later = (schedule.due_at(fire) for fire in fires[1:] if schedule.skip_reason(fire) is None)
    first = (job.due_time,) if schedule.skip_reason(fires[0]) is None else ()
    return [*map(schedule.due_at, planned), *chain(first, later)][: FIRES_LIMIT + 1]


def _shown(job: Job, due_times: list[int]) -> UpcomingJob:
    return UpcomingJob(
        job_id=job.id,
        job_group=job.job_group,
        job_desc=job.job_desc,
        tags=list(job.tags),
        due_times=[iso(due) for due in due_times[:FIRES_LIMIT]],
        more=len(due_times) > FIRES_LIMIT,
    )
