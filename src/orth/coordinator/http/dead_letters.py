"""Dead letters: what failed for good, to be done again or dropped, each once."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.execution_actions import (
    AT_ONCE,
    DryRun,
    ManyDone,
    Max,
    allowed_to,
    many_done,
    opened,
    tell_of_many,
    would_do,
)
from orth.coordinator.http.instants import instant, shown_instant
from orth.coordinator.http.jobs import Client, cause_of
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.tools import ToolsHere
from orth.coordinator.replaying import Done, drop_found, drop_named, replay_found, replay_named
from orth.domain.access import Permission
from orth.domain.executions import Status
from orth.domain.jobs import TriggerCause
from orth.errors import Invalid
from orth.store.database import Connection
from orth.store.dead_letters import DeadLetter, LetterFilter, LetterState, list_dead_letters

router = APIRouter(prefix="/api/v1/dead-letters", tags=["dead letters"])

_Id = Annotated[int | None, Query(ge=1, le=2**31 - 1)]
_Instant = Annotated[str | None, Query(max_length=40, description="An instant (RFC 3339) or an age such as 2h.")]


class LetterShown(BaseModel):
    """An execution that failed for good. ``replayed_by`` is the execution that does it again, ``dropped_by`` who
    decided that nothing is to be done.
    """

    execution_id: int
    job_id: int
    job_group: int
    ended_at: str | None
    status: Status
    reason_code: str | None
    message: str
    state: LetterState
    replayed_by: int | None
    dropped_by: str | None


class Named(BaseModel):
    """The letters that are meant, by the ids of their executions."""

    model_config = ConfigDict(extra="forbid")

    ids: list[Annotated[StrictInt, Field(ge=1, le=2**63 - 1)]] = Field(min_length=1, max_length=AT_ONCE)


def letters_asked(
    tools: ToolsHere,
    job_id: _Id = None,
    job_group: _Id = None,
    status: Status | None = None,
    reason_code: Annotated[str | None, Query(pattern="^[a-z_]{1,32}$")] = None,
    since: _Instant = None,
    until: _Instant = None,
) -> LetterFilter:
    """Which letters are meant; times are about the end of the execution."""
    now = tools.clock.now()
    return LetterFilter(
        job_id=job_id,
        job_group=job_group,
        status=status,
        reason_code=reason_code,
        since=None if since is None else instant(since, now, "since"),
        until=None if until is None else instant(until, now, "until"),
    )


Asked = Annotated[LetterFilter, Depends(letters_asked)]


@router.get("", dependencies=[needs(Permission.VIEW)])
async def dead_letters(
    tools: ToolsHere,
    caller: CallerHere,
    wanted: Asked,
    state: Annotated[LetterState | None, Query(description="Unset: whatever became of them.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Page[LetterShown]:
    """Executions that failed for good, the newest first."""
    seen = wanted.within(caller.rights.groups(Permission.VIEW))
    rows = await tools.db.read(list_dead_letters, seen, state=state, before=position(cursor), limit=limit + 1)
    return Page[LetterShown].model_validate(page(rows, limit, lambda letter: letter.execution_id, _shown))


@router.post("/replay", status_code=202, dependencies=[needs(Permission.OPERATE)])
async def replay(
    tools: ToolsHere,
    caller: CallerHere,
    wanted: Asked,
    named: Named | None = None,
    maximum: Max = AT_ONCE,
    dry_run: DryRun = False,
    orth_client: Client = None,
) -> ManyDone:
    """Do letters again that wait for a decision: those named in the body, or by filter, the oldest first."""
    _check_meant(wanted, named)
    groups = caller.rights.groups(Permission.OPERATE)
    wanted = wanted.within(groups)
    cause, now = cause_of(orth_client), tools.clock.now()
    asked = Meant(wanted, None if named is None else named.ids, maximum, groups)
    if dry_run:
        return would_do(await tools.db.dry_run(_replay, caller, asked, cause, now))
    return opened(tools, await tools.db.tx(_replay, caller, asked, cause, now), cause)


@router.post("/drop", status_code=202, dependencies=[needs(Permission.OPERATE)])
async def drop(
    tools: ToolsHere,
    caller: CallerHere,
    wanted: Asked,
    named: Named | None = None,
    maximum: Max = AT_ONCE,
    dry_run: DryRun = False,
) -> ManyDone:
    """Decide that nothing is to be done about letters that wait for a decision; chosen as for a replay."""
    _check_meant(wanted, named)
    groups = caller.rights.groups(Permission.OPERATE)
    wanted = wanted.within(groups)
    asked = Meant(wanted, None if named is None else named.ids, maximum, groups)
    if dry_run:
        return would_do(await tools.db.dry_run(_drop, caller, asked, tools.clock.now()))
    return many_done(await tools.db.tx(_drop, caller, asked, tools.clock.now()))


@dataclass(frozen=True, slots=True)
class Meant:
    """Which letters somebody means: those named, else by filter, the oldest first; in these groups."""

    wanted: LetterFilter
    named: Sequence[int] | None
    maximum: int
    groups: Collection[int] | None


def _replay(connection: Connection, caller: Caller, asked: Meant, cause: TriggerCause, now: int) -> Done:
    if asked.named is not None:
        done = replay_named(connection, asked.named, cause, now, allowed_to(caller))
    else:
        done = replay_found(connection, asked.wanted, asked.maximum, cause, now, allowed_to(caller))
    tell_of_many(connection, caller, "dead_letter.replay", done, now)
    return done


def _drop(connection: Connection, caller: Caller, asked: Meant, now: int) -> Done:
    if asked.named is not None:
        done = drop_named(connection, asked.named, caller.name, asked.groups)
    else:
        done = drop_found(connection, asked.wanted, asked.maximum, caller.name)
    tell_of_many(connection, caller, "dead_letter.drop", done, now)
    return done


def _check_meant(wanted: LetterFilter, named: Named | None) -> None:
    if (named is None) == (wanted == LetterFilter()):
        raise Invalid.of("say_which_letters")


def _shown(letter: DeadLetter) -> dict[str, object]:
    return {
        "execution_id": letter.execution_id,
        "job_id": letter.job_id,
        "job_group": letter.job_group,
        "ended_at": shown_instant(letter.ended_at),
        "status": letter.status,
        "reason_code": letter.reason_code,
        "message": letter.message,
        "state": letter.state,
        "replayed_by": letter.replayed_by,
        "dropped_by": letter.dropped_by,
    }
