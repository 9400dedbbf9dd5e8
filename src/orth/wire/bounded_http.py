"""Synchronous HTTP exchanges that end: each has a deadline and a limit for the size of the answer.

Answers are read through an ``AnswerReader``, which gives each wait what is left of the time and refuses answers that
consist of lines. No thread watches: a process that gets none can still call. Redirects are not followed: the caller
decides where to connect.
"""

import http.client
import socket
from collections.abc import Mapping
from ssl import SSLContext
from typing import Any, NamedTuple

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError, ReadTimeoutError
from urllib3.response import BaseHTTPResponse

from orth.clock import Clock, SystemClock
from orth.wire.answer_reader import AnswerReader, left_of
from orth.wire.fields import BODY_LIMIT

_CHUNK = 64 * 1024
_real = SystemClock()
"""Sockets wait in real time."""


class Overdue(HTTPError):
    """An answer that was not complete in time."""


class AnswerTooLarge(HTTPError):
    """An answer of which no more is read."""


class Answer(NamedTuple):
    """The whole of an answer."""

    status: int
    body: bytes
    headers: Mapping[str, str]
    is_proved: bool = False
    """Whether it surely is the answer of whoever was asked to what was asked, or has to prove nothing."""


class BoundedHttp:
    """Connections that are kept and used again. Safe to share between threads."""

    def __init__(
        self,
        clock: Clock,
        *,
        hosts: int,
        connections: int,
        pool: urllib3.PoolManager | None = None,
        tls: SSLContext | None = None,
    ) -> None:
        """Connections to so many ``hosts`` are kept, and so many to each."""
        self._clock = clock
        self._pool = bound(pool or urllib3.PoolManager(num_pools=hosts, maxsize=connections, ssl_context=tls))

    def exchange(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        timeout: float,
        body: bytes | None = None,
        connect: float | None = None,
    ) -> tuple[int, bytes]:
        """Status and body of the answer; ``HTTPError`` when there is none. ``connect`` is a shorter bound for that."""
        return self.ask(method, url, headers=headers, timeout=timeout, body=body, connect=connect)[:2]

    def ask(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        timeout: float,
        body: bytes | None = None,
        connect: float | None = None,
    ) -> Answer:
        """The same, with the headers of the answer."""
        deadline = self._clock.monotonic() + timeout
        response = self._pool.request(
            method,
            url,
            body=body,
            headers=headers,
            timeout=urllib3.Timeout(connect=min(timeout, connect or timeout), total=timeout),
            retries=False,
            redirect=False,
            preload_content=False,
            decode_content=False,
        )
        try:
            answer = Answer(response.status, self._read(response, deadline, timeout), response.headers)
        except BaseException:
            response.close()  # what is left of this answer must not be read as the next one
            raise
        response.release_conn()
        return answer

    def close(self) -> None:
        self._pool.clear()

    def _read(self, response: BaseHTTPResponse, deadline: float, timeout: float) -> bytes:
        body = bytearray()
        overdue = Overdue(f"the answer was not complete within {timeout:g} s")
        try:
            while chunk := response.read1(_CHUNK, decode_content=False):
                body += chunk
                if len(body) > BODY_LIMIT:
                    raise AnswerTooLarge(f"the answer is larger than {BODY_LIMIT} bytes")
                if self._clock.monotonic() > deadline:
                    raise overdue
        except ReadTimeoutError:
            raise overdue from None
        return bytes(body)


# --- connections whose answers end ------------------------------------------------------------------------------------


class _Source:
    """A socket, as far as the reader of an answer needs it."""

    def __init__(self, sock: socket.socket, seconds: float | None) -> None:
        self._sock = sock
        self._left = None if seconds is None else left_of(seconds, _real)

    def makefile(self, mode: str) -> AnswerReader:  # noqa: ARG002  # answers are read
        return AnswerReader(self._sock, self._left)


class _Ending:
    """Of a connection: each answer has few lines and, if it is ``punctual``, comes within the time that is left when
    its head is waited for.
    """

    punctual = True
    timeout: float | None

    def response_class(self, sock: socket.socket, *values: Any, **named: Any) -> http.client.HTTPResponse:
        source = _Source(sock, self.timeout if self.punctual else None)
        return http.client.HTTPResponse(source, *values, **named)  # type: ignore[arg-type]  # enough of one


class _Connection(_Ending, HTTPConnection):  # type: ignore[misc]  # called, a method makes one as a class does
    pass


class _SecureConnection(_Ending, HTTPSConnection):  # type: ignore[misc]  # the same
    pass


class _StreamConnection(_Connection):
    punctual = False


class _SecureStreamConnection(_SecureConnection):
    punctual = False


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


class _StreamPool(HTTPConnectionPool):
    ConnectionCls = _StreamConnection


class _SecureStreamPool(HTTPSConnectionPool):
    ConnectionCls = _SecureStreamConnection


def bounded_pool(*, stream: bool = False, **options: Any) -> urllib3.PoolManager:
    """A pool of connections whose answers end; ``options`` are urllib3's.

    An answer has to be complete within the read timeout. Of a ``stream`` only each wait is bounded by it.
    """
    return bound(urllib3.PoolManager(**options), stream=stream)


def bound(pool: urllib3.PoolManager, *, stream: bool = False) -> urllib3.PoolManager:
    """Have the connections that ``pool`` opens from now on be such."""
    classes = (_StreamPool, _SecureStreamPool) if stream else (_Pool, _SecurePool)
    pool.pool_classes_by_scheme = dict(zip(("http", "https"), classes, strict=True))
    return pool
