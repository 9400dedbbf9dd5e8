"""Batches: run a span of a job's schedule, look at it beforehand, follow it, cancel it."""

import secrets
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, Field, StrictBool, StrictInt

from orth.clock import iso
from orth.coordinator.batches import BatchRequest, Survey, cancel_batch, start_batch, survey_batch, was_started
from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.jobs import GivenBody, IdempotencyKey, JobId
from orth.coordinator.http.object_checks import check_batch, check_held_job, check_job
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.texts import Line
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.coordinator.scripting import check_param
from orth.domain.access import Permission
from orth.domain.audit import Deed
from orth.domain.batches import Batch, BatchState
from orth.store.audit import record
from orth.store.batches import Progress, get_batch, hold_batch, list_batches, progress_of
from orth.store.database import Connection
from orth.store.jobs import get_job

router = APIRouter(prefix="/api/v1", tags=["batches"])

BatchId = Annotated[int, Path(ge=1, le=2**31 - 1)]


class BatchBody(GivenBody):
    """The span [start, end) of the job's schedule, and how to run it."""

    start: Line = Field(min_length=1, max_length=64, description="First instant; a local time is in the job's zone.")
    end: Line = Field(min_length=1, max_length=64, description="Instant after the last.")
    at_once: StrictInt = Field(1, ge=1, le=1000, description="Fires that may be open together.")
    skip_done: StrictBool = Field(False, description="Leave out fires that have succeeded or are running.")
    preview: StrictBool = Field(False, description="Only count, and show the first and the last fires.")
    max: StrictInt | None = Field(None, ge=1, le=2**31 - 1, description="Refuse a span with more fires than this.")

    def request(self, key: str, caller: Caller, limit: int) -> BatchRequest:
        return BatchRequest(
            key=key,
            start=self.start,
            end=self.end,
            limit=limit if self.max is None else min(limit, self.max),
            at_once=self.at_once,
            param=self.executor_param,
            addresses=tuple(self.address_list),
            skip_done=self.skip_done,
            actor=caller.name,
        )


class Preview(BaseModel):
    """What a batch would run: how many fires, the first and the last of them. ``refused`` are left out by the calendar,
    ``done`` because ``skip_done`` was asked for.
    """

    start: str
    end: str
    count: int
    first: list[str]
    last: list[str]
    refused: int
    done: int


class Started(BaseModel):
    batch_id: int
    total: int


class BatchShown(BaseModel):
    """A batch. ``total`` and ``opened`` count fires; the others count executions, of which a broadcast has one for each
    shard.
    """

    id: int
    job_id: int
    state: BatchState
    reason: str
    start_time: str
    end_time: str
    total: int
    opened: int
    running: int
    succeeded: int
    failed: int
    at_once: int
    skip_done: bool
    executor_param: str | None
    address_list: list[str]
    actor: str
    created_at: str
    changed_at: str


@router.post(
    "/jobs/{job_id}/trigger-batch",
    status_code=202,
    dependencies=[needs(Permission.OPERATE)],
    response_model=None,
    responses={202: {"model": Started}, 200: {"model": Preview}},
)
async def trigger_batch(
    job_id: JobId,
    body: BatchBody,
    tools: ToolsHere,
    caller: CallerHere,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> Started | Preview:
    """Run every fire of the schedule in [start, end), oldest first; with ``preview`` only say which. The same
    ``Idempotency-Key`` with the same body is the same batch.
    """
    asked = body.request(idempotency_key or secrets.token_hex(16), caller, tools.settings.coordinator.batch_limit)
    if body.preview:
        response.status_code = 200
        return _preview(await tools.db.read(_survey, caller, job_id, asked))
    batch = await tools.db.tx(_start, caller, job_id, asked, tools.clock.now())
    tools.batches.wake()
    response.headers["Location"] = f"/api/v1/batches/{batch.id}"
    return Started(batch_id=batch.id, total=batch.total)


@router.get("/batches", dependencies=[needs(Permission.VIEW)])
async def batches(
    tools: ToolsHere,
    caller: CallerHere,
    limit: Limit = 50,
    cursor: Cursor = None,
    job_id: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    state: BatchState | None = None,
) -> Page[BatchShown]:
    """Batches, newest first."""
    seen = caller.rights.groups(Permission.VIEW)
    rows, progress = await tools.db.read(
        _with_progress, before=position(cursor), limit=limit + 1, job_id=job_id, state=state, groups=seen
    )
    return Page[BatchShown].model_validate(
        page(rows, limit, lambda batch: batch.id, lambda batch: _shown(batch, progress.get(batch.id, Progress())))
    )


@router.get("/batches/{batch_id}", dependencies=[needs(Permission.VIEW)])
async def batch(batch_id: BatchId, tools: ToolsHere, caller: CallerHere) -> BatchShown:
    return await _show(tools, caller, batch_id)


@router.post("/batches/{batch_id}/cancel", dependencies=[needs(Permission.OPERATE)])
async def cancel(batch_id: BatchId, tools: ToolsHere, caller: CallerHere) -> BatchShown:
    """Open nothing more of it. What is open goes on. Cancelling a cancelled batch changes nothing."""
    await tools.db.tx(_cancel, caller, batch_id, tools.clock.now())
    return await _show(tools, caller, batch_id)


def _survey(connection: Connection, caller: Caller, job_id: int, asked: BatchRequest) -> Survey:
    check_job(connection, caller, Permission.OPERATE, job_id)
    return survey_batch(connection, job_id, asked)


def _start(connection: Connection, caller: Caller, job_id: int, asked: BatchRequest, now: int) -> Batch:
    check_held_job(connection, caller, Permission.OPERATE, job_id)
    check_param(connection, get_job(connection, job_id), asked.param, caller.actor, caller.rights)
    known = was_started(connection, job_id, asked)
    batch = start_batch(connection, job_id, asked, now)
    if not known:
        after = {"job": job_id, "start": iso(batch.start_time), "end": iso(batch.end_time), "total": batch.total}
        _tell(connection, caller, "batch.start", batch, now, after)
    return batch


def _cancel(connection: Connection, caller: Caller, batch_id: int, now: int) -> None:
    check_batch(connection, caller, Permission.OPERATE, batch_id)
    batch = hold_batch(connection, batch_id)
    cancel_batch(connection, batch_id, caller.name, now)
    if batch.state is BatchState.RUNNING:
        _tell(connection, caller, "batch.cancel", batch, now, {"job": batch.job_id, "opened": batch.opened})


def _tell(
    connection: Connection, caller: Caller, action: str, batch: Batch, now: int, after: dict[str, object]
) -> None:
    deed = Deed(action, "batch", str(batch.id), batch.job_group, after=after)
    record(connection, caller.actor, deed, now)


def _with_progress(connection: Connection, /, **asked: Any) -> tuple[Sequence[Batch], dict[int, Progress]]:
    rows = list_batches(connection, **asked)
    return rows, progress_of(connection, [batch.id for batch in rows])


def _one(connection: Connection, caller: Caller, batch_id: int) -> tuple[Batch, Progress]:
    check_batch(connection, caller, Permission.VIEW, batch_id)
    return get_batch(connection, batch_id), progress_of(connection, [batch_id]).get(batch_id, Progress())


async def _show(tools: Tools, caller: Caller, batch_id: int) -> BatchShown:
    return BatchShown(**_shown(*await tools.db.read(_one, caller, batch_id)))


def _preview(survey: Survey) -> Preview:
    return Preview(
        start=iso(survey.start),
        end=iso(survey.end),
        count=survey.count,
        first=[iso(fire) for fire in survey.first],
        last=[iso(fire) for fire in survey.last],
        refused=survey.refused,
        done=survey.done,
    )


def _shown(batch: Batch, progress: Progress) -> dict[str, Any]:
    times = ("start_time", "end_time", "created_at", "changed_at")
    same = ("id", "job_id", "state", "reason", "total", "opened", "at_once", "skip_done", "executor_param", "actor")
    return {
        **{name: getattr(batch, name) for name in same},
        **{name: iso(getattr(batch, name)) for name in times},
        "address_list": list(batch.addresses),
        "running": progress.running,
        "succeeded": progress.succeeded,
        "failed": progress.failed,
    }
