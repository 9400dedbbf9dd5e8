"""The UnreadableRows loop: tells once about each row that this version cannot read.

Those who work with groups, executors and executions pass over what they cannot read, so that one such row never keeps
the others from being served. Somebody has to say so, or nobody would know why it stands still.
"""

from orth.clock import Clock
from orth.cluster.election import Election
from orth.cluster.leading import LeaderLoop
from orth.coordinator.facts import RowUnreadable
from orth.events import Events
from orth.store.database import Connection, Database
from orth.store.executions import unreadable_executions
from orth.store.executor_entries import list_executors
from orth.store.groups import unreadable_groups
from orth.store.leases import Term

_LOOK_EVERY = 30.0
_TOLD_AT_MOST = 100
"""Of each kind: whoever finds so many need not be told of the others."""


class UnreadableRows(LeaderLoop):
    """Looks now and then, and tells what is new."""

    def __init__(self, db: Database, election: Election, clock: Clock, events: Events) -> None:
        super().__init__(election, clock, events)
        self._db = db
        self._told: dict[str, str] = {}

    async def lead(self, term: Term) -> float:
        del term  # nothing is written
        found: dict[str, str] = await self._db.read(_look)
        for what, reason in found.items():
            if self._told.get(what) != reason:
                self.events.emit(RowUnreadable(what, reason))
        self._told = found  # what was mended and broken again is told again
        return _LOOK_EVERY


def _look(connection: Connection) -> dict[str, str]:
    """What cannot be read, each with what is wrong with it."""
    groups = unreadable_groups(connection, _TOLD_AT_MOST)
    executors = [entry for entry in list_executors(connection) if entry.unreadable]
    executions = unreadable_executions(connection, _TOLD_AT_MOST)
    return {
        **{f"group {one.id} ({one.app_name})": one.unreadable for one in groups},
        **{f"executor {one.address} of {one.app_name}": one.unreadable for one in executors[:_TOLD_AT_MOST]},
        **{f"execution {one.id}": one.reason for one in executions},
    }
