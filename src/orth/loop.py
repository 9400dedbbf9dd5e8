"""The only loop in the code base.

A duty that repeats is a small class with ``turn()``: do what is due, return how many seconds to pause. Tests call
``turn()`` by hand and never start the loop. ``wake()`` skips the pause (a hint, from any thread); ``stop()`` ends the
loop after the turn in hand.

A turn that raises an ``OrthError`` (the database is away, a peer is silent) is told as ``LoopFailed`` and tried again
after a growing, jittered pause; so is one that the system gave no thread. Any other exception is a bug: it is told
as ``LoopCrashed`` with its traceback, leaves ``run_loops`` and ends the process with a non-zero code. No loop dies
silently.
"""

import asyncio
import random
import traceback
from abc import ABC, abstractmethod

from orth.clock import Clock
from orth.errors import OrthError
from orth.events import Events, LoopCrashed, LoopFailed
from orth.threads import is_shortage

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0


class Loop(ABC):
    """One duty. Subclasses fill in ``turn()`` and may set ``name``."""

    def __init__(self, clock: Clock, events: Events, *, chance: random.Random | None = None) -> None:
        self.clock = clock
        self.events = events
        self.name = type(self).__name__
        self.paused_until = clock.monotonic()
        """When the next turn is due, on the monotonic clock; what a hand-cranked cluster goes by."""
        self._chance = chance or random.Random()
        self._failures = 0
        self._longest_pause = _LONGEST_PAUSE
        """After failures; a duty that others wait for may have its own."""
        self._stopping = False
        self._woken = asyncio.Event()
        self._home: asyncio.AbstractEventLoop | None = None
        self._at_rest = asyncio.Event()
        self._at_rest.set()

    @abstractmethod
    async def turn(self) -> float:
        """Do what is due and return the pause in seconds; 0 means there is more to do."""

    def wake(self) -> None:
        """Skip the pause. Safe from any thread; many wakes are one."""
        self.paused_until = self.clock.monotonic()
        home = self._home  # read once: the loop may end in another thread meanwhile
        if home is None:
            self._woken.set()
        else:
            home.call_soon_threadsafe(self._woken.set)

    def stop(self) -> None:
        """End after the turn in hand. Before the start, and twice, is fine."""
        self._stopping = True
        self.wake()

    async def run(self) -> None:
        """Turn until stopped."""
        self._home = asyncio.get_running_loop()
        self._at_rest.clear()
        try:
            while not self._stopping:
                pause = await self.guarded_turn()
                if not self._stopping:
                    await self.clock.sleep_unless(self._woken, pause)
        finally:
            self._home = None
            self._stopping = False  # so that a stopped loop may be started again
            self._at_rest.set()

    async def at_rest(self) -> None:
        """Return when this loop does not turn, be it that it has ended or that it was never started."""
        await self._at_rest.wait()

    async def guarded_turn(self) -> float:
        """One turn, with expected failures turned into an event and a pause. A wake during the turn skips the pause."""
        self._woken.clear()
        try:
            pause = await self.turn()
            self._failures = 0
        except Exception as error:
            if not isinstance(error, OrthError) and not is_shortage(error):
                self.events.emit(LoopCrashed(self.name, repr(error), "".join(traceback.format_exception(error))))
                raise
            pause = self._pause_after_failure()
            self.events.emit(LoopFailed(self.name, str(error), pause))
        self.paused_until = self.clock.monotonic() + (0.0 if self._woken.is_set() else pause)
        return pause

    def _pause_after_failure(self) -> float:
        self._failures += 1
        ceiling = min(self._longest_pause, _FIRST_PAUSE * 2.0 ** min(self._failures, 16))
        return float(self._chance.uniform(_FIRST_PAUSE, ceiling))


async def run_loops(*loops: Loop) -> None:
    """Run all loops until each is stopped; a crash of one stops the others and is raised."""
    async with asyncio.TaskGroup() as group:
        for loop in loops:
            group.create_task(loop.run(), name=loop.name)
