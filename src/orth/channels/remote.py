"""The channels through any coordinator over HTTP, for executors that have neither Redis nor the database.

Calls are synchronous underneath. Those that a coordinator may hold back run in threads of their own that nobody waits
for at the end of the process; the others borrow one.
"""

import asyncio
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TypeVar

from orth.channels.interface import (
    START,
    BoxFull,
    ChannelsUnavailable,
    Delivery,
    Entry,
    ExecutorChannels,
    Heard,
    Listening,
    Message,
)
from orth.errors import Unavailable
from orth.wire.channel_calls import WAIT_LIMIT, BoxEntry, ChannelCalls

T = TypeVar("T")


class RemoteChannels(ExecutorChannels):
    """An executor's share of the channels."""

    def __init__(self, calls: ChannelCalls) -> None:
        self._calls = calls

    async def take(self, queues: Sequence[str], consumer: str, *, limit: int, wait: float) -> dict[str, list[Delivery]]:
        ask = partial(self._calls.take, queues, consumer, limit, min(wait, WAIT_LIMIT))
        taken = await _apart(ask)
        return {
            queue: [Delivery(one.id, one.message, one.deliveries) for one in deliveries]
            for queue, deliveries in taken.items()
            if deliveries
        }

    async def done(self, queue: str, consumer: str, deliveries: Sequence[str]) -> None:
        await _borrowed(partial(self._calls.done, queue, consumer, deliveries))

    async def give_back(self, queue: str, consumer: str, *, to_dead_after: int = 5) -> int:  # noqa: ARG002  # the coordinator's to say
        return await _borrowed(partial(self._calls.give_back, queue, consumer))

    async def bury(self, queue: str, consumer: str, deliveries: Sequence[str]) -> None:
        await _borrowed(partial(self._calls.bury, queue, consumer, deliveries))

    async def announce(self, topic: str, message: Message) -> None:
        await _borrowed(partial(self._calls.announce, topic, message))

    def listen(self, topics: Sequence[str]) -> AbstractAsyncContextManager[Listening]:
        return _listening(self._calls, topics)

    async def post(self, boxes: Mapping[str, Sequence[Message]]) -> None:
        if full := await _borrowed(partial(self._calls.post, boxes)):
            raise BoxFull(full)

    async def read(self, after: Mapping[str, str], *, limit: int) -> dict[str, list[Entry]]:
        return _entries(await _borrowed(partial(self._calls.read, after, limit)))

    async def read_said(self, boxes: Mapping[str, str | None], *, limit: int) -> dict[str, list[Entry]]:
        return _entries(await _borrowed(partial(self._calls.read, dict.fromkeys(boxes, START), limit, boxes)))

    async def remove(self, boxes: Sequence[str]) -> None:
        await _borrowed(partial(self._calls.remove, boxes))

    async def check(self) -> None:
        await _borrowed(partial(self._calls.post, {}))

    async def close(self) -> None:
        """Nothing is held; the connections are the caller's."""


def _entries(found: Mapping[str, Sequence[BoxEntry]]) -> dict[str, list[Entry]]:
    return {box: [Entry(one.position, one.message) for one in some] for box, some in found.items()}


class _Ear(Listening):
    def __init__(self, calls: ChannelCalls, topics: Sequence[str]) -> None:
        self._calls = calls
        self._topics = topics
        self._listener = uuid.uuid4().hex
        self._begun = False
        self._missed_before = 0

    async def next(self, wait: float) -> Sequence[Heard]:
        answer = await _apart(partial(self._calls.hear, self._topics, self._listener, min(wait, WAIT_LIMIT)))
        if answer.fresh:  # another coordinator, or one that had forgotten us; the first time there is nothing to miss
            self._missed_before = self.missed + int(self._begun)
        self.missed = self._missed_before + answer.missed
        self._begun = True
        return [Heard(heard.topic, heard.message) for heard in answer.heard]


@asynccontextmanager
async def _listening(calls: ChannelCalls, topics: Sequence[str]) -> AsyncIterator[Listening]:
    ear = _Ear(calls, topics)
    await ear.next(0.0)  # from here on nothing passes unheard
    yield ear


async def _borrowed(call: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(call)
    except Unavailable as unavailable:
        raise ChannelsUnavailable(str(unavailable)) from None


async def _apart(call: Callable[[], T]) -> T:
    """In a thread of its own, which does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[T] = loop.create_future()

    def settle(settling: Callable[[], None]) -> None:
        def unless_given_up() -> None:
            if not answered.done():
                settling()

        if not loop.is_closed():
            loop.call_soon_threadsafe(unless_given_up)

    def run() -> None:
        try:
            answer = call()
        except Unavailable as unavailable:
            settle(partial(answered.set_exception, ChannelsUnavailable(str(unavailable))))
        except BaseException as bug:
            settle(partial(answered.set_exception, bug))
        else:
            settle(partial(answered.set_result, answer))

    threading.Thread(target=run, name="orth-channels", daemon=True).start()
    return await answered
