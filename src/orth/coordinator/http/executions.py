"""Executions: what ran, how it ended, and what it wrote."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from orth.coordinator.http.auth import ToolsHere
from orth.coordinator.http.instants import instant, shown_instant
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.tools import Tools
from orth.domain.executions import Execution, Status, tag
from orth.errors import InvalidMessage, NotFound, Unavailable
from orth.store.executions import find_execution, list_executions
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
    owner_node: str | None


class LogShown(BaseModel):
    """Lines ``from_line`` to ``to_line``, both included and counted from 1; ``to_line`` is ``from_line - 1`` when there
    are none. Ask again from ``to_line + 1`` until ``end``.
    """

    from_line: int
    to_line: int
    content: str
    end: bool


@router.get("")
async def executions(
    tools: ToolsHere,
    limit: Limit = 50,
    cursor: Cursor = None,
    job_id: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    status: Status | None = None,
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
        since=None if since is None else instant(since, tools.clock.now(), "since"),
    )
    return Page[ExecutionShown].model_validate(page(rows, limit, lambda row: row.id, _shown))


@router.get("/{execution_id}")
async def execution(execution_id: ExecutionId, tools: ToolsHere) -> ExecutionShown:
    return ExecutionShown(**_shown(await _find(tools, execution_id)))


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
        got: LogPage = await tools.link.log(found.executor_address, asked, token=tools.access_token)
    except InvalidMessage as error:
        raise Unavailable(f"{found.executor_address} answered with something that is not a log: {error}") from None
    if got.to_line < from_line:
        return _no_lines(from_line, got.content, end=got.end or found.status.terminal)
    return LogShown(from_line=from_line, to_line=got.to_line, content=got.content, end=got.end)


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
    times = ("schedule_time", "trigger_time", "start_time", "handle_time")
    values |= {name: shown_instant(values[name]) for name in times}
    return values | {
        "tag": tag(one.trigger_code, one.handle_code),
        "executor_fail_retry_count": one.retries_left,
    }
