"""Archived logs, and which executions still lack one."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, delete, func, select

from orth.domain.executions import SUCCESS, Phase
from orth.store.engines import among, insert_new
from orth.store.record_tables import log_archives
from orth.store.tables import executions


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedLog:
    """A log that was kept: in a file at ``place``, or, without one, in the database."""

    execution_id: int
    stored_at: int
    lines: int
    size: int  # of the text that is kept
    complete: bool
    place: str | None


@dataclass(frozen=True, slots=True)
class Unarchived:
    """An execution without an archived log, and whose executor has it. ``ended_at`` is None while it is open."""

    execution_id: int
    ended_at: int | None
    address: str
    job_id: int
    queue: str | None


@dataclass(frozen=True, slots=True)
class QueuedLog:
    """What is known of the log of an execution that went through a queue."""

    queue: str
    log_time: int
    was_taken: bool
    """Whether an executor had it."""
    is_archived: bool


_SHOWN = [column for column in log_archives.c if column.name != "content"]


def find_archive(connection: Connection, execution_id: int) -> ArchivedLog | None:
    row = connection.execute(select(*_SHOWN).where(log_archives.c.execution_id == execution_id)).one_or_none()
    return None if row is None else ArchivedLog(**{**row._mapping, "complete": bool(row.complete)})


def archived_content(connection: Connection, execution_id: int) -> bytes | None:
    """What the database keeps of a log, packed."""
    found = connection.execute(
        select(log_archives.c.content).where(log_archives.c.execution_id == execution_id)
    ).scalar_one_or_none()
    return None if found is None else bytes(found)


def keep_archive(connection: Connection, kept: ArchivedLog, content: bytes | None) -> None:
    """Store a log, in the place of an earlier attempt at it."""
    keep_archives(connection, [(kept, content)])


def keep_archives(connection: Connection, logs: Sequence[tuple[ArchivedLog, bytes | None]]) -> None:
    """Store logs, each in the place of an earlier attempt at it, but for complete ones, which only a complete one
    replaces. When two nodes do so at once, the first one's stays: both have read the same log.
    """
    drop_archives(connection, [kept.execution_id for kept, _content in logs if kept.complete])
    _drop_incomplete(connection, [kept.execution_id for kept, _content in logs if not kept.complete])
    rows = [
        {name: getattr(kept, name) for name in ArchivedLog.__slots__}
        | {"complete": int(kept.complete), "content": content}
        for kept, content in logs
    ]
    insert_new(connection, log_archives, rows)


def newest_execution(connection: Connection) -> int:
    """The highest id there is; 0 without any."""
    return int(connection.execute(select(func.max(executions.c.id))).scalar() or 0)


def first_execution_since(connection: Connection, instant: int) -> int | None:
    """The lowest id among those triggered since ``instant``."""
    found: int | None = connection.execute(
        select(func.min(executions.c.id)).where(executions.c.trigger_time >= instant)
    ).scalar()
    return found


def unarchived_between(connection: Connection, after: int, through: int) -> list[Unarchived]:
    """Among the executions with these ids, those that are open and those that an executor ended and nobody archived."""
    return _unarchived(connection, (executions.c.id > after) & (executions.c.id <= through))


def unarchived_among(connection: Connection, ids: Collection[int]) -> list[Unarchived]:
    return _unarchived(connection, among(connection, executions.c.id, ids)) if ids else []


def _unarchived(connection: Connection, wanted: ColumnElement[bool]) -> list[Unarchived]:
    columns = executions.c
    archived = select(log_archives.c.execution_id).where(log_archives.c.execution_id == columns.id).exists()
    # One that went through a queue is asked for by its name alone.
    was_taken = (columns.trigger_code == SUCCESS) & (columns.executor_address.is_not(None) | columns.queue.is_not(None))
    shown = (columns.id, columns.job_id, columns.phase, columns.handle_time, columns.executor_address, columns.queue)
    statement = select(*shown).where(wanted, (columns.phase != Phase.ENDED) | (was_taken & ~archived))
    return [
        Unarchived(
            row.id,
            (row.handle_time or 0) if row.phase == Phase.ENDED else None,
            row.executor_address or "",
            row.job_id,
            row.queue,
        )
        for row in connection.execute(statement.order_by(columns.id))
    ]


def queued_logs(connection: Connection, ids: Collection[int]) -> dict[int, QueuedLog]:
    """Of these executions those that went through a queue and have ended, by id."""
    columns = executions.c
    shown = (columns.id, columns.queue, columns.trigger_time, columns.trigger_code, log_archives.c.execution_id)
    statement = (
        select(*shown)
        .join(log_archives, log_archives.c.execution_id == columns.id, isouter=True)
        .where(among(connection, columns.id, ids), columns.phase == Phase.ENDED, columns.queue.is_not(None))
    )
    return {
        row.id: QueuedLog(
            row.queue, row.trigger_time, row.trigger_code == SUCCESS, is_archived=row.execution_id is not None
        )
        for row in connection.execute(statement)
    }


def expired_archives(connection: Connection, before: int, limit: int) -> list[tuple[int, str | None]]:
    """The oldest logs that were archived before an instant: execution and place."""
    statement = select(log_archives.c.execution_id, log_archives.c.place).where(log_archives.c.stored_at < before)
    rows = connection.execute(statement.order_by(log_archives.c.stored_at).limit(limit))
    return [(row.execution_id, row.place) for row in rows]


def _drop_incomplete(connection: Connection, ids: Sequence[int]) -> None:
    if ids:
        old = among(connection, log_archives.c.execution_id, ids) & (log_archives.c.complete == 0)
        connection.execute(delete(log_archives).where(old))


def drop_archives(connection: Connection, ids: Sequence[int]) -> None:
    if ids:
        connection.execute(delete(log_archives).where(among(connection, log_archives.c.execution_id, ids)))
