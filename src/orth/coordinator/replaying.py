"""Doing again what has ended, and ending many at once: what people ask for, in one transaction each.

An execution is done again as a new one, with its parameter, its logical time, its shard, its log level and a new
budget; what it follows is its ``origin_id``. By filter and from the dead letters each is done again at most once,
however often that is asked for: the key of the new execution and the row of the letter both see to it. Somebody who
names one execution may have it done again as often as they like.

What is done again has to be in a group of the caller's twice: as it ran, and as its job is now, for it runs there.
Where a handler's parameter is code (``orth.domain.scripts``), who may not write code has only done again what the job
says today: what it said once, or was told for one execution, somebody may have taken back since.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace

from orth.coordinator.finishing import tell
from orth.coordinator.killing import Closed, Killing, close, may_start_yet, tell_of_kill
from orth.coordinator.triggering import again_key, open_again
from orth.domain.access import Permission
from orth.domain.audit import Actor
from orth.domain.executions import Execution, Status
from orth.domain.jobs import Job, TriggerCause
from orth.domain.scripts import reads_code
from orth.errors import Conflict, Forbidden, NotFound
from orth.store.bulk import Failed, find_failed, find_open, hold_ended, hold_failed, note_done_again
from orth.store.database import Connection, Database
from orth.store.dead_letters import (
    LetterFilter,
    drop_letters,
    find_waiting,
    hold_waiting,
    mark_replayed,
)
from orth.store.execution_filters import Filter
from orth.store.executions import find_execution, ids_of_trigger
from orth.store.jobs import jobs_by_id

_KILLED_IN_ONE = 50
"""Executions ended in one transaction: enough to be quick, and few enough to keep nobody waiting."""
_CALLS_AT_ONCE = 32
_PARTS = 4


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a request for many. ``ids`` were opened, ended or settled, for the executions ``of``. ``skipped``
    were found and could not be done; ``left`` were not looked at.
    """

    ids: list[int]
    of: list[int]
    skipped: int = 0
    left: int = 0
    next_after: int | None = None
    """After which execution the rest is, as far as it was not looked for."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """The groups in which the caller may do this, and those in which they may write code; None: all."""

    groups: Collection[int] | None = None
    code: Collection[int] | None = None

    def is_code_of_others(self, job: Job, before: Execution) -> bool:
        """Whether doing it again would run code that the job does not say, and the caller may not write."""
        is_told_code = reads_code(before.executor_handler) and before.executor_param != job.executor_param
        return is_told_code and not _is_in(job.job_group, self.code)


EVERYTHING = Allowed()


def was_done_again(connection: Connection, execution_id: int, key: str) -> bool:
    """Whether the same was asked for before. The execution is held, so nobody can ask at the same time."""
    held = hold_ended(connection, [execution_id])
    return bool(held) and bool(ids_of_trigger(connection, held[0].job_id, again_key(execution_id, key)))


def was_tried_since(connection: Connection, execution_id: int) -> bool:
    """Whether it failed, and was tried or done again since, by its policy or by somebody."""
    failed = [one for one in hold_ended(connection, [execution_id]) if one.status is not Status.SUCCESS]
    return any(not one.is_test for one in failed) and not hold_failed(connection, [execution_id])


def do_again(
    connection: Connection,
    execution_id: int,
    cause: TriggerCause,
    key: str,
    now: int,
    allowed: Allowed = EVERYTHING,
) -> int:
    """Do one execution again that has ended; the id of the new one, the same for the same key."""
    held = hold_ended(connection, [execution_id])
    if not held:
        found = find_execution(connection, execution_id)
        if found is None:
            raise NotFound("execution", execution_id)
        raise Conflict.of("execution_open", execution=execution_id, tag=found.tag)
    if held[0].is_test:
        raise Conflict.of("test_not_again", execution=execution_id)
    job = jobs_by_id(connection, {held[0].job_id}).get(held[0].job_id)
    if job is None or not _is_in(job.job_group, allowed.groups):
        raise Conflict.of("again_without_job", job=held[0].job_id)
    if allowed.is_code_of_others(job, held[0]):
        handler, permission = held[0].executor_handler, Permission.SCRIPT.value
        raise Forbidden.of("again_is_code", execution=execution_id, handler=handler, job=job.id, permission=permission)
    opened = open_again(connection, [(job, held[0])], cause, now, key)
    mark_replayed(connection, opened.items())
    note_done_again(connection, execution_id, opened[execution_id], now)
    return opened[execution_id]


async def look_for_failed(db: Database, wanted: Filter, limit: int, after: int) -> Failed:
    """The oldest executions after one that are as ``wanted``, failed, and were not tried again. A long history is
    looked at in parts, so many in one request.
    """
    found = Failed([], 0, after)
    for _ in range(_PARTS):
        if found.next_after is None or len(found.ids) >= limit:
            break
        more: Failed = await db.read(find_failed, wanted, limit - len(found.ids), found.next_after)
        found = Failed(found.ids + more.ids, more.left, more.next_after)
    return found


def do_many_again(
    connection: Connection, found: Failed, cause: TriggerCause, now: int, allowed: Allowed = EVERYTHING
) -> Done:
    """Do again, each once, what was found, unless somebody has done it again meanwhile."""
    opened, of = _open_again(connection, hold_failed(connection, found.ids), cause, now, allowed)
    return Done(opened, of, len(found.ids) - len(opened), found.left, found.next_after)


def replay_named(
    connection: Connection, ids: Sequence[int], cause: TriggerCause, now: int, allowed: Allowed = EVERYTHING
) -> Done:
    """Do again those of these dead letters that wait for a decision."""
    waiting = hold_waiting(connection, ids, allowed.groups)
    opened, of = _open_again(connection, hold_ended(connection, waiting), cause, now, allowed)
    return Done(opened, of, len(set(ids)) - len(opened))


def replay_found(
    connection: Connection,
    wanted: LetterFilter,
    limit: int,
    cause: TriggerCause,
    now: int,
    allowed: Allowed = EVERYTHING,
) -> Done:
    """Do again the oldest dead letters that are as ``wanted``."""
    ids, left = find_waiting(connection, wanted, limit)
    return replace(replay_named(connection, ids, cause, now, allowed), left=left)


def drop_named(connection: Connection, ids: Sequence[int], actor: str, groups: Collection[int] | None = None) -> Done:
    """Decide that nothing is to be done about those of these dead letters that wait for a decision."""
    dropped = drop_letters(connection, ids, actor, groups)
    return Done(dropped, dropped, len(set(ids)) - len(dropped))


def drop_found(connection: Connection, wanted: LetterFilter, limit: int, actor: str) -> Done:
    """Decide that nothing is to be done about the oldest dead letters that are as ``wanted``."""
    ids, left = find_waiting(connection, wanted, limit)
    return replace(drop_named(connection, ids, actor), left=left)


@dataclass(frozen=True, slots=True)
class KilledMany:
    """What a kill by filter has closed, of which executors are still to be told."""

    done: Done
    closed: list[Closed]


async def kill_many(db: Database, killing: Killing, wanted: Filter, limit: int, actor: Actor, now: int) -> KilledMany:
    """Close the oldest open executions that are as ``wanted``; what their executors are told comes after."""
    killed = await _close_many(db, db.tx, wanted, limit, actor, now)
    for one in killed.closed:
        tell(killing.events, one.finished)
    return killed


async def preview_kill(db: Database, wanted: Filter, limit: int, actor: Actor, now: int) -> Done:
    """What ``kill_many`` would do, by doing it in transactions that are rolled back."""
    return (await _close_many(db, db.dry_run, wanted, limit, actor, now)).done


_Close = Callable[[Connection, Sequence[int], Actor, int], list[Closed]]
_Run = Callable[[_Close, Sequence[int], Actor, int], Awaitable[list[Closed]]]


async def _close_many(db: Database, run: _Run, wanted: Filter, limit: int, actor: Actor, now: int) -> KilledMany:
    ids, others = await db.read(find_open, wanted, limit)
    closed: list[Closed] = []
    for start in range(0, len(ids), _KILLED_IN_ONE):
        closed += await run(_close, ids[start : start + _KILLED_IN_ONE], actor, now)
    ended = {finished.execution.id for one in closed for finished in one.finished}
    left = len(set(others) - ended)  # an executor may end others of the job with the one it is told to end
    return KilledMany(Done(sorted(ended), sorted(ended), len(set(ids) - ended), left), closed)


async def tell_executors(killing: Killing, closed: Sequence[Closed], again_after: float) -> None:
    """Tell those who have what was closed to end it; once more what was on its way, when it has arrived."""
    turns = asyncio.Semaphore(_CALLS_AT_ONCE)

    async def ask(one: Closed) -> None:
        async with turns:
            if one.peer is not None:
                await killing.ask_to_end(one.execution, one.peer)

    await asyncio.gather(*map(ask, closed))
    await asyncio.gather(*(killing.tell_again(one, again_after) for one in closed if may_start_yet(one)))


def _close(connection: Connection, ids: Sequence[int], actor: Actor, now: int) -> list[Closed]:
    closed: list[Closed] = []
    for one in ids:
        try:
            closed.append(close(connection, one, actor.name, now))
        except (Conflict, NotFound):  # it has ended meanwhile, by itself or together with another of these
            continue
    ended = [one for one in closed if one.finished]
    tell_of_kill(connection, actor, ended, now)
    return ended


def _is_in(group: int, groups: Collection[int] | None) -> bool:
    return groups is None or group in groups


def _open_again(
    connection: Connection,
    ended: Sequence[Execution],
    cause: TriggerCause,
    now: int,
    allowed: Allowed,
) -> tuple[list[int], list[int]]:
    """The executions that were opened, and those that they do again."""
    found = jobs_by_id(connection, {one.job_id for one in ended})
    jobs = {job_id: job for job_id, job in found.items() if _is_in(job.job_group, allowed.groups)}
    befores = [(jobs[one.job_id], one) for one in ended if one.job_id in jobs]
    meant = [(job, one) for job, one in befores if not allowed.is_code_of_others(job, one)]
    opened = open_again(connection, meant, cause, now)
    mark_replayed(connection, opened.items())
    return sorted(opened.values()), sorted(opened)
