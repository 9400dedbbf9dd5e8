"""The orphan check: what has no owner is found, whyever, and offered until somebody has it."""

from datetime import timedelta

import pytest

from orth.cluster.election import Election
from orth.cluster.election import Node as Named
from orth.cluster.orphans import Orphans
from orth.cluster.ownership_facts import ExecutionsAdopted, OrphansFound, OrphansOffered
from orth.cluster.station import OWN_AFTER
from orth.errors import TermEnded
from orth.store.cluster_history import list_handoffs
from orth.store.ownership import abandon, adoptable, offer, orphan
from orth.testing import ManualClock
from tests.cluster.ownership_site import Node, Site
from tests.store.builders import NOW

HANDOFF = "orchestrix.job.handoff"
LEASE, RENEW = timedelta(seconds=30), timedelta(seconds=10)


async def check_of(site: Site, node: Node) -> Orphans:
    """The orphan check of a node that leads."""
    named = Named(node.name, node.owner.incarnation)
    election = Election(site.db, named, site.clock, site.events, lease=LEASE, renew=RENEW, surely_dead=lambda _: True)
    await election.turn()
    return Orphans(node.station, election, every=30.0, assignment_timeout=20.0)


async def test_what_the_dead_owned_is_offered_to_all(site: Site) -> None:
    one, two = site.node("one"), site.node("two")
    check = await check_of(site, one)
    ids = await site.sent(3)
    await two.takes(ids)
    assert await check.turn() == 30.0
    assert not site.recorder.all(OrphansFound)
    await site.db.tx(offer, two.owner, {ids[0]: 1}, NOW)  # it died while it was leaving
    site.kill(two)
    await check.turn()
    assert site.recorder.all(OrphansFound, node="two", count=3)
    taken = await site.channels.take([HANDOFF], "somebody", limit=10, wait=0)
    messages = [delivery.message for delivery in taken[HANDOFF]]
    assert [(one["executionId"], one["fromNodeId"], one["reason"], one["generation"]) for one in messages] == [
        (each, "two", "NodeCrash", 1) for each in ids
    ]


async def test_the_leader_adopts_what_it_offers_when_nobody_else_is_left(site: Site) -> None:
    one, two = site.node("one"), site.node("two")
    check = await check_of(site, one)
    ids = await site.sent(3)
    await two.takes(ids)
    site.kill(two)
    await check.turn()
    await one.competing.turn()
    assert await one.owns() == ids
    assert site.recorder.all(ExecutionsAdopted, node="one", giver="two", count=3, orphans=3)


async def test_what_the_dead_owned_has_waited_since_they_were_last_heard(site: Site, clock: ManualClock) -> None:
    one, two = site.node("one"), site.node("two")
    check = await check_of(site, one)
    ids = await site.sent(2)
    await two.takes(ids)
    site.kill(two)
    clock.move(25)
    site.company.heard["two"] = clock.now() - 24_000
    await check.turn()
    await one.competing.turn()
    waited = {each.waited_ms for each in await site.db.read(list_handoffs, None, 10)}
    assert len(waited) == 1
    assert 24_000 <= waited.pop() < 26_000


async def test_what_was_abandoned_is_offered(site: Site) -> None:
    one, two = site.node("one"), site.node("two")
    check = await check_of(site, one)
    ids = await site.sent(1)
    await two.takes(ids)
    await site.db.tx(abandon, two.owner, {ids[0]: 1}, NOW)
    await check.turn()
    await one.competing.turn()
    assert await one.owns() == ids


async def test_what_never_had_an_owner_is_offered_after_the_timeout(site: Site, clock: ManualClock) -> None:
    one = site.node("one")
    check = await check_of(site, one)
    ids = await site.sent(3)
    assert await check.turn() == 20.0 + OWN_AFTER  # sooner than the next pass
    await site.end(ids[0])
    clock.move(19 + OWN_AFTER)
    await check.turn()
    assert not site.recorder.all(OrphansFound)
    clock.move(1)
    await check.turn()
    assert site.recorder.all(OrphansFound, node="nobody", count=2)
    await one.competing.turn()
    assert await one.owns() == ids[1:]


async def test_it_may_be_repeated_and_cut_anywhere(site: Site) -> None:
    one, two, three = (site.node(name) for name in ("one", "two", "three"))
    check = await check_of(site, one)
    ids = await site.sent(4)
    await two.takes(ids)
    site.kill(two)
    await site.db.tx(orphan, two.owner, NOW, 2)  # an earlier leader came so far, and died
    for _ in range(3):
        await check.turn()
    for node in (one, three):
        for _ in range(4):
            await node.competing.turn()
    assert sorted(await one.owns() + await three.owns()) == ids
    assert {one.generation for node in (one, three) for one in node.station.holdings.held.values()} == {2}


async def test_a_leader_of_the_past_orphans_nothing(site: Site, clock: ManualClock) -> None:
    one, two = site.node("one"), site.node("two")
    old = await check_of(site, one)
    ids = await site.sent(1)
    await two.takes(ids)
    site.kill(two)
    term = old.election.term
    assert term is not None
    await check_of(site, two)  # a newer term
    with pytest.raises(TermEnded):
        await old.lead(term)
    assert await site.db.tx(adoptable, 10) == []


async def test_messages_of_the_dead_go_to_others(site: Site) -> None:
    one, two = site.node("one"), site.node("two")
    check = await check_of(site, one)
    assigned = one.station.names.assigned
    await site.channels.send(assigned, [{"jobId": 1, "executionId": 7}])
    await site.channels.take([assigned], two.station.consumer, limit=10, wait=0)
    await check.turn()
    assert await site.channels.consumers(assigned) == {two.station.consumer: 1}
    site.kill(two)
    await check.turn()
    assert (await site.channels.consumers(assigned), await site.waiting(assigned)) == ({}, 1)


async def test_rows_of_what_ended_meanwhile_are_removed(site: Site) -> None:
    one, two = site.node("one"), site.node("two")
    check = await check_of(site, one)
    ids = await site.sent(2)
    await two.takes(ids)
    site.kill(two)
    await site.end(*ids)
    await check.turn()
    assert await site.db.tx(adoptable, 10) == []
    assert not site.recorder.all(OrphansOffered)
    again = await site.db.read(lambda connection: connection.exec_driver_sql("SELECT * FROM orth_owner").all())
    assert again == []
