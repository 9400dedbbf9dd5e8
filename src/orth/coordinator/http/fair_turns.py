"""Turns that callers take, so that no caller keeps the others waiting.

A few callers have a turn at once, and one caller has a few turns. The others wait. When a turn ends, the callers that
wait get the next turns one after the other, however many requests each of them has.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from orth.errors import TooBusy


class FairTurns:
    """For one event loop."""

    def __init__(
        self, *, at_once: int, of_one_caller: int, waiting: int, waiting_of_one: int | None = None, patience: float
    ) -> None:
        """At most ``waiting`` requests wait, ``waiting_of_one`` of one caller, each for ``patience`` seconds."""
        self._at_once = at_once
        self._of_one_caller = of_one_caller
        self._most_waiting = waiting
        self._most_of_one = waiting if waiting_of_one is None else waiting_of_one
        self._patience = patience
        self._running: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """By caller, the caller that gets the next turn first."""
        self._count = 0

    @asynccontextmanager
    async def turn(self, caller: str) -> AsyncIterator[None]:
        """Wait for a turn, and have it. ``TooBusy`` if too many wait, or for too long."""
        await self.begin(caller)
        try:
            yield
        finally:
            self.end(caller)

    async def begin(self, caller: str) -> None:
        """Wait for a turn, which ``end`` ends. ``TooBusy`` if too many wait, or for too long."""
        if self._is_free(caller):
            self._running[caller] += 1
            return
        if self._count >= self._most_waiting or len(self._waiting.get(caller, ())) >= self._most_of_one:
            raise TooBusy.of("requests_full")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(turn)
        self._count += 1
        try:
            async with asyncio.timeout(self._patience):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self.end(caller)  # the turn came at the last moment
            else:
                self._forget(caller, turn)
            if isinstance(error, TimeoutError):
                raise TooBusy.of("requests_full") from None
            raise

    def end(self, caller: str) -> None:
        """End a turn of this caller."""
        self._running[caller] -= 1
        if not self._running[caller]:
            del self._running[caller]
        for following, waiting in self._waiting.items():
            turn = next((one for one in waiting if not one.done()), None)  # a request may have been cancelled
            if turn is not None and self._is_free(following):
                self._forget(following, turn)
                if waiting:
                    self._waiting[following] = self._waiting.pop(following)  # behind all the others
                self._running[following] += 1
                turn.set_result(None)
                return

    def _is_free(self, caller: str) -> bool:
        return self._running.total() < self._at_once and self._running[caller] < self._of_one_caller

    def _forget(self, caller: str, turn: "asyncio.Future[None]") -> None:
        waiting = self._waiting[caller]
        waiting.remove(turn)
        self._count -= 1
        if not waiting:
            del self._waiting[caller]
