"""Evening out: a coordinator that owns far more than another hands over half the difference.

Each judges for itself by the counts in the heartbeats, and only the one that owns most acts. These counts are as old as
a beat, and a burst is spread within one: so who thinks that it owns too much counts the rows before it acts.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from orth.cluster.handoff import HandingOver, Rules
from orth.cluster.ownership import Competing
from orth.cluster.peers import Peer
from orth.cluster.station import Station
from orth.domain.handoffs import Reason
from orth.loop import Loop
from orth.store.ownership import Holding, keep, owners

_BEATS_TO_WAIT = 3


@dataclass(frozen=True, slots=True)
class Threshold:
    """From when on it is worth the effort: ``factor`` times as much, and so many more. Fewer are chance, not load."""

    factor: float
    difference: int


def surplus(mine: int, me: str, others: Sequence[Peer], threshold: Threshold) -> int:
    """How many executions this node should hand over: half of what separates it from the one that owns least, if it
    owns most, and too much.
    """
    if not others:
        return 0
    least = min(other.job_count for other in others)
    most = max((other.job_count, other.node_id) for other in others)
    if (mine, me) < most or mine < threshold.factor * least or mine - least < threshold.difference:
        return 0
    return (mine - least) // 2


class Rebalancing(Loop):
    """Hands over what is too much, now and then."""

    def __init__(
        self, station: Station, competing: Competing, rules: Rules, threshold: Threshold, *, beat: float
    ) -> None:
        super().__init__(station.clock, station.events)
        self._at = station
        self._competing = competing
        self._rules = rules
        self._handing = HandingOver(station, rules)
        self._threshold = threshold
        self._beat = beat

    async def turn(self) -> float:
        if not self._competing.takes_handoffs:
            return self._beat  # this node leaves
        others = self._at.peers.others()
        if not self._surplus(others):
            return self._beat
        rows = await self._at.db.read(owners)
        owned = Counter({row.node_id: row.count for row in rows if row.holding is Holding.OWNED})
        count = self._surplus([replace(other, job_count=owned[other.node_id]) for other in others])
        if not count:
            return self._beat
        some = dict(islice(self._at.holdings.written().items(), count))
        self._competing.takes_handoffs = False  # or we would take our own
        try:
            until = self.clock.monotonic() + self._rules.hard
            await self._handing.hand_over(some, Reason.REBALANCE, keep, until)
        finally:
            self._competing.takes_handoffs = self._competing.takes_assignments
        return self._beat * _BEATS_TO_WAIT

    def _surplus(self, others: Sequence[Peer]) -> int:
        return surplus(len(self._at.holdings.written()), self._at.owner.node_id, others, self._threshold)
