"""The gate before password checks: a few at once, a few waiting, the rest refused."""

import asyncio

import pytest

from orth.coordinator.http.tools import Gate
from orth.errors import TooBusy


async def test_a_few_at_once_a_few_waiting_the_rest_refused() -> None:
    gate = Gate(at_once=2, waiting=3)
    release = asyncio.Event()
    inside = most = 0

    async def enter() -> str:
        nonlocal inside, most
        try:
            async with gate:
                inside += 1
                most = max(most, inside)
                await release.wait()
                inside -= 1
                return "served"
        except TooBusy:
            return "refused"

    visits = [asyncio.create_task(enter()) for _ in range(9)]
    for _ in range(10):
        await asyncio.sleep(0)
    release.set()
    assert sorted(await asyncio.gather(*visits)) == ["refused"] * 4 + ["served"] * 5
    assert most == 2
    async with gate:
        assert inside == 0


async def test_who_gives_up_waiting_frees_the_place() -> None:
    gate = Gate(at_once=1, waiting=1)
    async with gate:
        waiting = asyncio.create_task(gate.__aenter__())
        await asyncio.sleep(0)
        with pytest.raises(TooBusy):
            await gate.__aenter__()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        waiting = asyncio.create_task(gate.__aenter__())
        await asyncio.sleep(0)
        assert not waiting.done()
    await waiting
