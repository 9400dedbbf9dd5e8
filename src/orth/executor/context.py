"""What a handler may know about the execution it is carrying out, and how it may say how it ended.

The context lives in a ``ContextVar``: each job thread, and each task of an async handler, sees its own. Threads a
handler starts and processes it makes get it too (``inheritance``, ``environment``). Code that was not handed the
context asks ``current()``, which is ``None`` outside a job.
"""

import functools
import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, ParamSpec, Self, TypeVar

from orth.clock import Clock, SystemClock
from orth.domain.executions import FAILURE, SUCCESS, TIMED_OUT
from orth.domain.reasons import ReportedReason
from orth.executor import blows
from orth.executor.log_writing import RunLog
from orth.executor.masking import NOTHING_HIDDEN, Mask
from orth.executor.progress import Progress, ProgressKeeper, as_number
from orth.executor.result_text import result_text
from orth.executor.unfinished import Unfinished
from orth.wire.fields import INT32_MAX

Item = TypeVar("Item")
P = ParamSpec("P")
R = TypeVar("R")


class JobFailed(Exception):
    """Raise it to end an execution as failed, with a message for people and without a traceback.

    ``final`` says that another attempt would fail as well: none is made.
    """

    message: str
    final: bool

    def __new__(cls, *arguments: object, **named: object) -> Self:  # noqa: ARG004  # those of a subclass
        """So that a subclass whose ``__init__`` does not call this one's has a message, too."""
        made = super().__new__(cls, *arguments)
        made.message, made.final = as_text(arguments[0]) if arguments else cls.__name__, False
        return made

    def __init__(self, message: object = "", *, final: bool = False) -> None:
        self.message = as_text(message)
        self.final = final
        super().__init__(self.message)


class NotCarriedOut(JobFailed):
    """Ends an execution that the executor could not carry out, or whose process died."""

    def __init__(self, message: object, reason: ReportedReason = ReportedReason.EXECUTOR_FAILED) -> None:
        super().__init__(message)
        self.reason = reason


class Cancelled(BaseException):
    """Leaves a handler whose result no longer matters. No ``Exception``: handlers catch those to go on."""


EXITED_EARLY = "It exited before execute was called."


@contextmanager
def before_execute() -> Iterator[None]:
    """For the author's code that runs before ``execute``: to exit there, without a code, is no way to return."""
    try:
        yield
    except SystemExit as exiting:
        if exiting.code in (None, 0):
            exiting.add_note(EXITED_EARLY)
        raise


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an execution ended: a code (200 success, 502 out of time, anything else failure) and a message."""

    code: int
    message: str
    final: bool = False
    """Whether another attempt would fail as well."""
    reason: ReportedReason | None = None
    """Why the handler neither returned nor failed by itself."""


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
    secrets: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    """The values of the secrets that the job names. Where this execution writes them, they are hidden."""
    always_hidden: Mask = field(default=NOTHING_HIDDEN, repr=False)
    """What is hidden whatever the job: the token of the executor."""
    attempt: int | None = None
    """1 for the first attempt, 2 for its first retry …; ``None`` when the coordinator does not say."""
    run_key: str = ""
    """The same for every attempt at one fire (and shard), different for every other: for deduplication.

    A coordinator that does not say it leaves only the schedule time to tell fires apart by. Without one, each attempt
    has a key of its own.
    """
    job_name: str = ""
    """What the job is called; its handler's name when the coordinator does not say."""
    executor: str = ""
    """The app name of the executor that carries this out."""
    run_log: RunLog
    clock: Clock = field(default_factory=SystemClock, repr=False)
    deadline: float | None = None
    """When the time limit ends, on the monotonic side of ``clock``; ``None`` without a limit."""
    log_level: int | None = None
    """From which level on its log has what is logged; ``None``: whatever the program's loggers let through."""
    inherit_threads: bool = True
    """Whether threads the handler starts are part of the execution."""
    on_progress: Callable[["JobContext", Progress], None] | None = field(default=None, repr=False)
    """Hears each progress that is told, at most two a second and the last."""

    def __post_init__(self) -> None:
        self.job_name = self.job_name or self.handler
        self.run_key = self.run_key or self._own_key()
        self._cancelled = False
        self._decided: Outcome | None = None
        self._progress: ProgressKeeper | None = None
        self.mask = self.always_hidden.beside(self.secrets.values())
        self.unfinished = Unfinished(self.mask)

    @property
    def log_file(self) -> str:
        return self.run_log.name

    @property
    def fencing_token(self) -> int:
        """Greater for every later attempt: what remembers the greatest it has seen can refuse a straggler's write."""
        return self.log_id

    @property
    def idempotency_key(self) -> str:
        """``run_key``, as systems call it that take one."""
        return self.run_key

    def _own_key(self) -> str:
        if self.schedule_time is None:
            return f"orth-{self.job_id}-log-{self.log_id}"
        instant = round(self.schedule_time.timestamp() * 1000)
        return f"orth-{self.job_id}-at-{instant}-shard-{self.shard_index}-{self.shard_total}"

    @property
    def cancelled(self) -> bool:
        """Whether the result no longer matters: out of time, or the executor stops. Long handlers look now and then."""
        return self._cancelled

    def cancel(self) -> None:
        self._cancelled = True

    def checkpoint(self) -> None:
        """Return if the execution is to go on; otherwise leave the handler, through its ``finally`` blocks."""
        if self.cancelled:
            raise Cancelled

    def remaining(self) -> float | None:
        """Seconds until the time limit, 0 when it has passed, ``None`` when there is none."""
        return None if self.deadline is None else max(0.0, self.deadline - self.clock.monotonic())

    def progress(self, done: float, total: float | None = None, message: object = "") -> None:
        """Say how far it is, in numbers: ``progress(3, 10, "rows")``. The newest value is kept; it is told at most
        twice a second, and at the end. ``TypeError`` when ``done`` or ``total`` is no number.
        """
        keeper = self._progress
        if keeper is None:
            keeper = self._progress = ProgressKeeper(self.clock, self._tell_progress)
        told = self.mask.hide(as_text(message))
        keeper.report(as_number(done, "done"), None if total is None else as_number(total, "total"), told)

    @property
    def last_progress(self) -> Progress | None:
        """What ``progress`` said last, told or not."""
        return None if self._progress is None else self._progress.newest

    def finish_progress(self) -> None:
        """Called when the execution ends: the last value is told, however soon it came after another."""
        if self._progress is not None:
            self._progress.finish()

    def _tell_progress(self, value: Progress) -> None:
        self.run_log.write(f"progress {value}")
        if self.on_progress is not None:
            self.on_progress(self, value)

    def track(self, items: Iterable[Item], desc: object = "", total: int | None = None) -> Iterator[Item]:
        """Each of ``items``, with the progress told and a chance to leave between them."""
        if total is None and isinstance(items, Sized):
            total = len(items)
        done = 0
        self.progress(done, total, desc)
        for item in items:
            self.checkpoint()
            yield item
            done += 1
            self.progress(done, total, desc)

    def wrap(self, function: Callable[P, R]) -> Callable[P, R]:
        """``function`` as a part of this execution, whichever thread calls it."""

        @functools.wraps(function)
        def within(*values: P.args, **named: P.kwargs) -> R:
            with entered(self):
                return function(*values, **named)

        return within

    def my_share(self, items: Sequence[Item]) -> list[Item]:
        """The items of this shard; the shares of all shards together are all items, each once."""
        return list(items[self.shard_index :: max(1, self.shard_total)])

    def log(self, pattern: object, *values: object) -> None:
        """Write to the log, each ``{}`` of ``pattern`` replaced by the next value; of an exception, its traceback."""
        if blows.waiting:
            blows.take()
        if isinstance(pattern, BaseException):
            self.run_log.write("".join(traceback.format_exception(pattern)).rstrip("\n"))
        else:
            self.run_log.write(filled_in(pattern, values))

    def result(self, code: int, message: object = "", *, final: bool = False) -> None:
        """Decide how this execution ends, whatever is returned; the last call counts. An exception overrules it.

        ``final`` says of a failure that it is not worth another attempt.
        """
        if not isinstance(code, int) or isinstance(code, bool):
            raise TypeError(f"ctx.result takes a whole number as code, such as 200 or 500, and was given {code!r}.")
        self._decided = Outcome(int(code) if 0 < code <= INT32_MAX else FAILURE, as_text(message, result_text), final)

    def ok(self, message: object = "") -> None:
        self.result(SUCCESS, message)

    def fail(self, message: object = "") -> None:
        self.result(FAILURE, message)

    def timed_out(self, message: object = "") -> None:
        self.result(TIMED_OUT, message)

    @property
    def decided(self) -> Outcome | None:
        """What ``result`` said last, if it was called."""
        return self._decided


def as_text(value: object, shown: Callable[[object], str] = str) -> str:
    """``value`` as text, and never an exception: a message must not change how its execution ends."""
    try:
        return shown(value)
    except Exception as error:
        return f"<a {type(value).__name__} that cannot be shown: its __str__ raised {type(error).__name__}>"


def filled_in(pattern: object, values: Sequence[object]) -> str:
    """``pattern`` with each ``{}`` replaced by the next value; surplus values are appended, surplus braces stay.

    ``str.format`` would raise on a pattern such as ``"{'a': 1}"``, and a log line must never fail its job.
    """
    parts = as_text(pattern).split("{}")
    filled = parts[0]
    for number, part in enumerate(parts[1:]):
        filled += (as_text(values[number]) if number < len(values) else "{}") + part
    surplus = values[len(parts) - 1 :]
    return " ".join([filled, *map(as_text, surplus)])


_current: ContextVar[JobContext | None] = ContextVar("orth_job_context", default=None)


def current() -> JobContext | None:
    """The context of the job being carried out here; ``None`` outside a job."""
    return _current.get()


def hidden_here(text: str) -> str:
    """``text`` without the secrets of the execution that is carried out here."""
    context = current()
    return text if context is None else context.mask.hide(text)


@contextmanager
def entered(context: JobContext) -> Iterator[JobContext]:
    """Make ``context`` the current one for the block."""
    token = _current.set(context)
    try:
        yield context
    finally:
        _current.reset(token)


@contextmanager
def left() -> Iterator[None]:
    """Be outside every job for the block."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


def _before_fork() -> None:
    context = current()
    if context is not None:
        context.run_log.bring_out()


def _in_child() -> None:
    context = current()
    if context is not None:
        context.run_log.part()


os.register_at_fork(before=_before_fork, after_in_child=_in_child)
