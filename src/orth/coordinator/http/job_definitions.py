"""Definitions out of here and into here: to keep, to compare, to take from one place to another.

Taking in is one transaction: each definition makes a job, changes the one of its group with its name, finds it the
same, or is refused without harm to the others. A preview does exactly that and then undoes it, so what it says is what
would be; its ``plan`` sent back as ``If-Match`` makes sure that what is done is what was looked at. Jobs arrive
stopped, and those that are there stay started or stopped.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.definitions import as_definitions, read_definition
from orth.coordinator.http.job_board import heard_since
from orth.coordinator.http.job_body import JobBody, body_of
from orth.coordinator.http.job_deeds import create_job, edit_job
from orth.coordinator.http.job_filter import JobsAsked
from orth.coordinator.http.jobs import AllowUnknown
from orth.coordinator.http.paging import Cursor, Limit, Page, cursor_at, position
from orth.coordinator.http.problems import coded
from orth.coordinator.http.refused_callers import tell_refused
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.coordinator.http.versions import IfMatch, check_match
from orth.domain.access import Permission
from orth.domain.definitions import AT_ONCE, Definition, in_order
from orth.domain.jobs import Job
from orth.errors import Conflict, Forbidden, Hidden, OrthError
from orth.store.database import Connection
from orth.store.job_board import Wanted, executors_online, list_board
from orth.store.job_names import jobs_named
from orth.store.jobs import get_job

router = APIRouter(prefix="/api/v1/jobs/definitions", tags=["jobs"])


class Fate(StrEnum):
    """What becomes of a definition."""

    CREATE = "create"
    CHANGE = "change"
    SAME = "same"
    REFUSE = "refuse"


class FieldChange(BaseModel):
    """A field that differs. Of code it is only told that it does: both values are null."""

    field: str
    before: Any
    after: Any


class DefinitionShown(BaseModel):
    """What becomes, or would become, of one definition."""

    place: int = Field(description="Where it stands in what was sent, from 0.")
    job_desc: str
    job_group: str = Field(description="As it was written.")
    fate: Fate
    job_id: int | None = Field(description="The job it is about; null for one that is not made yet, or refused.")
    changes: list[FieldChange]
    detail: str | None = Field(description="Why it is refused.")
    hint: str | None
    field: str | None
    code: str | None
    facts: dict[str, str | int] | None


class Taken(BaseModel):
    """What came of taking definitions in, in the order they were sent; or would come of it, with ``dry_run``."""

    dry_run: bool
    plan: str = Field(description="An ETag of what is told here: as If-Match, nothing else is done.")
    created: int
    changed: int
    same: int
    refused: int
    items: list[DefinitionShown]


class DefinitionsBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    jobs: list[dict[str, Any]] = Field(
        min_length=1,
        max_length=AT_ONCE,
        description="Each as POST /api/v1/jobs takes it; or with an app name for job_group, the name of a calendar "
        "for calendar_id, and app_name/name for each of child_jobid and for super_task_id.",
    )


@router.get("", dependencies=[needs(Permission.VIEW)])
async def definitions(
    tools: ToolsHere, caller: CallerHere, wanted: JobsAsked, limit: Limit = 50, cursor: Cursor = None
) -> Page[dict[str, Any]]:
    """Definitions of jobs, newest first, as they can be taken in elsewhere: code included, names in the place of ids.
    Jobs that cannot be read are left out.
    """
    meant = wanted.within(caller.rights.groups(Permission.VIEW))
    return await tools.db.read(_export, caller, meant, position(cursor), limit, heard_since(tools))


@router.post("", dependencies=[needs(Permission.EDIT)])
async def take_in(
    body: DefinitionsBody,
    request: Request,
    tools: ToolsHere,
    caller: CallerHere,
    dry_run: Annotated[bool, Query(description="Only tell what would become of each.")] = False,
    allow_unknown_handler: AllowUnknown = False,
    if_match: IfMatch = None,
) -> Taken:
    """Make and change jobs by their definitions. Those that are refused do not keep the others."""
    asked = _Asked(body.jobs, allow_unknown_handler, dry_run, if_match)
    if dry_run:
        outcome = await tools.db.dry_run(_take_in, tools, caller, asked)
    else:
        outcome = await tools.db.tx(_take_in, tools, caller, asked)
        for loop in tools.planning:
            loop.wake()
    if outcome.not_allowed is not None:
        await tell_refused(tools, request, outcome.not_allowed)
    return outcome.taken


@dataclass(frozen=True, slots=True)
class _Outcome:
    taken: Taken
    not_allowed: OrthError | None
    """What the caller may not do, if any of it was asked for: the last."""


@dataclass(frozen=True, slots=True)
class _Asked:
    definitions: Sequence[Definition]
    allow_unknown_handler: bool
    dry_run: bool
    if_match: str | None


def _export(
    connection: Connection, caller: Caller, wanted: Wanted, before: int | None, limit: int, heard: int
) -> Page[dict[str, Any]]:
    online = executors_online(connection, heard, wanted.groups)
    found = list_board(connection, wanted, online, before=before, limit=limit + 1)
    kept = found[:limit]
    items = as_definitions(connection, caller, [job for job in kept if isinstance(job, Job)])
    return Page[dict[str, Any]](items=items, next_cursor=cursor_at(kept[-1].id) if len(found) > limit else None)


def _take_in(connection: Connection, tools: Tools, caller: Caller, asked: _Asked) -> _Outcome:
    taking = _Taking(connection, tools, caller, asked)
    told = {place: taking.one(place) for place in in_order(asked.definitions)}
    items = [told[place] for place in range(len(asked.definitions))]
    counted = Counter(one.fate for one in items)
    taken = Taken(
        dry_run=asked.dry_run,
        plan=f'"{_digest(asked.definitions, items, taking.versions)}"',
        created=counted[Fate.CREATE],
        changed=counted[Fate.CHANGE],
        same=counted[Fate.SAME],
        refused=counted[Fate.REFUSE],
        items=items,
    )
    check_match(asked.if_match, taken.plan, "definitions_changed_meanwhile")
    return _Outcome(_not_made(taken) if asked.dry_run else taken, taking.not_allowed)


@dataclass(slots=True)
class _Taking:
    """Takes one definition after the other, each undone by itself if it is refused."""

    connection: Connection
    tools: Tools
    caller: Caller
    asked: _Asked
    seen: dict[int, int] = field(default_factory=dict)
    versions: dict[int, int] = field(default_factory=dict)
    """Of the jobs that are there, as they were before."""
    not_allowed: OrthError | None = None

    def one(self, place: int) -> DefinitionShown:
        definition = self.asked.definitions[place]
        told = DefinitionShown(
            place=place,
            job_desc=str(definition.get("job_desc") or "")[:255],
            job_group=str(definition.get("job_group") or "")[:64],
            fate=Fate.REFUSE,
            job_id=None,
            changes=[],
            detail=None,
            hint=None,
            field=None,
            code=None,
            facts=None,
        )
        try:
            with self.connection.begin_nested():
                return told.model_copy(update=self._take(place, definition))
        except OrthError as error:
            self.not_allowed = error if isinstance(error, Forbidden | Hidden) else self.not_allowed
            refusal = {"detail": error.message, "hint": error.hint, "field": error.field, **coded(error)}
            return told.model_copy(update=refusal)

    def _take(self, place: int, definition: Definition) -> dict[str, Any]:
        body = read_definition(self.connection, self.caller, definition)
        self.caller.check(Permission.EDIT, body.job_group, "group", body.job_group)
        there = jobs_named(self.connection, body.job_group, body.job_desc)
        if len(there) > 1:
            raise Conflict.of("same_name", count=len(there))
        if there and there[0] in self.seen:
            raise Conflict.of("same_definition", place=self.seen[there[0]] + 1)
        if not there:
            return self._create(place, body)
        self.seen[there[0]] = place
        return self._change(there[0], body)

    def _create(self, place: int, body: JobBody) -> dict[str, Any]:
        job = body.job(self.tools.settings.coordinator.default_timezone)
        job_id = create_job(self.connection, self.tools, self.caller, job, self.asked.allow_unknown_handler)
        self.seen[job_id] = place
        return {"fate": Fate.CREATE, "job_id": job_id}

    def _change(self, job_id: int, body: JobBody) -> dict[str, Any]:
        stored = get_job(self.connection, job_id)
        self.versions[job_id] = stored.version
        written = body.edited(stored)
        if written == stored:
            return {"fate": Fate.SAME, "job_id": job_id}
        edit_job(self.connection, self.tools, self.caller, job_id, body.edited, None, self.asked.allow_unknown_handler)
        return {"fate": Fate.CHANGE, "job_id": job_id, "changes": _changes(stored, written)}


def _changes(before: Job, after: Job) -> list[FieldChange]:
    old, new = body_of(before), body_of(after)
    told = [FieldChange(field=name, before=old[name], after=new[name]) for name in old if old[name] != new[name]]
    if before.glue_source != after.glue_source:
        told.append(FieldChange(field="glue_source", before=None, after=None))
    return told


def _digest(definitions: Sequence[Definition], items: Sequence[DefinitionShown], versions: dict[int, int]) -> str:
    """Of what was asked for and what becomes of it. A job that is made has another id each time."""
    fates = [
        (one.fate, one.job_id, versions.get(one.job_id)) if one.job_id in versions else (one.fate, None, None)
        for one in items
    ]
    told = json.dumps([list(definitions), fates], sort_keys=True, default=str)
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _not_made(taken: Taken) -> Taken:
    """Without the ids of jobs that a preview has made and unmade."""
    items = [one.model_copy(update={"job_id": None}) if one.fate is Fate.CREATE else one for one in taken.items]
    return taken.model_copy(update={"items": items})
