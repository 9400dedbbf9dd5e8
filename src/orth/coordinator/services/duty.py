"""Whose turn it is to look after the services.

It is the leader's. Where nobody leads, because only processes without that role are left, everybody does it: the
database lets one of them make each change, so that the rest costs work and no harm. That nobody leads is judged by
watching: a lease that was not renewed for as long as it lasts is nobody's.
"""

from datetime import timedelta

from orth.clock import Clock
from orth.cluster.election import Election
from orth.store.database import Database
from orth.store.leases import Lease, find_lease

_SLACK = 1.5
"""Of a lease: a leader that renews late, or one that is about to be elected, is left its time."""


class Duty:
    """Asked at the beginning of each turn."""

    def __init__(self, db: Database, election: Election, clock: Clock, *, lease: timedelta) -> None:
        self.election = election
        self._db = db
        self._clock = clock
        self._patience = lease.total_seconds() * _SLACK
        self._seen: Lease | None = None
        self._since: float | None = None

    async def is_ours(self) -> bool:
        if self.election.term is not None:
            self._since = None
            return True
        seen, now = await self._db.read(find_lease), self._clock.monotonic()
        if self._since is None or seen != self._seen:
            self._seen, self._since = seen, now
        return now - self._since >= self._patience
