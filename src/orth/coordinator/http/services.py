"""The Registry API: which orchestrators (coordinators) and agents (executors) there are.

Any coordinator answers for all of them. Members are in camel case and statuses are words, as services of other makes
expect them. Who is not known is answered 404, so that it registers again at once.

Agents prove the cluster's access token, people show their session; without either nothing is told. Executors with the
token of their group see the coordinators and speak for themselves. Services belong to no group, so people must be
allowed to see everything. Of people only an administrator may speak for a service.

Executors tell every orchestrator that is listed their tokens and work keys. So for orchestrators nobody speaks but
coordinators of this database, which prove what no executor has, and administrators; who has the access token does only
where ``registry.orchestrators_by_token`` says so. Who enters an orchestrator, and what others than services change, is
audited.
"""

import hmac
import re
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from orth.connections import known_caller
from orth.coordinator.executor_access import Asked, check_network
from orth.coordinator.executor_keys import ExecutorKey
from orth.coordinator.http.addresses import check_address
from orth.coordinator.http.callers import BearerHere, signed_in
from orth.coordinator.http.client_addresses import client_address
from orth.coordinator.http.signed_paths import signed_path
from orth.coordinator.http.texts import Line
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.domain.access import Permission
from orth.domain.audit import Actor, ActorKind
from orth.domain.services import Failing, Service, ServiceKind, ServiceStatus, UnknownStatus, read_status
from orth.errors import Forbidden, Invalid, NotFound, TooLarge
from orth.store.service_events import as_shown
from orth.store.services import list_services, service_name
from orth.wire.addresses import checked_address
from orth.wire.dialects import TOKEN_HEADERS, token_from
from orth.wire.fields import ADDRESS_LIMIT
from orth.wire.signatures import SIGNATURE_HEADER
from orth.wire.strict_json import read_json

BODY_LIMIT = 16 * 1024
SEQ_HEADER = "ORTH-SEQ"
_AGENTS = "/api/agents"
_ORCHESTRATORS = "/api/orchestrators"
_ID = re.compile(r"[0-9a-f]{32}")
EXECUTORS = "executors"
"""Whoever shows the access token that all of them share."""
COORDINATORS = "coordinators"
"""Whoever proves what the coordinators of this database share."""


async def credential(tools: ToolsHere, shown: BearerHere, request: Request) -> Actor | None:
    """Who is told of in the audit, None for a service that speaks for itself; or 401. A credential that was shown has
    to be good.
    """
    if await _is_machine(tools, request):
        return await _machine(tools, request)
    caller = await signed_in(tools, request, shown)
    if request.method == "GET":
        caller.check(Permission.VIEW, None, "", "")
    elif not caller.rights.allows(Permission.ADMINISTER):
        raise Forbidden.of("services_or_administrators")
    return caller.actor


ByHere = Annotated[Actor | None, Depends(credential)]
"""Who is told of in the audit; None: a service speaks for itself."""


async def _is_machine(tools: Tools, request: Request) -> bool:
    """Whether it has the credential of a service. A bearer may be anybody's: if it is a service's, that is seen."""
    if SIGNATURE_HEADER in request.headers or any(name in request.headers for name in TOKEN_HEADERS):
        return True
    token = token_from(request.headers)
    return token is not None and await tools.access.keys.shown(token) is not None


async def _machine(tools: Tools, request: Request) -> Actor | None:
    asked = Asked(request.method, signed_path(request.scope), request.headers, await request.body())
    address, speaks = client_address(request, tools.settings), request.method == "POST"
    for_orchestrator = speaks and _route(request).startswith(_ORCHESTRATORS)
    if for_orchestrator and (own := tools.access.coordinator(asked)) is not None:
        tools.refusals.proved(address, own.id)
        known_caller(request.scope, f"{COORDINATORS} at {address}")
        return Actor(ActorKind.NODE, COORDINATORS, address) if _route(request).endswith("/register") else None
    key = await tools.access.admit(asked, for_executor=speaks and _route(request).startswith(_AGENTS))
    tools.refusals.proved(address, key.key.id)
    actor = request.state.actor = Actor(ActorKind.EXECUTOR, key.name, address)
    request.state.app_names = key.app_names
    check_network(key, address)
    tools.executor_rates.check(key)
    if key.app_names is not None and not await _is_own(tools, key, request):
        raise Forbidden(f"The token {key.name!r} may not do this: it is of one group's executors.")
    if for_orchestrator and not tools.settings.registry.orchestrators_by_token:
        raise Forbidden(
            "The access token alone speaks for no orchestrator: executors may have it, too.",
            hint="Coordinators of this database prove more by themselves. For others, and while versions differ, set "
            "registry.orchestrators_by_token on this process, or speak for them as an administrator.",
        )
    known_caller(request.scope, key.owner(address))
    return actor if for_orchestrator else None


async def _is_own(tools: Tools, key: ExecutorKey, request: Request) -> bool:
    """What a group's executors need: to see the coordinators, and to speak for themselves."""
    route = _route(request)
    if request.method == "GET":
        return route == "/api/orchestrators"
    if route == f"{_AGENTS}/register":
        said = read_json(await request.body(), BODY_LIMIT)
        return isinstance(said, dict) and key.serves(str(said.get("name")))
    service_id = str(request.path_params.get("service_id", ""))
    name = await tools.db.read(service_name, ServiceKind.AGENT, service_id) if route.startswith(_AGENTS) else None
    # Who is not known is answered 404, so that it registers again.
    return route.startswith(_AGENTS) and (name is None or key.serves(name))


def _route(request: Request) -> str:
    return str(getattr(request.scope.get("route"), "path", ""))


def shows_access_token(tools: Tools, text: str) -> bool:
    return hmac.compare_digest(text.strip().encode(), tools.access_token.encode())


async def small_body(request: Request) -> None:
    if len(await request.body()) > BODY_LIMIT:
        raise TooLarge(f"The body is larger than {BODY_LIMIT:,} bytes.", hint="There is little to say here.")


router = APIRouter(tags=["registry"], dependencies=[Depends(credential), Depends(small_body)])


class _Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class OrchestratorSaid(_Camel):
    """A coordinator that registers. What is not known here is ignored."""

    url: str = Field(max_length=ADDRESS_LIMIT, description="Where it is reached, such as https://10.0.0.7:5080.")
    incarnation: Line | None = Field(None, max_length=64, description="The id of this very process, if it has one.")
    name: Line | None = Field(None, max_length=64)


class AgentSaid(OrchestratorSaid):
    """An executor that registers."""

    orchestrator_id: Line | None = Field(None, max_length=64, description="The coordinator it works with.")


class StatusSaid(BaseModel):
    status: str = Field(max_length=64)


class Registered(BaseModel):
    id: str = Field(description="32 hexadecimal digits. A url that was known keeps the id it had.")


class OrchestratorShown(_Camel):
    id: str
    url: str
    registered_at: str
    last_heartbeat: str
    status: ServiceStatus
    name: str | None
    incarnation: str | None
    failing: Failing | None = Field(description="What made it Failed, when it does not say so itself.")
    beat_age: float = Field(description="Seconds since its last sign of life.")


class AgentShown(OrchestratorShown):
    orchestrator_id: str | None


# --- orchestrators


@router.get("/api/orchestrators", response_model=list[OrchestratorShown])
async def orchestrators(tools: ToolsHere) -> JSONResponse:
    """List orchestrators. ORTH-SEQ tells the event from which on a socket tells what changes."""
    return await _listed(tools, ServiceKind.ORCHESTRATOR)


@router.post("/api/orchestrators/register")
async def register_orchestrator(said: OrchestratorSaid, tools: ToolsHere, by: ByHere) -> Registered:
    """Register an orchestrator: it is Starting, until it says otherwise."""
    return await _register(tools, by, ServiceKind.ORCHESTRATOR, said)


@router.post("/api/orchestrators/{service_id}/heartbeat")
async def beat_orchestrator(service_id: str, tools: ToolsHere, by: ByHere) -> Registered:
    """Say that an orchestrator lives."""
    return await _beat(tools, by, ServiceKind.ORCHESTRATOR, service_id)


@router.post("/api/orchestrators/{service_id}/status")
async def report_orchestrator(
    service_id: str,
    tools: ToolsHere,
    by: ByHere,
    said: Annotated[StatusSaid | str | None, Body()] = None,
    status: Annotated[str | None, Query(max_length=64)] = None,
) -> Registered:
    """Say what the status of an orchestrator is: as {"status": …}, as a bare JSON text or in the query."""
    return await _report(tools, by, ServiceKind.ORCHESTRATOR, service_id, said, status)


@router.post("/api/orchestrators/{service_id}/unregister")
async def unregister_orchestrator(service_id: str, tools: ToolsHere, by: ByHere) -> Registered:
    """Say good-bye for an orchestrator."""
    return await _leave(tools, by, ServiceKind.ORCHESTRATOR, service_id)


# --- agents


@router.get("/api/agents", response_model=list[AgentShown])
async def agents(tools: ToolsHere) -> JSONResponse:
    """List agents. ORTH-SEQ tells the event from which on a socket tells what changes."""
    return await _listed(tools, ServiceKind.AGENT)


@router.get("/api/agents/orchestrator/{orchestrator_id}", response_model=list[AgentShown])
async def agents_of(orchestrator_id: str, tools: ToolsHere) -> JSONResponse:
    """List the agents that work with an orchestrator."""
    return await _listed(tools, ServiceKind.AGENT, orchestrator_id)


@router.post("/api/agents/register")
async def register_agent(said: AgentSaid, tools: ToolsHere, by: ByHere, request: Request) -> Registered:
    """Register an agent: it is Starting, until it says otherwise."""
    return await _register(
        tools, by, ServiceKind.AGENT, said, said.orchestrator_id, getattr(request.state, "app_names", None)
    )


@router.post("/api/agents/{service_id}/heartbeat")
async def beat_agent(service_id: str, tools: ToolsHere, by: ByHere) -> Registered:
    """Say that an agent lives."""
    return await _beat(tools, by, ServiceKind.AGENT, service_id)


@router.post("/api/agents/{service_id}/status")
async def report_agent(
    service_id: str,
    tools: ToolsHere,
    by: ByHere,
    said: Annotated[StatusSaid | str | None, Body()] = None,
    status: Annotated[str | None, Query(max_length=64)] = None,
) -> Registered:
    """Say what the status of an agent is: as {"status": …}, as a bare JSON text or in the query."""
    return await _report(tools, by, ServiceKind.AGENT, service_id, said, status)


@router.post("/api/agents/{service_id}/unregister")
async def unregister_agent(service_id: str, tools: ToolsHere, by: ByHere) -> Registered:
    """Say good-bye for an agent."""
    return await _leave(tools, by, ServiceKind.AGENT, service_id)


# --- both


async def _listed(tools: Tools, kind: ServiceKind, orchestrator_id: str | None = None) -> JSONResponse:
    if orchestrator_id is not None and not orchestrator_id.isprintable():
        orchestrator_id = ""  # nobody's
    found, seq = await tools.db.read(list_services, kind, orchestrator_id=orchestrator_id)
    now = tools.clock.now()
    return JSONResponse(
        [_shown(one, now) for one in found], headers={SEQ_HEADER: str(seq), "Cache-Control": "no-store"}
    )


def _shown(service: Service, now: int) -> Mapping[str, Any]:
    return {**as_shown(service), "beatAge": max(0, now - service.last_heartbeat) / 1000}


async def _register(
    tools: Tools,
    by: Actor | None,
    kind: ServiceKind,
    said: OrchestratorSaid,
    orchestrator_id: str | None = None,
    apps: frozenset[str] | None = None,
) -> Registered:
    try:
        url = checked_address(said.url.strip())
    except Invalid as error:
        raise Invalid.like(error, field="url") from None
    check_address(tools.settings, url, "url")
    incarnation, name = said.incarnation or None, said.name or None
    return Registered(
        id=await tools.registrar.register(
            kind,
            url,
            incarnation=incarnation,
            name=name,
            orchestrator_id=orchestrator_id or None,
            apps=apps,
            by=by,
            bounded=by is None or by.kind is not ActorKind.NODE,
        )
    )


async def _beat(tools: Tools, by: Actor | None, kind: ServiceKind, service_id: str) -> Registered:
    await tools.registrar.beat(kind, _checked(kind, service_id), by)
    return Registered(id=service_id)


async def _report(
    tools: Tools,
    by: Actor | None,
    kind: ServiceKind,
    service_id: str,
    said: StatusSaid | str | None,
    asked: str | None,
) -> Registered:
    text = said.status if isinstance(said, StatusSaid) else said if said is not None else asked
    if text is None:
        raise UnknownStatus("There is no status.", hint='Send {"status": "Running"}.', field="status")
    await tools.registrar.report(kind, _checked(kind, service_id), read_status(kind, text), by)
    return Registered(id=service_id)


async def _leave(tools: Tools, by: Actor | None, kind: ServiceKind, service_id: str) -> Registered:
    await tools.registrar.leave(kind, _checked(kind, service_id), by)
    return Registered(id=service_id)


def _checked(kind: ServiceKind, service_id: str) -> str:
    """An id as we give them; any other is nobody's, and need not be looked for."""
    if _ID.fullmatch(service_id) is None:
        raise NotFound(kind, ascii(service_id[:64]))
    return service_id
