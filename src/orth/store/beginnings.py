"""Executions that their executor says it runs."""

from collections.abc import Mapping

from sqlalchemy import Connection, case, or_, select, update

from orth.domain.executions import SUCCESS, Phase
from orth.store.engines import among
from orth.store.tables import executions

_WAITING_THERE = (Phase.DISPATCHED, Phase.QUEUED)
_NOT_KNOWN_THERE = (Phase.DISPATCHING, Phase.UNKNOWN)
_PER_STATEMENT = 500


def record_begun(connection: Connection, incarnation: str, began: Mapping[int, int], now: int) -> set[int]:
    """Executions of which their process says that they run, and since when. What has ended stays as it is, and so does
    what another process has. Those of which it is to be said again, because the answer to their trigger is not stored.
    """
    again: set[int] = set()
    ids = sorted(began)
    for start in range(0, len(ids), _PER_STATEMENT):
        some = ids[start : start + _PER_STATEMENT]
        its = (
            among(connection, executions.c.id, some),
            or_(executions.c.incarnation == incarnation, executions.c.incarnation.is_(None)),
        )
        changed = connection.execute(
            update(executions)
            .where(*its, executions.c.phase.in_(_WAITING_THERE), executions.c.trigger_code == SUCCESS)
            .values(
                phase=Phase.RUNNING,
                phase_time=now,
                start_time=case({one: began[one] for one in some}, value=executions.c.id),
            )
        )
        if changed.rowcount < len(some):
            unanswered = select(executions.c.id).where(*its, executions.c.phase.in_(_NOT_KNOWN_THERE))
            again |= set(connection.scalars(unanswered))
    return again
