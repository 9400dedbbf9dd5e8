"""The fire ledger: what was decided about every due fire, so that silence is never an answer."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from orth.domain.fires import FireDecision
from orth.store.engines import among, insert_new
from orth.store.tables import fires

NO_TERM = 0
"""The epoch of decisions that no leader made: somebody stopped, changed or deleted the job."""


def record_fires(connection: Connection, entries: Sequence[FireDecision], epoch: int, now: int) -> None:
    """Write decisions; one already written stands."""
    rows = [
        {
            "job_id": entry.job_id,
            "fire_time": entry.fire_time,
            "last_time": entry.last_time,
            "fires": entry.fires,
            "decision": entry.decision,
            "reason": entry.reason[:255],
            "job_version": entry.job_version,
            "epoch": epoch,
            "decided_at": now,
        }
        for entry in entries
    ]
    insert_new(connection, fires, rows)


def fire_of(connection: Connection, job_id: int, fire_time: int) -> FireDecision | None:
    """What was decided about one fire, if the ledger still has it."""
    row = connection.execute(
        select(fires).where(fires.c.job_id == job_id, fires.c.fire_time == fire_time)
    ).one_or_none()
    return None if row is None else _decision(row)


def list_fires(connection: Connection, job_id: int, limit: int, before: int | None = None) -> list[FireDecision]:
    """Decisions about a job, newest first, those of fires before ``before``."""
    statement = select(fires).where(fires.c.job_id == job_id)
    if before is not None:
        statement = statement.where(fires.c.fire_time < before)
    rows = connection.execute(statement.order_by(fires.c.fire_time.desc()).limit(limit))
    return [_decision(row) for row in rows]


def planned_after(connection: Connection, job_ids: Collection[int], now: int) -> dict[int, list[int]]:
    """The fires of these jobs that lie ahead and are to run, each job's in order. What was planned ahead is still to
    come, though the job waits for a later one by then.
    """
    ahead = select(fires.c.job_id, fires.c.fire_time).where(
        among(connection, fires.c.job_id, sorted(job_ids)), fires.c.fire_time > now, fires.c.decision == "run"
    )
    found: dict[int, list[int]] = {}
    for job_id, fire in connection.execute(ahead.order_by(fires.c.job_id, fires.c.fire_time)):
        found.setdefault(job_id, []).append(fire)
    return found


def _decision(row: Row[Any]) -> FireDecision:
    return FireDecision(row.job_id, row.fire_time, row.last_time, row.fires, row.decision, row.reason, row.job_version)
