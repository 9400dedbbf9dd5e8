"""The door over real sockets: what a caller reads when it is turned away."""

import http.client
import json
from collections.abc import Iterator

import pytest

from orth.executor.handlers import Handlers
from orth.wire.fields import BODY_LIMIT
from tests.executor.bench import HEADERS, TOKEN, Rig
from tests.executor.conftest import MakeRig
from tests.executor.test_attacks import BODY, HEAD, LENGTH, Watched, sent, served

XXL = {"XXL-JOB-ACCESS-TOKEN": TOKEN}
TOO_LARGE = 6 * 1024 * 1024
PATHS = ("/", "/run", "/log", "/health", "/metrics", "/nowhere")


@pytest.fixture
def watched(app: Handlers, rig: MakeRig) -> Watched:
    return Watched(app, rig)


@pytest.fixture
def ran(watched: Watched) -> Rig:
    return watched.ran


def posted(port: int, path: str, body: object, headers: dict[str, str]) -> tuple[int, dict[str, object]]:
    """By Python's own client, which sends everything before it reads; a reset is an error."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("POST", path, body, headers, encode_chunked=not isinstance(body, bytes))  # type: ignore[arg-type]
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def pieces(size: int) -> Iterator[bytes]:
    return (b" " * 65_536 for _ in range(size // 65_536))


@pytest.mark.parametrize("headers", [HEADERS, XXL], ids=["ours", "foreign"])
def test_a_body_beyond_the_limit_is_told_so(ran: Rig, headers: dict[str, str]) -> None:
    chunked = headers | {"Transfer-Encoding": "chunked"}
    with served(ran) as port:
        for size in (BODY_LIMIT + 1, TOO_LARGE, 3 * TOO_LARGE):
            for status, told in (
                posted(port, "/run", b" " * size, headers),
                posted(port, "/run", pieces(size + 65_536), chunked),
            ):
                assert (status, told["code"]) == (413, 500)
                assert str(BODY_LIMIT) in str(told["msg"])
        assert posted(port, "/beat", b"", headers)[0] == 200


def test_a_refusal_is_read_though_nobody_read_the_request(watched: Watched) -> None:
    """A body that was not read must neither break the connection nor be taken for a request."""
    large = json.dumps({"glueSource": "x" * 1_000_000}).encode()
    with served(watched.ran) as port:
        for path in ("/run", "/nowhere"):
            for headers in ({"XXL-JOB-ACCESS-TOKEN": "wrong"}, {}):
                status, told = posted(port, path, large, headers)
                assert (status, told["code"]) == (200, 500)
                assert told["msg"]
        assert posted(port, "/run", large, {"ORTH-ACCESS-TOKEN": "wrong"})[0] == 401
        assert posted(port, "/nowhere", large, HEADERS)[0] == 404
        assert posted(port, "/run", b"{", XXL)[0] == 200
        assert posted(port, "/run", b"{", HEADERS)[0] == 400
    assert watched.is_untouched()


def test_a_wrong_token_and_none_get_the_same_bytes(ran: Rig) -> None:
    with served(ran) as port:
        answers = {
            sent(port, b"POST /run HTTP/1.1\r\nHost: x\r\n" + token + LENGTH + b"\r\n" + BODY).split(b"\r\n", 2)[2]
            for token in (b"", b"XXL-JOB-ACCESS-TOKEN: wrong\r\n", b"XXL-JOB-ACCESS-TOKEN:\r\n")
        }
    assert len(answers) == 1  # without the status line and the date, which may turn in between


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("token", ["", f"ORTH-ACCESS-TOKEN: {TOKEN}\r\n"], ids=["stranger", "friend"])
def test_a_websocket_is_refused_everywhere(ran: Rig, path: str, token: str) -> None:
    handshake = (
        f"GET {path} HTTP/1.1\r\nHost: x\r\n{token}Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    with served(ran) as port:
        answer = sent(port, handshake.encode() + b"\x81\x05hello")
        assert answer.startswith(b"HTTP/1.1 400")
        assert b"WebSocket" in answer
        assert answer.count(b"HTTP/1.1") == 1


def test_a_trigger_that_offers_http2_is_a_trigger(watched: Watched) -> None:
    """The JDK's HTTP client offers it with every request it makes in plain text."""
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk\r\n"
    with served(watched.ran) as port:
        answer = sent(port, HEAD + LENGTH + offer + b"\r\n" + BODY)
        assert answer.startswith(b"HTTP/1.1 200")
        assert b'"code":200' in answer
        assert watched.ran.runtime.join_idle(10)
    assert watched.called == [1]


def test_the_connection_of_a_caller_who_is_let_in_is_kept(ran: Rig) -> None:
    with served(ran) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        ports = set()
        for headers in (XXL, HEADERS, XXL):
            connection.request("POST", "/beat", b"{}", headers)
            ports.add(connection.sock.getsockname())
            assert json.loads(connection.getresponse().read())["code"] == 200
        assert len(ports) == 1
        connection.close()
