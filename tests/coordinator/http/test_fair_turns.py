"""Turns: a caller with many requests keeps no other caller waiting."""

import asyncio

import pytest

from orth.coordinator.http.fair_turns import FairTurns
from orth.errors import TooBusy


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def of(**bounds: float) -> FairTurns:
    given = {"at_once": 1, "of_one_caller": 1, "waiting": 20, "patience": 10.0, **bounds}
    return FairTurns(**given)  # type: ignore[arg-type]  # as given


async def test_callers_that_wait_have_turns_one_after_the_other() -> None:
    turns, order = of(), list[str]()

    async def one(caller: str) -> None:
        async with turns.turn(caller):
            order.append(caller)
            await settled()

    await asyncio.gather(*map(one, "aaaaabcb"))
    assert "".join(order) == "aabcabaa"


async def test_one_caller_has_few_turns_at_once() -> None:
    turns = of(at_once=3, of_one_caller=2)
    for caller in "aab":
        await turns.begin(caller)
    waiting = [asyncio.create_task(turns.begin(caller)) for caller in "ac"]
    await settled()
    turns.end("b")
    await settled()
    assert [one.done() for one in waiting] == [False, True], "a has its two"
    turns.end("a")
    await settled()
    assert waiting[0].done()


async def test_too_many_that_wait_are_refused_of_one_caller_and_of_all() -> None:
    turns = of(waiting=3, waiting_of_one=2)
    await turns.begin("a")
    waiting = [asyncio.create_task(turns.begin("a")) for _ in range(2)]
    await settled()
    with pytest.raises(TooBusy):
        await turns.begin("a")
    waiting.append(asyncio.create_task(turns.begin("b")))
    await settled()
    with pytest.raises(TooBusy):
        await turns.begin("c")
    for one in waiting:
        one.cancel()


async def test_who_waits_too_long_is_refused_and_who_goes_away_costs_no_turn() -> None:
    turns = of(patience=0.01)
    await turns.begin("a")
    with pytest.raises(TooBusy):
        await turns.begin("b")
    gone = asyncio.create_task(turns.begin("b"))
    await settled()
    gone.cancel()
    turns.end("a")
    await settled()
    await turns.begin("c")
