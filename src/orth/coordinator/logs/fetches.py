"""Logs on their way to the archive: some at a time, few of one executor, and each for itself.

A turn of the loop waits for those that end soon. One that takes long goes on beside the following turns, and the places
that are left are enough for the others.
"""

import asyncio
from collections.abc import Coroutine

_AT_ONCE = 8
_OF_ONE_EXECUTOR = 2
_SOON = 5.0
"""Seconds for which a turn waits for one of them to end."""


class Fetches:
    """What is being fetched."""

    def __init__(self) -> None:
        self._running: dict[int, asyncio.Task[None]] = {}
        self._addresses: dict[int, str] = {}

    def __contains__(self, execution_id: int) -> bool:
        return execution_id in self._running

    @property
    def full(self) -> bool:
        return len(self._running) >= _AT_ONCE

    def crowded(self, address: str) -> bool:
        """Whether no more are fetched of this executor just now."""
        return list(self._addresses.values()).count(address) >= _OF_ONE_EXECUTOR

    def begin(self, execution_id: int, address: str, work: Coroutine[None, None, None]) -> None:
        self._addresses[execution_id] = address
        self._running[execution_id] = asyncio.create_task(work, name=f"log of execution {execution_id} to the archive")

    async def some_ended(self) -> bool:
        """Wait for one to end; false when none does soon. What it raised is raised here."""
        if not self._running:
            return False
        done, _ = await asyncio.wait(self._running.values(), timeout=_SOON, return_when=asyncio.FIRST_COMPLETED)
        for execution_id in [one for one, task in self._running.items() if task in done]:
            del self._running[execution_id], self._addresses[execution_id]
        failures = [error for error in [task.exception() for task in done] if error is not None]
        if failures:
            raise failures[0]
        return bool(done)

    async def stop(self) -> None:
        """End all of them, unfinished as they are."""
        running = list(self._running.values())
        self._running.clear()
        self._addresses.clear()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
