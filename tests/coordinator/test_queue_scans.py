"""Reading through queues for offers that are not there."""

import pytest

from orth.channels.memory import MemoryChannels
from orth.coordinator import queue_scans
from orth.coordinator.queue_scans import Offered, QueueScans
from orth.testing import ManualClock
from tests.coordinator.queue_site import APP, NAMES

PLACE = (f"{APP}.a", 1)
REST = 15.0


def offer(one: int, sending: int = 1) -> dict[str, object]:
    return {"executionId": one, "sending": sending}


class Bench:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.channels = MemoryChannels(self.clock)
        self.scans = QueueScans(self.channels, NAMES, self.clock, rest=REST)

    async def send(self, *offers: Offered) -> None:
        await self.channels.send(NAMES.dispatch(*PLACE), [offer(*one) for one in offers])

    async def absent(self, *offers: Offered) -> set[Offered]:
        return set(await self.scans.absent({PLACE: set(offers)} if offers else {}))


async def test_what_is_not_met_is_absent_and_an_earlier_offer_is_not_a_later_one() -> None:
    bench = Bench()
    await bench.send((1, 1), (2, 1), (4, 1))
    assert await bench.absent((1, 1), (2, 2), (3, 1), (4, 1)) == {(2, 2), (3, 1)}
    assert await bench.absent((1, 1), (2, 2), (3, 1)) == {(2, 2), (3, 1)}, "it stays so"
    assert await bench.absent((3, 1)) == {(3, 1)}
    assert await bench.absent() == set()


async def test_a_long_queue_is_read_in_several_looks_and_nothing_is_concluded_before_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queue_scans, "_OF_ONE_LOOK", 100)
    bench = Bench()
    await bench.send(*((one, 1) for one in range(1, 251)))
    sought = ((250, 1), (999, 1))
    assert await bench.absent(*sought) == set()
    await bench.send((1000, 1))
    assert await bench.absent(*sought, (1000, 1)) == set()
    assert await bench.absent(*sought, (1000, 1)) == {(999, 1)}


async def test_a_queue_that_was_read_through_is_left_alone_for_a_while() -> None:
    bench = Bench()
    await bench.send((1, 1))
    assert await bench.absent((1, 1)) == set()
    queue = NAMES.dispatch(*PLACE)
    (taken,) = (await bench.channels.take([queue], "c", limit=1, wait=0))[queue]
    await bench.channels.done(queue, "c", [taken.id])
    assert await bench.absent((1, 1)) == set()
    bench.clock.move(REST + 1)
    assert await bench.absent((1, 1)) == {(1, 1)}
    bench.scans.forget()
    assert await bench.absent((1, 1)) == {(1, 1)}, "begun anew at once"
