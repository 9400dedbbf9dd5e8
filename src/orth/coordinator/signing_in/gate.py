"""Who may have a password compared now, who waits, and who is refused.

Comparing one password takes 64 MiB and a good part of a second, on purpose: without a limit, strangers could fill the
memory. With one queue, strangers from many addresses could fill that, and keep everybody out. So there are three
queues that take turns: for users who signed in from the same address lately, for names that signed in lately, and for
everybody else. In the first queue users take turns, so no user can fill it; in the others networks do. Then the callers
of a user or network take turns. When a queue is full, a newcomer takes the place of the last one from the user or
network that has most of it.

A name that did not sign in from its address lately gets nothing from those that did: whoever has an account could make
many addresses known, and try other names from there.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeVar

from orth.domain.networks import network_of, site_of
from orth.errors import TooBusy

_Key = TypeVar("_Key")
COMPARED_AT_ONCE = 2
WAITING = 10
"""In each queue."""
REMEMBERED = 10_000
"""Callers, and names."""


class SignInPriority(IntEnum):
    """What is known of a caller who wants to sign in. Each kind has a queue of its own."""

    KNOWN_CALLER = 0  # this user signed in from there lately, or the caller is signed in
    KNOWN_NAME = 1  # somebody signed in under that name lately, from elsewhere
    UNKNOWN = 2


class RecentSignIns:
    """From where, and under which names, people signed in lately: those that were used last."""

    def __init__(self) -> None:
        self._callers: OrderedDict[tuple[str, str], None] = OrderedDict()
        """Networks, each with the name of a user who signed in from there."""
        self._names: OrderedDict[str, None] = OrderedDict()
        self.read_at: float | None = None
        """When they were last read from the sessions in the store; None if never."""

    def note(self, address: str, name: str) -> None:
        _remember(self._callers, (network_of(address), name))
        _remember(self._names, name)

    def note_all(self, found: Iterable[tuple[str, str]], now: float) -> None:
        self.read_at = now
        for address, name in found:
            self.note(address, name)

    def priority_of(self, address: str, name: str) -> SignInPriority:
        if (network_of(address), name) in self._callers:
            return SignInPriority.KNOWN_CALLER
        return SignInPriority.KNOWN_NAME if name in self._names else SignInPriority.UNKNOWN


def _remember(known: OrderedDict[_Key, None], key: _Key) -> None:
    known[key] = None
    known.move_to_end(key)
    if len(known) > REMEMBERED:
        known.popitem(last=False)


class FairQueue:
    """Waiting callers, in the order in which they get their turn."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._shares: OrderedDict[str, OrderedDict[str, deque[Waiter]]] = OrderedDict()

    def __len__(self) -> int:
        return sum(map(_size, self._shares.values()))

    def add(self, caller: "Waiter") -> "Waiter | None":
        """Have ``caller`` wait; who may wait no more because of it, perhaps ``caller``."""
        self._shares.setdefault(caller.share, OrderedDict()).setdefault(caller.network, deque()).append(caller)
        if len(self) <= self._limit:
            return None
        largest = max(self._shares.values(), key=_size)
        if _size(largest) == _size(self._shares[caller.share]):
            largest = self._shares[caller.share]
        last = max(largest.values(), key=len)
        if caller.network in largest and len(last) == len(largest[caller.network]):
            last = largest[caller.network]
        out = last[-1]
        self.remove(out)
        return out

    def take(self) -> "Waiter | None":
        """Whose turn it is."""
        if not self._shares:
            return None
        share = next(iter(self._shares.values()))
        caller = next(iter(share.values()))[0]
        self.remove(caller)
        for level, key in ((share, caller.network), (self._shares, caller.share)):
            if key in level:
                level.move_to_end(key)  # behind the others
        return caller

    def remove(self, caller: "Waiter") -> None:
        share = self._shares.get(caller.share, OrderedDict())
        if caller not in share.get(caller.network, ()):
            return
        share[caller.network].remove(caller)
        if not share[caller.network]:
            del share[caller.network]
        if not share:
            del self._shares[caller.share]


def _size(share: OrderedDict[str, deque["Waiter"]]) -> int:
    return sum(map(len, share.values()))


@dataclass(frozen=True, eq=False, slots=True)
class Waiter:
    """Somebody who waits."""

    share: str
    """What takes turns in its queue: a user name, or a network with more than one address."""
    network: str
    turn: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Gate:
    """Lets a few callers through at a time."""

    def __init__(self, at_once: int = COMPARED_AT_ONCE, waiting: int = WAITING) -> None:
        self._free = at_once
        self._queues = {priority: FairQueue(waiting) for priority in SignInPriority}
        self._next = 0

    @asynccontextmanager
    async def turn(self, address: str, name: str, priority: SignInPriority) -> AsyncIterator[None]:
        """The turn of a caller; ``TooBusy`` if there is no room to wait for it."""
        share = name if priority is SignInPriority.KNOWN_CALLER else site_of(address)
        await self._pass(Waiter(share, network_of(address)), priority)
        try:
            yield
        finally:
            self._free += 1
            self._call_next()

    async def _pass(self, caller: Waiter, priority: SignInPriority) -> None:
        out = self._queues[priority].add(caller)
        self._call_next()
        if out is not None and not out.turn.done():
            out.turn.set_exception(TooBusy.of("too_many_sign_ins"))
        try:
            await caller.turn
        except asyncio.CancelledError:
            self._queues[priority].remove(caller)
            if caller.turn.done() and not caller.turn.cancelled() and caller.turn.exception() is None:
                self._free += 1  # it was its turn just when it went
                self._call_next()
            raise

    def _call_next(self) -> None:
        """Give every free place to whoever is next, one queue after another."""
        while self._free > 0:
            order = [SignInPriority((self._next + step) % len(SignInPriority)) for step in range(len(SignInPriority))]
            found = next(((one, caller) for one in order if (caller := self._queues[one].take()) is not None), None)
            if found is None:
                return
            self._next = (found[0] + 1) % len(SignInPriority)
            self._free -= 1
            found[1].turn.set_result(None)
