"""What coordinators and the executors of queues write on the channels.

Every message about an execution names its job and the execution, the latter twice (``executionId`` and ``historyId``).
Whoever reads one may have read it before, or may have missed some: the sequence numbers of status and logs only tell
the repetitions of one executor process apart.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, computed_field

from orth.domain.executions import FAILURE, SUCCESS, TIMED_OUT
from orth.wire.fields import (
    AppName,
    Count,
    Identity,
    Int32,
    Interpreter,
    JobId,
    Labels,
    LogId,
    Millis,
    ReportKey,
    ReportText,
)
from orth.wire.messages import CallbackItem, HandlerInfo, LeftBehinds, Message, RunRequest, Verdict


class OfExecution(Message):
    """Base of what concerns one execution."""

    job_id: JobId
    execution_id: LogId

    @computed_field  # type: ignore[prop-decorator]  # a known limit of mypy; computed fields are written like any other
    @property
    def history_id(self) -> int:
        return self.execution_id


class Dispatch(OfExecution):
    """Queue ``dispatch``: run this. ``trigger`` is all an executor needs; the rest is for whoever looks on."""

    attempt: Int32 = 1
    job_type: str = ""
    arguments: ReportText = ""
    priority: Annotated[Int32, Field(ge=0, le=3)] = 1
    queue: str = ""
    correlation_id: str | None = None
    sending: Millis = 0
    """Grows each time the execution is offered, so that an earlier offer can be withdrawn."""
    trigger: RunRequest


class Cancel(OfExecution):
    """Topic ``cancel``: end this, whoever has it."""

    app_name: str | None = None
    """Whose execution it is: executors that hear through a coordinator hear what is of their own apps."""
    reason: ReportText = ""


class Standing(StrEnum):
    """What an executor says of an execution."""

    ACCEPTED = "Accepted"  # it waits there; exactly one result will follow
    RUNNING = "Running"
    PROGRESS = "Progress"
    COMPLETED = "Completed"
    FAILED = "Failed"
    TIMED_OUT = "TimedOut"
    CANCELLED = "Cancelled"
    REFUSED = "Refused"  # nothing was queued and no result will follow; ``message`` says why
    RETURNED = "Returned"  # accepted, never begun, and given back by an executor that leaves
    WITHDRAWN = "Withdrawn"  # said by a coordinator: offers up to this ``sending`` must not be begun any more

    @classmethod
    def of_result(cls, code: int, *, cancelled: bool) -> Self:
        """What the code of a result is called."""
        if cancelled and code != SUCCESS:
            return cls(cls.CANCELLED)
        return cls({SUCCESS: cls.COMPLETED, TIMED_OUT: cls.TIMED_OUT, FAILURE: cls.FAILED}.get(code, cls.FAILED))


SAID_BY_EXECUTORS = frozenset(Standing) - {Standing.WITHDRAWN}


class StatusReport(OfExecution):
    """Box ``status``: how an execution stands."""

    attempt: Int32 = 1
    seq: Count
    status: Standing
    worker_id: Identity
    incarnation: Identity
    progress: dict[str, Any] | None = None
    """``done``, ``total``, ``message`` and ``eta``."""
    message: ReportText | None = None
    result: CallbackItem | None = None
    """With the four ends; the same object as in a callback."""
    report_key: ReportKey | None = Field(None, repr=False)
    """As the dispatch said. Coordinators do not show it to those who read the box through them."""
    sending: Millis | None = None
    """That of the dispatch it is about. Of a withdrawal: up to which; without one, all."""
    offer_again: bool | None = None
    """True of what was returned and is in no queue: executors put nothing there."""
    timestamp: str = ""


def may_start(dispatch: Dispatch, said: Iterable[Mapping[str, Any]], incarnation: str) -> bool:
    """Whether the process ``incarnation`` may begin what it took, given all that is in the execution's status box.

    A message may be older than what coordinators know: the execution may have been cancelled while it waited, or given
    up for lost and offered again. And it may have come twice: what another process accepted is that one's.
    """
    holder: object = None
    for word in said:
        sending = word.get("sending")
        if isinstance(sending, int) and sending < dispatch.sending:
            continue  # about an earlier offer
        if word.get("status") == Standing.WITHDRAWN:
            return False
        holder = None if word.get("status") == Standing.RETURNED else word.get("incarnation")
    return holder in (None, incarnation)


class LogLines(OfExecution):
    """Box ``logs``: whole lines of an execution's log, the first of them being number ``first_line``."""

    seq: Count
    first_line: Annotated[Int32, Field(ge=1)]
    text: ReportText = ""
    follows: Annotated[Int32, Field(ge=0)] | None = None
    """The line that was sent before these, where what is between them was left out on purpose."""
    end: bool | None = None
    """True when no more will come."""
    report_key: ReportKey | None = Field(None, repr=False)
    """As the dispatch said: other pieces are nobody's."""


WANTED_LIMIT = 1_000
"""Logs that are asked for at once, at most."""


class WantedLog(OfExecution):
    """A log of which nothing is there from ``from_line`` on."""

    log_time: Millis
    from_line: Annotated[Int32, Field(ge=1)] = 1


class LogsWanted(Message):
    """Topic ``logs.wanted``: whoever has these sends what is missing, into their boxes."""

    app_name: AppName
    logs: Annotated[tuple[WantedLog, ...], Field(max_length=WANTED_LIMIT)] = ()


NAMED_LIMIT = 20_000
"""Executions of a kind that one beat names: all of them, if at all possible. While somebody does not name everything
that he has, nothing that is lost can be offered again."""


def _first_named(value: object) -> object:
    return value[:NAMED_LIMIT] if isinstance(value, list | tuple) else value


NamedIds = Annotated[tuple[LogId, ...], BeforeValidator(_first_named)]


class WorkerBeat(Message):
    """Topic ``worker.heartbeat``: this executor process lives."""

    worker_id: Identity
    incarnation: Identity
    app_name: AppName
    queues: tuple[str, ...] = ()
    status: str = "Running"  # Starting, Running, Draining, Stopped
    active_jobs: Count = 0
    max_concurrent_jobs: Count = 0
    running: NamedIds = ()
    unacknowledged: NamedIds = ()
    """As ``running``, complete when ``active_jobs`` and ``unacknowledged_results`` count no more than are named."""
    unacknowledged_results: Count = 0
    left_behind: LeftBehinds = ()
    address: str = ""
    """Where it listens, if anybody can reach it there."""
    version: str = ""
    python: Interpreter = ""
    extensions: tuple[Identity, ...] = ()
    handlers: tuple[HandlerInfo, ...] = ()
    labels: Labels = Field(default_factory=dict)
    hostname: str = ""
    process_id: Count = 0
    timestamp: str = ""


class Acknowledged(Message):
    """Box ``acknowledged``: a result of this executor process has been judged, after the commit."""

    execution_id: LogId
    verdict: Verdict
