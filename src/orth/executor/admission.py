"""[6] Whether a trigger is taken.

Yes means queued, and that exactly one result will follow. No is answered in the reply itself: nothing was queued, no
result follows, and the coordinator may act on it at once. The questions, in order:

1. Is it known already? A request is repeated when its answer was lost. What is queued, running, lately ended or waiting
   in the outbox is answered yes, with its standing, and not run again; even while stopping.
2. Was it meant for an earlier process at this address? Then this one never had it: no, and never run.
3. Does this executor take work at all: not stopping, and able to record another result?
4. Can it be carried out: kind, handler, times?
5. Does the job's block strategy let it in?
"""

from orth.domain.executions import SUCCESS
from orth.domain.jobs import BlockStrategy, GlueType
from orth.errors import Unavailable
from orth.events import Events
from orth.executor.facts import TriggerRefused
from orth.executor.handlers import Handler, Handlers
from orth.executor.job_thread import JobThreads
from orth.executor.outbox import Outbox
from orth.executor.run_logs import LATEST_INSTANT
from orth.wire.messages import IdleBeatRequest, Reply, RunRequest

_NAMES_SHOWN = 20


class Admission:
    """The door to the job threads."""

    def __init__(
        self, handlers: Handlers, threads: JobThreads, outbox: Outbox, *, queue_limit: int, events: Events
    ) -> None:
        self._handlers = handlers
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

    def run(self, request: RunRequest) -> Reply:
        """Queue the trigger, or say why not."""
        with self._threads.lock:  # a request that arrives twice at once is decided one after the other
            known = self._standing(request.log_id)
            if known is not None:
                return Reply(code=SUCCESS, msg=f"Execution {request.log_id} is here already: {known}.")
            handler = self._handlers.get(request.executor_handler)
            reason = self._refusal(request, handler)
            if reason is None and handler is not None:
                try:
                    self._threads.accept(request, handler)
                    return Reply.success()
                except Unavailable as unavailable:
                    reason = str(unavailable)
        self._events.emit(TriggerRefused(request.log_id, request.job_id, str(reason)))
        return Reply.failure(f"Refused: {reason}.")

    def idle_beat(self, request: IdleBeatRequest) -> Reply:
        """Whether the job is idle here: neither running nor queued."""
        load = self._threads.load_of(request.job_id)
        return Reply.failure(f"Job {request.job_id} is busy here: {load} run or wait.") if load else Reply.success()

    def is_open(self, log_id: int) -> bool:
        """Whether an execution runs or waits here, so that its log may grow."""
        return self._threads.is_open(log_id)

    def _standing(self, log_id: int) -> str | None:
        standing = self._threads.standing(log_id)
        if standing is None and log_id in self._outbox:
            return "ended, its result is being delivered"
        return standing

    def _refusal(self, request: RunRequest, handler: Handler | None) -> str | None:
        incarnation = self._threads.tools.incarnation
        if request.resend_to is not None and request.resend_to != incarnation:
            return f"this is another incarnation ({incarnation}), which never had it"
        if self._closed:
            return "this executor is stopping"
        return self._outbox.refusal or self._unfit(request, handler) or self._blocked(request)

    def _unfit(self, request: RunRequest, handler: Handler | None) -> str | None:
        if request.glue_type is not GlueType.BEAN:
            return f"{request.glue_type} needs scripts, which are not enabled on this executor"
        if handler is None:
            names = self._handlers.names()
            known = ", ".join(names[:_NAMES_SHOWN]) + (", …" if len(names) > _NAMES_SHOWN else "")
            return f"there is no handler {request.executor_handler!r} here; known: {known or 'none'}"
        if max(request.log_date_time, request.schedule_time or 0) > LATEST_INSTANT:
            return "its time lies beyond the year 9999"
        return None

    def _blocked(self, request: RunRequest) -> str | None:
        strategy = request.executor_block_strategy
        if strategy in (BlockStrategy.COVER_EARLY, BlockStrategy.CONCURRENT):
            return f"this executor cannot do the block strategy {strategy}; it knows SERIAL_EXECUTION and DISCARD_LATER"
        load = self._threads.load_of(request.job_id)
        if load and strategy is BlockStrategy.DISCARD_LATER:
            return f"job {request.job_id} is busy here, and its block strategy is {strategy}"
        # One of them runs; the limit is for those that wait.
        if load > self._queue_limit:
            return f"queue full: {self._queue_limit} triggers of job {request.job_id} wait already"
        return None
