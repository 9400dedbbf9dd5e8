"""What a kill looks at, kept as it is until the transaction ends: nobody sends, moves or ends it meanwhile."""

from collections.abc import Iterable

from sqlalchemy import Connection, select

from orth.domain.executions import OPEN_PHASES, Execution, Phase
from orth.store.engines import among, locked
from orth.store.executions import READABLE, execution_of
from orth.store.tables import executions

_IDS_PER_STATEMENT = 500
_SENT_PHASES = tuple(phase for phase in OPEN_PHASES if phase is not Phase.OPENED)


def open_at_executors(connection: Connection, job_id: int) -> set[int]:
    """The open executions of a job that were, or may have been, sent to anybody."""
    sent = select(executions.c.id).where(executions.c.job_id == job_id, executions.c.phase.in_(_SENT_PHASES))
    return set(connection.scalars(sent))


def sent_of_job(connection: Connection, job_id: int) -> list[Execution]:
    """The same that can be read, as they are now."""
    sent = select(executions).where(executions.c.job_id == job_id, executions.c.phase.in_(_SENT_PHASES), READABLE)
    return [execution_of(row) for row in connection.execute(sent.order_by(executions.c.id))]


def hold_executions(connection: Connection, ids: Iterable[int]) -> dict[int, Execution]:
    """Those of these that exist and can be read, open or ended, as they stay until the transaction ends."""
    # In order of id, as those who end executions: two such transactions never wait for each other in a ring.
    wanted = sorted(ids)
    held: dict[int, Execution] = {}
    for start in range(0, len(wanted), _IDS_PER_STATEMENT):
        chunk = among(connection, executions.c.id, wanted[start : start + _IDS_PER_STATEMENT])
        rows = locked(select(executions).where(chunk, READABLE).order_by(executions.c.id), connection)
        held |= {row.id: execution_of(row) for row in connection.execute(rows)}
    return held
