"""Handing over: the four cases as a decision, and as they go with others, without them, and without messages."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from orth.channels.interface import ChannelsUnavailable, Listening, Message
from orth.channels.memory import MemoryChannels
from orth.cluster.handoff import Rules, Step, next_step, stay_until
from orth.cluster.ownership_facts import ExecutionsAdopted, HandoffsSettled
from orth.domain.handoffs import Reason
from orth.store.ownership import Holding, abandon, adoptable, keep
from tests.cluster.ownership_site import QUICK, Node, Site

RULES = Rules()


@pytest.mark.parametrize(
    ("taken", "asked", "waited", "step"),
    [
        (False, 0, 0.0, Step.ASK_AGAIN),
        (True, 1, 0.1, Step.FORGET),
        (False, 1, 4.9, Step.WAIT),
        (False, 1, 5.0, Step.ASK_AGAIN),
        (True, 2, 9.0, Step.FORGET),
        (False, 2, 5.0, Step.ASK_AGAIN),
        (False, 3, 4.9, Step.WAIT),
        (False, 3, 5.0, Step.GIVE_UP),
        (True, 3, 5.0, Step.FORGET),
    ],
)
def test_an_execution_is_asked_for_three_times_five_seconds_apart(
    taken: bool, asked: int, waited: float, step: Step
) -> None:
    assert next_step(RULES, taken=taken, asked=asked, waited=waited) is step


@pytest.mark.parametrize(
    ("others", "awaited", "until"),
    [
        (True, False, 145.0),  # C: thirty seconds after the last try
        (True, True, 145.0),
        (False, True, 160.0),  # D: somebody may come back
        (False, False, 115.0),  # nobody will
    ],
)
def test_late_takers_are_waited_for(others: bool, awaited: bool, until: float) -> None:
    assert stay_until(RULES, began=100.0, asked_until=115.0, others=others, awaited=awaited) == until


def test_the_hard_bound_holds_whatever_else_is_set() -> None:
    long = Rules(ack_timeout=20, tries=3, grace=300, hard=60)
    assert stay_until(long, began=100.0, asked_until=160.0, others=True, awaited=False) == 160.0


async def settled(node: Node, *ids: int, reason: Reason = Reason.SHUTDOWN) -> tuple[int, list[int]]:
    seen = {one: node.station.holdings.written()[one] for one in ids}
    until = node.station.clock.monotonic() + QUICK.hard
    handed = await node.handing.hand_over(seen, reason, abandon, until)
    return handed.taken, sorted(handed.left)


async def test_case_a_all_are_taken_at_once(live_site: Site) -> None:
    one, two, three = (live_site.node(name) for name in ("one", "two", "three"))
    ids = await live_site.sent(20)
    await one.takes(ids)
    async with two.running(two.competing), three.running(three.competing):
        began = live_site.clock.monotonic()
        assert await settled(one, *ids) == (20, [])
        assert live_site.clock.monotonic() - began < QUICK.ack_timeout * QUICK.tries
    assert (one.held, await one.owns()) == ([], [])
    assert sorted(await two.owns() + await three.owns()) == ids
    assert live_site.recorder.all(HandoffsSettled, node="one", reason="Shutdown", taken=20, left=0, late=0)


async def test_case_b_a_message_that_was_lost_is_sent_again(live_site: Site) -> None:
    one, two = live_site.node("one"), live_site.node("two")
    ids = await live_site.sent(3)
    await one.takes(ids)
    handing = asyncio.create_task(settled(one, *ids))
    lost = await live_site.channels.take(["orchestrix.job.handoff"], "a dead one", limit=10, wait=5)
    assert len(lost["orchestrix.job.handoff"]) == 3
    async with two.running(two.competing):
        assert await handing == (3, [])
    assert await two.owns() == ids
    assert live_site.recorder.all(HandoffsSettled, taken=3, late=3, left=0)
    assert live_site.recorder.all(ExecutionsAdopted, node="two", giver="one", count=3, orphans=0)


async def test_case_c_what_nobody_takes_is_abandoned(live_site: Site) -> None:
    one = live_site.node("one")
    live_site.node("two")
    ids = await live_site.sent(2)
    await one.takes(ids)
    assert await settled(one, *ids) == (0, ids)
    assert live_site.recorder.all(HandoffsSettled, taken=0, left=2, alone=False)
    assert [row.holding for row in await live_site.db.tx(adoptable, 10)] == [Holding.ORPHAN_PENDING] * 2
    asked = await live_site.channels.take(["orchestrix.job.handoff"], "two", limit=100, wait=0)
    messages = [one.message for one in asked["orchestrix.job.handoff"]]
    assert [message["executionId"] for message in messages] == ids * QUICK.tries
    assert {message["reason"] for message in messages} == {"Shutdown"}
    stamps = [str(message["timestamp"]) for message in messages[:: len(ids)]]
    assert all(earlier < later for earlier, later in pairwise(stamps))


async def test_an_acknowledgement_that_is_not_true_hands_over_nothing(live_site: Site) -> None:
    one = live_site.node("one")
    ids = await live_site.sent(1)
    await one.takes(ids)
    handing = asyncio.create_task(settled(one, *ids))
    await live_site.channels.take(["orchestrix.job.handoff"], "a liar", limit=10, wait=5)
    lie = {"jobId": 1, "executionId": ids[0], "historyId": ids[0], "newOwner": "a liar", "generation": 2}
    await live_site.channels.announce("orchestrix.job.handoff.ack.one", lie)
    assert await handing == (0, ids)


async def test_without_messages_the_others_find_the_rows(live_site: Site) -> None:
    one, two = live_site.node("one", channels=False), live_site.node("two", channels=False)
    ids = await live_site.sent(2)
    await one.takes(ids)
    handing = asyncio.create_task(settled(one, *ids))
    while not await live_site.db.tx(adoptable, 10):
        assert not handing.done()
    for _ in range(3):  # a look, and its part of what it has seen, twice
        await two.tending.turn()
    assert await handing == (2, [])
    assert await two.owns() == ids


class Unheard(MemoryChannels):
    """Channels whose server is away."""

    @asynccontextmanager
    async def listen(self, topics: Sequence[str]) -> AsyncIterator[Listening]:
        raise ChannelsUnavailable(f"{len(topics)} topics cannot be listened to.")
        yield

    async def send(self, queue: str, messages: Sequence[Message]) -> None:
        raise ChannelsUnavailable(f"{queue} does not take {len(messages)} messages.")


async def test_while_the_channels_are_away_the_others_find_the_rows(live_site: Site) -> None:
    live_site.channels = Unheard(live_site.clock)
    one, two = live_site.node("one"), live_site.node("two", channels=False)
    ids = await live_site.sent(2)
    await one.takes(ids)
    handing = asyncio.create_task(settled(one, *ids))
    while not await live_site.db.tx(adoptable, 10):
        assert not handing.done()
    for _ in range(3):
        await two.tending.turn()
    assert await handing == (2, [])
    assert await two.owns() == ids


async def test_what_ends_meanwhile_need_not_be_taken(live_site: Site) -> None:
    one = live_site.node("one")
    live_site.node("two")
    ids = await live_site.sent(2)
    await one.takes(ids)
    handing = asyncio.create_task(settled(one, *ids))
    await live_site.channels.take(["orchestrix.job.handoff"], "two", limit=10, wait=5)
    await live_site.end(*ids)
    assert await handing == (2, [])


async def test_what_is_not_taken_for_balance_is_kept(live_site: Site) -> None:
    one = live_site.node("one")
    ids = await live_site.sent(1)
    await one.takes(ids)
    until = live_site.clock.monotonic() + QUICK.hard
    handed = await one.handing.hand_over({ids[0]: 1}, Reason.REBALANCE, keep, until)
    assert sorted(handed.left) == ids
    assert (await one.owns(), one.held) == (ids, ids)
    assert await live_site.db.tx(adoptable, 10) == []
