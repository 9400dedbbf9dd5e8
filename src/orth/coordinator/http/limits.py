"""Bounds on what a request may bring, checked while it is read: a body is never larger in memory than allowed, and
what the API is given as JSON has one meaning only.

To read a megabyte of JSON costs as much as hundreds of requests. So where only known callers are answered, who it is is
seen before anything of the body is read; and where anybody may ask, little is read.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orth.connections import known_caller
from orth.coordinator.http.body_budget import LOOK_EVERY, Body
from orth.coordinator.http.callers import charge, find_caller
from orth.coordinator.http.client_addresses import client_address
from orth.coordinator.http.from_executors import envelope, is_executor_call, status_for, tell_refusal
from orth.coordinator.http.problems import problem_of
from orth.coordinator.http.refused_callers import tell_refused
from orth.coordinator.http.signed_paths import signed_path
from orth.coordinator.http.tools import Tools
from orth.domain.networks import network_of
from orth.errors import OrthError, TooLarge, Unauthenticated, Unavailable, quotable
from orth.wire.fields import BODY_LIMIT, RESULTS_LIMIT
from orth.wire.messages import Reply
from orth.wire.signatures import BadSignature
from orth.wire.strict_json import read_json

STRANGERS_LIMIT = 64 * 1024
"""Bytes of a body that are read before anybody has looked at a credential."""
STRANGERS_VALUES = 100
"""Values of such a body that are made."""
SMALL_BODY = 64 * 1024
"""Bytes of a body, but for the routes that take large ones."""
MEMBERS_LIMIT, VALUES_LIMIT = 1_000, 5_000
"""Members of one object, and values in all, of a small body. Each unknown member makes an error of its own."""
LARGE_MEMBERS, LARGE_VALUES = 5_000, 50_000
"""The same of a large one."""
_FOR_KNOWN_CALLERS = "/api/v1/"
_UNREAD = frozenset({408, 413, 431})
"""Refusals of requests that were not read to their end: a proxy between may give them, too."""


class NotJson(OrthError):
    """A body of another kind than the API reads."""

    status = 415
    kind = "unsupported-media-type"


class BodyLimit:
    """Reads the body before anybody else. Refuses one above the limit with 413, whether or not its length was
    declared, and passes nothing on when the caller went away in the middle: half a request was never made.
    """

    def __init__(self, app: ASGIApp, limit: int, open_paths: Iterable[str], large_paths: Iterable[str]) -> None:
        """``open_paths`` are those that answer anybody, ``large_paths`` those that take up to ``limit`` bytes."""
        self._app = app
        self._open = [compile_path(path)[0] for path in open_paths]
        self._large = [compile_path(path)[0] for path in large_paths]
        self._of_strangers = _Bounds(min(limit, STRANGERS_LIMIT), STRANGERS_VALUES, STRANGERS_VALUES)
        self._of_small = _Bounds(min(limit, SMALL_BODY), VALUES_LIMIT, MEMBERS_LIMIT)
        self._of_large = _Bounds(limit, LARGE_VALUES, LARGE_MEMBERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        from_executor = is_executor_call(scope["path"])
        try:
            bounds, caller = await self._bounds(scope, from_executor)
        except OrthError as error:
            await _refuse(scope, receive, send, error, from_executor)
            return
        tools: Tools = scope["app"].state.tools
        with tools.bodies.body(caller) as held:
            try:
                body = await _read(scope, receive, bounds.size, held)
                if body is None:
                    return
                if body and not from_executor:
                    charge(scope, len(body))
                    _check_json(scope, body, bounds)
            except OrthError as error:
                await _refuse(scope, receive, send, error, from_executor)
                return
            replay = _replay(body, receive)
            del body  # the request may wait for its answer without it
            await self._app(scope, replay, send)

    async def _bounds(self, scope: Scope, from_executor: bool) -> "tuple[_Bounds, str]":
        """What the body may have, and whose it is; nothing for the latter while nobody knows."""
        if from_executor:
            size, caller = await _limit_of_executor(scope)
            return _Bounds(size, None, None), caller
        return await self._bounds_of_caller(scope) if _announces_body(scope) else (self._of_small, "")

    async def _bounds_of_caller(self, scope: Scope) -> "tuple[_Bounds, str]":
        """How large the body may be of whoever asks; 401 or 403 where that has to be somebody else."""
        path = scope["path"]
        if not path.startswith(_FOR_KNOWN_CALLERS) or any(one.match(path) for one in self._open):
            return self._of_strangers, ""
        tools, connection = scope["app"].state.tools, HTTPConnection(scope)
        try:
            caller = await find_caller(tools, connection)
        except OrthError as error:
            if (route := _route_of(scope)) is not None:
                scope["route"] = route
            await tell_refused(tools, connection, error)
            raise
        bounds = self._of_large if any(one.match(path) for one in self._large) else self._of_small
        return bounds, caller.identity


@dataclass(frozen=True, slots=True)
class _Bounds:
    """What a body may have: bytes, values, and members in one object."""

    size: int
    values: int | None
    members: int | None


async def _limit_of_executor(scope: Scope) -> tuple[int, str]:
    """Results come in batches with messages of up to 50,000 characters each, from executors of another make in very
    large ones. Who sends more than a little shows its token before it is read: then it is known who that is.
    """
    declared = _header(scope, b"content-length")
    size = int(declared) if declared.isdigit() else None
    if size is not None and size <= STRANGERS_LIMIT:
        return STRANGERS_LIMIT, ""
    tools: Tools = scope["app"].state.tools
    address = client_address(HTTPConnection(scope), tools.settings)
    try:
        key = await tools.access.glance(scope["method"], signed_path(scope), Headers(scope=scope))
    except Unauthenticated as error:
        await tools.refusals.note_stranger(address, scope["path"], error)
        raise
    known_caller(scope, key.owner(address))
    # The token that all share is told apart by the address of whoever shows it.
    caller = f"executor {key.key.id}" if key.app_names is not None else f"executor at {network_of(address)}"
    return RESULTS_LIMIT if size is not None and scope["path"].endswith("/callback") else BODY_LIMIT, caller


def _announces_body(scope: Scope) -> bool:
    return _header(scope, b"content-length") not in (b"", b"0") or bool(_header(scope, b"transfer-encoding"))


def _route_of(scope: Scope) -> BaseRoute | None:
    routes: list[BaseRoute] = scope["app"].routes
    return next((one for one in routes if one.matches(scope)[0] is Match.FULL), None)


def _refusal(error: OrthError, executor_call: Scope | None) -> Response:
    if executor_call is None:
        return problem_of(error)
    status = error.status
    if status not in _UNREAD:
        status = status_for(executor_call["path"], Headers(scope=executor_call), status)
    refused = envelope(Reply.failure(str(error)), status)
    refused.headers.update(error.headers if isinstance(error, BadSignature) else {})
    return refused


async def _refuse(scope: Scope, receive: Receive, send: Send, error: OrthError, from_executor: bool) -> None:
    if from_executor:
        tell_refusal(scope["app"].state.tools, scope["path"], error)
    await _refusal(error, scope if from_executor else None)(scope, receive, send)


def _header(scope: Scope, wanted: bytes) -> bytes:
    values: dict[bytes, bytes] = dict(scope["headers"])
    return values.get(wanted, b"")


def _check_json(scope: Scope, body: bytes, bounds: _Bounds) -> None:
    """Refuse what two readers could understand differently. A body nobody asked for is held to the same."""
    kind = _header(scope, b"content-type").decode("latin-1").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise NotJson.of("body_not_json", kind=quotable(kind, 60)) if kind else NotJson.of("body_of_no_type")
    read_json(body, len(body), values=bounds.values, members=bounds.members)


async def _read(scope: Scope, receive: Receive, limit: int, held: Body) -> bytes | None:
    """The whole body, or None when it was broken off."""
    declared = _header(scope, b"content-length")
    if declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    parts: list[bytes] = []
    size = 0
    while True:
        try:
            async with asyncio.timeout(LOOK_EVERY if held.counted else None):
                message = await receive()
        except TimeoutError:
            if held.is_cut_off:
                raise Unavailable.of("bodies_full") from None
            continue
        except asyncio.CancelledError:  # the server stops, and has waited for the rest long enough
            raise Unavailable.of("coordinator_stops") from None
        if message["type"] != "http.request":
            return None
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        if held.caller:
            await held.hold(size)
        if held.is_cut_off:
            raise Unavailable.of("bodies_full")
        parts.append(part)
        if not message.get("more_body", False):
            held.is_read = False
            return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give the body to the application once, and keep no copy."""
    left: list[bytes] = [body]

    async def replay() -> Message:
        if not left:
            return await receive()  # disconnects are still heard
        return {"type": "http.request", "body": left.pop(), "more_body": False}

    return replay


def _too_large(limit: int) -> TooLarge:
    return TooLarge.of("body_too_large", limit=limit)
