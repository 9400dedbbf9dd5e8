"""The Feed loop: events of services, for any number of listeners.

One reader for each process takes the events from the database, writes each down once as it is sent, and keeps the last
ones. A listener has its own place there and takes what comes after it when it is ready: so a slow one delays nobody
and costs no memory, and one that falls too far behind is told so and let go. Who comes with a place that is no longer
kept reads from the database until it has caught up; where that does not go back far enough either, it gets a snapshot
and goes on from there.

While nobody listens, nothing is read. While somebody does, the database is looked at when a bell rings
(``bell``), and once a second in any case.
"""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from orth.clock import Clock, iso
from orth.domain.services import ServiceKind
from orth.errors import StoreUnavailable
from orth.events import Events
from orth.loop import Loop
from orth.store.database import Database
from orth.store.service_events import ServiceEvent, as_shown, events_after, last_seq
from orth.store.services import list_services

SWEEP_EVERY = 1.0
_READ_AT_ONCE = 500
_IDLE = 3600.0
_STORE_AGAIN = 1.0


class TooSlow(Exception):
    """A listener has fallen further behind than events are kept for it."""


@dataclass(eq=False, slots=True)
class Listener:
    """Somebody who is told of events."""

    position: int
    """The number of the last event it was given."""
    wants_snapshot: bool = False
    live: bool = False
    """Whether it has caught up with the reader once; from then on it has to keep up."""
    woken: asyncio.Event = field(default_factory=asyncio.Event)

    def ask_snapshot(self) -> None:
        self.wants_snapshot = True
        self.woken.set()


@dataclass(frozen=True, slots=True)
class _Snapshot:
    seq: int
    text: str
    number: int
    """Of the snapshots that were begun here."""


class Feed(Loop):
    """For one event loop."""

    def __init__(self, db: Database, clock: Clock, events: Events, *, kept: int) -> None:
        super().__init__(clock, events)
        self._db = db
        self._kept = kept
        self._listeners: set[Listener] = set()
        self._recent: deque[tuple[int, str]] = deque()
        self._floor = self._position = 0
        """Events with numbers above the one and up to the other are kept."""
        self._snapshot: _Snapshot | None = None
        self._begun = 0
        self._taking = asyncio.Lock()
        self._longest_pause = _STORE_AGAIN
        self.first_came: list[Callable[[], None]] = []
        """Called when there is a listener again."""

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    # --- listeners

    async def join(self, since: int | None) -> Listener:
        """A listener of what comes after event ``since``; None: after now."""
        head = await self._db.read(last_seq)
        listener = Listener(head if since is None else since)
        if listener.position > head:  # of another database, or of one that was set back
            listener.wants_snapshot = True
        if not self._listeners:
            self._begin_at(head)
        self._listeners.add(listener)
        if len(self._listeners) == 1:
            self.wake()
            for call in self.first_came:
                call()
        return listener

    def leave(self, listener: Listener) -> None:
        self._listeners.discard(listener)

    async def next(self, listener: Listener) -> Sequence[str]:
        """What a listener is told next, at least one message; waits for it. ``TooSlow`` when it did not keep up."""
        while True:
            listener.woken.clear()
            try:
                found = await self._found(listener)
            except StoreUnavailable:
                await self.clock.sleep_unless(asyncio.Event(), _STORE_AGAIN)
                continue
            if found:
                return found
            if listener.position >= self._floor and not listener.wants_snapshot:
                await listener.woken.wait()

    async def _found(self, listener: Listener) -> Sequence[str]:
        if listener.wants_snapshot:
            return [await self._snapshot_for(listener)]
        if listener.position >= self._floor:
            listener.live = True
            return self._kept_for(listener)
        if listener.live:
            raise TooSlow
        page = await self._db.read(events_after, listener.position, _READ_AT_ONCE)
        if not page.complete:
            listener.wants_snapshot = True
            return ()
        if page.events:
            listener.position = page.events[-1].seq
        return [written(event) for event in page.events]

    def _kept_for(self, listener: Listener) -> Sequence[str]:
        if listener.position >= self._position:
            return ()
        newest_first = takewhile(lambda one: one[0] > listener.position, reversed(self._recent))
        found = [text for _seq, text in newest_first][::-1]
        listener.position = self._position
        return found

    # --- the reader

    async def turn(self) -> float:
        if not self._listeners:
            return _IDLE
        page = await self._db.read(events_after, self._position, _READ_AT_ONCE)
        if page.events:
            if not page.complete:  # some were removed before we came to them
                self._begin_at(page.events[0].seq - 1)
            for event in page.events:
                self._recent.append((event.seq, written(event)))
            self._position = page.events[-1].seq
            while len(self._recent) > self._kept:
                self._floor = self._recent.popleft()[0]
            self._wake_all()
        elif not page.complete:  # nothing is left, or the database was set back
            self._begin_at(page.head)
            for listener in self._listeners:
                listener.ask_snapshot()
        return 0.0 if len(page.events) == _READ_AT_ONCE else SWEEP_EVERY

    def _begin_at(self, seq: int) -> None:
        self._recent.clear()
        self._floor = self._position = seq

    def _wake_all(self) -> None:
        for listener in self._listeners:
            listener.woken.set()

    # --- snapshots

    async def _snapshot_for(self, listener: Listener) -> str:
        """Everybody who is there. Those who ask at about the same time get the same: one that was begun after that."""
        asked = self._begun
        async with self._taking:
            kept = self._snapshot
            if kept is None or kept.number <= asked:
                kept = self._snapshot = await self._take_snapshot()
        listener.wants_snapshot = listener.live = False
        listener.position = kept.seq
        return kept.text

    async def _take_snapshot(self) -> _Snapshot:
        self._begun = number = self._begun + 1
        found, seq = await self._db.read(list_services)
        lists = {f"{kind}s": [as_shown(one) for one in found if one.kind is kind] for kind in ServiceKind}
        message = {"type": "snapshot", "data": lists, "seq": seq, "at": iso(self.clock.now())}
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        return _Snapshot(seq, text, number)


def written(event: ServiceEvent) -> str:
    """An event as it is sent; its data is JSON already."""
    return f'{{"type":"{event.type}","data":{event.data},"seq":{event.seq},"at":"{iso(event.at)}"}}'
