"""A log as it is written: as server-sent events, and over a WebSocket.

Both tell the same, in JSON: ``lines`` with their numbers, ``trouble`` while the log cannot be read, ``end`` when the
execution is over and every line was sent, ``closed`` when the stream ends before that. The id of an event is the number
of its last line; whoever comes back with it in ``Last-Event-ID`` goes on with the next.

A stream lives as long as the session it was opened with, and as its user may see the execution: that is looked at again
and again.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, WebSocket
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from orth.coordinator.http.callers import Caller, CallerHere, caller_of, needs
from orth.coordinator.http.credentials import caller_with
from orth.coordinator.http.logs import ExecutionId, FromLine, source_for
from orth.coordinator.http.origins import check_origin
from orth.coordinator.http.problems import problem_of
from orth.coordinator.http.refused_callers import tell_refused
from orth.coordinator.http.sending import STALLED_AFTER, Departed, patiently
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.coordinator.logs.following import Beat, Over, Stopping, Told, Trouble
from orth.coordinator.logs.pages import Lines
from orth.domain.access import Permission
from orth.errors import Forbidden, NotFound, OrthError, Unauthenticated

router = APIRouter(prefix="/api/v1/executions", tags=["executions"])
sockets = APIRouter(prefix="/api/v1/executions", tags=["executions"])

_CHECK_EVERY = 10.0
"""Seconds after which it is looked again whether the session is good."""
_PROTOCOL = "orth"
_BEARER = "bearer."
_POLICY = 1008
_GOING_AWAY = 1001
_UNAUTHENTICATED = 4401

Name = str
Check = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Hold:
    """What a stream hangs on: a session, and what that may see."""

    session_id: str | None
    check: Check


class SessionEnded(Exception):
    """The session the stream was opened with is over."""


# It ends when the execution does: not for a client that was made from the document and waits for the whole answer.
@router.get("/{execution_id}/log/stream", include_in_schema=False, dependencies=[needs(Permission.VIEW)])
async def stream(
    execution_id: ExecutionId,
    request: Request,
    tools: ToolsHere,
    caller: CallerHere,
    from_line: FromLine = 1,
    last_event_id: Annotated[str | None, Header(max_length=20, pattern=r"^[0-9]{0,10}$")] = None,
) -> StreamingResponse:
    """The log as server-sent events."""
    check_origin(request, tools.settings)
    source = await source_for(tools, caller, execution_id)
    tools.live_logs.enter(caller.name)
    begin = min(int(last_event_id) + 1, 2**31 - 1) if last_event_id else from_line

    async def check() -> object:
        now = await caller_of(tools, request)
        now.check(Permission.VIEW, source.execution.job_group, "execution", execution_id)
        return now

    return EventStream(_events(tools, execution_id, begin, Hold(caller.session_id, check)), tools, caller.name)


class EventStream(StreamingResponse):
    """Server-sent events, for one caller."""

    def __init__(self, events: AsyncGenerator[bytes, None], tools: Tools, username: str) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"}
        super().__init__(events, media_type="text/event-stream", headers=headers)
        self._events, self._live, self._username = events, tools.live_logs, username

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, patiently(send))
        except Departed:
            return
        finally:
            await self._events.aclose()
            self._live.leave(self._username)


@sockets.websocket("/{execution_id}/log/ws")
async def socket(websocket: WebSocket, execution_id: ExecutionId, from_line: FromLine = 1) -> None:
    """The log over a WebSocket. What the caller sends is not wanted."""
    tools: Tools = websocket.app.state.tools
    try:
        check_origin(websocket, tools.settings)
        caller = await _caller(tools, websocket)
        source = await source_for(tools, caller, execution_id)
        tools.live_logs.enter(caller.name)
    except OrthError as error:
        await tell_refused(tools, websocket, error)
        await websocket.send_denial_response(problem_of(error))
        return

    async def check() -> object:
        now = await _caller(tools, websocket)
        now.check(Permission.VIEW, source.execution.job_group, "execution", execution_id)
        return now

    try:
        offered = websocket.scope.get("subprotocols", [])
        await websocket.accept(subprotocol=_PROTOCOL if _PROTOCOL in offered else None)
        told = _told(tools, execution_id, from_line, Hold(caller.session_id, check))
        async with aclosing(told):
            await _unless_left(websocket, _send_all(websocket, told))
    finally:
        tools.live_logs.leave(caller.name)


async def _told(tools: Tools, execution_id: int, from_line: int, hold: Hold) -> AsyncGenerator[Told, None]:
    """What a watcher is told, as long as the session is good."""
    checked = tools.clock.monotonic()
    watching = tools.live_logs.watch(execution_id, from_line)
    with tools.held.held(hold.session_id) as over:
        async with aclosing(_unless_over(watching, over)) as telling:
            async for told in telling:
                if tools.clock.monotonic() - checked >= _CHECK_EVERY:
                    checked = tools.clock.monotonic()
                    await _check_session(hold.check)
                yield told


async def _unless_over(watching: AsyncGenerator[Told, None], over: asyncio.Event) -> AsyncGenerator[Told, None]:
    """What is told, until the session ends: then nothing more, whatever is being waited for."""
    ended = asyncio.ensure_future(over.wait())
    try:
        async with aclosing(watching):
            while True:
                coming = asyncio.ensure_future(anext(watching, None))
                try:
                    await asyncio.wait((coming, ended), return_when=asyncio.FIRST_COMPLETED)
                    if ended.done():
                        raise SessionEnded
                    told = coming.result()
                finally:
                    coming.cancel()
                    await asyncio.wait((coming,))
                if told is None:
                    return
                yield told
    finally:
        ended.cancel()


async def _check_session(check: Check) -> None:
    try:
        await check()
    except (Unauthenticated, Forbidden, NotFound):
        raise SessionEnded from None
    except OrthError:
        return  # the database is away: the session was good a moment ago


async def _events(tools: Tools, execution_id: int, from_line: int, hold: Hold) -> AsyncGenerator[bytes, None]:
    yield b"retry: 1000\n\n"
    try:
        async with aclosing(_told(tools, execution_id, from_line, hold)) as telling:
            async for told in telling:
                yield _event(told)
    except SessionEnded:
        yield _written("closed", {"reason": "The session has ended."})


def _event(told: Told) -> bytes:
    if isinstance(told, Beat):
        return b": beat\n\n"
    name, data = _message(told)
    return _written(name, data, told.last if isinstance(told, Lines) else None)


def _written(name: Name, data: dict[str, Any], number: int | None = None) -> bytes:
    """One event. JSON has no bare line break, so whatever a log says stays inside its event."""
    identity = "" if number is None else f"id: {number}\n"
    return f"{identity}event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode("utf-8", "replace")


def _message(told: Told) -> tuple[Name, dict[str, Any]]:
    if isinstance(told, Lines):
        return "lines", {"from_line": told.first, "to_line": told.last, "content": told.content}
    if isinstance(told, Over):
        return "end", {"to_line": told.last_line, "status": told.status, "note": told.note}
    if isinstance(told, Trouble):
        return "trouble", {"message": told.message}
    if isinstance(told, Stopping):
        return "closed", {"reason": "This coordinator stops."}
    return "beat", {}


async def _send_all(websocket: WebSocket, telling: AsyncIterator[Told]) -> None:
    code = 1000
    try:
        async for told in telling:
            name, data = _message(told)
            async with asyncio.timeout(STALLED_AFTER):
                await websocket.send_text(json.dumps({"type": name, **data}, ensure_ascii=False))
            code = _GOING_AWAY if isinstance(told, Stopping) else code
    except SessionEnded:
        await websocket.close(_UNAUTHENTICATED, "The session has ended.")
        return
    except (TimeoutError, WebSocketDisconnect):
        return
    await websocket.close(code)


async def _unless_left(websocket: WebSocket, sending: Awaitable[None]) -> None:
    """Send to the end, unless the caller leaves, or talks."""
    work = asyncio.ensure_future(sending)
    hearing = asyncio.ensure_future(websocket.receive())
    try:
        await asyncio.wait((work, hearing), return_when=asyncio.FIRST_COMPLETED)
        if work.done():
            work.result()
        elif hearing.result()["type"] != "websocket.disconnect":
            work.cancel()
            await asyncio.wait((work,))
            await websocket.close(_POLICY, "Nothing is read here.")
    finally:
        work.cancel()
        hearing.cancel()
        await asyncio.wait((work, hearing))


async def _caller(tools: Tools, websocket: WebSocket) -> Caller:
    """Who opened the socket. The access token may come as a subprotocol: pages can send no header."""
    for offered in websocket.scope.get("subprotocols", []):
        if offered.startswith(_BEARER) and "authorization" not in websocket.headers:
            return await caller_with(tools, str(offered.removeprefix(_BEARER)), websocket)
    return await caller_of(tools, websocket)
