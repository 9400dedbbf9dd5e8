"""What was refused, told to the audit within bounds: a flood of strangers must not become a flood of entries, nor may
one who is loud keep others from being told of.

The same thing is told once a minute. Each source has a share of entries in ten minutes; a source is the network a
stranger calls from, or the name of whoever is known. Of those whom executors turned away it is both: a loud one hides
no other, but a thief who has a token can invent some. Strangers together and all who are known together have a bound a
minute as well. What the bounds left out is counted, and an entry of this node says every ten minutes how much it was.

What strangers ask at the doors of executors (registering, reporting, channels; and at executors themselves) has bounds
of its own, by door, and so has each kind of thing that somebody with an executor's token was refused: nobody hides a
forged registration or result behind a noise of something else.

An executor that knew this coordinator before its restart, or whose clock is wrong, signs once what is good for nobody,
is told better and comes again at once. So does nobody who has captured a request and no token. What was signed with a
good key for another process, or at another time, is therefore held back for some seconds, and forgotten when the same
key is proved from the same address meanwhile.
"""

import asyncio
from collections import Counter, deque

from orth.clock import Clock
from orth.coordinator.executor_keys import ExecutorKey
from orth.domain.audit import AT_DOOR, TURNED_AWAY, Actor, ActorKind, Deed
from orth.domain.networks import network_of
from orth.errors import OrthError, StoreUnavailable, Unauthenticated
from orth.events import Events
from orth.loop import Loop
from orth.store.audit import record
from orth.store.database import Database
from orth.wire.messages import TurnedAwayCaller
from orth.wire.signatures import BadSignature, Refused

SAME_EVERY = 60.0
SHARE = 20
"""Entries of one source in ``SHARE_SPAN``: one that asks two forbidden things a minute is told of each time, and three
coordinators together do not reach what the audit takes of all strangers."""
SHARE_SPAN = 600.0
DOOR_SHARE = 8
"""The same at each door of executors, where a coordinator has it, and where executors have it as they tell."""
AT_ONCE = 60
"""Entries of all strangers in ``SAME_EVERY``, and as many of those who are known."""
CORRECTED_WITHIN = 5.0
"""Seconds in which an honest caller comes again with what it was told."""
_CORRECTED = frozenset({Refused.OTHER_RECEIVER, Refused.STALE, Refused.UNKNOWN_KEY})
"""What a caller may set right with its next request; an unknown key by enrolling."""
_HELD_BACK = 1_000
_ASKED_OF_EXECUTORS = frozenset({"/run", "/runs", "/trigger", "/kill", "/idleBeat", "/beat", "/log"})
_SOURCES = 1_000
_OTHERS = "others"

Thing = tuple[str, ...]


class Bounds:
    """Which refusals are told of, by the monotonic clock, and how many are not. Decides; writes nothing."""

    def __init__(self, share: int = SHARE) -> None:
        self._share_size = share
        self._told: dict[tuple[bool, Thing], float] = {}
        """What was told of in the last minute, and whether by strangers."""
        self._shares: dict[str, deque[float]] = {}
        self.left_out: Counter[str] = Counter()
        """By source; more sources than are counted one by one are ``others``."""

    def take(self, source: str, thing: Thing, *, is_stranger: bool, now: float) -> bool:
        """Whether this is to be told of. The same thing again is neither told nor left out."""
        self._told = {what: at for what, at in self._told.items() if now - at < SAME_EVERY}
        if (is_stranger, thing) in self._told:
            return False
        share = self._share(source, now)
        told_at_once = sum(one == is_stranger for one, _thing in self._told)
        if share is None or len(share) >= self._share_size or told_at_once >= AT_ONCE:
            self.leave_out(source)
            return False
        share.append(now)
        self._told[is_stranger, thing] = now
        return True

    def leave_out(self, source: str) -> None:
        known = source in self.left_out or len(self.left_out) < _SOURCES
        self.left_out[source if known else _OTHERS] += 1

    def _share(self, source: str, now: float) -> deque[float] | None:
        """When this source was told of; None if there are too many sources to remember one more."""
        if source not in self._shares and len(self._shares) >= _SOURCES:
            self._shares = {one: at for one, at in self._shares.items() if at and now - at[-1] < SHARE_SPAN}
            if len(self._shares) >= _SOURCES:
                return None
        share = self._shares.setdefault(source, deque())
        while share and now - share[0] >= SHARE_SPAN:
            share.popleft()
        return share


class Refusals:
    """Writes to the audit what was refused, bounded. For one event loop."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._bounds = Bounds()
        self._doors = Bounds(DOOR_SHARE)
        """For strangers at the doors that coordinators have for executors."""
        self._told_by_executors = Bounds(DOOR_SHARE)
        """For those at the doors of executors themselves."""
        self._held_back: dict[tuple[str, str], dict[Thing, tuple[Actor, Deed, float]]] = {}
        """What may have been a mistake: by address and key, with what it was and when."""
        self._aside: set[asyncio.Task[None]] = set()

    def proved(self, address: str, key_id: str) -> None:
        """Somebody at an address has proved a key: what it signed wrongly a moment ago was a mistake."""
        self._held_back.pop((address, key_id), None)

    async def note_caller(self, actor: Actor, deed: Deed, error: OrthError, reason: str = "") -> None:
        """Tell of somebody who was turned away. An executor's first request, which is good for no process, is not told
        of; one that its caller may yet set right is held back.
        """
        why, key_id = (error.why, error.key_id) if isinstance(error, BadSignature) else (None, "")
        if why in _CORRECTED and key_id and len(self._held_back) < _HELD_BACK:
            held = self._held_back.setdefault((actor.address, key_id), {})
            held.setdefault((deed.action, deed.object_id, reason), (actor, deed, self._clock.monotonic()))
        elif why is not Refused.UNADDRESSED:
            await self.note(actor, deed, reason)

    async def tell_held_back(self, *, everything: bool = False) -> None:
        """Tell of those who were not heard again."""
        now = float("inf") if everything else self._clock.monotonic()
        for caller, held in list(self._held_back.items()):
            due = {thing: one for thing, one in held.items() if now - one[2] >= CORRECTED_WITHIN}
            for thing in due:
                del held[thing]
            if not held:
                self._held_back.pop(caller, None)
            for (_action, _object, reason), (actor, deed, _at) in due.items():
                await self.note(actor, deed, reason)

    async def note(self, actor: Actor, deed: Deed, reason: str = "", *, source: str | None = None) -> None:
        """Tell of it, unless the same was told within a minute; another ``reason`` makes it another thing. ``source``
        is who says so, if not the actor.
        """
        is_stranger = actor.kind is ActorKind.STRANGER
        bounds = self._bounds_for(actor, deed)
        by = source or _source(actor, deed)
        thing = (actor.name, actor.address, deed.action, deed.object_id, reason)
        if not bounds.take(by, thing, is_stranger=is_stranger, now=self._clock.monotonic()):
            return
        try:
            if not await self._db.tx(record, actor, deed, self._clock.now()):
                bounds.leave_out(by)
        except StoreUnavailable:
            return  # it was refused all the same

    def note_aside(self, actor: Actor, deed: Deed) -> None:
        """The same without waiting for it."""
        task = asyncio.create_task(self.note(actor, deed))
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)

    async def note_stranger(self, address: str, path: str, error: Unauthenticated) -> None:
        """Somebody without a good token."""
        deed = Deed(AT_DOOR, "route", path, after={"reason": error.message})
        await self.note_caller(Actor(ActorKind.STRANGER, "", address), deed, error, error.message)

    async def note_turned_away(self, key: ExecutorKey, executor: str, caller: TurnedAwayCaller) -> None:
        """Somebody without a good token at an executor's own door, as that executor says."""
        told = {"path": caller.path, "reason": caller.reason, "count": caller.count, "told_by": key.name}
        deed = Deed(TURNED_AWAY, "executor", f"{executor}{caller.path}", after=told)
        stranger = Actor(ActorKind.STRANGER, "", caller.address)
        at = caller.path if caller.path in _ASKED_OF_EXECUTORS else "others"
        source = f"{network_of(caller.address)} at {at}, told by {key.name}"
        await self.note(stranger, deed, caller.reason, source=source)

    def _bounds_for(self, actor: Actor, deed: Deed) -> Bounds:
        if actor.kind is not ActorKind.STRANGER:
            return self._bounds
        return {AT_DOOR: self._doors, TURNED_AWAY: self._told_by_executors}.get(deed.action, self._bounds)

    async def note_forbidden(self, key: ExecutorKey, address: str, path: str, reason: str) -> None:
        """An executor that wanted what is not its own."""
        await self.note_executor(key, address, Deed("executor.refused", "route", path, after={"reason": reason}))

    async def note_executor(self, key: ExecutorKey, address: str, deed: Deed, reason: str = "") -> None:
        await self.note(Actor(ActorKind.EXECUTOR, key.name, address), deed, reason)

    async def note_unproved(self, execution_id: int, reason: str, said_by: str) -> None:
        """A word about an execution, in its box, that did not come from where it was offered. Who wrote it there is not
        known, only whose name it bears.
        """
        deed = Deed("callback.refused", "execution", str(execution_id), after={"reason": reason, "said_by": said_by})
        await self.note(Actor(ActorKind.STRANGER, ""), deed, reason, source="channels")

    async def tell_left_out(self, node_id: str) -> None:
        """Say how many refusals have no entry, and who caused most of them."""
        left_out: Counter[str] = Counter()
        for bounds in (self._bounds, self._doors, self._told_by_executors):
            left_out += bounds.left_out
            bounds.left_out = Counter()
        if not left_out:
            return
        told = {"refusals": left_out.total(), "sources": len(left_out), "most": dict(left_out.most_common(5))}
        deed = Deed("audit.left_out", "audit", "", after=told)
        try:
            await self._db.tx(record, Actor(ActorKind.NODE, node_id), deed, self._clock.now())
        except StoreUnavailable:
            self._bounds.left_out.update(left_out)
            raise


def _source(actor: Actor, deed: Deed) -> str:
    """Whose share an entry is of."""
    if actor.kind is ActorKind.STRANGER:
        network = network_of(actor.address)
        return f"{network} at {_door(deed.object_id)}" if deed.action == AT_DOOR else network
    known = f"{actor.kind.value} {actor.name}"
    return f"{known}, {deed.action}" if actor.kind is ActorKind.EXECUTOR else known


def _door(path: str) -> str:
    """Which of the things that only executors do a path stands for; many paths stand for the same."""
    last = path.rpartition("/")[2]
    doors = {"registry": "registry", "registryRemove": "registry", "callback": "callback"}
    return doors.get(last, "channels" if "/channels/" in path else "others")


class HeldBack(Loop):
    """Tells of those who were held back for so long that they were no mistake."""

    def __init__(self, refusals: Refusals, clock: Clock, events: Events) -> None:
        super().__init__(clock, events)
        self._refusals = refusals

    async def turn(self) -> float:
        await self._refusals.tell_held_back()
        return CORRECTED_WITHIN / 2


class LeftOut(Loop):
    """Says now and then how many refusals were left out of the audit."""

    def __init__(self, refusals: Refusals, clock: Clock, events: Events, *, node_id: str) -> None:
        super().__init__(clock, events)
        self._refusals = refusals
        self._node_id = node_id

    async def turn(self) -> float:
        await self._refusals.tell_left_out(self._node_id)
        return SHARE_SPAN
