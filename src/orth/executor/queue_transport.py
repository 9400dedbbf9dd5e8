"""Work from queues: the third way to an execution, beside being called and dialling out.

``Taking`` competes on the dispatch lines of this executor's queues, the most urgent priority first and the queues of
one priority in turn, and asks for no more than it has places for. What it gets goes through the same admission as a
trigger that was pushed. ``Cancels`` hears which executions are to end. What there is to say goes out through
``queue_reports`` and ``queue_logs``, results and beats through ``queue_link``.

A message leaves its queue *before* its execution begins. So a process that dies in between costs time, because a
coordinator finds that nobody has it and sends it again, and never a second run. What may have been handed out while an
answer was lost is given back, whenever nothing is in hand: then all that bears this consumer's name was never seen. And
what was in hand for longer than ``STALE_AFTER``, in a process that was stopped or swapped out, is not begun at all:
by then it may have been sent to another.

On leaving, nothing more is taken; what had been accepted and has not begun goes back into its queue.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress

from pydantic import ValidationError

from orth.channels.interface import Channels, Delivery, Listening
from orth.channels.names import WAITING_LINES, Names
from orth.clock import Clock
from orth.domain.executions import FAILURE
from orth.errors import OrthError, Unavailable
from orth.events import Event, Events
from orth.executor.admission import Admission
from orth.executor.context import JobContext, Outcome
from orth.executor.facts import (
    DispatchStale,
    DispatchUnreadable,
    ExecutionFinished,
    ExecutionsReturned,
    ExecutionStarted,
)
from orth.executor.job_threads import JobThreads
from orth.executor.outbox import Outbox
from orth.executor.progress import Progress
from orth.executor.queue_link import QueueLink
from orth.executor.queue_logs import LogFeed
from orth.executor.queue_reports import Outgoing, Reports, Taken, Worker
from orth.executor.run_logs import RunLogs
from orth.executor.running import conclude
from orth.loop import Loop
from orth.wire.channel_calls import ChannelCalls
from orth.wire.channel_messages import Cancel, Dispatch, Standing
from orth.wire.coordinator_calls import CoordinatorLink
from orth.wire.messages import KillRequest, RunAnswer

TAKE_WAIT = 2.0
"""Seconds a request for work waits at the channels; leaving waits for the one in hand."""
TAKE_AT_ONCE = 100
STALE_AFTER = 10.0
CANCELS_KEPT = 10_000
"""Cancelled executions kept in mind, for those that come out of a queue later."""
_FULL_PAUSE = 5.0
_REFUSING_PAUSE = 1.0
_LONGEST_PAUSE = 5.0
_LEAVE_WITHIN = 5.0


class QueueTransport:
    """All that an executor with ``transport = queue`` has beside the others."""

    def __init__(
        self,
        channels: Channels,
        names: Names,
        http: CoordinatorLink,
        by_http: ChannelCalls | None,
        worker: Worker,
        *,
        app_name: str,
        queues: Sequence[str],
        places: int,
        log_limit: int,
        clock: Clock,
        events: Events,
    ) -> None:
        self._channels = channels
        self._names = names
        self._worker = worker
        self._places = places
        self.queues = [f"{app_name}.{queue}" for queue in queues]
        """As everybody calls them: two applications may use the same word."""
        self._log_limit = log_limit
        self._clock = clock
        self._events = events
        self._unlisten: Callable[[], None] | None = None
        self.link = QueueLink(channels, names, http, by_http, worker, clock=clock, events=events)
        self.link.queues, self.link.places = tuple(queues), places
        self.outgoing = Outgoing(names, worker, clock)
        self.loops: list[Loop] = []

    def enter(self, admission: Admission, threads: JobThreads, outbox: Outbox, logs: RunLogs) -> list[Loop]:
        """Connect with the rooms of an executor; the loops to run."""
        clock, events = self._clock, self._events
        self._threads = threads
        self._outbox = outbox
        self._reports = Reports(self._channels, self.outgoing, clock, events)
        self._feed = LogFeed(logs, self.outgoing, self._reports, clock, events, limit=self._log_limit)
        self.link.enter(self.outgoing, self._reports, self._feed)
        self.cancels = Cancels(self._channels, self._names, self.link.taken, admission, clock, events)
        self.taking = Taking(self, self._channels, self._names, admission, outbox)
        self._unlisten = events.listen(self._hear)
        self.loops = [self.taking, self.cancels, self._reports, self._feed]
        return self.loops

    def start(self) -> None:
        """The channels live on the running event loop from here on."""
        self.link.at_home()

    @property
    def clock(self) -> Clock:
        return self._clock

    @property
    def events(self) -> Events:
        return self._events

    @property
    def consumer(self) -> str:
        """The name under which it takes."""
        return self._worker.incarnation

    def free(self) -> int:
        """How many executions could begin here now."""
        return self._places - self._threads.count()

    # --- what happens to an execution

    def accepted(self, taken: Taken) -> None:
        """It is about to be admitted, and may run and end at once."""
        self.link.taken[taken.id] = taken
        self._feed.begin(taken)

    def answered(self, taken: Taken, answer: RunAnswer, *, known: bool) -> None:
        """Admission has decided; ``known`` says that the execution was here before."""
        if known:
            return
        if answer.code == 200:
            if taken.id in self.link.taken:
                self.tell(taken, Standing.ACCEPTED)
            return
        self.link.taken.pop(taken.id, None)
        self._feed.drop(taken.id)
        self.tell(taken, Standing.REFUSED, message=answer.msg)

    def tell(self, taken: Taken, standing: Standing, **facts: object) -> None:
        self.outgoing.tell(taken, standing, **facts)
        self._reports.wake()

    def on_progress(self, context: JobContext, progress: Progress) -> None:
        """A handler says how far it is; called by its thread."""
        taken = self.link.taken.get(context.log_id)
        if taken is not None:
            said = {
                "done": progress.done,
                "total": progress.total,
                "message": progress.message,
                "eta": progress.eta,
            }
            self.tell(taken, Standing.PROGRESS, progress=said)

    def _hear(self, event: Event) -> None:
        if isinstance(event, ExecutionStarted):
            taken = self.link.taken.get(event.log_id)
            if taken is not None:
                self.tell(taken, Standing.RUNNING)
        elif isinstance(event, ExecutionFinished):
            with suppress(RuntimeError):  # the event loop has ended before its last execution
                self.taking.wake()

    # --- leaving

    async def stop_taking(self) -> None:
        """Take nothing more and put back what has not begun. Beats go on, and say that this executor drains."""
        self.link.draining = True
        await self.taking.end()
        withdrawn = self._threads.withdraw(list(self.link.taken))
        lines: dict[str, list[Taken]] = {}
        for log_id in withdrawn:
            taken = self.link.taken.pop(log_id)
            self._feed.drop(log_id)
            lines.setdefault(taken.line, []).append(taken)
        returned = sum([await self._put_back(line, executions) for line, executions in lines.items()])
        if returned:
            self._events.emit(ExecutionsReturned(returned))

    async def _put_back(self, line: str, executions: Sequence[Taken]) -> int:
        """Into their queue, or, if that cannot be done, an end for each."""
        messages = [taken.dispatch.model_dump(mode="json", by_alias=True, exclude_none=True) for taken in executions]
        for taken in executions:
            self.outgoing.tell(taken, Standing.RETURNED)
        try:
            await self._reports.hurry()  # first: whoever takes them next speaks after us
            await self._channels.send(line, messages)
        except Unavailable:
            outcome = Outcome(FAILURE, "Not executed: the executor stopped, and its queue did not take it back.")
            for taken in executions:
                self.link.taken[taken.id] = taken
                self._outbox.add(conclude(taken.dispatch.trigger, outcome, None, self._worker.incarnation))
            return 0
        return len(executions)

    async def leave(self) -> None:
        """The last step, after everything was delivered: say what is left to say and let go of the channels."""
        with suppress(OrthError, TimeoutError):
            async with asyncio.timeout(_LEAVE_WITHIN):
                await self._feed.turn()
                await self._reports.hurry()
                await self.taking.give_back()
                await self.link.leave()
        await self.cancels.deafen()
        with suppress(OrthError, TimeoutError):
            async with asyncio.timeout(_LEAVE_WITHIN):
                await self._channels.close()

    def close(self) -> None:
        """Let go at once."""
        if self._unlisten is not None:
            self._unlisten()
            self._feed.close()


class Taking(Loop):
    """Fetches executions while there are places for them."""

    def __init__(
        self,
        house: QueueTransport,
        channels: Channels,
        names: Names,
        admission: Admission,
        outbox: Outbox,
    ) -> None:
        super().__init__(house.clock, house.events)
        self._longest_pause = _LONGEST_PAUSE
        self._house = house
        self._channels = channels
        self._names = names
        self._admission = admission
        self._outbox = outbox
        self._queues = list(house.queues)
        self._in_doubt: list[float] = []
        """When to give back what an unheard answer may have brought."""
        self._hand = asyncio.Lock()
        self._ended = False

    async def turn(self) -> float:
        async with self._hand:
            if self._ended:
                return _FULL_PAUSE
            if self._outbox.refusal is not None:
                return _REFUSING_PAUSE
            if self._in_doubt and self._in_doubt[0] <= self.clock.monotonic():
                await self.give_back()
                self._in_doubt.pop(0)
            free = self._house.free()
            if free <= 0:
                return _FULL_PAUSE
            await self._take(min(free, TAKE_AT_ONCE))
            return 0.0

    async def end(self) -> None:
        """Take nothing more; what is in hand is dealt with first."""
        self._ended = True
        async with self._hand:
            self.stop()

    async def give_back(self) -> None:
        """What bears our name and never arrived goes to others. Nothing may be in hand."""
        for line in self._lines():
            await self._channels.give_back(line, self._house.consumer)

    def _lines(self) -> list[str]:
        """Where to look, in this order: by priority, and within one the queues in turn."""
        return [
            self._names.dispatch(queue, priority)
            for priority in reversed(range(WAITING_LINES))
            for queue in self._queues
        ]

    async def _take(self, limit: int) -> None:
        asked = self.clock.monotonic()
        try:
            found = await self._channels.take(self._lines(), self._house.consumer, limit=limit, wait=TAKE_WAIT)
            for line, deliveries in found.items():
                await self._channels.done(line, self._house.consumer, [delivery.id for delivery in deliveries])
        except Unavailable:
            now = self.clock.monotonic()
            # Twice: a request that we gave up on may still be waiting at the other end.
            self._in_doubt = [now, now + TAKE_WAIT + STALE_AFTER]
            raise
        self._queues.append(self._queues.pop(0))
        for line, deliveries in found.items():
            await self._begin(line, deliveries, asked)

    async def _begin(self, line: str, deliveries: Sequence[Delivery], asked: float) -> None:
        held = self.clock.monotonic() - asked - TAKE_WAIT
        if held > STALE_AFTER:
            self.events.emit(DispatchStale(line, len(deliveries), held))
            return
        executions = [taken for delivery in deliveries if (taken := self._understood(line, delivery)) is not None]
        if executions:
            await asyncio.to_thread(self._admit, executions)

    def _understood(self, line: str, delivery: Delivery) -> Taken | None:
        try:
            return Taken(Dispatch.model_validate(delivery.message), line)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            self.events.emit(DispatchUnreadable(line, f"{where}: {first['msg']}"))
            return None

    def _admit(self, executions: Sequence[Taken]) -> None:
        """In a thread: sources may have to be compiled."""
        admitted: list[tuple[Taken, bool]] = []
        for taken in executions:
            if taken.id in self._house.cancels:
                self._house.tell(taken, Standing.REFUSED, message="It was cancelled before it began.")
                continue
            known = self._is_known(taken)
            admitted.append((taken, known))
            if not known:
                self._house.accepted(taken)
        answers = self._admission.run_all([taken.dispatch.trigger for taken, _ in admitted])
        for (taken, known), answer in zip(admitted, answers, strict=True):
            self._house.answered(taken, answer, known=known)

    def _is_known(self, taken: Taken) -> bool:
        return taken.id in self._house.link.taken or self._admission.is_known(taken.dispatch.trigger)


class Cancels(Loop):
    """Hears which executions are to end, and begins to end those that are here."""

    def __init__(
        self,
        channels: Channels,
        names: Names,
        taken: Mapping[int, Taken],
        admission: Admission,
        clock: Clock,
        events: Events,
    ) -> None:
        super().__init__(clock, events)
        self._longest_pause = _LONGEST_PAUSE
        self._channels = channels
        self._topic = names.cancel
        self._taken = taken
        self._admission = admission
        self._stack = AsyncExitStack()
        self._ear: Listening | None = None
        self._cancelled: OrderedDict[int, None] = OrderedDict()

    def __contains__(self, log_id: int) -> bool:
        return log_id in self._cancelled

    async def turn(self) -> float:
        try:
            if self._ear is None:
                self._ear = await self._stack.enter_async_context(self._channels.listen([self._topic]))
            heard = await self._ear.next(TAKE_WAIT)
        except Unavailable:
            await self.deafen()
            raise
        for one in heard:
            self._cancel(one.message)
        return 0.0

    async def deafen(self) -> None:
        """Listen no more, until the next turn."""
        self._ear = None
        with suppress(OrthError):
            await self._stack.aclose()

    def _cancel(self, message: Mapping[str, object]) -> None:
        try:
            cancel = Cancel.model_validate(message)
        except ValidationError as error:
            self.events.emit(DispatchUnreadable(self._topic, f"{error.error_count()} members are missing or wrong"))
            return
        self._cancelled[cancel.execution_id] = None
        if len(self._cancelled) > CANCELS_KEPT:
            self._cancelled.popitem(last=False)
        taken = self._taken.get(cancel.execution_id)
        if taken is not None:
            taken.cancelled = True
            self._admission.kill(KillRequest(job_id=cancel.job_id, log_id=cancel.execution_id))
