"""A handler that forks must not come back twice.

``os.fork`` in a handler, returned from on both sides, is a mistake and a common one: the child would go on as the
executor it is a copy of, write to its journal and report the result a second time. So whoever calls an author's code
does it inside ``OneProcess``, which lets only the process out that came in. A child exits there, with the code that a
program of its own would have had.

The child's only thread may have been forked while others held any lock. Its last words (a traceback, a printed line
that had no end) therefore go straight to descriptor 2: of an executor its standard error, of a worker the log.
"""

import os
import traceback
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import NoReturn

from orth.executor.context import current


class OneProcess:
    """For the block: what is forked inside does not come out. ``first`` is called in a child before it exits."""

    __slots__ = ("_first", "_pid")

    def __init__(self, first: Callable[[], object] | None = None) -> None:
        self._first = first

    def __enter__(self) -> None:
        self._pid = os.getpid()

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        if os.getpid() != self._pid:
            _exit(raised, self._first)


def _exit(raised: BaseException | None, first: Callable[[], object] | None) -> NoReturn:
    """End as Python ends a program, short of what would undo things of the parent's."""
    code, words = 1, ""
    try:
        if first is not None:
            first()
        context = current()
        if context is not None:
            words = "".join(f"{line}\n" for line in context.unfinished.finish_own())
        if raised is None:
            code = 0
        elif isinstance(raised, SystemExit):
            code = raised.code if isinstance(raised.code, int) else int(raised.code is not None)
        else:
            words += "".join(traceback.format_exception(raised))
        _say(words)
    finally:
        os._exit(code & 0xFF)


def _say(words: str) -> None:
    data = words.encode("utf-8", "backslashreplace")
    with suppress(OSError):
        while data:
            data = data[os.write(2, data) :]
