"""The leader looks for executions that nobody looks after, and offers them to all.

An owner may be dead, gone, or replaced by a newer process of its name; one that left may have abandoned what nobody
took; and an execution may never have had an owner, because its assignment was lost. Each pass first writes down what
it found, in the term's own transactions, and then offers everything that is written down as nobody's. So a leader that
dies in the middle leaves nothing that the next one does not find, and a pass that is repeated changes nothing.
"""

from orth.channels.interface import ChannelsUnavailable
from orth.clock import Clock
from orth.cluster.election import Election
from orth.cluster.leading import LeaderLoop
from orth.cluster.notices import handoff
from orth.cluster.ownership_facts import OrphansFound, OrphansOffered
from orth.cluster.station import Station
from orth.domain.handoffs import Reason
from orth.store.leases import Term
from orth.store.ownership import (
    Adoptable,
    Holding,
    Owner,
    adoptable,
    orphan,
    orphan_unowned,
    owners,
    release_orphans,
    unowned,
)

_BATCH = 500
_LOOKED_AT = 20_000
_FULL = 10_000
"""Messages that wait in the queue for handoffs, from which on no more are added: they would be repetitions."""


class Orphans(LeaderLoop):
    """The orphan check."""

    def __init__(self, station: Station, election: Election, *, every: float, assignment_timeout: float) -> None:
        super().__init__(election, station.clock, station.events)
        self._at = station
        self._every = every
        # What was pushed is assigned only after a while.
        self._assignment_timeout = assignment_timeout + station.own_after
        self._unowned = Sightings(station.clock, self._assignment_timeout)

    async def lead(self, term: Term) -> float:
        await self._orphan_of_gone(term)
        await self._orphan_unowned(term)
        await self._give_back()
        await self._offer()
        while await self._at.db.leader_tx(term, release_orphans, _BATCH) == _BATCH:
            pass
        # What was seen without an owner for the first time is due before the next pass.
        return min(self._every, self._assignment_timeout) if self._unowned else self._every

    async def _orphan_of_gone(self, term: Term) -> None:
        named = {
            Owner(row.node_id, row.incarnation or "")
            for row in await self._at.db.read(owners)
            if row.node_id is not None and row.holding is not Holding.ORPHAN_PENDING
        }
        for gone in sorted(await self._at.peers.gone(named), key=lambda owner: owner.node_id):
            count = 0
            now = self.clock.now()
            lost_at = min(self._at.peers.last_heard(gone) or now, now)
            while True:
                some = await self._at.db.leader_tx(term, orphan, gone, lost_at, _BATCH)
                count += some
                if some < _BATCH:
                    break
            if count:
                self.events.emit(OrphansFound(gone.node_id, "it is gone", count))

    async def _orphan_unowned(self, term: Term) -> None:
        found: list[int] = []
        for _ in range(0, _LOOKED_AT, _BATCH):
            some = await self._at.db.read(unowned, _BATCH, after=found[-1] if found else 0)
            found += some
            if len(some) < _BATCH:
                break
        due = self._unowned.see(found)
        for start in range(0, len(due), _BATCH):
            some = due[start : start + _BATCH]
            await self._at.db.leader_tx(term, orphan_unowned, some, self.clock.now())
        if due:
            self.events.emit(OrphansFound("nobody", "it was never taken", len(due)))

    async def _give_back(self) -> None:
        """Messages that a process took which is gone go to others."""
        if self._at.channels is None:
            return
        alive = self._at.peers.incarnations()
        try:
            for queue in (self._at.names.assigned, self._at.names.handoff):
                for consumer in await self._at.channels.consumers(queue):
                    if consumer != self._at.consumer and consumer not in alive:
                        await self._at.channels.give_back(queue, consumer)
        except ChannelsUnavailable:
            return  # what they were about is found in the rows

    async def _offer(self) -> None:
        if self._at.channels is None:
            return
        after, count = 0, 0
        try:
            while await self._at.channels.waiting(self._at.names.handoff) < _FULL:
                some = await self._at.db.read(adoptable, _BATCH, after=after)
                if not some:
                    break
                after = some[-1].execution_id
                now = self.clock.now()
                messages = [
                    handoff(one, one.node_id or "", _reason(one), now)
                    for one in some
                    if one.holding is Holding.ORPHAN_PENDING
                ]
                if messages:
                    await self._at.channels.send(self._at.names.handoff, messages)
                count += len(messages)
        except ChannelsUnavailable:
            return  # everybody looks at the rows as well
        if count:
            self.events.emit(OrphansOffered(count))


class Sightings:
    """Since when executions have been seen without an owner, on our own clock."""

    def __init__(self, clock: Clock, timeout: float) -> None:
        self._clock = clock
        self._timeout = timeout
        self._since: dict[int, float] = {}

    def __bool__(self) -> bool:
        return bool(self._since)

    def see(self, ids: list[int]) -> list[int]:
        """Those of ``ids`` that have been seen for a whole timeout; they and all that are not seen are forgotten."""
        now = self._clock.monotonic()
        seen = {one: self._since.get(one, now) for one in ids}
        due = [one for one, since in seen.items() if now - since >= self._timeout]
        self._since = {one: since for one, since in seen.items() if now - since < self._timeout}
        return due


def _reason(one: Adoptable) -> Reason:
    return Reason.ORPHAN if one.node_id is None else Reason.NODE_CRASH
