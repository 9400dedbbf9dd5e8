"""Alarms: what was told, which jobs are failing, and silences. All of it is of a group."""

from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from orth.clock import iso
from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.instants import LAST_SHOWN, instant, shown_instant
from orth.coordinator.http.job_names import named
from orth.coordinator.http.object_checks import check_job, check_silence, groups_silenced
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.texts import Line
from orth.coordinator.http.tools import ToolsHere
from orth.domain.access import Permission
from orth.domain.alarms import AlarmKind, AlarmState, Silence, Standing
from orth.domain.audit import Deed
from orth.errors import Conflict, Invalid
from orth.settings import parse_duration
from orth.store.alarms import Message, list_messages, list_standings
from orth.store.audit import record
from orth.store.database import Connection
from orth.store.groups import get_group
from orth.store.silences import add_silence, count_silences, end_silence, get_silence, list_silences

router = APIRouter(prefix="/api/v1/alarms", tags=["alarms"])

RowId = Annotated[int, Path(ge=1, le=2**31 - 1)]
JobFilter = Annotated[int | None, Query(ge=1, le=2**31 - 1)]
MessageState = Literal["waiting", "sending", "told", "failed"]

_SILENCES_LIMIT = 10_000
_LONGEST_SILENCE = 366 * 86_400_000


class AlarmShown(BaseModel):
    """One message by one channel. ``told``: its receiver has said yes; ``failed``: given up."""

    id: int
    message_id: str
    kind: AlarmKind
    job_id: int
    job_desc: str | None = Field(None, description="The name of its job now; null when the job was removed.")
    execution_id: int
    channel: str
    state: AlarmState
    attempts: int
    created_at: str
    next_attempt: str | None
    error: str | None


class FailingShown(BaseModel):
    """A job that is failing; ``told_at`` is null while nobody was told."""

    job_id: int
    job_desc: str | None = Field(None, description="Its name.")
    execution_id: int = Field(description="The first that failed.")
    since: str
    told_at: str | None
    failures: int


class SilenceBody(BaseModel):
    """A silence of a job, of a group, or, with neither, of everything. It needs an end: ``ends_at`` or ``lasts``."""

    model_config = ConfigDict(extra="forbid")

    job_id: StrictInt | None = Field(None, ge=1, le=2**31 - 1)
    job_group: StrictInt | None = Field(None, ge=1, le=2**31 - 1)
    starts_at: Line | None = Field(None, max_length=64, description="Instant; unset: now.")
    ends_at: Line | None = Field(None, max_length=64, description="Instant.")
    lasts: Line | None = Field(None, max_length=20, description="How long, instead of ends_at: 2h.")
    reason: Line = Field(min_length=1, max_length=255)

    def silence(self, actor: str, now: int) -> Silence:
        starts = now if self.starts_at is None else instant(self.starts_at, now, "starts_at")
        if (self.ends_at is None) == (self.lasts is None):
            raise Invalid("A silence has an end: give ends_at or lasts, not both.", field="ends_at")
        if self.lasts is not None:
            ends = starts + parse_duration(self.lasts) // timedelta(milliseconds=1)
        else:
            ends = instant(self.ends_at or "", now, "ends_at")
        if ends <= max(starts, now):
            raise Invalid("The silence would be over before it begins.", field="ends_at")
        if starts < 0 or ends - max(starts, now) > _LONGEST_SILENCE:
            raise Invalid("A silence may last a year.", field="ends_at")
        if ends > LAST_SHOWN:
            raise Invalid("A silence ends before the year 10000.", field="starts_at")
        return Silence(self.job_id, self.job_group, starts, ends, self.reason, actor)


class SilenceShown(BaseModel):
    """A silence as it is read. An instant that no calendar has, written past the API, is null."""

    id: int
    job_id: int | None
    job_group: int | None
    starts_at: str | None
    ends_at: str | None
    reason: str
    actor: str


@router.get("", dependencies=[needs(Permission.VIEW)])
async def alarms(
    tools: ToolsHere,
    caller: CallerHere,
    limit: Limit = 50,
    cursor: Cursor = None,
    job_id: JobFilter = None,
    state: MessageState | None = None,
) -> Page[AlarmShown]:
    """Messages, newest first: what was told, what waits, and what could not be told."""
    wanted = None if state is None else AlarmState(state)
    seen = caller.rights.groups(Permission.VIEW)
    rows = await tools.db.read(
        list_messages, before=position(cursor), limit=limit + 1, job_id=job_id, state=wanted, groups=seen
    )
    found = page(rows, limit, lambda row: row.id, _alarm_shown)
    return Page[AlarmShown].model_validate(found | {"items": await named(tools, found["items"])})


@router.get("/failing", dependencies=[needs(Permission.VIEW)])
async def failing(tools: ToolsHere, caller: CallerHere, limit: Limit = 50, cursor: Cursor = None) -> Page[FailingShown]:
    """Jobs that have failed and not succeeded since."""
    seen = caller.rights.groups(Permission.VIEW)
    rows = await tools.db.read(list_standings, position(cursor) or 0, limit + 1, seen)
    found = page(rows, limit, lambda row: row.job_id, _failing_shown)
    return Page[FailingShown].model_validate(found | {"items": await named(tools, found["items"])})


@router.get("/silences", dependencies=[needs(Permission.VIEW)])
async def silences(
    tools: ToolsHere,
    caller: CallerHere,
    limit: Limit = 50,
    cursor: Cursor = None,
    over: Annotated[bool, Query(description="Also those that are over.")] = False,
) -> Page[SilenceShown]:
    """Silences, newest first."""
    now = None if over else tools.clock.now()
    seen = caller.rights.groups(Permission.VIEW)
    rows = await tools.db.read(list_silences, before=position(cursor), limit=limit + 1, now=now, groups=seen)
    return Page[SilenceShown].model_validate(page(rows, limit, lambda row: row.id, _silence_shown))


@router.post("/silences", status_code=201, dependencies=[needs(Permission.OPERATE)])
async def silence(body: SilenceBody, tools: ToolsHere, caller: CallerHere, response: Response) -> SilenceShown:
    """Tell nothing about a job, a group or anything for a while. Failures are counted all the same."""
    now = tools.clock.now()
    asked = body.silence(caller.name, now)
    silence_id = await tools.db.tx(_add_silence, caller, asked, now)
    response.headers["Location"] = f"/api/v1/alarms/silences/{silence_id}"
    return SilenceShown.model_validate(_silence_shown(replace(asked, id=silence_id)))


@router.delete("/silences/{silence_id}", dependencies=[needs(Permission.OPERATE)])
async def unsilence(silence_id: RowId, tools: ToolsHere, caller: CallerHere) -> SilenceShown:
    """End a silence now. It stays on the list of those that are over."""
    await tools.db.tx(_end_silence, caller, silence_id, tools.clock.now())
    return SilenceShown.model_validate(_silence_shown(await tools.db.read(get_silence, silence_id)))


def _add_silence(connection: Connection, caller: Caller, asked: Silence, now: int) -> int:
    if asked.job_id is not None:
        check_job(connection, caller, Permission.OPERATE, asked.job_id)
    if asked.job_group is not None:
        caller.check(Permission.OPERATE, asked.job_group, "group", asked.job_group)
        get_group(connection, asked.job_group)
    if asked.job_id is None and asked.job_group is None:
        caller.check(Permission.OPERATE, None, "silence", "")
    if count_silences(connection, now, _SILENCES_LIMIT) >= _SILENCES_LIMIT:
        raise Conflict(f"There are {_SILENCES_LIMIT:,} silences already.", hint="End some that are not needed.")
    silence_id = add_silence(connection, asked)
    after = {name: value for name, value in _silence_shown(asked).items() if name not in ("id", "actor")}
    _tell_of_silence(connection, caller, "silence.create", replace(asked, id=silence_id), now, after)
    return silence_id


def _end_silence(connection: Connection, caller: Caller, silence_id: int, now: int) -> None:
    check_silence(connection, caller, Permission.OPERATE, silence_id)
    ended = get_silence(connection, silence_id)
    end_silence(connection, silence_id, now)
    _tell_of_silence(connection, caller, "silence.end", ended, now, {"job_id": ended.job_id, "reason": ended.reason})


def _tell_of_silence(
    connection: Connection, caller: Caller, action: str, silence: Silence, now: int, after: dict[str, Any]
) -> None:
    group = next(iter(groups_silenced(connection, silence.job_id, silence.job_group)))
    record(connection, caller.actor, Deed(action, "silence", str(silence.id), group, after=after), now)


def _alarm_shown(message: Message) -> dict[str, Any]:
    open_one = message.state in (AlarmState.WAITING, AlarmState.SENDING)
    return {
        "id": message.id,
        "message_id": message.message_id,
        "kind": message.kind,
        "job_id": message.job_id,
        "execution_id": message.execution_id,
        "channel": message.channel,
        "state": message.state,
        "attempts": message.attempts,
        "created_at": iso(message.created_at),
        "next_attempt": iso(message.next_attempt) if open_one else None,
        "error": message.error,
    }


def _failing_shown(standing: Standing) -> dict[str, Any]:
    return {
        "job_id": standing.job_id,
        "execution_id": standing.execution_id,
        "since": iso(standing.since),
        "told_at": iso(standing.told_at) if standing.told_at else None,
        "failures": standing.failures,
    }


def _silence_shown(one: Silence) -> dict[str, Any]:
    return {
        "id": one.id,
        "job_id": one.job_id,
        "job_group": one.job_group,
        "starts_at": shown_instant(one.starts_at),
        "ends_at": shown_instant(one.ends_at),
        "reason": one.reason,
        "actor": one.actor,
    }
