"""What a coordinator says to executors.

The one question that matters after a failed call is whether the executor may have got it. ``NotSent`` says that it
surely has not: there never was a connection, so the trigger may go elsewhere. ``AnswerUnknown`` says that it may have:
once a connection is there, bytes may have left, and neither a timeout nor a reset tells whether they arrived. A gateway
that answers for its silent neighbour (408, 502, 504, 524) is no wiser. An unknown trigger is never "failed": the
executor is asked about it.

An answer that did arrive is a ``Reply``, and its code decides. A redirect is not followed: the executor's address is
what was registered, and a request with a token in it goes nowhere else.
"""

import codecs
import errno
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ssl import SSLContext
from types import SimpleNamespace, TracebackType
from typing import Protocol, Self

import aiohttp
from yarl import URL

from orth.errors import InvalidMessage, Unavailable
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
from orth.wire.guarded import guarded_connector
from orth.wire.messages import (
    BODY_LIMIT,
    LOG_WAIT_LIMIT,
    Extension,
    LogPage,
    LogRequest,
    Reply,
    RunAnswer,
    RunRequest,
    checked_address,
    whole_number,
)
from orth.wire.outbound import Outbound
from orth.wire.signatures import RECEIVER_HEADER, TRIES, Signer
from orth.wire.strict_json import parse

LOG_REPLY_LIMIT = 16 * 1024 * 1024
"""Bytes of a page of log: foreign executors send everything up to the end of the file."""

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
        super().__init__(f"{address}: it does not accept what was registered for it: {said or 'no word'}")


class AnswerUnknown(Unavailable):
    """The executor may have got it, and may be doing it."""

    kind = "answer-unknown"


class NotAnExecutor(Unavailable):
    """Something answers at the address, and not as an executor does."""

    kind = "not-an-executor"

    def __init__(self, address: str, status: int, said: str | None) -> None:
        super().__init__(f"{address}: no executor answers there: {said or f'HTTP {status}'}.")
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


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a call has to show of itself, unless somebody knows better."""

    token: str
    dialect: Dialect
    app_name: str


@dataclass(slots=True)
class _Passage:
    """How far one request came."""

    connected: bool = False


class ExecutorCalls:
    """The way to the executors over HTTP; open it inside the event loop that uses it.

    Without ``credentials`` everybody is shown the token that comes with the call.
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
    ) -> None:
        self._timeout = timeout
        self._connections = connections
        self._per_executor = per_executor
        self._outbound = outbound or Outbound()
        self._credentials = credentials
        self._proofs = Proofs(credentials, signer) if credentials is not None and signer is not None else None
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        tracing = aiohttp.TraceConfig()
        tracing.on_connection_create_end.append(_note_connection)
        tracing.on_connection_reuseconn.append(_note_connection)
        self._session = aiohttp.ClientSession(
            connector=guarded_connector(
                self._outbound,
                tls=self._tls,
                limit=self._connections,
                limit_per_host=self._per_executor,
                keepalive_timeout=_KEEP_ALIVE,
            ),
            timeout=aiohttp.ClientTimeout(total=self._timeout),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Content-Type": CONTENT_TYPE, "Accept-Encoding": "identity", "User-Agent": "orth"},
            auto_decompress=False,  # nothing compressed was asked for, and a small answer must not become a large one
            trust_env=False,
            trace_configs=[tracing],
        )

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

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
        return await self._call(address, path, body, _Shown(token, dialect, app_name))

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
        status, answer = await self._exchange(address, path, body, _Shown(token, Dialect.ORTH, app_name))
        return read_batch(status, answer, requests)

    async def beat(self, address: str, *, token: str, app_name: str = "", dialect: Dialect = Dialect.AUTO) -> Reply:
        """Is the process there? The body is an empty object: some executors fail on an empty body."""
        return await self._call(address, "/beat", b"{}", _Shown(token, dialect, app_name))

    async def idle_beat(
        self, address: str, job_id: int, *, token: str, app_name: str = "", dialect: Dialect = Dialect.AUTO
    ) -> Reply:
        """Is the job idle there? 200 says yes. ``NotAnExecutor`` when it is not an executor who says no."""
        shown = _Shown(token, dialect, app_name)
        return read_state(address, *await self._exchange(address, "/idleBeat", idle_beat_body(job_id), shown))

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
        return await self._call(address, "/kill", body, _Shown(token, dialect, app_name))

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
        shown, body = _Shown(token, dialect, app_name), log_body(request, extensions)
        held = min(request.wait or 0, LOG_WAIT_LIMIT) if Extension.FOLLOW_LOG in extensions else 0
        reply = await self._call(address, "/log", body, shown, LOG_REPLY_LIMIT, held)
        if not reply.ok:
            raise Unavailable(f"{address} has no log to show: {reply.msg} (code {reply.code}).")
        return read_log_page(reply.payload, request.from_line_num)

    async def _call(
        self, address: str, path: str, body: bytes, shown: "_Shown", limit: int = BODY_LIMIT, held: float = 0.0
    ) -> Reply:
        return read_reply(*await self._exchange(address, path, body, shown, limit, held))

    async def _exchange(
        self, address: str, path: str, body: bytes, shown: "_Shown", limit: int = BODY_LIMIT, held: float = 0.0
    ) -> tuple[int, bytes]:
        """Ask, and ask again when the refusal tells what could not be known before."""
        address = checked_address(address)
        proofs, proof = self._proofs, await self._credential(address, shown)
        for _again in range(TRIES):
            if proofs is not None and proof.signed:
                headers = proofs.header(proof, address, "POST", path, body)
            else:
                headers = auth_headers(proof.token, shown.dialect, shown.app_name)
            status, answer, told = await self._send(address, path, body, headers, limit, held)
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

    async def _send(
        self, address: str, path: str, body: bytes, headers: dict[str, str], limit: int, held: float
    ) -> tuple[int, bytes, Mapping[str, str]]:
        assert self._session is not None, "open() comes first"
        url = URL(address + path, encoded=True)
        passage = _Passage()
        patience = self._timeout + held
        try:
            async with self._session.post(
                url,
                data=body,
                headers=headers,
                allow_redirects=False,
                trace_request_ctx=passage,
                timeout=aiohttp.ClientTimeout(total=patience),
            ) as response:
                status, answer, told = response.status, await _read(response, limit), response.headers
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            failure = AnswerUnknown if passage.connected else NotSent
            raise failure(f"{url}: {_cause(error, patience)}.") from error
        if status in _GATEWAY_FAILED:
            raise AnswerUnknown(f"{url}: a gateway answered HTTP {status}.")
        return status, answer, told


def read_state(address: str, status: int, answer: bytes) -> Reply:
    """What an executor says about itself: a no that could come from any server says nothing about the executor."""
    reply = read_reply(status, answer)
    if not reply.ok and not _is_envelope(status, answer):
        if status in _AT_THE_DOOR:
            raise AnswerUnknown(f"{address}: {reply.msg or f'HTTP {status}'}.")
        raise NotAnExecutor(address, status, reply.msg)
    return reply


def _is_envelope(status: int, body: bytes) -> bool:
    """Whether an answer is what an executor answers: a success of HTTP, with a code."""
    try:
        value = parse(body.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace"))
        return 200 <= status < 300 and isinstance(value, dict) and whole_number(value.get("code")) is not None
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


def _cause(error: BaseException, timeout: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {timeout:g} s"
    return str(error) or type(error).__name__
