"""What request bodies may take of the memory."""

import asyncio
from contextlib import ExitStack

import pytest

from orth.coordinator.http.body_budget import FREE, BodyBudget
from orth.errors import TooBusy, Unavailable
from orth.testing.clocks import ManualClock

KIB = 1024


def budget(clock: ManualClock | None = None, *, waiting: int = 8, patience: float = 0.05) -> BodyBudget:
    return BodyBudget(clock or ManualClock(), total=100 * KIB, each=40 * KIB, waiting=waiting, patience=patience)


async def test_small_bodies_cost_nothing() -> None:
    bodies = budget()
    with ExitStack() as stack:
        for number in range(1000):
            await stack.enter_context(bodies.body(f"caller {number % 3}")).hold(FREE)
        assert bodies.used == 0


async def test_a_caller_has_its_share_and_one_large_body_in_any_case() -> None:
    bodies = budget()
    with bodies.body("a") as first, bodies.body("a") as second, bodies.body("b") as other:
        await first.hold(90 * KIB)
        with pytest.raises(TooBusy) as refused:
            await second.hold(FREE + 1)
        assert refused.value.code == "bodies_of_caller"
        await other.hold(10 * KIB)
    assert bodies.used == 0
    with bodies.body("a") as again:
        await again.hold(90 * KIB)


async def test_what_does_not_fit_waits_and_the_oldest_goes_on() -> None:
    bodies = budget(patience=5)
    with bodies.body("b") as waiting:
        with bodies.body("a") as oldest:
            await oldest.hold(80 * KIB)
            turn = asyncio.create_task(waiting.hold(50 * KIB))
            await oldest.hold(150 * KIB)
            await asyncio.sleep(0)
            assert not turn.done()
        await turn
    assert bodies.used == 0


async def test_nobody_waits_for_ever_and_few_wait() -> None:
    bodies = budget(waiting=1)
    with bodies.body("a") as oldest, bodies.body("b") as second, bodies.body("c") as third:
        await oldest.hold(120 * KIB)
        turn = asyncio.create_task(second.hold(50 * KIB))
        await asyncio.sleep(0)
        with pytest.raises(Unavailable) as refused:
            await third.hold(50 * KIB)
        assert refused.value.code == "bodies_full"
        with pytest.raises(Unavailable):
            await turn


async def test_a_body_that_comes_too_slowly_is_cut_off_while_others_wait() -> None:
    clock = ManualClock()
    bodies = budget(clock)
    with bodies.body("a") as slow, bodies.body("b") as other:
        await slow.hold(120 * KIB)
        clock.move(10)
        assert not slow.is_cut_off
        with pytest.raises(Unavailable):
            await other.hold(50 * KIB)
        assert slow.is_cut_off
