"""What executors call: registry, registryRemove, callback; under every prefix, in every dialect. Ours also call the
channels.

Plain Starlette routes: these are hot, and their bodies are read by ``orth.wire``. Whatever happens, the answer is the
envelope executors know. A result that was understood is always answered 200, also when nothing came of it: some
executors turn any other answer into a second, failed report. What became of each result is told to ours alone: the
others expect a text in the place of the payload.
"""

import hmac
from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from orth.connections import known_caller
from orth.coordinator.facts import RefusalCause, RegistrationRefused
from orth.coordinator.http.channels import CHANNELS, VERBS
from orth.coordinator.http.problems import reported, told
from orth.coordinator.http.tools import Tools
from orth.domain.executions import FAILURE, SUCCESS
from orth.errors import Invalid, OrthError, StoreUnavailable, TooBusy, TooLarge, Unauthenticated
from orth.wire.dialects import PREFIXES, read_callback, read_registry, reads_verdicts, token_from, verdicts_payload
from orth.wire.messages import RegistryRequest, Reply

Answering = Callable[[Tools, Headers, bytes], Awaitable[object]]


async def _registry(tools: Tools, _headers: Headers, body: bytes) -> object:
    await tools.registrations.beat(_read_beat(body))
    return None


async def _registry_remove(tools: Tools, _headers: Headers, body: bytes) -> object:
    await tools.registrations.leave(_read_beat(body))
    return None


def _read_beat(body: bytes) -> RegistryRequest:
    request = read_registry(body)
    if "," in request.registry_value:
        raise Invalid("The address has a comma, which ends an address in a list.", field="registryValue")
    return request


async def _callback(tools: Tools, headers: Headers, body: bytes) -> object:
    verdicts = await tools.callbacks.take(read_callback(body))
    return verdicts_payload(verdicts) if reads_verdicts(headers) else None


def _channel_call(verb: str) -> Answering:
    async def call(tools: Tools, _headers: Headers, body: bytes) -> object:
        return await tools.door.verbs[verb](body)

    return call


_CALLS: dict[str, Answering] = {"registry": _registry, "registryRemove": _registry_remove, "callback": _callback}
_PATHS = {f"{prefix}/{name}": call for prefix in PREFIXES for name, call in _CALLS.items()}
_PATHS |= {f"{CHANNELS}/{verb}": _channel_call(verb) for verb in VERBS}


_CAUSES: tuple[tuple[tuple[type[OrthError], ...], RefusalCause], ...] = (
    ((Unauthenticated,), RefusalCause.TOKEN),
    ((Invalid, TooLarge), RefusalCause.MALFORMED),
    ((StoreUnavailable,), RefusalCause.STORE),
    ((TooBusy,), RefusalCause.BUSY),
)


def executor_routes() -> list[BaseRoute]:
    """A route for each path, and one with the slash that a client adds when its coordinator URL ends in one."""
    return [
        Route(spelling, _endpoint(call), methods=["POST"], name=f"executor:{spelling}")
        for path, call in _PATHS.items()
        for spelling in (path, path.replace("/api/", "//api/"))
    ]


def is_executor_call(path: str) -> bool:
    return path.replace("//", "/", 1) in _PATHS


def tell_refusal(tools: Tools, path: str, error: Exception) -> None:
    """Tell that a call was refused, if it was one to the registry."""
    if path.endswith(("/registry", "/registryRemove")):
        cause = next((cause for kinds, cause in _CAUSES if isinstance(error, kinds)), RefusalCause.OTHER)
        tools.events.emit(RegistrationRefused(cause))


def _endpoint(call: Answering) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        tools: Tools = request.app.state.tools
        try:
            _check_token(tools, token_from(request.headers))
            known_caller(request.scope)
            payload = await call(tools, request.headers, await request.body())
        except OrthError as error:
            tell_refusal(tools, request.url.path, error)
            message = f"{told(error)} {error.hint}" if error.hint else told(error)
            return envelope(Reply(code=FAILURE, msg=message), error.status)
        except Exception as bug:
            tell_refusal(tools, request.url.path, bug)
            return envelope(Reply(code=FAILURE, msg=reported(request.method, request.url.path, bug)), 500)
        return envelope(Reply(code=SUCCESS, payload=payload))

    return endpoint


def _check_token(tools: Tools, token: str | None) -> None:
    if token is None or not hmac.compare_digest(token.encode(), tools.access_token.encode()):
        raise Unauthenticated(
            "The access token is missing or wrong.", hint="Set ORTH_SECURITY__ACCESS_TOKEN to the cluster's."
        )


def envelope(reply: Reply, status: int = 200) -> Response:
    return Response(reply.to_bytes(), status_code=status, media_type="application/json")
