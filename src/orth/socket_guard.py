"""A WebSocket whose peer has stopped reading, or does not stop writing, and how it is left.

Whoever sends to such a peer waits; and so would the frame that says why it is closed. Here an application may break a
connection off: that frame is written behind what the peer has not read yet, and if it does not read on within a
while, the connection is cut.

Nobody has much to tell a coordinator by socket. But whatever comes is worked off at once by the one event loop that
serves everybody, ten thousands of pings in one piece if need be; so frames are counted, and who sends too many is cut
off, whether or not it has said who it is.
"""

import asyncio
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState
from websockets.frames import Frame
from websockets.http11 import Request

SCOPE_KEY = "orth.break_off"
CUT_AFTER = 5.0
TOO_MANY = 1008
FRAMES_AT_ONCE = 100
FRAMES_PER_SECOND = 20.0
_PIECE = 1024
"""Bytes that are read at a time: so many that the frames in them take no noticeable time."""


class GuardedSocket(WebSocketsSansIOProtocol):
    """Uvicorn's WebSocket protocol with this way out."""

    _budget = float(FRAMES_AT_ONCE)
    _counted_at: float | None = None

    async def send(self, message: Any) -> None:
        """A refusal with a body ends the handshake as well. Uvicorn would log it as an error of the application."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), _PIECE):
            if self.transport.is_closing():
                return
            super().data_received(data[start : start + _PIECE])

    def handle_text(self, event: Frame) -> None:
        if self._is_welcome():
            super().handle_text(event)

    def handle_bytes(self, event: Frame) -> None:
        if self._is_welcome():
            super().handle_bytes(event)

    def handle_cont(self, event: Frame) -> None:
        if self._is_welcome():
            super().handle_cont(event)

    def handle_ping(self) -> None:
        if self._is_welcome():
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        if self._is_welcome():
            super().handle_pong(event)

    def _is_welcome(self) -> bool:
        """Count a frame; one too many ends the connection."""
        now = self.loop.time()
        passed = 0.0 if self._counted_at is None else now - self._counted_at
        self._budget = min(FRAMES_AT_ONCE, self._budget + passed * FRAMES_PER_SECOND) - 1
        self._counted_at = now
        if self._budget < 0 and not self.transport.is_closing():
            with suppress(InvalidState):  # nobody has let it in yet
                self.break_off(TOO_MANY, "too many frames")
            self.transport.abort()  # it has been told if it reads at all; waiting for its answer means to read on
        return self._budget >= 0

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if hasattr(self, "scope"):
            self.scope[SCOPE_KEY] = self.break_off  # type: ignore[literal-required]  # our own

    def break_off(self, code: int, reason: str) -> None:
        """Close now, whether or not the peer reads."""
        if self.close_sent or self.transport.is_closing():
            return
        self.stop_keepalive()
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        self.conn.send_close(code, reason)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        if self.read_paused:  # the answer to it is still of interest
            self.read_paused = False
            self.transport.resume_reading()
        self.close_timer = asyncio.get_running_loop().call_later(CUT_AFTER, self.transport.abort)


def break_off(scope: MutableMapping[str, Any], code: int, reason: str) -> None:
    """Break off the connection of this ASGI scope; one that is served by another protocol is closed by its own."""
    say = scope.get(SCOPE_KEY)
    if say is not None:
        say(code, reason)
