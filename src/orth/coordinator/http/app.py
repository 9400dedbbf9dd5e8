"""The application: resources, the rule that nobody is anonymous, and health."""

from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.responses import JSONResponse
from starlette.middleware.cors import CORSMiddleware

from orth.coordinator.http import (
    alarms,
    auth,
    batches,
    calendars,
    cluster,
    dead_letters,
    execution_actions,
    executions,
    executors,
    groups,
    jobs,
    live_socket,
    log_streams,
    logs,
    metrics,
    services,
    stats,
)
from orth.coordinator.http.auth import ToolsHere, signed_in
from orth.coordinator.http.from_executors import executor_routes
from orth.coordinator.http.limits import BodyLimit
from orth.coordinator.http.problems import DOCUMENTED, Bugs, Problem, handle_problems
from orth.coordinator.http.tools import Tools
from orth.store.database import ping
from orth.version import __version__

health = APIRouter(prefix="/health", tags=["health"])

_RESOURCES = (
    groups,
    jobs,
    batches,
    execution_actions,  # before the executions, which would take "bulk" for an id
    executions,
    dead_letters,
    logs,
    log_streams,
    executors,
    calendars,
    stats,
    alarms,
    cluster,
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


def build_app(tools: Tools) -> FastAPI:
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
    app.state.tools = tools
    app.include_router(health)
    app.include_router(auth.router)
    if tools.settings.metrics.enabled:
        app.include_router(metrics.router)
    app.include_router(services.router)  # these two ask for the credential themselves: services show another one
    app.include_router(live_socket.router)
    app.include_router(live_socket.sockets)
    roles = tools.settings.coordinator.roles
    if "coordinator" in roles or "console" in roles:
        _include_resources(app)
    if "coordinator" in roles:
        app.router.routes[:0] = executor_routes()  # first, for they are called most: routes are tried in their order
    handle_problems(app)
    app.add_middleware(BodyLimit, limit=tools.settings.coordinator.max_body)
    if tools.settings.console.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(tools.settings.console.origins),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=[services.SEQ_HEADER],
        )
    app.add_middleware(Bugs)
    return app


def _include_resources(app: FastAPI) -> None:
    """What only signed-in callers may use."""
    closed = APIRouter(dependencies=[Depends(signed_in)])
    for resource in _RESOURCES:
        closed.include_router(resource.router)

    @closed.get("/api/openapi.json", include_in_schema=False)
    async def openapi() -> JSONResponse:
        return JSONResponse(_document(app))

    app.include_router(closed)
    app.include_router(log_streams.sockets)  # asks for the credential itself: those of browsers come another way


def _document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, with the schema that ``DOCUMENTED`` points to."""
    document = app.openapi()
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    document["components"]["schemas"] |= schema.pop("$defs") | {Problem.__name__: schema}
    return document
