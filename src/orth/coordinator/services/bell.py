"""Letting the processes know of each other's events: a hint on a topic, which says only that there is something.

The events themselves are read from the database (``feed``). So a hint that is lost costs a second, and one too many a
look. Many changes at once are one hint; nobody who makes a change waits for it.
"""

from collections.abc import Sequence
from contextlib import suppress

from orth.channels.interface import Channels, ChannelsUnavailable, Heard
from orth.channels.names import Names
from orth.clock import Clock
from orth.cluster.hearing import Hearing
from orth.coordinator.services.feed import Feed
from orth.events import Events
from orth.loop import Loop

_AT_MOST_EVERY = 0.05
_IDLE = 3600.0


class Bell(Loop):
    """Rings for the listeners of this process at once, and for the others through the channels."""

    def __init__(self, feed: Feed, channels: Channels | None, names: Names, clock: Clock, events: Events) -> None:
        super().__init__(clock, events)
        self._feed = feed
        self._channels = channels
        self._topic = names.service_events
        self._rung = False
        self._rang_at = float("-inf")

    def ring(self) -> None:
        """There are new events."""
        self._feed.wake()
        if self._channels is not None:
            self._rung = True
            self.wake()

    async def turn(self) -> float:
        if not self._rung or self._channels is None:
            return _IDLE
        wait = self._rang_at + _AT_MOST_EVERY - self.clock.monotonic()
        if wait > 0:
            return wait
        self._rung, self._rang_at = False, self.clock.monotonic()
        with suppress(ChannelsUnavailable):  # the others look by themselves
            await self._channels.announce(self._topic, {})
        return _IDLE


class BellEar(Hearing):
    """Hears the bells of the others, while this process has listeners."""

    def __init__(self, feed: Feed, channels: Channels, names: Names, clock: Clock, events: Events) -> None:
        super().__init__(channels, [names.service_events], clock, events)
        self._feed = feed
        feed.first_came.append(self.wake)

    async def turn(self) -> float:
        if not self._feed.listeners:
            await self.close()
            return _IDLE
        return await super().turn()

    async def heard(self, messages: Sequence[Heard]) -> None:
        if messages:
            self._feed.wake()
