"""Work on logs beside the turns of a loop."""

import asyncio
import gc

import pytest

from orth.coordinator.logs import fetches
from orth.coordinator.logs.fetches import Fetches


async def nothing() -> None:
    return None


async def failing() -> None:
    raise KeyError("why")


async def test_few_of_one_executor_and_some_of_all() -> None:
    them, gate = Fetches(), asyncio.Event()

    async def waiting() -> None:
        await gate.wait()

    for number in range(8):
        assert not them.full
        address = f"executor {number // 2}"
        assert not them.crowded(address)
        them.begin(number, address, waiting())
        assert number in them
    assert them.full
    assert them.crowded("executor 0")
    gate.set()
    while any(number in them for number in range(8)):
        assert await them.some_ended()
    assert not them.full
    assert not them.crowded("executor 0")


async def test_one_that_takes_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetches, "_SOON", 0.05)
    them, ended = Fetches(), []

    async def for_ever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("long")

    assert not await them.some_ended()
    them.begin(1, "a", for_ever())
    them.begin(2, "a", nothing())
    assert await them.some_ended()
    assert (1 in them, 2 in them) == (True, False)
    assert not await them.some_ended()
    await them.stop()
    assert (1 in them, ended) == (False, ["long"])


async def test_what_one_raises_is_raised_and_is_over() -> None:
    them, complaints = Fetches(), []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["message"]))
    for number in (1, 2):
        them.begin(number, "a", failing())
    with pytest.raises(KeyError):
        await them.some_ended()
    assert (1 in them, 2 in them) == (False, False)
    them.begin(3, "a", failing())
    await asyncio.sleep(0)
    await them.stop()
    gc.collect()
    assert complaints == [], "somebody has seen what each of them raised"
