"""Connections that bring too much, or bring it too slowly, are answered and closed; others are served meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from orth import http_guard
from orth.serving import Server, bound
from orth.settings import Address

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
