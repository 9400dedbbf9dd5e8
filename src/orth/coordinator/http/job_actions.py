"""What is done to many jobs at once, by the filter of their list.

A request works through the jobs that match, newest first, each in a transaction of its own: what is refused for one
does not keep the others. It stops after ``max`` of them or a few seconds, and says how many are left and where to go on
(``next_cursor``); so whoever asks can show how far it is. Jobs that starting or stopping would not change are counted
as ``skipped``, and not as done or refused.

``dry_run`` does the same and undoes it, so it tells what would be done and what refused. It tries several jobs in one
transaction, few enough not to keep other writers waiting, and rolls it back.

Jobs that need each other are deleted together: before one that is needed go those that need it, where they are meant
too, in whatever part they would have come.
"""

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, Field

from orth.clock import Clock
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
from orth.errors import Conflict, Invalid, NotFound, OrthError, Unreadable
from orth.store.database import Connection
from orth.store.job_board import Change, Named, Wanted, count_jobs, executors_online, find_jobs, find_referrers

router = APIRouter(prefix="/api/v1/jobs/bulk", tags=["jobs"])

AT_ONCE = 200
_LONGEST = 3.0
"""Seconds after which a request is answered with what was done by then."""
_PREVIEWED_IN_ONE = 50
"""Jobs that a preview tries in one transaction, at most."""
_PREVIEWED_FOR = 0.1
"""Seconds after which it tries no further job in that transaction."""


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
    what else it is for and was not tried, counted up to 10,000. ``next_cursor`` is set while there is more: go on with
    it as ``cursor``.
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
    dry_run: Annotated[bool, Query(description="Try it, undo it, and tell what would be done.")] = False,
) -> Many:
    """What is meant. It must be said: nobody means everything by saying nothing."""
    if wanted == Wanted() and not every:
        raise Invalid.of("say_which_jobs", field="all")
    return Many(wanted, maximum, position(cursor), dry_run)


ManyMeant = Annotated[Many, Depends(many_meant)]


@dataclass(frozen=True, slots=True)
class Acted:
    """What came of a job: other jobs it was done to as well, and how many executions were opened."""

    others: Sequence[Named] = ()
    opened: int = 0


Act = Callable[[Connection, int], Acted]
"""Does it to a job, as part of a transaction."""
_NEEDED = ("job_followed_by", "job_handler_used", "job_needed_elsewhere")


@router.post("/start", dependencies=[needs(Permission.OPERATE)])
async def start_many(many: ManyMeant, tools: ToolsHere, caller: CallerHere) -> ManyJobsDone:
    """Let the stopped ones that have a schedule fire by it."""
    many = replace(many, wanted=replace(many.wanted, change=Change.START))
    return await _each(tools, caller, many, Permission.OPERATE, partial(_start, caller, tools.clock))


@router.post("/stop", dependencies=[needs(Permission.OPERATE)])
async def stop_many(many: ManyMeant, tools: ToolsHere, caller: CallerHere) -> ManyJobsDone:
    """Plan no further fires of the started ones. What has begun goes on."""
    many = replace(many, wanted=replace(many.wanted, change=Change.STOP))
    return await _each(tools, caller, many, Permission.OPERATE, partial(_stop, caller, tools.clock))


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

    def told(acted: Acted) -> None:
        if acted.opened:
            tools.events.emit(ExecutionsOpened(asked.cause, acted.opened))

    return await _each(tools, caller, many, Permission.OPERATE, partial(_trigger, caller, tools, asked), told)


@router.post("/delete", dependencies=[needs(Permission.EDIT)])
async def delete_many(many: ManyMeant, tools: ToolsHere, caller: CallerHere) -> ManyJobsDone:
    """Delete them; refused for those that others need which are not meant, or that have an open execution."""
    wanted = many.wanted.within(caller.rights.groups(Permission.EDIT))
    return await _each(tools, caller, many, Permission.EDIT, partial(_delete, caller, tools, wanted))


@dataclass(slots=True)
class _Result:
    skipped: int
    done: dict[int, Named] = field(default_factory=dict)
    refused: list[RefusedShown] = field(default_factory=list)

    def add(self, job: Named, outcome: Acted | OrthError) -> None:
        if isinstance(outcome, OrthError):
            code = {"code": None, "facts": None} | coded(outcome)
            self.refused.append(RefusedShown(id=job.id, job_desc=job.job_desc, detail=outcome.message, **code))
        else:
            self.done |= {one.id: one for one in (*outcome.others, job) if one.id not in self.done}


async def _each(
    tools: Tools,
    caller: Caller,
    many: Many,
    permission: Permission,
    act: Act,
    told: Callable[[Acted], None] = lambda _acted: None,
) -> ManyJobsDone:
    """Do it to each that matches, where the caller may; each checks that again in its transaction."""
    wanted = many.wanted.within(caller.rights.groups(permission))
    found, left, skipped = await tools.db.read(_find, wanted, many, heard_since(tools))
    result = _Result(skipped)
    until = tools.clock.monotonic() + _LONGEST
    tried = 0
    while tried < len(found) and (not tried or tools.clock.monotonic() <= until):
        if many.dry_run:
            some = found[tried : tried + _PREVIEWED_IN_ONE]
            outcomes = await tools.db.dry_run(_try_some, some, frozenset(result.done), act, tools.clock)
        else:
            outcomes = await tools.db.tx(_try_some, found[tried : tried + 1], frozenset(result.done), act, tools.clock)
        for job, outcome in zip(found[tried:], outcomes, strict=False):
            result.add(job, outcome)
            if isinstance(outcome, Acted) and not many.dry_run:
                told(outcome)
        tried += len(outcomes)
    if many.dry_run and many.before is not None:  # those were told by the preview of an earlier part
        result.done = {job_id: job for job_id, job in result.done.items() if job_id < many.before}
    if not many.dry_run:
        for loop in (*tools.planning, *tools.dispatching):
            loop.wake()
    beyond = sum(one < found[-1].id for one in result.done)
    return _told(many, result, max(0, left - beyond) + len(found) - tried, found[:tried])


def _try_some(
    connection: Connection, some: Sequence[Named], done: frozenset[int], act: Act, clock: Clock
) -> list[Acted | OrthError]:
    """Do it to these in one transaction, one at least: what came of each, until it has taken long. One that is refused
    changes nothing. ``done`` are those it was done to before.
    """
    until = clock.monotonic() + _PREVIEWED_FOR
    outcomes: list[Acted | OrthError] = []
    known = set(done)
    for job in some:
        outcome: Acted | OrthError = Acted()
        if job.id not in known:  # else with one before it
            try:
                with connection.begin_nested():
                    outcome = act(connection, job.id)
                known |= {job.id, *(one.id for one in outcome.others)}
            except OrthError as error:
                outcome = error
        outcomes.append(outcome)
        if clock.monotonic() > until:
            break
    return outcomes


def _find(connection: Connection, wanted: Wanted, many: Many, heard: int) -> tuple[list[Named], int, int]:
    """Those to do it to, how many more there are, and how many match that it would not change."""
    online = executors_online(connection, heard, wanted.groups)
    found, left = find_jobs(connection, wanted, online, before=many.before, limit=many.maximum)
    if wanted.change is None:
        return found, left, 0
    matching = count_jobs(connection, replace(wanted, change=None), online, before=many.before)
    return found, left, max(0, matching - len(found) - left)


def _told(many: Many, result: _Result, left: int, passed: list[Named]) -> ManyJobsDone:
    jobs = [JobNamed(id=job.id, job_desc=job.job_desc) for job in result.done.values()]
    return ManyJobsDone(
        dry_run=many.dry_run,
        done=len(result.done),
        job_ids=list(result.done),
        refused=result.refused,
        left=left,
        skipped=result.skipped,
        jobs=jobs if many.dry_run else [],
        next_cursor=cursor_at(passed[-1].id) if left and passed else None,
    )


def _start(caller: Caller, clock: Clock, connection: Connection, job_id: int) -> Acted:
    start_one(connection, caller, job_id, clock.now())
    return Acted()


def _stop(caller: Caller, clock: Clock, connection: Connection, job_id: int) -> Acted:
    stop_one(connection, caller, job_id, clock.now())
    return Acted()


def _delete(caller: Caller, tools: Tools, wanted: Wanted, connection: Connection, job_id: int) -> Acted:
    """Delete a job; before it, those that need it and are meant too, wherever they are in the list."""
    now = tools.clock.now()
    try:
        with connection.begin_nested():
            delete_job(connection, caller, job_id, None, now)
        return Acted()
    except Conflict as refused:
        if refused.code not in _NEEDED:
            raise
    online = executors_online(connection, heard_since(tools), wanted.groups)
    deleted: list[Named] = []
    for one in find_referrers(connection, wanted, online, job_id, limit=AT_ONCE):
        with suppress(Conflict, NotFound, Unreadable), connection.begin_nested():  # refused when it is its turn
            delete_job(connection, caller, one.id, None, now)
            deleted.append(one)
    delete_job(connection, caller, job_id, None, now)
    return Acted(deleted)


def _trigger(caller: Caller, tools: Tools, asked: TriggerRequest, connection: Connection, job_id: int) -> Acted:
    ids, new = trigger_one(connection, caller, job_id, asked, tools.clock.now(), tools.reach.avoid)
    return Acted(opened=len(ids) if new else 0)
