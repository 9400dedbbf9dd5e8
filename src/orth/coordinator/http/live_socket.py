"""``/ws``: what happens to services, as it happens.

Each message is ``{"type", "data", "seq", "at"}``. Who comes back with ``?since=`` and the last number it saw gets what
it missed first; when that is no longer kept, a snapshot of everything comes in its place, as it does on request. Beats
are no events.

A caller shows its credential in ``Authorization``, as the subprotocol ``orth.bearer.<token>``, as the cookie of a
browser's session, or in its first message. Never in the address: those end up in logs. The socket lives as long as the
credential; a new one may be sent over it.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response, WebSocket
from starlette.websockets import WebSocketDisconnect

from orth.connections import known_caller
from orth.coordinator.http.callers import Caller
from orth.coordinator.http.client_addresses import client_address
from orth.coordinator.http.cookies import session_cookie
from orth.coordinator.http.credentials import caller_of, caller_with
from orth.coordinator.http.origins import check_origin
from orth.coordinator.http.problems import problem, problem_of, told
from orth.coordinator.http.refused_callers import tell_refused
from orth.coordinator.http.services import EXECUTORS, shows_access_token
from orth.coordinator.http.tools import Tools
from orth.coordinator.services.facts import Drop, ListenerDropped
from orth.coordinator.services.feed import Listener, TooSlow
from orth.coordinator.services.places import Place
from orth.domain.access import Permission
from orth.domain.tokens import API_PREFIX
from orth.errors import Forbidden, InvalidMessage, OrthError, Unauthenticated
from orth.socket_guard import break_off
from orth.wire.dialects import token_from
from orth.wire.strict_json import read_json

router = APIRouter()
sockets = APIRouter()

STALLED_AFTER = 10.0
"""Seconds in which a listener has to take what was sent."""
AUTH_WITHIN = 5.0
_CHECK_EVERY = 5.0
_ASK_STORE_EVERY = 6
"""Checks of a session for one that also asks the database what its user may; that it ended is told at once. Nobody
tells that an API token was revoked: each check asks.
"""
_CLOSE_WITHIN = 2.0
_PROTOCOL = "orth"
_BEARER = "orth.bearer."
_TOKENS_IN_QUERY = ("token", "access_token")
_TOKEN_LIMIT = 5_000
_POLICY = 1008
_TRY_AGAIN = 1013
_UNAUTHENTICATED = 4401
_FORBIDDEN = 4403
_INT64_MAX = 2**63 - 1


class _Over(Exception):
    """The socket is to be closed, and the caller told why."""

    def __init__(self, code: int, reason: str, drop: Drop | None = None) -> None:
        super().__init__(reason)
        self.code, self.reason, self.drop = code, reason, drop


@dataclass(slots=True)
class _Session:
    """Whom a socket belongs to: somebody signed in, or, with the access token, nobody in particular.

    Without a token, it was opened with the cookie of a browser.
    """

    token: str | None
    caller: Caller | None = None

    @property
    def username(self) -> str:
        return EXECUTORS if self.caller is None else self.caller.name


@dataclass(slots=True)
class _Visit:
    """Somebody who has come; without a session until it has said who it is."""

    session: _Session | None
    listener: Listener | None
    place: Place


@router.get("/ws", include_in_schema=False)
async def no_socket(_request: Request) -> Response:
    """Somebody who did not ask for a WebSocket."""
    return problem(400, "not-a-socket", "This is a WebSocket.", hint="Connect to it with ws:// or wss://.")


@sockets.websocket("/ws")
async def live(websocket: WebSocket, since: Annotated[int | None, Query(ge=0, le=_INT64_MAX)] = None) -> None:
    """Everything that happens to services."""
    tools: Tools = websocket.app.state.tools
    try:
        _refuse_tokens_in_query(websocket)
        check_origin(websocket, tools.settings)
        shown = _shown(websocket)
        session = await _first_session(tools, websocket, shown)
        place = tools.places.take(_whose(websocket, tools, session), known=session is not None)
    except OrthError as error:
        await tell_refused(tools, websocket, error)
        await websocket.send_denial_response(problem_of(error))
        return
    visit = _Visit(session, None, place)
    try:
        await _receive(websocket, tools, visit, since)
    finally:
        if visit.listener is not None:
            tools.feed.leave(visit.listener)
        tools.places.give_back(place)


async def _receive(websocket: WebSocket, tools: Tools, visit: _Visit, since: int | None) -> None:
    """Let somebody in, and stay until it goes."""
    try:
        if visit.session is not None:  # before it hears that it is in: it is told whatever happens after that
            visit.listener = await tools.feed.join(since)
    except OrthError as error:
        await websocket.send_denial_response(problem_of(error))
        return
    try:
        await websocket.accept(subprotocol=_agreed(websocket.scope.get("subprotocols", [])))
        if visit.session is None:
            visit.session = await _introduced(websocket, tools)
            tools.places.introduced(visit.place, _whose(websocket, tools, visit.session))
            visit.listener = await tools.feed.join(since)
        assert visit.listener is not None, "whoever has a session listens"
        await _serve(websocket, tools, visit.session, visit.listener)
    except _Over as over:
        if visit.session is None:
            await tell_refused(tools, websocket, Unauthenticated(over.reason))
        await _close(websocket, over.code, over.reason)
    except OrthError as error:
        await _close(websocket, _TRY_AGAIN, told(error))
    except WebSocketDisconnect:
        return


async def _serve(websocket: WebSocket, tools: Tools, session: _Session, listener: Listener) -> None:
    try:
        await _until_over(
            _sending(websocket, tools, listener),
            _hearing(websocket, tools, listener, session),
            _checking(websocket, tools, session),
        )
    except _Over as over:
        if over.drop is not None:
            tools.events.emit(ListenerDropped(session.username, over.drop))
        if over.drop is Drop.SLOW:
            break_off(websocket.scope, over.code, over.reason)
        raise


async def _close(websocket: WebSocket, code: int, reason: str) -> None:
    """Say why, unless it is closed already, or its peer does not read."""
    with suppress(RuntimeError, TimeoutError, WebSocketDisconnect):
        async with asyncio.timeout(_CLOSE_WITHIN):
            await websocket.close(code, reason)


async def _until_over(*duties: Any) -> None:
    """Do all until one ends or raises; then none goes on."""
    tasks = [asyncio.ensure_future(duty) for duty in duties]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


# --- the three duties of a socket


async def _sending(websocket: WebSocket, tools: Tools, listener: Listener) -> None:
    try:
        while True:
            for text in await tools.feed.next(listener):
                async with asyncio.timeout(STALLED_AFTER):
                    await websocket.send_text(text)
    except (TooSlow, TimeoutError):
        raise _Over(_TRY_AGAIN, "You read too slowly. Come back with the last number you saw.", Drop.SLOW) from None
    except RuntimeError:  # the server has closed it meanwhile
        raise WebSocketDisconnect(1006) from None


async def _hearing(websocket: WebSocket, tools: Tools, listener: Listener, session: _Session) -> None:
    while True:
        said = await _heard(websocket)
        if said.get("type") == "snapshot":
            listener.ask_snapshot()
        elif said.get("type") == "auth":
            renewed = await _authenticated(websocket, tools, said)
            session.token, session.caller = renewed.token, renewed.caller
        else:
            raise _Over(_POLICY, 'What is understood here is {"type": "snapshot"} and {"type": "auth", "token": …}.')


async def _checking(websocket: WebSocket, tools: Tools, session: _Session) -> None:
    """See again and again whether the credential is good, and at once when its session ends here."""
    checks = 0
    while True:
        caller = session.caller
        with tools.held.held(None if caller is None else caller.session_id) as over:
            await tools.clock.sleep_unless(over, _CHECK_EVERY)
            checks += 1
            try:
                await tools.held.look(tools.db, tools.clock)
                if session.caller is not caller:
                    continue  # another credential was sent meanwhile
                if over.is_set() or checks % _ASK_STORE_EVERY == 0 or _is_api_token(session.token):
                    session.caller = await _caller(websocket, tools, session.token)
                elif session.token is not None and not _lasts(tools, session.token):
                    tools.signing.read_access(session.token)
            except Unauthenticated as error:
                raise _Over(_UNAUTHENTICATED, error.message, Drop.SESSION) from None
            except Forbidden as error:
                raise _Over(_FORBIDDEN, error.message, Drop.SESSION) from None
            except OrthError:
                continue  # the database is away: the session was good a moment ago


# --- credentials


def _refuse_tokens_in_query(websocket: WebSocket) -> None:
    if any(name in websocket.query_params for name in _TOKENS_IN_QUERY):
        raise InvalidMessage(
            "A token in an address ends up in logs, and is not accepted.",
            hint=f"Send Authorization: Bearer …, the subprotocol {_BEARER}…, or a first message with it.",
        )


def _shown(websocket: WebSocket) -> str | None:
    """The credential that came with the request, if there is one."""
    offered: Sequence[str] = websocket.scope.get("subprotocols", [])
    by_subprotocol = next((one.removeprefix(_BEARER) for one in offered if one.startswith(_BEARER)), None)
    return token_from(websocket.headers) or by_subprotocol


def _agreed(offered: Sequence[str]) -> str | None:
    """A browser goes on only if one of what it offered is taken."""
    return _PROTOCOL if _PROTOCOL in offered else next((one for one in offered if one.startswith(_BEARER)), None)


def _lasts(tools: Tools, token: str) -> bool:
    """Whether only the database knows when a credential ends, if it does."""
    return shows_access_token(tools, token) or _is_api_token(token)


def _is_api_token(token: str | None) -> bool:
    return token is not None and token.startswith(API_PREFIX)


async def _first_session(tools: Tools, websocket: WebSocket, shown: str | None) -> _Session | None:
    """Whose socket it is by what came with the request; None when nothing did."""
    if shown is None and session_cookie(websocket, tools.settings) is None:
        return None
    return await _session(websocket, tools, shown)


def _whose(websocket: WebSocket, tools: Tools, session: _Session | None) -> str | None:
    """Whom a listener is counted for: who it is, or where it comes from while it has not said; services for nobody."""
    if session is None:
        return f"from {client_address(websocket, tools.settings)}"
    return None if session.caller is None else session.caller.identity


async def _session(websocket: WebSocket, tools: Tools, token: str | None) -> _Session:
    session = _Session(token, await _caller(websocket, tools, token))
    owner = _whose(websocket, tools, session) or f"services at {client_address(websocket, tools.settings)}"
    known_caller(websocket.scope, owner)
    return session


async def _caller(websocket: WebSocket, tools: Tools, token: str | None) -> Caller | None:
    """Who shows this token, or, without one, the cookie; None for the access token."""
    if token is not None and shows_access_token(tools, token):
        return None
    read = caller_of(tools, websocket) if token is None else caller_with(tools, token, websocket)
    caller = await read
    caller.check(Permission.VIEW, None, "", "")  # services belong to no group
    return caller


async def _introduced(websocket: WebSocket, tools: Tools) -> _Session:
    """Whoever says who it is in its first message, and soon."""
    with suppress(TimeoutError):
        async with asyncio.timeout(AUTH_WITHIN):
            return await _authenticated(websocket, tools, await _heard(websocket))
    raise _Over(_UNAUTHENTICATED, 'Nobody may listen without a credential: send {"type": "auth", "token": …} first.')


async def _authenticated(websocket: WebSocket, tools: Tools, said: dict[str, Any]) -> _Session:
    token = said.get("token")
    if said.get("type") != "auth" or not isinstance(token, str) or len(token) > _TOKEN_LIMIT:
        raise _Over(_UNAUTHENTICATED, 'Send {"type": "auth", "token": …} first.')
    try:
        return await _session(websocket, tools, token)
    except Unauthenticated as error:
        raise _Over(_UNAUTHENTICATED, error.message, Drop.SESSION) from None
    except Forbidden as error:
        raise _Over(_FORBIDDEN, error.message, Drop.SESSION) from None


async def _heard(websocket: WebSocket) -> dict[str, Any]:
    """The next message, which is a JSON object."""
    message = await websocket.receive()
    if message["type"] != "websocket.receive":
        raise WebSocketDisconnect(message.get("code", 1005))
    raw = message.get("text") or ""
    try:
        said = read_json(raw.encode(), len(raw.encode()))
    except OrthError:
        said = None
    if not isinstance(said, dict):
        raise _Over(_POLICY, "A message is a JSON object.")
    return said
