"""Channels within one process: nothing is kept when it ends, and the sweeps over the database begin anew."""

from bisect import bisect_right
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from orth.channels.audience import Audience
from orth.channels.interface import BoxFull, Channels, ChannelsUnavailable, Delivery, Entry, Listening, Message
from orth.channels.limits import Limits
from orth.channels.packing import check_consumer, check_names, pack, position_of, unpack
from orth.clock import Clock


@dataclass(frozen=True, slots=True)
class _Kept:
    """A message as text: who changes what was given to him changes nobody else's."""

    id: int
    text: str
    deliveries: int = 0

    def message(self) -> Message:
        return unpack(self.text) or {}


@dataclass(slots=True)
class _Queue:
    waiting: deque[_Kept] = field(default_factory=deque)
    taken: dict[str, dict[str, _Kept]] = field(default_factory=dict)
    """By consumer, then by id."""
    dead: deque[tuple[float, _Kept]] = field(default_factory=deque)

    def __len__(self) -> int:
        return len(self.waiting) + sum(map(len, self.taken.values()))


@dataclass(slots=True)
class _Box:
    grown_at: float
    entries: list[_Kept] = field(default_factory=list)


class MemoryChannels(Channels):
    """For one event loop. No method gives way in the middle of a change, so none needs a lock."""

    def __init__(self, clock: Clock, limits: Limits | None = None) -> None:
        self._clock = clock
        self._limits = limits or Limits()
        self._audience = Audience(clock, self._limits.ear)
        self._queues: dict[str, _Queue] = {}
        self._boxes: dict[str, _Box] = {}
        self._last_id = 0
        self._buried = 0

    def wake_all(self) -> None:
        """Whoever listens or waits has to look what has become of these channels."""
        self._audience.doubt()

    # --- queues

    async def send(self, queue: str, messages: Sequence[Message]) -> None:
        check_names([queue])
        texts = [pack(message, self._limits.message) for message in messages]
        if not texts:
            return
        kept = self._queues.setdefault(queue, _Queue())
        if len(kept) + len(texts) > self._limits.queue:
            raise ChannelsUnavailable(f"The queue {queue} is full.")
        kept.waiting.extend(_Kept(self._next_id(), text) for text in texts)
        self._audience.wake({queue: len(texts)})

    async def take(self, queues: Sequence[str], consumer: str, *, limit: int, wait: float) -> dict[str, list[Delivery]]:
        check_consumer(consumer)
        end = self._clock.monotonic() + wait
        with self._audience.waiting(queues) as waiter:
            while not (taken := self._taken(queues, consumer, limit)):
                left = end - self._clock.monotonic()
                if left <= 0:
                    break
                await self._clock.sleep_unless(waiter.woken, left)
                waiter.woken.clear()
            return taken

    def _taken(self, queues: Sequence[str], consumer: str, limit: int) -> dict[str, list[Delivery]]:
        taken: dict[str, list[Delivery]] = {}
        for name in queues:
            queue = self._queues.get(name)
            if queue is None or not queue.waiting or limit <= 0:
                continue
            some = [queue.waiting.popleft() for _ in range(min(limit, len(queue.waiting)))]
            some = [replace(kept, deliveries=kept.deliveries + 1) for kept in some]
            queue.taken.setdefault(consumer, {}).update({str(kept.id): kept for kept in some})
            taken[name] = [Delivery(str(kept.id), kept.message(), kept.deliveries) for kept in some]
            limit -= len(some)
        return taken

    async def done(self, queue: str, consumer: str, deliveries: Sequence[str]) -> None:
        check_consumer(consumer)
        kept = self._queues.get(queue)
        if kept is None or consumer not in kept.taken:
            return
        for delivery in deliveries:
            kept.taken[consumer].pop(delivery, None)
        if not kept.taken[consumer]:
            del kept.taken[consumer]

    async def give_back(self, queue: str, consumer: str, *, to_dead_after: int = 5) -> int:
        check_consumer(consumer)
        kept = self._queues.get(queue)
        if kept is None:
            return 0
        given = list(kept.taken.pop(consumer, {}).values())
        back = [one for one in given if one.deliveries < to_dead_after]
        self._lay_down(kept, [one for one in given if one.deliveries >= to_dead_after])
        kept.waiting = deque(sorted([*back, *kept.waiting], key=lambda one: one.id))
        self._audience.wake({queue: len(back)})
        return len(given)

    async def bury(self, queue: str, consumer: str, deliveries: Sequence[str]) -> None:
        check_consumer(consumer)
        kept = self._queues.get(queue)
        if kept is None:
            return
        held = kept.taken.get(consumer, {})
        self._lay_down(kept, [held[delivery] for delivery in deliveries if delivery in held])
        await self.done(queue, consumer, deliveries)

    def _lay_down(self, queue: _Queue, given_up: Sequence[_Kept]) -> None:
        queue.dead.extend((self._clock.monotonic(), one) for one in given_up)
        self._buried += len(given_up)
        while len(queue.dead) > self._limits.dead:
            queue.dead.popleft()

    async def consumers(self, queue: str) -> Mapping[str, int]:
        kept = self._queues.get(queue, _Queue())
        return {consumer: len(taken) for consumer, taken in kept.taken.items()}

    async def waiting(self, queue: str) -> int:
        return len(self._queues.get(queue, _Queue()).waiting)

    async def undone(self, queue: str, after: str, *, limit: int) -> list[Entry]:
        place, kept = position_of(after), self._queues.get(queue, _Queue())
        held = (one for taken in kept.taken.values() for one in taken.values())
        later = sorted((one for one in (*kept.waiting, *held) if one.id > place), key=lambda one: one.id)
        return [Entry(str(one.id), one.message()) for one in later[:limit]]

    @property
    def buried(self) -> int:
        return self._buried

    async def dead_letters(self, queue: str, limit: int) -> Sequence[Message]:
        newest = list(reversed(self._queues.get(queue, _Queue()).dead))[:limit]
        return [kept.message() for _, kept in newest]

    # --- topics

    async def announce(self, topic: str, message: Message) -> None:
        check_names([topic])
        text = pack(message, self._limits.message)
        self._audience.tell(topic, unpack(text) or {})

    @asynccontextmanager
    async def listen(self, topics: Sequence[str]) -> AsyncIterator[Listening]:
        with self._audience.ear(topics) as ear:
            yield ear

    # --- boxes

    async def post(self, boxes: Mapping[str, Sequence[Message]]) -> None:
        check_names(boxes)
        texts = {box: [pack(message, self._limits.message) for message in said] for box, said in boxes.items()}
        full = [box for box, said in texts.items() if self._size(box) + len(said) > self._limits.box]
        now = self._clock.monotonic()
        for name in full:
            del texts[name]
        for name, said in texts.items():
            box = self._boxes.setdefault(name, _Box(now))
            box.grown_at = now
            box.entries.extend(_Kept(self._next_id(), text) for text in said)
        self._audience.tell_boxes(texts)
        if full:
            raise BoxFull(full)

    async def read(self, after: Mapping[str, str], *, limit: int) -> dict[str, list[Entry]]:
        found: dict[str, list[Entry]] = {}
        places = {name: position_of(position) for name, position in after.items()}
        for name, place in places.items():
            box = self._boxes.get(name)
            if box is None:
                continue
            first = bisect_right(box.entries, place, key=lambda kept: kept.id)
            news = box.entries[first : first + limit]
            if news:
                found[name] = [Entry(str(kept.id), kept.message()) for kept in news]
        return found

    @asynccontextmanager
    async def news(self) -> AsyncIterator[Listening]:
        with self._audience.ear(None) as ear:
            yield ear

    async def remove(self, boxes: Sequence[str]) -> None:
        for box in boxes:
            self._boxes.pop(box, None)

    # --- the rest

    async def clean(self, older_than: float) -> int:
        oldest = self._clock.monotonic() - older_than
        old = [name for name, box in self._boxes.items() if box.grown_at < oldest]
        for name in old:
            del self._boxes[name]
        forgotten = len(old)
        for queue in self._queues.values():
            while queue.dead and queue.dead[0][0] < oldest:
                queue.dead.popleft()
                forgotten += 1
        self._queues = {name: queue for name, queue in self._queues.items() if len(queue) or queue.dead}
        return forgotten

    async def check(self) -> None:
        """Memory answers."""

    async def close(self) -> None:
        """There is nothing to let go of."""

    def _size(self, box: str) -> int:
        kept = self._boxes.get(box)
        return len(kept.entries) if kept else 0

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id
