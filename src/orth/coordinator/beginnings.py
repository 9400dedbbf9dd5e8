"""What executors say of executions that run: written down, so that one that runs can be told from one that waits.

Nothing rests on it: an execution that has ended stays ended, and one of which it was never said ends as any other. It
counts from those who may speak for the execution (``proving``), and from nobody else.
"""

from orth.clock import Clock
from orth.coordinator.proving import Proving
from orth.store.beginnings import record_begun
from orth.store.database import Connection, Database
from orth.store.executions import sent_among
from orth.wire.beginnings import BegunReport


class Beginnings:
    """Takes word of executions that run."""

    def __init__(self, db: Database, clock: Clock, proving: Proving) -> None:
        self._db = db
        self._proving = proving
        self._clock = clock

    async def take(self, report: BegunReport) -> set[int]:
        """Write it down; the executions of which it is to be said again."""
        if not report.begun:
            return set()
        return await self._db.tx(self._record, report, self._clock.now())

    def _record(self, connection: Connection, report: BegunReport, now: int) -> set[int]:
        sent = sent_among(connection, (one.log_id for one in report.begun))
        began = {
            one.log_id: one.start_time
            for one in report.begun
            if one.log_id in sent and self._proving.unproved(one.log_id, sent[one.log_id], one.report_key) is None
        }
        return record_begun(connection, report.incarnation, began, now)
