"""Executions that run are told of: those that run for a while, once, and many at a time."""

from collections.abc import Iterator

import pytest

from orth.errors import Unavailable
from orth.events import Events
from orth.executor.beginnings import EVERY, Beginnings
from orth.testing import ManualClock
from orth.wire.beginnings import BEGUN_LIMIT, Begun, BegunReport
from orth.wire.coordinator_calls import NotKnownThere


class Ear:
    """A coordinator that is told."""

    def __init__(self) -> None:
        self.heard: list[dict[int, int]] = []
        self.again: frozenset[int] = frozenset()
        self.failure: Exception | None = None

    def tell_begun(self, report: BegunReport) -> frozenset[int]:
        assert report.incarnation == "this-process"
        self.heard.append({one.log_id: one.start_time for one in report.begun})
        if self.failure is not None:
            raise self.failure
        return self.again

    def news(self) -> Iterator[dict[int, int]]:
        while self.heard:
            yield self.heard.pop(0)


class Place:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.ear = Ear()
        self.began: dict[int, Begun] = {}
        self.loop = Beginnings(self.began, self.ear, incarnation="this-process", clock=self.clock, events=Events())

    def begin(self, *ids: int) -> None:
        since = self.clock.now()
        self.began.update({one: Begun(log_id=one, start_time=since) for one in ids})

    async def told_after(self, seconds: float) -> list[dict[int, int]]:
        self.clock.jump(seconds)
        self.pause = await self.loop.turn()
        return list(self.ear.news())


@pytest.fixture
def place() -> Place:
    return Place()


async def test_one_that_runs_for_a_second_is_told_of_once(place: Place) -> None:
    place.begin(1)
    start = place.clock.now()
    assert await place.told_after(0.9) == []
    place.begin(2)
    assert await place.told_after(0.2) == [{1: start}]
    del place.began[2]  # it was short
    assert await place.told_after(1.0) == []
    assert await place.told_after(60.0) == []
    assert place.pause == EVERY


async def test_a_flood_of_short_ones_costs_nothing_and_many_long_ones_a_request_each_second(place: Place) -> None:
    for turn in range(20):
        place.begin(*range(turn * 100, turn * 100 + 100))
        assert await place.told_after(0.9) == []
        place.began.clear()
    place.begin(*range(BEGUN_LIMIT + 5))
    first = await place.told_after(1.0)
    assert [len(one) for one in first] == [BEGUN_LIMIT]
    assert [len(one) for one in await place.told_after(1.0)] == [5]


async def test_what_a_coordinator_does_not_know_of_yet_is_told_again(place: Place) -> None:
    place.begin(1, 2)
    place.ear.again = frozenset({2})
    assert [set(one) for one in await place.told_after(1.0)] == [{1, 2}]
    assert [set(one) for one in await place.told_after(1.0)] == [{2}]
    place.ear.again = frozenset()
    assert [set(one) for one in await place.told_after(1.0)] == [{2}]
    assert await place.told_after(1.0) == []


@pytest.mark.parametrize(("failure", "pause"), [(Unavailable("away"), 5.0), (NotKnownThere("older"), 600.0)])
async def test_who_cannot_be_told_is_left_alone_for_a_while(place: Place, failure: Exception, pause: float) -> None:
    place.begin(1)
    place.ear.failure = failure
    assert [set(one) for one in await place.told_after(1.0)] == [{1}]
    assert place.pause == pause
    place.ear.failure = None
    assert [set(one) for one in await place.told_after(pause)] == [{1}]
