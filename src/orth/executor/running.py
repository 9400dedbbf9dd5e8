"""[8] One execution, from its request to its result.

Whatever the handler does (returns, raises, exits, never comes back), exactly one result is made here:

* a normal return is 200 and its value the message; ``ctx.result`` and its kin overrule the value;
* ``JobFailed`` is 500 with its message, no traceback;
* parameters that do not fit are 500 and the handler is not called;
* any other exception is 500, its last line first in the message and its traceback in the log. That includes
  ``SystemExit``, except with code 0 or none, which is a script's way to return;
* with a time limit the handler runs in a thread beside the job's. When the time is up the result is 502 and that thread
  is left behind: Python cannot end it. It is told by ``ctx.cancelled``, counted as abandoned and no longer listened to.
"""

import threading
import traceback
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from types import MappingProxyType, TracebackType

from orth.clock import Clock
from orth.domain.executions import FAILURE, SUCCESS, TIMED_OUT
from orth.errors import Invalid
from orth.events import Events
from orth.executor.capture import finish_prints
from orth.executor.context import JobContext, JobFailed, Outcome, entered
from orth.executor.facts import ExecutionAbandoned, ExecutionStarted
from orth.executor.handlers import Handler
from orth.executor.performers import Performer
from orth.executor.run_logs import RunLogs
from orth.executor.time_limits import TimeLimits
from orth.wire.messages import CallbackItem, RunRequest

_SHOWN_PARAMETER = 1000


class Abandoned:
    """Threads left behind by executions that ran out of time, as long as they live."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def add(self, thread: threading.Thread) -> None:
        with self._lock:
            self._threads = [other for other in self._threads if other.is_alive()] + [thread]

    def __len__(self) -> int:
        with self._lock:
            return sum(thread.is_alive() for thread in self._threads)


@dataclass(frozen=True, slots=True)
class Tools:
    """What carrying out an execution needs, besides the execution."""

    clock: Clock
    events: Events
    logs: RunLogs
    limits: TimeLimits
    incarnation: str
    contexts: dict[int, JobContext] = field(default_factory=dict)
    """What is running, by log id."""
    abandoned: Abandoned = field(default_factory=Abandoned)


def carry_out(request: RunRequest, handler: Handler, performer: Performer, tools: Tools) -> CallbackItem:
    """Run the handler once and say how it went."""
    started = tools.clock.now()
    context = begin(request, handler, tools)
    try:
        with entered(context):
            outcome = perform(request, handler, performer, tools)
        write_end(context, outcome, tools.clock.now() - started)
    finally:
        tools.contexts.pop(request.log_id, None)
        context.run_log.close()
    return conclude(request, outcome, started, tools.incarnation)


def begin(request: RunRequest, handler: Handler, tools: Tools) -> JobContext:
    """Open the log and make the context."""
    run_log = tools.logs.open(request.log_id, request.log_date_time)
    context = JobContext(
        job_id=request.job_id,
        log_id=request.log_id,
        log_time=request.log_date_time,
        handler=handler.name,
        param=request.executor_params,
        schedule_time=None if request.schedule_time is None else _instant(request.schedule_time),
        trigger_time=_instant(request.log_date_time),
        shard_index=request.broadcast_index,
        shard_total=request.broadcast_total,
        run_log=run_log,
    )
    tools.contexts[request.log_id] = context
    shown = request.executor_params[:_SHOWN_PARAMETER] or "none"
    run_log.write(f"--- execution {request.log_id} of job {request.job_id} begins: {handler.name}, parameter: {shown}")
    tools.events.emit(ExecutionStarted(request.log_id, request.job_id, handler.name))
    return context


def perform(request: RunRequest, handler: Handler, performer: Performer, tools: Tools) -> Outcome:
    """Read the parameters, then call the handler, within its time limit if it has one."""
    context = tools.contexts[request.log_id]
    try:
        arguments = handler.parameters.read(request.executor_params)
    except Invalid as unfit:
        return Outcome(FAILURE, str(unfit))
    context.params = MappingProxyType(arguments)
    arguments = handler.parameters.with_context(arguments, context)

    def call() -> Outcome:
        return outcome_of(lambda: performer.perform(context, arguments), context)

    if request.executor_timeout <= 0:
        return call()
    outcome = within_limit(request.executor_timeout, call, context, tools)
    if outcome is None:
        performer.abandon()
        return Outcome(TIMED_OUT, f"The execution took longer than its limit of {request.executor_timeout} s.")
    return outcome


def outcome_of(call: Callable[[], object], context: JobContext) -> Outcome:
    """Call the handler; everything it may do becomes an outcome."""
    try:
        returned = call()
        message = "" if returned is None else str(returned)
        return context.decided or Outcome(SUCCESS, message)
    except JobFailed as failed:
        return Outcome(FAILURE, failed.message)
    except BaseException as raised:
        if isinstance(raised, SystemExit) and raised.code in (None, 0):
            return context.decided or Outcome(SUCCESS, "")
        # A handler must not end its thread, nor the process: SystemExit and its like are failures as any other.
        trace = "".join(traceback.format_exception(raised.with_traceback(_theirs(raised.__traceback__)))).rstrip("\n")
        context.run_log.write(trace)
        last_line = traceback.format_exception_only(raised)[-1].rstrip("\n")
        return Outcome(FAILURE, f"{last_line}\n{trace}")


def within_limit(limit: int, call: Callable[[], Outcome], context: JobContext, tools: Tools) -> Outcome | None:
    """The outcome of ``call``, or ``None`` when the limit passed first; then its thread is abandoned."""
    first: SimpleQueue[Outcome | None] = SimpleQueue()
    inherited = copy_context()
    helper = threading.Thread(
        target=lambda: first.put(inherited.run(call)),
        name=f"{threading.current_thread().name}-limited-{context.log_id}",
        daemon=True,
    )
    with tools.limits.watching(limit, lambda: first.put(None)):
        helper.start()
        outcome = first.get()
    if outcome is None:
        context.cancel()
        tools.abandoned.add(helper)
        tools.events.emit(ExecutionAbandoned(context.log_id, context.job_id, limit, helper.name))
    return outcome


def write_end(context: JobContext, outcome: Outcome, took: int) -> None:
    finish_prints(context)
    headline = outcome.message.partition("\n")[0]
    context.run_log.write(f"--- execution ends: {outcome.code} after {took / 1000:.3f} s{headline and f', {headline}'}")


def conclude(request: RunRequest, outcome: Outcome, started: int | None, incarnation: str) -> CallbackItem:
    """The result as it is reported; the message loses its middle when it is too long."""
    return CallbackItem(
        log_id=request.log_id,
        log_date_time=request.log_date_time,
        handle_code=outcome.code,
        handle_msg=outcome.message,
        start_time=started,
        incarnation=incarnation,
    )


def _instant(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


_MACHINERY = (str(Path(__file__).parent), str(Path(threading.__file__).parent / "asyncio"))


def _theirs(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the handler's own first frame on; all of it when the handler never got to run."""
    frame = trace
    while frame is not None and frame.tb_frame.f_code.co_filename.startswith(_MACHINERY):
        frame = frame.tb_next
    return frame or trace
