"""Bounds on a connection before there is a request to refuse.

The HTTP parser itself takes a head of any size and waits for ever. Here a head must be complete within its size, its
number of headers and its time, and a body within its time; else the connection is answered with 431 or 408 and
closed. How large a body may be is the application's business.

A request may be refused before all of it has come. Closing the connection on what is still coming would reset it, and
the caller would find a broken connection instead of the reason. So we stop talking first and listen on for a while,
bounded in bytes and time, to what nobody will read.

How many connections there may be, ``connections`` decides; a server that has such a bound has it in its configuration.
"""

import asyncio
import json
from functools import partial
from http import HTTPStatus
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from orth.connections import SCOPE_KEY, Connections

HEAD_LIMIT = 64 * 1024
HEADERS_LIMIT = 200
HEAD_WITHIN = 10.0
BODY_WITHIN = 30.0
LINGER_LIMIT = 32 * 1024 * 1024
LINGER_WITHIN = 10.0
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
        self._declined = False
        self._handed_over = False
        self._lingering = False
        self._linger_left = LINGER_LIMIT
        self._deadline: asyncio.TimerHandle | None = None
        self._all: Connections | None = getattr(self.config, "connections", None)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the base class has it
        super().connection_made(transport)
        self._expect_within(HEAD_WITHIN)
        if self._all is not None:
            peer = transport.get_extra_info("peername")
            self._all.enter(self, str(peer[0]) if peer else "")

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        if self._all is not None:
            self._all.leave(self)
        super().connection_lost(exc)
        self._drop_body()

    def is_busy(self) -> bool:
        return self._answering() and not self._open

    def give_up(self, *, refused: bool) -> None:
        self._expect_nothing()
        self._refused = True
        if refused:
            self.transport.write(_written(503, "There are too many connections."))
        self.transport.close()
        self._drop_body()

    def unsent(self) -> int:
        return self.transport.get_write_buffer_size()

    def abort(self) -> None:
        self._expect_nothing()
        self._refused = True
        self.transport.abort()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._all is not None:
            self._all.stalls(self)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._all is not None:
            self._all.flows(self)

    def _drop_body(self) -> None:
        """Nobody reads it any more, and the collector finds what refers to it only much later."""
        if self.cycle is not None:
            self.cycle.disconnected |= not self.cycle.response_complete
            self.cycle.body = bytearray()
            self.cycle.message_event.set()

    def data_received(self, data: bytes) -> None:
        if self._refused:
            self._linger_left -= len(data)
            if self._linger_left < 0:
                self.transport.close()
            return
        counted = self._open and not self._in_head
        self._unset_keepalive_if_required()
        self._feed(data)
        if self._refused or self._handed_over or self.transport.is_closing():
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
        if self._all is not None:
            self._all.hold(self, self._head_size + self._body if self._open else 0)
        if self._deadline is None and not self._open and not self._answering():
            self._expect_within(HEAD_WITHIN)  # bytes that begin nothing, such as empty lines between requests

    def _feed(self, data: bytes) -> None:
        """As the base class does, except that a request stays what it is when the upgrade it offers is not taken."""
        while True:
            try:
                self.parser.feed_data(data)
            except httptools.HttpParserError:
                self.send_400_response("Invalid HTTP request received.")
            except httptools.HttpParserUpgrade as offer:
                if self._declined:
                    self.send_400_response("The request offers an upgrade twice.")
                elif self._should_upgrade():
                    self.handle_websocket_upgrade()
                elif not self._refused:
                    # The parser has skipped the body. Clients that offer HTTP/2 every time mean their request as it is.
                    data = self._head_without_offer() + data[offer.args[0] :]
                    self.parser = httptools.HttpRequestParser(self)
                    self._declined = True
                    continue
            return

    def _head_without_offer(self) -> bytes:
        """The head of the request as it would be had it not offered an upgrade; what it offered is left to be seen."""
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())]
        for name, value in self.headers:
            kept = value
            if name in (b"connection", b"proxy-connection"):  # the parser takes them for the same
                kept = b",".join(token for token in value.split(b",") if b"upgrade" not in token.lower())
            lines.append(b"%s: %s" % (name, kept))
        return b"\r\n".join([*lines, b"", b""])

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._all is not None:
            self.scope[SCOPE_KEY] = partial(self._all.know, self)  # type: ignore[literal-required]  # our own
        self._in_head = self._open = True
        self._head_size = self._around = self._body = 0
        self._expect_within(HEAD_WITHIN)

    def on_headers_complete(self) -> None:
        self._in_head = False
        if len(self.headers) > HEADERS_LIMIT or sum(len(n) + len(v) for n, v in self.headers) > HEAD_LIMIT:
            self._refuse(431, "The headers are too large.")
            return
        if self.parser.get_method() == b"CONNECT":
            self._refuse(405, "This is no proxy.")
            return
        if self.parser.should_upgrade() and not self._should_upgrade():
            return
        self._declined = False
        self._expect_within(BODY_WITHIN)
        super().on_headers_complete()
        if self.cycle is not None:
            self.cycle.transport = _Parting(self)  # type: ignore[assignment]  # all that a cycle uses of its transport

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # trailers are of no use to anybody here
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        self._body += len(body)
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade() and not self._should_upgrade():
            return  # it is read again, without its offer
        self._open = False
        if not self._refused:
            self._expect_nothing()
            super().on_message_complete()

    def on_response_complete(self) -> None:
        if not self._lingering:  # what was piped behind a request that closes the connection is not served
            super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        in_body = self._open and not self._in_head
        if self._answering() and not in_body:
            # It follows a request whose answer comes first, and would be taken for that answer.
            self._refused = True
            self.cycle.keep_alive = False
            return
        self._say(400, msg)

    def handle_websocket_upgrade(self) -> None:
        self._handed_over = True
        if self._all is not None:
            self._all.leave(self)  # its end is told to whom it was handed
        super().handle_websocket_upgrade()

    def shutdown(self) -> None:
        if self._lingering:
            self.transport.close()
        elif self._is_idle() and self.transport.get_extra_info("ssl_object") is not None:
            # Closing would wait for the other side's farewell, and who keeps a connection for later reads nothing.
            self.transport.abort()
        else:
            super().shutdown()

    def _is_idle(self) -> bool:
        """Whether nothing is asked and nothing is owed."""
        return not self._open and not self._answering()

    def hang_up(self) -> None:
        """Close the connection; if a request is still coming in, only when the caller has, or has had the time to."""
        if not self._open or self.transport.is_closing():
            self.transport.close()
            return
        self._refused = self._lingering = True
        if self._answering():  # whoever is still at it finds nobody to answer
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._expect_nothing()
        self._deadline = self.loop.call_later(LINGER_WITHIN, self.transport.close)
        self.flow.resume_reading()
        if self.transport.can_write_eof():  # TLS cannot end one direction alone
            self.transport.write_eof()

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
        self._say(status, why)

    def _say(self, status: int, why: str) -> None:
        self._refused = True
        self.transport.write(_written(status, why))
        self.hang_up()


def _written(status: int, why: str) -> bytes:
    phrase = HTTPStatus(status).phrase
    kind = phrase.lower().replace(" ", "-")
    told = {"type": f"urn:orth:problem:{kind}", "title": phrase.capitalize(), "status": status, "detail": why}
    body = json.dumps(told)
    head = f"HTTP/1.1 {status} {phrase}\r\ncontent-type: application/problem+json\r\n"
    head += f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    return (head + body).encode()


class _Parting:
    """A transport as an answer sees it: what it closes is closed as the guard closes."""

    def __init__(self, guard: GuardedHttp) -> None:
        self._guard = guard

    def write(self, data: bytes) -> None:
        self._guard.transport.write(data)

    def is_closing(self) -> bool:
        return self._guard.transport.is_closing()

    def close(self) -> None:
        self._guard.hang_up()
