"""How many calls with one token are read and carried out at once.

To read the body of a call takes the event loop some milliseconds, and to carry it out takes memory and a connection to
the database. So bodies are read one at a time, and whatever else waits for the event loop runs in between. The calls of
one token are carried out a few at a time. All others wait in turn, so that a token with many calls keeps no other token
waiting. A call that waits for a message gives its turn back.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

from orth.coordinator.http.fair_turns import FairTurns
from orth.errors import TooBusy

T = TypeVar("T")

OF_ONE_TOKEN = 8
"""Calls of one token that are carried out at once. More would wait for the database."""
_TOKENS = 4
"""So many tokens may have as many calls carried out at once."""
_WAITING_OF_ONE = 2_000
_WAITING = 8_000
_BYTES_OF_ONE = 8 * 1024 * 1024
"""Bytes of bodies that the calls of one token have in memory, unless it is one body."""
PATIENCE = 3.0
"""Seconds that a call waits: executors wait as long for the answer."""
_SMALL = 2 * 1024
"""Bytes of a body that is read at once."""


class Turn:
    """The turn of one call."""

    def __init__(self, reading: FairTurns, caller: str, end: Callable[[], None]) -> None:
        self._reading = reading
        self._caller = caller
        self.end = end
        """End the turn before the call ends."""

    async def read(self, read: Callable[[bytes], T], body: bytes) -> T:
        """What ``read`` makes of ``body``."""
        if len(body) <= _SMALL:
            return read(body)
        async with self._reading.turn(self._caller):
            try:
                return read(body)
            finally:
                await asyncio.sleep(0)  # noqa: TID251  # other work runs, then the next body is read


class ExecutorTurns:
    """For one event loop."""

    def __init__(self, of_one_token: int = OF_ONE_TOKEN) -> None:
        self._bytes: Counter[str] = Counter()
        self._calls = _turns(of_one_token * _TOKENS, of_one_token)
        self._reading = _turns(1, 1)

    @asynccontextmanager
    async def turn(self, caller: str, size: int) -> AsyncIterator[Turn]:
        """The turn of a call with a body of ``size`` bytes; ``TooBusy`` when too many wait."""
        with self._holding(caller, size):
            await self._calls.begin(caller)
            with self._begun(caller) as turn:
                yield turn

    @contextmanager
    def _holding(self, caller: str, size: int) -> Iterator[None]:
        if self._bytes[caller] and self._bytes[caller] + size > _BYTES_OF_ONE:
            raise TooBusy.of("requests_full")
        self._bytes[caller] += size
        try:
            yield
        finally:
            self._bytes[caller] -= size
            if not self._bytes[caller]:
                del self._bytes[caller]

    @contextmanager
    def _begun(self, caller: str) -> Iterator[Turn]:
        ended = False

        def end() -> None:
            nonlocal ended
            if not ended:
                ended = True
                self._calls.end(caller)

        try:
            yield Turn(self._reading, caller, end)
        finally:
            end()


def _turns(at_once: int, of_one_caller: int) -> FairTurns:
    return FairTurns(
        at_once=at_once,
        of_one_caller=of_one_caller,
        waiting=_WAITING,
        waiting_of_one=_WAITING_OF_ONE,
        patience=PATIENCE,
    )
