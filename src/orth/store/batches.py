"""Batches: what was asked for, how far it is, and how its executions ended."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, and_, case, exists, func, or_, select, update

from orth.domain.batches import Batch, BatchState
from orth.domain.executions import SUCCESS, Phase
from orth.domain.jobs import TriggerCause
from orth.errors import NotFound
from orth.store.engines import among, insert_new, locked
from orth.store.group_scopes import in_groups
from orth.store.tables import batches, executions


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBatch:
    """A batch about to be stored. A second one with the same key is the same batch."""

    job_id: int
    job_group: int
    trigger_key: str
    request_digest: str
    start_time: int
    end_time: int
    total: int
    at_once: int
    executor_param: str | None
    addresses: tuple[str, ...]
    skip_done: bool
    timing: str
    actor: str


@dataclass(frozen=True, slots=True)
class Progress:
    """The executions of a batch: open ones, and how the others ended for good."""

    running: int = 0
    succeeded: int = 0
    failed: int = 0


def store_batch(connection: Connection, new: NewBatch, now: int) -> None:
    """Store a batch whose key is new; another is there already."""
    row = {
        "job_id": new.job_id,
        "job_group": new.job_group,
        "trigger_key": new.trigger_key,
        "request_digest": new.request_digest,
        "start_time": new.start_time,
        "end_time": new.end_time,
        "next_time": new.start_time,
        "total": new.total,
        "opened": 0,
        "at_once": new.at_once,
        "executor_param": new.executor_param,
        "address_list": ",".join(new.addresses) or None,
        "skip_done": int(new.skip_done),
        "timing": new.timing,
        "state": BatchState.RUNNING,
        "reason": "",
        "actor": new.actor,
        "created_at": now,
        "changed_at": now,
    }
    insert_new(connection, batches, [row])


def batch_of_key(connection: Connection, job_id: int, trigger_key: str) -> tuple[Batch, str] | None:
    """The batch of a key, and the digest of what was asked for."""
    found = select(batches).where(batches.c.job_id == job_id, batches.c.trigger_key == trigger_key)
    row = connection.execute(found).one_or_none()
    return None if row is None else (_batch(row), row.request_digest)


def get_batch(connection: Connection, batch_id: int) -> Batch:
    row = connection.execute(select(batches).where(batches.c.id == batch_id)).one_or_none()
    if row is None:
        raise NotFound("batch", batch_id)
    return _batch(row)


def hold_batch(connection: Connection, batch_id: int) -> Batch:
    """The batch as it is, kept so until the transaction ends."""
    row = connection.execute(locked(select(batches).where(batches.c.id == batch_id), connection)).one_or_none()
    if row is None:
        raise NotFound("batch", batch_id)
    return _batch(row)


def list_batches(
    connection: Connection,
    *,
    before: int | None,
    limit: int,
    job_id: int | None = None,
    state: BatchState | None = None,
    groups: Collection[int] | None = None,
) -> list[Batch]:
    """Batches newest first, those with an id below ``before``; only those that were started in these groups."""
    statement = select(batches).where(*in_groups(batches.c.job_group, groups))
    statement = statement.order_by(batches.c.id.desc()).limit(limit)
    if before is not None:
        statement = statement.where(batches.c.id < before)
    if job_id is not None:
        statement = statement.where(batches.c.job_id == job_id)
    if state is not None:
        statement = statement.where(batches.c.state == state)
    return [_batch(row) for row in connection.execute(statement)]


def running_batches(connection: Connection, limit: int) -> list[int]:
    """Ids of batches that are not over, oldest first."""
    running = select(batches.c.id).where(batches.c.state == BatchState.RUNNING).order_by(batches.c.id).limit(limit)
    return [row.id for row in connection.execute(running)]


def has_running_batch(connection: Connection, job_id: int) -> bool:
    running = exists().where(batches.c.state == BatchState.RUNNING, batches.c.job_id == job_id)
    return bool(connection.execute(select(running)).scalar())


def advance_batch(connection: Connection, batch_id: int, next_time: int, opened: int, now: int) -> None:
    """Write down how far a held batch has come."""
    connection.execute(
        update(batches)
        .where(batches.c.id == batch_id)
        .values(next_time=next_time, opened=batches.c.opened + opened, changed_at=now)
    )


def end_batch(connection: Connection, batch_id: int, state: BatchState, reason: str, now: int) -> None:
    """Let a held batch be over."""
    values: dict[str, Any] = {"state": state, "reason": reason[:255], "changed_at": now}
    if state is BatchState.DONE:
        values["total"] = batches.c.opened  # what was left out as done meanwhile no longer counts
    connection.execute(update(batches).where(batches.c.id == batch_id).values(**values))


def open_instants(connection: Connection, batch_id: int) -> int:
    """How many logical times of a batch have an execution that has not ended; all shards of one are one."""
    open_ones = select(func.count(executions.c.schedule_time.distinct())).where(
        executions.c.batch_id == batch_id, executions.c.phase != Phase.ENDED
    )
    return int(connection.execute(open_ones).scalar_one())


def done_instants(connection: Connection, job_id: int, job_group: int, start: int, end: int) -> set[int]:
    """Logical times in [start, end) for which an execution of the job, in that group, has succeeded or is open."""
    done = (
        select(executions.c.schedule_time)
        .where(
            executions.c.job_id == job_id,
            executions.c.job_group == job_group,
            executions.c.schedule_time >= start,
            executions.c.schedule_time < end,
            executions.c.cause != TriggerCause.PARENT,  # that time is the parent's
            or_(executions.c.phase != Phase.ENDED, _SUCCEEDED),
        )
        .distinct()
    )
    return {row.schedule_time for row in connection.execute(done)}


_SUCCEEDED = and_(executions.c.trigger_code == SUCCESS, executions.c.handle_code == SUCCESS)


def progress_of(connection: Connection, ids: Sequence[int]) -> dict[int, Progress]:
    """How the executions of batches stand. Every retry stands for one that failed before it, so what failed for good
    is what failed less what was retried.
    """
    count = {
        "running": executions.c.phase != Phase.ENDED,
        "succeeded": _SUCCEEDED,
        "retried": executions.c.cause == TriggerCause.RETRY,
    }
    sums = [func.sum(case((condition, 1), else_=0)).label(name) for name, condition in count.items()]
    rows = connection.execute(
        select(executions.c.batch_id, func.count().label("executions"), *sums)
        .where(among(connection, executions.c.batch_id, ids))
        .group_by(executions.c.batch_id)
    )
    return {
        row.batch_id: Progress(
            int(row.running),
            int(row.succeeded),
            int(row.executions - row.running - row.succeeded - row.retried),
        )
        for row in rows
    }


def _batch(row: Row[Any]) -> Batch:
    return Batch(
        id=row.id,
        job_id=row.job_id,
        job_group=row.job_group,
        start_time=row.start_time,
        end_time=row.end_time,
        next_time=row.next_time,
        total=row.total,
        opened=row.opened,
        at_once=row.at_once,
        executor_param=row.executor_param,
        addresses=tuple(part for part in (row.address_list or "").split(",") if part),
        skip_done=bool(row.skip_done),
        timing=row.timing,
        state=BatchState(row.state),
        reason=row.reason,
        actor=row.actor,
        created_at=row.created_at,
        changed_at=row.changed_at,
    )
