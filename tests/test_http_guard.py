"""Connections that bring too much, or bring it too slowly, are answered and closed; others are served meanwhile."""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from orth import http_guard
from orth.apphost.certificates import development_certificates
from orth.apphost.topologies import from_settings
from orth.serving import Server, Tls, bound
from orth.settings import Address, Settings

Answer = tuple[int, bytes]


async def echo(scope: dict[str, Any], receive: Any, send: Any) -> None:
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    if scope["path"] == "/slow":
        await asyncio.sleep(0.5)  # longer than the patience of the impatient
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture
async def port() -> AsyncIterator[int]:
    with bound(Address("127.0.0.1", 0)) as listening:
        server = Server(echo, keep_alive=5)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        yield listening.getsockname()[1]
        server.should_exit = True
        await serving


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_guard, "HEAD_WITHIN", 0.2)
    monkeypatch.setattr(http_guard, "BODY_WITHIN", 0.4)


async def send(port: int, *parts: bytes) -> bytes:
    """Send the parts and read until the server hangs up or has answered in full."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        async with asyncio.timeout(10):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            return head.split(b"\r\n")[0] + b"|" + await reader.readexactly(length)
    finally:
        writer.close()


async def test_ordinary_requests_pass(port: int) -> None:
    assert await send(port, b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello") == b"HTTP/1.1 200 OK|hello"
    many = b"".join(b"x-%d: y\r\n" % n for n in range(150))
    assert (await send(port, b"GET / HTTP/1.1\r\nhost: x\r\n" + many + b"\r\n")).startswith(b"HTTP/1.1 200")


async def test_a_large_body_in_one_piece_is_no_large_head(port: int) -> None:
    body = b"z" * 1_000_000
    request = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body)
    assert (await send(port, request + body)).endswith(body[-100:])


async def test_one_endless_header(port: int) -> None:
    answer = await send(port, b"GET / HTTP/1.1\r\nhost: x\r\nx-long: ", *[b"a" * 16_000] * 20)
    assert answer.startswith(b"HTTP/1.1 431")


@pytest.mark.parametrize(
    ("raw", "status"), [(b"GET / HTTP/1.1\r\nhost: x\r\nx: " + b"a" * 400_000, 431), (b"no HTTP\r\n\r\n", 400)]
)
async def test_what_is_refused_unread_is_told_as_any_problem(port: int, raw: bytes, status: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(raw)
    async with asyncio.timeout(10):
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    assert b"content-type: application/problem+json" in head.lower()
    told = json.loads(body)
    assert told["status"] == status
    assert told["type"].startswith("urn:orth:problem:")
    assert told["title"]
    assert told["detail"]


async def test_a_thousand_headers(port: int) -> None:
    many = b"".join(b"x-%d: y\r\n" % n for n in range(1000))
    assert (await send(port, b"GET / HTTP/1.1\r\nhost: x\r\n" + many + b"\r\n")).startswith(b"HTTP/1.1 431")


@pytest.mark.usefixtures("impatient")
async def test_a_head_that_does_not_end(port: int) -> None:
    assert (await send(port, b"GET / HTTP/1.1\r\nhost: x\r\n")).startswith(b"HTTP/1.1 408")
    assert (await send(port, b"")).startswith(b"HTTP/1.1 408")


@pytest.mark.usefixtures("impatient")
async def test_a_body_that_does_not_come_while_others_are_served(port: int) -> None:
    slow = asyncio.create_task(send(port, b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhe"))
    assert (await send(port, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")).startswith(b"HTTP/1.1 200")
    assert (await slow).startswith(b"HTTP/1.1 408")


@pytest.mark.usefixtures("impatient")
async def test_an_idle_connection_between_requests_is_not_slow(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(2):
        writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        async with asyncio.timeout(5):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        await asyncio.sleep(0.6)  # longer than both limits
    writer.close()


async def test_endless_trailers(port: int) -> None:
    head = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
    line = b"x-a: " + b"b" * 16_000 + b"\r\n"
    assert (await send(port, head, *[line] * 40)).startswith(b"HTTP/1.1 431")


async def test_a_body_in_tiny_chunks_is_a_body(port: int) -> None:
    head = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
    chunks = [b"1\r\nz\r\n" * 1000] * 30
    assert await send(port, head, *chunks, b"0\r\n\r\n") == b"HTTP/1.1 200 OK|" + b"z" * 30_000


@pytest.mark.usefixtures("impatient")
async def test_empty_lines_between_requests_do_not_hold_a_connection(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    async with asyncio.timeout(5):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 408")
        await reader.read()
    writer.close()


@pytest.mark.usefixtures("impatient")
async def test_an_unfinished_second_request_does_not_take_the_first_one_s_answer(port: int) -> None:
    head = b"POST /slow HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nhi"
    assert await send(port, head + b"GET /unfini") == b"HTTP/1.1 200 OK|hi"


# --- a refusal before the request is complete


async def refusing(_scope: dict[str, Any], _receive: Any, send: Any) -> None:
    headers = [(b"content-length", b"2"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": b"no"})


@asynccontextmanager
async def serving(app: Any, **settings: Any) -> AsyncIterator[int]:
    with bound(Address("127.0.0.1", 0)) as listening:
        server = Server(app, keep_alive=5, **settings)
        task = asyncio.create_task(server.serve(sockets=[listening]))
        yield listening.getsockname()[1]
        server.should_exit = True
        async with asyncio.timeout(10):
            await task


def told_whole(port: int, head: bytes, parts: Iterable[bytes]) -> bytes:
    """Say everything before listening, as simple clients do, and read to the end; a reset is an error."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(head)
        for part in parts:
            connection.sendall(part)
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
        return answer


LARGE = 12 * 1024 * 1024
BY_LENGTH = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"


async def test_a_refusal_is_read_by_those_who_send_everything_first() -> None:
    piece = b"x" * 65_536
    chunk = b"%x\r\n%s\r\n" % (len(piece), piece)
    async with serving(refusing) as port:
        for head, part in ((BY_LENGTH % LARGE, piece), (CHUNKED, chunk)):
            answer = await asyncio.to_thread(told_whole, port, head, [part] * (LARGE // len(piece)))
            assert answer.startswith(b"HTTP/1.1 413")
            assert answer.endswith(b"\r\n\r\nno")
            assert answer.count(b"HTTP/1.1") == 1


async def test_our_own_refusals_are_read_too() -> None:
    lines = b"x-a: b\r\n" * 100_000
    async with serving(refusing) as port:
        answer = await asyncio.to_thread(told_whole, port, b"GET / HTTP/1.1\r\nhost: x\r\n", [lines] * 8)
        assert answer.startswith(b"HTTP/1.1 431")
        answer = await asyncio.to_thread(told_whole, port, b"\x16\x03\x01\x02\x00", [b"\x00" * LARGE])
        assert answer.startswith(b"HTTP/1.1 400")


async def test_nobody_is_listened_to_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_guard, "LINGER_LIMIT", 1024 * 1024)
    pieces = count()
    async with serving(refusing) as port:
        with pytest.raises(ConnectionError):
            await asyncio.to_thread(told_whole, port, BY_LENGTH % 10**12, (b"x" * 65_536 for _ in pieces))
    assert next(pieces) * 65_536 < 32 * 1024 * 1024, "what the sockets themselves hold is less"


async def talk_on(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.02)


async def test_nobody_is_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_guard, "LINGER_WITHIN", 0.2)
    async with serving(refusing) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(BY_LENGTH % LARGE)
        async with asyncio.timeout(5):
            assert (await reader.read()).startswith(b"HTTP/1.1 413")
            with pytest.raises(ConnectionError):
                await talk_on(writer)
        writer.close()


async def test_a_stop_does_not_wait_for_what_nobody_reads() -> None:
    async with serving(refusing) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(BY_LENGTH % LARGE)
        async with asyncio.timeout(5):
            assert (await reader.read()).startswith(b"HTTP/1.1 413")
    writer.close()


async def test_a_stop_does_not_wait_for_the_farewell_of_idle_tls_connections(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings()
    files = development_certificates(from_settings(settings, "jobs"), settings, tmp_path)
    trusting = ssl.create_default_context(cafile=str(files.ca))

    def answered(port: int) -> ssl.SSLSocket:
        connection = trusting.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="localhost")
        connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert connection.recv(12) == b"HTTP/1.1 200"
        return connection

    async with serving(echo, tls=Tls(files.certificate, files.key)) as port:
        kept = await asyncio.to_thread(answered, port)
    with kept:
        assert [record.getMessage() for record in caplog.records] == []


async def test_who_is_refused_early_over_tls_gets_the_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_guard, "LINGER_WITHIN", 0.3)
    settings = Settings()
    files = development_certificates(from_settings(settings, "jobs"), settings, tmp_path)
    trusting = ssl.create_default_context(cafile=str(files.ca))
    async with serving(refusing, tls=Tls(files.certificate, files.key)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting, server_hostname="localhost")
        writer.write(BY_LENGTH % LARGE)
        async with asyncio.timeout(5):
            assert (await reader.read()).startswith(b"HTTP/1.1 413")
        writer.close()
    assert [record.getMessage() for record in caplog.records] == []


@pytest.mark.usefixtures("impatient")
async def test_who_took_too_long_is_not_answered_a_second_time(caplog: pytest.LogCaptureFixture) -> None:
    answered = asyncio.Event()

    async def stubborn(scope: dict[str, Any], receive: Any, send: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        await refusing(scope, receive, send)
        answered.set()

    async with serving(stubborn) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhe")
        async with asyncio.timeout(5):
            answer = await reader.read()
            await answered.wait()
        assert (answer.count(b"HTTP/1.1"), answer.startswith(b"HTTP/1.1 408")) == (1, True)
        assert "Exception" not in caplog.text
    writer.close()  # later than the server, which does not wait for it


async def test_garbage_behind_a_request_does_not_take_its_answer(port: int) -> None:
    head = b"POST /slow HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nhi"
    assert await send(port, head + b"\x00\x01\x02 garbage\r\n\r\n") == b"HTTP/1.1 200 OK|hi"


async def test_what_is_piped_behind_a_refusal_is_not_served() -> None:
    served: list[str] = []

    async def first_slowly(scope: dict[str, Any], receive: Any, send: Any) -> None:
        served.append(scope["path"])
        await asyncio.sleep(0.05)  # the second has arrived in part
        await refusing(scope, receive, send)

    first = b"GET /first HTTP/1.1\r\nhost: x\r\n\r\n"
    second = b"POST /second HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhe"
    async with serving(first_slowly) as port:
        assert (await asyncio.to_thread(told_whole, port, first + second, [])).count(b"HTTP/1.1") == 1
    assert served == ["/first"]


# --- upgrades

WEBSOCKET = (
    b"GET / HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


async def test_an_upgrade_that_is_only_offered_changes_nothing(port: int, caplog: pytest.LogCaptureFixture) -> None:
    offer = b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n"
    request = b"POST / HTTP/1.1\r\nhost: x\r\n" + offer + b"content-length: 5\r\n\r\nhello"
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for cut in (len(request), len(request) - 3, 20, 1):
        writer.write(request[:cut])
        await asyncio.sleep(0.02)  # in two pieces on the wire
        writer.write(request[cut:])
        async with asyncio.timeout(5):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
            assert await reader.readexactly(5) == b"hello"
    writer.write(request + request.replace(b"Upgrade,", b"close, Upgrade,"))
    async with asyncio.timeout(5):
        assert (await reader.read()).count(b"hello") == 2
    writer.close()
    assert caplog.text == ""


@pytest.mark.parametrize(
    "offer",
    [
        b"connection: upgrade\r\n",
        b"connection:\tUPGRADE \r\n",
        b"connection: keep-alive\r\nconnection: close,, upgrade ,x\r\n",
        b"proxy-connection: upgrade\r\n",
        b"connection: upgrade upgrade\r\n",
        b"connection: upgrade;q=1\r\n",
    ],
)
async def test_offers_in_every_spelling_leave_the_body(port: int, offer: bytes) -> None:
    request = b"POST / HTTP/1.1\r\nhost: x\r\n" + offer + b"upgrade: foo/2\r\ntransfer-encoding: chunked\r\n\r\n"
    assert await send(port, request + b"5\r\nhello\r\n0\r\n\r\n") == b"HTTP/1.1 200 OK|hello"


async def test_a_thousand_offers_on_one_connection(port: int) -> None:
    request = b"GET / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"
    last = b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n"
    answers = await asyncio.to_thread(told_whole, port, request * 3000 + last, [])
    assert answers.count(b"HTTP/1.1 200") == 3001


async def test_nobody_is_connected_to_elsewhere(port: int) -> None:
    assert (await send(port, b"CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n")).startswith(b"HTTP/1.1 405")


async def test_where_no_websockets_are_served_an_upgrade_is_a_plain_request(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(echo, websockets=False) as port:
        assert (await send(port, WEBSOCKET)).startswith(b"HTTP/1.1 200")
    assert caplog.text == ""


@pytest.mark.usefixtures("impatient")
async def test_a_websocket_is_not_taken_for_a_slow_request() -> None:
    async def greeting(_scope: dict[str, Any], receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await asyncio.sleep(0.6)  # longer than both limits
        await send({"type": "websocket.send", "text": "still here"})
        await send({"type": "websocket.close"})

    async with serving(greeting) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(WEBSOCKET)
        async with asyncio.timeout(5):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101")
            assert await reader.readexactly(12) == b"\x81\x0astill here"
        writer.close()
