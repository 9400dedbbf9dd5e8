"""Channels of one process, until it has company.

A coordinator that has a SQLite file for itself needs nobody to carry its messages. When a second one comes to the file
the two must hear each other: from then on everything goes through the store. What was under way in this process is
lost at that moment, as by a Redis that comes back empty: the work is finished by the looks at the database. There is no
way back, for the next one may come at any time.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from orth.channels.interface import START, Channels, ChannelsUnavailable, Delivery, Entry, Heard, Listening, Message
from orth.channels.memory import MemoryChannels

_HERE = "here-"
"""Before positions in boxes and queues of this process: in the store they would mean another place."""


class LocalFirst(Channels):
    """``local`` until ``share``; then what ``shared`` makes."""

    def __init__(self, local: MemoryChannels, shared: Callable[[], Channels]) -> None:
        self._local = local
        self._make = shared
        self._shared: Channels | None = None

    @property
    def is_shared(self) -> bool:
        return self._shared is not None

    def share(self) -> None:
        """From now on others hear what is said here, and are heard. Twice is once."""
        if self._shared is None:
            self._shared = self._make()
            self._local.wake_all()

    @property
    def _now(self) -> Channels:
        return self._shared or self._local

    # --- queues

    async def send(self, queue: str, messages: Sequence[Message]) -> None:
        await self._now.send(queue, messages)

    async def take(self, queues: Sequence[str], consumer: str, *, limit: int, wait: float) -> dict[str, list[Delivery]]:
        return await self._now.take(queues, consumer, limit=limit, wait=wait)

    async def done(self, queue: str, consumer: str, deliveries: Sequence[str]) -> None:
        await self._now.done(queue, consumer, deliveries)

    async def give_back(self, queue: str, consumer: str, *, to_dead_after: int = 5) -> int:
        return await self._now.give_back(queue, consumer, to_dead_after=to_dead_after)

    async def consumers(self, queue: str) -> Mapping[str, int]:
        return await self._now.consumers(queue)

    async def waiting(self, queue: str) -> int:
        return await self._now.waiting(queue)

    async def bury(self, queue: str, consumer: str, deliveries: Sequence[str]) -> None:
        await self._now.bury(queue, consumer, deliveries)

    async def undone(self, queue: str, after: str, *, limit: int) -> list[Entry]:
        if self._shared is not None:
            return await self._shared.undone(queue, START if after.startswith(_HERE) else after, limit=limit)
        found = await self._local.undone(queue, after.removeprefix(_HERE), limit=limit)
        return [Entry(_HERE + one.position, one.message) for one in found]

    @property
    def buried(self) -> int:
        return self._now.buried

    async def dead_letters(self, queue: str, limit: int) -> Sequence[Message]:
        return await self._now.dead_letters(queue, limit)

    # --- topics

    async def announce(self, topic: str, message: Message) -> None:
        await self._now.announce(topic, message)

    @asynccontextmanager
    async def listen(self, topics: Sequence[str]) -> AsyncIterator[Listening]:
        async with self._heard(self._now.listen(topics)) as ear:
            yield ear

    # --- boxes

    async def post(self, boxes: Mapping[str, Sequence[Message]]) -> None:
        await self._now.post(boxes)

    async def read(self, after: Mapping[str, str], *, limit: int) -> dict[str, list[Entry]]:
        if self._shared is not None:
            known = {box: START if position.startswith(_HERE) else position for box, position in after.items()}
            return await self._shared.read(known, limit=limit)
        known = {box: position.removeprefix(_HERE) for box, position in after.items()}
        found = await self._local.read(known, limit=limit)
        return {box: [Entry(_HERE + one.position, one.message) for one in entries] for box, entries in found.items()}

    @asynccontextmanager
    async def news(self) -> AsyncIterator[Listening]:
        async with self._heard(self._now.news()) as ear:
            yield ear

    async def remove(self, boxes: Sequence[str]) -> None:
        await self._now.remove(boxes)

    # --- the rest

    async def clean(self, older_than: float) -> int:
        return await self._now.clean(older_than)

    async def check(self) -> None:
        await self._now.check()

    async def complaint(self) -> str | None:
        return await self._now.complaint()

    async def close(self) -> None:
        await self._local.close()
        if self._shared is not None:
            await self._shared.close()

    @asynccontextmanager
    async def _heard(self, listening: AbstractAsyncContextManager[Listening]) -> AsyncIterator[Listening]:
        here = not self.is_shared
        async with listening as ear:
            yield _EarHere(ear, self) if here else ear


class _EarHere(Listening):
    """Hears this process, and is of no use once there are others: its owner then listens anew."""

    def __init__(self, ear: Listening, channels: LocalFirst) -> None:
        self._ear = ear
        self._channels = channels

    async def next(self, wait: float) -> Sequence[Heard]:
        heard = await self._ear.next(wait)
        if self._channels.is_shared:
            raise ChannelsUnavailable("Another coordinator shares the database: listening begins anew, through that.")
        self.missed, self.hears = self._ear.missed, self._ear.hears
        return heard
