"""How the definition of a job came to be what it is: who changed what, and when, as the audit has it."""

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from orth.clock import iso
from orth.coordinator.http.audit import fields_of
from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.object_checks import check_job
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.tools import ToolsHere
from orth.domain.access import Permission
from orth.domain.audit_chain import Entry
from orth.store.audit import Wanted, newest_entries
from orth.store.database import Connection

router = APIRouter(prefix="/api/v1/jobs", tags=["jobs"])

_CHANGES = ("job.create", "job.update", "job.start", "job.stop", "script.save")


class ChangeShown(BaseModel):
    """One change. Of an update ``before`` and ``after`` have what differs; of what happened in a group that the caller
    may not see, neither is shown.
    """

    seq: int
    at: str
    actor: str
    action: str = Field(description="job.create, job.update, job.start, job.stop or script.save.")
    before: dict[str, Any] | None
    after: dict[str, Any] | None


@router.get("/{job_id}/history", dependencies=[needs(Permission.VIEW)])
async def history(
    job_id: Annotated[int, Path(ge=1, le=2**31 - 1)],
    tools: ToolsHere,
    caller: CallerHere,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[ChangeShown]:
    """The changes of a job, newest first, as far back as the audit is kept."""
    rows = await tools.db.read(_changes, caller, job_id, position(cursor), limit + 1)
    shown = page(rows, limit, lambda entry: entry.seq, lambda entry: _shown(entry, caller))
    return Page[ChangeShown].model_validate(shown)


def _changes(connection: Connection, caller: Caller, job_id: int, below: int | None, limit: int) -> list[Entry]:
    check_job(connection, caller, Permission.VIEW, job_id)
    wanted = Wanted(object_kind="job", object_id=str(job_id), actions=_CHANGES)
    return newest_entries(connection, wanted, below, limit)


def _shown(entry: Entry, caller: Caller) -> dict[str, Any]:
    return {
        "seq": entry.seq,
        "at": iso(entry.at),
        "actor": entry.actor,
        "action": entry.action,
        "before": _seen(entry.before, entry.group_id, caller),
        "after": _seen(entry.after, entry.group_id, caller),
    }


def _seen(text: str | None, group: int | None, caller: Caller) -> dict[str, Any] | None:
    """What was, for those who may see the group that the job was in then; one that was moved had two."""
    fields = fields_of(text)
    was_in = group if fields is None else fields.get("job_group", group)
    return fields if caller.rights.allows(Permission.VIEW, was_in) else None
