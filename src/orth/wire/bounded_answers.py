"""The answers that aiohttp receives: what a server may send besides the body it was asked for.

aiohttp reads informational answers in a loop that never yields while another one is buffered, so a server that sends
``100 Continue`` without end holds the event loop, and with it every timeout. Headers, chunk sizes, chunk extensions and
trailers cost time in the parser and count for no limit of a caller. So everything that is not body is counted here, for
each request anew, and an answer that consists of it is cut off.
"""

import asyncio
from functools import partial
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler

HINTS_LIMIT = 8
"""Informational answers (``100 Continue``, ``103 Early Hints``) before the answer itself."""
OVERHEAD_LIMIT = 64 * 1024
"""Bytes that any answer may have besides its body."""
_SHARE = 2
"""Of a larger answer, one byte to so many of its body: chunks of ten bytes and more."""
_PIECE = 16 * 1024
"""Bytes that are parsed before they are counted again."""
_SWITCHING = 101


class EndlessAnswer(aiohttp.ClientPayloadError):
    """An answer that a server sends to keep its client busy."""


class BoundedAnswers(ResponseHandler):
    """One connection. Informational answers end here: no caller of ours waits for one."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._begin()

    def _begin(self) -> None:
        self._received = self._hints = 0
        self._answer: aiohttp.StreamReader | None = None
        self._flaw = ""

    def set_response_params(self, **params: Any) -> None:
        """A request begins, perhaps on a connection that was kept."""
        self._begin()
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        for at in range(0, max(1, len(data)), _PIECE):  # without data the parser goes on with what it was given before
            if data and self._answer is not None and self._answer.is_eof():
                self._flaw = "it goes on after its end"
            else:
                piece = data[at : at + _PIECE]
                self._received += len(piece)
                super().data_received(piece)
            if self._is_endless() or not self.is_connected():
                return

    def feed_data(self, data: Any, size: int = 0) -> None:
        message, body = data
        if 100 <= message.code < 200 and message.code != _SWITCHING:
            self._hints += 1
            if self._hints > HINTS_LIMIT:
                self._flaw = f"more than {HINTS_LIMIT} informational answers"
        elif self._answer is not None:
            self._flaw = "it goes on after its end"
        elif not self._flaw:
            self._answer = body
            super().feed_data(data, size)

    def _is_endless(self) -> bool:
        """Whether the connection was cut off."""
        if not self._flaw and not self._reading_paused:  # else the parser has not seen all of it
            body = 0 if self._answer is None else self._answer.total_bytes
            if self._received - body > OVERHEAD_LIMIT + body // _SHARE:
                self._flaw = "it consists of headers or chunk sizes"
        if not self._flaw:
            return False
        error = EndlessAnswer(f"the answer is cut off: {self._flaw}")
        if self._answer is not None and not self._answer.is_eof():
            self._answer.set_exception(error)
        self.set_exception(error)
        if self.transport is not None:
            self.transport.abort()
        return True


def bound(connector: aiohttp.BaseConnector) -> None:
    """Have the connections that ``connector`` opens be such."""
    make: partial[Any] = partial(BoundedAnswers, loop=asyncio.get_running_loop())
    connector._factory = make  # aiohttp has no other place for it; the suite of hostile answers notices when it moves
