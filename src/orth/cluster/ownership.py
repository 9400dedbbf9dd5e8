"""How a coordinator comes to own executions, and how it notices that it does not any more.

``Competing`` takes messages: assignments of the leader and handoffs of others. ``Tending`` needs none: it adopts what
was offered and stayed so between two looks, and compares what is held with what the rows say. So a message that is
lost costs seconds, and a coordinator that was frozen finds its generations gone and lets go.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence

from orth.channels.interface import ChannelsUnavailable, Delivery
from orth.cluster.notices import Handoff, ack, read_assigned, read_handoffs
from orth.cluster.ownership_facts import ExecutionsAdopted, OwnershipLost
from orth.cluster.station import Station
from orth.loop import Loop
from orth.store.ownership import Adoptable, Holding, Owned, adopt, adoptable, claim, owned_by, release

_BATCH = 500
_PART = 25
_LONGEST_PAUSE = 5.0
_LOOK = 2.0
_UNTIL_JOINED = 0.2
_COMPARE_EVERY = 5.0
_COMPARE_NOTHING_EVERY = 30.0


class Competing(Loop):
    """Takes assignments and handoffs from the queues, as many at a time as there are."""

    def __init__(self, station: Station, *, wait: float = 1.0) -> None:
        super().__init__(station.clock, station.events)
        self._at = station
        self._wait = wait
        self._longest_pause = _LONGEST_PAUSE
        self._at_hand: Mapping[str, Sequence[Delivery]] = {}
        self._acting = asyncio.Lock()
        self.takes_assignments = True
        self.takes_handoffs = True

    async def turn(self) -> float:
        if not self._at.peers.joined():
            return _UNTIL_JOINED
        await self.write_down(self.clock.monotonic() - self._at.own_after)
        if self._at.channels is None:
            return self._wait
        queues = self._queues()
        if not self._at_hand and queues:
            self._at_hand = await self._at.channels.take(queues, self._at.consumer, limit=self._part(), wait=self._wait)
        if not self._at_hand:
            return 0.0 if queues and self._wait else 1.0
        async with self._acting:
            await self._act(self._at_hand)
        for queue, deliveries in self._at_hand.items():
            await self._at.channels.done(queue, self._at.consumer, [one.id for one in deliveries])
        self._at_hand = {}
        return 0.0

    async def settled(self) -> None:
        """Return when what is being taken at this moment is known to be ours, or not."""
        async with self._acting:
            return

    async def write_down(self, followed_before: float) -> None:
        """Claim what is followed since then, as far as it is open; the rest has ended, or is another's."""
        holdings = self._at.holdings
        ids = holdings.unwritten(followed_before)
        if not ids:
            return
        mine = await self._at.db.tx(claim, self._at.owner, ids, self.clock.now())
        holdings.own(one for one in mine if one.execution_id in holdings)
        owned = {one.execution_id for one in mine}
        holdings.drop(one for one in ids if one not in owned)

    def _part(self) -> int:
        """How many to take at once: few enough that a burst is spread over all."""
        return _PART if self._at.peers.others() else _BATCH

    def _queues(self) -> list[str]:
        names = self._at.names
        wanted = ((self.takes_handoffs, names.handoff), (self.takes_assignments, names.assigned))
        return [name for takes, name in wanted if takes]

    async def _act(self, taken: Mapping[str, Sequence[Delivery]]) -> None:
        names = self._at.names
        assigned = [one.message for one in taken.get(names.assigned, ())]
        handed = [one.message for one in taken.get(names.handoff, ())]
        if assigned and self.takes_assignments:
            await self._take_assigned(assigned)
        elif assigned:  # taken while this node began to leave
            await self._send_back(names.assigned, assigned)
        if handed and self.takes_handoffs:
            await self._take_handed(read_handoffs(handed))
        elif handed:  # our own, as like as not
            await self._send_back(names.handoff, handed)

    async def _take_assigned(self, messages: Sequence[Mapping[str, object]]) -> None:
        assignments = read_assigned(messages)
        said_at_once = [one for one in assignments if one.queue]
        self._at.holdings.follow(((one.execution_id, one.job_id) for one in said_at_once), self.clock.monotonic())
        pushed = [one.execution_id for one in assignments if not one.queue]
        if pushed:
            self._at.holdings.own(await self._at.db.tx(claim, self._at.owner, pushed, self.clock.now()))

    async def _take_handed(self, handoffs: Sequence[Handoff]) -> None:
        seen = {one.execution_id: one.generation for one in handoffs}
        if not seen:
            return
        mine = await self._at.db.tx(adopt, self._at.owner, seen, self.clock.now())
        self._at.holdings.own(mine)
        givers = {one.execution_id: one.from_node for one in handoffs}
        orphans = {one.execution_id for one in handoffs if one.orphan}
        by_giver: dict[str, list[Owned]] = {}
        for one in mine:
            by_giver.setdefault(givers[one.execution_id], []).append(one)
        for giver, adopted in by_giver.items():
            unattended = sum(one.execution_id in orphans for one in adopted)
            self.events.emit(ExecutionsAdopted(self._at.owner.node_id, giver or "nobody", len(adopted), unattended))
            await self._acknowledge(giver, adopted)

    async def _acknowledge(self, giver: str, adopted: Sequence[Owned]) -> None:
        if giver and self._at.channels is not None:
            try:
                topic = self._at.names.handoff_ack(giver)
                await self._at.channels.announce(topic, ack(adopted, self._at.owner.node_id))
            except ChannelsUnavailable:
                return  # the giver reads the rows as well

    async def _send_back(self, queue: str, messages: Sequence[Mapping[str, object]]) -> None:
        assert self._at.channels is not None
        await self._at.channels.send(queue, messages)


class Tending(Loop):
    """Looks at the rows: adopts what lies about, and keeps what is held in step with them."""

    def __init__(self, station: Station, *, chance: random.Random | None = None) -> None:
        super().__init__(station.clock, station.events, chance=chance)
        self._at = station
        self._longest_pause = _LONGEST_PAUSE
        self._looks: dict[tuple[int, int], int] = {}
        """How often an execution was seen to be free, by its generation."""
        self._compared_at: float | None = None
        self._acting = asyncio.Lock()
        self.adopts = True

    async def turn(self) -> float:
        if not self._at.peers.joined():
            return _UNTIL_JOINED
        async with self._acting:
            await self._compare()
            if self.adopts:
                await self._adopt()
        return _LOOK

    async def settled(self) -> None:
        """As for ``Competing``."""
        async with self._acting:
            return

    async def _compare(self) -> None:
        """Rows are right: what they do not say is dropped, what they say is followed, what has ended is removed."""
        holdings, now = self._at.holdings, self.clock.monotonic()
        every = _COMPARE_EVERY if len(holdings) else _COMPARE_NOTHING_EVERY
        if self._compared_at is not None and now - self._compared_at < every:
            return
        before = holdings.written()
        rows, ended = await self._at.db.read(owned_by, self._at.owner)
        if ended:
            await self._at.db.tx(release, ended)
        held = holdings.written()
        told = {one.execution_id: one.generation for one in rows}
        # Only what was held before the look and is so still: what came or went meanwhile is newer than the look.
        lost = [one for one, seen in before.items() if held.get(one) == seen and one not in told]
        holdings.drop(ended)
        gone = holdings.drop(lost)
        # A row that was not known before is a claim whose answer was lost.
        holdings.own(one for one in rows if one.generation > held.get(one.execution_id, 0))
        if gone:
            self.events.emit(OwnershipLost(self._at.owner.node_id, len(gone)))
        self._compared_at = now

    async def _adopt(self) -> None:
        found = await self._at.db.read(adoptable, _BATCH)
        free = [one for one in found if not self._is_ours(one)]
        looks = {(one.execution_id, one.generation): one for one in free}
        self._looks = {key: self._looks.get(key, 0) + 1 for key in looks}
        second = [one for key, one in looks.items() if self._looks[key] == 2]
        # A fair part of it, and not the same one as the others: they look at the same rows. What is left is anybody's.
        share = -(-len(second) // (1 + len(self._at.peers.others())))
        chosen = self._chance.sample(second, share)
        chosen += [one for key, one in looks.items() if self._looks[key] > 2]
        if not chosen:
            return
        seen = {one.execution_id: one.generation for one in chosen}
        mine = await self._at.db.tx(adopt, self._at.owner, seen, self.clock.now())
        self._at.holdings.own(mine)
        won = {one.execution_id for one in mine}
        by_giver: dict[str, list[Adoptable]] = {}
        for one in chosen:
            if one.execution_id in won:
                by_giver.setdefault(one.node_id or "nobody", []).append(one)
        for giver, adopted in by_giver.items():
            orphans = sum(one.holding is Holding.ORPHAN_PENDING for one in adopted)
            self.events.emit(ExecutionsAdopted(self._at.owner.node_id, giver, len(adopted), orphans))

    def _is_ours(self, one: Adoptable) -> bool:
        return one.holding is Holding.OFFERED and one.incarnation == self._at.owner.incarnation
