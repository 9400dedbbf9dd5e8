"""Evening out: who hands over, how much, and when not."""

import pytest

from orth.cluster.ownership_facts import HandoffsSettled
from orth.cluster.peers import Peer
from orth.cluster.rebalance import Rebalancing, Threshold, surplus
from tests.cluster.ownership_site import QUICK, Node, Site

EARLY = Threshold(factor=2, difference=10)


@pytest.mark.parametrize(
    ("mine", "others", "handed"),
    [
        (100, [20], 40),
        (100, [50], 25),
        (100, [51], 0),  # less than twice as much
        (100, [20, 120], 0),  # the other one has most
        (120, [20, 100], 50),
        (100, [0], 50),
        (9, [0], 0),  # not worth it
        (50, [48, 52], 0),
        (100, [], 0),
    ],
)
def test_half_the_difference_to_the_least(mine: int, others: list[int], handed: int) -> None:
    peers = [Peer(f"other-{number}", count) for number, count in enumerate(others)]
    assert surplus(mine, "me", peers, EARLY) == handed


def test_the_difference_that_counts_can_be_set() -> None:
    assert surplus(2, "me", [Peer("other", 1)], Threshold(factor=2, difference=1)) == 0, "half of one is none"
    assert surplus(4, "me", [Peer("other", 2)], Threshold(factor=2, difference=1)) == 1


def test_of_two_with_as_much_one_acts() -> None:
    acts = [
        surplus(100, me, [Peer("third", 10), Peer(other, 100)], EARLY) > 0 for me, other in (("a", "b"), ("b", "a"))
    ]
    assert sorted(acts) == [False, True]


def rebalancing(node: Node) -> Rebalancing:
    return Rebalancing(node.station, node.competing, QUICK, EARLY, beat=10.0)


async def test_the_one_with_most_hands_over_and_the_others_take(live_site: Site) -> None:
    one, two = live_site.node("one"), live_site.node("two")
    ids = await live_site.sent(100)
    await one.takes(ids[:80])
    await two.takes(ids[80:])
    live_site.company.counts = {"one": 80, "two": 20}
    async with two.running():
        assert await rebalancing(two).turn() == 10.0
        assert await rebalancing(one).turn() == 30.0
    assert (len(await one.owns()), len(await two.owns())) == (50, 50)
    assert one.competing.takes_handoffs
    assert live_site.recorder.all(HandoffsSettled, reason="Rebalance", taken=30, left=0)


async def test_counts_that_are_out_of_date_move_nothing(live_site: Site) -> None:
    one, two = live_site.node("one"), live_site.node("two")
    ids = await live_site.sent(100)
    await one.takes(ids[:50])
    await two.takes(ids[50:])
    live_site.company.counts = {"one": 0, "two": 0}  # as they said before the burst
    assert await rebalancing(one).turn() == 10.0
    assert not live_site.recorder.all(HandoffsSettled)


async def test_who_leaves_does_not_rebalance(live_site: Site) -> None:
    one = live_site.node("one")
    live_site.node("two")
    await one.takes(await live_site.sent(50))
    one.competing.takes_assignments = one.competing.takes_handoffs = False
    assert await rebalancing(one).turn() == 10.0
    assert not live_site.recorder.all(HandoffsSettled)
