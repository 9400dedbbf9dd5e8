"""Open connections to executors, so that the end of one is noticed when it happens.

A line is one HTTP connection that asks ``/health`` now and then and is idle in between. What it is for is its end. A
process that dies, however it dies, has its connections closed by its system, and we learn of it within a round trip. A
machine that disappears closes nothing: there the system sends keep-alive probes on the idle connection and gives up
after ``silence`` seconds. Neither costs this process anything until it happens; calling thousands of executors every
second would.

Something else may have got the address: a web server, or a gateway that speaks for a process that is gone. An answer
counts only if it is one of an executor, by its status and its form.

Each answer also tells what time it is over there, and the tick of that process. The executor read its clocks at some
moment between our sending and our receiving, so half the time in between bounds the error of the offsets.
"""

import asyncio
import os
import resource
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeGuard, cast
from urllib.parse import urlsplit

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from orth.clock import Clock
from orth.errors import OrthError
from orth.wire.addresses import checked_address
from orth.wire.credentials import Credentials, Proofs
from orth.wire.dialects import Dialect, auth_headers
from orth.wire.executor_link import AnswerUnknown, NotAnExecutor, NotSent
from orth.wire.fields import HEALTH_VALUES, SMALL_BODY_LIMIT
from orth.wire.network_reasons import network_reason, place_of
from orth.wire.outbound import Outbound, Resolved
from orth.wire.signatures import Signer
from orth.wire.strict_json import read_json

_OTHER_FILES = 200
_TICK = 0.001  # seconds: ticks are told in whole milliseconds
_LATEST = 10**15  # milliseconds, some thirty thousand years: nothing that is added to it leaves 64 bits
_WORD = 64
ANSWER_LIMIT = SMALL_BODY_LIMIT + 64 * 1024
"""Bytes of an answer with all its headers and chunk sizes."""
_WELL, _UNREADABLE = "ok", "unreadable"
_OK, _UNWELL = 200, 503

Ended = Callable[[str, bool], None]
"""Called with the address of a line that ended by itself, and whether that was because nothing came from there."""


@dataclass(frozen=True, slots=True)
class Health:
    """What an executor says about itself."""

    status: str
    incarnation: str | None
    clock_offset: int | None
    """Milliseconds its clock is ahead of ours."""
    clock_error: int
    """How far that may be off."""
    tick_ahead: float | None = None
    """Seconds its tick is ahead of our monotonic clock."""
    tick_error: float = 0.0
    """How far that may be off."""

    @property
    def well(self) -> bool:
        return self.status == _WELL


@dataclass(frozen=True, slots=True)
class LineSecurity:
    """Where lines may lead, and what is shown there; without ``credentials`` the one token there is."""

    outbound: Outbound = field(default_factory=Outbound)
    credentials: Credentials | None = None
    signer: Signer | None = None
    tls: ssl.SSLContext | None = None


class WatchLines:
    """One line for each address that was asked about, until it ends or is dropped. For one event loop."""

    def __init__(
        self,
        *,
        token: str,
        clock: Clock,
        timeout: float,
        silence: float,
        ended: Ended,
        security: "LineSecurity | None" = None,
    ) -> None:
        self._token = token
        self._security = security or LineSecurity()
        self._clock = clock
        self._timeout = timeout
        self._silence = silence
        self._ended = ended
        self._lines: dict[str, _Line] = {}
        self._tls = self._security.tls

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, address: str) -> bool:
        return address in self._lines

    async def ask(self, address: str) -> Health:
        """How the executor at ``address`` is, over its line, which is opened if need be and stays.

        ``NotSent`` when there is no connection to be had, ``AnswerUnknown`` when it is not answered, ``NotAnExecutor``
        when something else answers.
        """
        try:
            proof = await self._proof(address)
        except NotSent:  # there is nothing that may be shown there
            self.drop(address)
            raise
        line = self._lines.get(address)
        if line is None:
            line = await self._open(address)
        try:
            async with asyncio.timeout(self._timeout):
                return await line.ask(self._clock, proof)
        except (TimeoutError, OSError, HttpParserError) as error:
            self.drop(address)
            raise AnswerUnknown.of(
                "executor_not_answered", address=address, said=f"it {_cause(error, self._timeout)}"
            ) from error

    def drop(self, address: str) -> None:
        """Close the line to ``address``, if there is one."""
        line = self._lines.pop(address, None)
        if line is not None:
            line.close()

    def close(self) -> None:
        for address in tuple(self._lines):
            self.drop(address)

    async def _open(self, address: str) -> "_Line":
        parts = urlsplit(checked_address(address))
        secure = parts.scheme == "https"
        head = _request_head(parts.netloc, parts.path)
        host = parts.hostname or ""
        try:
            async with asyncio.timeout(self._timeout):
                found = await self._security.outbound.resolve(host, parts.port or (443 if secure else 80))
                line = await self._connected(found, lambda: _Line(address, head, self._over), host if secure else None)
        except (TimeoutError, OSError) as error:
            place, why = place_of(address), _cause(error, self._timeout)
            raise NotSent.of("executor_not_reached", address=place, said=why) from error
        line.keep_alive(self._silence)
        self._lines[address] = line
        return line

    async def _connected(self, found: Sequence[Resolved], make: Callable[[], "_Line"], tls_name: str | None) -> "_Line":
        """A line to the first of the judged addresses that answers."""
        failure: OSError = OSError("it has no address")
        secured = None if tls_name is None else self._secured()
        for one in found:
            try:
                connecting = asyncio.get_running_loop().create_connection(
                    make, one.ip, one.port, ssl=secured, server_hostname=tls_name
                )
                return (await connecting)[1]
            except OSError as error:
                failure = error
        raise failure

    async def _proof(self, address: str) -> dict[str, str]:
        """The headers that prove who asks."""
        security = self._security
        if security.credentials is None:
            return auth_headers(self._token, Dialect.ORTH)
        if security.signer is None:
            return auth_headers((await security.credentials.credential(address, "")).token, Dialect.ORTH)
        proofs = Proofs(security.credentials, security.signer)
        found = await proofs.first(address, "")
        if not found.signed:
            return auth_headers(found.token, Dialect.ORTH)
        return proofs.header(found, address, "GET", "/health", b"")

    def _over(self, line: "_Line", silent: bool) -> None:
        if self._lines.get(line.address) is line:
            del self._lines[line.address]
            self._ended(line.address, silent)

    def _secured(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls


class _Line(asyncio.Protocol):
    """One connection; at most one request at a time is under way."""

    def __init__(self, address: str, head: bytes, over: Callable[["_Line", bool], None]) -> None:
        self.address = address
        self._head = head
        self._over = over
        self._transport: asyncio.Transport | None = None
        self._parser = HttpResponseParser(self)
        self._body = bytearray()
        self._received = 0
        """Bytes since the last question."""
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None

    async def ask(self, clock: Clock, proof: Mapping[str, str]) -> Health:
        if self._transport is None or self._transport.is_closing() or self._answer is not None:
            raise ConnectionResetError("the connection has ended, or is in use")
        self._answer = asyncio.get_running_loop().create_future()
        self._received = 0
        sent, began = clock.now(), clock.monotonic()
        self._transport.write(self._head + _lines(proof) + b"\r\n")
        status, body = await self._answer
        health = _health(status, body, (sent, clock.now()), (began, clock.monotonic()))
        if health is None:
            raise NotAnExecutor(self.address, status, None)
        return health

    def keep_alive(self, silence: float) -> None:
        """Have the system notice within ``silence`` seconds that the other machine is gone."""
        given = self._transport.get_extra_info("socket") if self._transport is not None else None
        if given is None:
            return
        idle = max(1, int(silence) // 2)
        pause = max(1, (int(silence) - idle) // 2)
        # A second descriptor of the same connection, because uvloop's has no options. Not every system lets these be
        # chosen; then its own times hold.
        with suppress(OSError, AttributeError), socket.socket(fileno=os.dup(given.fileno())) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, idle)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, pause)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 2)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    # --- what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but name

    def data_received(self, data: bytes) -> None:
        if self._answer is None:  # nobody has asked: who talks on would be listened to for ever
            self.close()
            return
        self._received += len(data)
        if self._received > ANSWER_LIMIT:
            self._fail(ConnectionResetError("the answer is too large"))
            self.close()
            return
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:  # also who wants to speak something else from here on
            self._fail(error)
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(exc if isinstance(exc, OSError) else ConnectionResetError("the connection was closed"))
        self._over(self, isinstance(exc, TimeoutError))

    # --- what the parser calls

    def on_message_begin(self) -> None:
        self._body.clear()

    def on_body(self, body: bytes) -> None:
        self._body += body
        if len(self._body) > SMALL_BODY_LIMIT:
            self._fail(ConnectionResetError("the answer is too large"))
            self.close()

    def on_message_complete(self) -> None:
        answer, self._answer = self._answer, None
        if not self._parser.should_keep_alive():
            self.close()
        if answer is not None and not answer.done():
            answer.set_result((self._parser.get_status_code(), bytes(self._body)))

    def _fail(self, error: Exception) -> None:
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_exception(error)


def affordable(wanted: int) -> int:
    """How many lines, at most ``wanted``, this process has files for; it asks for as many files as it may have.

    At most half of what there is: executors hold connections of their own to us.
    """
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return wanted if files == resource.RLIM_INFINITY else max(0, min(wanted, (files - _OTHER_FILES) // 2))


def _request_head(host: str, path: str) -> bytes:
    told = {"Host": host, "User-Agent": "orth", "Accept-Encoding": "identity"}
    return f"GET {path}/health HTTP/1.1\r\n".encode("ascii") + _lines(told)


def _lines(headers: Mapping[str, str]) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode("ascii")


def _health(status: int, body: bytes, wall: tuple[int, int], monotonic: tuple[float, float]) -> Health | None:
    """What an answer says; the pairs are our clocks at sending and receiving. None if no executor wrote it: one that is
    well says so with 200, one that is not with 503.
    """
    try:
        said = read_json(body, SMALL_BODY_LIMIT, values=HEALTH_VALUES)
    except OrthError:
        said = None
    if not isinstance(said, dict) or "status" not in said:
        return None
    word = said["status"] if _is_word(said["status"]) else _UNREADABLE
    if status not in ((_OK,) if word == _WELL else (_OK, _UNWELL)):
        return None
    now, tick = _moment(said.get("now")), _moment(said.get("tick"))
    incarnation = said.get("incarnation")
    (sent, received), (began, ended) = wall, monotonic
    return Health(
        word,
        incarnation if _is_word(incarnation) else None,
        None if now is None else now - (sent + received) // 2,
        (received - sent + 1) // 2,
        None if tick is None else tick / 1000 - (began + ended) / 2,
        0.0 if tick is None else (ended - began) / 2 + _TICK,
    )


def _is_word(said: object) -> TypeGuard[str]:
    return isinstance(said, str) and len(said) <= _WORD and said.isprintable()


def _moment(said: object) -> int | None:
    """Milliseconds that can be counted with; whatever else a stranger says is nothing."""
    return said if type(said) is int and 0 <= said <= _LATEST else None


def _cause(error: BaseException, timeout: float) -> str:
    if isinstance(error, TimeoutError) and not error.errno:
        return f"did not answer within {timeout:g} s"
    return network_reason(error)
