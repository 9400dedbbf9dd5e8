"""Channels through the store: no server besides the database.

Queues, boxes and what is said on topics are rows (``orth.store``); a change and the hint about it commit together.
Posts that come at the same time share a transaction. Who speaks tells his own process at once, and the others through
the watch.
"""

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

from orth.channels.audience import Audience
from orth.channels.interface import BoxFull, Channels, ChannelsUnavailable, Delivery, Entry, Listening, Message
from orth.channels.limits import Limits
from orth.channels.packing import as_number, check_consumer, check_names, pack, position_of, unpack, unreadable
from orth.channels.room import Room
from orth.channels.watch import Watch, boxes_frame, queues_frame, topic_frame, watch_over
from orth.clock import Clock
from orth.errors import StoreUnavailable, TooBusy
from orth.events import Events
from orth.store import channel_boxes, channel_messages
from orth.store.announcements import tell
from orth.store.channel_messages import TakenMessage
from orth.store.database import Connection, Database, ping
from orth.store.gathering import Gathering

P = ParamSpec("P")
T = TypeVar("T")
Post = Mapping[str, Sequence[str]]

_LOOK_AGAIN = 5.0
_LOOK_AGAIN_UNTOLD = 0.5
_CLEANED_AT_ONCE = 100
_REMOVED_AT_ONCE = 100
_POSTS_WAITING = 10_000
_STRAYS = 1_000


@dataclass(frozen=True, slots=True)
class _Stray:
    """A take whose answer nobody got."""

    queues: tuple[str, ...]
    consumer: str
    take_id: str


class DatabaseChannels(Channels):
    """For one event loop; ``db`` is the caller's."""

    def __init__(self, db: Database, clock: Clock, events: Events, limits: Limits) -> None:
        self._db = db
        self._clock = clock
        self._limits = limits
        self._origin = secrets.token_hex(8)
        self._audience = Audience(clock, limits.ear)
        self._watch: Watch = watch_over(db, self._audience, self._origin, clock, events)
        self._watching: asyncio.Task[None] | None = None
        self._room = Room(limits.queue, clock)
        self._posts: Gathering[Post, list[str]] = Gathering(db, self._append, waiting=_POSTS_WAITING)
        self._strays: deque[_Stray] = deque(maxlen=_STRAYS)
        self._unfinished: set[asyncio.Task[Any]] = set()
        self._buried = 0

    # --- queues

    async def send(self, queue: str, messages: Sequence[Message]) -> None:
        check_names([queue])
        payloads = [pack(message, self._limits.message) for message in messages]
        if not payloads:
            return
        if not self._room.known_for(queue, len(payloads)):
            self._room.counted(queue, await self._read(channel_messages.count_messages, queue, self._limits.queue))
        self._room.use(queue, len(payloads))

        def add(connection: Connection) -> None:
            channel_messages.add_messages(connection, queue, payloads)
            tell(connection, self._origin, queues_frame({queue: len(payloads)}))

        await self._to_the_end(lambda: self._tx(add), lambda _: self._audience.wake({queue: len(payloads)}))

    async def take(self, queues: Sequence[str], consumer: str, *, limit: int, wait: float) -> dict[str, list[Delivery]]:
        check_names(queues)
        check_consumer(consumer)
        end = self._clock.monotonic() + wait
        self._keep_watching()
        with self._audience.waiting(queues) as waiter:
            while True:
                waiter.woken.clear()
                if taken := await self._taken(queues, consumer, limit):
                    return taken
                left = end - self._clock.monotonic()
                if left <= 0:
                    return {}
                pause = _LOOK_AGAIN if self._watch.in_touch else _LOOK_AGAIN_UNTOLD
                await self._clock.sleep_unless(waiter.woken, min(left, pause))
                if left < pause == _LOOK_AGAIN and not waiter.woken.is_set():
                    return {}  # we would have been told; whoever waits on looks first anyway

    async def _taken(self, queues: Sequence[str], consumer: str, limit: int) -> dict[str, list[Delivery]]:
        await self._untake()
        # Looking first keeps who waits in vain away from the one writer of SQLite.
        filled = await self._read(channel_messages.queues_with_messages, queues) if limit > 0 and queues else []
        if not filled:
            return {}
        stray = _Stray(tuple(filled), consumer, secrets.token_hex(8))
        taking = self._begin(self._tx(channel_messages.take_messages, filled, consumer, stray.take_id, limit))
        try:
            return await self._deliveries(await asyncio.shield(taking))
        except ChannelsUnavailable:  # it may have happened
            self._strays.append(stray)
            raise
        except asyncio.CancelledError:
            self._begin(self._untake_after(taking, stray))
            raise

    async def _untake_after(self, taking: "asyncio.Task[list[TakenMessage]]", stray: _Stray) -> None:
        with suppress(ChannelsUnavailable):
            await taking
        self._strays.append(stray)
        with suppress(ChannelsUnavailable):  # then the next who takes will try again
            await self._untake()

    async def _untake(self) -> None:
        """What was taken for somebody who did not get it waits again: others must not wait until that consumer is
        known to be gone.
        """
        while self._strays:
            stray = self._strays[0]
            count = await self._tx(self._undo, stray)
            if stray in self._strays:
                self._strays.remove(stray)
            self._audience.wake(dict.fromkeys(stray.queues, count))

    def _undo(self, connection: Connection, stray: _Stray) -> int:
        count = channel_messages.untake_messages(connection, stray.queues, stray.consumer, stray.take_id)
        if count:
            tell(connection, self._origin, queues_frame(dict.fromkeys(stray.queues, count)))
        return count

    async def _deliveries(self, rows: Sequence[TakenMessage]) -> dict[str, list[Delivery]]:
        taken: dict[str, list[Delivery]] = {}
        for row in rows:
            message = unpack(row.payload)
            if message is None:
                await self._bury(row)
            else:
                taken.setdefault(row.queue, []).append(Delivery(str(row.id), message, row.deliveries))
        return taken

    async def _bury(self, row: TakenMessage) -> None:
        payload = pack(unreadable(row.payload), 2 * len(row.payload) + self._limits.message)
        bury = channel_messages.bury_messages
        await self._tx(bury, row.queue, {row.id: payload}, self._limits.dead, self._clock.now())
        self._buried += 1

    async def done(self, queue: str, consumer: str, deliveries: Sequence[str]) -> None:
        check_names([queue])
        check_consumer(consumer)
        ids = [number for delivery in deliveries if (number := as_number(delivery)) is not None]
        if ids:
            await self._tx(channel_messages.finish_messages, queue, consumer, ids)

    async def give_back(self, queue: str, consumer: str, *, to_dead_after: int = 5) -> int:
        check_names([queue])
        check_consumer(consumer)

        def give_back(connection: Connection) -> tuple[int, int]:
            back, dead = channel_messages.give_back_messages(
                connection,
                queue,
                consumer,
                to_dead_after=to_dead_after,
                dead_limit=self._limits.dead,
                now=self._clock.now(),
            )
            if back:
                tell(connection, self._origin, queues_frame({queue: back}))
            return back, dead

        back, dead = await self._tx(give_back)
        self._buried += dead
        self._audience.wake({queue: back})
        return back + dead

    async def bury(self, queue: str, consumer: str, deliveries: Sequence[str]) -> None:
        check_names([queue])
        check_consumer(consumer)
        ids = [number for delivery in deliveries if (number := as_number(delivery)) is not None]
        if ids:
            bury = channel_messages.bury_held
            self._buried += await self._tx(bury, queue, consumer, ids, self._limits.dead, self._clock.now())

    async def consumers(self, queue: str) -> Mapping[str, int]:
        return await self._read(channel_messages.holders_of, queue)

    async def waiting(self, queue: str) -> int:
        return await self._read(channel_messages.count_waiting, queue)

    async def undone(self, queue: str, after: str, *, limit: int) -> list[Entry]:
        check_names([queue])
        found = await self._read(channel_messages.undone_messages, queue, position_of(after), limit)
        return [Entry(str(one), unpack(payload) or unreadable(payload)) for one, payload in found]

    @property
    def buried(self) -> int:
        return self._buried

    async def dead_letters(self, queue: str, limit: int) -> Sequence[Message]:
        payloads = await self._read(channel_messages.newest_dead, queue, limit)
        return [unpack(payload) or unreadable(payload) for payload in payloads]

    # --- topics

    async def announce(self, topic: str, message: Message) -> None:
        check_names([topic])
        text = pack(message, self._limits.message)
        await self._to_the_end(
            lambda: self._tx(tell, self._origin, topic_frame(topic, message)),
            lambda _: self._audience.tell(topic, unpack(text) or {}),
        )

    @asynccontextmanager
    async def listen(self, topics: Sequence[str]) -> AsyncIterator[Listening]:
        with self._audience.ear(topics) as ear:
            await self._in_touch()
            yield ear

    # --- boxes

    async def post(self, boxes: Mapping[str, Sequence[Message]]) -> None:
        check_names(boxes)
        texts = {box: [pack(message, self._limits.message) for message in said] for box, said in boxes.items() if said}
        if not texts:
            return
        with _as_channels():
            refused = await self._to_the_end(
                lambda: self._posts.put(texts),
                lambda refused: self._audience.tell_boxes(box for box in texts if box not in refused),
            )
        if refused:
            raise BoxFull(refused)

    def _append(self, connection: Connection, posts: Sequence[Post]) -> list[list[str]]:
        now = self._clock.now()
        refused = channel_boxes.append_to_boxes(connection, posts, limit=self._limits.box, now=now)
        grown = {box for post, none in zip(posts, refused, strict=True) for box in post if box not in none}
        if grown:
            tell(connection, self._origin, boxes_frame(sorted(grown)))
        return refused

    async def read(self, after: Mapping[str, str], *, limit: int) -> dict[str, list[Entry]]:
        check_names(after)
        places = {box: position_of(position) for box, position in after.items()}
        found: dict[str, list[Entry]] = {}
        for one in await self._read(channel_boxes.read_boxes, places, limit):
            message = unpack(one.payload) or unreadable(one.payload)
            found.setdefault(one.box, []).append(Entry(str(one.position), message))
        return found

    @asynccontextmanager
    async def news(self) -> AsyncIterator[Listening]:
        with self._audience.ear(None) as ear:
            await self._in_touch()
            yield ear

    async def remove(self, boxes: Sequence[str]) -> None:
        check_names(boxes)
        for start in range(0, len(boxes), _REMOVED_AT_ONCE):
            await self._tx(channel_boxes.remove_boxes, boxes[start : start + _REMOVED_AT_ONCE])

    # --- the rest

    async def clean(self, older_than: float) -> int:
        before = self._clock.now() - int(older_than * 1000)
        forgotten = 0
        for forget in (channel_boxes.forget_boxes, channel_messages.forget_dead):
            while some := await self._tx(forget, before, _CLEANED_AT_ONCE):
                forgotten += some
        return forgotten

    async def check(self) -> None:
        await self._read(ping)

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        await self._watch.close()
        if self._unfinished:
            await asyncio.wait(self._unfinished)

    # --- how

    async def _in_touch(self) -> None:
        self._keep_watching()
        await self._watch.touch()

    def _keep_watching(self) -> None:
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch.run(), name="channels")
        elif self._watching.done():
            self._watching.result()  # a bug, and whoever relies on the watch must not go on without it

    async def _to_the_end(self, change: Callable[[], Awaitable[T]], told: Callable[[T], None]) -> T:
        """Make a change and tell this process of it, also when whoever asked for it has gone meanwhile."""

        async def both() -> T:
            result = await change()
            told(result)
            return result

        self._keep_watching()  # who speaks also clears away what was said
        return await asyncio.shield(self._begin(both()))

    def _begin(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        task = asyncio.create_task(work)
        self._unfinished.add(task)
        task.add_done_callback(self._unfinished.discard)
        return task

    async def _tx(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        with _as_channels():
            return await self._db.tx(fn, *args, **kwargs)

    async def _read(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        with _as_channels():
            return await self._db.read(fn, *args, **kwargs)


@contextmanager
def _as_channels() -> Iterator[None]:
    try:
        yield
    except (StoreUnavailable, TooBusy) as error:
        raise ChannelsUnavailable(f"The channels are away: {error}") from error
