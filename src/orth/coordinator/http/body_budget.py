"""How many bytes of request bodies known callers may have in memory at once.

One body may have many megabytes, and a caller may open thousands of connections. So what is read is counted until the
request is answered: a caller beyond its share is refused at once (429), and where all together hold too much, a request
waits for a moment (503 after that). The oldest request may always go on, so that requests never wait for each other,
and one that comes too slowly is cut off while others wait. The first bytes of each request cost nothing: small requests
are never refused.

Callers that have not authenticated are bounded by their connections (``orth.connections``).
"""

import asyncio
from collections import Counter
from types import TracebackType
from typing import Self

from orth.clock import Clock
from orth.errors import TooBusy, Unavailable

_MIB = 1024 * 1024
TOTAL = 32 * _MIB
EACH = 8 * _MIB
"""Of one caller, unless it is a single request."""
FREE = 4 * 1024
"""Bytes of each request that are not counted."""
PATIENCE = 8.0
"""Seconds that a request may wait for room."""
WAITING = 64
"""Requests that may wait: each has some bytes in the buffers of its connection."""
_SLOW = 256 * 1024
"""Bytes in a second, below which a request is cut off while others wait."""
_JUDGED_AFTER = 3.0
LOOK_EVERY = 1.0


class BodyBudget:
    """For one event loop."""

    def __init__(
        self, clock: Clock, *, total: int = TOTAL, each: int = EACH, waiting: int = WAITING, patience: float = PATIENCE
    ) -> None:
        self._clock = clock
        self._total = total
        self._each = each
        self._most_waiting = waiting
        self._patience = patience
        self._held: dict[Body, None] = {}
        """The oldest first."""
        self._of_callers: Counter[str] = Counter()
        self._requests: Counter[str] = Counter()
        self._waiting = 0
        self._freed = asyncio.Event()
        self.used = 0

    def body(self, caller: str) -> "Body":
        """A body that ``caller`` sends, as a context: what it holds is given back at its end."""
        return Body(self, caller, self._clock.monotonic())

    async def add(self, body: "Body", size: int) -> None:
        """Count ``size`` bytes more, or wait until there is room; ``TooBusy`` or ``Unavailable`` if there is none."""
        if body not in self._held:
            self._held[body] = None
            self._requests[body.caller] += 1
        if self._requests[body.caller] > 1 and self._of_callers[body.caller] + size > self._each:
            raise TooBusy.of("bodies_of_caller", limit=self._each // _MIB)
        if not self._has_room(body, size):
            await self._wait(body, size)
        body.counted += size
        self.used += size
        self._of_callers[body.caller] += size

    def _has_room(self, body: "Body", size: int) -> bool:
        return self.used + size <= self._total or body is next(iter(self._held))

    async def _wait(self, body: "Body", size: int) -> None:
        if self._waiting >= self._most_waiting:
            raise Unavailable.of("bodies_full")
        self._waiting += 1
        try:
            async with asyncio.timeout(self._patience):
                while not self._has_room(body, size):
                    self._cut_off_slow_ones()
                    self._freed.clear()
                    try:
                        async with asyncio.timeout(LOOK_EVERY):
                            await self._freed.wait()
                    except TimeoutError:
                        continue
        except TimeoutError:
            raise Unavailable.of("bodies_full") from None
        finally:
            self._waiting -= 1

    def _cut_off_slow_ones(self) -> None:
        now = self._clock.monotonic()
        for body in self._held:
            lasted = now - body.began
            if body.is_read and lasted > _JUDGED_AFTER and body.counted < _SLOW * lasted:
                body.is_cut_off = True

    def give_back(self, body: "Body") -> None:
        if body in self._held:
            del self._held[body]
            self.used -= body.counted
            for counter, size in ((self._of_callers, body.counted), (self._requests, 1)):
                counter[body.caller] -= size
                if counter[body.caller] <= 0:
                    del counter[body.caller]
            self._freed.set()


class Body:
    """What one request has in memory."""

    def __init__(self, budget: BodyBudget, caller: str, began: float) -> None:
        self._budget = budget
        self.caller = caller
        self.began = began
        self.counted = 0
        self.is_read = True
        """Whether more is to come."""
        self.is_cut_off = False
        """Whether it has to make room for others."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self._budget.give_back(self)

    async def hold(self, size: int) -> None:
        """``size`` bytes have come in all."""
        more = size - FREE - self.counted
        if more > 0:
            await self._budget.add(self, more)
