"""TLS handshakes that come to nothing: whoever shows no certificate of ours is told of in the process log.

Such a caller asks for nothing, so there is no request to refuse, and the event loop closes its connection without a
word. Here the handshake itself tells. From which address it came is not known there.
"""

import logging
import ssl
from dataclasses import dataclass

from orth.clock import Clock, SystemClock
from orth.events import Event, Events

_TOLD_EVERY = 10.0
"""Seconds between two events; a flood is one fact, not thousands."""
_NOT_YET = (ssl.SSLWantReadError, ssl.SSLWantWriteError)


@dataclass(frozen=True, slots=True)
class HandshakesFailed(Event):
    """Connections that did not get as far as a request."""

    level = logging.WARNING
    sentence = "{count} TLS handshakes failed, the last because of {reason}"
    count: int
    reason: str


class Handshakes:
    """Those of one server. Used by its event loop alone."""

    def __init__(self, events: Events, clock: Clock | None = None) -> None:
        self._events = events
        self._clock = clock or SystemClock()
        self._untold = 0
        self._told_at: float | None = None

    def watch(self, context: ssl.SSLContext) -> None:
        """Hear of every handshake of ``context`` that fails."""
        handshakes = self

        class Watched(ssl.SSLObject):
            def do_handshake(self) -> None:
                try:
                    super().do_handshake()
                except _NOT_YET:
                    raise
                except ssl.SSLError as error:
                    handshakes.failed(error.reason or "no reason given")
                    raise

        context.sslobject_class = Watched

    def failed(self, reason: str) -> None:
        self._untold += 1
        now = self._clock.monotonic()
        if self._told_at is None or now - self._told_at >= _TOLD_EVERY:
            count, self._untold, self._told_at = self._untold, 0, now
            self._events.emit(HandshakesFailed(count, reason))
