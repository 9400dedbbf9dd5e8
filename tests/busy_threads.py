"""Threads that work on although nobody waits for them.

A handler without an end that a test has left behind takes a whole core, and half the interpreter, from every test that
comes after it in the same process.
"""

import os
import threading
import time
from pathlib import Path

_GLANCE, _REST = 0.2, 0.005
"""Seconds; a process that works less than this meanwhile is at rest, and need not be looked at for longer."""
_LOOK = 2.0
_BUSY = 0.1
"""Seconds of processor time in ``_LOOK`` seconds: what spins has more even on a machine with much else to do."""


def busy_threads() -> list[str]:
    """The names of threads, but for the one that asks, that do not rest."""
    began = time.process_time()
    time.sleep(_GLANCE)
    if time.process_time() - began < _REST:
        return []
    others = [one for one in threading.enumerate() if one is not threading.current_thread()]
    before = {one: _worked(one) for one in others}
    time.sleep(_LOOK)
    return [one.name for one in others if _worked(one) - before[one] >= _BUSY]


def _worked(thread: threading.Thread) -> float:
    """Seconds of processor time so far; none of one that has ended."""
    try:
        told = Path(f"/proc/self/task/{thread.native_id}/stat").read_text()
    except OSError:
        return 0.0
    fields = told.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
