"""What is done to many jobs at once, by the filter of their list.

A request works through the jobs that match, newest first, each in a transaction of its own: what is refused for one
does not keep the others. It stops after ``max`` of them or a few seconds, and says how many are left and where to go on
(``next_cursor``); so whoever asks can show how far it is. ``dry_run`` names the jobs that the action would change and
changes nothing. Jobs that starting or stopping would not change are counted as ``skipped``, and not as done or refused.

Jobs that need each other are deleted together: before one that is needed go those that need it, where they are meant
too, in whatever part they would have come.
"""

import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field

from orth.coordinator.facts import ExecutionsOpened
from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.job_board import heard_since
from orth.coordinator.http.job_deeds import delete_job, start_one, stop_one, trigger_one
from orth.coordinator.http.job_filter import JobsAsked
from orth.coordinator.http.jobs import Client, IdempotencyKey, cause_of
from orth.coordinator.http.paging import Cursor, cursor_at, position
from orth.coordinator.http.problems import coded
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.coordinator.triggering import Request as TriggerRequest
from orth.domain.access import Permission
from orth.errors import Conflict, Invalid, NotFound, OrthError, StoreUnavailable, Unreadable
from orth.store.database import Connection
from orth.store.job_board import Change, Named, Wanted, count_jobs, executors_online, find_jobs, find_referrers

router = APIRouter(prefix="/api/v1/jobs/bulk", tags=["jobs"])

AT_ONCE = 200
_LONGEST = 3.0
"""Seconds after which a request is answered with what was done by then."""


class RefusedShown(BaseModel):
    """A job it could not be done to."""

    id: int
    job_desc: str
    detail: str
    code: str | None
    facts: dict[str, str | int] | None


class JobNamed(BaseModel):
    """A job that the action would change."""

    id: int
    job_desc: str


class ManyJobsDone(BaseModel):
    """What came of a request for many. ``job_ids`` are those it was done to, or would be with ``dry_run``; ``left`` is
    what else it is for, counted up to 10,000. ``next_cursor`` is set while there is more: go on with it as ``cursor``.
    """

    dry_run: bool
    done: int
    job_ids: list[int]
    refused: list[RefusedShown] = Field(description="Those it could not be done to, each with the reason.")
    left: int
    skipped: int = Field(
        description="Jobs from the cursor on that match and that starting or stopping would not change: they have no "
        "schedule, or are started or stopped already. Counted up to 10,000."
    )
    jobs: list[JobNamed] = Field(description="With dry_run: the jobs of job_ids by name.")
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Many:
    """Which jobs are meant, and how many of them at once."""

    wanted: Wanted
    maximum: int
    before: int | None
    dry_run: bool


def many_meant(
    wanted: JobsAsked,
    maximum: Annotated[
        int, Query(alias="max", ge=1, le=AT_ONCE, description="How many at most; the newest first.")
    ] = AT_ONCE,
    cursor: Cursor = None,
    every: Annotated[bool, Query(alias="all", description="Must be said where no filter is.")] = False,
    dry_run: Annotated[bool, Query(description="Only tell which; change nothing.")] = False,
) -> Many:
    """What is meant. It must be said: nobody means everything by saying nothing."""
    if wanted == Wanted() and not every:
        raise Invalid.of("say_which_jobs", field="all")
    return Many(wanted, maximum, position(cursor), dry_run)


ManyMeant = Annotated[Many, Depends(many_meant)]
Act = Callable[[int], Awaitable[Sequence[int]]]
"""Does it to a job; others it was done to with it."""
_NEEDED = ("job_followed_by", "job_handler_used", "job_needed_elsewhere")


@router.post("/start", dependencies=[needs(Permission.OPERATE)])
async def start_many(many: ManyMeant, tools: ToolsHere, caller: CallerHere) -> ManyJobsDone:
    """Let the stopped ones that have a schedule fire by it."""
    many = replace(many, wanted=replace(many.wanted, change=Change.START))
    return await _each(tools, caller, many, Permission.OPERATE, lambda one: _start(tools, caller, one))


@router.post("/stop", dependencies=[needs(Permission.OPERATE)])
async def stop_many(many: ManyMeant, tools: ToolsHere, caller: CallerHere) -> ManyJobsDone:
    """Plan no further fires of the started ones. What has begun goes on."""
    many = replace(many, wanted=replace(many.wanted, change=Change.STOP))
    return await _each(tools, caller, many, Permission.OPERATE, lambda one: _stop(tools, caller, one))


@router.post("/trigger", dependencies=[needs(Permission.OPERATE)])
async def trigger_many(
    many: ManyMeant,
    tools: ToolsHere,
    caller: CallerHere,
    idempotency_key: IdempotencyKey = None,
    orth_client: Client = None,
) -> ManyJobsDone:
    """Run each now, once. The same ``Idempotency-Key`` runs none of them a second time."""
    asked = TriggerRequest(cause_of(orth_client), idempotency_key or secrets.token_hex(16))
    return await _each(tools, caller, many, Permission.OPERATE, lambda one: _trigger(tools, caller, one, asked))


@router.post("/delete", dependencies=[needs(Permission.EDIT)])
async def delete_many(many: ManyMeant, tools: ToolsHere, caller: CallerHere) -> ManyJobsDone:
    """Delete them; refused for those that others need which are not meant, or that have an open execution."""
    wanted = many.wanted.within(caller.rights.groups(Permission.EDIT))
    return await _each(tools, caller, many, Permission.EDIT, lambda one: _delete(tools, caller, one, wanted))


@dataclass(slots=True)
class _Result:
    skipped: int
    done: list[int] = field(default_factory=list)
    refused: list[RefusedShown] = field(default_factory=list)

    async def add(self, job: Named, act: Act) -> None:
        if job.id in self.done:
            return  # with one before it
        try:
            others = await act(job.id)
        except StoreUnavailable:
            raise  # it is no fault of this job, and the next would fare no better
        except OrthError as error:
            code = {"code": None, "facts": None} | coded(error)
            self.refused.append(RefusedShown(id=job.id, job_desc=job.job_desc, detail=error.message, **code))
        else:
            self.done += [*others, job.id]


async def _each(tools: Tools, caller: Caller, many: Many, permission: Permission, act: Act) -> ManyJobsDone:
    """Do it to each that matches, where the caller may; each checks that again in its transaction."""
    wanted = many.wanted.within(caller.rights.groups(permission))
    found, left, skipped = await tools.db.read(_find, wanted, many, heard_since(tools))
    if many.dry_run:
        return _told(many, _Result(skipped, [job.id for job in found]), left, found)
    result = _Result(skipped)
    until = tools.clock.monotonic() + _LONGEST
    tried = 0
    for job in found:
        await result.add(job, act)
        tried += 1
        if tools.clock.monotonic() > until:
            break
    for loop in (*tools.planning, *tools.dispatching):
        loop.wake()
    beyond = sum(one < found[-1].id for one in result.done)
    return _told(many, result, max(0, left - beyond) + len(found) - tried, found[:tried])


def _find(connection: Connection, wanted: Wanted, many: Many, heard: int) -> tuple[list[Named], int, int]:
    """Those to do it to, how many more there are, and how many match that it would not change."""
    online = executors_online(connection, heard, wanted.groups)
    found, left = find_jobs(connection, wanted, online, before=many.before, limit=many.maximum)
    if wanted.change is None:
        return found, left, 0
    matching = count_jobs(connection, replace(wanted, change=None), online, before=many.before)
    return found, left, max(0, matching - len(found) - left)


def _told(many: Many, result: _Result, left: int, passed: list[Named]) -> ManyJobsDone:
    return ManyJobsDone(
        dry_run=many.dry_run,
        done=len(result.done),
        job_ids=result.done,
        refused=result.refused,
        left=left,
        skipped=result.skipped,
        jobs=[JobNamed(id=job.id, job_desc=job.job_desc) for job in passed] if many.dry_run else [],
        next_cursor=cursor_at(passed[-1].id) if left and passed else None,
    )


async def _start(tools: Tools, caller: Caller, job_id: int) -> Sequence[int]:
    await tools.db.tx(start_one, caller, job_id, tools.clock.now())
    return ()


async def _stop(tools: Tools, caller: Caller, job_id: int) -> Sequence[int]:
    await tools.db.tx(stop_one, caller, job_id, tools.clock.now())
    return ()


async def _delete(tools: Tools, caller: Caller, job_id: int, wanted: Wanted) -> Sequence[int]:
    """Delete a job; before it, those that need it and are meant too, wherever they are in the list."""
    gone: list[int] = []
    try:
        await tools.db.tx(delete_job, caller, job_id, None, tools.clock.now())
    except Conflict as refused:
        if refused.code not in _NEEDED:
            raise
        for one in await tools.db.read(_find_referrers, wanted, job_id, heard_since(tools)):
            with suppress(Conflict, NotFound, Unreadable):  # told when it is its turn
                await tools.db.tx(delete_job, caller, one, None, tools.clock.now())
                gone.append(one)
        await tools.db.tx(delete_job, caller, job_id, None, tools.clock.now())
    return gone


def _find_referrers(connection: Connection, wanted: Wanted, job_id: int, heard: int) -> list[int]:
    online = executors_online(connection, heard, wanted.groups)
    return find_referrers(connection, wanted, online, job_id, limit=AT_ONCE)


async def _trigger(tools: Tools, caller: Caller, job_id: int, asked: TriggerRequest) -> Sequence[int]:
    ids, new = await tools.db.tx(trigger_one, caller, job_id, asked, tools.clock.now(), tools.reach.avoid)
    if new:
        tools.events.emit(ExecutionsOpened(asked.cause, len(ids)))
    return ()
