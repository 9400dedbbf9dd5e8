"""Executions: what ran, how it ended, and what it wrote."""

from typing import Annotated, Any

from fastapi import APIRouter, BackgroundTasks, Path, Query
from pydantic import BaseModel

from orth.coordinator.http.auth import CallerHere, ToolsHere
from orth.coordinator.http.instants import instant, shown_instant
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.tools import Tools
from orth.coordinator.killing import Killing, may_start_yet
from orth.coordinator.why import Patience, Record, Step, explain
from orth.domain.executions import Execution, Status, tag
from orth.domain.jobs import GroupDialect
from orth.errors import InvalidMessage, NotFound, Unavailable
from orth.store.database import Connection
from orth.store.executions import find_execution, ids_of_trigger, list_executions
from orth.store.fires import fire_of
from orth.store.groups import groups_by_id
from orth.store.jobs import jobs_by_id
from orth.store.notes import notes_of
from orth.wire.messages import LogPage, LogRequest

router = APIRouter(prefix="/api/v1/executions", tags=["executions"])

ExecutionId = Annotated[int, Path(ge=1, le=2**63 - 1)]


class ExecutionShown(BaseModel):
    """One execution. ``status`` is derived from the two codes; ``phase`` says where an open one is."""

    id: int
    job_id: int
    job_group: int
    cause: str
    trigger_code: int
    handle_code: int
    status: Status
    tag: str
    phase: str
    schedule_time: str | None
    trigger_time: str
    start_time: str | None
    handle_time: str | None
    executor_address: str | None
    executor_handler: str
    executor_param: str
    shard_index: int
    shard_total: int
    attempt: int
    executor_fail_retry_count: int
    trigger_msg: str | None
    handle_msg: str | None
    reason_code: str | None
    not_before: str | None
    batch_id: int | None
    owner_node: str | None


class StepShown(BaseModel):
    """One thing that happened. ``code`` is for programs; ``at`` is null where the time was not kept."""

    at: str | None
    code: str
    text: str


class WhyShown(BaseModel):
    """Why an execution is where it is. ``steps`` are in order; ``next`` says what to expect."""

    id: int
    status: Status
    tag: str
    phase: str
    reason_code: str | None
    summary: str
    steps: list[StepShown]
    next: str


class LogShown(BaseModel):
    """Lines ``from_line`` to ``to_line``, both included and counted from 1; ``to_line`` is ``from_line - 1`` when there
    are none. Ask again from ``to_line + 1`` until ``end``.
    """

    from_line: int
    to_line: int
    content: str
    end: bool


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


@router.get("")
async def executions(
    tools: ToolsHere,
    limit: Limit = 50,
    cursor: Cursor = None,
    job_id: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    status: Status | None = None,
    batch_id: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    since: Annotated[
        str | None, Query(max_length=40, description="An instant (RFC 3339) or an age such as 2h.")
    ] = None,
) -> Page[ExecutionShown]:
    """Executions, newest first."""
    rows = await tools.db.read(
        list_executions,
        before=position(cursor),
        limit=limit + 1,
        job_id=job_id,
        status=status,
        batch_id=batch_id,
        since=None if since is None else instant(since, tools.clock.now(), "since"),
    )
    return Page[ExecutionShown].model_validate(page(rows, limit, lambda row: row.id, _shown))


@router.get("/{execution_id}")
async def execution(execution_id: ExecutionId, tools: ToolsHere) -> ExecutionShown:
    return ExecutionShown(**_shown(await _find(tools, execution_id)))


@router.get("/{execution_id}/why")
async def why(execution_id: ExecutionId, tools: ToolsHere) -> WhyShown:
    """The story of an execution: its cause, whom it went to, what went wrong, and what happens next."""
    record: Record = await tools.db.read(_record, execution_id)
    own, one = tools.settings.coordinator, record.execution
    bounds = (own.dispatch_timeout, own.unknown_bound, own.lost_after)
    told = explain(record, Patience(*(span.total_seconds() for span in bounds)), tools.clock.now())
    return WhyShown(
        id=one.id,
        status=one.status,
        tag=tag(one.trigger_code, one.handle_code),
        phase=one.phase,
        reason_code=one.reason_code,
        summary=told.summary,
        steps=[StepShown(at=shown_instant(step.at), code=step.code, text=step.text) for step in told.steps],
        next=told.next,
    )


@router.get("/{execution_id}/log")
async def log(
    execution_id: ExecutionId,
    tools: ToolsHere,
    from_line: Annotated[int, Query(alias="from", ge=1, le=2**31 - 1)] = 1,
) -> LogShown:
    """A page of the execution's log, read from its executor."""
    found = await _find(tools, execution_id)
    if found.executor_address is None:
        return _no_lines(from_line, found.trigger_msg or "", end=found.status.terminal)
    asked = LogRequest(log_id=found.id, log_date_time=found.trigger_time, from_line_num=from_line)
    try:
        got = await _read_log(tools, found, asked)
    except InvalidMessage as error:
        raise Unavailable(f"{found.executor_address} answered with something that is not a log: {error}") from None
    # Foreign executors call every end of the file the end, or a file that is not there yet: it counts once it is over.
    ended = found.status.terminal or (got.end and found.incarnation is not None)
    if got.to_line < from_line:
        return _no_lines(from_line, got.content, end=ended)
    return LogShown(from_line=from_line, to_line=got.to_line, content=got.content, end=got.end and ended)


@router.post("/{execution_id}/kill", status_code=202)
async def kill(execution_id: ExecutionId, tools: ToolsHere, caller: CallerHere, later: BackgroundTasks) -> KilledShown:
    """End an execution now, and tell its executor. One that has ended stays as it is: 409."""
    killing = Killing(tools.db, tools.link, tools.clock, tools.events, token=tools.access_token)
    killed = await killing.kill(execution_id, caller.username)
    closed, one = killed.closed, killed.closed.execution
    if may_start_yet(closed):
        later.add_task(killing.tell_again, closed, tools.settings.coordinator.dispatch_timeout.total_seconds())
    for loop in (*tools.planning, tools.batches):  # a delay may have begun, and a batch may have room
        loop.wake()
    return KilledShown(
        id=one.id,
        status=one.status,
        tag=tag(one.trigger_code, one.handle_code),
        told=killed.told,
        message=killed.message,
        ended=[finished.execution.id for finished in closed.finished],
    )


async def _read_log(tools: Tools, found: Execution, asked: LogRequest) -> LogPage:
    assert found.executor_address is not None
    group = (await tools.db.read(groups_by_id, {found.job_group})).get(found.job_group)
    return await tools.link.log(
        found.executor_address,
        asked,
        token=tools.access_token,
        app_name=group.app_name if group else "",
        dialect=group.dialect if group else GroupDialect.AUTO,
    )


def _record(connection: Connection, execution_id: int) -> Record:
    found = find_execution(connection, execution_id)
    if found is None:
        raise NotFound("execution", execution_id)
    planned = found.trigger_key.startswith("fire:") and found.schedule_time is not None
    return Record(
        found,
        jobs_by_id(connection, {found.job_id}).get(found.job_id),
        fire_of(connection, found.job_id, found.schedule_time or 0) if planned else None,
        [Step(note.code, note.message, note.at) for note in notes_of(connection, execution_id)],
        next(iter(ids_of_trigger(connection, found.job_id, f"retry:{found.id}")), None),
    )


def _no_lines(from_line: int, note: str, *, end: bool) -> LogShown:
    """A page without lines. The note that says why comes with the end only: before, it would come again and again."""
    return LogShown(from_line=from_line, to_line=from_line - 1, content=note if end else "", end=end)


async def _find(tools: Tools, execution_id: int) -> Execution:
    found = await tools.db.read(find_execution, execution_id)
    if found is None:
        raise NotFound("execution", execution_id)
    return found


def _shown(one: Execution) -> dict[str, Any]:
    values = {name: getattr(one, name) for name in ExecutionShown.model_fields if hasattr(one, name)}
    times = ("schedule_time", "trigger_time", "start_time", "handle_time", "not_before")
    values |= {name: shown_instant(values[name]) for name in times}
    return values | {
        "tag": tag(one.trigger_code, one.handle_code),
        "executor_fail_retry_count": one.retries_left,
    }
