"""What an executor says to its coordinators.

Coordinators are equal, so the first that accepts a message is enough: the addresses are tried in turn, beginning with
the one that worked last. A call may be repeated without harm (a registration is a heartbeat, a result is stored once),
so a lost answer and a lost request are the same thing here: the next address is tried, and the caller comes back later.

Each exchange has a deadline. Sockets only bound each single wait, so a peer that sends a byte now and then would hold a
heartbeat for ever: ``_cut_off`` ends the wait for the head of an answer, and the body is read in pieces with an eye on
the clock. The worst case is twice the timeout.
"""

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Protocol

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError, NewConnectionError
from urllib3.response import BaseHTTPResponse, HTTPResponse

from orth.clock import Clock, SystemClock
from orth.errors import Invalid, Unavailable
from orth.wire.dialects import (
    CONTENT_TYPE,
    EXTENSIONS_HEADER,
    VERDICTS,
    Dialect,
    auth_headers,
    callback_item_body,
    read_reply,
    read_verdicts,
    registry_body,
)
from orth.wire.messages import (
    BODY_LIMIT,
    CallbackItem,
    CallbackVerdict,
    RegistryRequest,
    Reply,
    Verdict,
    checked_address,
)

BATCH_LIMIT = BODY_LIMIT - 64 * 1024
"""Bytes of results sent at once; the rest is room for whatever a proxy adds."""
_CHUNK = 64 * 1024
_CONNECTIONS = 8
_GRACE = 0.1


class CoordinatorLink(Protocol):
    """The way to the coordinators, as the executor's parts see it."""

    def register(self, request: RegistryRequest) -> None: ...

    def unregister(self, request: RegistryRequest) -> None: ...

    def call_back(self, items: Sequence[CallbackItem]) -> list[CallbackVerdict]: ...


class CoordinatorCalls:
    """The way to the coordinators over HTTP. Safe to share between threads."""

    def __init__(
        self,
        addresses: Sequence[str],
        token: str,
        timeout: float = 3.0,
        pool: urllib3.PoolManager | None = None,
        *,
        app_name: str = "",
        clock: Clock | None = None,
    ) -> None:
        if not addresses:
            raise Invalid("An executor needs the address of at least one coordinator.", field="coordinators")
        self._addresses = [checked_address(address) for address in addresses]
        self._last_good = self._addresses[0]
        self._timeout = timeout
        self._clock = clock or SystemClock()
        self._headers = {
            **auth_headers(token, Dialect.AUTO, app_name),
            EXTENSIONS_HEADER: VERDICTS,
            "Content-Type": CONTENT_TYPE,
            "Accept-Encoding": "identity",
        }
        self._pool = pool or urllib3.PoolManager(num_pools=len(self._addresses), maxsize=_CONNECTIONS)
        self._pool.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}

    def register(self, request: RegistryRequest) -> None:
        """Beat: tell one coordinator that this executor is here."""
        self._post("/api/registry", registry_body(request))

    def unregister(self, request: RegistryRequest) -> None:
        """Tell one coordinator that this executor leaves."""
        self._post("/api/registryRemove", registry_body(request))

    def call_back(self, items: Sequence[CallbackItem]) -> list[CallbackVerdict]:
        """Deliver results and say what became of each, in the order given.

        What does not fit into one request goes in several. When a later one fails its items come back as ``retry``;
        only when nothing at all was delivered is the failure raised.
        """
        verdicts: list[CallbackVerdict] = []
        for batch, body in _batches(items):
            try:
                verdicts += read_verdicts(self._post("/api/callback", body), batch)
            except Unavailable:
                if not verdicts:
                    raise
                left = items[len(verdicts) :]
                return verdicts + [CallbackVerdict(log_id=item.log_id, verdict=Verdict.RETRY) for item in left]
        return verdicts

    def ask(self, path: str, body: bytes, *, held_back: float = 0.0, repeatable: bool = True) -> Reply:
        """Ask any coordinator; its answer may be ``held_back`` for so many seconds. What is not ``repeatable`` is asked
        of the next one only if the one before surely did not get it.
        """
        return self._post(path, body, self._timeout + held_back, repeatable=repeatable)

    def close(self) -> None:
        self._pool.clear()

    def _post(self, path: str, body: bytes, timeout: float | None = None, *, repeatable: bool = True) -> Reply:
        failures = []
        first = self._last_good
        others = [other for other in self._addresses if other != first]
        for address in (first, *others):
            try:
                reply = self._exchange(address + path, body, timeout or self._timeout)
            except HTTPError as error:
                failures.append(f"{address}: {error}")
                if not repeatable and not isinstance(error, NewConnectionError):
                    self._last_good = others[0] if others else first  # the next question goes elsewhere
                    break
                continue
            if reply.ok:
                self._last_good = address
                return reply
            failures.append(f"{address}: {reply.msg or 'refused'} (code {reply.code})")
        raise Unavailable(f"No coordinator accepted {path}: {'; '.join(failures)}.")

    def _exchange(self, url: str, body: bytes, timeout: float) -> Reply:
        deadline = self._clock.monotonic() + timeout
        response = self._pool.request(
            "POST",
            url,
            body=body,
            headers=self._headers,
            timeout=urllib3.Timeout(connect=min(timeout, self._timeout), total=timeout),
            retries=False,
            redirect=False,
            preload_content=False,
            decode_content=False,
        )
        try:
            reply = read_reply(response.status, self._read(response, deadline, timeout))
        except BaseException:
            response.close()  # what is left of this answer must not be read as the next one
            raise
        response.release_conn()
        return reply

    def _read(self, response: BaseHTTPResponse, deadline: float, timeout: float) -> bytes:
        body = bytearray()
        while chunk := response.read1(_CHUNK, decode_content=False):
            body += chunk
            if len(body) > BODY_LIMIT:
                raise HTTPError(f"the answer is larger than {BODY_LIMIT} bytes")
            if self._clock.monotonic() > deadline:
                raise HTTPError(f"the answer was not complete within {timeout:g} s")
        return bytes(body)


def _batches(items: Sequence[CallbackItem]) -> Iterator[tuple[list[CallbackItem], bytes]]:
    batch: list[CallbackItem] = []
    written: list[bytes] = []
    size = 2
    for item in items:
        body = callback_item_body(item)
        if batch and size + len(body) > BATCH_LIMIT:
            yield batch, b"[" + b",".join(written) + b"]"
            batch, written, size = [], [], 2
        batch.append(item)
        written.append(body)
        size += len(body) + 1
    if batch:
        yield batch, b"[" + b",".join(written) + b"]"


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
