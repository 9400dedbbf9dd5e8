"""Leaving: a coordinator hands over all it owns before it stops.

It takes no more, writes down what it follows, offers everything at once and waits as the cases of ``handoff`` say.
Meanwhile it goes on reading what executors say, so nothing stands still. Being killed in the middle, by a second
signal or worse, costs nothing but time: every row is offered, abandoned, or owned by a process that will be found
dead.
"""

from dataclasses import dataclass

from orth.cluster.assigning import Assigning
from orth.cluster.handoff import Handed, HandingOver, Rules, stay_until
from orth.cluster.ownership import Competing, Tending
from orth.cluster.ownership_facts import DrainBegan, DrainCutShort, DrainEnded, HandoffsSettled
from orth.cluster.station import Station
from orth.domain.handoffs import Reason
from orth.errors import OrthError
from orth.store.ownership import abandon


@dataclass(frozen=True, slots=True)
class Taking:
    """All by which a node comes to own executions."""

    competing: Competing
    tending: Tending
    assigning: Assigning

    async def stop(self) -> None:
        """Take no more. What is being taken at this moment is ours when this returns, or will never be: a row that
        becomes ours behind the back of the drain would be left to the orphan check.
        """
        self.competing.takes_assignments = self.competing.takes_handoffs = False
        self.tending.adopts = False
        self.assigning.stays = False
        await self.competing.settled()
        await self.tending.settled()


class Drain:
    """Hands over everything, once."""

    def __init__(self, station: Station, taking: Taking, rules: Rules) -> None:
        self._at = station
        self._taking = taking
        self._rules = rules
        self._handing = HandingOver(station, rules)

    async def run(self) -> None:
        """Return when this node owns nothing, or need not or must not wait any longer."""
        at, began = self._at, self._at.clock.monotonic()
        try:
            await self._taking.stop()
            handed = await self._hand_over_all(began)
        except OrthError as error:
            at.events.emit(DrainCutShort(at.owner.node_id, str(error)))
            return
        if handed.taken or handed.left:
            seconds = at.clock.monotonic() - began
            at.events.emit(DrainEnded(at.owner.node_id, handed.taken, len(handed.left), seconds))

    async def _hand_over_all(self, began: float) -> Handed:
        at, hard = self._at, began + self._rules.hard
        await self._taking.competing.write_down(at.clock.monotonic())
        seen = at.holdings.written()
        if not seen:
            return Handed(0, {})
        at.events.emit(DrainBegan(at.owner.node_id, len(seen)))
        if not at.peers.others() and not at.peers.awaited():
            left = {one: seen[one] for one in await at.db.tx(abandon, at.owner, seen, at.clock.now())}
            at.events.emit(HandoffsSettled(at.owner.node_id, Reason.SHUTDOWN.value, 0, len(left), alone=True))
            return Handed(0, left)
        handed = await self._handing.hand_over(seen, Reason.SHUTDOWN, abandon, hard)
        return await self._stay(handed, began)

    async def _stay(self, handed: Handed, began: float) -> Handed:
        """Wait for late takers."""
        at, asked_until, left = self._at, self._at.clock.monotonic(), handed.left
        while left:
            others, awaited = bool(at.peers.others()), at.peers.awaited()
            until = stay_until(self._rules, began=began, asked_until=asked_until, others=others, awaited=awaited)
            if at.clock.monotonic() >= until:
                break
            left = await self._handing.still_left(left)
        return Handed(handed.taken + len(handed.left) - len(left), left)
