"""What executors call: registry, registryRemove, callback; under every prefix, in every dialect.

Plain Starlette routes: these are hot, and their bodies are read by ``orth.wire``. Answers are the envelope executors
know. A result that was understood is always answered 200, also when nothing came of it: some executors turn any other
answer into a second, failed report.
"""

import hmac
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from orth.coordinator.http.tools import Tools
from orth.domain.executions import FAILURE, SUCCESS
from orth.errors import OrthError, Unauthenticated
from orth.wire.dialects import PREFIXES, read_callback, read_registry, token_from, verdicts_payload
from orth.wire.messages import Reply

Answering = Callable[[Tools, bytes], Awaitable[object]]


async def _registry(tools: Tools, body: bytes) -> object:
    await tools.registrations.beat(read_registry(body))
    return None


async def _registry_remove(tools: Tools, body: bytes) -> object:
    await tools.registrations.leave(read_registry(body))
    return None


async def _callback(tools: Tools, body: bytes) -> object:
    return verdicts_payload(await tools.callbacks.take(read_callback(body)))


def executor_routes() -> list[BaseRoute]:
    calls = {"registry": _registry, "registryRemove": _registry_remove, "callback": _callback}
    return [
        Route(f"{prefix}/{name}", _endpoint(call), methods=["POST"], name=f"executor:{name}:{prefix}")
        for prefix in PREFIXES
        for name, call in calls.items()
    ]


def _endpoint(call: Answering) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        tools: Tools = request.app.state.tools
        try:
            _check_token(tools, token_from(request.headers))
            payload = await call(tools, await request.body())
        except OrthError as error:
            return _envelope(Reply(code=FAILURE, msg=str(error)), error.status)
        return _envelope(Reply(code=SUCCESS, payload=payload))

    return endpoint


def _check_token(tools: Tools, token: str | None) -> None:
    if token is None or not hmac.compare_digest(token.encode(), tools.access_token.encode()):
        raise Unauthenticated(
            "The access token is missing or wrong.", hint="Set ORTH_SECURITY__ACCESS_TOKEN to the cluster's."
        )


def _envelope(reply: Reply, status: int = 200) -> Response:
    return Response(reply.to_bytes(), status_code=status, media_type="application/json")
