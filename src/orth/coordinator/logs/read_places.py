"""How many pages of logs are read from executors at once.

A page may have five megabytes, whatever its reader asked for: an executor of another make sends what it likes. So a
few pages are in memory at once, few of one group, and whoever comes beyond that waits for a moment. Live streams and
downloads are bounded by their own number.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from orth.errors import TooBusy

AT_ONCE = 12
OF_ONE_GROUP = 4
WAITING = 200
PATIENCE = 10.0
"""Seconds that a reader waits: longer than an executor may take to answer."""


class ReadPlaces:
    """For one event loop."""

    def __init__(self, *, at_once: int = AT_ONCE, of_one_group: int = OF_ONE_GROUP, waiting: int = WAITING) -> None:
        self._at_once = at_once
        self._of_one_group = of_one_group
        self._most_waiting = waiting
        self._reading: Counter[str] = Counter()
        self._waiting: dict[asyncio.Future[None], str] = {}
        """Who waits for what group, the first comer first."""

    @asynccontextmanager
    async def place(self, app_name: str) -> AsyncIterator[None]:
        """A place to read a log of a group, or ``TooBusy``."""
        if not self._has_room(app_name):
            await self._wait(app_name)
        else:
            self._reading[app_name] += 1
        try:
            yield
        finally:
            self._leave(app_name)

    def _has_room(self, app_name: str) -> bool:
        return self._reading.total() < self._at_once and self._reading[app_name] < self._of_one_group

    async def _wait(self, app_name: str) -> None:
        """Wait for a place; whoever leaves hands it over."""
        if len(self._waiting) >= self._most_waiting:
            raise TooBusy.of("log_readers_full")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[turn] = app_name
        try:
            async with asyncio.timeout(PATIENCE):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self._leave(app_name)  # it was handed over at the last moment
            self._waiting.pop(turn, None)
            if isinstance(error, TimeoutError):
                raise TooBusy.of("log_readers_full") from None
            raise

    def _leave(self, app_name: str) -> None:
        self._reading[app_name] -= 1
        if not self._reading[app_name]:
            del self._reading[app_name]
        for turn, wanted in self._waiting.items():
            if self._has_room(wanted) and not turn.done():
                del self._waiting[turn]
                self._reading[wanted] += 1
                turn.set_result(None)
                return
