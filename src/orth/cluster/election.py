"""Who leads: one method as follower, one as leader."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from orth.clock import Clock
from orth.cluster.facts import TermBegan, TermEndedHere
from orth.events import Events
from orth.loop import Loop
from orth.store.database import Database
from orth.store.leases import Lease, read_lease, renew_lease, resign_lease, take_lease

# Part of the lease kept as a reserve between "I no longer trust it" and "others may take it".
_MARGIN = 0.1


@dataclass(frozen=True, slots=True)
class Node:
    """This coordinator: its name, and the id of this very process."""

    id: str
    incarnation: str


@dataclass(frozen=True, slots=True)
class Term:
    """A leadership of this process; ``epoch`` is its number."""

    epoch: int


@dataclass(frozen=True, slots=True)
class _Sighting:
    lease: Lease
    first_seen: float


class Election(Loop):
    """Competes for the lease and renews it."""

    def __init__(
        self,
        db: Database,
        node: Node,
        clock: Clock,
        events: Events,
        *,
        lease: timedelta,
        renew: timedelta,
        surely_dead: Callable[[Lease], bool] = lambda _lease: False,
        chance: random.Random | None = None,
    ) -> None:
        super().__init__(clock, events, chance=chance)
        self._db = db
        self._node = node
        self._lease = lease.total_seconds()
        self._renew = renew.total_seconds()
        self._longest_pause = self._renew  # the sooner the database is found to be back, the less is planned late
        self._surely_dead = surely_dead
        self._sighting: _Sighting | None = None
        self._term: Term | None = None
        self._trusted_until = 0.0
        self._worked_at = 0.0
        self.led: list[Loop] = []
        """Loops to wake when a term begins, and when the database is back."""

    @property
    def term(self) -> Term | None:
        """The term this process may act in right now."""
        return self._term if self.clock.monotonic() < self._trusted_until else None

    def worked(self) -> None:
        """A planning pass was completed: what a renewal has to be earned by."""
        self._worked_at = self.clock.monotonic()

    def fenced(self, term: Term) -> None:
        """The database refused a write of ``term``: somebody else leads."""
        if self._term == term:
            self._step_down("the database knows a newer term")

    async def turn(self) -> float:
        """Compete or renew. When that works again after failures, the loops that failed with it need not wait out the
        pauses they have grown.
        """
        was_away = self._failures > 0
        pause = await (self._follow() if self._term is None else self._lead(self._term))
        if was_away:
            self._wake_led()
        return pause

    async def resign(self) -> None:
        """Give the lease up, so that the next leader need not wait for it to run out."""
        term = self._term
        if term is not None:
            self._step_down("this node stops")
            await self._db.tx(resign_lease, term.epoch, self._node.incarnation)

    async def _follow(self) -> float:
        lease = await self._db.tx(read_lease)
        now = self.clock.monotonic()
        if self._sighting is None or self._sighting.lease != lease:
            self._sighting = _Sighting(lease, now)
        waited = now - self._sighting.first_seen
        if lease.node_id is not None and not self._surely_dead(lease) and waited < self._lease:
            return min(self._renew, self._lease - waited) * self._chance.uniform(0.8, 1.0)
        epoch = await self._db.tx(take_lease, lease, self._node.id, self._node.incarnation)
        if epoch is None:
            return 0.0  # somebody was first: look who
        self._begin(Term(epoch), now)
        return self._renew

    async def _lead(self, term: Term) -> float:
        sent = self.clock.monotonic()
        if sent >= self._trusted_until:
            self._step_down("it was not renewed in time")
            return 0.0
        if sent - self._worked_at > self._lease:
            # Held by a process that does not plan, the lease would only keep others from doing so.
            self._step_down("no planning pass was completed for a whole lease")
            await self._db.tx(resign_lease, term.epoch, self._node.incarnation)
            return self._lease
        if await self._db.tx(renew_lease, term.epoch, self._node.incarnation):
            self._trust_from(sent)
            return self._renew
        self._step_down("somebody else holds the lease")
        return 0.0

    def _begin(self, term: Term, asked: float) -> None:
        self._term = term
        self._sighting = None
        self._worked_at = asked
        self._trust_from(asked)
        self.events.emit(TermBegan(self._node.id, term.epoch))
        self._wake_led()

    def _wake_led(self) -> None:
        for loop in self.led:
            loop.wake()

    def _trust_from(self, sent: float) -> None:
        self._trusted_until = sent + self._lease * (1 - _MARGIN)

    def _step_down(self, reason: str) -> None:
        assert self._term is not None
        self.events.emit(TermEndedHere(self._node.id, self._term.epoch, reason))
        self._term = None
        self._trusted_until = 0.0
