"""Which coordinators live, judged by watching them.

The counter of a fellow's beats is watched with our own clock: it lives while the counter moves, and is dead when it
stood still for a whole ``dead_after``. No clock of another machine is read. Silence counts only while we were looking:
after a pause of our own (a frozen process, a database that was away) every silence begins anew, for then it was we who
did not listen.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from orth.cluster.facts import NodeDied, NodeDraining, NodeJoined, NodeLeft, NodeReturned
from orth.store.nodes import NodeRow, NodeState

NodeNews = NodeJoined | NodeReturned | NodeDied | NodeDraining | NodeLeft

_LOOKED_AWAY = 0.6
"""The part of ``dead_after`` after which a pause of our own makes every silence begin anew."""


@dataclass(frozen=True, slots=True)
class Fellow:
    """A coordinator as this one sees it."""

    row: NodeRow
    seen_at: float
    """When its counter was last seen to move, on our clock."""
    dead: bool = False

    @property
    def alive(self) -> bool:
        return not self.dead and self.row.said.state is not NodeState.OFFLINE

    @property
    def state(self) -> NodeState:
        """As it says itself, or dead."""
        said = self.row.said.state
        return NodeState.DEAD if self.dead and said is not NodeState.OFFLINE else said

    @property
    def takes_work(self) -> bool:
        """Whether it lives and is not about to leave."""
        return self.alive and self.row.said.state is not NodeState.DRAINING


class Fellows:
    """What this process has seen of all coordinators, itself among them."""

    def __init__(self, *, dead_after: float) -> None:
        self._dead_after = dead_after
        self._looked_at: float | None = None
        self._known: dict[str, Fellow] = {}
        self._replaced: dict[str, NodeRow] = {}
        """The last row of the process before, of those whose name another one bears now."""

    def look(self, rows: Sequence[NodeRow], now: float) -> list[NodeNews]:
        """Take in the table as it is now; what is new about it."""
        if self._looked_at is not None and now - self._looked_at > self._dead_after * _LOOKED_AWAY:
            self._known = {name: replace(fellow, seen_at=now) for name, fellow in self._known.items()}
        self._looked_at = now
        before, self._known = self._known, {}
        news: list[NodeNews] = []
        for row in rows:
            name = row.said.node_id
            fellow = self._known[name] = self._judged(row, before.get(name), now)
            self._note_replaced(before.get(name), row)
            news += _news(before.get(name), fellow, now)
        return news

    def sign_of_life(self, node_id: str, incarnation: str, beats: int, now: float) -> None:
        """A beat that was heard of before it was read; it only ever prolongs a life."""
        known = self._known.get(node_id)
        if known is None or known.row.said.incarnation != incarnation or beats <= known.row.beats:
            return
        self._known[node_id] = replace(known, seen_at=now)

    def all(self) -> Sequence[Fellow]:
        return tuple(self._known.values())

    def find(self, node_id: str) -> Fellow | None:
        return self._known.get(node_id)

    def last_heard(self, node_id: str, incarnation: str) -> int | None:
        """When a process last beat, by its own clock; for people. Of one that was replaced before we saw it, when its
        successor joined, for its own word is gone.
        """
        known = self._known.get(node_id)
        if known is None:
            return None
        if known.row.said.incarnation == incarnation:
            return known.row.last_beat
        before = self._replaced.get(node_id)
        return before.last_beat if before and before.said.incarnation == incarnation else known.row.joined_at

    @property
    def known(self) -> bool:
        """Whether anybody has looked yet."""
        return self._looked_at is not None

    def next_death(self, now: float) -> float:
        """Seconds until the first of them would be dead if it stayed silent."""
        return min((one.seen_at + self._dead_after - now for one in self._known.values() if one.alive), default=60.0)

    def _note_replaced(self, before: Fellow | None, row: NodeRow) -> None:
        if before is not None and before.row.said.incarnation != row.said.incarnation:
            self._replaced[row.said.node_id] = before.row

    def _judged(self, row: NodeRow, known: Fellow | None, now: float) -> Fellow:
        # Declared dead by a leader is dead to all, until it beats.
        dead = row.said.state is NodeState.DEAD
        if known is None or known.row.said.incarnation != row.said.incarnation or known.row.beats != row.beats:
            return Fellow(row, now, dead)
        return Fellow(row, known.seen_at, dead or known.dead or now - known.seen_at >= self._dead_after)


def _news(before: Fellow | None, fellow: Fellow, now: float) -> Iterator[NodeNews]:
    said = fellow.row.said
    who = (said.node_id, said.incarnation)
    if before is None or before.row.said.incarnation != said.incarnation:
        if fellow.alive:
            yield NodeJoined(*who, said.url)
        return
    if fellow.alive and before.dead:
        yield NodeReturned(*who)
    elif fellow.dead and before.alive:
        yield NodeDied(*who, now - fellow.seen_at)
    elif before.row.said.state is not said.state and said.state is NodeState.DRAINING:
        yield NodeDraining(*who)
    elif before.alive and said.state is NodeState.OFFLINE:
        yield NodeLeft(*who)
