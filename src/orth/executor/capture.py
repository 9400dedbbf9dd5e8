"""Standard ``logging`` and ``print`` go to the log of the execution that used them.

One handler on the root logger and one wrapper around each of ``sys.stdout`` and ``sys.stderr`` look at the current
context: inside a job they write to its log, outside they do nothing, or pass on. Levels, other loggers and
``propagate`` are never touched, so records also go wherever the program sends them. A program that sends them nowhere
keeps ``logging.lastResort``, which a handler on the root would otherwise switch off. Printed text goes to the
execution's log only. A thread that outlives the execution which started it is outside again, as far as this goes.

Executors in one process share the one capture, and what makes threads inherit (``inheritance``); the last to leave
takes both down. The streams are wrapped only while an executor wants them to be.

Bytes that C code writes to the file descriptors pass below Python and are not seen here.
"""

import io
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO
from weakref import WeakKeyDictionary

from orth.executor import blows, inheritance
from orth.executor.context import JobContext, current, left
from orth.executor.log_writing import LINE_LIMIT


def _writer() -> JobContext | None:
    """The execution whose log takes what is written here."""
    context = current()
    return None if context is None or context.run_log.closed else context


class LogCapture(logging.Handler):
    """Copies each record that is made inside a job to that job's log."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        if blows.waiting and record.name != "orth":
            blows.take()
        context = _writer()
        # Our own facts are about executions, not written by them: they belong to the process log alone.
        if context is None or record.name == "orth":
            self._pass_on(record)
            return
        try:
            context.run_log.write(self.format(record))
        except Exception:
            self.handleError(record)

    def _pass_on(self, record: logging.LogRecord) -> None:
        """Do as ``logging`` does with a record that no handler takes, if no handler but this one does."""
        last_resort = logging.lastResort
        if last_resort is None or record.levelno < last_resort.level or self._others_take(record):
            return
        with left():  # it writes to sys.stderr, which inside a job is the job's log
            last_resort.handle(record)

    def _others_take(self, record: logging.LogRecord) -> bool:
        logger: logging.Logger | None = logging.getLogger(record.name)
        while logger is not None:
            if any(handler is not self for handler in logger.handlers):
                return True
            logger = logger.parent if logger.propagate else None
        return False


class PrintCapture(io.TextIOBase):
    """Stands in for ``sys.stdout``: text written inside a job goes, line by line, to that job's log."""

    def __init__(self, beyond: TextIO) -> None:
        self.beyond = beyond
        self._lock = threading.Lock()
        self._unfinished: WeakKeyDictionary[JobContext, str] = WeakKeyDictionary()

    def write(self, text: str, /) -> int:
        if blows.waiting:
            blows.take()
        context = _writer()
        if context is None:
            return self.beyond.write(text)
        with self._lock:
            *lines, rest = (self._unfinished.pop(context, "") + text).split("\n")
            if len(rest) > LINE_LIMIT:
                lines, rest = [*lines, rest], ""
            if rest:
                self._unfinished[context] = _last_state(rest)
        for line in lines:
            context.run_log.write(_last_state(line))
        return len(text)

    def finish(self, context: JobContext) -> None:
        """Write out a last line that had no line break."""
        if not self._unfinished:  # as nearly always: no lock is taken for it, since all job threads come here
            return
        with self._lock:
            rest = self._unfinished.pop(context, "")
        if rest:
            context.run_log.write(_last_state(rest))

    def unfinished(self, context: JobContext) -> str:
        """That last line, taken without the lock: in a forked child nobody is left to give it back."""
        rest = self._unfinished.pop(context, "")
        return rest and f"{_last_state(rest)}\n"

    def flush(self) -> None:
        if _writer() is None:
            self.beyond.flush()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return _writer() is None and self.beyond.isatty()

    def fileno(self) -> int:
        return self.beyond.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # the base class declares a plain attribute
        return self.beyond.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]  # the base class declares a plain attribute
        return self.beyond.errors

    @property
    def buffer(self) -> io.BufferedIOBase:
        return self.beyond.buffer  # type: ignore[return-value]  # typeshed calls it BinaryIO; it is the same object


def _last_state(line: str) -> str:
    """What a terminal would show of a line that a progress bar rewrote with carriage returns."""
    return line.rstrip("\r").rpartition("\r")[2]


_lock = threading.Lock()
_users = 0
_print_users = 0
_log_capture = LogCapture()
_prints: list[PrintCapture] = []


@contextmanager
def capturing(*, prints: bool = True) -> Iterator[None]:
    """Capture for the block; with ``prints`` false, ``sys.stdout`` and ``sys.stderr`` are not touched for it."""
    _enter(prints)
    try:
        yield
    finally:
        _leave(prints)


def finish_prints(context: JobContext) -> None:
    """Called when the execution ends, before its log is closed."""
    for stream in tuple(_prints):
        stream.finish(context)


def unfinished_prints(context: JobContext) -> str:
    """In a forked child that exits: what it has printed and would otherwise be lost, in whole lines."""
    return "".join(stream.unfinished(context) for stream in _prints)


def _enter(prints: bool) -> None:
    global _users, _print_users
    with _lock:
        _users += 1
        if _users == 1:
            logging.getLogger().addHandler(_log_capture)
            inheritance.install()
        _print_users += prints
        if prints and _print_users == 1:
            sys.stdout, sys.stderr = PrintCapture(sys.stdout), PrintCapture(sys.stderr)
            _prints.extend((sys.stdout, sys.stderr))


def _leave(prints: bool) -> None:
    global _users, _print_users
    with _lock:
        _users -= 1
        if _users == 0:
            logging.getLogger().removeHandler(_log_capture)
            inheritance.remove()
        _print_users -= prints
        if prints and _print_users == 0:
            _unwrap_streams()


def _unwrap_streams() -> None:
    # Somebody may have put a stream of their own in the place since; theirs is left alone.
    if isinstance(sys.stdout, PrintCapture):
        sys.stdout = sys.stdout.beyond
    if isinstance(sys.stderr, PrintCapture):
        sys.stderr = sys.stderr.beyond
    _prints.clear()
