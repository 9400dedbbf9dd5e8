"""What a handler may know about the execution it is carrying out, and how it may say how it ended.

The context lives in a ``ContextVar``: each job thread, and each task of an async handler, sees its own. Code that was
not handed the context asks ``current()``, which is ``None`` outside a job.
"""

import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, TypeVar

from orth.domain.executions import FAILURE, SUCCESS, TIMED_OUT
from orth.executor.run_logs import RunLog
from orth.wire.messages import INT32_MAX

Item = TypeVar("Item")


class JobFailed(Exception):
    """Raise it to end an execution as failed, with a message for people and without a traceback."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an execution ended: a code (200 success, 502 out of time, anything else failure) and a message."""

    code: int
    message: str


@dataclass(eq=False, kw_only=True)
class JobContext:
    """One execution, as its handler sees it."""

    job_id: int
    log_id: int
    log_time: int
    """``logDateTime`` of the request, in epoch milliseconds: with ``log_id`` it names the log."""
    handler: str
    param: str
    """The parameter as it was sent: raw text."""
    params: MappingProxyType[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """The parameter as keyword arguments, validated."""
    schedule_time: datetime | None
    """The instant the schedule meant, with its zone (UTC); ``None`` when triggered by hand or over the API."""
    trigger_time: datetime
    shard_index: int = 0
    shard_total: int = 1
    attempt: int | None = None
    """1 for the first attempt, 2 for its first retry …; ``None`` when the coordinator does not say."""
    run_log: RunLog

    def __post_init__(self) -> None:
        self._cancelled = threading.Event()
        self._decided: Outcome | None = None

    @property
    def log_file(self) -> str:
        return str(self.run_log.path)

    @property
    def cancelled(self) -> bool:
        """Whether the result no longer matters: out of time, or the executor stops. Long handlers look now and then."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        self._cancelled.set()

    def my_share(self, items: Sequence[Item]) -> list[Item]:
        """The items of this shard; the shares of all shards together are all items, each once."""
        return list(items[self.shard_index :: max(1, self.shard_total)])

    def log(self, pattern: str | BaseException, *values: object) -> None:
        """Write to the log, each ``{}`` of ``pattern`` replaced by the next value; of an exception, its traceback."""
        if isinstance(pattern, BaseException):
            self.run_log.write("".join(traceback.format_exception(pattern)).rstrip("\n"))
        else:
            self.run_log.write(filled_in(pattern, values))

    def result(self, code: int, message: str = "") -> None:
        """Decide how this execution ends, whatever is returned; the last call counts. An exception overrules it."""
        self._decided = Outcome(code if 0 < code <= INT32_MAX else FAILURE, message)

    def ok(self, message: str = "") -> None:
        self.result(SUCCESS, message)

    def fail(self, message: str = "") -> None:
        self.result(FAILURE, message)

    def timed_out(self, message: str = "") -> None:
        self.result(TIMED_OUT, message)

    @property
    def decided(self) -> Outcome | None:
        """What ``result`` said last, if it was called."""
        return self._decided


def filled_in(pattern: str, values: Sequence[object]) -> str:
    """``pattern`` with each ``{}`` replaced by the next value; surplus values are appended, surplus braces stay.

    ``str.format`` would raise on a pattern such as ``"{'a': 1}"``, and a log line must never fail its job.
    """
    parts = pattern.split("{}")
    filled = parts[0]
    for number, part in enumerate(parts[1:]):
        filled += (str(values[number]) if number < len(values) else "{}") + part
    surplus = values[len(parts) - 1 :]
    return " ".join([filled, *map(str, surplus)])


_current: ContextVar[JobContext | None] = ContextVar("orth_job_context", default=None)


def current() -> JobContext | None:
    """The context of the job being carried out here; ``None`` outside a job."""
    return _current.get()


@contextmanager
def entered(context: JobContext) -> Iterator[JobContext]:
    """Make ``context`` the current one for the block."""
    token = _current.set(context)
    try:
        yield context
    finally:
        _current.reset(token)
