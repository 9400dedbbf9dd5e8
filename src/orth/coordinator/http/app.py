"""The application: resources, the rule that every route says who may use it, and health."""

from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.middleware.cors import CORSMiddleware

from orth.coordinator.http import (
    alarm_channels,
    alarm_rules,
    alarms,
    audit,
    auth,
    batches,
    calendars,
    changes,
    cluster,
    cluster_history,
    dead_letters,
    effective_settings,
    execution_actions,
    execution_relatives,
    executions,
    executor_actions,
    executor_keys,
    executors,
    groups,
    job_actions,
    job_board,
    job_definitions,
    job_history,
    jobs,
    live_socket,
    log_streams,
    logs,
    metrics,
    oidc,
    overview,
    preferences,
    processes,
    schedules,
    scripts,
    secrets,
    services,
    stats,
    tokens,
    upcoming_fires,
    user_sessions,
    users,
)
from orth.coordinator.http.callers import needs
from orth.coordinator.http.compact_responses import CompactResponses
from orth.coordinator.http.console_files import ConsoleFiles
from orth.coordinator.http.credentials import caller_of
from orth.coordinator.http.declarations import check_declared, paths_of
from orth.coordinator.http.declared_types import DeclaredTypes
from orth.coordinator.http.from_executors import executor_routes
from orth.coordinator.http.hosts import KnownHosts
from orth.coordinator.http.limits import BodyLimit
from orth.coordinator.http.problems import DOCUMENTED, Bugs, Problem, handle_problems
from orth.coordinator.http.rates import StrangersLimit
from orth.coordinator.http.refused_callers import audit_refusals
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.coordinator.http.turns import Turns
from orth.distribution import built_console
from orth.settings import Settings
from orth.store.database import ping
from orth.version import __version__

health = APIRouter(prefix="/health", tags=["health"])

_RESOURCES = (
    groups,
    job_actions,
    job_definitions,
    job_board,  # before the jobs, which would take "board" for an id
    jobs,
    job_history,
    schedules,
    upcoming_fires,
    scripts,
    batches,
    execution_actions,  # before the executions, which would take "bulk" for an id
    executions,
    execution_relatives,
    dead_letters,
    logs,
    log_streams,
    executor_actions,
    executor_keys,
    executors,
    calendars,
    stats,
    overview,
    alarms,
    alarm_channels,
    alarm_rules,
    cluster,
    cluster_history,
    processes,
    secrets,
    audit,
    users,
    user_sessions,
    preferences,
    tokens,
    effective_settings,
)
"""What only signed-in callers may use."""


@health.get("/live")
async def live(tools: ToolsHere) -> dict[str, str | int]:
    """The process runs, and what its clock says in UTC epoch milliseconds."""
    return {"status": "alive", "now": tools.clock.now()}


@health.get("/ready")
async def ready(tools: ToolsHere) -> dict[str, str]:
    """The process can do its work: the database answers."""
    await tools.db.read(ping)
    return {"status": "ready"}


_OPEN = (
    live,
    ready,
    auth.login,
    auth.refresh,
    auth.ways,
    auth.begin_browser_session,
    auth.open_link,
    oidc.start,
    oidc.callback,
    live_socket.no_socket,
)
"""For whoever comes."""
_LARGE = (
    *(jobs.create, jobs.put, jobs.patch, jobs.trigger, batches.trigger_batch),
    *(job_definitions.take_in, scripts.header, scripts.save, scripts.try_it, secrets.put, calendars.add_calendar),
    *(groups.create, groups.replace, users.create, users.change),
    *(alarm_channels.add_channel, alarm_channels.put_channel, alarm_rules.preview),
)
"""For bodies above 64 KiB: code, parameters, templates, and lists that may be long."""
_ASK_THEMSELVES = (services.credential, metrics.may_read, live_socket.live, log_streams.socket, changes.changes)
"""Checks that take other credentials too, and sockets, to which these come another way."""


def build_app(tools: Tools) -> FastAPI:
    app = assembled(tools.settings)
    app.state.tools = tools
    app.state.pulse = changes.Pulse(tools.db, tools.clock)
    return app


def assembled(settings: Settings) -> FastAPI:
    """Everything that is served with these settings; without tools, it can only be looked at."""
    app = FastAPI(
        title="Orth",
        version=__version__,
        description="The scheduler you can prove.",
        openapi_url=None,  # served below, to people who are signed in
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a redirect would be built from the Host header, which anybody may write
        responses=DOCUMENTED,
    )
    app.state.caller_of = caller_of
    _serve(app, health)
    _serve(app, auth.router)
    _serve(app, oidc.router)
    if settings.metrics.enabled:
        _serve(app, metrics.router)
    _serve(app, services.router)  # these two ask for the credential themselves: services show another one
    _serve(app, live_socket.router)
    _serve(app, live_socket.sockets)
    roles = settings.coordinator.roles
    called_by_executors = executor_routes()
    if "coordinator" in roles or "console" in roles:
        _include_resources(app)
        app.router.default = ConsoleFiles(app.router.default, built_console(), settings.console.base_url)
    if "coordinator" in roles:
        app.router.routes[:0] = called_by_executors  # first, for they are called most: routes are tried in their order
    handle_problems(app)
    audit_refusals(app)
    open_paths = paths_of(app.routes, _OPEN)
    app.add_middleware(CompactResponses)
    app.add_middleware(Turns)
    large_paths = paths_of(app.routes, _LARGE)
    app.add_middleware(BodyLimit, limit=settings.coordinator.max_body, open_paths=open_paths, large_paths=large_paths)
    if settings.console.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.console.origins),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=[services.SEQ_HEADER],
        )
    app.add_middleware(StrangersLimit, open_paths=open_paths)
    app.add_middleware(KnownHosts, settings=settings, open_paths=open_paths)
    app.add_middleware(Bugs)
    app.add_middleware(DeclaredTypes)
    check_declared(
        app.routes, (*_OPEN, *_ASK_THEMSELVES, *(getattr(route, "endpoint", None) for route in called_by_executors))
    )
    return app


def _serve(app: FastAPI, router: APIRouter) -> None:
    """Let ``app`` have these routes as they are: ``include_router`` makes each of them a second time, which took
    a sixth of a second of every start.
    """
    for route in router.routes:
        if isinstance(route, APIRoute):
            route.responses = {**DOCUMENTED, **route.responses}
        app.router.routes.append(route)


def _include_resources(app: FastAPI) -> None:
    """What only signed-in callers may use."""
    for resource in _RESOURCES:
        _serve(app, resource.router)

    @app.get("/api/openapi.json", include_in_schema=False, dependencies=[needs(None)])
    async def openapi() -> JSONResponse:
        return JSONResponse(document_of(app))

    _serve(app, log_streams.sockets)
    _serve(app, changes.sockets)


def document_of(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, with the schema that ``DOCUMENTED`` points to."""
    document = app.openapi()
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    document["components"]["schemas"] |= schema.pop("$defs") | {Problem.__name__: schema}
    return document
