"""Time, as an argument: the only module that knows what time it is.

Instants are UTC epoch milliseconds (``int``), the unit of every column and of the wire. Spans are measured on
``monotonic()``, never by subtracting two instants: the wall clock may be set while we look away. ``monotonic()`` keeps
counting while the machine is suspended, because a leader that slept through its lease must notice that it did.
"""

import asyncio
import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol


class Clock(Protocol):
    """What code may know about time. Tests pass ``orth.testing.ManualClock``."""

    def now(self) -> int:
        """The current instant in UTC epoch milliseconds."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps; only differences mean anything."""
        ...

    async def sleep_unless(self, woken: asyncio.Event, seconds: float) -> None:
        """Return after ``seconds``, or as soon as ``woken`` is set."""
        ...


# CLOCK_MONOTONIC stands still during suspend on Linux; CLOCK_BOOTTIME does not.
_SPAN_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SystemClock:
    """The clocks of this machine."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.clock_gettime(_SPAN_CLOCK)

    async def sleep_unless(self, woken: asyncio.Event, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        try:
            async with asyncio.timeout(seconds):
                await woken.wait()
        except TimeoutError:
            return


def iso(instant: int) -> str:
    """``instant`` as people and JSON readers like it: ISO 8601 in UTC, with milliseconds."""
    return f"{_iso_second(instant // 1000)}.{instant % 1000:03d}Z"


@lru_cache(maxsize=64)  # the same second is written in front of many lines of log
def _iso_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
