"""Bounds on what a request may bring, checked while it is read: a body is never larger in memory than allowed, and
what the API is given as JSON has one meaning only.
"""

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orth.coordinator.http.from_executors import envelope, is_executor_call, tell_refusal
from orth.coordinator.http.problems import problem_of
from orth.errors import OrthError, TooLarge
from orth.wire.messages import BODY_LIMIT, Reply
from orth.wire.strict_json import read_json


class NotJson(OrthError):
    """A body of another kind than the API reads."""

    status = 415
    kind = "unsupported-media-type"


class BodyLimit:
    """Reads the body before anybody else. Refuses one above the limit with 413, whether or not its length was
    declared, and passes nothing on when the caller went away in the middle: half a request was never made.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        from_executor = is_executor_call(scope["path"])
        # Results come in batches with messages of up to 50,000 characters each.
        limit = BODY_LIMIT if from_executor else self._limit
        try:
            body = await _read(scope, receive, limit)
            if body is None:
                return
            if body and not from_executor:
                _check_json(scope, body)
        except OrthError as error:
            if from_executor:
                tell_refusal(scope["app"].state.tools, scope["path"], error)
            await _refusal(error, from_executor)(scope, receive, send)
            return
        await self._app(scope, _replay(body, receive), send)


def _refusal(error: OrthError, from_executor: bool) -> Response:
    return envelope(Reply.failure(str(error)), error.status) if from_executor else problem_of(error)


def _header(scope: Scope, wanted: bytes) -> bytes:
    values: dict[bytes, bytes] = dict(scope["headers"])
    return values.get(wanted, b"")


def _check_json(scope: Scope, body: bytes) -> None:
    """Refuse what two readers could understand differently. A body nobody asked for is held to the same."""
    kind = _header(scope, b"content-type").decode("latin-1").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        stated = kind[:60] or "of no stated type"
        raise NotJson(f"The body is {stated}, not JSON.", hint="Send Content-Type: application/json.")
    read_json(body, len(body))


async def _read(scope: Scope, receive: Receive, limit: int) -> bytes | None:
    """The whole body, or None when it was broken off."""
    declared = _header(scope, b"content-length")
    if declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    told = False

    async def replay() -> Message:
        nonlocal told
        if told:
            return await receive()  # disconnects are still heard
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body is larger than {limit:,} bytes.", hint="Send less at once.")
