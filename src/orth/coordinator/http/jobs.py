"""Jobs: define, edit, start, stop, trigger, and ask when they fire next."""

import secrets
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Path, Query, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from orth.clock import iso
from orth.coordinator.defining import with_schedule
from orth.coordinator.facts import ExecutionsOpened
from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.coming_fires import ComingFire, coming_fires
from orth.coordinator.http.job_body import (
    JobBody,
    JobShown,
    UnreadableShown,
    body_of,
    listed,
    shown,
    unreadable_shown,
)
from orth.coordinator.http.job_deeds import (
    create_job,
    delete_job,
    edit_job,
    etag_of,
    start_one,
    stop_one,
    trigger_one,
)
from orth.coordinator.http.object_checks import check_job
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.texts import Prose
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.coordinator.http.versions import IfMatch
from orth.coordinator.triggering import Request as TriggerRequest
from orth.domain.access import Permission, narrowed
from orth.domain.executions import LogLevel
from orth.domain.jobs import Job, TriggerCause
from orth.domain.nodes import normal_address
from orth.domain.schedules import Schedule
from orth.errors import InvalidValue
from orth.store.database import Connection
from orth.store.fires import list_fires
from orth.store.jobs import UnreadableJob, get_job, list_jobs

router = APIRouter(prefix="/api/v1/jobs", tags=["jobs"])

JobId = Annotated[int, Path(ge=1, le=2**31 - 1)]
IdempotencyKey = Annotated[str | None, Header(min_length=1, max_length=128)]
Client = Annotated[
    str | None, Header(alias="Orth-Client", max_length=64, description="console or cli when a person is calling.")
]
AllowUnknown = Annotated[bool, Query(description="Accept a handler no executor has announced yet.")]

_ADDRESSES_LIMIT = 1000
_PEOPLE = ("console", "cli")


class GivenBody(BaseModel):
    """What may be given to executions that somebody asks for."""

    model_config = ConfigDict(extra="forbid")

    executor_param: Prose | None = Field(None, max_length=65_535)
    address_list: list[str] = Field(default_factory=list, max_length=50)

    @field_validator("address_list", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("address_list")
    @classmethod
    def _bounded(cls, value: list[str]) -> list[str]:
        addresses = [normal_address(address) for address in value]
        if len(",".join(addresses)) > _ADDRESSES_LIMIT:
            raise InvalidValue.of("field_too_long_in_all", limit=_ADDRESSES_LIMIT)
        return addresses


class TriggerBody(GivenBody):
    """What a manual trigger may change for this one execution."""

    log_level: LogLevel | None = Field(
        None, description="From this level on its log has what is logged, retries included; null: as its job has it."
    )


class Triggered(BaseModel):
    execution_ids: list[int]


class NextFires(BaseModel):
    timezone: str
    items: list[ComingFire]


class FireShown(BaseModel):
    fire_time: str
    last_time: str
    fires: int | None
    decision: str
    reason: str
    job_version: int


@router.get("", dependencies=[needs(Permission.VIEW)])
async def jobs(
    tools: ToolsHere,
    caller: CallerHere,
    limit: Limit = 50,
    cursor: Cursor = None,
    job_group: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
) -> Page[JobShown | UnreadableShown]:
    """Jobs in order of id. One that this version cannot read has ``unreadable``, which says why."""
    group, groups = narrowed(job_group, caller.rights.groups(Permission.VIEW))
    rows = await tools.db.read(list_jobs, position(cursor) or 0, limit + 1, group, groups=groups)
    return Page[JobShown | UnreadableShown].model_validate(page(rows, limit, lambda job: job.id, _listed))


@router.post("", status_code=201, dependencies=[needs(Permission.EDIT)])
async def create(
    body: JobBody,
    tools: ToolsHere,
    caller: CallerHere,
    response: Response,
    allow_unknown_handler: AllowUnknown = False,
) -> JobShown:
    job = body.job(tools.settings.coordinator.default_timezone)
    job_id = await tools.db.tx(create_job, tools, caller, job, allow_unknown_handler)
    response.headers["Location"] = f"/api/v1/jobs/{job_id}"
    return await _show(tools, caller, job_id, response)


@router.get("/{job_id}", dependencies=[needs(Permission.VIEW)])
async def job(job_id: JobId, tools: ToolsHere, caller: CallerHere, response: Response) -> JobShown:
    return await _show(tools, caller, job_id, response)


@router.put("/{job_id}", dependencies=[needs(Permission.EDIT)])
async def put(
    job_id: JobId,
    body: JobBody,
    tools: ToolsHere,
    caller: CallerHere,
    response: Response,
    if_match: IfMatch = None,
    allow_unknown_handler: AllowUnknown = False,
) -> JobShown:
    await tools.db.tx(edit_job, tools, caller, job_id, body.edited, if_match, allow_unknown_handler)
    _wake(tools)
    return await _show(tools, caller, job_id, response)


@router.patch("/{job_id}", dependencies=[needs(Permission.EDIT)])
async def patch(
    job_id: JobId,
    changes: Annotated[dict[str, Any], Body()],
    tools: ToolsHere,
    caller: CallerHere,
    response: Response,
    if_match: IfMatch = None,
    allow_unknown_handler: AllowUnknown = False,
) -> JobShown:
    """Change the fields that are named and leave the others."""
    patched = partial(_patched, changes=changes)
    await tools.db.tx(edit_job, tools, caller, job_id, patched, if_match, allow_unknown_handler)
    _wake(tools)
    return await _show(tools, caller, job_id, response)


@router.delete("/{job_id}", status_code=204, dependencies=[needs(Permission.EDIT)])
async def delete(job_id: JobId, tools: ToolsHere, caller: CallerHere, if_match: IfMatch = None) -> None:
    await tools.db.tx(delete_job, caller, job_id, if_match, tools.clock.now())


@router.post("/{job_id}/start", dependencies=[needs(Permission.OPERATE)])
async def start(job_id: JobId, tools: ToolsHere, caller: CallerHere, response: Response) -> JobShown:
    """Let the job fire by its schedule. Starting a started job changes nothing."""
    await tools.db.tx(start_one, caller, job_id, tools.clock.now())
    _wake(tools)
    return await _show(tools, caller, job_id, response)


@router.post("/{job_id}/stop", dependencies=[needs(Permission.OPERATE)])
async def stop(job_id: JobId, tools: ToolsHere, caller: CallerHere, response: Response) -> JobShown:
    """Plan no further fires and take back what is not due yet. What has begun goes on."""
    await tools.db.tx(stop_one, caller, job_id, tools.clock.now())
    _wake(tools)
    return await _show(tools, caller, job_id, response)


@router.post("/{job_id}/trigger", status_code=202, dependencies=[needs(Permission.OPERATE)])
async def trigger(
    job_id: JobId,
    tools: ToolsHere,
    caller: CallerHere,
    body: TriggerBody | None = None,
    idempotency_key: IdempotencyKey = None,
    orth_client: Client = None,
) -> Triggered:
    """Run the job now, once; a broadcast on every address. The same ``Idempotency-Key`` with the same body is the same
    trigger.
    """
    body = body or TriggerBody()
    asked = TriggerRequest(
        cause_of(orth_client),
        idempotency_key or secrets.token_hex(16),
        body.executor_param,
        tuple(body.address_list),
        body.log_level,
    )
    ids, new = await tools.db.tx(trigger_one, caller, job_id, asked, tools.clock.now(), tools.reach.avoid)
    if new:
        tools.events.emit(ExecutionsOpened(asked.cause, len(ids)))
    for loop in tools.dispatching:
        loop.wake()
    return Triggered(execution_ids=ids)


@router.get("/{job_id}/next", dependencies=[needs(Permission.VIEW)])
async def next_fires(
    job_id: JobId, tools: ToolsHere, caller: CallerHere, n: Annotated[int, Query(ge=1, le=100)] = 10
) -> NextFires:
    """The next ``n`` fires of the schedule, whether or not the job is started."""
    job, schedule = await tools.db.read(_with_schedule, caller, job_id)
    return NextFires(timezone=job.timezone, items=coming_fires(schedule, tools.clock.now(), n))


@router.get("/{job_id}/fires", dependencies=[needs(Permission.VIEW)])
async def fires(
    job_id: JobId, tools: ToolsHere, caller: CallerHere, limit: Limit = 50, cursor: Cursor = None
) -> Page[FireShown]:
    """What was decided about past fires, newest first."""
    await tools.db.read(check_job, caller, Permission.VIEW, job_id)
    rows = await tools.db.read(list_fires, job_id, limit + 1, position(cursor))
    return Page[FireShown].model_validate(
        page(
            rows,
            limit,
            lambda row: row.fire_time,
            lambda row: {
                "fire_time": iso(row.fire_time),
                "last_time": iso(row.last_time),
                "fires": row.fires,
                "decision": row.decision,
                "reason": row.reason,
                "job_version": row.job_version,
            },
        )
    )


def cause_of(client: str | None) -> TriggerCause:
    """Who asks, a person or a program, by what the caller says it is."""
    return TriggerCause.MANUAL if client in _PEOPLE else TriggerCause.API


def _listed(job: Job | UnreadableJob) -> dict[str, Any]:
    return unreadable_shown(job) if isinstance(job, UnreadableJob) else listed(job)


async def _show(tools: Tools, caller: Caller, job_id: int, response: Response) -> JobShown:
    stored = await tools.db.read(_get, caller, job_id)
    response.headers["ETag"] = etag_of(stored)
    return JobShown(**shown(stored))


def _wake(tools: Tools) -> None:
    for loop in tools.planning:
        loop.wake()


def _patched(job: Job, changes: dict[str, Any]) -> Job:
    try:
        return JobBody.model_validate({**body_of(job), **changes}).edited(job)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None


def _get(connection: Connection, caller: Caller, job_id: int) -> Job:
    check_job(connection, caller, Permission.VIEW, job_id)
    return get_job(connection, job_id)


def _with_schedule(connection: Connection, caller: Caller, job_id: int) -> tuple[Job, Schedule]:
    check_job(connection, caller, Permission.VIEW, job_id)
    return with_schedule(connection, job_id)
