"""Handing executions over: offer, ask, wait, ask again, and what to do when nobody answers.

The rows are offered before anybody is asked, so a giver that dies at any step leaves them to whoever comes next. An
acknowledgement is only a hint to look: an execution is handed over when its row says so. What happens to one that is
not taken is one of four cases:

* A: taken in time. It is somebody else's, and forgotten here.
* B: not taken within ``ack_timeout``. The others are asked again, ``tries`` times in all.
* C: still not taken. It is abandoned (``orphan_pending``) for the leader's orphan check, and a giver that leaves stays
  ``grace`` longer for late takers.
* D: nobody else is alive. A giver that leaves waits until ``hard`` for one of the others to come back, if there is one
  to wait for, and stops in any case.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from enum import Enum

from orth.channels.interface import ChannelsUnavailable, Listening
from orth.cluster.notices import handoff, read_acks
from orth.cluster.ownership_facts import HandoffsSettled
from orth.cluster.station import Station
from orth.domain.handoffs import Reason
from orth.store.database import Connection
from orth.store.ownership import Owned, Owner, offer, still_given_by

_LOOK = 0.5
_AT_ONCE = 500

Ending = Callable[[Connection, Owner, Mapping[int, int], int], set[int]]
"""What becomes of executions that nobody took: ``abandon`` or ``keep``."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How long to wait for what; seconds."""

    ack_timeout: float = 5.0
    tries: int = 3
    grace: float = 30.0
    hard: float = 60.0


class Step(Enum):
    """What to do about an execution that was offered."""

    FORGET = "A"
    ASK_AGAIN = "B"
    GIVE_UP = "C"
    WAIT = "wait"


def next_step(rules: Rules, *, taken: bool, asked: int, waited: float) -> Step:
    """Cases A to C for one execution that the others were asked ``asked`` times to take, the last time ``waited``
    seconds ago.
    """
    if taken:
        return Step.FORGET
    if asked and waited < rules.ack_timeout:
        return Step.WAIT
    return Step.ASK_AGAIN if asked < rules.tries else Step.GIVE_UP


def stay_until(rules: Rules, *, began: float, asked_until: float, others: bool, awaited: bool) -> float:
    """Until when somebody who leaves waits for late takers of what was not taken: cases C and D."""
    if others:
        return min(asked_until + rules.grace, began + rules.hard)
    return began + rules.hard if awaited else asked_until


@dataclass(frozen=True, slots=True)
class Handed:
    """What came of an attempt: how many others have, and what is left, each with its generation."""

    taken: int
    left: Mapping[int, int]


class HandingOver:
    """Offers executions of this node to the others and waits until they have them."""

    def __init__(self, station: Station, rules: Rules) -> None:
        self._at = station
        self._rules = rules
        self._look = min(_LOOK, rules.ack_timeout / 2)

    async def hand_over(self, seen: Mapping[int, int], reason: Reason, otherwise: Ending, until: float) -> Handed:
        """Hand over these executions, each with its generation, and do ``otherwise`` with what nobody has taken after
        the last try, or at ``until``.
        """
        at, clock = self._at, self._at.clock
        offered = await at.db.tx(offer, at.owner, seen, clock.now())
        at.holdings.drop(one for one in seen if one not in offered)
        left = {one: seen[one] for one in offered}
        async with self._ear() as ear:
            asked, asked_at, late = 0, clock.monotonic(), 0
            while left and clock.monotonic() < until and self._somebody_may_take():
                step = next_step(self._rules, taken=False, asked=asked, waited=clock.monotonic() - asked_at)
                if step is Step.GIVE_UP:
                    break
                if step is Step.ASK_AGAIN:
                    await self._ask(left, reason)
                    asked, asked_at = asked + 1, clock.monotonic()
                before, left = len(left), await self.still_left(left, ear)
                late += before - len(left) if asked > 1 else 0
        if left:
            await at.db.tx(otherwise, at.owner, left, clock.now())
        taken, alone = len(offered) - len(left), not at.peers.others()
        at.events.emit(HandoffsSettled(at.owner.node_id, reason.value, taken, len(left), late, alone))
        return Handed(taken, left)

    def _somebody_may_take(self) -> bool:
        """Others may have left since this began: those who are told to stop together have nobody to wait for."""
        return bool(self._at.peers.others()) or self._at.peers.awaited()

    async def still_left(self, left: Mapping[int, int], ear: Listening | None = None) -> dict[int, int]:
        """Wait a moment, or for an acknowledgement, and forget what others have by now or what has ended."""
        await self._news(ear)
        at = self._at
        still = await at.db.read(still_given_by, at.owner, left)
        at.holdings.drop(one for one in left if one not in still)
        return {one: generation for one, generation in left.items() if one in still}

    async def _ask(self, left: Mapping[int, int], reason: Reason) -> None:
        at, now = self._at, self._at.clock.now()
        if at.channels is None:
            return  # the others look at the rows
        held = at.holdings.held
        wanted = [Owned(one, held[one].job_id, generation) for one, generation in left.items() if one in held]
        try:
            for start in range(0, len(wanted), _AT_ONCE):
                messages = [handoff(one, at.owner.node_id, reason, now) for one in wanted[start : start + _AT_ONCE]]
                await at.channels.send(at.names.handoff, messages)
        except ChannelsUnavailable:
            return  # as above

    async def _news(self, ear: Listening | None) -> None:
        try:
            if ear is not None:
                read_acks(heard.message for heard in await ear.next(self._look))
                return
        except ChannelsUnavailable:
            pass
        await self._at.clock.sleep_unless(asyncio.Event(), self._look)

    @asynccontextmanager
    async def _ear(self) -> AsyncIterator[Listening | None]:
        """What is said about our executions, if anything can be heard."""
        at = self._at
        async with AsyncExitStack() as stack:
            ear: Listening | None = None
            if at.channels is not None:
                with suppress(ChannelsUnavailable):  # then the rows tell
                    listening = at.channels.listen([at.names.handoff_ack(at.owner.node_id)])
                    ear = await stack.enter_async_context(listening)
            yield ear
