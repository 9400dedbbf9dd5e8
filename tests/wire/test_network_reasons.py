"""Every library's failure of a connection has the same words, and none of the library's own."""

import ast
import asyncio
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import aiohttp
import pytest
import urllib3
from websockets.sync.client import connect

from orth.wire.network_reasons import Reason, network_finding, network_sentence, place_of
from orth.wire.outbound import AddressRefused

Ask = Callable[[str], object]


def by_urllib3(url: str) -> object:
    return urllib3.PoolManager(retries=False, timeout=1.0).request("GET", url)


def by_aiohttp(url: str) -> object:
    async def ask() -> None:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=1.0)) as session, session.get(url):
            pass

    return asyncio.run(ask())


def by_websockets(url: str) -> object:
    with connect(url.replace("http", "ws", 1), open_timeout=1.0):
        return None


def by_socket(url: str) -> object:
    host, port = place_of(url).split(":")
    with socket.create_connection((host, int(port)), timeout=1.0) as line:
        line.sendall(b"GET / HTTP/1.1\r\n\r\n")
        if not line.recv(1):
            raise EOFError
        return None


HTTP = (by_urllib3, by_aiohttp, by_websockets)
ALL = (*HTTP, by_socket)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as found:
        yield found


def serve(listener: socket.socket, said: bytes | None) -> str:
    """Whoever comes is read from, told this, and hung up on; None: nothing is ever said."""
    kept: list[socket.socket] = []

    def run() -> None:
        while True:
            try:
                line, _ = listener.accept()
            except OSError:
                return
            if said is None:
                kept.append(line)
                continue
            line.recv(4096)
            line.sendall(said)
            line.close()

    threading.Thread(target=run, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


def told(ask: Ask, url: str) -> tuple[Reason, str]:
    with pytest.raises(Exception) as failed:  # noqa: PT011  # of each library its own
        ask(url)
    return network_finding(failed.value).reason, network_sentence(url, failed.value)


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.parametrize("ask", ALL)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_nobody_listens(ask: Ask, host: str) -> None:
    port = closed_port()
    found = told(ask, f"http://{host}:{port}")
    assert found == (Reason.REFUSED, f"{host}:{port} refused the connection")


@pytest.mark.parametrize("ask", ALL)
def test_a_name_that_is_none(ask: Ask) -> None:
    found = told(ask, "http://no-such-host.invalid:5080")
    assert found == (Reason.NAME, "no-such-host.invalid:5080 has a host name that does not resolve")


@pytest.mark.parametrize("ask", ALL)
def test_nothing_is_answered(ask: Ask, listener: socket.socket) -> None:
    url = serve(listener, None)
    assert told(ask, url) == (Reason.SILENT, f"{place_of(url)} did not answer in time")


@pytest.mark.parametrize("ask", ALL)
def test_the_connection_is_closed(ask: Ask, listener: socket.socket) -> None:
    url = serve(listener, b"")
    assert told(ask, url) == (Reason.CLOSED, f"{place_of(url)} closed the connection")


@pytest.mark.parametrize("ask", HTTP)
def test_something_else_answers(ask: Ask, listener: socket.socket) -> None:
    url = serve(listener, b"220 mail.example.org ESMTP ready\r\n")
    assert told(ask, url) == (Reason.NOT_HTTP, f"{place_of(url)} does not answer in HTTP")


@pytest.mark.parametrize("ask", HTTP)
def test_plain_http_where_tls_is_asked_for(ask: Ask, listener: socket.socket) -> None:
    url = serve(listener, b"HTTP/1.1 400 Bad Request\r\n\r\n").replace("http:", "https:")
    assert told(ask, url) == (Reason.NO_TLS, f"{place_of(url)} does not speak TLS")


def test_a_certificate_that_is_not_accepted() -> None:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "self-signed certificate"
    wrapped = urllib3.exceptions.SSLError(error)
    said = network_sentence("https://10.0.0.1:5080", wrapped)
    assert said == "10.0.0.1:5080 shows a certificate that is not accepted: self-signed certificate"


def test_our_own_rule_keeps_its_words() -> None:
    said = network_sentence("http://169.254.169.254", AddressRefused("link-local addresses are never called"))
    assert said == "169.254.169.254 failed: link-local addresses are never called"


def test_what_is_unknown_names_its_class_and_never_its_words() -> None:
    said = network_sentence("http://user:secret@h:1", OSError("<object at 0x7f>"))
    assert said == "h:1 cannot be called: OSError"


SOURCES = sorted((Path(__file__).parents[2] / "src/orth").rglob("*.py"))
NETWORK = re.compile(
    r"\b(HTTPError|HttpTimeout|aiohttp\.\w+|WebSocketException|HttpParserError|HTTPException"
    r"|FAILURES|RedisError|SQLAlchemyError|DBAPIError|OperationalError|psycopg\.\w+|pymysql\.\w+)\b"
)


def worded_by_a_library(handler: ast.ExceptHandler) -> Iterator[int]:
    """Lines of a handler of network errors that show such an error as text."""
    if handler.name is None or handler.type is None or not NETWORK.search(ast.unparse(handler.type)):
        return
    for node in ast.walk(ast.Module(handler.body, [])):
        as_text = node.value if isinstance(node, ast.FormattedValue) else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str":
            as_text = node.args[0]
        names = [] if as_text is None or isinstance(as_text, ast.Call) else ast.walk(as_text)
        if any(isinstance(one, ast.Name) and one.id == handler.name for one in names):
            yield node.lineno


def test_no_sentence_has_the_words_of_a_library() -> None:
    """Whoever catches an error of the network words it by ``network_reason``."""
    handlers = (
        (path, node)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler)
    )
    found = [f"{path.name}:{line}" for path, handler in handlers for line in worded_by_a_library(handler)]
    assert found == []
