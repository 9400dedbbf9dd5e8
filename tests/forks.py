"""A forked child for tests: it waits, and is ended by the test or, should that fail, by an alarm."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

INTERRUPTED = 99
"""The exit code when an exception, such as ``KeyboardInterrupt``, has ended the waiting."""


@contextmanager
def forked(first: Callable[[], object] = lambda: None) -> Iterator[int]:
    """Fork a child that calls ``first`` and waits for a signal; its pid, once it waits."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(30)
            first()
            os.write(writing, b"!")
            while True:
                signal.pause()
        finally:
            os._exit(INTERRUPTED)
    try:
        os.close(writing)
        assert os.read(reading, 1) == b"!"
        yield child
    finally:
        os.close(reading)
        _kill(child)


def _kill(child: int) -> None:
    try:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    except (ProcessLookupError, ChildProcessError):
        return  # the test has waited for it


def ended_by(child: int) -> int:
    """The exit code; negative for a signal."""
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)
