"""One HTTP request to an address somebody configured, and why there was no answer."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import urllib3
from urllib3 import exceptions

from orth.wire.bounded_http import bounded_pool
from orth.wire.network_reasons import Reason, network_finding
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


_SILENCES = {
    Reason.NAME: Silence.NAME,
    Reason.REFUSED: Silence.REFUSED,
    Reason.SILENT: Silence.TIMEOUT,
    Reason.UNREACHABLE: Silence.UNREACHABLE,
    Reason.CERTIFICATE: Silence.CERTIFICATE,
    Reason.NO_TLS: Silence.PLAIN,
    Reason.NOT_HTTP: Silence.STRANGE,
    Reason.CLOSED: Silence.STRANGE,
}


def _no_answer(error: Exception) -> NoAnswer:
    reason, detail = network_finding(error)
    silence = _SILENCES.get(reason, Silence.OTHER)
    return NoAnswer(silence, detail or ("" if silence is not Silence.OTHER else type(error).__name__))
