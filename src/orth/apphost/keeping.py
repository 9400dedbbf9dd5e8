"""Keeps the processes as they are wanted: starts them in order, notices their ends, starts crashed ones again.

A process is started when those it waits for are on their way, and let go when they are ready: it loads meanwhile, which
is most of its start.

A crash is an end that nobody asked for, with an exit code other than 0. The pause before the next start is 1, 2, 4 …
30 s, and 1 s again once the process had been ready for a minute. One that ends with 0 by itself was asked to by
somebody else (a drain through the API) and stays down.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from orth.apphost.processes import Child, Tell
from orth.apphost.resources import Resource
from orth.clock import Clock
from orth.errors import CannotStart
from orth.events import Events
from orth.loop import Loop

_LONGEST_PAUSE = 30.0
_GOOD_RUN = 60.0
_PAUSE = 0.25
_PAUSE_WHILE_STARTING = 0.05

Answers = Callable[[str], bool]
"""Whether a URL answers 200; called in a thread."""


class State(StrEnum):
    """Where a process is in its life, as people read it."""

    WAITING = "Waiting"
    STARTING = "Starting"
    RUNNING = "Running"
    DRAINING = "Draining"
    STOPPING = "Stopping"
    STOPPED = "Stopped"
    CRASHED = "Crashed"


def pause_after(crashes: int) -> float:
    """Seconds before the start that follows this many crashes in a row."""
    return min(_LONGEST_PAUSE, 2.0 ** min(crashes - 1, 10))


class Keeper:
    """One resource and its process: what it is, and what it is wanted to be."""

    def __init__(self, resource: Resource, clock: Clock) -> None:
        self.resource = resource
        self.state = State.WAITING
        self.child: Child | None = None
        self.restarts = 0
        self.was_ready = False
        self.began_at: float | None = None
        self.ready_at: float | None = None
        self.again_at = 0.0
        self.last_code: int | None = None
        self.trouble: str | None = None
        """Why it is not ready, if it should be by now and never was."""
        self._clock = clock
        self._crashes = 0
        self._start_again = False
        self._kill_at: float | None = None

    @property
    def is_down(self) -> bool:
        return self.child is None

    def note_started(self, child: Child) -> None:
        """It loads, and waits for its turn."""
        self.child, self.state = child, State.WAITING
        self.ready_at, self._kill_at = None, None

    def go(self) -> None:
        """It is its turn."""
        assert self.child is not None
        self.child.go()
        self.restarts += 0 if self.began_at is None else 1
        self.state, self.began_at = State.STARTING, self._clock.monotonic()

    def note_ready(self) -> None:
        if self.state is State.STARTING:
            self.state, self.ready_at, self.was_ready, self.trouble = State.RUNNING, self._clock.monotonic(), True, None

    def note_end(self, code: int) -> None:
        """The process has ended: by our wish, by somebody else's, or it crashed."""
        now = self._clock.monotonic()
        wished, ran = self.state in (State.STOPPING, State.DRAINING), now - (self.ready_at or now)
        self.child, self.last_code, self.ready_at = None, code, None
        if wished or (code == 0 and self.was_ready):
            self.state, self._crashes = State.STOPPED, 0
            if self._start_again:
                self._start_again = False
                self.want_start()
            return
        self._crashes = 1 if ran >= _GOOD_RUN else self._crashes + 1
        self.state, self.again_at = State.CRASHED, now + pause_after(self._crashes)
        if not self.was_ready:
            self.trouble = f"{self.resource.name} ended with exit code {code} before it was ready."

    def note_slow(self, within: float) -> None:
        late = self._clock.monotonic() - (self.began_at or 0) > within
        if late and not self.was_ready:
            self.trouble = f"{self.resource.name} was not ready after {within:.0f} s."

    # --- wishes

    def want_start(self) -> None:
        """Start it at the next turn."""
        if self.is_down:
            self.state = State.WAITING

    def want_stop(self, *, drain: bool = False) -> None:
        """In good order; killed when it takes longer than its patience, unless it drains, which takes what it takes."""
        self._start_again = False
        if self.is_down:
            self.state = State.STOPPED
        elif self.child is not None:
            asked = self.state in (State.STOPPING, State.DRAINING)
            self.state = State.DRAINING if drain else State.STOPPING
            self._kill_at = None if drain else self._clock.monotonic() + self.resource.patience
            if not asked:  # a second signal would end it on the spot
                self.child.terminate()

    def want_aside(self) -> None:
        """Let a coordinator lead no more; one that is not ready yet leads nothing, and knows no such wish."""
        if self.child is not None and self.state is State.RUNNING:
            self.child.stand_aside()

    def want_restart(self) -> None:
        if self.is_down:
            self.want_start()
            return
        self.want_stop()
        self._start_again = True

    def kill(self) -> None:
        """On the spot, as a crash: it is started again unless it was stopping."""
        if self.child is not None:
            self.child.kill()

    @property
    def is_due(self) -> bool:
        return self.state is State.CRASHED and self._clock.monotonic() >= self.again_at

    @property
    def is_overdue(self) -> bool:
        return self._kill_at is not None and self._clock.monotonic() > self._kill_at


class Keeping(Loop):
    """All keepers, turned together."""

    def __init__(
        self,
        resources: Sequence[Resource],
        clock: Clock,
        events: Events,
        *,
        environment: Mapping[str, str],
        answers: Answers,
        tell: Tell,
        ready_within: float,
    ) -> None:
        super().__init__(clock, events)
        self.keepers = {one.name: Keeper(one, clock) for one in resources}
        self.changed = asyncio.Event()
        """Set after every turn; whoever waits for a state clears it and looks."""
        self._environment = environment
        self._answers = answers
        self._tell = tell
        self._ready_within = ready_within

    async def turn(self) -> float:
        for keeper in self.keepers.values():
            if keeper.child is not None and keeper.child.code is not None:
                self._note_end(keeper, keeper.child.code)
            if keeper.is_down and (keeper.is_due or (keeper.state is State.WAITING and self._may_load(keeper))):
                await self._start(keeper)
            if keeper.state is State.WAITING and keeper.child is not None and self._may_go(keeper):
                keeper.go()
            if keeper.is_overdue:
                keeper.kill()
        starting = [one for one in self.keepers.values() if one.state is State.STARTING]
        await asyncio.gather(*map(self._look, starting))
        self.changed.set()
        return _PAUSE_WHILE_STARTING if starting else _PAUSE

    @property
    def troubles(self) -> list[str]:
        return [keeper.trouble for keeper in self.keepers.values() if keeper.trouble]

    def hold_back(self) -> None:
        """Start nothing more that was not started yet."""
        for keeper in self.keepers.values():
            if keeper.is_down:
                keeper.want_stop()

    def _may_load(self, keeper: Keeper) -> bool:
        """Whether those it waits for have all had their turn."""
        return all(self.keepers[name].began_at is not None for name in keeper.resource.after)

    def _may_go(self, keeper: Keeper) -> bool:
        return all(self.keepers[name].was_ready for name in keeper.resource.after)

    async def _start(self, keeper: Keeper) -> None:
        if keeper.began_at is not None:
            self._tell("up", f"{keeper.resource.name} is started again")
        try:
            child = await Child.start(keeper.resource, self._environment, self._tell, self.wake)
        except CannotStart as error:
            self._tell("up", str(error))
            keeper.note_end(127)
            return
        keeper.note_started(child)

    def _note_end(self, keeper: Keeper, code: int) -> None:
        asked = keeper.state in (State.STOPPING, State.DRAINING)
        keeper.note_end(code)
        name = keeper.resource.name
        if keeper.state is State.CRASHED and not asked:
            pause = max(0.0, keeper.again_at - self.clock.monotonic())
            self._tell("up", f"{name} ended with {how(code)}; it is started again in {pause:.0f} s")
        elif not asked:
            self._tell("up", f"{name} has stopped by itself")

    async def _look(self, keeper: Keeper) -> None:
        if await asyncio.to_thread(self._answers, keeper.resource.health):
            keeper.note_ready()
        else:
            keeper.note_slow(self._ready_within)


def how(code: int) -> str:
    """An exit code in words."""
    return f"signal {-code}" if code < 0 else f"exit code {code}"
