"""Alarms: what was told, which jobs are failing, and silences. All of it is of a group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from orth.clock import iso
from orth.coordinator.alarming.judging import channels_of
from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.instants import LAST_SHOWN, instant, shown_instant
from orth.coordinator.http.job_names import named
from orth.coordinator.http.object_checks import check_held_job, check_silence, group_silenced
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.texts import Line
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.domain.access import Permission
from orth.domain.alarms import AlarmKind, AlarmState, Silence, Standing, is_silenced
from orth.domain.audit import Deed
from orth.domain.jobs import Job
from orth.errors import Conflict, Invalid
from orth.settings import parse_duration
from orth.store.alarm_channels import Channel, enabled_channels
from orth.store.alarms import Message, list_messages, list_standings
from orth.store.audit import record
from orth.store.database import Connection
from orth.store.groups import get_group
from orth.store.jobs import jobs_by_id
from orth.store.overview import Groups, Known, names_of
from orth.store.silences import add_silence, count_silences, end_silence, get_silence, list_silences, silences_at
from orth.store.tellings import Telling, last_tellings, last_told

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
    job_id: int | None = Field(description="Null for the kind `executor`, which tells of new executors.")
    job_desc: str | None = Field(
        None, description="The name of its job now; null when that was removed, or moved to where one may not see it."
    )
    execution_id: int | None
    channel: str
    state: AlarmState
    attempts: int
    created_at: str
    next_attempt: str | None
    error: str | None


class TellingShown(BaseModel):
    """What became of the last message about a job by one channel; ``next_attempt`` is null when it is settled."""

    channel: str
    state: AlarmState
    attempts: int
    next_attempt: str | None
    error: str | None


class FailingShown(BaseModel):
    """A job that is failing; ``told_at`` is null while no receiver of a message has said yes."""

    job_id: int
    job_desc: str | None = Field(None, description="Its name; null like its group.")
    job_group: int | None = Field(
        None, description="Its group now; null when the job was removed, or moved to where one may not see it."
    )
    execution_id: int = Field(description="The first that failed.")
    since: str
    told_at: str | None
    failures: int
    channels: list[str] = Field(description="Those by which it is told now; none: nobody hears of it.")
    silenced: bool
    messages: list[TellingShown] = Field(description="The last about it, one for each channel.")


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
            raise Invalid.of("silence_end", field="ends_at")
        if self.lasts is not None:
            ends = starts + parse_duration(self.lasts) // timedelta(milliseconds=1)
        else:
            ends = instant(self.ends_at or "", now, "ends_at")
        if ends <= max(starts, now):
            raise Invalid.of("silence_over", field="ends_at")
        if starts < 0 or ends - max(starts, now) > _LONGEST_SILENCE:
            raise Invalid.of("silence_too_long", field="ends_at")
        if ends > LAST_SHOWN:
            raise Invalid.of("silence_too_late", field="starts_at")
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


@dataclass(frozen=True, slots=True)
class _Scene:
    """What is known of the jobs that stand as failing."""

    standings: list[Standing]
    tellings: Mapping[int, list[Telling]]
    told: Mapping[int, int]
    jobs: Mapping[int, Job]
    names: Mapping[int, Known]
    channels: Mapping[str, Channel]
    silences: Sequence[Silence]


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
    return Page[AlarmShown].model_validate(found | {"items": await named(tools, caller, found["items"])})


@router.get("/failing", dependencies=[needs(Permission.VIEW)])
async def failing(
    tools: ToolsHere, caller: CallerHere, limit: Limit = 50, cursor: Cursor = None, job_id: JobFilter = None
) -> Page[FailingShown]:
    """Jobs that have failed and not succeeded since, whether or not somebody is told of them."""
    seen = caller.rights.groups(Permission.VIEW)
    now = tools.clock.now()

    def look(connection: Connection) -> _Scene:
        found = list_standings(connection, position(cursor) or 0, limit + 1, seen, job_id)
        return _scene(connection, found, seen, now)

    scene = await tools.db.read(look)
    found = page(scene.standings, limit, lambda row: row.job_id, lambda row: _failing_shown(tools, scene, row, now))
    return Page[FailingShown].model_validate(found)


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
    made = await tools.db.tx(_add_silence, caller, body.silence(caller.name, now), now)
    response.headers["Location"] = f"/api/v1/alarms/silences/{made.id}"
    return SilenceShown.model_validate(_silence_shown(made))


@router.delete("/silences/{silence_id}", dependencies=[needs(Permission.OPERATE)])
async def unsilence(silence_id: RowId, tools: ToolsHere, caller: CallerHere) -> SilenceShown:
    """End a silence now. It stays on the list of those that are over."""
    await tools.db.tx(_end_silence, caller, silence_id, tools.clock.now())
    return SilenceShown.model_validate(_silence_shown(await tools.db.read(get_silence, silence_id)))


def _add_silence(connection: Connection, caller: Caller, asked: Silence, now: int) -> Silence:
    """Store a silence. One of a job holds in the group where the job is: in another, others decide about it."""
    if asked.job_id is not None:
        check_held_job(connection, caller, Permission.OPERATE, asked.job_id)
    if asked.job_group is not None:
        caller.check(Permission.OPERATE, asked.job_group, "group", asked.job_group)
        get_group(connection, asked.job_group)
    if asked.job_id is None and asked.job_group is None:
        caller.check(Permission.OPERATE, None, "silence", "")
    if count_silences(connection, now, _SILENCES_LIMIT) >= _SILENCES_LIMIT:
        raise Conflict.of("silences_full", limit=_SILENCES_LIMIT)
    made = replace(asked, job_group=group_silenced(connection, asked))
    made = replace(made, id=add_silence(connection, made))
    after = {name: value for name, value in _silence_shown(made).items() if name not in ("id", "actor")}
    _tell_of_silence(connection, caller, "silence.create", made, now, after)
    return made


def _end_silence(connection: Connection, caller: Caller, silence_id: int, now: int) -> None:
    check_silence(connection, caller, Permission.OPERATE, silence_id)
    ended = get_silence(connection, silence_id)
    end_silence(connection, silence_id, now)
    _tell_of_silence(connection, caller, "silence.end", ended, now, {"job_id": ended.job_id, "reason": ended.reason})


def _tell_of_silence(
    connection: Connection, caller: Caller, action: str, silence: Silence, now: int, after: dict[str, Any]
) -> None:
    group = group_silenced(connection, silence)
    record(connection, caller.actor, Deed(action, "silence", str(silence.id), group, after=after), now)


def _alarm_shown(message: Message) -> dict[str, Any]:
    open_one = message.state in (AlarmState.WAITING, AlarmState.SENDING)
    of_job = message.kind is not AlarmKind.EXECUTOR
    return {
        "id": message.id,
        "message_id": message.message_id,
        "kind": message.kind,
        "job_id": message.job_id if of_job else None,
        "execution_id": message.execution_id if of_job else None,
        "channel": message.channel,
        "state": message.state,
        "attempts": message.attempts,
        "created_at": iso(message.created_at),
        "next_attempt": iso(message.next_attempt) if open_one else None,
        "error": message.error,
    }


def _scene(connection: Connection, standings: list[Standing], seen: Groups, now: int) -> _Scene:
    tellings = last_tellings(connection, standings)
    untaken = [one for one in standings if not _taken(one, tellings.get(one.job_id, []))]
    return _Scene(
        standings,
        tellings,
        last_told(connection, untaken),
        jobs_by_id(connection, [one.job_id for one in standings]),
        names_of(connection, [one.job_id for one in standings], seen),
        enabled_channels(connection),
        silences_at(connection, now, _SILENCES_LIMIT),
    )


def _taken(standing: Standing, last: list[Telling]) -> bool:
    """Whether somebody has the last message; where none is kept any more, they have."""
    return standing.told_at > 0 and (not last or any(one.state is AlarmState.TOLD for one in last))


def _failing_shown(tools: Tools, scene: _Scene, standing: Standing, now: int) -> dict[str, Any]:
    known = scene.names.get(standing.job_id)
    # How a job that was moved is told of is told where it is.
    here = known is not None and known.job_group == standing.job_group
    job = scene.jobs.get(standing.job_id) if here else None
    alarms = tools.settings.alarms
    mail = alarms.smtp_host is not None
    last = scene.tellings.get(standing.job_id, [])
    told_at = standing.told_at if _taken(standing, last) else scene.told.get(standing.job_id, 0)
    return {
        "job_id": standing.job_id,
        "job_desc": known.job_desc if known else None,
        "job_group": known.job_group if known else None,
        "execution_id": standing.execution_id,
        "since": iso(standing.since),
        "told_at": iso(told_at) if told_at else None,
        "failures": standing.failures,
        "channels": channels_of(job, scene.channels, mail=mail) if job and alarms.enabled else (),
        "silenced": here and is_silenced(scene.silences, standing.job_id, standing.job_group, now),
        "messages": [_telling_shown(one) for one in last],
    }


def _telling_shown(one: Telling) -> dict[str, Any]:
    return {
        "channel": one.channel,
        "state": one.state,
        "attempts": one.attempts,
        "next_attempt": iso(one.next_attempt) if one.next_attempt else None,
        "error": one.error,
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
