"""``orth.http``: a handler that makes one HTTP request, for jobs that need no code here.

Off until this executor's settings allow it: whoever may edit a job could then reach whatever this machine can. The
parameter is JSON with ``url`` and perhaps ``method``, ``headers``, ``body`` (text, or anything that is sent as JSON),
``expect`` (the statuses that mean success; any 2xx unless said) and ``timeout`` in seconds, for the whole request: a
server that sends a byte now and then does not hold it up. Redirects are not followed and nothing is tried again: the
job's own retries do that. The answer goes to the log, cut.

Whoever writes the job says where it goes, so every address of the host is judged when the connection is made
(``orth.wire.outbound``): those at which clouds hand out credentials are never called, this machine itself only if the
settings say so.
"""

import json
import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection, IncompleteRead
from typing import Annotated, Any, Literal

from pydantic import Field
from urllib3.exceptions import LocationParseError
from urllib3.util import Url, parse_url

from orth.domain.scripts import HTTP
from orth.executor.context import JobContext, JobFailed
from orth.version import __version__
from orth.wire.answer_reader import AnswerReader, Left, left_of
from orth.wire.network_reasons import network_sentence
from orth.wire.outbound import Outbound

NAME = HTTP
SHOWN_BYTES = 64 * 1024
_JSON = {"content-type": "application/json"}
_OURS = {"user-agent": f"orth/{__version__}"}

_Found = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]
"""An address as the system tells it."""
Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
Status = Annotated[int, Field(ge=100, le=599)]


def http_handler(outbound: Outbound) -> Callable[..., str]:
    """The function that makes requests to where ``outbound`` allows."""

    def http(
        ctx: JobContext,
        url: Annotated[str, Field(pattern=r"^https?://[^\s]+$")],
        method: Method = "GET",
        headers: dict[str, str] | None = None,
        body: Any = None,
        expect: list[Status] | None = None,
        timeout: Annotated[float, Field(gt=0)] = 30.0,
    ) -> str:
        """Make an HTTP request."""
        data, sent = _encoded(body, headers or {})
        limit = timeout if (left := ctx.remaining()) is None else min(timeout, left or timeout)
        try:
            asked = _Asked(method, parse_url(url), data, sent)
            status, shown = _answer(asked, outbound, left_of(limit, ctx.clock))
        except (OSError, HTTPException, LocationParseError, ValueError) as error:
            raise JobFailed(f"{method} {url} failed: {network_sentence(url, error)}.") from None
        ctx.log("{} {} answered {}", method, url, status)
        if shown:
            cut = f"\n… only the first {SHOWN_BYTES} bytes are shown" if len(shown) > SHOWN_BYTES else ""
            ctx.log("{}", shown[:SHOWN_BYTES].decode("utf-8", "replace") + cut)
        if status not in (expect or range(200, 300)):
            raise JobFailed(f"{method} {url} answered {status}.")
        return str(status)

    return http


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request as it is sent."""

    method: str
    url: Url
    body: bytes | None
    headers: dict[str, str]


def _encoded(body: Any, headers: dict[str, str]) -> tuple[bytes | None, dict[str, str]]:
    named = {name.lower() for name in headers}
    sent = headers if "user-agent" in named else {**headers, **_OURS}
    if body is None:
        return None, sent
    if isinstance(body, str):
        return body.encode(), sent
    return json.dumps(body).encode(), sent if "content-type" in named else {**sent, **_JSON}


class _Line:
    """A socket, as much of it as ``http.client`` uses, on which all steps together may take until a deadline."""

    def __init__(self, made: socket.socket, left: Left) -> None:
        self._socket = made
        self._left = left

    def sendall(self, data: bytes) -> None:
        self._socket.settimeout(self._left())
        self._socket.sendall(data)

    def makefile(self, mode: str) -> AnswerReader:  # noqa: ARG002  # it is "rb"
        return AnswerReader(self._socket, self._left)

    def close(self) -> None:
        return  # http.client does it before the answer is read; whoever has made the socket closes it


def _answer(asked: _Asked, outbound: Outbound, left: Left) -> tuple[int, bytes]:
    """The status, and of the body a little more than is shown if there is so much."""
    url, secure = asked.url, ssl.create_default_context() if asked.url.scheme == "https" else None
    host = url.host or ""
    connection = HTTPSConnection(host, url.port, context=secure) if secure else HTTPConnection(host, url.port)
    connection.host = connection.host.strip("[]")  # which it does itself only without a port
    found = socket.getaddrinfo(connection.host, connection.port, type=socket.SOCK_STREAM)
    outbound.check_all(str(address[0]) for *_, address in found)
    with closing(_connected(connection.host, found, secure, left)) as made:
        connection.sock = _Line(made, left)
        connection.request(asked.method, url.request_uri, asked.body, asked.headers)
        with closing(connection.getresponse()) as answer:
            shown = answer.read(SHOWN_BYTES + 1)
            if answer.length and len(shown) <= SHOWN_BYTES:
                raise IncompleteRead(shown, answer.length)
            return answer.status, shown


def _connected(host: str, found: Sequence[_Found], secure: ssl.SSLContext | None, left: Left) -> socket.socket:
    """A socket to the first of these addresses that answers."""
    failure: OSError | None = None
    for family, kind, protocol, _, address in found:
        made = socket.socket(family, kind, protocol)
        try:
            made.settimeout(left())
            made.connect(address)
            made.settimeout(left())
            return secure.wrap_socket(made, server_hostname=host) if secure else made
        except OSError as error:
            failure = error
            made.close()
    raise failure or OSError("it has no address")
