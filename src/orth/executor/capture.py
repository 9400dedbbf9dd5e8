"""Standard ``logging`` and ``print`` go to the log of the execution that used them.

A step before ``logging.Logger.callHandlers`` and a wrapper around each of ``sys.stdout`` and ``sys.stderr`` look at the
current context: inside a job they write to its log, outside they pass on. The step takes the records that reach the
root logger, as a handler there would, and yet is none: the program may set up its logging before or after, with
``basicConfig`` or ``dictConfig``, and neither finds a handler that is not its own nor takes the capture away. Levels,
loggers and ``propagate`` are never touched, so records also go wherever the program sends them; where it sends them
nowhere, ``logging.lastResort`` has those from outside jobs, as ever.

A job, or one run of it, may have a capture level of its own. Another step, before ``logging.Logger.isEnabledFor``, then
lets records be made from that level on where only the root logger would not have them; they go to the execution's log
and no further.

Printed text goes to the execution's log only. What the program's handlers write to the streams about a record does
not: the log has that record already. A thread that outlives the execution which started it is outside again, as far as
this goes.

Nothing here takes a lock for what is written: the garbage collector may run a destructor of the author's at any step,
which may print or log, or wait for another thread that does.

Executors in one process share the one capture, what makes threads inherit (``inheritance``) and what watches event
loops (``loop_watch``); the last to leave takes all of them down. The streams are wrapped only while an executor wants
them to be.

Bytes that C code writes to the file descriptors pass below Python and are not seen here.
"""

import io
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO

from orth.executor import blows, inheritance
from orth.executor.context import JobContext, current
from orth.executor.loop_watch import end_watch

_passing_on: ContextVar[bool] = ContextVar("orth_passing_on", default=False)
"""True while handlers of the program have a record: what they write is not the job's."""


def _writer() -> JobContext | None:
    """The execution whose log takes what is written here."""
    context = current()
    return None if context is None or context.run_log.closed else context


def _printer() -> JobContext | None:
    """The execution whose log takes what is printed here."""
    return None if _passing_on.get() else _writer()


class LogCapture:
    """Stands before ``Logger.callHandlers``: copies each record that is made inside a job to that job's log."""

    def __init__(self) -> None:
        # Never attached to a logger: it knows how a record is written, and how one is that cannot be.
        self._writing = logging.Handler()
        self._writing.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
        self._beyond = logging.Logger.callHandlers
        self._enabled = logging.Logger.isEnabledFor
        self._step: Callable[[logging.Logger, logging.LogRecord], None] = self._beyond
        self._gate: Callable[[logging.Logger, int], bool] = self._enabled

    def install(self) -> None:
        """Begin. Somebody else's step that is in the place already comes after this one."""
        beyond, enabled = self._beyond, self._enabled = logging.Logger.callHandlers, logging.Logger.isEnabledFor

        def is_enabled_for(logger: logging.Logger, level: int) -> bool:
            return enabled(logger, level) or (self._gate is is_enabled_for and _is_wanted(logger, level))

        def call_handlers(logger: logging.Logger, record: logging.LogRecord) -> None:
            if self._step is not call_handlers:  # removed, but somebody else's step still leads here
                beyond(logger, record)
            else:
                self._call_handlers(logger, record)

        self._step, self._gate = call_handlers, is_enabled_for
        logging.Logger.callHandlers = call_handlers  # type: ignore[method-assign, assignment]  # the purpose
        logging.Logger.isEnabledFor = is_enabled_for  # type: ignore[method-assign, assignment]  # the purpose

    def remove(self) -> None:
        """End. What somebody else has put in the place since is left alone."""
        if logging.Logger.callHandlers is self._step:
            logging.Logger.callHandlers = self._beyond  # type: ignore[method-assign]  # as it was
        if logging.Logger.isEnabledFor is self._gate:
            logging.Logger.isEnabledFor = self._enabled  # type: ignore[method-assign]  # as it was
        self._step, self._gate = self._beyond, self._enabled

    def _call_handlers(self, logger: logging.Logger, record: logging.LogRecord) -> None:
        # Our own facts are about executions, not written by them: they belong to the process log alone.
        if record.name != "orth":
            if blows.waiting:
                blows.take()
            context = _writer()
            if context is None or not _reaches_root(logger):
                self._beyond(logger, record)
                return
            if record.levelno >= (context.log_level or 0):
                self._copy(record, context)
                if context.log_level is not None and not self._enabled(logger, record.levelno):
                    return  # made for this log only
                if not logger.hasHandlers():
                    return  # the last resort is for what nobody has taken
        token = _passing_on.set(True)
        try:
            self._beyond(logger, record)
        finally:
            _passing_on.reset(token)

    def _copy(self, record: logging.LogRecord, context: JobContext) -> None:
        try:
            context.run_log.write(self._writing.format(record))
        except Exception:
            self._writing.handleError(record)


def _reaches_root(logger: logging.Logger) -> bool:
    while logger.propagate and logger.parent is not None:
        logger = logger.parent
    return logger is logging.root


def _is_wanted(logger: logging.Logger, level: int) -> bool:
    """Whether the log of the execution here takes what the program would not have. A level that somebody gave to the
    logger, or to one between it and the root, holds, and so does ``logging.disable``.
    """
    context = _writer()
    if context is None or context.log_level is None or level < context.log_level or level <= logger.manager.disable:
        return False
    while logger is not logging.root:
        if logger.disabled or logger.level or not logger.propagate or logger.parent is None:
            return False
        logger = logger.parent
    return True


class Nowhere(io.StringIO):
    """For a program that has no such stream, such as one whose descriptors were closed when it was started."""

    encoding = "utf-8"

    def write(self, text: str, /) -> int:
        return len(text)


class PrintCapture(io.TextIOBase):
    """Stands in for ``sys.stdout``: text written inside a job goes, line by line, to that job's log."""

    def __init__(self, replaced: TextIO | None) -> None:
        self.replaced = replaced
        self.beyond: TextIO = Nowhere() if replaced is None else replaced

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beyond, name)  # ``reconfigure``, ``line_buffering``, ``name`` and whatever else it has

    def write(self, text: str, /) -> int:
        if blows.waiting:
            blows.take()
        context = _printer()
        if context is None:
            return self.beyond.write(text)
        for line in context.unfinished.add(self, text):
            context.run_log.write(line)
        return len(text)

    def flush(self) -> None:
        if _printer() is None:
            self.beyond.flush()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return _printer() is None and self.beyond.isatty()

    def fileno(self) -> int:
        return self.beyond.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # the base class declares a plain attribute
        return self.beyond.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]  # the base class declares a plain attribute
        return self.beyond.errors

    @property
    def newlines(self) -> Any:  # type: ignore[override]  # the base class declares a plain attribute
        return self.beyond.newlines

    @property
    def buffer(self) -> io.BufferedIOBase:
        return self.beyond.buffer  # type: ignore[return-value]  # typeshed calls it BinaryIO; it is the same object


_lock = threading.Lock()
_users = 0
_print_users = 0
_log_capture = LogCapture()


@contextmanager
def capturing(*, prints: bool = True) -> Iterator[None]:
    """Capture for the block; with ``prints`` false, ``sys.stdout`` and ``sys.stderr`` are not touched for it."""
    _enter(prints)
    try:
        yield
    finally:
        _leave(prints)


def finish_prints(context: JobContext) -> None:
    """Called when the execution ends, before its log is closed: write out last lines that had no line break."""
    for line in context.unfinished.finish():
        context.run_log.write(line)


def _enter(prints: bool) -> None:
    global _users, _print_users
    with _lock:
        _users += 1
        if _users == 1:
            _log_capture.install()
            inheritance.install()
        _print_users += prints
        if prints and _print_users == 1:
            sys.stdout, sys.stderr = PrintCapture(sys.stdout), PrintCapture(sys.stderr)


def _leave(prints: bool) -> None:
    global _users, _print_users
    with _lock:
        _users -= 1
        is_last = _users == 0
        if is_last:
            _log_capture.remove()
            inheritance.remove()
        _print_users -= prints
        if prints and _print_users == 0:
            _unwrap_streams()
    if is_last:
        end_watch()


def _unwrap_streams() -> None:
    # Somebody may have put a stream of their own in the place since; theirs is left alone.
    if isinstance(sys.stdout, PrintCapture):
        sys.stdout = sys.stdout.replaced
    if isinstance(sys.stderr, PrintCapture):
        sys.stderr = sys.stderr.replaced
