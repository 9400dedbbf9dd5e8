"""Work from queues: the third way to an execution, beside being called and dialling out.

``Taking`` competes on the dispatch lines of this executor's queues, the most urgent priority first and the queues of
one priority in turn, and asks for no more than it has places for. What it gets goes through the same admission as a
trigger that was pushed. ``queue_cancels`` hears which executions are to end, and which logs are to be sent again. What
there is to say goes out through ``queue_reports`` and ``queue_logs``, results and beats through ``queue_link``.

What no coordinator has signed for executors with this one's token is not carried out, whoever put it into the queue: it
goes to the queue's dead letters. If it was a coordinator's after all, that finds it missing and offers it anew.

A message may be old: its execution may have been cancelled, or given up for lost and offered anew. What was said about
it tells (``may_start``), and is looked at shortly before it begins; again, if the process was held up in between. And a
message leaves its queue *before* its execution begins. So a process that dies at any moment costs time, because a
coordinator finds that nobody has it and offers it again, and never a second run. What may have been handed out while an
answer was lost is given back, whenever nothing is in hand: then all that bears this consumer's name was not begun.

After the channels were away, and after a start, what was offered before is begun only if a coordinator says that the
offer stands (``queue_doubt``): it may have been killed while nobody could be told.

On leaving, nothing more is taken; what had been accepted and has not begun is given back: a coordinator offers it
anew. Nobody but coordinators puts anything into a queue.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from pydantic import ValidationError

from orth.channels.interface import Delivery, ExecutorChannels
from orth.channels.limits import Limits
from orth.channels.names import WAITING_LINES, Names
from orth.clock import Clock
from orth.domain.executions import FAILURE, SUCCESS
from orth.domain.reasons import ReportedReason
from orth.errors import OrthError, Unavailable
from orth.events import Event, Events
from orth.executor.admission import Admission
from orth.executor.context import JobContext, Outcome
from orth.executor.facts import (
    DispatchUnreadable,
    DispatchWithdrawn,
    EntriesRefused,
    ExecutionFinished,
    ExecutionsReturned,
    ExecutionStarted,
)
from orth.executor.job_threads import JobThreads
from orth.executor.outbox import Outbox
from orth.executor.progress import Progress
from orth.executor.queue_cancels import Cancels
from orth.executor.queue_doubt import Doubt, OffersLink
from orth.executor.queue_link import QueueLink
from orth.executor.queue_logs import LogFeed
from orth.executor.queue_reports import Outgoing, Reports, Taken, Worker
from orth.executor.run_logs import RunLogs
from orth.executor.running import NOT_BEGUN, conclude
from orth.loop import Loop
from orth.wire.channel_calls import ChannelCalls
from orth.wire.channel_messages import Dispatch, Standing, may_start
from orth.wire.entry_signatures import refusal_of
from orth.wire.signatures import key_of

TAKE_WAIT = 1.0
"""Seconds a request for work waits at the channels; leaving waits for the one under way."""
TAKE_AT_ONCE = 100
STALE_AFTER = 2.0
"""Seconds for which it counts that an execution was not withdrawn."""
_WORDS = 1_000
_REQUEST_OUTLIVES = 10.0
_AWAY_PAUSE = 0.5
_FIRST_LOOK, _FULL_PAUSE = 0.001, 1.0
_REFUSING_PAUSE = 1.0
_LONGEST_PAUSE = 5.0
_LEAVE_WITHIN = 5.0


class QueueTransport:
    """All that an executor with ``transport = queue`` has beside the others."""

    def __init__(
        self,
        channels: ExecutorChannels,
        names: Names,
        http: OffersLink,
        by_http: ChannelCalls | None,
        worker: Worker,
        *,
        app_name: str,
        queues: Sequence[str],
        places: int,
        log_limit: int,
        limits: Limits,
        token: str,
        clock: Clock,
        events: Events,
    ) -> None:
        self._channels = channels
        self.key = key_of(token)
        """What entries have to be signed with."""
        self._names = names
        self._worker = worker
        self._places = places
        self.queues = [f"{app_name}.{queue}" for queue in queues]
        """As everybody calls them: two applications may use the same word."""
        self._app_name = app_name
        self._log_limit = log_limit
        self._limits = limits
        self._clock = clock
        self._events = events
        self._unlisten: Callable[[], None] | None = None
        self.link = QueueLink(channels, names, http, by_http, worker, limits=limits, clock=clock, events=events)
        self.link.queues, self.link.places = tuple(queues), places
        self.outgoing = Outgoing(names, worker, clock, limits)
        self.doubt = Doubt(http, clock)
        self.loops: list[Loop] = []

    def enter(self, admission: Admission, threads: JobThreads, outbox: Outbox, logs: RunLogs) -> list[Loop]:
        """Connect with the rooms of an executor; the loops to run."""
        clock, events = self._clock, self._events
        self._threads = threads
        self._outbox = outbox
        self._reports = Reports(self._channels, self.outgoing, clock, events)
        self._feed = LogFeed(
            logs, self.outgoing, self._reports, clock, events, limit=self._log_limit, room=self._limits.box
        )
        self.link.enter(self.outgoing, self._reports, self._feed)
        self.cancels = Cancels(
            self._channels,
            self._names,
            self.link.taken,
            admission,
            self.key,
            clock,
            events,
            feed=self._feed,
            doubt=self.doubt,
            app_name=self._app_name,
        )
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

    def begin(self, taken: Taken) -> None:
        """It is about to be admitted, and may run and end at once."""
        self.link.taken[taken.id] = taken
        self._feed.begin(taken)

    def drop(self, taken: Taken) -> None:
        """It is not carried out here."""
        self.link.taken.pop(taken.id, None)
        self._feed.drop(taken.id)

    def tell_accepted(self, taken: Taken) -> None:
        """Unless it was not, or has ended meanwhile."""
        if taken.id in self.link.taken:
            self.tell(taken, Standing.ACCEPTED)

    def tell(self, taken: Taken, standing: Standing, **facts: object) -> None:
        if self.outgoing.tell(taken, standing, **facts):
            self._reports.wake()

    def on_progress(self, context: JobContext, progress: Progress) -> None:
        """A handler says how far it is; called by its thread."""
        taken, said = self.link.taken.get(context.log_id), progress.told()
        if taken is not None and said is not None:
            self.tell(taken, Standing.PROGRESS, progress=said.model_dump())

    def _hear(self, event: Event) -> None:
        if isinstance(event, ExecutionStarted):
            taken = self.link.taken.get(event.log_id)
            if taken is not None:
                self.tell(taken, Standing.RUNNING)
        elif isinstance(event, ExecutionFinished):
            with suppress(RuntimeError):  # the event loop has ended before its last execution
                self.taking.place_freed()

    # --- leaving

    async def stop_taking(self) -> None:
        """Take nothing more and give back what has not begun. Beats go on, and say that this executor drains."""
        self.link.draining = True
        self.taking.end()
        withdrawn = [self.link.taken[log_id] for log_id in self._threads.withdraw(list(self.link.taken))]
        for taken in withdrawn:
            self.drop(taken)
        if withdrawn:
            await self.return_(withdrawn)

    async def return_(self, executions: Sequence[Taken]) -> None:
        """Give back what is not begun here, for others; if that cannot be said, a result for each."""
        for taken in executions:
            self.outgoing.tell(taken, Standing.RETURNED, offer_again=True)
        try:
            await self._reports.hurry()
        except Unavailable:
            self.outgoing.forget(executions)
            told = "Not executed: the executor stopped, and could not give it back."
            outcome = Outcome(FAILURE, told, reason=ReportedReason.EXECUTOR_STOPPED)
            for taken in executions:
                self.link.taken[taken.id] = taken
                self._outbox.add(conclude(taken.dispatch.trigger, outcome, NOT_BEGUN, self._worker.incarnation))
        else:
            self._events.emit(ExecutionsReturned(len(executions)))

    async def leave(self) -> None:
        """The last step, after everything was delivered: say what is left to say and let go of the channels."""
        with suppress(OrthError, TimeoutError):
            async with asyncio.timeout(_LEAVE_WITHIN):
                await self.taking.over()
                await self._feed.turn()
                await self._reports.hurry()
                await self.link.leave()
        with suppress(OrthError, TimeoutError):
            async with asyncio.timeout(_LEAVE_WITHIN):
                await self.cancels.deafen()
                await self._channels.close()

    def close(self) -> None:
        """Let go at once."""
        if self._unlisten is not None:
            self._unlisten()
            self._feed.close()


class Taking(Loop):
    """Fetches executions while there are places for them."""

    def __init__(
        self, house: QueueTransport, channels: ExecutorChannels, names: Names, admission: Admission, outbox: Outbox
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
        self._were_away = False
        self._not_before = self.clock.monotonic()
        self._hand = asyncio.Lock()
        self._looks = 0
        """How often there was no place since something ended."""
        self._ended = False

    async def turn(self) -> float:
        async with self._hand:
            if self._ended:
                return TAKE_WAIT
            early = self._not_before - self.clock.monotonic()
            if early > 0:
                return early
            if self._admission.unavailable() is not None:
                return _REFUSING_PAUSE
            if self._in_doubt and self._in_doubt[0] <= self.clock.monotonic():
                await self._give_back(self._lines())
                self._in_doubt.pop(0)
            free = self._house.free()
            if free <= 0:
                self._looks += 1
                return min(_FULL_PAUSE, _FIRST_LOOK * 2.0 ** min(self._looks, 16))
            await self._take(min(free, TAKE_AT_ONCE))
            return 0.0

    def place_freed(self) -> None:
        """An execution has ended, or is about to have: its end is told while it still has its place."""
        self._looks = 0
        self.wake()

    def end(self) -> None:
        """Take nothing more. A request that is under way comes back within ``TAKE_WAIT``, and what it brings goes
        back.
        """
        self._ended = True
        self.stop()

    async def over(self) -> None:
        """Wait until nothing is in hand."""
        async with self._hand:
            if self._in_doubt:
                await self._give_back(self._lines())

    async def _give_back(self, lines: Iterable[str]) -> None:
        """What bears our name, and was not begun, goes to others. Nothing else may be in hand."""
        for line in lines:
            await self._channels.give_back(line, self._house.consumer)

    def _lines(self) -> list[str]:
        """Where to look, in this order: by priority, and within one the queues in turn."""
        urgency = reversed(range(WAITING_LINES))
        return [self._names.dispatch(queue, priority) for priority in urgency for queue in self._queues]

    async def _take(self, limit: int) -> None:
        try:
            if self._were_away:
                await self._channels.check()
                self._were_away = False
            if self._house.doubt.unanswered:
                await self._house.doubt.somebody_answers()
            found = await self._channels.take(self._lines(), self._house.consumer, limit=limit, wait=TAKE_WAIT)
            if self._ended:
                await self._give_back(found)
                return
            self._queues.append(self._queues.pop(0))
            for line, deliveries in found.items():
                await self._begin(line, deliveries)
        except Unavailable:
            now = self.clock.monotonic()
            # Twice: a request that we gave up on may still be waiting at the other end.
            self._in_doubt = [now, now + TAKE_WAIT + _REQUEST_OUTLIVES]
            self._not_before = now + _AWAY_PAUSE  # also when something ends meanwhile
            self._were_away = True
            self._house.doubt.arise()
            raise
        finally:
            self._house.link.in_hand = ()

    async def _begin(self, line: str, deliveries: Sequence[Delivery]) -> None:
        deliveries = await self._signed(line, deliveries)
        executions = [taken for delivery in deliveries if (taken := self._understood(line, delivery)) is not None]
        self._house.link.in_hand = tuple(taken.id for taken in executions)
        looked_at, allowed = self.clock.monotonic(), await self._allowed(executions)
        await self._channels.done(line, self._house.consumer, [delivery.id for delivery in deliveries])
        if self.clock.monotonic() - looked_at > STALE_AFTER:
            allowed = await self._allowed(allowed)
        if len(allowed) < len(executions):
            self.events.emit(DispatchWithdrawn(line, len(executions) - len(allowed)))
        refused = await asyncio.to_thread(self._admit, allowed) if allowed else []
        if refused and (self._ended or self._admission.unavailable() is not None):
            await self._house.return_([taken for taken, _ in refused])
            return
        for taken, why in refused:
            self._house.tell(taken, Standing.REFUSED, message=why)

    async def _allowed(self, executions: Sequence[Taken]) -> list[Taken]:
        """Those that may be begun, by what is in their status boxes, and in the database if that may know better."""
        boxes = {taken.id: self._names.status(taken.job_id, taken.id) for taken in executions}
        if not boxes:
            return []
        keys = {boxes[taken.id]: taken.dispatch.trigger.report_key for taken in executions}
        said = await self._channels.read_said(keys, limit=_WORDS)
        words = {box: [entry.message for entry in entries] for box, entries in said.items()}
        consumer = self._house.consumer
        allowed = [taken for taken in executions if may_start(taken.dispatch, words.get(boxes[taken.id], ()), consumer)]
        return await self._house.doubt.standing(allowed)

    async def _signed(self, line: str, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Those that a coordinator has put there; the others are dead. Somebody who floods a queue, or who was given
        another token than the rest, is slow at taking.
        """
        key, now = self._house.key, self.clock.now()
        refused = {one.id: why for one in deliveries if (why := refusal_of(one.message, line, key, now)) is not None}
        if refused:
            await self._channels.bury(line, self._house.consumer, list(refused))
            for why, count in Counter(refused.values()).items():
                self.events.emit(EntriesRefused(line, why, count))
            self._not_before = self.clock.monotonic() + _REFUSING_PAUSE
        return [one for one in deliveries if one.id not in refused]

    def _understood(self, line: str, delivery: Delivery) -> Taken | None:
        try:
            return Taken(Dispatch.model_validate(delivery.message))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            self.events.emit(DispatchUnreadable(line, f"{where}: {first['msg']}"))
            return None

    def _admit(self, executions: Sequence[Taken]) -> list[tuple[Taken, str | None]]:
        """Those that were refused, and why. In a thread: sources may have to be compiled."""
        fresh = [taken for taken in executions if not self._is_known(taken)]
        for taken in fresh:
            self._house.begin(taken)
        answers = self._admission.run_all([taken.dispatch.trigger for taken in fresh])
        refused = [(taken, answer.msg) for taken, answer in zip(fresh, answers, strict=True) if answer.code != SUCCESS]
        for taken, _ in refused:
            self._house.drop(taken)
        for taken in fresh:
            self._house.tell_accepted(taken)
        return refused

    def _is_known(self, taken: Taken) -> bool:
        return taken.id in self._house.link.taken or self._admission.is_known(taken.dispatch.trigger)
