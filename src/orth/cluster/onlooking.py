"""Knowing the coordinators without being one: for processes that only show what there is."""

from orth.clock import Clock
from orth.cluster.election import LOOK, Election
from orth.cluster.fellows import Fellows
from orth.cluster.membership import Rhythm
from orth.events import Events
from orth.loop import Loop
from orth.store.database import Connection, Database
from orth.store.leases import Lease, find_lease
from orth.store.nodes import NodeRow, list_nodes


class Onlooker(Loop):
    """Watches the beats of the coordinators and the lease of the leader, and takes no part in either.

    The lease is looked at as often as a follower does: its age is counted from when it was first seen as it is.
    """

    def __init__(
        self, db: Database, fellows: Fellows, election: Election, clock: Clock, events: Events, *, rhythm: Rhythm
    ) -> None:
        super().__init__(clock, events)
        self._db = db
        self._fellows = fellows
        self._election = election
        self._pause = min(rhythm.pace, LOOK)

    async def turn(self) -> float:
        rows, lease = await self._db.read(_look)
        self._fellows.look(rows, self.clock.monotonic())
        if lease is not None:
            self._election.saw(lease)
        return self._pause


def _look(connection: Connection) -> tuple[list[NodeRow], Lease | None]:
    return list_nodes(connection), find_lease(connection)
