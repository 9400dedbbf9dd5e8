"""The audit, for those who administer everything: a list newest first, or all of it as a file, oldest first.

There is nothing here that writes: entries are made by what they tell of.
"""

import csv
import io
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import AfterValidator, BaseModel, Field

from orth.clock import iso
from orth.coordinator.http.callers import needs
from orth.coordinator.http.instants import instant
from orth.coordinator.http.origins import check_origin
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.texts import Prose
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.domain.access import Permission
from orth.domain.audit_chain import Entry, Head
from orth.errors import Invalid
from orth.store.audit import Wanted, entries_after, head, newest_entries
from orth.store.overview import Known, names_of

router = APIRouter(prefix="/api/v1/audit", tags=["audit"], dependencies=[needs(Permission.ADMINISTER, everywhere=True)])

_COLUMNS = (
    *("seq", "at", "actor_kind", "actor", "address", "action", "object_kind", "object_id", "group_id"),
    *("before", "after", "previous_digest", "digest"),
)
_JOB_ID = re.compile(r"[0-9]{1,10}")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def _encodable(text: str) -> str:
    text.encode()  # half a surrogate pair is no text anywhere; its error is a ValueError
    return text


_Text = Annotated[Prose, AfterValidator(_encodable)]


class EntryShown(BaseModel):
    """Who did what to what. ``before`` and ``after`` have what changed; credentials are never among it."""

    seq: int
    at: str
    actor_kind: str = Field(description="user, token, executor, node, command, or stranger: what was refused.")
    actor: str
    address: str
    action: str = Field(description="Such as job.update.")
    object_kind: str
    object_id: str
    object_name: str | None = Field(None, description="The name of a job now; null when it was removed, or is no job.")
    group_id: int | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    previous_digest: str
    digest: str


class HeadShown(BaseModel):
    """The end of the chain. Written down elsewhere, it shows later whether the chain was written anew."""

    seq: int
    digest: str


def _wanted(
    tools: ToolsHere,
    actor: Annotated[_Text | None, Query(max_length=128)] = None,
    action: Annotated[_Text | None, Query(max_length=64, description="Such as job.update.")] = None,
    object: Annotated[
        _Text | None, Query(max_length=161, description="A kind, such as job, or one of it, such as job:7.")
    ] = None,
    since: Annotated[
        str | None, Query(max_length=40, description="An instant (RFC 3339), or an age such as 2h.")
    ] = None,
    until: Annotated[str | None, Query(max_length=40, description="Before this instant, or age.")] = None,
) -> Wanted:
    now = tools.clock.now()
    kind, _, key = (object or "").partition(":")
    wanted = Wanted(
        actor=actor,
        action=action,
        object_kind=kind or None,
        object_id=key or None,
        since=None if since is None else instant(since, now, "since"),
        until=None if until is None else instant(until, now, "until"),
    )
    if wanted.since is not None and wanted.until is not None and wanted.since >= wanted.until:
        raise Invalid.of("since_after_until", field="since")
    return wanted


@router.get(
    "",
    response_model=None,
    responses={
        200: {
            "model": Page[EntryShown],
            "content": {
                "text/csv": {"schema": {"type": "string"}},
                "application/jsonl": {"schema": {"type": "string"}},
            },
        }
    },
)
async def entries(
    request: Request,
    tools: ToolsHere,
    wanted: Annotated[Wanted, Depends(_wanted)],
    limit: Limit = 50,
    cursor: Cursor = None,
    format: Annotated[
        Literal["json", "csv", "jsonl"],
        Query(description="json: a page, newest first. csv, jsonl: all that is wanted, oldest first, as a file."),
    ] = "json",
) -> Page[EntryShown] | StreamingResponse:
    if format != "json":
        check_origin(request, tools.settings)
        return _file(tools, wanted, format)
    rows = await tools.db.read(newest_entries, wanted, position(cursor), limit + 1)
    names = await tools.db.read(names_of, {int(row.object_id) for row in rows if _is_job(row)}, None)
    return Page[EntryShown].model_validate(
        page(rows, limit, lambda entry: entry.seq, lambda entry: _shown(entry) | {"object_name": _name(entry, names)})
    )


@router.get("/head")
async def chain_head(tools: ToolsHere) -> HeadShown:
    found = await tools.db.read(head) or Head()
    return HeadShown(seq=found.seq, digest=found.digest)


def _is_job(entry: Entry) -> bool:
    return entry.object_kind in ("job", "script") and _JOB_ID.fullmatch(entry.object_id) is not None


def _name(entry: Entry, names: Mapping[int, Known]) -> str | None:
    found = names.get(int(entry.object_id)) if _is_job(entry) else None
    return found.job_desc if found else None


def _file(tools: Tools, wanted: Wanted, form: Literal["csv", "jsonl"]) -> StreamingResponse:
    write, media = {"csv": (_csv, "text/csv; charset=utf-8"), "jsonl": (_jsonl, "application/jsonl")}[form]
    headers = {"Content-Disposition": f'attachment; filename="orth-audit.{form}"', "Cache-Control": "no-store"}
    first = _line(_COLUMNS) if form == "csv" else ""
    return StreamingResponse(_pages(tools, wanted, write, first), media_type=media, headers=headers)


async def _pages(
    tools: Tools, wanted: Wanted, write: Callable[[Sequence[Entry]], str], first: str
) -> AsyncIterator[bytes]:
    """A page at a time, so that neither the database nor this process ever has it all."""
    yield first.encode()
    seq = -1
    while rows := await tools.db.read(entries_after, wanted, seq):
        yield write(rows).encode()
        seq = rows[-1].seq


def _jsonl(rows: Sequence[Entry]) -> str:
    return "".join(json.dumps(_shown(entry)) + "\n" for entry in rows)


def _csv(rows: Sequence[Entry]) -> str:
    return "".join(_line([{**asdict(entry), "at": iso(entry.at)}[name] for name in _COLUMNS]) for entry in rows)


def _line(cells: Sequence[object]) -> str:
    out = io.StringIO()
    csv.writer(out).writerow([_cell(value) for value in cells])
    return out.getvalue()


def _cell(value: object) -> str:
    """A table program runs what looks like a formula: with an apostrophe before it, it is text."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _shown(entry: Entry) -> dict[str, Any]:
    return {**asdict(entry), "at": iso(entry.at), "before": fields_of(entry.before), "after": fields_of(entry.after)}


def fields_of(text: str | None) -> dict[str, Any] | None:
    """What was before, or after, as it is shown."""
    try:
        fields = None if text is None else json.loads(text)
    except ValueError:  # written by hand, which ``verify`` tells
        fields = {"unreadable": text}
    return fields if isinstance(fields, dict) or fields is None else {"unreadable": text}
