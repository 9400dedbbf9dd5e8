"""Executions go into queues, and out of them again when nobody wants them any more.

What is offered has been written down before (``claiming``), so a message that is lost is found missing by ``queueing``.
Here it is only sent, in the order of the claims and many at a time; before that a coordinator is found for it, because
its executor may have something to say at once.

Executors act upon what one of their coordinators has signed, and upon nothing else: offers, cancels and questions for
logs are signed here, shortly before they go out.

A send that failed may have happened. So it is not repeated; what was not tried yet is kept and goes out when the
channels are back. Until then nothing more is claimed for queues.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from orth.channels.interface import BoxFull, Channels, Message
from orth.channels.names import Names
from orth.clock import Clock
from orth.cluster.election import Node
from orth.cluster.notices import Assignment
from orth.coordinator.claiming import QueueOutlook
from orth.coordinator.facts import ExecutionsOffered, OfferImpossible, QueuesAway, QueuesBack
from orth.coordinator.letters import Offer, Peer, run_request
from orth.domain.executions import Execution
from orth.errors import OrthError, Unavailable
from orth.events import Events
from orth.store.offering import EndedInQueue
from orth.wire.channel_messages import Cancel, Dispatch, LogsWanted, Standing, StatusReport, WantedLog
from orth.wire.entry_signatures import signed_entry
from orth.wire.report_keys import ReportKeys
from orth.wire.signatures import Key

_AT_ONCE = 200
"""Messages in one call."""
_AT_ONCE_BYTES = 1024 * 1024
_LOOK_EVERY = 1.0
_TRY_AGAIN = 1.0
_LOOK_SOON = 0.1
_CLOCKS_DIFFER = 3600.0
"""Seconds for which a signature is good beyond what it must be."""

SigningKeys = Callable[[str], Awaitable[Sequence[Key]]]
"""What executors of an app may have to check a signature with."""
Place = tuple[str, int]
"""A queue, as it is called on the wire, and a priority."""


@dataclass(frozen=True, slots=True)
class InQueues:
    """How many messages wait: for executors, by the queue's name, and for coordinators."""

    dispatch: Mapping[str, int] = field(default_factory=dict)
    assigned: int = 0
    handoff: int = 0


def by_queue(waiting: Mapping[Place, int]) -> dict[str, int]:
    """What waits in each queue, whatever its priority."""
    counts: Counter[str] = Counter()
    for (queue, _priority), count in waiting.items():
        counts[queue] += count
    return counts


class Offering:
    """Sends offers. For one event loop; ``put`` does not wait."""

    def __init__(
        self,
        channels: Channels | None,
        names: Names,
        node: Node,
        clock: Clock,
        events: Events,
        *,
        still_leads: Callable[[int], bool],
        keys: SigningKeys,
        report_keys: ReportKeys,
        bound: float,
        limit: int = 20_000,
    ) -> None:
        """``bound`` is how many seconds an offer may lie in its queue."""
        self._limit = limit
        self._keys = keys
        self._report_keys = report_keys
        self._good_for = round((bound + _CLOCKS_DIFFER) * 1000)
        self._channels = channels
        self._names = names
        self._node = node
        self._clock = clock
        self._events = events
        self._still_leads = still_leads
        self._pending: deque[Offer] = deque()
        self._going: Sequence[Offer] = ()
        self._singly = 0
        """How many of the next are sent alone."""
        self._waiting: Counter[Place] = Counter()
        """What waits in each place, as it was last seen, and what was sent since."""
        self._looked_at: dict[Place, float] = {}
        self._away = "" if channels is not None else "no channels are open here"
        self._task: asyncio.Task[None] | None = None
        self.assign: Callable[[Sequence[Assignment]], None] = lambda _offered: None
        """Finds a coordinator that follows what is about to be offered."""
        self.owe: Callable[[Sequence[EndedInQueue]], None] = lambda _ended: None
        """Tells later what could not be told now."""
        self.bug: BaseException | None = None
        """What sending died of, if it did."""

    def outlook(self) -> QueueOutlook:
        """What a claim has to know; a copy for a transaction, which runs in another thread."""
        waiting = self._waiting.copy()
        waiting.update((offer.queue, offer.priority) for offer in self._pending)
        return QueueOutlook(self._away, waiting, self._limit)

    def put(self, offers: Iterable[Offer]) -> None:
        """Take offers to send."""
        self._pending.extend(offers)
        if self._pending and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._send_all())
            self._task.add_done_callback(self._ended)

    async def all_sent(self) -> None:
        """Wait until everything is sent, or cannot be."""
        while self._task is not None and not self._task.done() and not self._away:
            await asyncio.wait([self._task], timeout=_LOOK_SOON)

    def forget(self) -> None:
        """Drop everything that is not sent, as a kill would."""
        self._pending.clear()

    async def close(self) -> None:
        """Stop sending. What was not sent is found missing by the next leader."""
        self._pending.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    # --- taking back

    async def cancel(self, execution: Execution, reason: str = "It was killed, or outlasted its limit.") -> str | None:
        """Tell every executor to end it, and whoever takes it later not to begin; why that did not work, if so."""
        if self._channels is None:
            return "no channels are open here"
        app_name = app_of(execution.queue or "")
        failures: list[str] = []
        steps: tuple[Callable[[], Awaitable[object]], ...] = (
            partial(self.withdraw, [(execution.job_id, execution.id, None)]),
            partial(self.announce_end, app_name, execution.job_id, execution.id, reason),
        )
        for step in steps:
            try:
                await step()
            except OrthError as error:
                failures.append(error.message)
        if failures:
            self.owe([EndedInQueue(execution.id, execution.job_id, execution.queue or "")])
        return failures[0] if failures else None

    async def announce_end(self, app_name: str, job_id: int, execution_id: int, reason: str) -> None:
        """Let the executors of an app hear that an execution is to end."""
        if self._channels is not None:
            topic = self._names.cancel
            told = Cancel(job_id=job_id, execution_id=execution_id, app_name=app_name, reason=reason)
            for message in await self._signed(app_name, topic, [_message(told)]):
                await self._channels.announce(topic, message)

    async def ask_for_logs(self, wanted: Mapping[str, Sequence[WantedLog]]) -> None:
        """Let the executors of apps hear which of their logs did not arrive whole."""
        if self._channels is None:
            return
        topic = self._names.logs_wanted
        for app_name, logs in wanted.items():
            told = LogsWanted(app_name=app_name, logs=tuple(logs))
            for message in await self._signed(app_name, topic, [_message(told)]):
                await self._channels.announce(topic, message)

    async def _signed(self, app_name: str, channel: str, messages: Sequence[Message]) -> list[Message]:
        keys, until = await self._keys(app_name), self._clock.now() + self._good_for
        return [signed_entry(message, channel, keys, until=until) for message in messages]

    async def withdraw(self, offers: Iterable[tuple[int, int, int | None]]) -> set[int]:
        """Let nobody begin what is in a queue: by job, execution and number of the offer, that one and earlier ones;
        without a number, all. Those of which it cannot be said, because their status box is full, are returned.
        """
        boxes: dict[str, list[Message]] = {}
        ids: dict[str, int] = {}
        for job_id, execution_id, sending in offers:
            word = StatusReport(
                job_id=job_id,
                execution_id=execution_id,
                seq=0,
                status=Standing.WITHDRAWN,
                worker_id=self._node.id,
                incarnation=self._node.incarnation,
                sending=sending,
            )
            box = self._names.status(job_id, execution_id)
            boxes[box], ids[box] = [_message(word)], execution_id
        try:
            if self._channels is not None and boxes:
                await self._channels.post(boxes)
        except BoxFull as full:
            return {ids[box] for box in full.boxes if box in ids}
        return set()

    def unsent(self) -> set[int]:
        """Executions that are still here."""
        return {offer.letter.execution.id for offer in (*self._pending, *self._going)}

    # --- sending

    async def _send_all(self) -> None:
        while self._channels is not None and (self._pending or self._away):
            if self._away and not await self._is_back(self._channels):
                await self._clock.sleep_unless(asyncio.Event(), _TRY_AGAIN)
                continue
            if self._pending and not self._still_leads(self._pending[0].letter.epoch):
                self._pending.popleft()  # its successor has found it missing, or will
                continue
            if self._pending:
                await self._send_some(self._channels)

    async def _send_some(self, channels: Channels) -> None:
        place, some = self._next()
        self._going = some
        try:
            await self._send(channels, place, some)
        except Unavailable as error:
            self._note_away(error.message)
        except OrthError as error:
            if len(some) > 1:  # one of them is at fault, and must not keep back the others
                self._pending.extendleft(reversed(some))
                self._singly = len(some)
            else:
                self._events.emit(OfferImpossible(some[0].letter.execution.id, place[0], error.message))
        finally:
            self._going = ()

    async def _is_back(self, channels: Channels) -> bool:
        try:
            await channels.check()
        except Unavailable:
            return False
        self._note_back()
        return True

    def _note_back(self) -> None:
        if self._away:
            self._away = ""
            self._events.emit(QueuesBack())

    def _note_away(self, why: str) -> None:
        if not self._away:
            self._events.emit(QueuesAway(why))
        self._away = why or "they do not answer"

    def _next(self) -> tuple[Place, list[Offer]]:
        """The next ones of one place, in their order."""
        first = self._pending.popleft()
        place, some = (first.queue, first.priority), [first]
        if self._singly:
            self._singly -= 1
            return place, some
        while self._pending and len(some) < _AT_ONCE:
            following = self._pending[0]
            if (following.queue, following.priority) != place or following.letter.epoch != first.letter.epoch:
                break
            some.append(self._pending.popleft())
        return place, some

    async def _send(self, channels: Channels, place: Place, offers: Sequence[Offer]) -> None:
        self.assign([_assignment(offer) for offer in offers])
        now = self._clock.now()
        queue = self._names.dispatch(*place)
        entries = [_message(_dispatch(offer, now, self._report_keys)) for offer in offers]
        for messages in _parcels(await self._signed(app_of(place[0]), queue, entries)):
            await channels.send(queue, messages)
            self._waiting[place] += len(messages)
        self._events.emit(ExecutionsOffered(place[0], len(offers)))
        await self._look(channels, place)

    async def _look(self, channels: Channels, place: Place) -> None:
        now = self._clock.monotonic()
        if now - self._looked_at.get(place, float("-inf")) >= _LOOK_EVERY:
            self._looked_at[place] = now
            self._waiting[place] = await channels.waiting(self._names.dispatch(*place))

    def seen_waiting(self, waiting: Mapping[Place, int]) -> None:
        """Somebody has looked how much waits. So they answer, also when nothing was left here to find that out with."""
        if waiting:
            self._note_back()
        self._waiting.update({place: count - self._waiting[place] for place, count in waiting.items()})

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self.bug = task.exception()


def _dispatch(offer: Offer, now: int, report_keys: ReportKeys) -> Dispatch:
    letter = offer.letter
    return Dispatch(
        job_id=letter.job.id,
        execution_id=letter.execution.id,
        attempt=letter.execution.attempt,
        job_type=letter.execution.executor_handler,
        arguments=letter.execution.executor_param,
        priority=offer.priority,
        queue=offer.queue,
        correlation_id=letter.execution.trigger_key,
        sending=offer.sending,
        trigger=run_request(letter, now, _never_ahead, report_keys, again=False),
    )


def app_of(queue: str) -> str:
    """A queue is called after its app, with a name of its own that has no dots."""
    return queue.rpartition(".")[0]


def _never_ahead(_peer: Peer, _ahead: int) -> None:
    """What is offered is due."""


def _assignment(offer: Offer) -> Assignment:
    execution = offer.letter.execution
    return Assignment(execution.id, execution.job_id, offer.queue, execution.executor_handler)


def _message(told: Cancel | Dispatch | LogsWanted | StatusReport) -> Message:
    return told.model_dump(mode="json", by_alias=True, exclude_none=True)


def _parcels(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """In pieces of a bearable size: sources travel with their executions."""
    parcel: list[Message] = []
    size = 0
    for message in messages:
        trigger = message["trigger"]
        weight = 1_000 + len(trigger.get("glueSource", "")) + 2 * len(trigger.get("executorParams", ""))
        if parcel and size + weight > _AT_ONCE_BYTES:
            yield parcel
            parcel, size = [], 0
        parcel.append(message)
        size += weight
    if parcel:
        yield parcel
