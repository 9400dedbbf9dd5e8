"""Jobs as the console lists them: each with its last executions and how many executors could run it."""

from dataclasses import dataclass, replace

from fastapi import APIRouter
from pydantic import BaseModel, Field

from orth.clock import iso
from orth.coordinator.http.callers import CallerHere, needs
from orth.coordinator.http.instants import DURATION, shown_instant
from orth.coordinator.http.job_body import JobShown, UnreadableShown, listed, unreadable_shown
from orth.coordinator.http.job_filter import JobsAsked
from orth.coordinator.http.overview import ExecutorsCounted
from orth.coordinator.http.paging import Cursor, Limit, Page, cursor_at, position
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.domain.access import Permission
from orth.domain.executions import Status, ran_for, status_of
from orth.domain.jobs import Job
from orth.store.database import Connection
from orth.store.fires import planned_after
from orth.store.job_board import Online, Run, Wanted, executors_online, in_use, last_runs, lasts, list_board
from orth.store.jobs import UnreadableJob

router = APIRouter(prefix="/api/v1/jobs", tags=["jobs"])

_RUNS = 12
_CHOICES = 500
"""Authors and tags that are offered to choose from."""


class RunShown(BaseModel):
    """One of the last executions of a job, in short."""

    id: int
    status: Status
    trigger_code: int
    handle_code: int
    trigger_time: str
    start_time: str | None
    handle_time: str | None
    duration_ms: int | None = Field(description=DURATION)


class BoardRow(BaseModel):
    job: JobShown | UnreadableShown
    runs: list[RunShown] = Field(description=f"Its last executions, newest first, {_RUNS} at most.")
    last: RunShown | None = Field(
        description="How it went last: the newest of them, or of a broadcast a shard that failed or is open."
    )
    executors: ExecutorsCounted


class InUseShown(BaseModel):
    authors: list[str]
    tags: list[str]


@dataclass(frozen=True, slots=True)
class _Asked:
    wanted: Wanted
    before: int | None
    limit: int
    heard_since: int
    now: int


@router.get("/board", dependencies=[needs(Permission.VIEW)])
async def board(
    tools: ToolsHere,
    caller: CallerHere,
    wanted: JobsAsked,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[BoardRow]:
    """Jobs, newest first, with their last executions and the executors of their group."""
    meant = wanted.within(caller.rights.groups(Permission.VIEW))
    asked = _Asked(meant, position(cursor), limit, heard_since(tools), tools.clock.now())
    return await tools.db.read(_board, asked)


@router.get("/in-use", dependencies=[needs(Permission.VIEW)])
async def in_use_now(tools: ToolsHere, caller: CallerHere) -> InUseShown:
    """Who answers for jobs and what tags they have: what ``author`` and ``tag`` can be asked for."""
    found = await tools.db.read(in_use, caller.rights.groups(Permission.VIEW), _CHOICES)
    return InUseShown(authors=found.authors, tags=found.tags)


def heard_since(tools: Tools) -> int:
    """Who has beaten since then is online; one beat may be a little late."""
    beat = int(tools.settings.registry.heartbeat.total_seconds() * 1000)
    return tools.clock.now() - beat - beat // 10


def _board(connection: Connection, asked: _Asked) -> Page[BoardRow]:
    online = executors_online(connection, asked.heard_since, asked.wanted.groups)
    found = list_board(connection, asked.wanted, online, before=asked.before, limit=asked.limit + 1)
    kept = found[: asked.limit]
    runs = last_runs(connection, [job.id for job in kept], _RUNS, asked.wanted.groups)
    last = lasts(connection, runs, asked.wanted.groups)
    planned = planned_after(connection, [job.id for job in kept], asked.now)
    kept = [_next_of(job, planned.get(job.id, [])) for job in kept]
    items = [_row(job, runs.get(job.id, []), last.get(job.id), online.get(job.job_group, Online(0, 0))) for job in kept]
    return Page[BoardRow](items=items, next_cursor=cursor_at(kept[-1].id) if len(found) > asked.limit else None)


def _next_of(job: Job | UnreadableJob, planned: list[int]) -> Job | UnreadableJob:
    """The job with the fire that comes next, which may be planned already while it waits for a later one."""
    coming = [fire for fire in (job.trigger_next_time, *planned) if fire]
    return replace(job, trigger_next_time=min(coming)) if job.trigger_status and coming else job


def _row(job: Job | UnreadableJob, runs: list[Run], last: Run | None, online: Online) -> BoardRow:
    shown: JobShown | UnreadableShown = (
        UnreadableShown(**unreadable_shown(job)) if isinstance(job, UnreadableJob) else JobShown(**listed(job))
    )
    executors = ExecutorsCounted(alive=online.alive, total=online.total)
    return BoardRow(job=shown, runs=[_run(run) for run in runs], last=last and _run(last), executors=executors)


def _run(run: Run) -> RunShown:
    return RunShown(
        id=run.id,
        status=status_of(run.trigger_code, run.handle_code),
        trigger_code=run.trigger_code,
        handle_code=run.handle_code,
        trigger_time=iso(run.trigger_time),
        start_time=shown_instant(run.start_time),
        handle_time=shown_instant(run.handle_time),
        duration_ms=ran_for(run.duration_ms, run.start_time, run.handle_time),
    )
