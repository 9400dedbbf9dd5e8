"""Bounds on a connection before there is a request to refuse.

The HTTP parser itself takes a head of any size and waits for ever. Here a head must be complete within its size, its
number of headers and its time, and a body within its time; else the connection is answered with 431 or 408 and
closed. How large a body may be is the application's business.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_LIMIT = 64 * 1024
HEADERS_LIMIT = 200
HEAD_WITHIN = 10.0
BODY_WITHIN = 30.0
_FRAME_SHARE = 16  # bytes of framing that a byte of body may need when it comes in tiny chunks


class GuardedHttp(HttpToolsProtocol):
    """Uvicorn's HTTP protocol with these bounds."""

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self._in_head = True
        self._open = False
        self._head_size = 0
        self._around = 0
        self._body = 0
        self._refused = False
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the base class has it
        super().connection_made(transport)
        self._expect_within(HEAD_WITHIN)

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        counted = self._open and not self._in_head
        super().data_received(data)
        if self._refused or self.transport.is_closing():
            return
        if self._in_head:
            self._head_size += len(data)
            if self._head_size > HEAD_LIMIT:
                self._refuse(431, "The headers are too large.")
        elif counted and self._open:
            # What came and is no body: the frames of chunks, and trailers, which the parser would collect for ever.
            self._around += len(data)
            if self._around - self._body > HEAD_LIMIT + _FRAME_SHARE * self._body:
                self._refuse(431, "The trailers are too large.")
        if self._deadline is None and not self._open and not self._answering():
            self._expect_within(HEAD_WITHIN)  # bytes that begin nothing, such as empty lines between requests

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = self._open = True
        self._head_size = self._around = self._body = 0
        self._expect_within(HEAD_WITHIN)

    def on_headers_complete(self) -> None:
        self._in_head = False
        if len(self.headers) > HEADERS_LIMIT or sum(len(n) + len(v) for n, v in self.headers) > HEAD_LIMIT:
            self._refuse(431, "The headers are too large.")
            return
        self._expect_within(BODY_WITHIN)
        super().on_headers_complete()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # trailers are of no use to anybody here
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        self._body += len(body)
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._open = False
        self._expect_nothing()
        if not self._refused:
            super().on_message_complete()

    def _answering(self) -> bool:
        """Whether a request that has arrived is still without its whole answer."""
        return self.cycle is not None and not self.cycle.response_complete

    def _expect_within(self, seconds: float) -> None:
        self._expect_nothing()
        self._deadline = self.loop.call_later(seconds, self._refuse, 408, "The request took too long to arrive.")

    def _expect_nothing(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, status: int, why: str) -> None:
        """Say why and hang up; only hang up if an answer is already under way."""
        self._expect_nothing()
        if self._in_head and self._answering():
            # The answer to an earlier request on this connection comes first; ours would be taken for it.
            self._expect_within(HEAD_WITHIN)
            return
        self._refused = True
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            self.transport.close()
            return
        head = f"HTTP/1.1 {status} {'Request Timeout' if status == 408 else 'Request Header Fields Too Large'}\r\n"
        head += f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(why)}\r\nconnection: close\r\n\r\n"
        self.transport.write((head + why).encode())
        self.transport.close()
