"""Those who listen and wait within one process."""

import asyncio

from orth.channels.audience import Audience
from orth.testing import ManualClock


def audience() -> Audience:
    return Audience(ManualClock(), 100)


async def test_as_many_are_woken_as_there_are_messages_those_who_wait_longest_first() -> None:
    all_ears = audience()
    with all_ears.waiting(["q"]) as first, all_ears.waiting(["q", "r"]) as second, all_ears.waiting(["q"]) as third:
        all_ears.wake({"q": 2})
        assert [one.woken.is_set() for one in (first, second, third)] == [True, True, False]
        all_ears.wake({"q": 1})
        assert third.woken.is_set()


async def test_a_wake_that_nobody_used_goes_to_the_next() -> None:
    all_ears = audience()
    with all_ears.waiting(["q"]) as patient:
        with all_ears.waiting(["q"]) as asleep:
            all_ears.wake({"q": 1})
            patient.woken.clear()  # it looked, and found nothing
            all_ears.wake({"q": 2})
            patient.woken.clear()
            assert asleep.woken.is_set()
        assert patient.woken.is_set()


async def test_who_does_not_know_whether_he_missed_something_is_told_at_once() -> None:
    all_ears = audience()
    with all_ears.ear(["a", "b"]) as ear, all_ears.ear(None) as news, all_ears.waiting(["q"]) as waiter:
        waiting = asyncio.ensure_future(ear.next(3600.0))
        await asyncio.sleep(0)
        all_ears.doubt()
        assert list(await asyncio.wait_for(waiting, 5.0)) == []
        assert (ear.missed, news.missed) == (1, 1)
        assert waiter.woken.is_set()


async def test_nothing_is_kept_for_those_who_left() -> None:
    all_ears = audience()
    with all_ears.ear(["a"]), all_ears.ear(None), all_ears.waiting(["q"]):
        pass
    all_ears.tell("a", {})
    all_ears.tell_boxes(["b"])
    all_ears.wake({"q": 1})
    assert (all_ears._ears, all_ears._waiters) == ({}, {})


async def test_a_long_backlog_comes_in_parts_and_whole() -> None:
    all_ears = Audience(ManualClock(), 5000)
    with all_ears.ear(["a"]) as ear, all_ears.ear(None) as news:
        for number in range(2500):
            all_ears.tell("a", {"n": number})
        all_ears.tell_boxes(f"box {number}" for number in range(2500))
        heard = [await ear.next(0.0) for _ in range(4)]
        assert [len(part) for part in heard] == [1000, 1000, 500, 0]
        assert [one.message["n"] for part in heard for one in part] == list(range(2500))
        assert [len(await news.next(0.0)) for _ in range(4)] == [1000, 1000, 500, 0]
