"""A coordinator among others: what it does with its fellows, made from what it is given.

``Company`` is the last part of a coordinator to be made and the first to hear that it stops: ``drain`` gives away what
others must go on with while everything still turns, ``leave`` says good-bye when nothing does. With one coordinator and
nothing to share it costs a row and a beat.
"""

import asyncio
from collections.abc import Sequence

from orth.cluster.life import ProofOfLife
from orth.cluster.load import LoadMeter
from orth.cluster.membership import HeartbeatEar, Membership, Rhythm, Voice
from orth.cluster.onlooking import Onlooker
from orth.coordinator.owning import Owning
from orth.coordinator.rooms import Surroundings, Work
from orth.loop import Loop
from orth.store.nodes import Load


class Company:
    """The fellows of this node."""

    def __init__(self, given: Surroundings, work: Work) -> None:
        self._work = work
        self._meter = LoadMeter(given.clock)
        self.stop_asked = asyncio.Event()
        """Set when somebody, by the API, asks this node to stop, or another process has taken its name."""
        voice = None if given.channels is None else Voice(given.channels, given.names)
        cluster = given.settings.cluster
        rhythm = Rhythm(cluster.heartbeat, cluster.dead_after)
        self.membership = Membership(
            given.db,
            work.election,
            given.node,
            given.clock,
            given.events,
            rhythm=rhythm,
            url=given.url,
            voice=voice,
            load=self._load,
            asked_to_stop=self.stop_asked.set,
            admit=given.admit,
            chance=given.chance,
        )
        self.onlooker = Onlooker(
            given.db, self.membership.fellows, work.election, given.clock, given.events, rhythm=rhythm
        )
        """For a process that is no member and shows them all the same."""
        self._proof = None if given.life is None else ProofOfLife(given.life, given.clock, given.events)
        self.owning = Owning(given, work, self.membership.fellows)
        self.loops: Sequence[Loop] = (
            self.membership,
            *([self._proof] if self._proof else []),
            *self.owning.loops,
            *([HeartbeatEar(self.membership, voice, given.clock, given.events)] if voice else []),
        )

    async def drain(self) -> None:
        """Give away what this node owns; everything still turns meanwhile."""
        try:
            await self.membership.drain()
        finally:  # what this node owns is the others' also if they could not be told that it leaves
            await self.owning.drain()

    async def leave(self) -> None:
        """Say that this node is gone; its loops have ended and it no longer leads."""
        await self.owning.leave()
        await self.membership.leave()
        if self._proof is not None:
            await self._proof.close()

    def _load(self) -> Load:
        waiting = sum(self._work.dispatch.posting.standing().held.values())
        return self._meter.load(job_count=len(self.owning.holdings), queued_count=waiting)
