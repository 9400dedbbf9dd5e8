"""[5] The HTTP door: ``/run`` (also ``/trigger``), ``/runs``, ``/beat``, ``/idleBeat``, ``/log``, ``/kill``, health.

Every answer is the JSON envelope that coordinators of every generation read. A request that was understood is answered
with HTTP 200 whatever the envelope says; the HTTP status tells apart what was not: 400 no such message, 401 no token,
404, 405, 408 its body did not come in time, 413, 431, 503 too many at once. ``Endpoints`` knows requests and answers
but no sockets, so tests and the in-process cluster call it directly; ``HttpDoor`` is the same behind plain ASGI, which
keeps web frameworks out of the job author's environment.
"""

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from orth.errors import OrthError, TooLarge, Unauthenticated
from orth.events import Events
from orth.executor.admission import Admission
from orth.executor.facts import RequestFailed
from orth.executor.metrics import CONTENT_TYPE as METRICS_CONTENT_TYPE
from orth.executor.run_logs import RunLogs
from orth.wire.dialects import (
    log_payload,
    read_idle_beat,
    read_kill,
    read_log_request,
    read_run,
    read_runs,
    run_answers_payload,
    token_from,
)
from orth.wire.messages import BODY_LIMIT, Reply

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Health = Callable[[], dict[str, object]]

OPEN_PATH = "/health"
METRICS_PATH = "/metrics"
HEAD_LIMIT = 64 * 1024
"""Bytes of all headers of a request."""
BODY_DEADLINE = 10.0
"""Seconds within which the whole body of a request has to arrive."""
REQUESTS_AT_ONCE = 256
"""Requests being read or answered; a body of each may be in memory."""
_TAKES_LONG = ("/log", "/runs")


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer; the body is JSON unless ``kind`` says otherwise."""

    status: int
    body: bytes
    allow: str | None = None
    kind: bytes = b"application/json"


class Endpoints:
    """What each path does."""

    def __init__(
        self,
        admission: Admission,
        logs: RunLogs,
        health: Health,
        *,
        token: str,
        events: Events,
        metrics: Callable[[], bytes] | None = None,
    ) -> None:
        self._admission = admission
        self._metrics = metrics
        self._logs = logs
        self._health = health
        self._token = token.encode()
        self._events = events
        self._by_path: dict[str, Callable[[bytes], Reply]] = {
            "/run": self._run,
            "/trigger": self._run,
            "/runs": self._runs,
            "/beat": self._beat,
            "/idleBeat": self._idle_beat,
            "/log": self._log,
            "/kill": self._kill,
        }

    def handle(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Answer one request; never raises."""
        try:
            refused = self.refusal(method, path, headers)
            if refused is not None:
                return refused
            if path == OPEN_PATH:
                return self._answer_health(headers)
            if path == METRICS_PATH and self._metrics is not None:
                return Answer(200, self._metrics(), kind=METRICS_CONTENT_TYPE)
            return Answer(200, self._by_path[path](body).to_bytes())
        except OrthError as error:
            return _failure(error.status, str(error))
        except Exception as bug:
            self._events.emit(RequestFailed(path, repr(bug)))
            return _failure(500, "This executor failed to answer; its process log says why.")

    def refusal(self, method: str, path: str, headers: Mapping[str, str]) -> Answer | None:
        """The answer to a request that need not be read further; ``None`` when it should be."""
        if path == OPEN_PATH:
            return None if method in ("GET", "HEAD") else _failure(405, f"{path} takes GET.", allow="GET")
        takes = "GET" if path == METRICS_PATH and self._metrics is not None else "POST"
        if path not in self._by_path and takes != "GET":
            return _failure(404, f"There is nothing at {path}.")
        if method != takes:
            return _failure(405, f"{path} takes {takes}.", allow=takes)
        if not self._is_ours(headers):
            return _failure(Unauthenticated.status, "The access token is missing or is not the one of this executor.")
        return None

    def _is_ours(self, headers: Mapping[str, str]) -> bool:
        token = token_from(headers)
        return token is not None and hmac.compare_digest(token.encode(), self._token)

    def _run(self, body: bytes) -> Reply:
        return self._admission.run(read_run(body))

    def _runs(self, body: bytes) -> Reply:
        return Reply.success(run_answers_payload(self._admission.run_all(read_runs(body))))

    def _beat(self, body: bytes) -> Reply:  # noqa: ARG002  # being asked is the whole message; some send a body
        return Reply.success()

    def _idle_beat(self, body: bytes) -> Reply:
        return self._admission.idle_beat(read_idle_beat(body))

    def _kill(self, body: bytes) -> Reply:
        return self._admission.kill(read_kill(body))

    def _log(self, body: bytes) -> Reply:
        asked = read_log_request(body)
        finished = not self._admission.is_open(asked.log_id)  # asked before reading: a last line may come in between
        page = self._logs.read(asked.log_id, asked.log_date_time, asked.from_line_num, finished=finished)
        return Reply.success(log_payload(page))

    def _answer_health(self, headers: Mapping[str, str]) -> Answer:
        """Anybody may learn whether this process works; how much it has to do, only those with the token."""
        health = self._health()
        shown = health if self._is_ours(headers) else {"status": health["status"]}
        return Answer(200 if health["status"] == "ok" else 503, json.dumps(shown).encode())


def _failure(status: int, message: str, *, allow: str | None = None) -> Answer:
    return Answer(status, Reply.failure(message).to_bytes(), allow)


class HttpDoor:
    """The endpoints as an ASGI application."""

    def __init__(self, endpoints: Endpoints, *, body_deadline: float = BODY_DEADLINE) -> None:
        self._endpoints = endpoints
        self._body_deadline = body_deadline
        self._inside = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        self._inside += 1
        try:
            answer = await self._answer(scope, receive)
        except _Gone:
            return
        finally:
            self._inside -= 1
        headers = [(b"content-type", answer.kind), (b"content-length", str(len(answer.body)).encode())]
        if answer.allow is not None:
            headers.append((b"allow", answer.allow.encode()))
        if answer.status in _UNREAD:
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else answer.body})

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        method, path = scope["method"], scope["path"]
        if sum(len(name) + len(value) for name, value in scope["headers"]) > HEAD_LIMIT:
            return _failure(431, f"The headers of the request are larger than {HEAD_LIMIT} bytes.")
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._endpoints.refusal(method, path, headers)
        if refused is not None:
            return refused
        if self._inside > REQUESTS_AT_ONCE:
            return _failure(503, f"This executor answers {REQUESTS_AT_ONCE} requests already.")
        try:
            async with asyncio.timeout(self._body_deadline):
                body = await _read_body(headers, receive)
        except TimeoutError:
            return _failure(408, f"The request did not arrive within {self._body_deadline:g} s.")
        except TooLarge as error:
            return _failure(error.status, str(error))
        if path in _TAKES_LONG:
            return await asyncio.to_thread(self._endpoints.handle, method, path, headers, body)
        return self._endpoints.handle(method, path, headers, body)


class _Gone(Exception):
    """The caller left before the request was complete: there is nothing to do and nobody to answer."""


# What is left of such a request on its connection must not be taken for the next one.
_UNREAD = (401, 404, 405, 408, 413, 431, 503)


async def _read_body(headers: Mapping[str, str], receive: Receive) -> bytes:
    """The whole body; stops reading as soon as it is known to be too large."""
    announced = headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > BODY_LIMIT:
        raise _too_large()
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        body += message.get("body", b"")
        if len(body) > BODY_LIMIT:
            raise _too_large()
        if not message.get("more_body", False):
            return bytes(body)


def _too_large() -> TooLarge:
    return TooLarge(f"The request is larger than {BODY_LIMIT} bytes.")
