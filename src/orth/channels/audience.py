"""Who in this process listens and waits, whatever the backend.

A backend that learns of something tells the audience: ``tell`` for topics, ``tell_boxes`` for boxes that grew,
``wake`` for queues that have something. It is for one event loop.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from orth.channels.interface import Heard, Listening, Message
from orth.clock import Clock

_AT_ONCE = 1_000
_NEWS = ""
"""Stands for all boxes where topics stand: no topic is called so."""


class Ear(Listening):
    """Keeps what was said until its owner asks; at most ``capacity``. Of boxes each name once."""

    def __init__(self, clock: Clock, capacity: int) -> None:
        self._clock = clock
        self._capacity = capacity
        self._heard: deque[Heard] = deque()
        self._boxes: dict[str, None] = {}
        self._woken = asyncio.Event()
        self.missed = 0
        self.hears = True

    def hear(self, heard: Heard) -> None:
        if len(self._heard) >= self._capacity:
            self._heard.popleft()
            self.missed += 1
        self._heard.append(heard)
        self._woken.set()

    def hear_of(self, boxes: Iterable[str]) -> None:
        self._boxes.update(dict.fromkeys(boxes))
        while len(self._boxes) > self._capacity:
            del self._boxes[next(iter(self._boxes))]
            self.missed += 1
        self._woken.set()

    def lose(self) -> None:
        """Nothing that is said comes here, until ``doubt``."""
        self.hears = False
        self._woken.set()

    def doubt(self) -> None:
        """Something may have been said that did not come here; what is said from now on does."""
        self.missed += 1
        self.hears = True
        self._woken.set()

    async def next(self, wait: float) -> Sequence[Heard]:
        end = self._clock.monotonic() + wait
        while not (self._heard or self._boxes):
            # Whoever has missed something must know now, though nothing came.
            if self._woken.is_set() or (left := end - self._clock.monotonic()) <= 0:
                break
            await self._clock.sleep_unless(self._woken, left)
        self._woken.clear()
        found = [self._heard.popleft() for _ in range(min(_AT_ONCE, len(self._heard)))]
        for box in list(self._boxes)[: _AT_ONCE - len(found)]:
            del self._boxes[box]
            found.append(Heard(box, {"box": box}))
        return found


class Waiter:
    """Somebody who waits for a message of certain queues."""

    def __init__(self, queues: Iterable[str]) -> None:
        self.queues = frozenset(queues)
        self.woken = asyncio.Event()


class Audience:
    """All ears and all who wait."""

    def __init__(self, clock: Clock, capacity: int) -> None:
        self._clock = clock
        self._capacity = capacity
        self._ears: dict[str, list[Ear]] = {}
        self._waiters: dict[str, dict[Waiter, None]] = {}

    @contextmanager
    def ear(self, topics: Sequence[str] | None) -> Iterator[Ear]:
        """An ear for topics; for the growth of boxes with None."""
        ear = Ear(self._clock, self._capacity)
        wanted = set(topics) if topics is not None else {_NEWS}
        for topic in wanted:
            self._ears.setdefault(topic, []).append(ear)
        try:
            yield ear
        finally:
            for topic in wanted:
                self._ears[topic].remove(ear)
                if not self._ears[topic]:
                    del self._ears[topic]

    def tell(self, topic: str, message: Message) -> None:
        for ear in self._ears.get(topic, ()):
            ear.hear(Heard(topic, message))

    def tell_boxes(self, boxes: Iterable[str]) -> None:
        for ear in self._ears.get(_NEWS, ()):
            ear.hear_of(boxes)

    @contextmanager
    def waiting(self, queues: Iterable[str]) -> Iterator[Waiter]:
        """Wait for messages of ``queues``; a wake that was not used goes to the next in line."""
        waiter = Waiter(queues)
        for queue in waiter.queues:
            self._waiters.setdefault(queue, {})[waiter] = None
        try:
            yield waiter
        finally:
            for queue in waiter.queues:
                del self._waiters[queue][waiter]
                if not self._waiters[queue]:
                    del self._waiters[queue]
            if waiter.woken.is_set():
                self.wake(dict.fromkeys(waiter.queues, 1))

    def wake(self, queues: Mapping[str, int]) -> None:
        """Let as many look as there are messages, those who wait longest first."""
        for queue, messages in queues.items():
            sleeping = (waiter for waiter in self._waiters.get(queue, ()) if not waiter.woken.is_set())
            for waiter, _ in zip(sleeping, range(messages), strict=False):
                waiter.woken.set()

    def lose(self) -> None:
        """Nothing that others say comes here, until ``doubt``."""
        for ear in self._all_ears():
            ear.lose()

    def doubt(self) -> None:
        """Nobody knows what happened: let everybody look everywhere."""
        for ear in self._all_ears():
            ear.doubt()
        for waiters in self._waiters.values():
            for waiter in waiters:
                waiter.woken.set()

    def _all_ears(self) -> Iterable[Ear]:
        return {id(ear): ear for ears in self._ears.values() for ear in ears}.values()
