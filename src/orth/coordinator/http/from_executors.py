"""What executors call: registry, registryRemove, callback; under every prefix, in every dialect. Ours also call the
channels, tell what they run, and ask whether offers stand. What xxl-job 3.5 lets them do with jobs is not offered:
whoever has the token of one executor could run anything on all others.

Plain Starlette routes: these are hot, and their bodies are read by ``orth.wire``. Whatever happens, the answer is the
envelope executors know, and third-party executors get their refusals with HTTP status 200, for they read no other. A
result that was understood is always answered 200, also when nothing came of it: some executors turn any other answer
into a second, failed report. What became of each result is told to ours alone: the
others expect a text in the place of the payload.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from orth.connections import known_caller
from orth.coordinator.contests import AddressHeld, Claim
from orth.coordinator.executor_access import Asked, check_network, not_its_app
from orth.coordinator.executor_keys import ExecutorKey
from orth.coordinator.facts import RefusalCause, RegistrationRefused
from orth.coordinator.http.addresses import NeverCalled, check_address, check_name
from orth.coordinator.http.channel_requests import VERBS, read_channel_request
from orth.coordinator.http.channel_scope import check_channel_use, check_what_was_awaited
from orth.coordinator.http.channels import CHANNELS, CLOSED_VERBS, no_longer
from orth.coordinator.http.client_addresses import client_address
from orth.coordinator.http.executor_rates import is_large
from orth.coordinator.http.executor_turns import ExecutorTurns, Turn
from orth.coordinator.http.open_offers import open_offers
from orth.coordinator.http.problems import reported, told
from orth.coordinator.http.results import take_begun, take_results
from orth.coordinator.http.signed_paths import signed_path
from orth.coordinator.http.tools import Tools
from orth.coordinator.proving import Sender
from orth.coordinator.registry import TooManyExecutors, TooManyHandlers
from orth.domain.audit import Deed
from orth.domain.enrolments import Admission
from orth.domain.executions import FAILURE, SUCCESS
from orth.errors import Forbidden, Invalid, OrthError, StoreUnavailable, TooBusy, TooLarge, Unauthenticated
from orth.wire.beginnings import BEGUN_PATH, read_begun
from orth.wire.dialects import (
    PREFIXES,
    generation_of,
    is_foreign,
    read_registry,
    reads_verdicts,
    verdicts_payload,
)
from orth.wire.enrolment import read_enrolment
from orth.wire.messages import Announcement, Extension, RegistryRequest, Reply
from orth.wire.open_offers import OPEN_OFFERS_PATH, read_open_offers_question
from orth.wire.signatures import RECEIVER_HEADER, BadSignature
from orth.wire.work_keys import acknowledgement, is_process_of, work_key_of, work_key_of_process


@dataclass(frozen=True, slots=True)
class Call:
    """A request of an executor that is let in."""

    key: ExecutorKey
    headers: Headers
    body: bytes
    address: str


Answering = Callable[[Tools, Call], Awaitable[object]]


async def _enrol(tools: Tools, call: Call) -> object:
    tools.executor_rates.check(call.key, call.body)
    request = read_enrolment(call.body)
    _check_claim(tools, call, request.registry_key, request.registry_value)
    answer = await tools.enrolling.take(request, call.key, call.address)
    return answer.model_dump(mode="json", by_alias=True)


async def _registry(tools: Tools, call: Call) -> object:
    tools.executor_rates.check(call.key, call.body)
    request = _read_beat(tools, call)
    if call.key.executor_id is None and await tools.access.keys.admission(request.registry_key) is Admission.KNOWN:
        raise Forbidden(
            f"The group of {request.registry_key!r} lets in known executors only, and this one has no key of its own.",
            hint="Use an executor of Orth; write down the address of an executor of another make in the group.",
        )
    if tools.settings.security.require_signatures and not _reads_signatures(request):
        raise Forbidden(
            "Only executors that read signatures may register here.",
            hint="Use an executor of this version, or switch security.require_signatures off.",
        )
    if tools.roster.at(request.registry_value) is None:
        await check_name(tools.settings, request.registry_value, "registryValue")
    if await tools.registrations.beat(request, call.key.key.id, generation_of(call.headers)):
        await _note_contested(tools, call, request.registry_key, request.registry_value, "beat", refused=False)
    tools.callbacks.beat_sources.note(request.registry_value, call.address)
    for caller in request.orth.turned_away if request.orth else ():
        await tools.refusals.note_turned_away(call.key, request.registry_value, caller)
    work_key = request.orth.work_key if request.orth else None
    return None if work_key is None else acknowledgement(work_key_of(call.key.token, work_key))


async def _registry_remove(tools: Tools, call: Call) -> object:
    tools.executor_rates.check(call.key)
    await tools.registrations.leave(_read_beat(tools, call))
    return None


async def _note_contested(
    tools: Tools, call: Call, app_name: str, address: str, claim: Claim, *, refused: bool
) -> None:
    deed = Deed("executor.contested", "executor", f"{app_name} {address}", after={"claim": claim, "refused": refused})
    await tools.refusals.note_executor(call.key, call.address, deed, claim)


def _reads_signatures(request: RegistryRequest) -> bool:
    return request.orth is not None and Extension.SIGNED in request.orth.extensions


def _read_beat(tools: Tools, call: Call) -> RegistryRequest:
    request = read_registry(call.body)
    _check_claim(tools, call, request.registry_key, request.registry_value)
    said = request.orth
    if said is None:
        return request
    return request.model_copy(update={"orth": said.model_copy(update={"work_key": _work_key(call.key, said)})})


def _work_key(key: ExecutorKey, said: Announcement) -> str | None:
    """The work key of the process that beats, if an executor proved its key; its name is made from that."""
    if key.executor_id is None:
        return None
    work_key = None if said.process is None else work_key_of_process(key.token, said.process)
    if not is_process_of(said.incarnation, work_key):
        raise Forbidden("The incarnation is not of a process of this executor.", hint="Use an executor of Orth.")
    return work_key


def _check_claim(tools: Tools, call: Call, app_name: str, address: str) -> None:
    if "," in address:
        raise Invalid("The address has a comma, which ends an address in a list.", field="registryValue")
    check_address(tools.settings, address, "registryValue")
    if not call.key.serves(app_name):
        raise not_its_app(call.key, app_name)


@asynccontextmanager
async def _turn(tools: Tools, call: Call, turns: ExecutorTurns) -> AsyncIterator[Turn]:
    """The turn of a call. A call that is refused for what it says pays for that."""
    async with turns.turn(call.key.owner(call.address), len(call.body)) as turn:
        tools.executor_rates.check_refused(call.key, call.address)
        try:
            yield turn
        except (Invalid, Forbidden, TooLarge):
            tools.executor_rates.pay_refused(call.key, call.address, call.body)
            raise


async def _callback(tools: Tools, call: Call) -> object:
    reads = reads_verdicts(call.headers)
    sender = Sender(call.address, call.headers.get("user-agent", ""))
    async with (
        _turn(tools, call, tools.result_turns) as turn,
        tools.callback_reading.results(turn, call.key, call.body) as items,
    ):
        verdicts = await take_results(tools, call.key, sender, items, reads_verdicts=reads)
    return verdicts_payload(verdicts) if reads else None


async def _begun(tools: Tools, call: Call) -> object:
    async with _turn(tools, call, tools.result_turns) as turn:
        again = await take_begun(tools, call.key, await turn.read(read_begun, call.body))
    return {"again": sorted(again)}


async def _open_offers(tools: Tools, call: Call) -> object:
    async with _turn(tools, call, tools.result_turns) as turn:
        answer = await open_offers(tools, call.key, await turn.read(read_open_offers_question, call.body))
    return answer.model_dump(mode="json", by_alias=True)


def _channel_call(verb: str) -> Answering:
    async def use(tools: Tools, call: Call) -> object:
        if is_large(call.body):
            tools.executor_rates.pay_large(call.key, call.body)
        async with _turn(tools, call, tools.channel_turns) as turn:
            request = await turn.read(partial(read_channel_request, verb), call.body)
            guest = await check_channel_use(tools, call.key, call.address, verb, request.said)
            payload = await tools.door.verbs[verb](request.asked, replace(guest, waits=turn.end))
            await check_what_was_awaited(tools, call.key, call.address, verb, request.said)
            return payload

    return use


def _closed_call(verb: str) -> Answering:
    async def refuse(_tools: Tools, _call: Call) -> object:
        raise no_longer(verb)

    return refuse


class _NotOffered(OrthError):
    """What others offer at this path, and we do not."""

    status = 404
    kind = "not-found"


async def _job_call(_tools: Tools, _call: Call) -> object:
    raise _NotOffered(
        "Jobs are not managed with the token of an executor.",
        hint="Use /api/v1/jobs with an API token (docs/foreign.md).",
    )


REFUSED_AFTER = 2.0
"""Seconds after which a call hears that it came too often if many such calls came before it. A caller that sends the
next call at once, over hundreds of connections, would take the event loop from others by refusals alone.
"""
JOB_CALLS = ("addJob", "updateJob", "removeJob", "startJob", "stopJob", "triggerJob")
"""What an executor of xxl-job 3.5 may call, and nobody here."""
_CALLS: dict[str, Answering] = {"registry": _registry, "registryRemove": _registry_remove, "callback": _callback}
_CALLS["enrolment"] = _enrol
_CALLS |= dict.fromkeys(JOB_CALLS, _job_call)
_PATHS = {f"{prefix}/{name}": call for prefix in PREFIXES for name, call in _CALLS.items()}
_PATHS[BEGUN_PATH] = _begun
_PATHS[OPEN_OFFERS_PATH] = _open_offers
_PATHS |= {f"{CHANNELS}/{verb}": _channel_call(verb) for verb in VERBS}
_PATHS |= {f"{CHANNELS}/{verb}": _closed_call(verb) for verb in CLOSED_VERBS}


_CAUSES: tuple[tuple[tuple[type[OrthError], ...], RefusalCause], ...] = (
    ((Unauthenticated, Forbidden), RefusalCause.TOKEN),
    ((Invalid, TooLarge), RefusalCause.MALFORMED),
    ((StoreUnavailable,), RefusalCause.STORE),
    ((TooManyExecutors, TooManyHandlers), RefusalCause.FULL),
    ((TooBusy,), RefusalCause.BUSY),
    ((AddressHeld,), RefusalCause.CONTESTED),
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


def _endpoint(answer: Answering) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        tools: Tools = request.app.state.tools
        call: Call | None = None
        try:
            call = await _admitted(tools, request, enrols=answer is _enrol)
            check_network(call.key, call.address)
            payload = await answer(tools, call)
        except OrthError as error:
            await _tell(tools, request, call, error)
            message = f"{told(error)} {error.hint}" if error.hint else told(error)
            refused = _of_ours(
                envelope(Reply(code=FAILURE, msg=message), status_for(request.url.path, request.headers, error.status)),
                tools,
                call,
            )
            refused.headers.update(error.headers if isinstance(error, BadSignature) else {})
            if isinstance(error, TooBusy):
                refused.headers["Retry-After"] = str(error.retry_after)
        except Exception as bug:
            tell_refusal(tools, request.url.path, bug)
            said = Reply(code=FAILURE, msg=reported(request.method, request.url.path, bug).message)
            return _of_ours(envelope(said, status_for(request.url.path, request.headers, 500)), tools, call)
        else:
            return _of_ours(envelope(Reply(code=SUCCESS, payload=payload)), tools, call)
        if call is not None and "Retry-After" in refused.headers and tools.executor_rates.floods(call.key):
            call = None
            request._body = b""  # nothing needs the body any more: many requests may wait here
            with suppress(TimeoutError):
                async with asyncio.timeout(REFUSED_AFTER):
                    await asyncio.Event().wait()
        return refused

    return endpoint


def status_for(path: str, headers: Mapping[str, str], status: int) -> int:
    """The HTTP status of a refusal. Third-party executors read the envelope of 200 only: with any other status their
    logs say the number, and never what is wrong.
    """
    called_by_all = path.rpartition("/")[2] in _CALLS
    return 200 if called_by_all and is_foreign(headers) else status


def _of_ours(answer: Response, tools: Tools, call: Call | None) -> Response:
    """Ours see by it, whatever is answered, that signatures are understood here, and that it is the answer to the call
    that was let in.
    """
    answer.headers[RECEIVER_HEADER] = tools.access.verifier.receiver
    if call is not None:
        answer.headers.update(tools.access.proof(call.key, call.headers, answer.status_code, bytes(answer.body)))
    return answer


async def _admitted(tools: Tools, request: Request, *, enrols: bool) -> Call:
    body, address = await request.body(), client_address(request, tools.settings)
    asked = Asked(request.method, signed_path(request.scope), request.headers, body)
    key = await tools.access.admit(asked, enrols=enrols)
    known_caller(request.scope, key.owner(address))
    tools.refusals.proved(address, key.key.id)
    return Call(key, request.headers, body, address)


async def _tell(tools: Tools, request: Request, call: Call | None, error: OrthError) -> None:
    """Tell whoever should know that a call was refused. Without a ``call`` nobody knows who it was."""
    path = request.url.path
    tell_refusal(tools, path, error)
    if isinstance(error, Unauthenticated):
        await tools.refusals.note_stranger(client_address(request, tools.settings), path, error)
    elif isinstance(error, Forbidden | NeverCalled | TooManyExecutors | TooManyHandlers) and call is not None:
        await tools.refusals.note_forbidden(call.key, call.address, path, error.message)
    elif isinstance(error, AddressHeld) and call is not None:
        await _note_contested(tools, call, error.app_name, error.address, error.claim, refused=True)


def envelope(reply: Reply, status: int = 200) -> Response:
    return Response(reply.to_bytes(), status_code=status, media_type="application/json")
