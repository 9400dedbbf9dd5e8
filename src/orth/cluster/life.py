"""The proof that this coordinator lives, kept with the server of the database.

See ``orth.store.life_locks``. Every coordinator keeps its lock; followers of the one that leads see it vanish when that
process is killed, and take over without waiting for a lease of half a minute (``election``).
"""

import asyncio

from orth.clock import Clock
from orth.events import Events
from orth.loop import Loop
from orth.store.life_locks import LifeLock

_EVERY = 0.5


class ProofOfLife(Loop):
    """Keeps the lock, and takes it anew when its connection was lost."""

    def __init__(self, lock: LifeLock, clock: Clock, events: Events) -> None:
        super().__init__(clock, events)
        self._lock = lock

    async def turn(self) -> float:
        await asyncio.to_thread(self._lock.keep)
        return _EVERY

    async def close(self) -> None:
        """Only after the lease was given up: others take a lock that is gone for a death."""
        await asyncio.to_thread(self._lock.close)
