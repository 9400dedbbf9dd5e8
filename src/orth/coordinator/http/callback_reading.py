"""Read the results of a callback without holding up the event loop.

To make 20,000 results of a body takes 0.1 s and 40 MiB. So a callback that is larger than those of our executors is
read in a thread, one at a time, and the token of a group pays for it (``executor_rates``). A token that has paid too
much is refused for some seconds: executors of other makes send the same again later. Callbacks of our executors are
read by the event loop in their turn (``executor_turns``), and always.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from orth.coordinator.executor_keys import ExecutorKey
from orth.coordinator.http.executor_rates import ExecutorRates, is_large
from orth.coordinator.http.executor_turns import Turn
from orth.wire.dialects import Malformed, read_callback
from orth.wire.messages import CallbackItem


class CallbackReading:
    """For one event loop."""

    def __init__(self, rates: ExecutorRates) -> None:
        self._rates = rates
        self._turn = asyncio.Semaphore(1)

    @asynccontextmanager
    async def results(
        self, turn: Turn, key: ExecutorKey, body: bytes
    ) -> AsyncIterator[Sequence[CallbackItem | Malformed]]:
        """The results in ``body``; those of a large one until the next large one is read. ``TooOften`` if the token has
        sent too many of them.
        """
        if not is_large(body):
            yield await turn.read(read_callback, body)
            return
        async with self._turn:
            self._rates.pay_large(key, body)
            items = await asyncio.to_thread(read_callback, body)
            self._rates.pay_results(key, len(items))
            yield items
