"""[8] One execution, from its request to its result.

Whatever the handler does (returns, raises, exits, never comes back), exactly one result is made here:

* a normal return is 200 and its value the message; ``ctx.result`` and its kin overrule the value;
* ``JobFailed`` is 500 with its message, no traceback; so is leaving at ``ctx.checkpoint`` after being cancelled;
* parameters that do not fit are 500 and the handler is not called;
* any other exception is 500, its last line first in the message and its traceback in the log. That includes
  ``SystemExit``, except with code 0 or none, which is a script's way to return; not so before ``execute``, as in
  ``init`` or at the top level of a GLUE source;
* when it is ended from outside (its time is up, it was killed, covered or replaced, the executor stops), that is the
  result, whatever the handler still returns or raises. Where it was when the exception struck is in the log.
"""

import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType, TracebackType

from orth.clock import Clock
from orth.domain.executions import FAILURE, STORED_MESSAGE_LIMIT, SUCCESS
from orth.errors import Invalid
from orth.events import Events
from orth.executor.capture import finish_prints
from orth.executor.context import (
    EXITED_EARLY,
    Cancelled,
    JobContext,
    JobFailed,
    NotCarriedOut,
    Outcome,
    before_execute,
    entered,
)
from orth.executor.ending import Ended, Stay
from orth.executor.facts import ExecutionStarted
from orth.executor.handlers import Handler
from orth.executor.masking import NOTHING_HIDDEN, Mask
from orth.executor.one_process import OneProcess
from orth.executor.performers import Performer
from orth.executor.progress import Progress
from orth.executor.proposals import checked_level
from orth.executor.result_text import result_text
from orth.executor.results import Result
from orth.executor.run_logs import RunLogs
from orth.executor.time_limits import TimeLimits
from orth.wire.beginnings import Begun
from orth.wire.fields import LEFT_BEHIND_LIMIT
from orth.wire.messages import LeftBehind, RunRequest

_SHOWN_PARAMETER = 1000
_SHOWN_MESSAGE = 1000


class Abandoned:
    """Executions that could not be ended, as long as they are inside their threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: dict[int, tuple[RunRequest, int]] = {}

    def add(self, request: RunRequest, since: int) -> None:
        """From ``since`` on, in epoch milliseconds, nobody tries to end it any more."""
        with self._lock:
            self._since[request.log_id] = (request, since)

    def remove(self, log_id: int) -> None:
        with self._lock:
            self._since.pop(log_id, None)

    def request_of(self, log_id: int) -> RunRequest | None:
        with self._lock:
            found = self._since.get(log_id)
        return None if found is None else found[0]

    def named(self) -> tuple[LeftBehind, ...]:
        """The newest of them, as beats name them."""
        with self._lock:
            newest = list(self._since.items())[-LEFT_BEHIND_LIMIT:]
        return tuple(LeftBehind(log_id=log_id, since=since) for log_id, (_request, since) in newest)

    def __len__(self) -> int:
        return len(self._since)


@dataclass(frozen=True, slots=True)
class Tools:
    """What carrying out an execution needs, besides the execution."""

    clock: Clock
    events: Events
    logs: RunLogs
    limits: TimeLimits
    incarnation: str
    executor: str = ""
    """The app name, as handlers see it."""
    kill_grace: float = 5.0
    """Seconds an execution that is to end may take before it is abandoned."""
    abandoned_hold: float = 300.0
    """Seconds an abandoned execution keeps its job from going on, if it stays that long."""
    contexts: dict[int, JobContext] = field(default_factory=dict)
    """What is running, by log id."""
    began: dict[int, Begun] = field(default_factory=dict)
    """When that began, as coordinators are told."""
    abandoned: Abandoned = field(default_factory=Abandoned)
    on_progress: Callable[[JobContext, Progress], None] | None = None
    """Hears how far executions are."""
    always_hidden: Mask = NOTHING_HIDDEN
    """What no execution writes."""


@dataclass(frozen=True, slots=True)
class Spent:
    """When an execution began, in epoch milliseconds, and how long it ran; None where it never began."""

    started: int | None
    duration_ms: int | None


NOT_BEGUN = Spent(None, None)


@dataclass(slots=True, eq=False)
class Accepted:
    """A trigger this executor has said yes to."""

    request: RunRequest
    handler: Handler
    number: int = 0
    """Counts what was accepted: a higher number came later."""
    stay: Stay = field(default_factory=Stay)
    performer: Performer | None = None
    """What carries it out, once it runs."""
    ending: Outcome | None = None
    """Why it is being ended from outside. Then this is how it ends, whatever the handler has to say."""
    started: int | None = None
    """When it began, in epoch milliseconds."""
    began: float = 0.0
    """The same on the monotonic clock."""
    place: int | None = None
    """In the turnstile, while its thread is on the way from sleep to the handler."""
    _claim: list[None] = field(default_factory=lambda: [None], repr=False)

    @property
    def settled(self) -> bool:
        """Whether its result is decided."""
        return not self._claim

    def spent(self, clock: Clock) -> Spent:
        """When it began, and how long it has run by now."""
        if self.started is None:
            return NOT_BEGUN
        return Spent(self.started, max(0, round((clock.monotonic() - self.began) * 1000)))

    def settle(self) -> bool:
        """Whether the caller may report its result: true once. Taking the last of a list is one step for Python."""
        try:
            self._claim.pop()
        except IndexError:
            return False
        return True


def carry_out(
    accepted: Accepted, performer: Performer, tools: Tools, *beside: int, begun: Callable[[], None] = lambda: None
) -> Result:
    """Run the handler once and say how it went. ``beside`` are executions left behind that still run; ``begun`` is
    called just before the handler.
    """
    request = accepted.request
    accepted.began = tools.clock.monotonic()
    started = accepted.started = tools.clock.now()
    context = begin(request, accepted.handler, tools)
    try:
        tools.began[request.log_id] = Begun(log_id=request.log_id, start_time=started, report_key=request.report_key)
        for other in beside:
            note_overlap(request, other, context, tools)
        begun()
        with entered(context):
            outcome = perform(accepted, performer, context)
        spent = accepted.spent(tools.clock)
        outcome = replace(outcome, message=context.mask.hide(outcome.message))
        write_end(context, outcome, spent.duration_ms or 0)
    finally:
        tools.contexts.pop(request.log_id, None)
        tools.began.pop(request.log_id, None)
        context.run_log.close()
    return conclude(request, outcome, spent, tools.incarnation)


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
        secrets=MappingProxyType(request.secrets or {}),
        always_hidden=tools.always_hidden,
        attempt=request.attempt,
        run_key=request.run_key or "",
        job_name=request.job_name or "",
        executor=tools.executor,
        run_log=run_log,
        clock=tools.clock,
        deadline=tools.clock.monotonic() + request.executor_timeout if request.executor_timeout > 0 else None,
        inherit_threads=handler.inherit_threads,
        log_level=handler.log_level if request.log_level is None else checked_level(request.log_level),
        on_progress=tools.on_progress,
    )
    run_log.mask = context.mask
    tools.contexts[request.log_id] = context
    shown = request.executor_params[:_SHOWN_PARAMETER] or "none"
    run_log.remark(f"--- execution {request.log_id} of job {request.job_id} begins: {handler.name}, parameter: {shown}")
    tools.events.emit(ExecutionStarted(request.log_id, request.job_id, handler.name))
    return context


def note_overlap(request: RunRequest, other: int, context: JobContext, tools: Tools) -> None:
    """Say in both logs that two executions of one job run at the same time."""
    context.run_log.write(
        f"--- execution {other} of this job could not be ended: it still runs beside this one", own=True
    )
    left_behind = tools.abandoned.request_of(other)
    if left_behind is not None:
        append_line(left_behind, f"--- execution {request.log_id} of this job begins, this one still running", tools)


def append_line(request: RunRequest, line: str, tools: Tools) -> None:
    """Add a line to the log of an execution that is no longer written by its handler."""
    run_log = tools.logs.open(request.log_id, request.log_date_time)
    run_log.write(line, own=True)
    run_log.close()


def perform(accepted: Accepted, performer: Performer, context: JobContext) -> Outcome:
    """Read the parameters, then call the handler; both can be ended, for validators are code of the author's."""
    parameters = accepted.handler.parameters

    def call() -> object:
        try:
            with before_execute():
                arguments = parameters.read(context.param)
        except Invalid as unfit:
            raise JobFailed(str(unfit)) from None
        context.params = MappingProxyType(arguments)
        return performer.perform(context, parameters.with_context(arguments, context))

    accepted.performer = performer
    outcome = outcome_of(call, accepted.stay, context, accepted.handler.give_up_on)
    return accepted.ending or outcome


def outcome_of(
    call: Callable[[], object], stay: Stay, context: JobContext, give_up_on: tuple[type[BaseException], ...]
) -> Outcome:
    """Call the handler; everything it may do becomes an outcome."""
    try:
        return stay.spend(lambda: _made(call, context, give_up_on))
    except BaseException as left:
        stay.leave()  # what was raised from outside may have struck on the way out
        if not isinstance(left, Cancelled):
            raise
        if isinstance(left, Ended):
            context.run_log.write(_trace(left, chain=False))  # where it was when it was ended
        return Outcome(FAILURE, "Cancelled.")


def _made(call: Callable[[], object], context: JobContext, give_up_on: tuple[type[BaseException], ...]) -> Outcome:
    """The outcome of a call that nobody ended. Its text is made here, inside the stay: ``__str__`` may never return."""
    try:
        with OneProcess():
            returned = call()
            message = result_text(returned)
        return context.decided or Outcome(SUCCESS, message)
    except NotCarriedOut as failed:
        return Outcome(FAILURE, failed.message, reason=failed.reason)
    except JobFailed as failed:
        return Outcome(FAILURE, failed.message, failed.final or isinstance(failed, give_up_on))
    except Cancelled:
        raise
    except BaseException as raised:
        if _is_return(raised):
            return context.decided or Outcome(SUCCESS, "")
        # A handler must not end its thread, nor the process: SystemExit and its like are failures as any other.
        trace = _trace(raised)
        context.run_log.write(trace)
        last_line = traceback.format_exception_only(raised)[-1].rstrip("\n")
        return Outcome(FAILURE, f"{last_line}\n{trace}", isinstance(raised, give_up_on))


def _is_return(raised: BaseException) -> bool:
    if not isinstance(raised, SystemExit) or raised.code not in (None, 0):
        return False
    return EXITED_EARLY not in getattr(raised, "__notes__", ())


def write_end(context: JobContext, outcome: Outcome, took: int) -> None:
    finish_prints(context)
    context.finish_progress()
    if len(outcome.message) > STORED_MESSAGE_LIMIT:
        context.run_log.write(outcome.message)  # whoever keeps it keeps only its two ends
    headline = outcome.message.partition("\n")[0][:_SHOWN_MESSAGE]
    told = f"{outcome.code} after {took / 1000:.3f} s{headline and f', {headline}'}"
    context.run_log.remark(f"--- execution ends: {told}")


def conclude(request: RunRequest, outcome: Outcome, spent: Spent, incarnation: str, *, inside: bool = False) -> Result:
    """The result as it is reported; the message loses its middle when it is too long. ``inside``: the handler has not
    returned.
    """
    return Result(
        job_id=request.job_id,
        log_id=request.log_id,
        log_date_time=request.log_date_time,
        handle_code=outcome.code,
        handle_msg=outcome.message,
        start_time=spent.started,
        duration_ms=spent.duration_ms,
        incarnation=incarnation,
        final=outcome.final or None,
        reason=outcome.reason,
        still_inside=inside or None,
        report_key=request.report_key,
    )


def _instant(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


_MACHINERY = (str(Path(__file__).parent), str(Path(threading.__file__).parent / "asyncio"))


def _trace(raised: BaseException, *, chain: bool = True) -> str:
    shown = raised.with_traceback(_theirs(raised.__traceback__))
    return "".join(traceback.format_exception(shown, chain=chain)).rstrip("\n")


def _theirs(trace: TracebackType | None) -> TracebackType | None:
    """The traceback from the handler's own first frame on; all of it when the handler never got to run."""
    frame = trace
    while frame is not None and frame.tb_frame.f_code.co_filename.startswith(_MACHINERY):
        frame = frame.tb_next
    return frame or trace
