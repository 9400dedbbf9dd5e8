"""A44: an executor that answers without end is cut off, in bounded memory and time."""

import asyncio
import resource
import time

import pytest

from orth.errors import Unavailable
from orth.wire.executor_calls import ExecutorCalls
from orth.wire.messages import LogRequest

MEBIBYTE = 1024 * 1024


async def talk_without_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    piece = b"%x\r\n" % MEBIBYTE + b"x" * MEBIBYTE + b"\r\n"
    try:
        while True:
            writer.write(piece)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


@pytest.mark.parametrize("asked", ["log", "beat"])
async def test_a_page_of_gigabytes_is_cut_off(asked: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    server = await asyncio.start_server(talk_without_end, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    began = time.monotonic()
    async with server, ExecutorCalls(timeout=20) as calls:
        answer = (
            calls.log(address, LogRequest(log_id=1), token="t") if asked == "log" else calls.beat(address, token="t")
        )
        with pytest.raises(Unavailable, match="larger than"):
            await answer
    assert time.monotonic() - began < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 192 * 1024
