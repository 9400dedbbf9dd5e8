"""Why an exchange over the network failed, in one vocabulary.

urllib3, aiohttp, websockets, ssl, the system and the clients of databases and Redis word the same failure in as many
ways, some with the ``repr`` of an object of theirs. People get ours: ``127.0.0.1:31999 refused the connection``.
Programs decide by the ``Reason``, never by the words.
"""

import asyncio
import errno
import os
import re
import socket
import ssl
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import urlsplit

from orth.wire.resolver import NameUnanswered

_ERRNO = re.compile(r"\[Errno (\d+)\]")
_LIBRARY_NAMES = {
    "NameResolutionError": "name",
    "NameUnanswered": "name",
    "ServerDisconnectedError": "closed",
    "ConnectionClosedError": "closed",
    "ConnectionClosedOK": "closed",
    "RemoteDisconnected": "closed",
    "IncompleteRead": "closed",
    "SMTPServerDisconnected": "closed",
    "Overdue": "silent",
    "ConnectTimeoutError": "silent",
    "ReadTimeoutError": "silent",
    "ProtocolError": "not_http",
    "ClientPayloadError": "not_http",
    "ClientResponseError": "not_http",
    "BadStatusLine": "not_http",
    "HttpParserError": "not_http",
    "InvalidMessage": "not_http",
    "InvalidHandshake": "not_http",
}
"""Classes by name: an executor has no aiohttp, and a coordinator may have no urllib3 loaded."""


_CLIENT_NAMES = {"ConnectionError": "closed", "TimeoutError": "silent", "InvalidResponse": "protocol"}
"""Classes of the client of Redis, by their own name: their subclasses mean something else."""
_LOST_BY_PYMYSQL = (2006, 2013, 2055)


class Reason(StrEnum):
    NAME = "name"
    REFUSED = "refused"
    SILENT = "silent"
    UNREACHABLE = "unreachable"
    CLOSED = "closed"
    CERTIFICATE = "certificate"
    NO_TLS = "no_tls"
    TLS = "tls"
    NOT_HTTP = "not_http"
    PROTOCOL = "protocol"
    DESCRIPTORS = "descriptors"
    OURS = "ours"
    OTHER = "other"


_WORDS = {
    Reason.NAME: "has a host name that does not resolve",
    Reason.REFUSED: "refused the connection",
    Reason.SILENT: "did not answer in time",
    Reason.UNREACHABLE: "cannot be reached: there is no route to the host",
    Reason.CLOSED: "closed the connection",
    Reason.CERTIFICATE: "shows a certificate that is not accepted",
    Reason.NO_TLS: "does not speak TLS",
    Reason.TLS: "cannot agree on TLS",
    Reason.NOT_HTTP: "does not answer in HTTP",
    Reason.PROTOCOL: "does not speak the expected protocol",
    Reason.DESCRIPTORS: "cannot be called: this process may open no more files",
    Reason.OURS: "failed",
    Reason.OTHER: "cannot be called",
}
_BY_ERRNO = {
    errno.ECONNREFUSED: Reason.REFUSED,
    errno.EHOSTUNREACH: Reason.UNREACHABLE,
    errno.ENETUNREACH: Reason.UNREACHABLE,
    errno.ETIMEDOUT: Reason.SILENT,
    errno.ECONNRESET: Reason.CLOSED,
    errno.ECONNABORTED: Reason.CLOSED,
    errno.EPIPE: Reason.CLOSED,
    errno.EMFILE: Reason.DESCRIPTORS,
    errno.ENFILE: Reason.DESCRIPTORS,
}
_BY_LIBPQ = {
    "failed to resolve host": Reason.NAME,
    "could not translate host name": Reason.NAME,
    "timeout expired": Reason.SILENT,
    "server closed the connection unexpectedly": Reason.CLOSED,
    "certificate verify failed": Reason.CERTIFICATE,
    "server does not support SSL": Reason.NO_TLS,
    **{os.strerror(number): reason for number, reason in _BY_ERRNO.items()},
    os.strerror(errno.ENOENT): Reason.REFUSED,
}
"""psycopg hands the words of libpq on, and neither a number nor a cause."""


class Finding(NamedTuple):
    """Why an exchange failed; ``detail`` is what the other side's certificate, or our own rule, says besides."""

    reason: Reason
    detail: str = ""


def place_of(url: str) -> str:
    """An address for people: host and port of a URL, anything else as it is."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or url
    except ValueError:  # an address that is none
        return url


def network_sentence(url: str, error: BaseException) -> str:
    """What an error says of an address, without a full stop: ``127.0.0.1:31999 refused the connection``."""
    return f"{place_of(url)} {network_reason(error)}"


def network_reason(error: BaseException) -> str:
    """The same without the address."""
    reason, detail = network_finding(error)
    return f"{_WORDS[reason]}: {detail}" if detail else _WORDS[reason]


def network_finding(error: BaseException) -> Finding:
    chain = _chain(error)
    for one in chain:
        if type(one).__module__.startswith("orth.") and type(one).__name__ not in _LIBRARY_NAMES:
            return Finding(Reason.OURS, str(one).rstrip("."))
    for one in chain:
        if isinstance(one, ssl.SSLError) and type(one).__module__ == "ssl":  # aiohttp's say less
            return _of_tls(one)
    for one in chain:
        if isinstance(one, socket.gaierror):
            return Finding(Reason.NAME, one.detail if isinstance(one, NameUnanswered) else "")
        if (reason := _BY_ERRNO.get(_number(one))) is not None:
            return Finding(reason)
    for one in chain:
        found = next(
            (_LIBRARY_NAMES[kind.__name__] for kind in type(one).__mro__ if kind.__name__ in _LIBRARY_NAMES), None
        )
        if found is not None and not (found == "not_http" and len(chain) > 1 and _later_closes(chain)):
            return Finding(Reason(found))
        if isinstance(one, TimeoutError | asyncio.TimeoutError):
            return Finding(Reason.SILENT)
        if isinstance(one, EOFError | ConnectionError):
            return Finding(Reason.CLOSED)
    found_in_client = next((reason for one in chain if (reason := _of_client(one)) is not None), None)
    return Finding(Reason.OTHER, type(error).__name__) if found_in_client is None else Finding(found_in_client)


def _later_closes(chain: list[BaseException]) -> bool:
    """A library's error about the protocol may only wrap a connection that ended."""
    return any(_LIBRARY_NAMES.get(type(one).__name__) == "closed" or isinstance(one, EOFError) for one in chain)


def _of_client(error: BaseException) -> Reason | None:
    """What a client of a database or of Redis says that has no error of the system for it."""
    library = type(error).__module__.partition(".")[0]
    if library == "redis":
        name = _CLIENT_NAMES.get(type(error).__name__)
        return None if name is None else Reason(name)
    if library == "pymysql":
        return Reason.CLOSED if error.args[:1] and error.args[0] in _LOST_BY_PYMYSQL else None
    if library == "psycopg" and getattr(error, "sqlstate", None) is None and "FATAL:" not in str(error):
        return next((reason for words, reason in _BY_LIBPQ.items() if words in str(error)), None)
    return None


def _of_tls(error: ssl.SSLError) -> Finding:
    if isinstance(error, ssl.SSLCertVerificationError):
        return Finding(Reason.CERTIFICATE, error.verify_message)
    if error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG"):
        return Finding(Reason.NO_TLS)
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return Finding(Reason.CLOSED)
    return Finding(Reason.TLS, (error.reason or "").replace("_", " ").lower())


def _number(error: BaseException) -> int:
    """The number of the system; of several attempts at one name, that of the first."""
    if not isinstance(error, OSError):
        return 0
    told = _ERRNO.search(str(error))
    return error.errno or (int(told[1]) if told else 0)


def _chain(error: BaseException) -> list[BaseException]:
    """``error`` and all that it wraps: libraries keep the cause in arguments, attributes and causes."""
    found: list[BaseException] = [error]
    for one in found:
        inner = (
            one.__cause__,
            one.__context__,
            getattr(one, "os_error", None),
            getattr(one, "reason", None),
            *one.args,
        )
        found += [other for other in inner if isinstance(other, BaseException) and other not in found]
    return found
