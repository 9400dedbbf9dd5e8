"""Tells the coordinators which executions run, and since when: those that have run for a second and are not told yet.

So people see that a long one runs, and does not wait behind another. A short one is never told of before its end, so
that a flood of them costs nothing; and there is one request a second at most, whatever runs here. Nothing rests on it:
what could not be told is told the next time, and a coordinator that does not know of this is left alone for a while.
"""

import asyncio
from collections.abc import Mapping
from typing import Protocol

from orth.clock import Clock
from orth.errors import Unavailable
from orth.events import Events
from orth.loop import Loop
from orth.wire.beginnings import BEGUN_LIMIT, Begun, BegunReport
from orth.wire.coordinator_calls import NotKnownThere

EVERY = 1.0
TOLD_AFTER = 1_000
"""Milliseconds an execution runs before it is told of."""
_PAUSE = 5.0
"""Seconds for which nobody is told after nobody could be."""
_LONG_PAUSE = 600.0
"""The same after a coordinator that does not know of it: it is replaced one day."""


class BeginningsLink(Protocol):
    """The way to the coordinators, as far as it is needed here."""

    def tell_begun(self, report: BegunReport) -> frozenset[int]: ...


class Beginnings(Loop):
    """Tells, once for each execution."""

    def __init__(
        self, began: Mapping[int, Begun], link: BeginningsLink, *, incarnation: str, clock: Clock, events: Events
    ) -> None:
        """``began`` has what runs at any moment, by log id."""
        super().__init__(clock, events)
        self._began = began
        self._link = link
        self._incarnation = incarnation
        self._told: set[int] = set()

    async def turn(self) -> float:
        began = dict(self._began)
        self._told.intersection_update(began)
        latest = self.clock.now() - TOLD_AFTER
        untold = [one for log_id, one in began.items() if one.start_time <= latest and log_id not in self._told]
        new = untold[:BEGUN_LIMIT]
        if not new:
            return EVERY
        try:
            again = await asyncio.to_thread(
                self._link.tell_begun, BegunReport(incarnation=self._incarnation, begun=tuple(new))
            )
        except NotKnownThere:
            return _LONG_PAUSE
        except Unavailable:  # the heartbeat tells that nobody is there
            return _PAUSE
        self._told.update(one.log_id for one in new if one.log_id not in again)
        return EVERY
