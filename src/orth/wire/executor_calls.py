"""What a coordinator says to executors, over HTTP.

A redirect is not followed: the executor's address is what was registered, and a request with a token in it goes nowhere
else. What a failure means is in ``executor_link``, what an answer means in ``executor_answers``.

Connections are kept, for the next call, to executors of ours alone. Some of another make serve one connection at a
time: one that is kept, by whatever call of whichever coordinator, would shut out every other. So each call to them has
its own, which ends with the answer.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ssl import SSLContext
from types import SimpleNamespace
from typing import Any

import aiohttp
from yarl import URL

from orth.errors import Unavailable
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
    run_body,
    runs_body,
)
from orth.wire.executor_answers import check_gateway, read_batch, read_beat, read_state
from orth.wire.executor_link import NO_EXTENSIONS, AnswerUnknown, NotLetIn, NotSent, TokenNotShown
from orth.wire.fields import LOG_WAIT_LIMIT, SMALL_BODY_LIMIT
from orth.wire.guarded import GuardedCalls
from orth.wire.long_logs import LongLog
from orth.wire.messages import Extension, LogPage, LogRequest, Reply, RunAnswer, RunRequest
from orth.wire.network_reasons import network_reason, place_of
from orth.wire.outbound import Outbound
from orth.wire.signatures import RECEIVER_HEADER, TRIES, Signer, is_answer_proved

LOG_REPLY_LIMIT = 16 * 1024 * 1024
"""Bytes of a page of log that is read as a whole."""
STATE_REPLY_LIMIT = 8 * 1024
"""Bytes of an answer about how an executor is. Hundreds of them are read in a second, whoever wrote them."""
BATCH_REPLY_LIMIT = 1024 * 1024
"""Bytes of the answer to many triggers."""

_TRIGGERS = frozenset({"/run", "/trigger", "/runs"})
_TOKEN_WANTED = frozenset({401, 403})
_KEEP_ALIVE = 3.0
"""Seconds a connection waits for its next use. Less than any server's own limit: a server that closes the connection
just as the next trigger is written would leave that trigger unknown."""


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
        extensions: frozenset[str] = NO_EXTENSIONS,
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
        extensions: frozenset[str] = NO_EXTENSIONS,
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
        extensions: frozenset[str] = NO_EXTENSIONS,
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
        extensions: frozenset[str] = NO_EXTENSIONS,
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
                check_gateway(url, response.status)
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
        """Ask, and ask again when the refusal tells what could not be known before. A trigger whose refusal nothing
        proves may still arrive: its answer is unknown.
        """
        address = checked_address(address)
        proofs, proof = self._proofs, await self._credential(address, shown)
        may_arrive = False
        for _again in range(TRIES):
            headers = self._headers(proof, address, path, body, shown)
            session = self._session if shown.ours or (proof.signed and not proof.hidden) else self._once
            status, answer, told = await self._send(session, address + path, body, headers, limit, held)
            if proofs is None:
                return status, answer
            reply = read_reply(status, answer)
            if RECEIVER_HEADER not in told and proof.hidden:
                _check_token_unwanted(address, shown.app_name, proof.hidden, reply, status)
            if not not_let_in(status, reply.ok, told):
                if path in _TRIGGERS and proof.signed and proof.proves:
                    _check_proof(address, reply, is_answer_proved(headers, status, answer, told, proof.key))
                return status, answer
            refusal = await proofs.better(proof, address, shown.app_name, headers, told)
            may_arrive |= not refusal.settled
            if refusal.better is None or (may_arrive and path in _TRIGGERS):
                break
            proof = refusal.better
        if may_arrive and path in _TRIGGERS:
            raise AnswerUnknown.of("answer_not_proved", address=address, said=reply.msg or f"HTTP {status}")
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
        check_gateway(url, status)
        return status, answer, told


def _check_token_unwanted(address: str, app_name: str, hidden: str, reply: Reply, status: int) -> None:
    """``TokenNotShown`` if an answer that tells no incarnation reads like a refusal for want of the token."""
    said = reply.msg or ""
    if not reply.ok and ("token" in said.lower() or {reply.code, status} & _TOKEN_WANTED):
        raise TokenNotShown.of(hidden, address=address, group=app_name, said=said or f"HTTP {status}")


def _check_proof(address: str, reply: Reply, is_proved: bool) -> None:
    if not is_proved:
        raise AnswerUnknown.of("answer_not_proved", address=address, said=reply.msg or str(reply.code))


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


class BodyTooLarge(aiohttp.ClientPayloadError):
    """An answer of which no more is read."""


@contextmanager
def _told_apart(url: URL, passage: _Passage, patience: float) -> Iterator[None]:
    """A failure inside says whether the executor may have got the request."""
    try:
        yield
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        failure = AnswerUnknown if passage.connected else NotSent
        if isinstance(error, TimeoutError):
            raise failure.of("executor_silent", address=str(url), seconds=f"{patience:g}") from error
        why = network_reason(error)
        if passage.connected:
            raise failure.of("executor_not_answered", address=str(url), said=f"it {why}") from error
        raise failure.of("executor_not_reached", address=place_of(str(url)), said=why) from error


async def _note_connection(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: object) -> None:
    context.trace_request_ctx.connected = True


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > limit:
            response.close()
            raise BodyTooLarge(f"the answer is larger than {limit} bytes")
    return bytes(body)


async def _next_page(response: aiohttp.ClientResponse, log: LongLog) -> LogPage:
    """The next page of an answer, its last one when it is over."""
    async for chunk in response.content.iter_any():
        if (page := log.feed(chunk)) is not None:
            return page
    return log.finish()
