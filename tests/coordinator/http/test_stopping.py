"""What becomes of requests that are under way when the server stops."""

import asyncio
from types import SimpleNamespace

import pytest
from starlette.types import Receive, Scope, Send

from orth.clock import SystemClock
from orth.coordinator.http.body_budget import BodyBudget
from orth.coordinator.http.limits import BodyLimit
from orth.serving import Server, bound
from orth.settings import Address
from tests.coordinator.queue_site import eventually


async def _under_way(server: Server) -> int:
    return len(server.server_state.tasks)


async def nobody(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise AssertionError("half a request was never made")


async def test_half_a_request_is_answered_when_the_server_stops(caplog: pytest.LogCaptureFixture) -> None:
    limit = BodyLimit(nobody, 1000, ["/api/v1/jobs"], [])
    tools = SimpleNamespace(bodies=BodyBudget(SystemClock()))

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await limit({**scope, "app": SimpleNamespace(state=SimpleNamespace(tools=tools))}, receive, send)

    server = Server(app, keep_alive=5)
    async with asyncio.timeout(30):
        with bound(Address("127.0.0.1", 0)) as listening:
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            reader, writer = await asyncio.open_connection(*listening.getsockname()[:2])
            writer.write(b"POST /api/v1/jobs HTTP/1.1\r\nHost: here\r\nContent-Length: 25\r\n\r\n{")
            await eventually(lambda: _under_way(server), bool)
            server.should_exit = True
            answer = await reader.read()
            writer.close()
            await serving
    assert answer.startswith(b"HTTP/1.1 503")
    assert "Traceback" not in caplog.text
    assert "Exception in ASGI application" not in caplog.text
