"""Who leads: one method as follower, one as leader."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from orth.clock import Clock
from orth.cluster.facts import TermBegan, TermEndedHere
from orth.cluster.lease_hint import LeaseHint
from orth.events import Events
from orth.loop import Loop
from orth.store import life_locks
from orth.store.cluster_history import note_end_of_term, note_term
from orth.store.database import Connection, Database
from orth.store.leases import Lease, Term, find_lease, read_lease, renew_lease, resign_lease, take_lease

# Part of the lease kept as a reserve between "I no longer trust it" and "others may take it".
_MARGIN = 0.1
# How often a follower looks at the lease, at least: a read of one row. What a leader says when it leaves is only a
# hint, and with nobody to carry it the next one must still begin within a second.
LOOK = 0.5
# How long the lock of a leader that was held before must be free, and its lease stand still, for it to count as dead.
# A connection that broke under a living leader is made anew by then.
_GONE_FOR = 2.0
# A leader whose event loop stood still gives the lease up while others still have time to take it: when a turn comes
# late by this part of the lease, and by so many seconds, and less than the other part of the lease is left.
_LATE, _LATE_SECONDS = 0.1, 1.0
_TOO_LITTLE = 1 / 3
# Seconds for which it does not compete then. The others look at the lease every half second.
_RECOVERS = 4 * LOOK


@dataclass(frozen=True, slots=True)
class Node:
    """This coordinator: its name, and the id of this very process."""

    id: str
    incarnation: str


@dataclass(frozen=True, slots=True)
class Standing:
    """Who leads, as far as this process knows."""

    node_id: str | None
    epoch: int
    lease_age: float
    """Seconds since this process renewed the lease, or first saw it as it is."""
    renewed: bool = True
    """Whether this process has renewed the lease in this term, or has seen a renewal."""


@dataclass(frozen=True, slots=True)
class _Sighting:
    lease: Lease
    first_seen: float
    renewed: bool = False
    """Whether it is another lease than the one seen before: somebody was there to write it."""


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
        lives: Callable[[Connection, str], bool | None] = life_locks.lives,
        hint: LeaseHint | None = None,
        chance: random.Random | None = None,
    ) -> None:
        super().__init__(clock, events, chance=chance)
        self._db = db.urgent  # a lease that waits for work to be done is lost
        self._node = node
        self._lease = lease.total_seconds()
        self._renew = renew.total_seconds()
        self._longest_pause = self._renew  # the sooner the database is found to be back, the less is planned late
        self._surely_dead = surely_dead
        self._lives = lives
        self._seen_alive: str | None = None
        self._free_since: float | None = None
        self._hint = hint or LeaseHint()
        self._sighting: _Sighting | None = None
        self._term: Term | None = None
        self._renewed_at = 0.0
        self._trusted_until = 0.0
        self._worked_at = 0.0
        self._abstains_until = 0.0
        self._expected_at: float | None = None
        """When the next turn is due; None during a turn."""
        self._woke_late = False
        self.led: list[Loop] = []
        """Loops to wake when a term begins, and when the database is back."""

    @property
    def lease(self) -> float:
        """Seconds that a lease lasts."""
        return self._lease

    @property
    def term(self) -> Term | None:
        """The term this process may act in right now."""
        now = self.clock.monotonic()
        return self._term if now < self._trusted_until and not self._stood_still(now) else None

    @property
    def standing(self) -> Standing | None:
        """Who leads; None before the first look."""
        now, term = self.clock.monotonic(), self.term
        if term is not None:
            return Standing(self._node.id, term.epoch, now - self._renewed_at)
        seen = self._sighting
        if seen is None:
            return None
        return Standing(seen.lease.node_id, seen.lease.epoch, now - seen.first_seen, seen.renewed)

    def worked(self) -> None:
        """A planning pass was completed: what a renewal has to be earned by."""
        self._worked_at = self.clock.monotonic()

    def fenced(self, term: Term) -> None:
        """The database refused a write of ``term``: somebody else leads."""
        if self._term == term:
            self._step_down("the database knows a newer term")

    async def guarded_turn(self) -> float:
        self._woke_late, self._expected_at = self._stood_still(self.clock.monotonic()), None
        pause = await super().guarded_turn()
        self._expected_at = self.paused_until
        return pause

    async def turn(self) -> float:
        """Compete or renew. When that works again after failures, the loops that failed with it need not wait out the
        pauses they have grown.
        """
        was_away = self._failures > 0
        pause = await (self._follow() if self._term is None else self._lead(self._term))
        if was_away:
            self._wake_led()
        return pause

    async def resign(self, reason: str = "this node stops") -> None:
        """Give the lease up, so that the next leader need not wait for it to run out."""
        term = self._term
        if term is not None:
            self._step_down(reason)
            await self._give_up(term)

    async def step_down(self) -> bool:
        """Let another one lead: give the lease up and take no part for as long as it lasts. False if we did not
        lead.
        """
        if self._term is None:
            return False
        self._abstains_until = self.clock.monotonic() + self._lease
        await self.resign("it was asked to step down")
        return True

    async def stand_aside(self) -> None:
        """Lead no more, while everything else goes on: asked of all nodes before they stop together with their
        executors. What falls due meanwhile is decided after the next start, instead of finding no executor.
        """
        self._abstains_until = math.inf
        await self.resign("all nodes are about to stop")

    def heard_of(self, node_id: str, *, leads: bool) -> None:
        """What a node says of itself; a hint to look at once when it has given up the lease."""
        seen = self._sighting
        if not leads and self._term is None and seen is not None and seen.lease.node_id == node_id:
            self.wake()

    def saw(self, lease: Lease) -> float:
        """Take note of the lease as it is; for how many seconds it has been so. Who only shows it needs no turns."""
        now = self.clock.monotonic()
        if self._sighting is None or self._sighting.lease != lease:
            self._sighting = _Sighting(lease, now, renewed=self._sighting is not None)
        return now - self._sighting.first_seen

    async def _follow(self) -> float:
        lease, lives = await self._db.read(_look, self._lives)
        if lease is None:
            lease = await self._db.tx(read_lease)
        now = self.clock.monotonic()
        waited = self.saw(lease)
        gone = self._vanished(lease, lives, now) >= _GONE_FOR <= waited or self._surely_dead(lease)
        ours = lease.incarnation == self._node.incarnation  # which was not renewed in time, and which nobody else took
        free = lease.node_id is None or ours or gone or waited >= self._lease
        if not free and not await self._hint.overdue(waited):
            return min(LOOK, self._renew, self._lease - waited)
        if now < self._abstains_until or not await self._hint.may_compete():
            return LOOK
        term = await self._db.tx(_take, lease, self._node, self.clock.now())
        if term is None:
            return 0.0  # somebody was first: look who
        self._begin(term, now)
        await self._hint.held(term.epoch)
        return self._renew

    def _vanished(self, lease: Lease, lives: bool | None, now: float) -> float:
        """For how long the lock of the leader's process is gone, which we had seen it hold."""
        if lives:
            self._seen_alive, self._free_since = lease.incarnation, None
        elif lives is not None and self._free_since is None and lease.incarnation == self._seen_alive:
            self._free_since = now
        known = self._free_since is not None and lease.incarnation == self._seen_alive
        return now - self._free_since if known and self._free_since is not None else 0.0

    async def _lead(self, term: Term) -> float:
        sent = self.clock.monotonic()
        if sent >= self._trusted_until:
            self._step_down("it was not renewed in time")
            return 0.0
        if self._woke_late:
            self._abstains_until = sent + _RECOVERS
            self._step_down("this process stood still, and little of the lease is left")
            await self._give_up(term)
            return LOOK
        if sent - self._worked_at > self._lease:
            # Held by a process that does not plan, the lease would only keep others from doing so.
            self._step_down("no planning pass was completed for a whole lease")
            await self._give_up(term)
            return self._lease
        renewed = await self._db.tx(renew_lease, term)
        if self._term is not term:
            return 0.0  # it ended meanwhile: somebody resigned, or met a newer one
        if renewed:
            self._trust_from(sent)
            await self._hint.held(term.epoch)
            return self._renew
        self._step_down("somebody else holds the lease")
        return 0.0

    def _stood_still(self, now: float) -> bool:
        """Whether the turn that is due comes so late that another process should lead."""
        if self._expected_at is None or self._term is None:
            return False
        left = self._renewed_at + self._lease - now
        return now - self._expected_at >= max(_LATE_SECONDS, self._lease * _LATE) and left < self._lease * _TOO_LITTLE

    async def _give_up(self, term: Term) -> None:
        await self._db.tx(_resign, term, self.clock.now())
        await self._hint.given_up(term.epoch)

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
        self._renewed_at = sent
        self._trusted_until = sent + self._lease * (1 - _MARGIN)

    def _step_down(self, reason: str) -> None:
        assert self._term is not None
        self.events.emit(TermEndedHere(self._node.id, self._term.epoch, reason))
        self._term = None
        self._trusted_until = 0.0


def _take(connection: Connection, seen: Lease, node: Node, now: int) -> Term | None:
    """Begin a term, and let it be remembered; None when somebody was first."""
    term = take_lease(connection, seen, node.id, node.incarnation)
    if term is not None:
        note_term(connection, term.epoch, node.id, node.incarnation, now)
    return term


def _resign(connection: Connection, term: Term, now: int) -> None:
    if resign_lease(connection, term):
        note_end_of_term(connection, term.epoch, now)


def _look(connection: Connection, lives: Callable[[Connection, str], bool | None]) -> tuple[Lease | None, bool | None]:
    """The lease, and whether the process that holds it is seen to live."""
    lease = find_lease(connection)
    if lease is None or lease.incarnation is None:
        return lease, None
    return lease, lives(connection, lease.incarnation)
