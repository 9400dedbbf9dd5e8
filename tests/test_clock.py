"""Clocks: the machine's, and one that is moved by hand."""

import asyncio
import time

from orth.clock import SystemClock, iso
from orth.testing import ManualClock


async def test_the_system_clock_wakes_early() -> None:
    clock = SystemClock()
    woken = asyncio.Event()
    asyncio.get_running_loop().call_soon(woken.set)
    began = clock.monotonic()
    await clock.sleep_unless(woken, 60)
    assert clock.monotonic() - began < 5
    assert abs(clock.now() - time.time() * 1000) < 1000


async def test_the_system_clock_sleeps() -> None:
    clock = SystemClock()
    began = clock.monotonic()
    await clock.sleep_unless(asyncio.Event(), 0.05)
    assert clock.monotonic() - began >= 0.05


def test_the_manual_clock_stands_still_moves_and_jumps() -> None:
    clock = ManualClock(1_000_000)
    before = clock.monotonic()
    assert clock.now() == 1_000_000
    clock.move(1.5)
    assert (clock.now(), clock.monotonic()) == (1_001_500, before + 1.5)
    clock.jump(-60)
    assert (clock.now(), clock.monotonic()) == (941_500, before + 1.5)


def test_instants_are_written_in_utc_with_milliseconds() -> None:
    assert iso(1_769_767_200_007) == "2026-01-30T10:00:00.007Z"
    assert iso(0) == "1970-01-01T00:00:00.000Z"
