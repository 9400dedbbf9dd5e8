"""What this process learns through the database of what happens in others.

One watch serves all who listen and wait here. On PostgreSQL it is a connection that is told; elsewhere it looks for
rows, soon after something came and every half second when it is quiet. What it learns are hints: whoever waits looks
for himself, and now and then without a hint.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack

from orth.channels.audience import Audience
from orth.channels.interface import ChannelsUnavailable, Message
from orth.channels.packing import pack, unpack
from orth.clock import Clock
from orth.errors import StoreUnavailable
from orth.events import Events
from orth.loop import Loop
from orth.store.announcements import (
    Announced,
    Notifications,
    announced_after,
    forget_announced,
    newest_announced,
)
from orth.store.database import Database

_LONGEST_FRAME = 64 * 1024 * 1024
_AT_ONCE = 1_000
_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5
_PAUSE_WHEN_AWAY = 5.0
_PATIENCE_FOR_TOUCH = 10.0
_KEPT = 60.0
"""Seconds for which what was said can be read."""
_AWAY_FOR_LONG = 20.0
"""Whoever did not look for so long may find that others have cleared away what was said."""
_LATE = 12.0
"""Seconds after which a number that was skipped stays skipped: no transaction lives so long."""
_SKIPPED = 1_000


def queues_frame(queues: Mapping[str, int]) -> str:
    """That there are messages, by queue."""
    return pack({"queues": dict(queues)}, _LONGEST_FRAME)


def boxes_frame(boxes: Iterable[str]) -> str:
    return pack({"boxes": list(boxes)}, _LONGEST_FRAME)


def topic_frame(topic: str, message: Message) -> str:
    return pack({"topic": topic, "message": message}, _LONGEST_FRAME)


def pass_on(audience: Audience, frame: str) -> None:
    """Tell the audience what a frame says; one that says nothing known is left alone, for a newer node may send it."""
    match unpack(frame):
        case {"queues": dict(queues)}:
            audience.wake({queue: count for queue, count in queues.items() if isinstance(count, int)})
        case {"boxes": list(boxes)}:
            audience.tell_boxes(box for box in boxes if isinstance(box, str))
        case {"topic": str(topic), "message": dict(message)}:
            audience.tell(topic, message)


class Watch(Loop):
    """Passes on what others say. Its own ``origin`` is left out: who speaks tells his own process himself."""

    def __init__(self, audience: Audience, origin: str, clock: Clock, events: Events) -> None:
        super().__init__(clock, events)
        self.name = "channels"
        self._longest_pause = _PAUSE_WHEN_AWAY
        self._audience = audience
        self._origin = origin
        self._touched = asyncio.Event()
        self._gave_up = asyncio.Event()

    @property
    def in_touch(self) -> bool:
        """Whether what others say reaches us at the moment."""
        return self._touched.is_set()

    async def touch(self) -> None:
        """Return when what is said from now on will be heard."""
        end = self.clock.monotonic() + _PATIENCE_FOR_TOUCH
        while not self._touched.is_set():
            left = end - self.clock.monotonic()
            if left <= 0 or self._gave_up.is_set():
                raise ChannelsUnavailable("The database cannot be listened to at the moment.")
            await self.clock.sleep_unless(self._touched, min(left, _LONGEST_PAUSE))

    async def turn(self) -> float:
        try:
            heard, pause = await self._hear()
        except StoreUnavailable:
            self._touched.clear()
            self._gave_up.set()
            self._audience.doubt()
            self._audience.lose()
            raise
        for one in heard:
            if one.origin != self._origin:
                pass_on(self._audience, one.payload)
        return pause

    def _now_in_touch(self) -> None:
        if self._gave_up.is_set():  # what was said meanwhile is lost
            self._audience.doubt()
        self._gave_up.clear()
        self._touched.set()

    @abstractmethod
    async def _hear(self) -> tuple[Sequence[Announced], float]:
        """What was said since the last turn, and the pause before the next."""

    async def close(self) -> None:
        """Let go of what the watch holds."""


class ToldWatch(Watch):
    """PostgreSQL's way."""

    def __init__(self, db: Database, audience: Audience, origin: str, clock: Clock, events: Events) -> None:
        super().__init__(audience, origin, clock, events)
        self._url = db.url
        self._open = AsyncExitStack()
        self._notifications: Notifications | None = None

    async def _hear(self) -> tuple[Sequence[Announced], float]:
        try:
            if self._notifications is None:
                self._notifications = await self._open.enter_async_context(Notifications(self._url))
                self._now_in_touch()
            return await self._notifications.heard(1.0), 0.0
        except StoreUnavailable:
            await self.close()
            raise

    async def close(self) -> None:
        self._notifications = None
        await self._open.aclose()


class LookingWatch(Watch):
    """The way of databases that wake nobody."""

    def __init__(self, db: Database, audience: Audience, origin: str, clock: Clock, events: Events) -> None:
        super().__init__(audience, origin, clock, events)
        self._db = db
        self._numbers: Numbers | None = None
        self._pause = _FIRST_PAUSE
        self._looked_at = clock.monotonic()
        self._clearing: tuple[float, int] | None = None
        """When we last cleared away, and what can be cleared next time."""

    async def _hear(self) -> tuple[Sequence[Announced], float]:
        now = self.clock.monotonic()
        if self._numbers is None:
            self._numbers = Numbers(await self._db.read(newest_announced))
        elif now - self._looked_at > _AWAY_FOR_LONG:
            self._audience.doubt()
        numbers = self._numbers
        heard = await self._db.read(announced_after, numbers.last, numbers.skipped(now), _AT_ONCE)
        self._looked_at = now
        self._now_in_touch()
        numbers.saw([one.id for one in heard], now)
        await self._clear_away(now)
        if len(heard) == _AT_ONCE:
            return heard, 0.0
        self._pause = _FIRST_PAUSE if heard else min(self._pause * 1.5, _LONGEST_PAUSE)
        return heard, self._pause

    async def _clear_away(self, now: float) -> None:
        assert self._numbers is not None
        if self._clearing is None:
            self._clearing = now, 0
        cleared_at, up_to = self._clearing
        if now - cleared_at >= _KEPT:
            self._clearing = now, self._numbers.last
            if up_to:
                await self._db.tx(forget_announced, up_to)


class Numbers:
    """Which numbers of a growing table were seen. Numbers are given before the commit, so that a lower one may become
    visible after a higher one; those that were skipped are looked for a while longer.
    """

    def __init__(self, last: int) -> None:
        self.last = last
        self._skipped: dict[int, float] = {}

    def saw(self, ids: Sequence[int], now: float) -> None:
        for one in ids:
            self._skipped.pop(one, None)
            first = max(self.last + 1, one - _SKIPPED)
            self._skipped.update(dict.fromkeys(range(first, one), now + _LATE))
            self.last = max(self.last, one)
        for surplus in list(self._skipped)[: max(0, len(self._skipped) - _SKIPPED)]:
            del self._skipped[surplus]

    def skipped(self, now: float) -> list[int]:
        """Numbers to look for once more."""
        self._skipped = {one: until for one, until in self._skipped.items() if until > now}
        return list(self._skipped)


def watch_over(db: Database, audience: Audience, origin: str, clock: Clock, events: Events) -> Watch:
    """The watch that suits a database."""
    kind = ToldWatch if db.url.get_backend_name() == "postgresql" else LookingWatch
    return kind(db, audience, origin, clock, events)
