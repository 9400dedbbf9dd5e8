"""Executions and their status.

The truth is a pair of codes, ``trigger_code`` (did the executor take it?) and ``handle_code`` (how did it end?);
``status_of`` is the only derivation. While an execution is open it also has a *phase*, which says where it is and is
what the hot indexes are built on; once it is terminal its phase is ``ENDED`` and nothing moves it again.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final, Literal

from orth.domain.jobs import TriggerCause
from orth.domain.reasons import CANCELLED

SUCCESS = 200
FAILURE = 500
TIMED_OUT = 502
NOT_YET = 0

TEST_KEY = "test:"
"""How the key of an execution begins that is a test of code."""

EXECUTOR_MESSAGE_LIMIT = 50_000
STORED_MESSAGE_LIMIT = 15_000

COVERED_WORDS = "covers it, as the block strategy COVER_EARLY says"
"""What people are told of an execution that a later one ended."""


class Status(StrEnum):
    """What a pair of codes means."""

    INIT = "init"  # opened; dispatch moves it to pending or trigger_failed, an early callback ends it
    PENDING = "pending"  # an executor has it; a callback, the timeout watch or lost detection ends it
    SUCCESS = "success"
    FAILED = "failed"
    TIMEOUT = "timeout"
    TRIGGER_FAILED = "trigger_failed"

    @property
    def terminal(self) -> bool:
        return not MAY_BECOME[self]


_ENDINGS = frozenset({Status.SUCCESS, Status.FAILED, Status.TIMEOUT})

MAY_BECOME: Mapping[Status, frozenset[Status]] = {
    # A fast handler's callback may overtake the answer to its own dispatch: init may end without having been seen as
    # pending.
    Status.INIT: _ENDINGS | {Status.PENDING, Status.TRIGGER_FAILED},
    Status.PENDING: _ENDINGS,
    Status.SUCCESS: frozenset(),
    Status.FAILED: frozenset(),
    Status.TIMEOUT: frozenset(),
    Status.TRIGGER_FAILED: frozenset(),
}


CANCELLED_STATUS: Final = "cancelled"
ListedStatus = Status | Literal["cancelled"]
"""What lists are filtered by. An execution that was cancelled before it began has the status of a failure, and no list
has it among the failures.
"""

OUTCOMES: Mapping[ListedStatus, int] = {
    Status.INIT: 0,
    Status.PENDING: 0,
    Status.SUCCESS: 1,
    Status.FAILED: 2,
    Status.TIMEOUT: 3,
    Status.TRIGGER_FAILED: 4,
    CANCELLED_STATUS: 5,
}
"""How executions ended, as the numbers they are stored, listed and counted by; 0 = not ended. The pair of codes stays
the truth.
"""


class Phase(StrEnum):
    """Where an open execution is. The first four have status init, the others pending."""

    OPENED = "opened"  # waits for dispatch
    DISPATCHING = "dispatching"  # an address is chosen and committed; the request may be on its way
    UNKNOWN = "unknown"  # the answer was lost: the executor may have it. Asking, a callback or a long silence ends it
    OFFERED = "offered"  # in a queue, for whoever takes it
    DISPATCHED = "dispatched"  # the executor said yes
    QUEUED = "queued"
    RUNNING = "running"
    REPORTING = "reporting"
    ENDED = "ended"  # terminal


UNSENT_PHASES = (Phase.OPENED, Phase.DISPATCHING, Phase.UNKNOWN, Phase.OFFERED)
TAKEN_PHASES = (Phase.DISPATCHED, Phase.QUEUED, Phase.RUNNING, Phase.REPORTING)
OPEN_PHASES = UNSENT_PHASES + TAKEN_PHASES

_LABELS = {
    Status.INIT: "Init",
    Status.PENDING: "Pending",
    Status.SUCCESS: "Success",
    Status.FAILED: "Failed",
    Status.TIMEOUT: "Timeout",
    Status.TRIGGER_FAILED: "Trigger Failed",
}


class LogLevel(StrEnum):
    """From where on an execution's log has what is logged."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


@lru_cache(maxsize=1024)  # asked several times for every execution, nearly always about the same few pairs
def status_of(trigger_code: int, handle_code: int) -> Status:
    """The status a pair of codes stands for.

    A handle code that arrived while the trigger code was still 0 counts as if the trigger had been confirmed: the
    executor could not have answered otherwise.
    """
    if trigger_code not in (NOT_YET, SUCCESS):
        return Status.TRIGGER_FAILED
    if handle_code == NOT_YET:
        return Status.INIT if trigger_code == NOT_YET else Status.PENDING
    if handle_code == SUCCESS:
        return Status.SUCCESS
    return Status.TIMEOUT if handle_code == TIMED_OUT else Status.FAILED


def is_cancelled(reason_code: str | None, start_time: int | None) -> bool:
    """Whether an execution was taken back before it began, because its job was stopped or changed. The pair of codes
    stays as it is, and so does the status; but nobody counts it as a failure.
    """
    return reason_code in CANCELLED and start_time is None


def outcome_of(trigger_code: int, handle_code: int, reason_code: str | None, start_time: int | None) -> int:
    """How an execution ended, as it is stored and listed."""
    cancelled = is_cancelled(reason_code, start_time)
    return OUTCOMES[CANCELLED_STATUS if cancelled else status_of(trigger_code, handle_code)]


def tag(trigger_code: int, handle_code: int, *, cancelled: bool) -> str:
    """The label people see: ``Success 200/200``. What was cancelled before it began does not read as failed."""
    label = "Cancelled" if cancelled else _LABELS[status_of(trigger_code, handle_code)]
    return f"{label} {trigger_code}/{handle_code}"


_LEFT_OUT = re.compile(r"\n… (\d{1,12}) characters left out; the log has them all …\n")


def cut(message: str, limit: int) -> str:
    """``message`` within ``limit`` characters, keeping head and tail: the end of a traceback is the useful part. What
    it says to be left out counts what an earlier cut had left out of that.
    """
    if len(message) <= limit:
        return message
    left_out = len(message) - limit
    for _ in range(3):  # the note takes room itself, as much as its number is long
        note = f"\n… {left_out} characters left out; the log has them all …\n"
        keep = max(0, limit - len(note))
        tail = keep * 2 // 3
        left_out = _length(message[keep - tail : len(message) - tail])
    return message[: keep - tail] + note[: limit - keep] + message[len(message) - tail :]


def _length(text: str) -> int:
    """Of ``text`` as it was before it was cut, as far as it says."""
    return len(text) + sum(int(note[1]) - len(note[0]) for note in _LEFT_OUT.finditer(text))


def came_cut(message: str) -> bool:
    """Whether an executor may have left something out of ``message``: all of them cut at the same length, and ours
    also where there was no room for it.
    """
    return len(message) >= EXECUTOR_MESSAGE_LIMIT or _LEFT_OUT.search(message) is not None


def ran_for(duration_ms: int | None, start_time: int | None, handle_time: int | None) -> int | None:
    """How long an execution ran, in ms: as its executor measured, else from its start until its result arrived. None
    while it is open, and where nobody knows that it ran.
    """
    if handle_time is None or duration_ms is not None:
        return duration_ms
    return None if start_time is None else max(0, handle_time - start_time)


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One firing of one job on one executor; its id is the ``logId`` of the wire."""

    id: int
    job_id: int
    job_group: int
    cause: TriggerCause
    trigger_code: int
    handle_code: int
    phase: Phase
    schedule_time: int | None  # the logical time; None when triggered by hand
    trigger_time: int  # when it was opened
    start_time: int | None = None
    handle_time: int | None = None
    duration_ms: int | None = None  # how long its handler ran, as its executor measured
    addresses: tuple[str, ...] = ()  # given with the trigger; empty = the group's
    executor_address: str | None = None
    incarnation: str | None = None  # of the executor it was sent to
    executor_handler: str = ""
    executor_param: str = ""
    shard_index: int = 0
    shard_total: int = 1
    retries_left: int = 0
    attempt: int = 1
    root_id: int | None = None  # the first attempt at what this one does; None: it is the first
    trigger_msg: str | None = None
    handle_msg: str | None = None
    owner_node: str | None = None
    sent_by: str | None = None  # the node that led the term which last sent it, as long as that is remembered
    trigger_key: str = ""
    reason_code: str | None = None  # why it ended, waits or was not taken, in a word
    not_before: int | None = None  # planned ahead: must not start earlier
    batch_id: int | None = None
    broadcast_id: int | None = None  # the broadcast it is a shard of
    queue: str | None = None  # where it was offered, as it is called on the wire; None: sent to an address
    priority: int | None = None  # its place among what waits there
    offered_at: int | None = None  # when it was offered last
    dispatch_time: int | None = None  # when its executor said that it has it; unknown if its result was faster
    late_code: int | None = None  # of the first result that came after it had ended otherwise
    alarm_status: int = 0  # how far its alarm is
    log_level: str | None = None  # asked for with the trigger, as it is stored; None: as its job has it

    @property
    def status(self) -> Status:
        return status_of(self.trigger_code, self.handle_code)

    @property
    def root(self) -> int:
        """The first attempt at what this one does."""
        return self.id if self.root_id is None else self.root_id

    @property
    def run_key(self) -> str:
        """The same for every attempt at one fire and shard, and for nothing else."""
        return f"orth-{self.job_id}-run-{self.root}"

    @property
    def cancelled(self) -> bool:
        """Whether it was taken back before it began."""
        return is_cancelled(self.reason_code, self.start_time)

    @property
    def tag(self) -> str:
        """The label people see."""
        return tag(self.trigger_code, self.handle_code, cancelled=self.cancelled)

    @property
    def is_test(self) -> bool:
        """Whether it tries code that is not the job's: nothing follows from how it ends."""
        return self.trigger_key.startswith(TEST_KEY)


@dataclass(frozen=True, slots=True)
class Turn:
    """Where an execution waits on its executor: which it is among those of its job that wait there, from 1 on, and the
    first that is before all of them.
    """

    position: int
    ahead: int
