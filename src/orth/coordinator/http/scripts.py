"""The code of jobs: read, save, compare, roll back, and try it before it is saved.

What is written here runs on executors, so it needs the permission ``script`` and a group that allows scripts
(``scripting``); whoever may see the job may read it. What was saved in a group that the job has left since is there
for those who may see that group. The ETag of code is its SHA-256.
"""

import secrets
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, ConfigDict, Field, field_validator

from orth.clock import iso
from orth.coordinator.facts import ExecutionsOpened
from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.job_body import Glue
from orth.coordinator.http.jobs import IdempotencyKey, JobId, Triggered
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.texts import Line, Prose
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.coordinator.http.versions import IfMatch, check_match
from orth.coordinator.http.writers import writer_of
from orth.coordinator.scripting import Code, check_has_code, roll_back, save_code, try_code
from orth.coordinator.triggering import Request
from orth.domain.access import Permission
from orth.domain.jobs import PARAM_LIMIT, GlueType, Job, TriggerCause
from orth.domain.nodes import normal_address
from orth.domain.script_headers import header_of
from orth.domain.scripts import REMARK_LONGEST, REMARK_SHORTEST, difference, digest_of
from orth.errors import NotFound
from orth.store.database import Connection
from orth.store.glue_versions import (
    GlueVersion,
    JobWithCode,
    get_glue_version,
    list_glue_versions,
    list_jobs_with_code,
    newest_glue_version,
)
from orth.store.groups import get_group
from orth.store.jobs import get_job, hold_job
from orth.wire.fields import ADDRESS_LIMIT, GLUE_SOURCE_LIMIT

router = APIRouter(prefix="/api/v1/scripts", tags=["scripts"])

VersionId = Annotated[int, Path(ge=1, le=2**63 - 1)]
From = Annotated[int, Query(alias="from", ge=1, le=2**63 - 1, description="The older version.")]
To = Annotated[int | None, Query(ge=1, le=2**63 - 1, description="The newer one; unset: the code as it is.")]
Remark = Annotated[Line, Field(min_length=REMARK_SHORTEST, max_length=REMARK_LONGEST)]

_SEES = needs(Permission.VIEW)
_WRITES = needs(Permission.SCRIPT)


class ScriptBody(BaseModel):
    """Code as it is written. Without a kind it stays of the kind it is."""

    model_config = ConfigDict(extra="forbid")

    glue_source: Prose = Field(max_length=GLUE_SOURCE_LIMIT)
    glue_remark: Remark = Field(description="What was changed.")
    glue_type: Glue | None = None


class RollbackBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version_id: int = Field(ge=1, le=2**63 - 1, strict=True)
    remark: Remark = Field(description="Why.")


class TrialBody(BaseModel):
    """What is tried. Without a source it is the code as it is saved."""

    model_config = ConfigDict(extra="forbid")

    source: Prose | None = Field(None, max_length=GLUE_SOURCE_LIMIT)
    executor_param: Prose | None = Field(None, max_length=PARAM_LIMIT, description="Unset: the job's own.")
    address: str | None = Field(None, max_length=ADDRESS_LIMIT, description="Executor of the group; unset: by routing.")

    @field_validator("address")
    @classmethod
    def _normal(cls, value: str | None) -> str | None:
        return None if value is None else normal_address(value)


class HeaderBody(BaseModel):
    """Code that is not saved, perhaps not finished."""

    model_config = ConfigDict(extra="forbid")

    glue_type: Glue
    glue_source: Prose = Field(max_length=GLUE_SOURCE_LIMIT)


class HeaderTrouble(BaseModel):
    """Why a header cannot be understood, and what to do next; the code and its facts are for programs."""

    code: str
    facts: dict[str, str | int]
    detail: str


class HeaderShown(BaseModel):
    """What code says of itself, in its header."""

    requirements: list[str] = Field(description="What it needs, as it is usual in its language.")
    requires_python: str | None
    params_schema: dict[str, Any] | None = Field(
        description="What it takes, as JSON Schema; null: nothing is declared."
    )
    header_trouble: HeaderTrouble | None = Field(description="Why its header is not understood; null: it is.")


class VersionShown(HeaderShown):
    """One version of a job's code, as lists show it."""

    id: int
    glue_type: GlueType
    glue_remark: str
    author: str
    saved_at: str
    size: int = Field(description="Bytes.")
    sha256: str


class VersionWhole(VersionShown):
    glue_source: str


class ScriptShown(HeaderShown):
    """The code that a job runs."""

    job_id: int
    job_desc: str
    job_group: int
    glue_type: GlueType
    glue_source: str
    glue_remark: str
    author: str = Field(description="Empty when nobody knows.")
    saved_at: str | None
    version_id: int | None = Field(description="Null of code that was there before versions were kept.")
    size: int
    sha256: str
    scripts_allowed: bool = Field(description="Whether its group allows scripts: if not, it is not sent to executors.")


class ScriptListed(BaseModel):
    """A job that has code, as the list shows it."""

    job_id: int
    job_desc: str
    job_group: int
    glue_type: GlueType
    glue_remark: str
    saved_at: str | None


@dataclass(frozen=True, slots=True)
class _Found:
    job: Job
    newest: GlueVersion | None
    allowed: bool


@router.get("", dependencies=[_SEES])
async def scripts(tools: ToolsHere, caller: CallerHere, limit: Limit = 50, cursor: Cursor = None) -> Page[ScriptListed]:
    """Jobs that have code, in order of id."""
    seen = caller.rights.groups(Permission.VIEW)
    rows = await tools.db.read(list_jobs_with_code, position(cursor) or 0, limit + 1, seen)
    return Page[ScriptListed].model_validate(page(rows, limit, lambda row: row.job_id, _listed))


@router.post("/header", dependencies=[_SEES])
async def header(body: HeaderBody) -> HeaderShown:
    """What this code says of itself. Nothing is saved."""
    return HeaderShown.model_validate(_header(body.glue_type, body.glue_source))


@router.get("/{job_id}", dependencies=[_SEES])
async def script(job_id: JobId, tools: ToolsHere, caller: CallerHere, response: Response) -> ScriptShown:
    """The code that the job runs now."""
    return await _show(tools, job_id, caller, response)


@router.put("/{job_id}", dependencies=[_WRITES])
async def save(
    job_id: JobId, body: ScriptBody, tools: ToolsHere, caller: CallerHere, response: Response, if_match: IfMatch = None
) -> ScriptShown:
    """Save code: the job runs it from its next execution on. Saving what it runs already changes nothing."""

    def write(connection: Connection) -> None:
        job = _held(connection, job_id, caller, if_match)
        kind = body.glue_type or job.glue_type
        save_code(connection, job, Code(kind, body.glue_source, body.glue_remark), writer, tools.clock.now())

    writer = writer_of(caller, tools)
    await tools.db.tx(write)
    return await _show(tools, job_id, caller, response)


@router.get("/{job_id}/versions", dependencies=[_SEES])
async def versions(
    job_id: JobId, tools: ToolsHere, caller: CallerHere, limit: Limit = 50, cursor: Cursor = None
) -> Page[VersionShown]:
    """What was saved, newest first."""
    await tools.db.read(_seen, job_id, caller)
    seen = caller.rights.groups(Permission.VIEW)
    rows = await tools.db.read(list_glue_versions, job_id, limit + 1, position(cursor), seen)
    return Page[VersionShown].model_validate(page(rows, limit, lambda row: row.id, _version))


@router.get("/{job_id}/versions/{version_id}", dependencies=[_SEES])
async def version(job_id: JobId, version_id: VersionId, tools: ToolsHere, caller: CallerHere) -> VersionWhole:
    await tools.db.read(_seen, job_id, caller)
    found = await tools.db.read(_seen_version, job_id, caller, version_id)
    return VersionWhole(**_version(found), glue_source=found.source)


@router.get("/{job_id}/diff", dependencies=[_SEES], response_class=PlainTextResponse)
async def diff(job_id: JobId, tools: ToolsHere, caller: CallerHere, before: From, to: To = None) -> PlainTextResponse:
    """How two versions differ, as a unified diff; empty when they do not."""
    return PlainTextResponse(await tools.db.read(_difference, job_id, caller, before, to))


@router.post("/{job_id}/rollback", dependencies=[_WRITES])
async def rollback(
    job_id: JobId,
    body: RollbackBody,
    tools: ToolsHere,
    caller: CallerHere,
    response: Response,
    if_match: IfMatch = None,
) -> ScriptShown:
    """Let the job run an earlier version again, as a new one."""

    def write(connection: Connection) -> None:
        job = _held(connection, job_id, caller, if_match)
        _seen_version(connection, job_id, caller, body.version_id)
        roll_back(connection, job, body.version_id, body.remark, writer, tools.clock.now())

    writer = writer_of(caller, tools)
    await tools.db.tx(write)
    return await _show(tools, job_id, caller, response)


@router.post("/{job_id}/test", status_code=202, dependencies=[_WRITES])
async def try_it(
    job_id: JobId,
    tools: ToolsHere,
    caller: CallerHere,
    body: TrialBody | None = None,
    idempotency_key: IdempotencyKey = None,
) -> Triggered:
    """Run a draft once, beside the job and without saving it. No retry, child or alarm follows."""
    body = body or TrialBody()
    addresses = () if body.address is None else (body.address,)
    asked = Request(TriggerCause.MANUAL, idempotency_key or secrets.token_hex(16), body.executor_param, addresses)
    writer = writer_of(caller, tools)

    def write(connection: Connection) -> tuple[int, bool]:
        job = _visible(hold_job(connection, job_id), caller)
        return try_code(connection, job, body.source, asked, writer, tools.clock.now())

    execution_id, new = await tools.db.tx(write)
    if new:
        tools.events.emit(ExecutionsOpened(asked.cause, 1))
    for loop in tools.dispatching:
        loop.wake()
    return Triggered(execution_ids=[execution_id])


def _visible(job: Job, caller: Caller) -> Job:
    caller.check(Permission.VIEW, job.job_group, "job", job.id)
    return job


def _seen(connection: Connection, job_id: int, caller: Caller) -> Job:
    return _visible(get_job(connection, job_id), caller)


def _seen_version(connection: Connection, job_id: int, caller: Caller, version_id: int) -> GlueVersion:
    found = get_glue_version(connection, job_id, version_id)
    if found.left_group is not None and not caller.rights.allows(Permission.VIEW, found.left_group):
        raise NotFound("version", version_id)
    return found


def _held(connection: Connection, job_id: int, caller: Caller, if_match: str | None) -> Job:
    job = _visible(hold_job(connection, job_id), caller)
    check_match(if_match, _etag(job), "code_changed_meanwhile", job=str(job_id))
    return job


def _difference(connection: Connection, job_id: int, caller: Caller, before: int, to: int | None) -> str:
    job = _seen(connection, job_id, caller)
    old = _seen_version(connection, job_id, caller, before)
    new = job.glue_source if to is None else _seen_version(connection, job_id, caller, to).source
    return difference(old.source, new, f"version {before}", "now" if to is None else f"version {to}")


async def _show(tools: Tools, job_id: int, caller: Caller, response: Response) -> ScriptShown:
    found: _Found = await tools.db.read(_find, job_id, caller)
    job, newest = found.job, found.newest
    check_has_code(job)
    known = newest if newest is not None and newest.source == job.glue_source else None
    response.headers["ETag"] = _etag(job)
    return ScriptShown(
        job_id=job.id,
        job_desc=job.job_desc,
        job_group=job.job_group,
        glue_type=job.glue_type,
        glue_source=job.glue_source,
        glue_remark=job.glue_remark,
        author=known.author if known else "",
        saved_at=iso(job.glue_updatetime) if job.glue_updatetime else None,
        version_id=known.id if known else None,
        size=len(job.glue_source.encode()),
        sha256=digest_of(job.glue_source),
        scripts_allowed=found.allowed,
        **_header(job.glue_type, job.glue_source),
    )


def _find(connection: Connection, job_id: int, caller: Caller) -> _Found:
    job = _seen(connection, job_id, caller)
    return _Found(job, newest_glue_version(connection, job_id), get_group(connection, job.job_group).scripts_allowed)


def _etag(job: Job) -> str:
    return f'"{digest_of(job.glue_source)}"'


def _listed(row: JobWithCode) -> dict[str, Any]:
    return {
        "job_id": row.job_id,
        "job_desc": row.job_desc,
        "job_group": row.job_group,
        "glue_type": row.glue_type,
        "glue_remark": row.remark,
        "saved_at": iso(row.saved_at) if row.saved_at else None,
    }


def _version(row: GlueVersion) -> dict[str, Any]:
    return {
        "id": row.id,
        "glue_type": row.glue_type,
        "glue_remark": row.remark,
        "author": row.author,
        "saved_at": iso(row.saved_at),
        "size": len(row.source.encode()),
        "sha256": row.digest,
        **_header(row.glue_type, row.source),
    }


def _header(glue_type: GlueType, source: str) -> dict[str, Any]:
    header = header_of(glue_type, source)
    trouble = header.trouble
    return {
        "requirements": list(header.requirements),
        "requires_python": header.requires_python,
        "params_schema": header.params_schema,
        "header_trouble": trouble and {"code": trouble.code, "facts": dict(trouble.facts), "detail": str(trouble)},
    }
