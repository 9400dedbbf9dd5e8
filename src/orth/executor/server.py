"""[5] The HTTP door: ``/run`` (also ``/trigger``), ``/runs``, ``/beat``, ``/idleBeat``, ``/log``, ``/kill``, health.

Every answer is the JSON envelope that coordinators of every generation read. A request that was understood is answered
with HTTP 200 whatever the envelope says; the HTTP status tells apart what was not: 400 no such message, 401 no token,
404, 405, 408 its body did not come in time, 413, 415 not JSON by its own account, 431, 503 too many at once.
Coordinators of another make take the envelope from an answer of HTTP 200 only and show the bare number of any other.
What ``Endpoints`` refuses them is therefore told with 200; what the door turns away before it is a request has its
status for everybody.

``Endpoints`` knows requests and answers but no sockets, so tests and the in-process cluster call it directly;
``HttpDoor`` is the same behind plain ASGI, which keeps web frameworks out of the job author's environment.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, MutableMapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import Any, cast, overload

from orth.connections import known_caller
from orth.errors import OrthError, TooLarge
from orth.events import Events
from orth.executor.admission import Admission
from orth.executor.callers import Callers
from orth.executor.compiling import PREPARING_LIMIT
from orth.executor.facts import RequestFailed
from orth.executor.metrics import CONTENT_TYPE as METRICS_CONTENT_TYPE
from orth.executor.run_logs import RunLogs
from orth.executor.turned_away import EARLY, TurnedAway, reason_of
from orth.threads import StandingThreads
from orth.wire.dialects import (
    is_foreign,
    log_payload,
    not_json,
    read_idle_beat,
    read_kill,
    read_log_request,
    read_run,
    read_runs,
    run_answers_payload,
)
from orth.wire.fields import BODY_LIMIT, LOG_WAIT_LIMIT
from orth.wire.messages import LogPage, LogRequest, Reply

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
EARLY_PATIENCE = 1.0
"""Seconds for which a request is held back that may be of a coordinator whose answer to the first beat is under way."""
EARLY_AT_ONCE = 64
WAITS_AT_ONCE = 64
"""Requests that wait for a log to grow; each looks at its file once a second."""
_TAKES_LONG = ("/log", "/runs")
_LARGE = 16 * 1024
"""Bytes of a request that is read in a thread: the loop has others to answer."""
_LARGE_AT_ONCE = 6
_WAITING_AT_ONCE = PREPARING_LIMIT + 6
"""Threads for requests whose source is compiled first: as many as may wait for a large one, and some for the others."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer; the body is JSON unless ``kind`` says otherwise."""

    status: int
    body: bytes
    allow: str | None = None
    kind: bytes = b"application/json"
    unread: bool = False
    """Whether the request was not read to its end: what is left of it must not be taken for the next one."""
    told: Mapping[str, str] = field(default_factory=dict)
    """More headers."""
    turned_away: str = ""
    """Why, in one word, if the caller did not prove who it is."""


class Endpoints:
    """What each path does."""

    def __init__(
        self,
        admission: Admission,
        logs: RunLogs,
        health: Health,
        *,
        callers: Callers,
        events: Events,
        metrics: Callable[[], bytes] | None = None,
    ) -> None:
        self._admission = admission
        self._metrics = metrics
        self._logs = logs
        self._health = health
        self.callers = callers
        self._events = events
        self._triggers: dict[str, Callable[[bytes, bool], Reply | None]] = {
            "/run": self._run,
            "/trigger": self._run,
            "/runs": self._runs,
        }
        self._questions: dict[str, Callable[[bytes], Reply]] = {
            "/beat": self._beat,
            "/idleBeat": self._idle_beat,
            "/log": self._log,
            "/kill": self._kill,
        }

    @overload
    def handle(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer: ...

    @overload
    def handle(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, *, wait: bool
    ) -> Answer | None: ...

    def handle(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, *, wait: bool = True
    ) -> Answer | None:
        """Answer one request; never raises. Without ``wait``, ``None`` if a source has to be compiled first."""
        try:
            refused = self.refusal(method, path, headers)
            if refused is not None:
                return refused
            if path == OPEN_PATH:
                return self._answer_health(headers)
            if path == METRICS_PATH and self._metrics is not None:
                return Answer(200, self._metrics(), kind=METRICS_CONTENT_TYPE)
            trigger = self._triggers.get(path)
            reply = self._questions[path](body) if trigger is None else trigger(body, wait)
            return None if reply is None else Answer(200, reply.to_bytes())
        except OrthError as error:
            return _as_read_by(method, headers, _failure(error.status, str(error)))
        except Exception as bug:
            self._events.emit(RequestFailed(path, repr(bug)))
            failed = _failure(500, "This executor failed to answer; its process log says why.")
            return _as_read_by(method, headers, failed)

    def refusal(self, method: str, path: str, headers: Mapping[str, str], *, for_good: bool = True) -> Answer | None:
        """The answer to a request that need not be read further; ``None`` when it should be. If it may still be taken,
        it is not refused ``for_good``.
        """
        refused = self._refusal(method, path, headers, for_good)
        return None if refused is None else _as_read_by(method, headers, replace(refused, unread=True))

    def replayed(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer | None:
        """The answer to a signed request whose body is another one, or that came before; once for each request."""
        if path == OPEN_PATH:
            return None
        try:
            self.callers.admit(headers, body)
        except OrthError as error:
            return _as_read_by(method, headers, self._refused(error, headers))
        return None

    def proved(self, method: str, path: str, headers: Mapping[str, str], answer: Answer, *, admitted: bool) -> Answer:
        """An answer with its proof, where coordinators look for one."""
        if path not in self._triggers or answer.told:
            return answer
        told = self.callers.proof(method, path, headers, answer.status, answer.body, admitted=admitted)
        return replace(answer, told=told)

    def log_awaited(self, path: str, body: bytes) -> LogRequest | None:
        """The request, if it is one that would rather wait for new lines than be told that there are none."""
        with suppress(OrthError):
            asked = read_log_request(body) if path == "/log" else None
            return asked if asked is not None and asked.wait and not asked.tail else None
        return None

    async def log_grown(self, asked: LogRequest) -> None:
        """Return when there is something to read, when nothing will come any more, or when the time is over."""

        def finished() -> bool:
            return not self._admission.is_open(asked.log_id)

        pages = self._logs.follow(asked.log_id, asked.log_date_time, asked.from_line_num, finished=finished)
        with suppress(TimeoutError, OrthError):  # that there can be no such log is told when it is read
            async with asyncio.timeout(min(asked.wait or 0, LOG_WAIT_LIMIT)):
                async with aclosing(cast(AsyncGenerator[LogPage, None], pages)):
                    await anext(pages)

    def _refusal(self, method: str, path: str, headers: Mapping[str, str], for_good: bool) -> Answer | None:
        if path == OPEN_PATH:
            return None if method in ("GET", "HEAD") else _failure(405, f"{path} takes GET.", allow="GET")
        takes = "GET" if path == METRICS_PATH and self._metrics is not None else "POST"
        if path not in self._triggers and path not in self._questions and takes != "GET":
            return _failure(404, f"There is nothing at {path}.")
        if method != takes:
            return _failure(405, f"{path} takes {takes}.", allow=takes)
        try:
            self.callers.check(method, path, headers)
        except OrthError as error:
            return self._refused(error, headers, for_good=for_good)
        told = None if path == "/beat" else not_json(headers)  # a beat has no content
        return None if told is None else _failure(415, told)

    def _refused(self, error: OrthError, headers: Mapping[str, str], *, for_good: bool = True) -> Answer:
        told = self.callers.correction(error, headers, for_good=for_good)
        return replace(_failure(error.status, error.message), told=told, turned_away=reason_of(error))

    def _run(self, body: bytes, wait: bool) -> Reply | None:
        request = read_run(body)
        return self._admission.run(request) if wait or self._admission.is_prepared([request]) else None

    def _runs(self, body: bytes, wait: bool) -> Reply | None:
        requests = read_runs(body)
        if not wait and not self._admission.is_prepared(requests):
            return None
        return Reply.success(run_answers_payload(self._admission.run_all(requests)))

    def _beat(self, body: bytes) -> Reply:  # noqa: ARG002  # being asked is the whole message; some send a body
        return Reply.success()

    def _idle_beat(self, body: bytes) -> Reply:
        return self._admission.idle_beat(read_idle_beat(body))

    def _kill(self, body: bytes) -> Reply:
        return self._admission.kill(read_kill(body))

    def _log(self, body: bytes) -> Reply:
        asked = read_log_request(body)
        finished = not self._admission.is_open(asked.log_id)  # asked before reading: a last line may come in between
        if asked.tail:
            page = self._logs.tail(asked.log_id, asked.log_date_time, asked.tail, finished=finished)
        else:
            whose = asked.log_id, asked.log_date_time
            page = self._logs.read(*whose, asked.from_line_num, finished=finished, lines=asked.lines)
        if asked.progress:
            page = page.model_copy(update={"progress": self._admission.progress_of(asked.log_id)})
        return Reply.success(log_payload(page))

    def _answer_health(self, headers: Mapping[str, str]) -> Answer:
        """Anybody may learn whether this process works; how much it has to do, only those with the token. Who signs
        what is not accepted learns why, as everywhere.
        """
        shown, told = self._health(), {}
        status = 200 if shown["status"] == "ok" else 503
        try:
            self.callers.check("GET", OPEN_PATH, headers)
        except OrthError as error:
            shown, told = {"status": shown["status"]}, dict(self.callers.correction(error, headers))
        return Answer(status, json.dumps(shown).encode(), told=told)


def _failure(status: int, message: str, *, allow: str | None = None, unread: bool = False) -> Answer:
    return Answer(status, Reply.failure(message).to_bytes(), allow, unread=unread)


def _as_read_by(method: str, headers: Mapping[str, str], failure: Answer) -> Answer:
    """The refusal so that its caller sees the reason."""
    return replace(failure, status=200, allow=None) if method == "POST" and is_foreign(headers) else failure


class HttpDoor:
    """The endpoints as an ASGI application."""

    def __init__(self, endpoints: Endpoints, *, turned_away: TurnedAway, body_deadline: float = BODY_DEADLINE) -> None:
        self._endpoints = endpoints
        self._turned_away = turned_away
        self._body_deadline = body_deadline
        self._inside = 0
        self._large = StandingThreads(_LARGE_AT_ONCE, "orth-request")
        self._waiting = StandingThreads(_WAITING_AT_ONCE, "orth-waiting")
        self.waiting = 0
        """Requests that wait for a log to grow."""

    def close(self) -> None:
        """Let the threads go; no request is answered any more."""
        self._large.shutdown(wait=False)
        self._waiting.shutdown(wait=False)

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
        if answer.turned_away:
            self._turned_away.note(_peer(scope), scope["path"], answer.turned_away)
        headers = [(b"content-type", answer.kind), (b"content-length", str(len(answer.body)).encode())]
        if answer.allow is not None:
            headers.append((b"allow", answer.allow.encode()))
        if answer.unread:
            headers.append((b"connection", b"close"))
        headers += [(name.lower().encode(), value.encode()) for name, value in answer.told.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else answer.body})

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        method, path = scope["method"], scope["path"]
        if sum(len(name) + len(value) for name, value in scope["headers"]) > HEAD_LIMIT:
            return _failure(431, f"The headers of the request are larger than {HEAD_LIMIT} bytes.", unread=True)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if headers.get("upgrade", "").lower() == "websocket":
            return _failure(400, "This executor speaks plain HTTP, no WebSocket.", unread=True)
        refused = self._endpoints.refusal(method, path, headers, for_good=False)
        if refused is not None and refused.turned_away == EARLY and self._inside <= EARLY_AT_ONCE:
            await self._endpoints.callers.known(EARLY_PATIENCE)
        if refused is not None:
            refused = self._endpoints.refusal(method, path, headers)
        if refused is not None:
            return self._endpoints.proved(method, path, headers, refused, admitted=False)
        answer, admitted = await self._read_and_answer(scope, receive, headers)
        return self._endpoints.proved(method, path, headers, answer, admitted=admitted)

    async def _read_and_answer(self, scope: Scope, receive: Receive, headers: Mapping[str, str]) -> tuple[Answer, bool]:
        """The answer to a request that is not refused at once, and whether the request was admitted."""
        method, path = scope["method"], scope["path"]
        if path != OPEN_PATH:
            known_caller(scope, f"callers at {_peer(scope)}")
        if self._inside > REQUESTS_AT_ONCE:
            return _failure(503, f"This executor answers {REQUESTS_AT_ONCE} requests already.", unread=True), False
        try:
            async with asyncio.timeout(self._body_deadline):
                body = await _read_body(headers, receive)
        except TimeoutError:
            return _failure(408, f"The request did not arrive within {self._body_deadline:g} s.", unread=True), False
        except TooLarge as error:
            return _failure(error.status, str(error), unread=True), False
        replayed = self._endpoints.replayed(method, path, headers, body)
        if replayed is not None:
            return replayed, False
        if path != OPEN_PATH:
            self._turned_away.proved(_peer(scope))
        await self._wait_for_log(path, body, receive)
        return await self._handled(method, path, headers, body), True

    async def _handled(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """The answer, by whoever has the time: the loop itself, or a thread."""
        loop = asyncio.get_running_loop()

        def at_once() -> Answer | None:
            return self._endpoints.handle(method, path, headers, body, wait=False)

        if len(body) > _LARGE:
            answer = await loop.run_in_executor(self._large, at_once)
        elif path in _TAKES_LONG:
            answer = await asyncio.to_thread(at_once)
        else:
            answer = at_once()
        if answer is not None:
            return answer
        return await loop.run_in_executor(self._waiting, self._endpoints.handle, method, path, headers, body)

    async def _wait_for_log(self, path: str, body: bytes, receive: Receive) -> None:
        """Wait if the request wants to; beyond the bound it is answered at once, and asks again."""
        asked = self._endpoints.log_awaited(path, body)
        if asked is None or self.waiting >= WAITS_AT_ONCE:
            return
        self._inside -= 1
        self.waiting += 1
        try:
            await _unless_gone(self._endpoints.log_grown(asked), receive)
        finally:
            self.waiting -= 1
            self._inside += 1


def _peer(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else "unknown"


class _Gone(Exception):
    """The caller left before it could be answered: there is nothing to do and nobody to answer."""


async def _unless_gone(work: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Do ``work`` to its end, or give it up when the caller leaves. Its request has been read."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_departure(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise _Gone
        working.result()
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.wait((working, leaving))


async def _departure(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


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
