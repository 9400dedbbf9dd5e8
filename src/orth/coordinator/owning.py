"""Ownership as this coordinator takes part in it, made from what it is given.

The cluster knows executions only as numbers; here it hears, from the facts of dispatch and of finishing, which of them
want an owner and which no longer do.
"""

from collections.abc import Sequence
from contextlib import suppress

from orth.channels.interface import ChannelsUnavailable
from orth.cluster.assigning import Assigning
from orth.cluster.drain import Drain, Taking
from orth.cluster.fellows import Fellows
from orth.cluster.handoff import Rules
from orth.cluster.holdings import Holdings
from orth.cluster.orphans import Orphans
from orth.cluster.ownership import Competing, Tending
from orth.cluster.peers import SeenPeers
from orth.cluster.rebalance import Rebalancing, Threshold
from orth.cluster.station import Station
from orth.coordinator.facts import ExecutionDispatched, ExecutionFinished
from orth.coordinator.rooms import Surroundings, Work
from orth.events import Event
from orth.loop import Loop
from orth.store.ownership import Owner


class Owning:
    """What this node owns, and how it comes and goes."""

    def __init__(self, given: Surroundings, work: Work, fellows: Fellows) -> None:
        cluster = given.settings.cluster
        station = self.station = Station(
            given.db,
            Owner(given.node.id, given.node.incarnation),
            SeenPeers(given.db, fellows, given.node.id),
            given.clock,
            given.events,
            given.channels,
            given.names,
            own_after=cluster.own_after.total_seconds(),
        )
        rules = Rules(
            cluster.handoff_ack_timeout.total_seconds(),
            cluster.handoff_tries,
            cluster.handoff_grace.total_seconds(),
            cluster.handoff_hard_timeout.total_seconds(),
        )
        self.assigning = Assigning(station)
        self.competing = Competing(station)
        self.tending = Tending(station, chance=given.chance)
        self.orphans = Orphans(
            station,
            work.election,
            every=cluster.orphan_check.total_seconds(),
            assignment_timeout=cluster.assignment_timeout.total_seconds(),
        )
        self.rebalancing = Rebalancing(
            station,
            self.competing,
            rules,
            Threshold(cluster.rebalance_factor, cluster.rebalance_difference),
            beat=cluster.heartbeat.total_seconds(),
        )
        self._drain = Drain(station, Taking(self.competing, self.tending, self.assigning), rules)
        self._rebalances = cluster.rebalance
        given.events.listen(self._hear)

    @property
    def holdings(self) -> Holdings:
        """What this node follows."""
        return self.station.holdings

    @property
    def loops(self) -> Sequence[Loop]:
        own: tuple[Loop, ...] = (self.assigning, self.competing, self.tending, self.orphans)
        return (*own, self.rebalancing) if self._rebalances else own

    async def drain(self) -> None:
        """Hand over everything; the loops still turn."""
        await self._drain.run()

    async def leave(self) -> None:
        """Let others have the messages this process took and did not act on; its loops have ended."""
        at = self.station
        if at.channels is not None:
            with suppress(ChannelsUnavailable):  # the leader does it when it finds this process gone
                for queue in (at.names.assigned, at.names.handoff):
                    await at.channels.give_back(queue, at.consumer)

    def _hear(self, fact: Event) -> None:
        if isinstance(fact, ExecutionDispatched):
            self.assigning.pushed(fact.execution_id, fact.job_id)
        elif isinstance(fact, ExecutionFinished):
            self.assigning.ended(fact.execution_id)
