"""Executions: what ran and how it ended. What they wrote is in ``logs``."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, BackgroundTasks, Path, Query
from pydantic import BaseModel, Field

from orth.clock import iso
from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.execution_filter import FilterAsked
from orth.coordinator.http.instants import DURATION, shown_instant
from orth.coordinator.http.job_names import named
from orth.coordinator.http.object_checks import check_execution
from orth.coordinator.http.paging import Limit, LongCursor, Page, cursor_at, cursor_of, numbers, position
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.coordinator.killing import Killing, may_start_yet
from orth.coordinator.why import Fact, NextCode, Patience, Record, Step, explain
from orth.domain.access import Permission
from orth.domain.executions import TEST_KEY, Execution, Phase, Status, Turn, is_cancelled, ran_for, status_of, tag
from orth.domain.nodes import StillWorking
from orth.errors import NotFound
from orth.store.blocking import blocking_execution
from orth.store.cluster_history import hands_of
from orth.store.database import Connection
from orth.store.execution_filters import Filter
from orth.store.execution_lists import Found, Listed, Stretch, find_longest, look
from orth.store.executions import UnreadableExecution, find_execution, ids_of_trigger, look_up
from orth.store.executor_entries import still_working
from orth.store.fires import fire_of
from orth.store.group_scopes import group_of_batch, groups_of_jobs
from orth.store.groups import groups_by_id
from orth.store.jobs import jobs_by_id
from orth.store.notes import notes_of
from orth.store.queue_executors import count_takers
from orth.store.statistics import earliest_start
from orth.store.turns import turns_of

router = APIRouter(prefix="/api/v1/executions", tags=["executions"])

ExecutionId = Annotated[int, Path(ge=1, le=2**63 - 1)]

_FIELDS = tuple(field.name for field in fields(Execution))
_LOOK_FOR = 0.08
"""Seconds after which a page is answered with what was found by then."""
_FIRST_WINDOW, _LARGEST_WINDOW = 250, 4_000
"""Rows looked at between two glances at the clock. Those of one job lie far apart in the database: each is slow."""


_WAITED = 3_600_000
"""So long, in ms, the longest that ended since then may have waited before it ran, or its result afterwards."""
_SORTED = 5_000
"""Rows that a list by duration looks at."""


class Sort(StrEnum):
    """What is first in a list of executions."""

    OPENED = "opened"
    DURATION = "duration"


class ExecutionShown(BaseModel):
    """One execution. ``status`` is derived from the two codes; ``phase`` says where an open one is."""

    id: int
    job_id: int
    job_desc: str | None = Field(
        None, description="The name of its job now; null when that was removed, or moved to where one may not see it."
    )
    job_tags: list[str] = Field(description="The tags of its job now, where it has a name.")
    job_group: int
    cause: str
    trigger_code: int
    handle_code: int
    status: Status
    tag: str
    phase: str
    queue_position: int | None = Field(
        None,
        description="Which it is among those of its job that wait on its executor; null when it does not wait, as far "
        "as is known.",
    )
    schedule_time: str | None
    trigger_time: str
    dispatch_time: str | None = Field(
        description="When its executor took it, or when it was offered in a queue; null if not, or if nobody noted it."
    )
    start_time: str | None
    handle_time: str | None = Field(description="When its end was written down, which may be later than it ended.")
    duration_ms: int | None = Field(description=DURATION)
    executor_address: str | None
    queue: str | None = Field(None, description="Where it was offered, if its job has a queue.")
    executor_handler: str
    executor_param: str
    log_level: str | None = Field(None, description="Asked for with its trigger; null: as its job has it.")
    shard_index: int
    shard_total: int
    attempt: int
    executor_fail_retry_count: int
    trigger_msg: str | None
    handle_msg: str | None
    reason_code: str | None
    cancelled: bool = Field(
        False,
        description="It was taken back before it began, because its job was stopped or changed. Its codes and its "
        "status are those of a failure. It counts as none, and lists have it under the status cancelled.",
    )
    not_before: str | None
    batch_id: int | None
    test: bool = Field(False, description="It tries code that is not its job's; nothing follows from how it ends.")
    owner_node: str | None
    sent_by: str | None = Field(
        None, description="The coordinator that sent it last; null if none did, or where that is not remembered."
    )
    late_code: int | None = Field(description="What was reported first after it had ended otherwise; not applied.")
    alarm_status: int = Field(
        description="Its alarm: 0 not looked at, -1 under way, 1 nothing to tell, 2 told by all channels, 3 not by all."
    )
    unreadable: str | None = Field(
        None, description="What of it this version does not know. It is shown as it is stored, and nobody works on it."
    )


class ProgressShown(BaseModel):
    """How far an execution is, as it says itself (``ctx.progress``, ``ctx.track``)."""

    done: float
    total: float | None = Field(description="Null when nobody knows how much there is.")
    message: str
    eta: float | None = Field(description="Seconds that are left if it goes on as it has gone.")


class LeftBehindShown(BaseModel):
    """A handler that could not be ended: its execution has a result, and it still works."""

    address: str = Field(description="The executor where it works.")
    since: str = Field(description="When the executor gave up ending it, by its own clock.")


class ExecutionDetail(ExecutionShown):
    """One execution, with what is looked up for it alone."""

    left_behind: LeftBehindShown | None = Field(
        None, description="As long as its handler works on although it has ended, as its executor says."
    )

    progress: ProgressShown | None = Field(
        None, description="While it runs and has said so; null as well when its executor cannot be asked in time."
    )


class ExecutionsPage(Page[ExecutionShown]):
    """Executions. ``looked_to`` is when the last one was opened that was looked at; null at the end of the history."""

    looked_to: str | None


class StepShown(BaseModel):
    """One thing that happened. ``code`` is for programs, with the facts of ``text`` beside it; ``at`` is null where the
    time was not kept.
    """

    at: str | None
    code: str
    text: str
    facts: dict[str, Fact]


class WhyShown(BaseModel):
    """Why an execution is where it is. ``steps`` are in order; ``next`` says what to expect, ``next_code`` and
    ``next_facts`` the same for programs; ``words`` are what was said of its end beyond ``reason_code`` and its facts.
    """

    id: int
    status: Status
    tag: str
    cancelled: bool = Field(False, description="It was taken back before it began.")
    phase: str
    reason_code: str | None
    reason_facts: dict[str, Fact]
    summary: str
    words: str | None
    steps: list[StepShown]
    next: str
    next_code: NextCode
    next_facts: dict[str, Fact]


class KilledShown(BaseModel):
    """What came of a kill. ``ended`` are the executions it closed: more than one where an executor can end a job only
    as a whole. ``told`` is false when nobody had it, or when the executor could not be told and may still be working.
    """

    id: int
    status: Status
    tag: str
    told: bool
    message: str
    ended: list[int]


@router.get("", dependencies=[needs(Permission.VIEW)])
async def executions(
    tools: ToolsHere,
    caller: CallerHere,
    wanted: FilterAsked,
    limit: Limit = 50,
    cursor: LongCursor = None,
    sort: Annotated[
        Sort,
        Query(
            description=f"opened: newest first; duration: the longest first, of the newest {_SORTED:,} that an index "
            "finds, which begin at looked_to; what runs counts with its time so far."
        ),
    ] = Sort.OPENED,
) -> ExecutionsPage:
    """Executions, newest first. A page is answered in bounded time: what is rare in a long history may take several
    pages, some of them empty. Go on while there is a ``next_cursor``.
    """
    seen = await tools.db.read(_seen, caller, wanted)
    if sort is Sort.DURATION:
        return await _longest(tools, caller, seen, cursor, limit)
    if seen.ended_since is not None and seen.since is None:  # else history is looked through to its beginning
        earliest = await tools.db.read(earliest_start, seen.ended_since)
        seen = replace(seen, since=earliest - _WAITED)
    found = await _look(tools, seen, position(cursor), limit)
    return ExecutionsPage(
        items=[ExecutionShown(**one) for one in await _all_shown(tools, caller, found.items)],
        next_cursor=None if found.reached is None else cursor_at(found.reached),
        looked_to=shown_instant(found.reached_at),
    )


@router.get("/{execution_id}", dependencies=[needs(Permission.VIEW)])
async def execution(execution_id: ExecutionId, tools: ToolsHere, caller: CallerHere) -> ExecutionDetail:
    found = await tools.db.read(_find, caller, execution_id)
    told = None if isinstance(found, UnreadableExecution) else await tools.progress.of(found)
    (shown,) = await _all_shown(tools, caller, [found])
    left = None if isinstance(found, UnreadableExecution) else await tools.db.read(_still_working, found)
    return ExecutionDetail(
        **shown,
        progress=None if told is None else ProgressShown(**told.model_dump()),
        left_behind=None if left is None else LeftBehindShown(address=left.address, since=iso(left.since)),
    )


@router.get("/{execution_id}/why", dependencies=[needs(Permission.VIEW)])
async def why(execution_id: ExecutionId, tools: ToolsHere, caller: CallerHere) -> WhyShown:
    """The story of an execution: its cause, whom it went to, what went wrong, and what happens next."""
    record: Record = await tools.db.read(_record, caller, execution_id, tools.clock.now())
    own, one = tools.settings.coordinator, record.execution
    bounds = (own.dispatch_timeout, own.unknown_bound, own.lost_after, own.offer_bound)
    told = explain(record, Patience(*(span.total_seconds() for span in bounds)), tools.clock.now())
    return WhyShown(
        id=one.id,
        status=one.status,
        tag=one.tag,
        cancelled=one.cancelled,
        phase=one.phase,
        reason_code=one.reason_code,
        reason_facts=dict(told.reason_facts),
        summary=told.summary,
        words=told.words,
        steps=[
            StepShown(at=shown_instant(step.at), code=step.code, text=step.text, facts=dict(step.facts))
            for step in told.steps
        ],
        next=told.next,
        next_code=told.following.code,
        next_facts=dict(told.following.facts),
    )


@router.post("/{execution_id}/kill", status_code=202, dependencies=[needs(Permission.OPERATE)])
async def kill(execution_id: ExecutionId, tools: ToolsHere, caller: CallerHere, later: BackgroundTasks) -> KilledShown:
    """End an execution now, and tell its executor. One that has ended stays as it is: 409."""
    await tools.db.read(check_execution, caller, Permission.OPERATE, execution_id)
    killing = Killing(
        tools.db, tools.link, tools.clock, tools.events, token=tools.access_token, offering=tools.offering
    )
    killed = await killing.kill(execution_id, caller.actor)
    closed, one = killed.closed, killed.closed.execution
    if may_start_yet(closed):
        later.add_task(killing.tell_again, closed, tools.settings.coordinator.dispatch_timeout.total_seconds())
    for loop in (*tools.planning, tools.batches):  # a delay may have begun, and a batch may have room
        loop.wake()
    return KilledShown(
        id=one.id,
        status=one.status,
        tag=one.tag,
        told=killed.told,
        message=killed.message,
        ended=[finished.execution.id for finished in closed.finished],
    )


def _record(connection: Connection, caller: Caller, execution_id: int, now: int) -> Record:
    check_execution(connection, caller, Permission.VIEW, execution_id)
    found = find_execution(connection, execution_id)
    if found is None:
        raise NotFound("execution", execution_id)
    planned = found.trigger_key.startswith("fire:") and found.schedule_time is not None
    job = jobs_by_id(connection, {found.job_id}).get(found.job_id)
    return Record(
        found,
        job if job is not None and caller.rights.allows(Permission.VIEW, job.job_group) else None,
        fire_of(connection, found.job_id, found.schedule_time or 0) if planned else None,
        [Step(note.code, note.message, note.at) for note in notes_of(connection, execution_id)],
        next(iter(ids_of_trigger(connection, found.job_id, f"retry:{found.id}")), None),
        count_takers(connection, found.queue) if found.queue is not None and found.phase is Phase.OFFERED else 0,
        _still_working(connection, found),
        _app_name(connection, found.job_group),
        turns_of(connection, [found], now).get(found.id),
        hands_of(connection, {found.id}).get(found.id, ()),
        blocking_execution(connection, found, now),
    )


def _app_name(connection: Connection, group_id: int) -> str | None:
    group = groups_by_id(connection, {group_id}).get(group_id)
    return None if group is None else group.app_name


def _still_working(connection: Connection, one: Execution) -> StillWorking | None:
    if one.phase is not Phase.ENDED or one.status is Status.SUCCESS or one.incarnation is None:
        return None
    return still_working(connection, one.id, one.incarnation)


async def _look(tools: Tools, wanted: Filter, before: int | None, limit: int) -> Found:
    """As many as a page has room for, or as can be found in time; the next look is expected to take as long as its
    window is large.
    """
    items: list[Listed] = []
    window = _FIRST_WINDOW
    began = now = tools.clock.monotonic()
    while True:
        part = await tools.db.read(look, wanted, before=before, limit=limit - len(items), window=window)
        items += part.items
        before = part.reached
        took, now = tools.clock.monotonic() - now, tools.clock.monotonic()
        following = min(2 * window, _LARGEST_WINDOW) if took < _LOOK_FOR / 8 else window
        if before is None or len(items) >= limit or now - began + took * following / window >= _LOOK_FOR:
            return replace(part, items=items)
        window = following


async def _longest(tools: Tools, caller: Caller, wanted: Filter, cursor: str | None, limit: int) -> ExecutionsPage:
    stretch = None if cursor is None else Stretch(*numbers(cursor, len(fields(Stretch))))
    now = tools.clock.now()
    found = await tools.db.read(find_longest, wanted, stretch=stretch, limit=limit, window=_SORTED, now=now)
    rest = found.rest
    return ExecutionsPage(
        items=[ExecutionShown(**one) for one in await _all_shown(tools, caller, found.items)],
        next_cursor=None if rest is None else cursor_of(*(str(getattr(rest, one.name)) for one in fields(rest))),
        looked_to=None if found.whole else shown_instant(found.since),
    )


def _seen(connection: Connection, caller: Caller, wanted: Filter) -> Filter:
    """The filter, kept to what the caller may see. Of a job or a batch that may not be seen nothing is looked for: how
    long that takes, and how far it gets, would tell of it.
    """
    groups = caller.rights.groups(Permission.VIEW)
    if groups is None:
        return wanted
    job_id, batch_id = wanted.job_id, wanted.batch_id
    if job_id and groups_of_jobs(connection, [job_id]).get(job_id) not in groups:
        return wanted.within(frozenset())
    if batch_id and group_of_batch(connection, batch_id) not in groups:
        return wanted.within(frozenset())
    return wanted.within(groups)


def _find(connection: Connection, caller: Caller, execution_id: int) -> Listed:
    check_execution(connection, caller, Permission.VIEW, execution_id)
    found = look_up(connection, execution_id)
    if found is None:
        raise NotFound("execution", execution_id)
    return found


async def _all_shown(tools: Tools, caller: Caller, listed: Sequence[Listed]) -> list[dict[str, Any]]:
    """Executions as they are shown, with what is looked up for all of them at once."""
    shown = await named(tools, caller, [_shown(one) for one in listed])
    taken = [one for one in listed if isinstance(one, Execution) and one.phase is Phase.DISPATCHED]
    turns: Mapping[int, Turn] = await tools.db.read(turns_of, taken, tools.clock.now()) if taken else {}
    return [one | {"queue_position": turns[one["id"]].position if one["id"] in turns else None} for one in shown]


def _shown(one: Listed) -> dict[str, Any]:
    if isinstance(one, UnreadableExecution):
        stored, unreadable = one.values, one.reason
    else:
        stored, unreadable = {name: getattr(one, name) for name in _FIELDS}, None
    values = {name: value for name, value in stored.items() if name in ExecutionShown.model_fields}
    codes = values["trigger_code"], values["handle_code"]
    cancelled = is_cancelled(stored["reason_code"], stored["start_time"])
    values["dispatch_time"] = stored["dispatch_time"] or stored["offered_at"]
    times = ("schedule_time", "trigger_time", "dispatch_time", "start_time", "handle_time", "not_before")
    values["duration_ms"] = ran_for(stored["duration_ms"], stored["start_time"], stored["handle_time"])
    values |= {name: shown_instant(values[name]) for name in times}
    return values | {
        "status": status_of(*codes),
        "tag": tag(*codes, cancelled=cancelled),
        "executor_fail_retry_count": stored["retries_left"],
        "cancelled": cancelled,
        "test": stored["trigger_key"].startswith(TEST_KEY),
        "unreadable": unreadable,
    }
