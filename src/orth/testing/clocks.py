"""A clock that stands still until a test moves it."""

import asyncio
import threading
from contextlib import suppress

# 2026-01-30 10:00:00 UTC: a Friday, in winter time everywhere that has one.
_A_WINTER_MORNING = 1_769_767_200_000


class ManualClock:
    """A clock moved by hand, from any thread.

    Both its clocks move together, unless ``jump`` sets the wall clock alone.
    """

    def __init__(self, now: int = _A_WINTER_MORNING) -> None:
        self._now = float(now)
        self._monotonic = 1000.0
        self._lock = threading.Lock()
        self._sleepers: list[tuple[float, asyncio.Event, asyncio.AbstractEventLoop]] = []

    def now(self) -> int:
        return round(self._now)

    def monotonic(self) -> float:
        return self._monotonic

    async def sleep_unless(self, woken: asyncio.Event, seconds: float) -> None:
        """Sleep until the clock was moved past ``seconds``, or ``woken``."""
        if seconds <= 0:
            await asyncio.sleep(0)  # noqa: TID251  # gives way, takes no time
            return
        over = asyncio.Event()
        with self._lock:
            self._sleepers.append((self._monotonic + seconds, over, asyncio.get_running_loop()))
        waits = [asyncio.create_task(event.wait()) for event in (woken, over)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def move(self, seconds: float) -> None:
        """Let ``seconds`` pass."""
        with self._lock:
            self._now += seconds * 1000
            self._monotonic += seconds
            due = [sleeper for sleeper in self._sleepers if sleeper[0] <= self._monotonic]
            self._sleepers = [sleeper for sleeper in self._sleepers if sleeper[0] > self._monotonic]
        for _, over, home in due:
            with suppress(RuntimeError):  # the loop it slept on is closed
                home.call_soon_threadsafe(over.set)

    def jump(self, seconds: float) -> None:
        """Set the wall clock forward or back; no time passes."""
        self._now += seconds * 1000
