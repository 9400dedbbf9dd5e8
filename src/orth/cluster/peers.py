"""What ownership needs to know of the other coordinators: who may take over, who is gone, who may come back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from orth.cluster.fellows import Fellows
from orth.store.database import Database
from orth.store.nodes import NodeState, list_nodes
from orth.store.ownership import Owner


@dataclass(frozen=True, slots=True)
class Peer:
    """Another coordinator that lives and takes executions."""

    node_id: str
    job_count: int


class Peers(Protocol):
    """The others."""

    def joined(self) -> bool:
        """Whether this process is one of them by now: it must not own anything before."""
        ...

    def others(self) -> Sequence[Peer]:
        """Those that live and take executions, without this one."""
        ...

    def awaited(self) -> bool:
        """Whether there are some that fell silent without having said good-bye: they may come back."""
        ...

    def incarnations(self) -> set[str]:
        """Processes that may live, as far as is known."""
        ...

    async def gone(self, owners: Iterable[Owner]) -> set[Owner]:
        """Which of these processes are dead, have left, or were replaced by newer ones of their name."""
        ...

    def last_heard(self, owner: Owner) -> int | None:
        """When a process was last heard of, for people; None when nobody of its name is known."""
        ...


class SeenPeers:
    """As this process sees them, and as their rows say."""

    def __init__(self, db: Database, fellows: Fellows, node_id: str) -> None:
        self._db = db
        self._fellows = fellows
        self._node_id = node_id

    def joined(self) -> bool:
        return self._fellows.find(self._node_id) is not None

    def others(self) -> Sequence[Peer]:
        return [
            Peer(fellow.row.said.node_id, fellow.row.said.load.job_count)
            for fellow in self._fellows.all()
            if fellow.takes_work and fellow.row.said.node_id != self._node_id
        ]

    def awaited(self) -> bool:
        silent = (fellow.row.said for fellow in self._fellows.all() if fellow.dead)
        return any(said.node_id != self._node_id and said.state is not NodeState.OFFLINE for said in silent)

    def incarnations(self) -> set[str]:
        return {fellow.row.said.incarnation for fellow in self._fellows.all() if fellow.alive}

    def last_heard(self, owner: Owner) -> int | None:
        return self._fellows.last_heard(owner.node_id, owner.incarnation)

    async def gone(self, owners: Iterable[Owner]) -> set[Owner]:
        """Rows first, for a process joins before it owns: one that our eyes have not met yet is there all the same."""
        joined = {row.said.node_id: row.said for row in await self._db.read(list_nodes)}
        gone: set[Owner] = set()
        for owner in owners:
            said = joined.get(owner.node_id)
            if said is None or said.incarnation != owner.incarnation or said.state is NodeState.OFFLINE:
                gone.add(owner)
                continue
            seen = self._fellows.find(owner.node_id)
            if seen is not None and seen.dead and seen.row.said.incarnation == owner.incarnation:
                gone.add(owner)
        return gone
