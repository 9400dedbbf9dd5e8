"""Channels whose failures are counted, whoever meets them and whatever he does about it.

Most callers can do without a message and go on in silence. That the channels fail all the same is for monitoring.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from enum import StrEnum

from orth.channels.interface import BoxFull, Channels, ChannelsUnavailable, Delivery, Entry, Listening, Message


class Failure(StrEnum):
    """What did not work."""

    QUEUE = "queue"
    TOPIC = "topic"
    BOX = "box"
    FULL = "full"  # a box had no room: the executor's affair, and the channels are there


class CountedChannels(Channels):
    """The same channels, and how often they failed."""

    def __init__(self, channels: Channels) -> None:
        self._channels = channels
        self.failures: Counter[Failure] = Counter()

    # --- queues

    async def send(self, queue: str, messages: Sequence[Message]) -> None:
        with self._counting(Failure.QUEUE):
            await self._channels.send(queue, messages)

    async def take(self, queues: Sequence[str], consumer: str, *, limit: int, wait: float) -> dict[str, list[Delivery]]:
        with self._counting(Failure.QUEUE):
            return await self._channels.take(queues, consumer, limit=limit, wait=wait)

    async def done(self, queue: str, consumer: str, deliveries: Sequence[str]) -> None:
        with self._counting(Failure.QUEUE):
            await self._channels.done(queue, consumer, deliveries)

    async def give_back(self, queue: str, consumer: str, *, to_dead_after: int = 5) -> int:
        with self._counting(Failure.QUEUE):
            return await self._channels.give_back(queue, consumer, to_dead_after=to_dead_after)

    async def consumers(self, queue: str) -> Mapping[str, int]:
        with self._counting(Failure.QUEUE):
            return await self._channels.consumers(queue)

    async def waiting(self, queue: str) -> int:
        with self._counting(Failure.QUEUE):
            return await self._channels.waiting(queue)

    async def bury(self, queue: str, consumer: str, deliveries: Sequence[str]) -> None:
        with self._counting(Failure.QUEUE):
            await self._channels.bury(queue, consumer, deliveries)

    async def undone(self, queue: str, after: str, *, limit: int) -> list[Entry]:
        with self._counting(Failure.QUEUE):
            return await self._channels.undone(queue, after, limit=limit)

    @property
    def buried(self) -> int:
        return self._channels.buried

    async def dead_letters(self, queue: str, limit: int) -> Sequence[Message]:
        with self._counting(Failure.QUEUE):
            return await self._channels.dead_letters(queue, limit)

    # --- topics

    async def announce(self, topic: str, message: Message) -> None:
        with self._counting(Failure.TOPIC):
            await self._channels.announce(topic, message)

    @asynccontextmanager
    async def listen(self, topics: Sequence[str]) -> AsyncIterator[Listening]:
        async with self._heard(Failure.TOPIC, lambda: self._channels.listen(topics)) as ear:
            yield ear

    # --- boxes

    async def post(self, boxes: Mapping[str, Sequence[Message]]) -> None:
        with self._counting(Failure.BOX):
            await self._channels.post(boxes)

    async def read(self, after: Mapping[str, str], *, limit: int) -> dict[str, list[Entry]]:
        with self._counting(Failure.BOX):
            return await self._channels.read(after, limit=limit)

    @asynccontextmanager
    async def news(self) -> AsyncIterator[Listening]:
        async with self._heard(Failure.BOX, self._channels.news) as ear:
            yield ear

    async def remove(self, boxes: Sequence[str]) -> None:
        with self._counting(Failure.BOX):
            await self._channels.remove(boxes)

    # --- the rest

    async def clean(self, older_than: float) -> int:
        with self._counting(Failure.BOX):
            return await self._channels.clean(older_than)

    async def check(self) -> None:
        with self._counting(Failure.QUEUE):
            await self._channels.check()

    async def complaint(self) -> str | None:
        return await self._channels.complaint()

    async def close(self) -> None:
        await self._channels.close()

    # --- counting

    @contextmanager
    def _counting(self, failure: Failure) -> Iterator[None]:
        try:
            yield
        except BoxFull:
            self.failures[Failure.FULL] += 1
            raise
        except ChannelsUnavailable:
            self.failures[failure] += 1
            raise

    @asynccontextmanager
    async def _heard(
        self, failure: Failure, listening: Callable[[], AbstractAsyncContextManager[Listening]]
    ) -> AsyncIterator[Listening]:
        """What whoever listens does meanwhile may fail for itself: only the beginning is counted here."""
        async with AsyncExitStack() as stack:
            with self._counting(failure):
                ear = await stack.enter_async_context(listening())
            yield ear
