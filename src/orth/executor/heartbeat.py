"""Being known to the coordinators: register, again and again, until leaving.

A registration is a heartbeat. It carries the announcement: which process this is (its incarnation), which extensions of
the protocol it understands and which handlers it has. After a failure the next try comes sooner than the next beat
would, with growing pauses; a missing coordinator is found within a second of its return at first, within a beat later.
"""

import asyncio
import threading
from contextlib import suppress

from orth.clock import Clock
from orth.errors import OrthError
from orth.events import Events
from orth.executor.facts import Registered, RegistrationFailed
from orth.loop import Loop
from orth.wire.coordinator_calls import CoordinatorLink
from orth.wire.messages import RegistryRequest

_FIRST_PAUSE = 1.0


class Heartbeat(Loop):
    """Says that this executor is here, every ``beat`` seconds."""

    def __init__(
        self, request: RegistryRequest, link: CoordinatorLink, *, beat: float, clock: Clock, events: Events
    ) -> None:
        super().__init__(clock, events)
        self._request = request
        self._link = link
        self._beat = beat
        self._misses = 0
        self._speaking = threading.Lock()
        self._leaving = False
        self.registered = False
        """Whether the last beat was taken."""

    async def turn(self) -> float:
        try:
            await asyncio.to_thread(self._register)
        except OrthError as error:
            self.registered = False
            pause = min(self._beat, _FIRST_PAUSE * 2.0 ** min(self._misses, 16))
            self._misses += 1
            self.events.emit(RegistrationFailed(str(error), pause))
            return pause
        self._misses = 0
        if not self.registered and not self._leaving:
            self.registered = True
            self.events.emit(Registered(self._request.registry_key, self._request.registry_value))
        return self._beat

    async def unregister(self, seconds: float) -> None:
        """Say goodbye and stay silent. Best effort: whoever misses it learns from the silence."""
        self._leaving = True
        self.registered = False
        with suppress(OrthError, TimeoutError):
            await asyncio.wait_for(asyncio.to_thread(self._unregister), seconds)

    def _register(self) -> None:
        with self._speaking:
            if not self._leaving:
                self._link.register(self._request)

    def _unregister(self) -> None:
        with self._speaking:  # a beat on its way must not arrive after the goodbye
            self._link.unregister(self._request)
