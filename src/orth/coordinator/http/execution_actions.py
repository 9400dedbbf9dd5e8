"""What is done to executions that are there already: one again, or many again or ended, by the filter of the list.

A request for many works through the oldest first, up to ``max``, and says how many are left; sent again it goes on with
those. A retry looks at so much of a history and no more: what follows is asked for by ``after``. ``dry_run`` does the
same in transactions that are rolled back, and so tells what would be done. A request must say something about what it
means.
"""

import secrets
from typing import Annotated

from fastapi import APIRouter, BackgroundTasks, Depends, Query
from pydantic import BaseModel

from orth.coordinator.facts import ExecutionsOpened
from orth.coordinator.http.callers import Caller, CallerHere, needs
from orth.coordinator.http.execution_filter import FilterAsked
from orth.coordinator.http.executions import ExecutionId
from orth.coordinator.http.jobs import Client, IdempotencyKey, cause_of
from orth.coordinator.http.object_checks import check_execution
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.coordinator.killing import Killing
from orth.coordinator.replaying import (
    Allowed,
    Done,
    do_again,
    do_many_again,
    kill_many,
    look_for_failed,
    preview_kill,
    tell_executors,
    was_done_again,
    was_tried_since,
)
from orth.domain.access import Permission
from orth.domain.audit import Deed
from orth.domain.executions import Status
from orth.domain.jobs import TriggerCause
from orth.errors import Conflict, Invalid
from orth.store.audit import record
from orth.store.bulk import Failed
from orth.store.database import Connection
from orth.store.execution_filters import Filter
from orth.store.group_scopes import group_of_execution

router = APIRouter(prefix="/api/v1/executions", tags=["executions"])

AT_ONCE = 1_000
_OPEN = frozenset(status for status in Status if not status.terminal)
_FAILED = frozenset(Status) - _OPEN - {Status.SUCCESS}

Max = Annotated[int, Query(alias="max", ge=1, le=AT_ONCE, description="How many at most; the oldest first.")]
After = Annotated[int, Query(ge=0, le=2**63 - 1, description="Only executions after this one are looked at.")]
DryRun = Annotated[bool, Query(description="Try it, undo it, and tell what would be done.")]
Once = Annotated[bool, Query(description="Not if it failed and was tried or done again since: 409.")]


class DoneAgain(BaseModel):
    """The execution that does it again."""

    execution_ids: list[int]


class ManyDone(BaseModel):
    """What came of a request for many. ``done`` counts what was changed, or would be with ``dry_run``; ``skipped`` what
    was found and could not be changed; ``left`` what else was found, counted up to 10,000. ``execution_ids`` are
    what was opened by a retry or a replay, what was ended by a kill, and with ``dry_run`` what it would be about.
    ``next_after`` is set by a retry that has not looked at everything: go on with it as ``after``.
    """

    dry_run: bool
    done: int
    skipped: int
    left: int
    next_after: int | None = None
    execution_ids: list[int]


def meant(wanted: FilterAsked, caller: CallerHere) -> Filter:
    """The filter, which must ask for something: nobody means everything by saying nothing. It finds what the caller may
    do this to, and nothing else.
    """
    if wanted == Filter():
        raise Invalid.of("say_which_executions")
    return wanted.within(caller.rights.groups(Permission.OPERATE))


Meant = Annotated[Filter, Depends(meant)]


@router.post("/bulk/retry", status_code=202, dependencies=[needs(Permission.OPERATE)])
async def retry_many(
    wanted: Meant,
    tools: ToolsHere,
    caller: CallerHere,
    maximum: Max = AT_ONCE,
    after: After = 0,
    dry_run: DryRun = False,
    orth_client: Client = None,
) -> ManyDone:
    """Do again what failed, each once: what was tried again already, by the coordinator or by somebody, is left out.
    Skipped is what has code for a parameter that is not the job's own any more, without the permission ``script``.
    """
    if wanted.statuses is not None and not wanted.statuses <= _FAILED:
        raise Invalid.of("only_failed_again", field="status")
    found = await look_for_failed(tools.db, wanted, maximum, after)
    cause, now = cause_of(orth_client), tools.clock.now()
    if dry_run:
        return would_do(await tools.db.dry_run(_retry_many, caller, found, cause, now))
    return opened(tools, await tools.db.tx(_retry_many, caller, found, cause, now), cause)


@router.post("/bulk/kill", status_code=202, dependencies=[needs(Permission.OPERATE)])
async def kill_filtered(
    wanted: Meant,
    tools: ToolsHere,
    caller: CallerHere,
    later: BackgroundTasks,
    maximum: Max = AT_ONCE,
    dry_run: DryRun = False,
) -> ManyDone:
    """End what is open. The rows are closed first; executors are told after the answer, and may go on until then. One
    of another make can end a job only as a whole: what else is open of it there is ended too.
    """
    if wanted.statuses is not None and not wanted.statuses <= _OPEN:
        raise Invalid.of("only_open_killed", field="status")
    if dry_run:
        return would_do(await preview_kill(tools.db, wanted, maximum, caller.actor, tools.clock.now()))
    killing = Killing(
        tools.db, tools.link, tools.clock, tools.events, token=tools.access_token, offering=tools.offering
    )
    killed = await kill_many(tools.db, killing, wanted, maximum, caller.actor, tools.clock.now())
    later.add_task(tell_executors, killing, killed.closed, tools.settings.coordinator.dispatch_timeout.total_seconds())
    for loop in (*tools.planning, tools.batches):  # a delay may have begun, and a batch may have room
        loop.wake()
    return many_done(killed.done)


@router.post("/{execution_id}/retry", status_code=202, dependencies=[needs(Permission.OPERATE)])
async def retry(
    execution_id: ExecutionId,
    tools: ToolsHere,
    caller: CallerHere,
    once: Once = False,
    idempotency_key: IdempotencyKey = None,
    orth_client: Client = None,
) -> DoneAgain:
    """Do an execution again that has ended, however it did: as a new one with its parameter, logical time, shard and
    log level. The same ``Idempotency-Key`` is the same request. One that is open stays as it is: 409, and so does, with
    ``once``, one of several attempts at the same that is not the last. Where the parameter is code and not the job's
    own any more, it needs the permission ``script``: 403.
    """
    cause, key = cause_of(orth_client), idempotency_key or secrets.token_hex(16)
    new = await tools.db.tx(_retry, caller, execution_id, cause, key, tools.clock.now(), once)
    opened(tools, Done([new], [execution_id]), cause)
    return DoneAgain(execution_ids=[new])


def _retry(
    connection: Connection, caller: Caller, execution_id: int, cause: TriggerCause, key: str, now: int, once: bool
) -> int:
    check_execution(connection, caller, Permission.OPERATE, execution_id)
    known = was_done_again(connection, execution_id, key)
    if once and not known and was_tried_since(connection, execution_id):
        raise Conflict.of("again_already", execution=execution_id)
    opened = do_again(connection, execution_id, cause, key, now, allowed_to(caller))
    if not known:
        group = group_of_execution(connection, execution_id)
        deed = Deed("execution.retry", "execution", str(execution_id), group, after={"opened": [opened]})
        record(connection, caller.actor, deed, now)
    return opened


def _retry_many(connection: Connection, caller: Caller, found: Failed, cause: TriggerCause, now: int) -> Done:
    done = do_many_again(connection, found, cause, now, allowed_to(caller))
    tell_of_many(connection, caller, "execution.retry", done, now)
    return done


def allowed_to(caller: Caller) -> Allowed:
    """In which groups somebody may have things done again."""
    return Allowed(caller.rights.groups(Permission.OPERATE), caller.rights.groups(Permission.SCRIPT))


def tell_of_many(connection: Connection, caller: Caller, action: str, done: Done, now: int) -> None:
    """Tell the audit what came of a request for many, unless nothing did."""
    if done.ids:
        deed = Deed(action, "execution", "", after={"executions": done.ids, "skipped": done.skipped})
        record(connection, caller.actor, deed, now)


def opened(tools: Tools, done: Done, cause: TriggerCause) -> ManyDone:
    """Tell that executions were opened, and let them be sent."""
    if done.ids:
        tools.events.emit(ExecutionsOpened(cause, len(done.ids)))
        for loop in tools.dispatching:
            loop.wake()
    return many_done(done)


def many_done(done: Done) -> ManyDone:
    return _shown(done, done.ids, dry_run=False)


def would_do(done: Done) -> ManyDone:
    """What a dry run tells: the executions that were found, for those it would open do not exist."""
    return _shown(done, done.of, dry_run=True)


def _shown(done: Done, ids: list[int], *, dry_run: bool) -> ManyDone:
    return ManyDone(
        dry_run=dry_run,
        done=len(ids),
        skipped=done.skipped,
        left=done.left,
        next_after=done.next_after,
        execution_ids=ids,
    )
