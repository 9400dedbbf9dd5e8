"""Several coordinators that share a database and channels, each turned by hand or running."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from sqlalchemy import Connection

from orth.channels.interface import Channels
from orth.channels.memory import MemoryChannels
from orth.clock import Clock
from orth.cluster.assigning import Assigning
from orth.cluster.drain import Drain, Taking
from orth.cluster.handoff import HandingOver, Rules
from orth.cluster.notices import Assignment
from orth.cluster.ownership import Competing, Tending
from orth.cluster.peers import Peer
from orth.cluster.station import Station
from orth.events import Events
from orth.loop import Loop, run_loops
from orth.store.database import Database
from orth.store.executions import end_executions
from orth.store.ownership import Owned, Owner, claim, owned_by
from orth.testing import Recorder
from tests.store.builders import NOW, assign, open_some, success

QUICK = Rules(ack_timeout=0.2, tries=3, grace=0.5, hard=1.5)


@dataclass
class Company:
    """Who lives, who left without a word, and how much each says to own."""

    alive: dict[str, str] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)
    heard: dict[str, int] = field(default_factory=dict)


class StatedPeers:
    """The others as a test says that they are."""

    def __init__(self, company: Company, node_id: str) -> None:
        self._company = company
        self._node_id = node_id

    def joined(self) -> bool:
        return True

    def others(self) -> Sequence[Peer]:
        company = self._company
        return [Peer(one, company.counts.get(one, 0)) for one in company.alive if one != self._node_id]

    def awaited(self) -> bool:
        return bool(self._company.silent - {self._node_id})

    def incarnations(self) -> set[str]:
        return set(self._company.alive.values())

    def last_heard(self, owner: Owner) -> int | None:
        return self._company.heard.get(owner.node_id)

    async def gone(self, owners: Iterable[Owner]) -> set[Owner]:
        return {one for one in owners if self._company.alive.get(one.node_id) != one.incarnation}


class Node:
    """One coordinator's part in ownership."""

    def __init__(self, site: "Site", name: str, owner: Owner, channels: Channels | None) -> None:
        self.name = name
        peers = StatedPeers(site.company, name)
        self.station = Station(site.db, owner, peers, site.clock, site.events, channels)
        self.competing = Competing(self.station, wait=site.wait)
        self.tending = Tending(self.station)
        self.assigning = Assigning(self.station)
        self.handing = HandingOver(self.station, QUICK)
        self.drain = Drain(self.station, Taking(self.competing, self.tending, self.assigning), QUICK)

    @property
    def owner(self) -> Owner:
        return self.station.owner

    @property
    def held(self) -> list[int]:
        return sorted(self.station.holdings.held)

    async def owns(self) -> list[int]:
        """As the rows say."""
        rows, _ended = await self.station.db.tx(owned_by, self.owner)
        return sorted(one.execution_id for one in rows)

    async def takes(self, ids: Sequence[int]) -> list[Owned]:
        """Own executions by rows, as a claim does."""
        mine = await self.station.db.tx(claim, self.owner, ids, NOW)
        self.station.holdings.own(mine)
        return mine

    @asynccontextmanager
    async def running(self, *loops: Loop) -> AsyncIterator[None]:
        """Let it take and look for as long as this lasts."""
        turning = loops or (self.competing, self.tending)
        task = asyncio.create_task(run_loops(*turning))
        try:
            yield
        finally:
            for loop in turning:
                loop.stop()
            await task


class Site:
    """The database, the channels and everybody at them."""

    def __init__(self, db: Database, clock: Clock, *, wait: float = 0.0) -> None:
        """``wait``: for how long a turn waits for messages; none where time stands still."""
        self.db = db
        self.wait = wait
        self.clock = clock
        self.recorder = Recorder()
        self.events = Events(self.recorder)
        self.channels = MemoryChannels(clock)
        self.company = Company()

    def node(self, name: str, *, channels: bool = True) -> Node:
        self.company.alive[name] = f"process-of-{name}"
        return Node(self, name, Owner(name, f"process-of-{name}"), self.channels if channels else None)

    def kill(self, node: Node) -> None:
        del self.company.alive[node.name]
        self.company.silent.add(node.name)

    async def sent(self, count: int, prefix: str = "fire") -> list[int]:
        """Executions on their way to an executor."""
        return await self.db.tx(_sent, count, prefix)

    async def end(self, *ids: int) -> None:
        await self.db.tx(end_executions, [success(one) for one in ids], NOW)

    async def waiting(self, queue: str) -> int:
        return await self.channels.waiting(queue)


def assignments(ids: Iterable[int], queue: str = "") -> list[Assignment]:
    return [Assignment(one, 1, queue, "nightly") for one in ids]


def _sent(connection: Connection, count: int, prefix: str) -> list[int]:
    ids = open_some(connection, count, prefix=prefix)
    assign(connection, *ids)
    return ids
