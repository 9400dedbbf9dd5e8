"""The base of every loop that only the leader turns."""

import random
from abc import abstractmethod

from orth.clock import Clock
from orth.cluster.election import Election
from orth.errors import TermEnded
from orth.events import Events
from orth.loop import Loop
from orth.store.leases import Term

_FOLLOWER_PAUSE = 5.0  # only a fallback: the election wakes these loops when a term begins


class LeaderLoop(Loop):
    """Turns while this node leads, rests while it does not."""

    def __init__(
        self, election: Election, clock: Clock, events: Events, *, chance: random.Random | None = None
    ) -> None:
        super().__init__(clock, events, chance=chance)
        self.election = election
        election.led.append(self)

    @abstractmethod
    async def lead(self, term: Term) -> float:
        """One turn as leader of ``term``; every write goes through ``leader_tx`` with its epoch."""

    async def turn(self) -> float:
        term = self.election.term
        if term is None:
            return _FOLLOWER_PAUSE
        try:
            return await self.lead(term)
        except TermEnded:
            self.election.fenced(term)
            return _FOLLOWER_PAUSE
