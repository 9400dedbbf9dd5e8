"""Executions that must end within a time, as far as the database knows."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, select

from orth.domain.executions import OPEN_PHASES, TAKEN_PHASES, Phase
from orth.store.tables import executions, jobs

_SENT = tuple(phase for phase in OPEN_PHASES if phase is not Phase.OPENED)
_BATCH = 1000


@dataclass(frozen=True, slots=True)
class Limited:
    """An open execution of a job with a time limit that was, or may have been, sent to an executor."""

    id: int
    job_id: int
    address: str
    ours: bool
    taken: bool
    sent_at: int
    not_before: int | None
    timeout: int
    """Seconds."""
    block_strategy: str
    concurrency: int
    overlap: str


def list_limited(connection: Connection) -> Iterable[Limited]:
    """All of them, in order of id."""
    limited = (
        select(
            executions.c.id,
            executions.c.job_id,
            executions.c.executor_address,
            executions.c.incarnation,
            executions.c.phase,
            executions.c.phase_time,
            executions.c.not_before,
            jobs.c.executor_timeout,
            jobs.c.executor_block_strategy,
            jobs.c.executor_concurrency,
            jobs.c.overlap,
        )
        .select_from(executions.join(jobs, jobs.c.id == executions.c.job_id))
        .where(executions.c.phase.in_(_SENT), jobs.c.executor_timeout > 0)
        .order_by(executions.c.id)
        .limit(_BATCH)
    )
    after = 0
    while rows := connection.execute(limited.where(executions.c.id > after)).all():
        for row in rows:
            yield Limited(
                row.id,
                row.job_id,
                row.executor_address or "",
                row.incarnation is not None,
                row.phase in TAKEN_PHASES,
                row.phase_time,
                row.not_before,
                row.executor_timeout,
                row.executor_block_strategy,
                row.executor_concurrency,
                row.overlap,
            )
        after = rows[-1].id
