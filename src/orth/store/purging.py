"""Removing what is older than it need be, a little at a time.

Each verb removes at most a given number of rows, or hardly more, found through an index, and touches nothing that is
open: planning, dispatch and results never wait for it for longer than one such step. Call it again until it says that
there is no more.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Table, delete, select

from orth.domain.batches import BatchState
from orth.domain.executions import Phase
from orth.store.engines import among
from orth.store.record_tables import alarms, dead_letters, statistics
from orth.store.script_tables import script_drafts
from orth.store.tables import batches, executions, fires, notes, ownership

_WITH_EXECUTION: Sequence[Table] = (notes, ownership, dead_letters, alarms, script_drafts)
"""What is about one execution and means nothing without it; each has an index on it."""


@dataclass(frozen=True, slots=True)
class Purged:
    """What a step did: so many rows removed, and where the next one goes on; None: it was the last."""

    rows: int
    reached: int | None


def purge_executions(connection: Connection, before: int, *, after: int, limit: int) -> Purged:
    """Remove those that ended before ``before`` among the next ``limit`` with an id above ``after``, with all that
    belongs to them. Ids grow with time: at the first execution opened since ``before`` there are no more.
    """
    columns = executions.c
    span = select(columns.id, columns.phase, columns.handle_time, columns.trigger_time).where(columns.id > after)
    rows = connection.execute(span.order_by(columns.id).limit(limit)).all()
    ids = [row.id for row in rows if row.phase == Phase.ENDED and (row.handle_time or 0) < before]
    for table in _WITH_EXECUTION:
        connection.execute(delete(table).where(among(connection, table.c.execution_id, ids)))
    # The phase again: the row was not locked when it was read.
    ended = delete(executions).where(among(connection, columns.id, ids), columns.phase == Phase.ENDED)
    removed = connection.execute(ended).rowcount if ids else 0
    over = len(rows) < limit or all(row.trigger_time >= before for row in rows)
    return Purged(removed, None if over else rows[-1].id)


def purge_fires(connection: Connection, before: int, limit: int) -> Purged:
    """Remove decisions made before ``before`` from the ledger, oldest first; those made at one instant together."""
    decided = fires.c.decided_at
    old = select(decided).where(decided < before).order_by(decided).limit(limit)
    instants = connection.execute(old).scalars().all()
    if not instants:
        return Purged(0, None)
    removed = connection.execute(delete(fires).where(decided <= instants[-1])).rowcount
    return Purged(removed, 0 if len(instants) == limit else None)


def purge_statistics(connection: Connection, before: int, limit: int) -> Purged:
    """Remove counts of hours before ``before``, oldest first, of ``limit`` jobs at a time."""
    hour, job_id = statistics.c.hour, statistics.c.job_id
    oldest = connection.execute(select(hour).where(hour < before).order_by(hour).limit(1)).scalar()
    if oldest is None:
        return Purged(0, None)
    jobs = select(job_id).where(hour == oldest).distinct().limit(limit)
    ids = connection.execute(jobs).scalars().all()
    removed = connection.execute(delete(statistics).where(hour == oldest, among(connection, job_id, ids))).rowcount
    return Purged(removed, 0)


def purge_batches(connection: Connection, before: int, *, after: int, limit: int) -> Purged:
    """Remove batches that are over since before ``before``, among the next ``limit`` with an id above ``after``."""
    columns = batches.c
    span = select(columns.id, columns.state, columns.changed_at).where(columns.id > after)
    rows = connection.execute(span.order_by(columns.id).limit(limit)).all()
    ids = [row.id for row in rows if row.state != BatchState.RUNNING and row.changed_at < before]
    removed = connection.execute(delete(batches).where(among(connection, columns.id, ids))).rowcount if ids else 0
    return Purged(removed, rows[-1].id if len(rows) == limit else None)
