"""FAILOVER and BUSYOVER: whom to send to is asked of the executors themselves, in the order of the list.

FAILOVER takes the first that answers ``/beat``; an answer is good for a moment, so that many executions of one instant
ask once. BUSYOVER takes the first that says it is idle; an executor that was just given an execution of the same job
counts as busy until it has answered.

The first address is committed before anybody is asked. If another one is chosen, it is committed before it is sent to.
"""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orth.clock import Clock
from orth.coordinator.letters import Answer, Letter, Outcome, Peer
from orth.coordinator.reach import Reach
from orth.domain import reasons
from orth.domain.jobs import RouteStrategy
from orth.errors import OrthError
from orth.wire.executor_link import ExecutorLink, TokenNotShown
from orth.wire.messages import Reply

_FRESH = 1.0
_REMEMBERED = 10_000
_SAID_LIMIT = 5


@dataclass(frozen=True, slots=True)
class Choice:
    """A letter with its executor settled. ``heard`` says why the first one was passed over, if it was."""

    letter: Letter
    heard: str = ""


class Choosing:
    """Asks executors."""

    def __init__(self, link: ExecutorLink, reach: Reach, clock: Clock, token: str) -> None:
        self._link = link
        self._reach = reach
        self._clock = clock
        self._token = token
        self._beats: dict[tuple[str, str], tuple[float, asyncio.Task[str]]] = {}
        self._given: Counter[tuple[int, str]] = Counter()
        self._in_turn: dict[int, asyncio.Lock] = {}

    async def choose(self, letter: Letter) -> Choice | Answer:
        """The letter as it shall be sent, or that nobody would do."""
        if letter.job.executor_route_strategy is RouteStrategy.FAILOVER:
            return await self._first_that_answers(letter)
        if len(self._in_turn) >= _REMEMBERED:
            self._in_turn = {job: lock for job, lock in self._in_turn.items() if lock.locked()}
        async with self._in_turn.setdefault(letter.job.id, asyncio.Lock()):
            return await self._first_idle(letter)  # one after the other: no two may find the same executor idle

    def settled(self, letters: Iterable[Letter]) -> None:
        """What was given is answered, or not sent after all: from now on the executors' own words count."""
        for letter in letters:
            given = (letter.job.id, letter.peer.key)
            if given in self._given:
                self._given[given] -= 1
                if self._given[given] <= 0:
                    del self._given[given]

    async def _first_that_answers(self, letter: Letter) -> Choice | Answer:
        heard: list[str] = []
        for peer in (letter.peer, *letter.others):
            trouble = await self._beat(peer)
            if not trouble:
                return _chosen(letter, peer, heard)
            heard.append(trouble)
        return Answer(letter, Outcome.NOBODY, f"No executor answered: {_listed(heard)}", reasons.NONE_ANSWERED)

    async def _beat(self, peer: Peer) -> str:
        """Nothing when the executor answers, else what is wrong."""
        now = self._clock.monotonic()
        asked = (peer.app_name, peer.key)
        known = self._beats.get(asked)
        if known is None or now - known[0] > _FRESH:
            if len(self._beats) >= _REMEMBERED:
                self._beats.clear()
            call = self._link.beat(peer.address, token=self._token, app_name=peer.app_name, dialect=peer.dialect)
            known = now, asyncio.ensure_future(self._trouble(peer, call))
            self._beats[asked] = known
        return await asyncio.shield(known[1])

    async def _first_idle(self, letter: Letter) -> Choice | Answer:
        heard: list[str] = []
        for peer in (letter.peer, *letter.others):
            if self._given[letter.job.id, peer.key]:
                heard.append(f"{peer.address} was just given another")
                continue
            call = self._link.idle_beat(
                peer.address, letter.job.id, token=self._token, app_name=peer.app_name, dialect=peer.dialect
            )
            trouble = await self._trouble(peer, call)
            if not trouble:
                self._given[letter.job.id, peer.key] += 1
                return _chosen(letter, peer, heard)
            heard.append(trouble)
        return Answer(letter, Outcome.NOBODY, f"No executor is idle: {_listed(heard)}", reasons.NONE_IDLE)

    async def _trouble(self, peer: Peer, call: Coroutine[Any, Any, Reply]) -> str:
        """Nothing when the executor says yes, else what is wrong."""
        try:
            reply = await call
        except TokenNotShown as error:
            self._reach.spoke(peer.address)
            return str(error)
        except OrthError as error:
            self._reach.failed(peer.address, error)
            return error.message
        self._reach.spoke(peer.address)
        return "" if reply.ok else f"{peer.address}: {reply.msg or reply.code}"


def _chosen(letter: Letter, peer: Peer, heard: Sequence[str]) -> Choice:
    return Choice(replace(letter, peer=peer, asks=False, others=()), _listed(heard))


def _listed(heard: Sequence[str]) -> str:
    more = f"; and {len(heard) - _SAID_LIMIT} more" if len(heard) > _SAID_LIMIT else ""
    return "; ".join(heard[:_SAID_LIMIT]) + more
