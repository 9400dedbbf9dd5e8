"""Channels through Redis or Valkey (6.2 or later, one primary): streams for queues and boxes, publishing for topics.

Redis may come back empty, or an hour old, at any moment. Nothing here notices more of that than a missing group, which
is made again; what was in the streams is sent again by those who still wait for an answer. Redis never decides on its
own what to forget, unless it is set up to evict keys, which ``complaint`` tells; one that is out of memory refuses us.
A message leaves a queue when it is done and a box when it is removed, not before.

``redis_scripts`` has what must happen in one step, ``redis_hands`` what became of takes whose answer was lost, and
``redis_listening`` the hearing of announcements.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from orth.channels import redis_scripts as scripts
from orth.channels.audience import Ear
from orth.channels.interface import (
    START,
    BoxFull,
    Channels,
    ChannelsUnavailable,
    Delivery,
    Entry,
    Heard,
    Listening,
    Message,
)
from orth.channels.limits import Limits
from orth.channels.packing import check_consumer, check_names, no_position, pack, unpack, unreadable
from orth.channels.redis_client import FAILURES, connect, database_of, disconnect, failure_sentence
from orth.channels.redis_hands import Hand, Hands
from orth.channels.redis_listening import Line
from orth.clock import Clock

_CONNECTIONS = 64
# A blocked reader does not see what others give back, so it looks now and then.
_BLOCK = 0.5
# After a group was lost while we waited for it. Redis says so at once, again and again, while it is being emptied.
_GROUP_LOST_PAUSE = 0.1
_AT_ONCE = 500

_POSITION = re.compile(r"[0-9]{1,20}-[0-9]{1,20}")
_LARGEST = 2**64 - 1

_Taken = tuple[str, int, str]
"""Id, deliveries and text."""


class RedisChannels(Channels):
    """All channels of one cluster in one Redis database; ``prefix`` begins every name and key."""

    def __init__(
        self,
        url: str,
        clock: Clock,
        *,
        prefix: str = "orchestrix",
        limits: Limits | None = None,
        patience: float = 5.0,
    ) -> None:
        """``patience`` is how long an answer, a connection or a free place among the connections may take."""
        self._client = connect(url, patience=patience, connections=_CONNECTIONS)
        self._clock = clock
        self._index, self._queues = f"{prefix}.boxes", f"{prefix}.queues"
        self._limits = limits or Limits()
        # Published messages do not know the number of a database; clusters in two of them must not hear each other.
        self._suffix = f"@{database_of(self._client)}"
        self._news = f"{prefix}.news{self._suffix}"
        self._hands = Hands()
        self._settling = asyncio.Lock()
        self._background: set[asyncio.Task[None]] = set()
        self._scripts: dict[str, Callable[..., Any]] = {}
        self._buried = 0

    # --- queues

    async def send(self, queue: str, messages: Sequence[Message]) -> None:
        check_names([queue])
        texts = [pack(message, self._limits.message) for message in messages]
        if texts and not await self._run(scripts.SEND, [queue, self._queues], [self._limits.queue, *texts]):
            raise ChannelsUnavailable(f"The queue {queue} is full.")

    async def take(self, queues: Sequence[str], consumer: str, *, limit: int, wait: float) -> dict[str, list[Delivery]]:
        check_consumer(consumer)
        if limit <= 0 or not queues:
            await self._clock.sleep_unless(asyncio.Event(), wait)
            return {}
        deadline = self._clock.monotonic() + wait
        async with self._reaching_out([(queue, consumer) for queue in queues]):
            while True:
                found = dict(await self._run(scripts.TAKE, [self._queues, *queues], [consumer, limit]))
                left = deadline - self._clock.monotonic()
                if not found and left > 0:
                    found = await self._await_one(queues, consumer, limit, min(left, _BLOCK))
                taken = await self._understood(found, consumer)
                if taken or left <= 0:
                    return taken

    async def done(self, queue: str, consumer: str, deliveries: Sequence[str]) -> None:
        check_consumer(consumer)
        hand = (queue, consumer)
        done = self._hands.to_say(hand, deliveries)
        try:
            for some in _parts(done):
                await self._run(scripts.DONE, [queue], [consumer, *some])
        except BaseException:
            self._hands.could_not_say(hand, done)
            raise
        self._hands.said(hand, done)

    async def give_back(self, queue: str, consumer: str, *, to_dead_after: int = 5) -> int:
        if consumer == scripts.BACK:  # any other may be there, by whatever hand, and is to let go
            check_consumer(consumer)
        total, count = 0, _AT_ONCE
        arguments = (consumer, to_dead_after, _AT_ONCE, self._limits.dead)
        while count == _AT_ONCE:
            count, buried = await self._run(scripts.GIVE_BACK, [queue, queue + scripts.DEAD], arguments)
            total += count
            self._buried += buried
        self._hands.let_go((queue, consumer))
        return total

    async def bury(self, queue: str, consumer: str, deliveries: Sequence[str]) -> None:
        check_consumer(consumer)
        for some in _parts(list(deliveries)):
            arguments: list[str | int] = [consumer, self._limits.dead, *some]
            self._buried += await self._run(scripts.BURY_HELD, [queue, queue + scripts.DEAD], arguments)
            self._hands.said((queue, consumer), some)

    async def consumers(self, queue: str) -> Mapping[str, int]:
        _, *hands = await self._run(scripts.HANDS, [queue])
        return dict(zip(hands[::2], hands[1::2], strict=True))

    async def waiting(self, queue: str) -> int:
        count: int = (await self._run(scripts.HANDS, [queue]))[0]
        return count

    async def undone(self, queue: str, after: str, *, limit: int) -> list[Entry]:
        begin = "-" if after == START else f"({_place(after)}"
        with _reaching(self._client):
            entries: Any = await self._client.xrange(queue, min=begin, count=limit)
        return [
            Entry(key, unreadable(str(fields)) if (message := _message(fields)) is None else message)
            for key, fields in entries
        ]

    @property
    def buried(self) -> int:
        return self._buried

    async def dead_letters(self, queue: str, limit: int) -> Sequence[Message]:
        with _reaching(self._client):
            entries: Any = await self._client.xrevrange(queue + scripts.DEAD, count=limit)
        return [unreadable(str(fields)) if (message := _message(fields)) is None else message for _, fields in entries]

    @asynccontextmanager
    async def _reaching_out(self, hands: Sequence[Hand]) -> AsyncIterator[None]:
        """A take. If it fails, what it may have got all the same is put back, if need be with the next take."""
        await self._settle(hands)
        self._hands.reach_out(hands)
        try:
            yield
        except BaseException:
            self._hands.doubt(hands, self._clock.monotonic())
            settling = asyncio.create_task(self._settle_later(hands), name="settle-hands")
            self._background.add(settling)
            settling.add_done_callback(self._background.discard)
            raise
        finally:
            self._hands.draw_back(hands)

    async def _settle_later(self, hands: Sequence[Hand]) -> None:
        with suppress(ChannelsUnavailable):
            await self._settle(hands)

    async def _settle(self, hands: Sequence[Hand]) -> None:
        """Say what is left unsaid, and put back what Redis thinks a consumer has and it has not. One at a time, and not
        while a take is on its way: what it brings is not known yet either.
        """
        async with self._settling:
            for queue, consumer in hands:
                if self._hands.has_unsaid((queue, consumer)):
                    await self.done(queue, consumer, ())
                if self._hands.doubted((queue, consumer), self._clock.monotonic()):
                    held = await self._run(scripts.HELD, [queue], [consumer])
                    for some in _parts(self._hands.strays((queue, consumer), held)):
                        await self._run(scripts.UNTAKE, [queue], [consumer, *some])

    async def _await_one(
        self, queues: Sequence[str], consumer: str, limit: int, seconds: float
    ) -> dict[str, list[_Taken]]:
        """Block until something new comes. Redis counts ``limit`` for each queue, so what is above it goes back."""
        try:
            with _reaching(self._client):
                found: Any = await self._client.xreadgroup(
                    scripts.GROUP, consumer, dict.fromkeys(queues, ">"), count=limit, block=max(1, int(seconds * 1000))
                )
        except _GroupLost:
            await self._clock.sleep_unless(asyncio.Event(), _GROUP_LOST_PAUSE)
            return {}
        kept: dict[str, list[_Taken]] = {}
        for queue, entries in sorted(found or (), key=lambda part: queues.index(part[0])):
            kept[queue] = [(key, 1, fields.get("data", "")) for key, fields in entries[:limit]]
            if entries[limit:]:
                await self._run(scripts.UNTAKE, [queue], [consumer, *(key for key, _ in entries[limit:])])
            limit -= len(kept[queue])
        return kept

    async def _understood(self, found: Mapping[str, Sequence[_Taken]], consumer: str) -> dict[str, list[Delivery]]:
        """Deliveries, without what is no message: that would end one consumer after the other."""
        taken: dict[str, list[Delivery]] = {}
        for queue, entries in found.items():
            for key, deliveries, text in entries:
                message = unpack(text)
                if message is None:
                    spoilt = json.dumps(unreadable(text))
                    await self._run(scripts.BURY, [queue, queue + scripts.DEAD], [self._limits.dead, key, spoilt])
                    self._buried += 1
                else:
                    taken.setdefault(queue, []).append(Delivery(key, message, deliveries))
        for queue, some in taken.items():
            self._hands.took((queue, consumer), [delivery.id for delivery in some])
        return taken

    # --- topics

    async def announce(self, topic: str, message: Message) -> None:
        check_names([topic])
        text = pack(message, self._limits.message)
        with _reaching(self._client):
            await self._client.publish(topic + self._suffix, text)

    @asynccontextmanager
    async def listen(self, topics: Sequence[str]) -> AsyncIterator[Listening]:
        ear = Ear(self._clock, self._limits.ear)

        def told(channel: str, message: Any) -> None:
            if isinstance(message, dict):
                ear.hear(Heard(channel.removesuffix(self._suffix), message))

        channels = [topic + self._suffix for topic in topics]
        async with Line(self._client, channels, told, ear, self._clock).open():
            yield ear

    # --- boxes

    async def post(self, boxes: Mapping[str, Sequence[Message]]) -> None:
        check_names(boxes)
        if not boxes:
            return
        arguments: list[str | int] = [self._limits.box, self._news, json.dumps(list(boxes))]
        for messages in boxes.values():
            arguments += [len(messages), *(pack(message, self._limits.message) for message in messages)]
        full = await self._run(scripts.POST, [self._index, *boxes], arguments)
        if full:
            raise BoxFull(full)

    async def read(self, after: Mapping[str, str], *, limit: int) -> dict[str, list[Entry]]:
        news: dict[str, list[Entry]] = {}
        places = {box: _place(position) for box, position in after.items()}
        for some in _parts(list(after)):
            with _reaching(self._client):
                found: Any = await self._client.xread({box: places[box] for box in some}, count=limit)
            for box, entries in found or ():
                news[box] = [
                    Entry(key, message) for key, fields in entries if (message := _message(fields)) is not None
                ]
        return {box: entries for box, entries in news.items() if entries}

    @asynccontextmanager
    async def news(self) -> AsyncIterator[Listening]:
        ear = Ear(self._clock, self._limits.ear)
        async with Line(self._client, [self._news], lambda _, boxes: ear.hear_of(boxes), ear, self._clock).open():
            yield ear

    async def remove(self, boxes: Sequence[str]) -> None:
        for some in _parts(boxes):
            with _reaching(self._client):
                async with self._client.pipeline(transaction=True) as together:
                    together.unlink(*some)
                    together.zrem(self._index, *some)
                    await together.execute()

    # --- the rest

    async def clean(self, older_than: float) -> int:
        age, total = int(older_than * 1000), 0
        while count := await self._run(scripts.CLEAN_BOXES, [self._index], [age, _AT_ONCE]):
            total += count
        with _reaching(self._client):
            queues: Any = await self._client.smembers(self._queues)
        for queue in queues:
            total += await self._run(scripts.CLEAN_QUEUE, [queue, queue + scripts.DEAD], [age])
        return total

    async def check(self) -> None:
        with _reaching(self._client):
            await self._client.ping()

    async def complaint(self) -> str | None:
        with _reaching(self._client):
            policy = (await self._client.info("memory")).get("maxmemory_policy", "")
        if not str(policy).startswith("allkeys"):  # the other policies spare what has no end of life, as all of ours
            return None
        return f"Redis drops messages when its memory is full, by its maxmemory-policy {policy}: set it to noeviction."

    async def close(self) -> None:
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await disconnect(self._client)

    async def _run(self, script: str, keys: Sequence[str], arguments: Sequence[str | int] = ()) -> Any:
        run = self._scripts.get(script)
        if run is None:
            run = self._scripts[script] = self._client.register_script(script)
        with _reaching(self._client):
            return await run(keys=list(keys), args=list(arguments))


class _GroupLost(ChannelsUnavailable):
    """The stream or its group went away while we waited for it."""


@contextmanager
def _reaching(client: Redis) -> Iterator[None]:
    """Redis is asked: its failures in our words. The client loses a cancellation that comes while it connects, and what
    was taken then would be for nobody; so that is looked at here.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    try:
        yield
    except ResponseError as error:
        if str(error).startswith(("NOGROUP", "UNBLOCKED")):
            raise _GroupLost(f"Redis has lost a queue: {error}") from error
        raise ChannelsUnavailable(f"Redis refused: {error}") from error
    except FAILURES as error:
        raise ChannelsUnavailable(f"Redis cannot be reached: {failure_sentence(client, error)}") from error
    if task and task.cancelling() > before:
        raise asyncio.CancelledError


def _message(fields: Mapping[str, str]) -> Message | None:
    return unpack(fields.get("data", ""))


def _place(position: str) -> str:
    """A position as Redis takes it; anything else would be its own error, as if it were away."""
    if position == START:
        return "0-0"
    if not _POSITION.fullmatch(position) or any(int(part) > _LARGEST for part in position.split("-")):
        raise no_position(position)
    return position


def _parts(items: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(items), _AT_ONCE):
        yield items[start : start + _AT_ONCE]
