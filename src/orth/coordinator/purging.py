"""The Purging loop: what is older than the settings say is removed, in steps that nobody notices.

One step is one short transaction of the leader, then a pause. A pass goes from table to table; the next begins an hour
after it is through. Open executions are never removed, however old.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from orth.clock import Clock
from orth.cluster.election import Election
from orth.cluster.leading import LeaderLoop
from orth.coordinator.facts import RowsPurged
from orth.events import Events
from orth.store.audit import purge
from orth.store.cluster_history import trim_handoffs
from orth.store.daily_reports import drop_reports
from orth.store.database import Connection, Database
from orth.store.leases import Term
from orth.store.purging import Purged, purge_batches, purge_executions, purge_fires, purge_statistics

STEP = 500
"""Rows looked at in one transaction."""

_PAUSE = 0.05
_EVERY = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long what is kept."""

    executions: timedelta
    fires: timedelta
    statistics: timedelta
    audit: timedelta


Step: TypeAlias = Callable[[Connection, int, int], Purged]
"""Takes the instant before which things are old, and where the step before stopped."""


def _executions(connection: Connection, before: int, after: int) -> Purged:
    return purge_executions(connection, before, after=after, limit=STEP)


def _batches(connection: Connection, before: int, after: int) -> Purged:
    return purge_batches(connection, before, after=after, limit=STEP)


def _fires(connection: Connection, before: int, _after: int) -> Purged:
    return purge_fires(connection, before, STEP)


def _statistics(connection: Connection, before: int, _after: int) -> Purged:
    return purge_statistics(connection, before, STEP)


def _reports(connection: Connection, before: int, _after: int) -> Purged:
    return Purged(drop_reports(connection, before), None)


def _handoffs(connection: Connection, _before: int, _after: int) -> Purged:
    """The newest are kept, however old."""
    removed = trim_handoffs(connection, STEP)
    return Purged(removed, 0 if removed == STEP else None)


class Purging(LeaderLoop):
    """Removes what is old, a step a turn."""

    def __init__(
        self, db: Database, election: Election, clock: Clock, events: Events, *, retention: Retention, node_id: str
    ) -> None:
        super().__init__(election, clock, events)
        self._db = db
        self._node_id = node_id
        self._pass: Sequence[tuple[str, Step, timedelta]] = (
            ("executions", _executions, retention.executions),
            ("batches", _batches, retention.executions),
            ("fires", _fires, retention.fires),
            ("statistics", _statistics, retention.statistics),
            ("daily reports", _reports, retention.statistics),
            ("handoffs", _handoffs, retention.executions),
            ("audit entries", self._audit, retention.audit),
        )
        self._at = 0
        self._after = 0
        self._removed = 0

    async def lead(self, term: Term) -> float:
        what, step, kept = self._pass[self._at]
        before = self.clock.now() - kept // timedelta(milliseconds=1)
        done = await self._db.leader_tx(term, step, before, self._after)
        self._removed += done.rows
        if done.reached is not None:
            self._after = done.reached
            return _PAUSE
        if self._removed:
            self.events.emit(RowsPurged(what, self._removed))
        self._after = self._removed = 0
        self._at = (self._at + 1) % len(self._pass)
        return _PAUSE if self._at else _EVERY

    def _audit(self, connection: Connection, before: int, _after: int) -> Purged:
        removed = purge(connection, before, limit=STEP, node_id=self._node_id, now=self.clock.now())
        return Purged(removed, 0 if removed == STEP else None)
