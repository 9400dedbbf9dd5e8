"""The way to the channels for executors that cannot reach them by themselves: they have no database.

Each verb of ``orth.channels.interface`` is a POST to ``/api/channels/<verb>`` with the executor token; members are the
parameters' names, and the payload of the answer is what the verb gives. ``take``, ``read`` and ``hear`` may wait, for
up to ``WAIT_LIMIT`` seconds:

* ``take {queues, consumer, limit, wait}`` → ``{queue: [{id, message, deliveries}]}``
* ``done {queue, consumer, deliveries}``, ``bury {queue, consumer, deliveries}``
* ``give_back {queue, consumer, to_dead_after?}`` → how many
* ``announce {topic, message}``, ``post {boxes}``, ``remove {boxes}``
* ``post`` → ``{full: [box]}`` when some took nothing: they have no room, or a message is too large, or what was said is
  not of whom the execution was given to
* ``read {after, limit, wait?, keys}`` → ``{box: [{position, message}]}``; with ``wait`` it waits until one grows
* ``hear {topics, listener, wait}`` → ``{heard: [{topic, message}], missed, fresh}``. A listener is remembered between
  two calls; ``fresh`` says that this one was not, so that what came before was not heard.

An executor needs few of the channels, and only those are open to it: dispatch queues to take from, the topics of
cancels and of wanted logs to hear, its heartbeat to tell, and the boxes of executions and of its own process. So the
token of an executor gives nobody a way into what coordinators tell each other, and nobody but coordinators puts
anything into a queue: what makes executors work comes from there. With the token of a group only what is said to its
own apps is heard.

A token is shared, and proves neither which process asks nor what it was given. So whoever takes, beats or reads its own
box tells its ``work_key``, from which its name is made; and whoever speaks of an execution, or reads what is said of
it, shows the report key that came with it: in each message, or by box in ``keys`` (``channel_scope``).
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from orth.channels.interface import START, BoxFull, Channels, Entry, Heard, Listening
from orth.channels.names import Names
from orth.clock import Clock
from orth.coordinator.http.allowed_channels import Allowed
from orth.coordinator.http.channel_requests import (
    Announce,
    Done,
    GiveBack,
    Hear,
    Post,
    Read,
    Remove,
    Take,
)
from orth.coordinator.http.channel_shares import Guest, Shares
from orth.coordinator.workers import Workers
from orth.errors import Forbidden, TooBusy, TooLarge, Unavailable
from orth.wire.channel_messages import Standing
from orth.wire.report_keys import ReportKeys

CHANNELS = "/api/channels"
CLOSED_VERBS = ("send",)
"""What executors of earlier versions ask for, and nobody may."""
WAIT_LIMIT = 25.0
"""Seconds for which an answer is held back, at most."""
_FORGET_AFTER = 60.0
_LISTENERS = 10_000
_HELD = 1_000
_CHUNK = 5.0
_REPORT_KEY = "reportKey"

_Listener = tuple[int | None, str]
"""The token of somebody who listens, and the name by which that one asks again."""


@dataclass(slots=True)
class _Ear:
    """Somebody who listens through this coordinator. Held by a task, because listening is bound to one."""

    task: asyncio.Task[None] | None = None
    heard: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=_HELD))
    missed: int = 0
    dropped: int = 0
    used: float = 0.0
    app_names: frozenset[str] | None = None
    """Of which apps it hears; None: of all."""
    hearing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when nothing passes unheard any more, or it could not be listened."""
    grown: asyncio.Event = field(default_factory=asyncio.Event)


class ChannelDoor:
    """The channels of this coordinator, for executors."""

    def __init__(
        self,
        channels: Channels | None,
        names: Names,
        clock: Clock,
        workers: Workers,
        *,
        report_keys: ReportKeys,
        box_size: int,
    ) -> None:
        """``box_size`` is in characters of what one box takes from a token of a group."""
        self._channels = channels
        self.names = names
        self.workers = workers
        self.report_keys = report_keys
        self._shares = Shares(box_size, clock)
        self._allowed = Allowed(names)
        self._clock = clock
        self._ears: dict[_Listener, _Ear] = {}
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._pump: asyncio.Task[None] | None = None
        self._hearing = asyncio.Event()

    @property
    def verbs(self) -> Mapping[str, Callable[[Any, Guest], Awaitable[object]]]:  # Any: the form of its verb
        return {
            "take": self._take,
            "done": self._done,
            "bury": self._bury,
            "give_back": self._give_back,
            "announce": self._announce,
            "post": self._post,
            "read": self._read,
            "remove": self._remove,
            "hear": self._hear,
        }

    async def close(self) -> None:
        """Let go of everybody who listens."""
        tasks = [ear.task for ear in self._ears.values() if ear.task] + ([self._pump] if self._pump else [])
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._ears.clear()
        self._pump = None

    @property
    def _open(self) -> Channels:
        if self._channels is None:
            raise Unavailable("This coordinator has no channels.", hint="Set channels.url on the coordinators.")
        return self._channels

    # --- queues

    async def _take(self, asked: Take, guest: Guest) -> object:
        queues = [self._allowed.queue(name) for name in asked.queues]
        with self._shares.waiting(guest, asked.wait, len(queues)):
            taken = await self._open.take(queues, asked.consumer, limit=asked.limit, wait=min(asked.wait, WAIT_LIMIT))
        return {
            queue: [{"id": one.id, "message": one.message, "deliveries": one.deliveries} for one in some]
            for queue, some in taken.items()
        }

    async def _done(self, asked: Done, _guest: Guest) -> object:
        await self._open.done(self._allowed.queue(asked.queue), asked.consumer, asked.deliveries)
        return None

    async def _bury(self, asked: Done, _guest: Guest) -> object:
        await self._open.bury(self._allowed.queue(asked.queue), asked.consumer, asked.deliveries)
        return None

    async def _give_back(self, asked: GiveBack, _guest: Guest) -> object:
        queue = self._allowed.queue(asked.queue)
        return await self._open.give_back(queue, asked.consumer, to_dead_after=asked.to_dead_after)

    # --- topics

    async def _announce(self, asked: Announce, _guest: Guest) -> object:
        await self._open.announce(self._allowed.tell(asked.topic), asked.message)
        return None

    async def _hear(self, asked: Hear, guest: Guest) -> object:
        topics = [self._allowed.hear(name) for name in asked.topics]
        listener = (guest.token_id, asked.listener)
        ear = self._ears.get(listener)
        fresh = ear is None or ear.task is None or ear.task.done()
        if ear is None or fresh:
            ear = self._begin(guest, listener, topics)
        ear.app_names = guest.app_names
        await ear.hearing.wait()
        if ear.task is None or ear.task.done():
            raise Unavailable("The channels cannot be listened to.")
        ear.used = self._clock.monotonic()
        if not ear.heard:
            ear.grown.clear()
            with self._shares.waiting(guest, asked.wait):
                await self._clock.sleep_unless(ear.grown, min(asked.wait, WAIT_LIMIT))
        heard, ear_missed = list(ear.heard), ear.missed
        ear.heard.clear()
        ear.used = self._clock.monotonic()
        return {"heard": heard, "missed": ear_missed, "fresh": fresh}

    def _begin(self, guest: Guest, listener: _Listener, topics: Sequence[str]) -> _Ear:
        self._shares.check_ears(guest, sum(token_id == guest.token_id for token_id, _name in self._ears))
        if len(self._ears) >= _LISTENERS:
            raise TooBusy("Too many executors listen through this coordinator.")
        ear = _Ear(used=self._clock.monotonic(), app_names=guest.app_names)
        ear.task = asyncio.create_task(self._listen(listener, ear, self._open, topics))
        self._ears[listener] = ear
        return ear

    async def _listen(self, listener: _Listener, ear: _Ear, channels: Channels, topics: Sequence[str]) -> None:
        try:
            async with channels.listen(topics) as listening:
                ear.hearing.set()
                while self._clock.monotonic() - ear.used < _FORGET_AFTER:
                    some = [one for one in await listening.next(_CHUNK) if _is_for(ear.app_names, one)]
                    ear.dropped += max(0, len(ear.heard) + len(some) - _HELD)
                    ear.missed = listening.missed + ear.dropped
                    ear.heard.extend({"topic": one.topic, "message": one.message} for one in some)
                    if some:
                        ear.grown.set()
        except Unavailable:
            return  # the next call begins anew, and says so
        finally:
            ear.hearing.set()
            if self._ears.get(listener) is ear:
                del self._ears[listener]

    # --- boxes

    async def _post(self, asked: Post, guest: Guest) -> object:
        boxes = {self._allowed.post(box): messages for box, messages in asked.boxes.items()}
        sizes = self._shares.room(guest, boxes)
        full = boxes.keys() - sizes.keys()
        boxes = {box: boxes[box] for box in sizes}
        try:
            await self._open.post(boxes)
        except BoxFull as refused:
            full |= set(refused.boxes)
        except TooLarge:  # one of them, which must not keep back the others
            full |= {box for box, messages in boxes.items() if not await self._takes(box, messages)}
        self._shares.took(guest, {box: size for box, size in sizes.items() if box not in full})
        return {"full": sorted(full)} if full else None

    async def _takes(self, box: str, messages: Sequence[Mapping[str, Any]]) -> bool:
        try:
            await self._open.post({box: messages})
        except (BoxFull, TooLarge):
            return False
        return True

    async def _read(self, asked: Read, guest: Guest) -> object:
        after = {self._allowed.read(box): position or START for box, position in asked.after.items()}
        if asked.wait:
            with self._shares.waiting(guest, asked.wait):
                found = await self._read_or_wait(after, asked.limit, min(asked.wait, WAIT_LIMIT))
        else:
            found = await self._open.read(after, limit=asked.limit)
        return {
            box: [
                {"position": entry.position, "message": _without_key(entry.message)}
                for entry in entries
                if box not in guest.withheld or entry.message.get("status") == Standing.WITHDRAWN
            ]
            for box, entries in found.items()
        }

    async def _read_or_wait(self, after: Mapping[str, str], limit: int, wait: float) -> dict[str, list[Entry]]:
        async with self._watching(after) as grown:
            found = await self._open.read(after, limit=limit)
            if not any(found.values()):
                await self._clock.sleep_unless(grown, wait)
                found = await self._open.read(after, limit=limit)
        return found

    async def _remove(self, asked: Remove, _guest: Guest) -> object:
        await self._open.remove([self._allowed.remove(box) for box in asked.boxes])
        return None

    @asynccontextmanager
    async def _watching(self, boxes: Mapping[str, str]) -> AsyncIterator[asyncio.Event]:
        """An event that is set when one of these boxes grows, or may have."""
        grown = asyncio.Event()
        for box in boxes:
            self._waiting.setdefault(box, set()).add(grown)
        if self._pump is None or self._pump.done():
            self._hearing = asyncio.Event()
            self._pump = asyncio.create_task(self._tell_growth(self._open, self._hearing))
        try:
            await self._hearing.wait()  # from here on no growth is missed
            yield grown
        finally:
            for box in boxes:
                self._waiting[box].discard(grown)
                if not self._waiting[box]:
                    del self._waiting[box]

    async def _tell_growth(self, channels: Channels, hearing: asyncio.Event) -> None:
        """One ear for all who wait for boxes, while there are any."""
        idle_since = self._clock.monotonic()
        with suppress(Unavailable):
            async with channels.news() as listening:
                hearing.set()
                while self._clock.monotonic() - idle_since < _FORGET_AFTER:
                    if self._waiting:
                        idle_since = self._clock.monotonic()
                    await self._pass_on(listening)
        hearing.set()
        for waiting in self._waiting.values():  # nobody tells them any more: they look for themselves
            for grown in waiting:
                grown.set()

    async def _pass_on(self, listening: Listening) -> None:
        before = listening.missed
        names = [str(one.message.get("box")) for one in await listening.next(_CHUNK)]
        if listening.missed != before:
            names = list(self._waiting)
        for name in names:
            for grown in self._waiting.get(name, ()):
                grown.set()


def _is_for(app_names: frozenset[str] | None, heard: Heard) -> bool:
    """Whether something that was told to all is of these apps. What does not say whose it is is nobody's."""
    return app_names is None or heard.message.get("appName") in app_names


def _without_key(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """What an executor has said of an execution, without what lets it: others with its token read it too."""
    result = message.get("result")
    shown = {name: value for name, value in message.items() if name != _REPORT_KEY}
    if isinstance(result, dict):
        shown["result"] = {name: value for name, value in result.items() if name != _REPORT_KEY}
    return shown


def no_longer(verb: str) -> Forbidden:
    """The answer to what executors of earlier versions ask for."""
    return Forbidden(
        f"Executors may not {verb} any more: only coordinators put something into a queue.",
        hint="Use an executor of this version; it gives back what it has not begun.",
    )
