"""How executions come to have an owner, and how one finds out that it is not one any more."""

from orth.channels.interface import ChannelsUnavailable
from orth.cluster.notices import assigned, handoff
from orth.cluster.ownership_facts import ExecutionsAdopted, OwnershipLost
from orth.cluster.station import OWN_AFTER
from orth.domain.handoffs import Reason
from orth.store.ownership import Owned, adopt, offer, orphan
from orth.testing import ManualClock
from tests.cluster.ownership_site import Site, assignments
from tests.store.builders import NOW


class Ear:
    """Remembers what it is told of."""

    def __init__(self) -> None:
        self.gains: list[int] = []
        self.losses: list[int] = []

    def gained(self, owned: list[Owned]) -> None:
        self.gains += [one.execution_id for one in owned]

    def lost(self, ids: list[int]) -> None:
        self.losses += ids


ASSIGNED, HANDOFF = "orchestrix.job.assigned", "orchestrix.job.handoff"


async def announce(site: Site, ids: list[int], queue: str = "") -> None:
    messages = [assigned(one, NOW) for one in assignments(ids, queue)]
    await site.channels.send(ASSIGNED, messages)


async def test_each_assignment_has_one_winner(site: Site) -> None:
    one, two = site.node("one"), site.node("two")
    ids = await site.sent(6)
    await announce(site, ids[:3])
    await one.competing.turn()
    await announce(site, ids[3:])
    await two.competing.turn()
    assert (await one.owns(), await two.owns()) == (ids[:3], ids[3:])
    assert (one.held, two.held) == (ids[:3], ids[3:])


async def test_a_message_that_comes_twice_has_still_one_winner(site: Site) -> None:
    one, two = site.node("one"), site.node("two")
    ids = await site.sent(3)
    for node in (one, two):
        await announce(site, ids)
        await node.competing.turn()
    assert (await one.owns(), await two.owns()) == (ids, [])
    assert two.held == []


async def test_what_waits_in_a_queue_is_followed_at_once_and_written_down_later(site: Site, clock: ManualClock) -> None:
    one = site.node("one")
    ids = await site.sent(3)
    await announce(site, ids, "reports.slow")
    await one.competing.turn()
    assert (one.held, await one.owns()) == (ids, [])
    await site.end(ids[0])
    clock.move(OWN_AFTER)
    await one.competing.turn()
    assert (one.held, await one.owns()) == (ids[1:], ids[1:])


async def test_of_two_who_follow_the_same_one_is_left(site: Site, clock: ManualClock) -> None:
    one, two = site.node("one"), site.node("two")
    ids = await site.sent(2)
    for node in (one, two):
        await announce(site, ids, "reports.slow")
        await node.competing.turn()
    clock.move(OWN_AFTER)
    await two.competing.turn()
    await one.competing.turn()
    assert (one.held, two.held) == ([], ids)


async def test_messages_that_cannot_be_read_are_passed_over(site: Site) -> None:
    one = site.node("one")
    ids = await site.sent(1)
    broken = [{}, {"jobId": "x", "executionId": ids[0]}, {"jobId": 1, "historyId": ids[0]}]
    await site.channels.send(ASSIGNED, broken)
    await site.channels.send(HANDOFF, [{"executionId": True}, {"jobId": 1, "executionId": 7, "generation": -1}])
    await one.competing.turn()
    await one.competing.turn()
    assert await one.owns() == ids
    assert await site.channels.consumers(ASSIGNED) == {}


async def test_a_handoff_is_adopted_and_acknowledged(site: Site) -> None:
    one, two = site.node("one"), site.node("two")
    ids = await site.sent(2)
    seen = {row.execution_id: row.generation for row in await one.takes(ids)}
    await site.db.tx(offer, one.owner, seen, NOW)
    await site.channels.send(HANDOFF, [handoff(Owned(each, 1, 1), "one", Reason.SHUTDOWN, NOW) for each in ids])
    async with site.channels.listen(["orchestrix.job.handoff.ack.one"]) as ear:
        await two.competing.turn()
        heard = await ear.next(0)
    assert await two.owns() == ids
    acks = [{"jobId": 1, "executionId": each, "historyId": each, "generation": 2} for each in ids]
    assert [one.message for one in heard] == [{"newOwner": "two", "executions": acks}]
    assert site.recorder.all(ExecutionsAdopted, node="two", giver="one", count=2)


async def test_what_was_taken_is_acted_upon_when_the_database_is_back(site: Site) -> None:
    one = site.node("one")
    ids = await site.sent(1)
    await announce(site, ids)
    tx = site.db.tx

    async def away(*_args: object) -> None:
        raise ChannelsUnavailable("not now")

    site.db.tx = away  # type: ignore[method-assign, assignment]  # an outage in the middle of a turn
    await one.competing.guarded_turn()
    site.db.tx = tx  # type: ignore[method-assign]
    assert await one.owns() == []
    await one.competing.guarded_turn()
    assert await one.owns() == ids


async def test_what_lies_about_is_adopted_without_messages_at_the_second_look(site: Site) -> None:
    one, two = site.node("one", channels=False), site.node("two", channels=False)
    ids = await site.sent(4)
    await one.takes(ids)
    site.kill(one)
    await site.db.tx(orphan, one.owner, NOW, 10)
    await two.tending.turn()
    assert await two.owns() == []
    await two.tending.turn()
    assert await two.owns() == ids
    assert site.recorder.all(ExecutionsAdopted, node="two", giver="one", count=4)


async def test_a_look_leaves_the_others_their_part(site: Site) -> None:
    nodes = [site.node(name) for name in ("one", "two", "three")]
    ids = await site.sent(9)
    await nodes[0].takes(ids)
    await site.db.tx(orphan, nodes[0].owner, NOW, 10)
    await nodes[1].tending.turn()
    await nodes[1].tending.turn()
    assert len(await nodes[1].owns()) == 3
    await nodes[1].tending.turn()  # nobody else has come for the rest
    assert await nodes[1].owns() == ids


async def test_nobody_adopts_what_it_offers_itself(site: Site) -> None:
    one = site.node("one")
    ids = await site.sent(1)
    await one.takes(ids)
    await site.db.tx(offer, one.owner, {ids[0]: 1}, NOW)
    for _ in range(3):
        await one.tending.turn()
    assert (await one.owns(), one.station.holdings.written()) == (ids, {ids[0]: 1})


async def test_a_zombie_finds_its_generation_gone_and_lets_go(site: Site, clock: ManualClock) -> None:
    one, two = site.node("one"), site.node("two")
    ear = Ear()
    one.station.holdings.listen(ear)
    ids = await site.sent(3)
    await one.takes(ids)
    await one.tending.turn()
    await site.db.tx(orphan, one.owner, NOW, 2)  # it was thought dead
    assert len(await site.db.tx(adopt, two.owner, dict.fromkeys(ids, 1), NOW)) == 2
    clock.move(10)
    await one.tending.turn()
    assert one.held == ids[2:]
    assert (ear.gains, ear.losses) == (ids, ids[:2])
    assert site.recorder.all(OwnershipLost, node="one", count=2)


async def test_rows_of_ended_executions_are_removed_and_no_longer_followed(site: Site, clock: ManualClock) -> None:
    one = site.node("one")
    ear = Ear()
    one.station.holdings.listen(ear)
    ids = await site.sent(3)
    await one.takes(ids)
    await site.end(*ids[:2])
    await one.tending.turn()
    assert (one.held, ear.losses) == (ids[2:], ids[:2])
    assert not site.recorder.all(OwnershipLost)
    clock.move(10)
    await site.end(ids[2])
    await one.tending.turn()
    assert (one.held, len(one.station.holdings)) == ([], 0)


async def test_a_claim_whose_answer_was_lost_is_found(site: Site) -> None:
    one = site.node("one")
    ids = await site.sent(2)
    await one.takes(ids)
    one.station.holdings.drop(ids)
    await one.tending.turn()
    assert one.held == ids


async def test_a_node_that_leaves_sends_back_what_it_had_already_taken(site: Site) -> None:
    one, two = site.node("one"), site.node("two")
    ids = await site.sent(1)
    await announce(site, ids)
    taken = await site.channels.take([ASSIGNED], one.station.consumer, limit=10, wait=0)
    one.competing._at_hand = taken  # as if the take had been on its way when it began to leave
    one.competing.takes_assignments = one.competing.takes_handoffs = False
    await one.competing.turn()
    await two.competing.turn()
    assert (await one.owns(), await two.owns()) == ([], ids)
