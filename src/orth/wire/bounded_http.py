"""Synchronous HTTP exchanges that end: each has a deadline and a limit for the size of the answer.

Sockets only bound each single wait, so a peer that sends a byte now and then would hold a caller for ever: ``_cut_off``
ends the wait for the head of an answer, and the body is read in pieces with an eye on the clock. The worst case is
twice the timeout. Redirects are not followed: where to connect is decided by whoever asks.
"""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from ssl import SSLContext
from typing import NamedTuple

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError
from urllib3.response import BaseHTTPResponse, HTTPResponse

from orth.clock import Clock
from orth.wire.messages import BODY_LIMIT

_CHUNK = 64 * 1024
_GRACE = 0.1


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
        while chunk := response.read1(_CHUNK, decode_content=False):
            body += chunk
            if len(body) > BODY_LIMIT:
                raise HTTPError(f"the answer is larger than {BODY_LIMIT} bytes")
            if self._clock.monotonic() > deadline:
                raise Overdue(f"the answer was not complete within {timeout:g} s")
        return bytes(body)


# --- a deadline for the head of an answer -----------------------------------------------------------------------------


@contextmanager
def _cut_off(sock: socket.socket, seconds: float | None) -> Iterator[None]:
    """Shut ``sock`` when the block takes longer than ``seconds``; whoever reads from it then sees its end.

    A silent peer is left to the socket's own timeout, which names the cause: hence the grace.
    """
    watch = threading.Timer(threading.TIMEOUT_MAX if seconds is None else seconds + _GRACE, _shut, [sock])
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def _shut(sock: socket.socket) -> None:
    with suppress(OSError):  # it may have been closed in the meantime
        sock.shutdown(socket.SHUT_RDWR)


class _Connection(HTTPConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # urllib3 replaces the response class of http.client
        with _cut_off(self.sock, self.timeout):
            return super().getresponse()


class _SecureConnection(HTTPSConnection):
    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # urllib3 replaces the response class of http.client
        with _cut_off(self.sock, self.timeout):
            return super().getresponse()


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection
