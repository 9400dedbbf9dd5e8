"""The application does not start with a route that does not say who may use it."""

import pytest
from fastapi import APIRouter, Depends, FastAPI, WebSocket
from starlette.routing import Route

from orth.coordinator.http.app import assembled
from orth.coordinator.http.callers import needs
from orth.coordinator.http.declarations import Undeclared, check_declared
from orth.domain.access import Permission
from orth.settings import Settings


async def endpoint() -> str:
    return "anything"


async def other() -> str:
    return "anything else"


async def own_check() -> None:
    return None


async def socket(websocket: WebSocket) -> None:
    await websocket.accept()


def test_the_application_itself_is_declared() -> None:
    assert len(assembled(Settings()).routes) > 10


@pytest.mark.parametrize("kind", ["route", "included", "socket", "plain"])
def test_a_route_without_a_declaration_is_refused(kind: str) -> None:
    app, router = FastAPI(openapi_url=None), APIRouter(prefix="/deep")
    if kind == "route":
        app.get("/bare")(endpoint)
    elif kind == "included":
        router.get("/bare")(endpoint)
        app.include_router(router)
    elif kind == "socket":
        app.websocket("/bare")(socket)
    else:
        app.router.routes.append(Route("/bare", endpoint))
    with pytest.raises(Undeclared, match="/bare"):
        check_declared(app.routes, ())


def test_a_declaration_counts_wherever_it_is_made() -> None:
    app, router = FastAPI(openapi_url=None), APIRouter(prefix="/deep", dependencies=[needs(Permission.VIEW)])
    app.get("/own", dependencies=[needs(None)])(endpoint)
    router.get("/router")(endpoint)
    app.include_router(router)
    plain = APIRouter()
    plain.get("/included")(endpoint)
    app.include_router(plain, dependencies=[needs(Permission.EDIT, everywhere=True)])
    check_declared(app.routes, ())


def test_what_is_exempt_is_that_object_and_no_other() -> None:
    app = FastAPI(openapi_url=None)
    app.get("/open")(endpoint)
    app.get("/checked", dependencies=[Depends(own_check)])(other)
    check_declared(app.routes, (endpoint, own_check))
    with pytest.raises(Undeclared, match="/checked"):
        check_declared(app.routes, (endpoint,))
    with pytest.raises(Undeclared, match="/open"):
        check_declared(app.routes, (other,))
