"""One HTTP request to an address somebody configured, and why there was no answer."""

import errno
import json
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import urllib3
from urllib3 import exceptions

from orth.wire.bounded_http import bounded_pool
from orth.wire.trusting import trusting

PATIENCE = 3.0
"""Seconds one request may take."""
_READ_LIMIT = 4 * 1024 * 1024
_AGENT = "orth-doctor"


class Silence(Enum):
    """Why there was no answer, and the step that usually helps."""

    NAME = "its name does not resolve"
    REFUSED = "nothing listens there"
    TIMEOUT = "there was no answer in time"
    UNREACHABLE = "the machine cannot be reached"
    CERTIFICATE = "its certificate is not accepted"
    PLAIN = "it speaks plain HTTP"
    STRANGE = "what answers does not speak HTTP"
    OTHER = "it cannot be asked"


class NoAnswer(Exception):
    """Nobody answered, or not in HTTP."""

    def __init__(self, silence: Silence, detail: str = "") -> None:
        super().__init__(f"{silence.value}{f' ({detail})' if detail else ''}")
        self.silence = silence


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # Any: whatever somebody answered
        """The body, or None if it is not JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


def ask(url: str, *, headers: Mapping[str, str] | None = None, ca_file: Path | None = None) -> Answer:
    """GET ``url``, without following redirects; ``NoAnswer`` says why there is none."""
    tls = trusting(ca_file) if url.startswith("https:") else None
    pool = bounded_pool(retries=False, timeout=urllib3.Timeout(total=PATIENCE), ssl_context=tls)
    try:
        sent = {"User-Agent": _AGENT, "Accept": "application/json", **(headers or {})}
        answer = pool.request("GET", url, headers=sent, redirect=False, preload_content=False)
        body = answer.read(_READ_LIMIT)
        return Answer(answer.status, answer.headers, body)
    except (exceptions.HTTPError, OSError, ValueError) as error:
        raise _no_answer(error) from None
    finally:
        pool.clear()


def bearer(token: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


def _no_answer(error: Exception) -> NoAnswer:
    if isinstance(error, exceptions.NameResolutionError | socket.gaierror):
        return NoAnswer(Silence.NAME)
    if isinstance(error, exceptions.SSLError | ssl.SSLError):
        return _no_tls(error)
    number = _number(error)  # before the time: urllib3 counts a refused connection among those that took too long
    if number == errno.ECONNREFUSED:
        return NoAnswer(Silence.REFUSED)
    if number in (errno.EHOSTUNREACH, errno.ENETUNREACH):
        return NoAnswer(Silence.UNREACHABLE)
    if isinstance(error, exceptions.TimeoutError | TimeoutError):
        return NoAnswer(Silence.TIMEOUT)
    if isinstance(error, exceptions.ProtocolError):
        return NoAnswer(Silence.STRANGE)
    return NoAnswer(Silence.OTHER, type(error).__name__)


def _no_tls(error: Exception) -> NoAnswer:
    cause = _caused_by(error, ssl.SSLError)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return NoAnswer(Silence.CERTIFICATE, cause.verify_message)
    text = str(cause or error)
    if "WRONG_VERSION_NUMBER" in text or "RECORD_LAYER_FAILURE" in text:
        return NoAnswer(Silence.PLAIN)
    return NoAnswer(Silence.OTHER, "TLS")


def _number(error: Exception) -> int | None:
    cause = _caused_by(error, OSError)
    return cause.errno if isinstance(cause, OSError) else None


def _caused_by(error: BaseException, kind: type[BaseException]) -> BaseException | None:
    """The first error of ``kind`` behind ``error``: urllib3 wraps, in arguments and as causes."""
    seen: list[BaseException] = [error]
    for one in seen:
        if isinstance(one, kind):
            return one
        inner = (one.__cause__, one.__context__, *one.args)
        seen += [other for other in inner if isinstance(other, BaseException) and other not in seen]
    return None
