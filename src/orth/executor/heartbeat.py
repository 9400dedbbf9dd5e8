"""Being known to the coordinators: register, again and again, until leaving.

A registration is a heartbeat. It carries the announcement, made anew for each: which process this is (its incarnation),
which extensions of the protocol it understands and which handlers it has, what runs here, which results still wait for
an answer, and how much there is to do. A coordinator that reads it knows of every execution whether it is here.

The first beat is sent at once. After a failure the next try comes sooner than the next beat would, after pauses that
grow to a few seconds; and whoever learns by other means that a coordinator is back wakes this loop (``heard_from``).
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

from orth.clock import Clock
from orth.errors import OrthError
from orth.events import Events
from orth.executor.facts import Registered, RegistrationFailed
from orth.loop import Loop
from orth.wire.coordinator_calls import CoordinatorLink
from orth.wire.messages import RegistryRequest

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 5.0

Announce = Callable[[], RegistryRequest]


class Heartbeat(Loop):
    """Says that this executor is here, every ``beat`` seconds."""

    def __init__(
        self,
        announce: Announce,
        link: CoordinatorLink,
        *,
        beat: float,
        clock: Clock,
        events: Events,
        taken: Callable[[RegistryRequest, str | None], None] = lambda _request, _known_key: None,
    ) -> None:
        """``taken`` hears of every beat that a coordinator has, and the name of the work key it says it knows."""
        super().__init__(clock, events)
        self._taken = taken
        self._announce = announce
        self._link = link
        self._beat = beat
        self._misses = 0
        self._speaking = threading.Lock()
        self._leaving = False
        self.registered = False
        """Whether the last beat was taken."""

    async def turn(self) -> float:
        try:
            registered = await asyncio.to_thread(self._register)
        except OrthError as error:
            self.registered = False
            pause = min(self._beat, _LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(self._misses, 16))
            self._misses += 1
            self.events.emit(RegistrationFailed(str(error), pause))
            return pause
        self._misses = 0
        if registered is not None and not self.registered and not self._leaving:
            self.registered = True
            self.events.emit(Registered(registered.registry_key, registered.registry_value))
        return self._beat

    def heard_from(self) -> None:
        """A coordinator has answered something else: if it may not know us yet, do not wait to tell it."""
        if not self.registered and not self._leaving:
            self.wake()

    async def unregister(self, seconds: float) -> None:
        """Say goodbye and stay silent. Best effort: whoever misses it learns from the silence."""
        self._leaving = True
        self.registered = False
        with suppress(OrthError, TimeoutError):
            await asyncio.wait_for(asyncio.to_thread(self._unregister), seconds)

    def _register(self) -> RegistryRequest | None:
        with self._speaking:
            if self._leaving:
                return None
            request = self._announce()
            self._taken(request, self._link.register(request))
            return request

    def _unregister(self) -> None:
        with self._speaking:  # a beat on its way must not arrive after the goodbye
            self._link.unregister(self._announce())
