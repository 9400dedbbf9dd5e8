"""Gives memory that was freed back to the system.

The C library keeps what a process has freed for its next allocations. After a flood of large requests that is hundreds
of megabytes, scattered among blocks that are in use, so the process stays as large as it was at its peak. Measured
after 4,000 half requests: 442 MiB, and 174 MiB once the heap was trimmed.
"""

import asyncio
import ctypes
import sys
from collections.abc import Callable

from orth.clock import Clock
from orth.events import Events
from orth.loop import Loop

LOOK_EVERY = 5.0
_IDLE = 3600.0
_KEPT = 24 * 1024 * 1024
"""Bytes of free memory that are left to the C library: to take them again costs more than they are worth."""


class _Mallinfo2(ctypes.Structure):
    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    )


class HeapTrimmer(Loop):
    """Looks now and then how much the C library keeps. Without glibc 2.33 or newer there is nothing to do."""

    def __init__(self, clock: Clock, events: Events) -> None:
        super().__init__(clock, events)
        self._library = _library()

    async def turn(self) -> float:
        if self._library is None:
            return _IDLE
        free, trim = self._library
        if free() > _KEPT:
            await asyncio.to_thread(trim)
        return LOOK_EVERY


def _library() -> tuple[Callable[[], int], Callable[[], object]] | None:
    """How much is free, and how to give it back."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        glibc = ctypes.CDLL(None)
        look, trim = glibc.mallinfo2, glibc.malloc_trim
    except (OSError, AttributeError):
        return None
    look.restype, trim.argtypes = _Mallinfo2, [ctypes.c_size_t]
    return (lambda: int(look().fordblks)), (lambda: trim(0))
