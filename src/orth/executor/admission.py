"""[6] Whether a trigger is taken.

Yes means queued, and that exactly one result will follow. No is answered in the reply itself: nothing was queued, no
result follows, and the coordinator may act on it at once. A no with the code ``UNAVAILABLE`` says nothing about the
job: this executor takes nothing now, and another one may take the trigger. The questions, in order:

0. Is it a trigger of this application? An address may have been another's before; then it is misdirected.
1. Is it known already? A request is repeated when its answer was lost. What is queued, running, lately ended or waiting
   in the outbox is answered yes, with its standing, and not run again; even while stopping. An id that comes with
   another trigger time, or for another job, is another execution: refused while the first is here or its result waits,
   taken afterwards.
2. Was it meant for an earlier process at this address? Then this one never had it: no, and never run.
3. Does this executor take work at all: not stopping, and able to record another result? If not, it is unavailable.
4. Can it be carried out: kind, source, handler, times, shard?
5. Does the job's block strategy let it in? SERIAL_EXECUTION and CONCURRENT queue it, DISCARD_LATER refuses it while the
   job is busy, COVER_EARLY ends what is there. A trigger that brings another handler, or another version of its source,
   also ends what is there, whatever the strategy: the job is not that job any more. A test of code (``draft``) stands
   beside the job: it meets only other tests of it.

A trigger may arrive before its time (``startIn``). It is taken at once and counts as one that waits; what it does to
others of its job it does when its time has come. DISCARD_LATER and COVER_EARLY depend on what runs at that moment, so
such a trigger is refused while it is early, and coordinators send it on time.
"""

from collections.abc import Iterable, Sequence

from orth.clock import SystemClock
from orth.domain.executions import FAILURE, SUCCESS
from orth.domain.jobs import SENT_AHEAD, BlockStrategy
from orth.domain.nodes import Unavailability
from orth.domain.scripts import digest_of
from orth.errors import Unavailable
from orth.events import Events
from orth.executor.declining import Declined
from orth.executor.facts import TriggerRefused
from orth.executor.handlers import Handler
from orth.executor.job_thread import concurrency_of
from orth.executor.job_threads import JobThreads
from orth.executor.outbox import Outbox
from orth.executor.room import COUNT_LIMIT
from orth.executor.run_logs import LATEST_INSTANT
from orth.executor.sources import Sources
from orth.wire.dialects import Malformed
from orth.wire.messages import (
    ENDED_WITH,
    MISDIRECTED,
    NEVER_HAD,
    UNAVAILABLE,
    IdleBeatRequest,
    KillRequest,
    ProgressTold,
    Reply,
    RunAnswer,
    RunRequest,
)

_TAKEN = Reply.success()
PREPARED_WITHIN = 20.0
"""Seconds for compiling the sources of one batch; a trigger whose turn does not come is refused."""


class Admission:
    """The door to the job threads."""

    def __init__(
        self, sources: Sources, threads: JobThreads, outbox: Outbox, *, queue_limit: int, events: Events
    ) -> None:
        self._sources = sources
        self._threads = threads
        self._outbox = outbox
        self._queue_limit = queue_limit
        self._events = events
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Take nothing from now on. Whatever is being decided at this moment is decided before this returns."""
        with self._threads.lock:
            self._closed = True

    def unavailable(self) -> Declined | None:
        """Why nothing is taken at the moment, whatever its job."""
        if self._closed:
            return Declined(Unavailability.LEAVING, "this executor is stopping")
        return self._outbox.refusal or self._no_room()

    def run(self, request: RunRequest) -> Reply:
        """Queue the trigger, or say why not."""
        self._sources.prepare(request)
        arrived = self._threads.tools.clock.monotonic()
        with self._threads.lock:  # a request that arrives twice at once is decided one after the other
            return self._decided(request, arrived)

    def is_prepared(self, requests: Iterable[RunRequest | Malformed]) -> bool:
        """Whether ``run`` and ``run_all`` decide without waiting for a source to be compiled."""
        return all(self._sources.is_prepared(request) for request in requests if isinstance(request, RunRequest))

    def run_all(self, requests: Sequence[RunRequest | Malformed]) -> list[RunAnswer]:
        """Queue each of the triggers, or say why not; one that cannot be read spoils nothing but itself."""
        until = SystemClock().monotonic() + PREPARED_WITHIN
        for request in requests:
            if isinstance(request, RunRequest):
                self._sources.prepare(request, max(0.0, until - SystemClock().monotonic()))
        arrived = self._threads.tools.clock.monotonic()
        with self._threads.lock:  # once for all: none of them starts before the last is decided
            return [self._answered(request, arrived) for request in requests]

    def _answered(self, request: RunRequest | Malformed, arrived: float) -> RunAnswer:
        if isinstance(request, Malformed):
            return RunAnswer(log_id=request.log_id, code=FAILURE, msg=f"Refused: {request.reason}.")
        reply = self._decided(request, arrived)
        return RunAnswer(log_id=request.log_id, code=reply.code, msg=reply.msg)

    def _decided(self, request: RunRequest, arrived: float) -> Reply:
        own = self._threads.tools.executor
        if request.app_name is not None and request.app_name != own:
            return Reply(code=MISDIRECTED, msg=f"Refused: this is an executor of {own}, not of {request.app_name}.")
        known = self._standing(request)
        if known is not None:
            return Reply(code=SUCCESS, msg=f"Execution {request.log_id} is here already: {known}.")
        refused = self._refusal(request) or self._take(request, arrived)
        if refused is None:
            return _TAKEN
        declined = isinstance(refused, Declined)
        reason = refused.reason if isinstance(refused, Declined) else refused
        self._events.emit(TriggerRefused(request.log_id, request.job_id, reason))
        return Reply.failure(f"Refused: {reason}.", UNAVAILABLE if declined else FAILURE)

    def kill(self, request: KillRequest) -> Reply:
        """Begin to end what runs of a job and report what waits, or only one execution; always yes, and at once."""
        running, queued = self._threads.kill(request.job_id, request.log_id)
        what = f"job {request.job_id}" if request.log_id is None else f"execution {request.log_id}"
        told = f"Of {what}, {running} running are being ended and {queued} queued were removed."
        if not running and not queued:
            told = f"Nothing of {what} runs or waits here, or it is being ended already."
        left_behind = self._threads.left_behind(request.job_id)
        if left_behind:
            told += f" Could not be ended before and still inside: {', '.join(map(str, left_behind))}."
        return Reply(code=SUCCESS, msg=told)

    def idle_beat(self, request: IdleBeatRequest) -> Reply:
        """Whether the job is idle here: neither running nor queued."""
        load = self._threads.load_of(request.job_id)
        return Reply.failure(f"Job {request.job_id} is busy here: {load} run or wait.") if load else Reply.success()

    def is_known(self, request: RunRequest) -> bool:
        """Whether this execution is here already, or lately was."""
        return self._standing(request) is not None

    def is_open(self, log_id: int) -> bool:
        """Whether an execution runs or waits here, so that its log may grow."""
        return self._threads.is_open(log_id)

    def progress_of(self, log_id: int) -> ProgressTold | None:
        """How far an execution says it is, if it runs here and has said so."""
        context = self._threads.tools.contexts.get(log_id)
        newest = None if context is None else context.last_progress
        return None if newest is None else newest.told()

    def _standing(self, request: RunRequest) -> str | None:
        standing = self._threads.standing(request)
        if standing is not None:
            return standing
        if self._outbox.holds(request):
            return "ended, its result is being delivered"
        code = self._outbox.delivered(request)
        return None if code is None else f"{ENDED_WITH} {code}"

    def _refusal(self, request: RunRequest) -> str | Declined | None:
        incarnation = self._threads.tools.incarnation
        if request.resend_to is not None and request.resend_to != incarnation:
            return f"this is another incarnation ({incarnation}), {NEVER_HAD}"
        if (unavailable := self.unavailable()) is not None:
            return unavailable
        if max(request.log_date_time, request.schedule_time or 0) > LATEST_INSTANT:
            return "its time lies beyond the year 9999"
        other = self._threads.other_open(request)
        if other is not None:
            what = "triggered at another time" if other.job_id == request.job_id else f"of job {other.job_id}"
            return f"another execution, {what}, is here under the id {request.log_id}"
        if self._outbox.holds(request) is None:
            return f"the result of another execution with the id {request.log_id} is still being delivered"
        if request.source_digest is not None and request.source_digest != digest_of(request.glue_source):
            return "its source is not the one that the coordinator sent: their digests differ"
        if request.broadcast_index >= request.broadcast_total:
            return f"there is no shard {request.broadcast_index} of {request.broadcast_total}; the first is 0"
        if request.start_in and request.executor_block_strategy not in SENT_AHEAD:
            return f"its block strategy is {request.executor_block_strategy}, so it cannot be taken before its time"
        return None

    def _no_room(self) -> Declined | None:
        """Whether the outbox would outgrow its cap if all that is here ended now: each will be a result in it."""
        here, waiting = self._threads.count(), len(self._outbox)
        if here + waiting < COUNT_LIMIT:
            return None
        told = f"{here} executions are here and {waiting} results wait for a coordinator; there is no room for more"
        return Declined(Unavailability.FULL, told)

    def _take(self, request: RunRequest, arrived: float) -> str | Declined | None:
        """Queue it with its handler, or keep it until its time; the reason when that cannot be done."""
        handler = self._sources.handler_of(request)
        if isinstance(handler, str):
            return handler
        blocked = self._blocked(request, handler)
        if blocked is not None:
            return blocked
        earlier = self._outbox.ended_before(request.log_id)
        if earlier is not None:  # another execution, or it would have been known
            self._threads.tools.logs.set_aside(request.log_id, request.log_date_time, earlier)
        try:
            self._threads.accept(request, handler, self._due(request, arrived))
        except Unavailable as unavailable:
            return Declined(Unavailability.NO_THREADS, str(unavailable))
        return None

    def _due(self, request: RunRequest, arrived: float) -> float | None:
        """When it may start, on the monotonic clock; None for at once. Both ways to say it are never early."""
        if not request.start_in:
            return None
        due = arrived + request.start_in / 1000
        if request.start_tick is not None and request.tick_of == self._threads.tools.incarnation:
            due = min(due, request.start_tick / 1000)
        return due

    def _blocked(self, request: RunRequest, handler: Handler) -> str | None:
        load = self._threads.load_of(request.thread_key)
        strategy = request.executor_block_strategy
        # What it covers or replaces makes way for it.
        if not load or strategy is BlockStrategy.COVER_EARLY or self._threads.replaces(request.thread_key, handler):
            return None
        if strategy is BlockStrategy.DISCARD_LATER:
            return f"job {request.job_id} is busy here, and its block strategy is {strategy}"
        # Some of them run; the limit is for those that wait.
        if load >= self._queue_limit + concurrency_of(request):
            return f"queue full: {self._queue_limit} triggers of job {request.job_id} wait already"
        return None
