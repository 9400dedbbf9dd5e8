"""The way to the coordinators of an executor that takes its work from queues.

A beat is announced to everybody. A result is posted on its execution's own channel, and whoever owns the execution
answers in this process's box of acknowledgements, after the commit. What is not answered in time, what came from
elsewhere or from an earlier process, and everything while the channels are away, goes over HTTP to any coordinator:
delivering a result twice changes nothing. When nobody answers at all, further results do not wait long for it until
somebody does.

The outbox and the heartbeat call this from threads of theirs; the channels live on the event loop.
"""

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from pydantic import ValidationError

from orth.channels.interface import START, ChannelsUnavailable, Entry, ExecutorChannels
from orth.channels.limits import Limits
from orth.channels.names import Names
from orth.clock import Clock, iso
from orth.errors import Unavailable
from orth.events import Events
from orth.executor.facts import ResultsUnheard
from orth.executor.queue_logs import LogFeed
from orth.executor.queue_reports import Outgoing, Reports, Taken, Worker
from orth.wire.beginnings import BegunReport
from orth.wire.channel_calls import ChannelCalls
from orth.wire.channel_messages import NAMED_LIMIT, Acknowledged, Standing, WorkerBeat
from orth.wire.coordinator_calls import CoordinatorLink
from orth.wire.messages import CallbackItem, CallbackVerdict, RegistryRequest, Verdict

PATIENCE = 3.0
"""Seconds within which the owner's answer to a result is expected."""
SHORT_PATIENCE = 0.1
"""The same while nobody has answered the last time."""
AWAY_PAUSE = 5.0
"""Seconds for which channels that failed are not asked about results."""
BOX_LIMIT = 5_000
"""Acknowledgements read after which the box is emptied, or half as many as it holds if that is less. One that comes at
that moment is lost, and HTTP brings it."""
_READ_AT_ONCE = 1_000
_FIRST_LOOK, _LONGEST_LOOK = 0.005, 0.1
_THREAD_PATIENCE = 10.0

T = TypeVar("T")


class QueueLink:
    """Speaks for one executor process. ``taken`` is what it took from queues and is not done with."""

    def __init__(
        self,
        channels: ExecutorChannels,
        names: Names,
        http: CoordinatorLink,
        by_http: ChannelCalls | None,
        worker: Worker,
        *,
        limits: Limits,
        clock: Clock,
        events: Events,
    ) -> None:
        self._empty_after = min(BOX_LIMIT, limits.box // 2)
        self._channels = channels
        self._names = names
        self._http = http
        self._by_http = by_http
        self._worker = worker
        self._clock = clock
        self._events = events
        self._home: asyncio.AbstractEventLoop | None = None
        self._box = names.acknowledged(worker.incarnation)
        self._position = START
        self._read = 0
        self._verdicts: dict[int, Verdict] = {}
        self._patience = PATIENCE
        self._not_before = clock.monotonic()
        self.taken: dict[int, Taken] = {}
        self.in_hand: tuple[int, ...] = ()
        """Executions that were taken a moment ago and are about to be admitted."""
        self.queues: tuple[str, ...] = ()
        self.places = 0
        self.draining = False

    def enter(self, outgoing: Outgoing, reports: Reports, feed: LogFeed) -> None:
        """The rest of the transport, which needs this link."""
        self._outgoing = outgoing
        self._reports = reports
        self._feed = feed

    def at_home(self) -> None:
        """The channels live on the running event loop from here on."""
        self._home = asyncio.get_running_loop()

    # --- beats

    def register(self, request: RegistryRequest) -> None:
        self._announce(self._beat(request, "Draining" if self.draining else "Running"))

    def unregister(self, request: RegistryRequest) -> None:
        self._announce(self._beat(request, "Stopped"))

    def _announce(self, beat: WorkerBeat) -> None:
        message = beat.model_dump(mode="json", by_alias=True, exclude_none=True)
        topic = self._names.worker_heartbeat
        try:
            self._on_loop(lambda: self._channels.announce(topic, message), _THREAD_PATIENCE)
        except Unavailable:
            if self._by_http is None:
                raise
            self._by_http.announce(topic, message)

    def _beat(self, request: RegistryRequest, status: str) -> WorkerBeat:
        said = request.orth
        assert said is not None, "our own registrations have an announcement"
        load = said.load
        running = tuple(dict.fromkeys([*said.running, *self.in_hand, *list(self.taken)]))
        return WorkerBeat(
            worker_id=self._worker.id,
            incarnation=self._worker.incarnation,
            app_name=request.registry_key,
            queues=self.queues,
            status=status,
            active_jobs=max(load.running + load.queued if load else 0, len(running)),
            max_concurrent_jobs=self.places,
            running=running[:NAMED_LIMIT],
            unacknowledged=said.unacknowledged,
            left_behind=said.left_behind,
            unacknowledged_results=load.unacknowledged if load else len(said.unacknowledged),
            address=request.registry_value,
            version=said.version,
            python=said.python,
            extensions=said.extensions,
            handlers=said.handlers,
            labels=said.labels,
            hostname=socket.gethostname(),
            process_id=os.getpid(),
            timestamp=iso(self._clock.now()),
        )

    def tell_begun(self, report: BegunReport) -> frozenset[int]:
        """What came over push is told as there; the channels tell of the others."""
        others = tuple(one for one in report.begun if one.log_id not in self.taken)
        return self._http.tell_begun(report.model_copy(update={"begun": others})) if others else frozenset()

    # --- results

    def call_back(self, items: Sequence[CallbackItem]) -> list[CallbackVerdict]:
        """Deliver results and say what became of each, in the order given."""
        ours = {item.log_id: item for item in items if item.log_id in self.taken}
        verdicts = self._over_channels(ours) if ours else {}
        left = [item for item in items if item.log_id not in verdicts]
        try:
            answers = self._http.call_back(left) if left else []
        except Unavailable:
            if not verdicts:
                raise
            answers = []
        verdicts |= {answer.log_id: answer.verdict for answer in answers}
        self._settle(verdicts)
        return [CallbackVerdict(log_id=item.log_id, verdict=verdicts.get(item.log_id, Verdict.RETRY)) for item in items]

    def _settle(self, verdicts: Mapping[int, Verdict]) -> None:
        judged = [log_id for log_id, verdict in verdicts.items() if verdict is not Verdict.RETRY]
        executions = [taken for log_id in judged if (taken := self.taken.pop(log_id, None)) is not None]
        for taken in executions:
            self._verdicts.pop(taken.id, None)
        self._outgoing.forget(executions)

    def _over_channels(self, items: Mapping[int, CallbackItem]) -> dict[int, Verdict]:
        """Verdicts that came over the channels in time."""
        early = {log_id: self._verdicts.pop(log_id) for log_id in items if log_id in self._verdicts}
        asked = {log_id: item for log_id, item in items.items() if log_id not in early}
        self._feed.end([self.taken[log_id] for log_id in asked])
        asked = {log_id: item for log_id, item in asked.items() if self._outgoing.has_room_for(item)}
        for log_id, item in asked.items():
            taken = self.taken[log_id]
            standing = Standing.of_result(item.handle_code, cancelled=taken.cancelled)
            self._outgoing.tell(taken, standing, result=item)
        self._reports.wake()
        if not asked or self._clock.monotonic() < self._not_before:
            return early
        patience = self._patience
        try:
            heard = self._on_loop(lambda: self._answers(set(asked), patience), patience + _THREAD_PATIENCE)
        except Unavailable:
            self._not_before = self._clock.monotonic() + AWAY_PAUSE
            self._position = START  # coordinators with other channels do not know the old one
            return early
        self._patience = PATIENCE if heard or early else SHORT_PATIENCE
        if not heard:
            self._position = START  # the channels may have begun anew, and count from the first again
        if len(heard) < len(asked) and patience == PATIENCE:
            self._events.emit(ResultsUnheard(len(asked) - len(heard), patience))
        return early | heard

    async def _answers(self, asked: set[int], patience: float) -> dict[int, Verdict]:
        """Post what is drafted and wait for the verdicts on ``asked``."""
        await self._reports.hurry()
        deadline = self._clock.monotonic() + patience
        pause = _FIRST_LOOK
        heard: dict[int, Verdict] = {}
        while True:
            await self._read_box()
            heard |= {log_id: self._verdicts.pop(log_id) for log_id in asked & self._verdicts.keys()}
            left = deadline - self._clock.monotonic()
            if len(heard) == len(asked):
                return heard
            if left <= 0:
                if not heard and self._read:  # it may be full: how much it holds is the coordinators' to say
                    await self._empty_box()
                return heard
            await self._clock.sleep_unless(asyncio.Event(), min(pause, left))
            pause = min(2 * pause, _LONGEST_LOOK)

    async def _read_box(self) -> None:
        while entries := (await self._channels.read({self._box: self._position}, limit=_READ_AT_ONCE)).get(self._box):
            for said in filter(None, map(_acknowledged, entries)):
                if said.execution_id in self.taken:
                    self._verdicts[said.execution_id] = said.verdict
            self._position = entries[-1].position
            self._read += len(entries)
            if len(entries) < _READ_AT_ONCE:
                break
        if self._read and self._read >= self._empty_after:
            await self._empty_box()

    async def _empty_box(self) -> None:
        await self._channels.remove([self._box])
        self._position, self._read = START, 0

    async def leave(self) -> None:
        """Nobody will read the acknowledgements any more."""
        await self._channels.remove([self._box])

    def _on_loop(self, call: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> T:
        """Have the event loop do something, and wait for it in this thread."""
        home = self._home
        if home is None or home.is_closed():
            raise ChannelsUnavailable("The channels are not open yet, or no longer.")
        doing = asyncio.run_coroutine_threadsafe(call(), home)
        try:
            return doing.result(seconds)
        except (TimeoutError, CancelledError):
            doing.cancel()
            raise ChannelsUnavailable(f"The channels did not answer within {seconds:g} s.") from None


def _acknowledged(entry: Entry) -> Acknowledged | None:
    try:
        return Acknowledged.model_validate(entry.message)
    except ValidationError:  # of a newer coordinator; the result goes over HTTP
        return None
