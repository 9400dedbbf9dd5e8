"""What a coordinator says to executors.

The one question that matters after a failed call is whether the executor may have got it. ``NotSent`` says that it
surely has not: there never was a connection, so the trigger may go elsewhere. ``AnswerUnknown`` says that it may have:
once a connection is there, bytes may have left, and neither a timeout nor a reset tells whether they arrived. A gateway
that answers for its silent neighbour (408, 502, 504, 524) is no wiser. An unknown trigger is never "failed": the
executor is asked about it.

An answer that did arrive is a ``Reply``, and its code decides. A redirect is not followed: the executor's address is
what was registered, and a request with a token in it goes nowhere else.

Connections are kept, for the next call, to executors of ours alone. Some of another make serve one connection at a
time: one that is kept, by whatever call of whichever coordinator, would shut out every other. So each call to them has
its own, which ends with the answer.
"""

import asyncio
import codecs
import errno
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ssl import SSLContext
from types import SimpleNamespace
from typing import Any, Protocol

import aiohttp
from yarl import URL

from orth.errors import InvalidMessage, Unavailable
from orth.sayings import SAYINGS
from orth.wire.addresses import checked_address
from orth.wire.credentials import Credential, Credentials, Proofs, not_let_in
from orth.wire.dialects import (
    CONTENT_TYPE,
    Dialect,
    auth_headers,
    idle_beat_body,
    kill_body,
    log_body,
    read_log_page,
    read_reply,
    read_run_answers,
    run_body,
    runs_body,
)
from orth.wire.fields import LOG_WAIT_LIMIT, SMALL_BODY_LIMIT, whole_number
from orth.wire.guarded import GuardedCalls
from orth.wire.long_logs import LongLog
from orth.wire.messages import Extension, LogPage, LogRequest, Reply, RunAnswer, RunRequest
from orth.wire.outbound import Outbound
from orth.wire.signatures import RECEIVER_HEADER, TRIES, Signer
from orth.wire.strict_json import parse

LOG_REPLY_LIMIT = 16 * 1024 * 1024
STATE_REPLY_LIMIT = 8 * 1024
"""Bytes of an answer about how an executor is. Hundreds of them are read in a second, whoever wrote them."""
BATCH_REPLY_LIMIT = 1024 * 1024
"""Bytes of the answer to many triggers."""
"""Bytes of a page of log that is read as a whole."""

_NO_EXTENSIONS: frozenset[str] = frozenset()
_GATEWAY_FAILED = (408, 502, 504, 524)
_AT_THE_DOOR = (401, 403, 429, 503)
"""Statuses of somebody who does not let us in now: who is behind the door, nobody knows."""
_DOOR_FULL = 503
_KEEP_ALIVE = 3.0
"""Seconds a connection waits for its next use. Less than any server's own limit: a server that closes the connection
just as the next trigger is written would leave that trigger unknown."""


class NotSent(Unavailable):
    """The executor surely did not get it."""

    kind = "not-sent"

    @property
    def nobody_listens(self) -> bool:
        """Whether the machine was reached and said that no process has this port: not silence, nor a missing route."""
        return isinstance(self.__cause__, OSError) and self.__cause__.errno == errno.ECONNREFUSED


class NotLetIn(NotSent):
    """An executor of ours is there and accepts nothing of what is known for it: it was restarted a moment ago, or
    somebody else has registered its address. It has done nothing, and its next beat sets it right.
    """

    def __init__(self, address: str, said: str | None) -> None:
        facts = {"address": address, "said": said or "no word"}
        super().__init__(SAYINGS["executor_does_not_accept"][0].format(**facts))
        self.code, self.facts = "executor_does_not_accept", facts


class AnswerUnknown(Unavailable):
    """The executor may have got it, and may be doing it."""

    kind = "answer-unknown"


class NotAnExecutor(Unavailable):
    """Something answers at the address, and not as an executor does."""

    kind = "not-an-executor"

    def __init__(self, address: str, status: int, said: str | None) -> None:
        facts = {"address": address, "said": said or f"HTTP {status}"}
        super().__init__(SAYINGS["no_executor_there"][0].format(**facts))
        self.code, self.facts = "no_executor_there", facts
        self.status = status


class ExecutorLink(Protocol):
    """The way to the executors, as the coordinator's parts see it. Each call says for which app it is made: several may
    be at one address, each with a token of its own.
    """

    async def run(
        self,
        address: str,
        request: RunRequest,
        *,
        token: str,
        app_name: str,
        extensions: frozenset[str] = _NO_EXTENSIONS,
        dialect: Dialect = Dialect.AUTO,
    ) -> Reply: ...

    async def run_all(
        self,
        address: str,
        requests: Sequence[RunRequest],
        *,
        token: str,
        app_name: str,
        extensions: frozenset[str] = _NO_EXTENSIONS,
    ) -> list[RunAnswer | None]: ...

    async def beat(self, address: str, *, token: str, app_name: str, dialect: Dialect = Dialect.AUTO) -> Reply: ...

    async def idle_beat(
        self, address: str, job_id: int, *, token: str, app_name: str, dialect: Dialect = Dialect.AUTO
    ) -> Reply: ...

    async def kill(
        self,
        address: str,
        job_id: int,
        log_id: int | None = None,
        *,
        token: str,
        app_name: str,
        extensions: frozenset[str] = _NO_EXTENSIONS,
        dialect: Dialect = Dialect.AUTO,
    ) -> Reply: ...

    async def log(
        self,
        address: str,
        request: LogRequest,
        *,
        token: str,
        app_name: str,
        extensions: frozenset[str] = _NO_EXTENSIONS,
        dialect: Dialect = Dialect.AUTO,
    ) -> LogPage: ...

    def log_pages(
        self, address: str, request: LogRequest, *, token: str, app_name: str, dialect: Dialect = Dialect.AUTO
    ) -> AsyncGenerator[LogPage, None]: ...


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a call has to show of itself, unless somebody knows better."""

    token: str
    dialect: Dialect
    app_name: str
    ours: bool = False
    """Whether it goes to one that has announced extensions."""


@dataclass(slots=True)
class _Passage:
    """How far one request came."""

    connected: bool = False


class ExecutorCalls(GuardedCalls):
    """The way to the executors over HTTP; open it inside the event loop that uses it.

    Without ``credentials`` everybody is shown the token that comes with the call. ``log_patience`` is how many seconds
    each page may take of a log that is read while it comes: its executor may have to read a large file first.
    """

    def __init__(
        self,
        *,
        timeout: float = 3.0,
        connections: int = 1_000,
        per_executor: int = 64,
        outbound: Outbound | None = None,
        credentials: Credentials | None = None,
        signer: Signer | None = None,
        tls: SSLContext | None = None,
        log_patience: float | None = None,
    ) -> None:
        super().__init__(outbound, tls, timeout)
        self._log_patience = log_patience or timeout
        self._connections = connections
        self._per_executor = per_executor
        self._credentials = credentials
        self._proofs = Proofs(credentials, signer) if credentials is not None and signer is not None else None
        self._opened_once: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        await super().open()
        self._opened_once = self._session_with(force_close=True)

    async def close(self) -> None:
        await super().close()
        if self._opened_once is not None:
            await self._opened_once.close()
            self._opened_once = None

    def _open_session(self) -> aiohttp.ClientSession:
        return self._session_with(keepalive_timeout=_KEEP_ALIVE)

    def _session_with(self, **keeping: Any) -> aiohttp.ClientSession:
        tracing = aiohttp.TraceConfig()
        tracing.on_connection_create_end.append(_note_connection)
        tracing.on_connection_reuseconn.append(_note_connection)
        return self._session_over(
            tracing=tracing,
            headers={"Content-Type": CONTENT_TYPE},
            limit=self._connections,
            limit_per_host=self._per_executor,
            **keeping,
        )

    @property
    def _once(self) -> aiohttp.ClientSession:
        """For executors of another make: no connection of it is used twice."""
        assert self._opened_once is not None, "opened before it is used"
        return self._opened_once

    async def run(
        self,
        address: str,
        request: RunRequest,
        *,
        token: str,
        app_name: str = "",
        extensions: frozenset[str] = _NO_EXTENSIONS,
        dialect: Dialect = Dialect.AUTO,
    ) -> Reply:
        """Hand over one execution."""
        path, body = run_body(request, dialect, extensions)
        return await self._call(address, path, body, _Shown(token, dialect, app_name, bool(extensions)))

    async def run_all(
        self,
        address: str,
        requests: Sequence[RunRequest],
        *,
        token: str,
        app_name: str = "",
        extensions: frozenset[str] = _NO_EXTENSIONS,
    ) -> list[RunAnswer | None]:
        """Hand over many executions in one request; the answer to each, None where there is none."""
        path, body = runs_body(requests, extensions)
        shown = _Shown(token, Dialect.ORTH, app_name, True)
        status, answer = await self._exchange(address, path, body, shown, BATCH_REPLY_LIMIT)
        return read_batch(status, answer, requests)

    async def beat(self, address: str, *, token: str, app_name: str = "", dialect: Dialect = Dialect.AUTO) -> Reply:
        """Is the process there? The body is an empty object: some executors fail on an empty body. ``NotAnExecutor``
        when something else answers.
        """
        shown = _Shown(token, dialect, app_name)
        return read_beat(address, *await self._exchange(address, "/beat", b"{}", shown, STATE_REPLY_LIMIT))

    async def idle_beat(
        self, address: str, job_id: int, *, token: str, app_name: str = "", dialect: Dialect = Dialect.AUTO
    ) -> Reply:
        """Is the job idle there? 200 says yes. ``NotAnExecutor`` when it is not an executor who says no."""
        shown = _Shown(token, dialect, app_name)
        body = idle_beat_body(job_id)
        return read_state(address, *await self._exchange(address, "/idleBeat", body, shown, STATE_REPLY_LIMIT))

    async def kill(
        self,
        address: str,
        job_id: int,
        log_id: int | None = None,
        *,
        token: str,
        app_name: str = "",
        extensions: frozenset[str] = _NO_EXTENSIONS,
        dialect: Dialect = Dialect.AUTO,
    ) -> Reply:
        """End one execution where the executor can, all of the job there where it cannot."""
        body = kill_body(job_id, log_id, extensions)
        return await self._call(address, "/kill", body, _Shown(token, dialect, app_name, bool(extensions)))

    async def log(
        self,
        address: str,
        request: LogRequest,
        *,
        token: str,
        app_name: str = "",
        extensions: frozenset[str] = _NO_EXTENSIONS,
        dialect: Dialect = Dialect.AUTO,
    ) -> LogPage:
        """Lines of an execution's log. An executor that was asked to wait for some is given that much longer."""
        shown, body = _Shown(token, dialect, app_name, bool(extensions)), log_body(request, extensions)
        held = min(request.wait or 0, LOG_WAIT_LIMIT) if Extension.FOLLOW_LOG in extensions else 0
        reply = await self._call(address, "/log", body, shown, LOG_REPLY_LIMIT, held)
        if not reply.ok:
            raise Unavailable.of("no_log_to_show", address=address, said=str(reply.msg), number=reply.code)
        return read_log_page(reply.payload, request.from_line_num)

    async def log_pages(
        self, address: str, request: LogRequest, *, token: str, app_name: str = "", dialect: Dialect = Dialect.AUTO
    ) -> AsyncGenerator[LogPage, None]:
        """The same from executors that know no extension, while the answer comes: one answer of any size in pages.
        Whoever has enough closes the generator, and with it the connection.
        """
        address, body, shown = checked_address(address), log_body(request), _Shown(token, dialect, app_name)
        headers = self._headers(await self._credential(address, shown), address, "/log", body, shown)
        bound = aiohttp.ClientTimeout(total=None, connect=self._timeout)
        url, passage = URL(address + "/log", encoded=True), _Passage()
        with _told_apart(url, passage, self._log_patience):
            async with asyncio.timeout(self._log_patience):
                response = await _post(self._once, url, body, headers, passage, bound)
            async with response:
                _check_gateway(url, response.status)
                if RECEIVER_HEADER not in response.headers:
                    log = LongLog(address, response.status, request.from_line_num)
                    while not log.finished:
                        async with asyncio.timeout(self._log_patience):
                            page = await _next_page(response, log)
                        yield page
                    return
        # It is one of ours by now: it wants to be asked as such, and its pages are small.
        yield await self.log(address, request, token=token, app_name=app_name, dialect=dialect)

    async def _call(
        self, address: str, path: str, body: bytes, shown: "_Shown", limit: int = SMALL_BODY_LIMIT, held: float = 0.0
    ) -> Reply:
        return read_reply(*await self._exchange(address, path, body, shown, limit, held))

    async def _exchange(
        self, address: str, path: str, body: bytes, shown: "_Shown", limit: int = SMALL_BODY_LIMIT, held: float = 0.0
    ) -> tuple[int, bytes]:
        """Ask, and ask again when the refusal tells what could not be known before."""
        address = checked_address(address)
        proofs, proof = self._proofs, await self._credential(address, shown)
        for _again in range(TRIES):
            headers = self._headers(proof, address, path, body, shown)
            session = self._session if shown.ours or proof.signed else self._once
            status, answer, told = await self._send(session, address + path, body, headers, limit, held)
            if proofs is None or RECEIVER_HEADER not in told:
                return status, answer
            reply = read_reply(status, answer)
            if not not_let_in(status, reply.ok, told):
                return status, answer
            better = await proofs.better(proof, address, shown.app_name, headers, told)
            if better is None:
                break
            proof = better
        raise NotLetIn(address, reply.msg)

    async def _credential(self, address: str, shown: "_Shown") -> Credential:
        if self._proofs is not None:
            return await self._proofs.first(address, shown.app_name)
        if self._credentials is not None:
            return await self._credentials.credential(address, shown.app_name)
        return Credential(shown.token)

    def _headers(self, proof: Credential, address: str, path: str, body: bytes, shown: "_Shown") -> dict[str, str]:
        if self._proofs is not None and proof.signed:
            return self._proofs.header(proof, address, "POST", path, body)
        return auth_headers(proof.token, shown.dialect, shown.app_name)

    async def _send(
        self, session: aiohttp.ClientSession, to: str, body: bytes, headers: dict[str, str], limit: int, held: float
    ) -> tuple[int, bytes, Mapping[str, str]]:
        url, passage = URL(to, encoded=True), _Passage()
        patience = self._timeout + held
        bound = aiohttp.ClientTimeout(total=patience)
        with _told_apart(url, passage, patience):
            async with await _post(session, url, body, headers, passage, bound) as response:
                status, answer, told = response.status, await _read(response, limit), response.headers
        _check_gateway(url, status)
        return status, answer, told


async def _post(
    session: aiohttp.ClientSession,
    url: URL,
    body: bytes,
    headers: dict[str, str],
    passage: _Passage,
    bound: aiohttp.ClientTimeout,
) -> aiohttp.ClientResponse:
    return await session.post(
        url, data=body, headers=headers, allow_redirects=False, trace_request_ctx=passage, timeout=bound
    )


@contextmanager
def _told_apart(url: URL, passage: _Passage, patience: float) -> Iterator[None]:
    """A failure inside says whether the executor may have got the request."""
    try:
        yield
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        failure = AnswerUnknown if passage.connected else NotSent
        if isinstance(error, TimeoutError):
            raise failure.of("executor_silent", address=str(url), seconds=f"{patience:g}") from error
        code = "executor_not_answered" if passage.connected else "executor_not_reached"
        raise failure.of(code, address=str(url), said=str(error) or type(error).__name__) from error


def _check_gateway(url: URL, status: int) -> None:
    if status in _GATEWAY_FAILED:
        raise AnswerUnknown.of("gateway_answered", address=str(url), status=status)


def read_beat(address: str, status: int, answer: bytes) -> Reply:
    """What an executor says when it is asked whether it is there. Whatever has no code is no executor's word."""
    reply = read_reply(status, answer)
    if not reply.ok and not _has_code(answer):
        raise NotAnExecutor(address, status, reply.msg)
    return reply


def read_state(address: str, status: int, answer: bytes) -> Reply:
    """What an executor says about itself: a no that could come from any server says nothing about the executor."""
    reply = read_reply(status, answer)
    if not reply.ok and not _is_envelope(status, answer):
        if status in _AT_THE_DOOR:
            raise AnswerUnknown.of("executor_not_answered", address=address, said=reply.msg or f"HTTP {status}")
        raise NotAnExecutor(address, status, reply.msg)
    return reply


def _is_envelope(status: int, body: bytes) -> bool:
    """Whether an answer is what an executor answers: a success of HTTP, with a code."""
    return 200 <= status < 300 and _has_code(body)


def _has_code(body: bytes) -> bool:
    try:
        value = parse(body.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace"))
        return isinstance(value, dict) and whole_number(value.get("code")) is not None
    except (InvalidMessage, ValueError):
        return False


def read_batch(status: int, answer: bytes, requests: Sequence[RunRequest]) -> list[RunAnswer | None]:
    """The answer to each trigger of a batch. One that was turned away at the door is a no to all; one that failed
    inside may have been carried out in part, so nothing is known about any of it.
    """
    reply = read_reply(status, answer)
    if 400 <= status < 500 or status == _DOOR_FULL:
        return [RunAnswer(log_id=request.log_id, code=reply.code, msg=reply.msg) for request in requests]
    return read_run_answers(reply, requests)


async def _note_connection(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: object) -> None:
    context.trace_request_ctx.connected = True


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > limit:
            response.close()
            raise aiohttp.ClientPayloadError(f"the answer is larger than {limit} bytes")
    return bytes(body)


async def _next_page(response: aiohttp.ClientResponse, log: LongLog) -> LogPage:
    """The next page of an answer, its last one when it is over."""
    async for chunk in response.content.iter_any():
        if (page := log.feed(chunk)) is not None:
            return page
    return log.finish()
