"""A WebSocket whose peer has stopped reading, and how it is left.

Whoever sends to such a peer waits; and so would the frame that says why it is closed. Here an application may break a
connection off: that frame is written behind what the peer has not read yet, and if it does not read on within a
while, the connection is cut.
"""

import asyncio
from collections.abc import MutableMapping
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

SCOPE_KEY = "orth.break_off"
CUT_AFTER = 5.0


class GuardedSocket(WebSocketsSansIOProtocol):
    """Uvicorn's WebSocket protocol with this way out."""

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
