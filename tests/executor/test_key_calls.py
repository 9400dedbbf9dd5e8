"""Whether the process at an address has a work key: asked of a real executor, and of what else may be there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from orth.clock import SystemClock
from orth.testing import ManualClock
from orth.wire.key_calls import Holding, KeyCalls
from orth.wire.signatures import Key, Signer
from orth.wire.work_keys import new_work_key, work_key_of
from tests.executor.test_signed_calls import TOKEN, serving

WORK_KEY = new_work_key()
KEY, OTHER = work_key_of(TOKEN, WORK_KEY), work_key_of(TOKEN, new_work_key())


async def asked(address: str, key: Key = KEY, incarnation: str = "incarnation-a", patience: float = 5) -> Holding:
    async with KeyCalls(Signer("node-1", SystemClock()), timeout=patience) as calls:
        return await calls.holding(address, key, incarnation)


@asynccontextmanager
async def answering(text: bytes) -> AsyncIterator[str]:
    """Something that answers everything so, or nothing."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if text:
            writer.write(text)
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


@pytest.mark.parametrize("must_sign", [False, True])
async def test_a_process_is_known_by_its_own_key_alone(tmp_path: Path, must_sign: bool) -> None:
    async with serving(tmp_path, work_key=WORK_KEY, must_sign=must_sign) as (address, runtime, _ran):
        assert await asked(address) is Holding.YES
        assert await asked(address, OTHER) is Holding.NO
        assert await asked(address, incarnation="another") is Holding.NO
        assert await asked(address, OTHER, "another") is Holding.NO
        assert runtime.turned_away.report() == (), "who asks is no stranger"


async def test_a_process_whose_clock_is_wrong_is_known(tmp_path: Path) -> None:
    clock = ManualClock()
    async with serving(tmp_path, clock=clock, work_key=WORK_KEY) as (address, _runtime, _ran):
        assert abs(clock.now() - SystemClock().now()) > 600_000
        assert await asked(address) is Holding.YES
        assert await asked(address, OTHER) is Holding.NO


async def test_a_process_that_stops_is_still_there(tmp_path: Path) -> None:
    async with serving(tmp_path, work_key=WORK_KEY) as (address, runtime, _ran):
        runtime.admission.close()
        assert await asked(address) is Holding.YES


@pytest.mark.parametrize(
    ("text", "holding"),
    [
        (b'HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{"status":"ok"}', Holding.NO),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n{"code":500,"msg":"no"}', Holding.NO),
        (b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", Holding.NO),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", Holding.UNKNOWN),
        (b"HTTP/1.1 502 Gone\r\nContent-Length: 0\r\n\r\n", Holding.UNKNOWN),
        (b"HTTP/1.1 429 Wait\r\nContent-Length: 0\r\n\r\n", Holding.UNKNOWN),
        (b"", Holding.UNKNOWN),
    ],
    ids=["of another make", "an envelope", "a page", "full", "a gateway", "too often", "silent"],
)
async def test_what_else_may_be_there(text: bytes, holding: Holding) -> None:
    async with answering(text) as address:
        assert await asked(address, patience=0.5) is holding


async def test_where_nobody_listens_nobody_has_it() -> None:
    async with answering(b"") as address:
        pass
    assert await asked(address) is Holding.NO
