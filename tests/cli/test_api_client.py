"""What commands say where something else than a coordinator answers."""

import json
from pathlib import Path

import pytest

from orth.cli.api_client import ApiClient
from orth.cli.failures import exit_code
from orth.errors import ApiProblem, Unavailable
from tests.cli.conftest import Run
from tests.wire.peers import Exchange, Peer

HINT = "Name a coordinator with --server or ORTH_SERVER, such as http://127.0.0.1:5080."
ENVELOPE = json.dumps({"code": 500, "msg": "There is nothing at that path.", "content": None, "data": None}).encode()


def as_executor(exchange: Exchange) -> None:
    """A request without a token may be of a coordinator of xxl-job, which reads refusals from HTTP 200 only."""
    if exchange.request.path == "/health":
        exchange.respond(b'{"status": "ok"}')
    elif exchange.request.body and "authorization" not in exchange.request.headers:
        exchange.respond(ENVELOPE)
    else:
        exchange.respond(ENVELOPE, 404)


def as_page(exchange: Exchange) -> None:
    exchange.respond(b"<html><title>Welcome</title></html>", 200, "text/html")


def as_page_below(exchange: Exchange) -> None:
    """A coordinator with a console that answers every other path with its page."""
    if exchange.request.path == "/health/live":
        exchange.respond(b'{"status": "alive"}')
    else:
        as_page(exchange)


@pytest.mark.parametrize("token", [None, "some-token"])
def test_an_executor_is_told_from_a_coordinator(token: str | None) -> None:
    with Peer(as_executor) as executor, ApiClient(executor.address, token=token) as client:
        for method, body in (("GET", None), ("POST", {"username": "admin"})):
            with pytest.raises(Unavailable) as refused:
                client.call(method, "/api/v1/jobs", body=body)
            assert str(refused.value) == f"{executor.address}: an executor answers there, not a coordinator. {HINT}"
            assert exit_code(refused.value) == 6
        with pytest.raises(Unavailable, match="an executor answers there"):
            list(client.stream("/api/v1/scripts/7/diff"))


def test_a_page_of_something_else_is_no_answer() -> None:
    with Peer(as_page) as other, ApiClient(other.address) as client, pytest.raises(Unavailable) as refused:
        client.get("/api/v1/jobs")
    assert "something that is not Orth (HTTP 200, page 'Welcome') answers there, not a coordinator." in str(
        refused.value
    )
    assert refused.value.hint == HINT


def test_an_address_with_a_path_too_many_is_told_without_the_path() -> None:
    with (
        Peer(as_page_below) as coordinator,
        ApiClient(f"{coordinator.address}/console") as client,
        pytest.raises(Unavailable) as refused,
    ):
        client.get("/api/v1/jobs")
    assert refused.value.hint == f"A coordinator answers at {coordinator.address}. Leave the path out."


def test_a_coordinator_and_what_is_before_it_are_believed() -> None:
    def proxied(exchange: Exchange) -> None:
        if exchange.request.path == "/health/live":
            exchange.respond(b'{"status": "alive"}')
        else:
            exchange.respond(b"refused", int(exchange.request.path.rpartition("/")[2]), "text/plain")

    with Peer(proxied) as coordinator, ApiClient(coordinator.address) as client:
        for status in (400, 401, 413, 500, 502):
            with pytest.raises(ApiProblem, match=f"The server answered HTTP {status}.") as refused:
                client.get(f"/{status}")
            assert refused.value.status == status
        with pytest.raises(ApiProblem, match="The server answered HTTP 200, and not in JSON"):
            client.get("/200")


def test_commands_say_that_an_executor_answers(run: Run, tmp_path: Path) -> None:
    environ = {"ORTH_HOME": str(tmp_path), "ORTH_TOKEN": "some-token"}
    with Peer(as_executor) as executor:
        for arguments in (("job", "list"), ("login", "--password-stdin")):
            refused = run(*arguments, "--server", executor.address, typed="password\n", **environ).exception
            assert isinstance(refused, Unavailable)
            assert "an executor answers there, not a coordinator" in str(refused)
