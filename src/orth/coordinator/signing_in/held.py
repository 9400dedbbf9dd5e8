"""Sessions that sockets and streams of this node hang on.

Whoever holds a session is told when it is over: at once when it was ended on this node, and otherwise when the store is
looked at, which the first who asks does for all.
"""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from orth.clock import Clock
from orth.store.database import Database
from orth.store.sessions import good_sessions

LOOK_EVERY = 2.0
"""Seconds for which what the store said is believed."""


class HeldSessions:
    """Which sessions are held, and by whom."""

    def __init__(self) -> None:
        self._holders: dict[str, list[asyncio.Event]] = {}
        self._looked_at: float | None = None

    @contextmanager
    def held(self, session_id: str | None) -> Iterator[asyncio.Event]:
        """Set when the session is over; without a session, never."""
        over = asyncio.Event()
        if session_id is None:
            yield over
            return
        holders = self._holders.setdefault(session_id, [])
        holders.append(over)
        try:
            yield over
        finally:
            holders.remove(over)
            if not holders and self._holders.get(session_id) is holders:
                del self._holders[session_id]

    def tell_over(self, session_ids: Iterable[str]) -> None:
        for session_id in session_ids:
            for over in self._holders.get(session_id, ()):
                over.set()

    async def look(self, db: Database, clock: Clock) -> None:
        """See which are over, unless that was done just now."""
        now = clock.monotonic()
        if not self._holders or (self._looked_at is not None and now - self._looked_at < LOOK_EVERY):
            return
        self._looked_at = now
        asked = set(self._holders)
        self.tell_over(asked - await db.read(good_sessions, asked, clock.now()))
