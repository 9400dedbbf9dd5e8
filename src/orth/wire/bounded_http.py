"""Synchronous HTTP exchanges that end: each has a deadline and a limit for the size of the answer.

Sockets only bound each single wait, so a peer that sends a byte now and then would hold a caller for ever: answers are
therefore read through a ``_Punctual``, which gives each wait what is left of the time. No thread watches: a process
that gets none can still call. Redirects are not followed: where to connect is decided by whoever asks.
"""

import http.client
import io
import socket
from collections.abc import Mapping
from ssl import SSLContext
from typing import TYPE_CHECKING, Any, NamedTuple

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError, ReadTimeoutError
from urllib3.response import BaseHTTPResponse

from orth.clock import Clock, SystemClock
from orth.wire.fields import BODY_LIMIT

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_CHUNK = 64 * 1024
_real = SystemClock()
"""Sockets wait in real time."""


class Overdue(HTTPError):
    """An answer that was not complete in time."""


class Answer(NamedTuple):
    """The whole of an answer."""

    status: int
    body: bytes
    headers: Mapping[str, str]


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
        self._pool = pool or urllib3.PoolManager(num_pools=hosts, maxsize=connections, ssl_context=tls)
        self._pool.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}

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
                    raise HTTPError(f"the answer is larger than {BODY_LIMIT} bytes")
                if self._clock.monotonic() > deadline:
                    raise overdue
        except ReadTimeoutError:
            raise overdue from None
        return bytes(body)


# --- a deadline for the answer ----------------------------------------------------------------------------------------


class _Punctual(io.RawIOBase):
    """What comes from a socket, until a deadline."""

    def __init__(self, sock: socket.socket, seconds: float | None) -> None:
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._deadline = None if seconds is None else _real.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int | None:
        if self._deadline is not None:
            left = self._deadline - _real.monotonic()
            if left <= 0:
                raise TimeoutError("timed out")
            self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Source:
    """A socket, as far as the reader of an answer needs it."""

    def __init__(self, sock: socket.socket, seconds: float | None) -> None:
        self._sock = sock
        self._seconds = seconds

    def makefile(self, mode: str) -> io.BufferedReader:  # noqa: ARG002  # answers are read
        return io.BufferedReader(_Punctual(self._sock, self._seconds))


class _OnTime:
    """Of a connection: reads each answer within the time that is left when its head is waited for."""

    timeout: float | None

    def response_class(self, sock: socket.socket, *values: Any, **named: Any) -> http.client.HTTPResponse:
        return http.client.HTTPResponse(_Source(sock, self.timeout), *values, **named)  # type: ignore[arg-type]  # enough


class _Connection(_OnTime, HTTPConnection):  # type: ignore[misc]  # called, a method makes one as a class does
    pass


class _SecureConnection(_OnTime, HTTPSConnection):  # type: ignore[misc]  # the same
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection
