"""One loop for all duties: turns, pauses, wakes, stops, and dies loudly."""

import asyncio
import random
import threading

import pytest

from orth.clock import SystemClock
from orth.errors import Unavailable
from orth.events import Events, LoopCrashed, LoopFailed
from orth.loop import Loop, run_loops
from orth.testing import ManualClock, Recorder, stress_start_stop
from tests.test_threads import no_more_threads


class Counting(Loop):
    """Counts its turns and does what its script says."""

    def __init__(self, clock: ManualClock | SystemClock, events: Events, *script: float | Exception) -> None:
        super().__init__(clock, events, chance=random.Random(1))
        self.turns = 0
        self.turned = asyncio.Event()
        self._script = list(script)

    async def turn(self) -> float:
        self.turns += 1
        self.turned.set()
        step = self._script.pop(0) if self._script else 3600.0
        if isinstance(step, Exception):
            raise step
        return step

    async def turned_times(self, count: int) -> None:
        """Wait for the ``count``-th turn."""
        async with asyncio.timeout(5):
            while self.turns < count:
                self.turned.clear()
                await self.turned.wait()


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


async def test_a_wake_skips_the_pause(recorder: Recorder) -> None:
    loop = Counting(SystemClock(), Events(recorder))
    running = asyncio.create_task(loop.run())
    await loop.turned_times(1)
    loop.wake()
    await loop.turned_times(2)
    loop.stop()
    await running
    assert loop.turns == 2


async def test_a_wake_from_another_thread_is_heard(recorder: Recorder) -> None:
    loop = Counting(SystemClock(), Events(recorder))
    running = asyncio.create_task(loop.run())
    await loop.turned_times(1)
    await asyncio.to_thread(loop.wake)
    await loop.turned_times(2)
    loop.stop()
    await running
    assert loop.turns == 2


async def test_a_wake_during_the_turn_skips_the_next_pause(recorder: Recorder) -> None:
    class WakesItself(Counting):
        async def turn(self) -> float:
            pause = await super().turn()
            if self.turns == 1:
                self.wake()
            return pause

    loop = WakesItself(SystemClock(), Events(recorder))
    running = asyncio.create_task(loop.run())
    await loop.turned_times(1)
    await loop.turned_times(2)
    loop.stop()
    await running
    assert loop.turns == 2


async def test_pauses_follow_the_clock() -> None:
    clock = ManualClock()
    loop = Counting(clock, Events(), 10.0)
    running = asyncio.create_task(loop.run())
    await loop.turned_times(1)
    clock.move(9.9)
    for _ in range(20):
        await asyncio.sleep(0)
    assert loop.turns == 1
    clock.move(0.2)
    await loop.turned_times(2)
    assert loop.turns == 2
    loop.stop()
    await running


async def test_an_expected_failure_is_told_and_tried_again_with_growing_pauses(recorder: Recorder) -> None:
    failures = [Unavailable("the database is away") for _ in range(12)]
    loop = Counting(ManualClock(), Events(recorder), *failures, 7.0)
    pauses = [await loop.guarded_turn() for _ in range(13)]
    told = recorder.all(LoopFailed, loop="Counting")
    assert [event.pause for event in told] == pauses[:12]
    assert "the database is away" in str(told[0])
    assert all(0.5 <= pause <= 30 for pause in pauses[:12])
    assert max(pauses[6:12]) > 3 * pauses[0]
    assert pauses[12] == 7.0


async def test_a_bug_ends_all_loops_and_is_told_with_its_traceback(recorder: Recorder) -> None:
    events = Events(recorder)
    broken = Counting(SystemClock(), events, ZeroDivisionError("oops"))
    healthy = Counting(SystemClock(), events)
    with pytest.raises(ExceptionGroup) as caught:
        await run_loops(healthy, broken)
    assert caught.group_contains(ZeroDivisionError)
    (crash,) = recorder.all(LoopCrashed)
    assert (crash.loop, "ZeroDivisionError" in crash.traceback) == ("Counting", True)


async def test_stopping_is_a_contract() -> None:
    await stress_start_stop(Counting(SystemClock(), Events(), *[0.0] * 1000))


async def test_a_turn_that_gets_no_thread_is_told_and_tried_again(recorder: Recorder) -> None:
    class Borrowing(Counting):
        async def turn(self) -> float:
            with no_more_threads():
                threading.Thread(target=print).start()
            return await super().turn()

    loop = Borrowing(ManualClock(), Events(recorder))
    assert await loop.guarded_turn() >= 0.5
    assert [event.error for event in recorder.heard if isinstance(event, LoopFailed)] == ["can't start new thread"]
