"""Bounds on what a request may bring, checked while it is read: a body is never larger in memory than allowed."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from orth.coordinator.http.problems import problem
from orth.wire.dialects import PREFIXES
from orth.wire.messages import BODY_LIMIT


class BodyLimit:
    """Refuses bodies above the limit with 413, whether or not their length was declared."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit_for(scope["path"])
        if _declared(scope) > limit:
            await _too_large(limit)(scope, receive, send)
            return
        body = await _read(receive, limit)
        if body is None:
            await _too_large(limit)(scope, receive, send)
            return
        await self._app(scope, _replay(body, receive), send)

    def _limit_for(self, path: str) -> int:
        # Results come in batches with messages of up to 50,000 characters each.
        from_executor = any(path.startswith(f"{prefix}/") for prefix in PREFIXES) and not path.startswith("/api/v1/")
        return BODY_LIMIT if from_executor else self._limit


def _declared(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() else 0
    return 0


async def _read(receive: Receive, limit: int) -> bytes | None:
    """The whole body, or None as soon as it exceeds ``limit``."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"".join(parts)
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            return None
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


def _too_large(limit: int) -> ASGIApp:
    return problem(413, "too-large", f"The body is larger than {limit:,} bytes.", hint="Send less at once.")
