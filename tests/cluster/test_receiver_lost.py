"""A handoff whose receiver fails: it dies after its acknowledgement, dies while it drains, or leaves itself meanwhile.

Whoever gave the executions away is rid of them by then, so nobody but the orphan check, or the receiver's own drain,
can see to it that they are looked after. None of them waits until it counts as lost.
"""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from orth.cluster.orphans import Orphans
from orth.cluster.ownership import Competing
from orth.cluster.ownership_facts import DrainEnded, OrphansFound
from orth.cluster.peers import SeenPeers
from orth.cluster.station import Station
from orth.store.database import Database
from orth.store.nodes import NodeState, list_nodes
from orth.store.ownership import Holding, Owner, abandon, adopt, adoptable, claim, owned_by
from orth.testing import ManualClock
from tests.cluster.ownership_site import QUICK, Node, Site
from tests.cluster.test_membership import RHYTHM, Member
from tests.cluster.test_orphans import check_of
from tests.store.builders import NOW

ORPHAN_CHECK = 30.0


async def handed_to(site: Site, giver: Node, receiver: Node, count: int) -> list[int]:
    """Executions that one has given and the other has acknowledged."""
    ids = await site.sent(count)
    await giver.takes(ids)
    async with receiver.running(receiver.competing):
        await giver.drain.run()
    assert await giver.owns() == []
    assert await receiver.owns() == ids
    del site.company.alive[giver.name]  # it has left
    return ids


async def test_what_a_receiver_had_acknowledged_when_it_died_is_offered_at_the_next_check(live_site: Site) -> None:
    giver, receiver, third = (live_site.node(name) for name in ("giver", "receiver", "third"))
    ids = await handed_to(live_site, giver, receiver, 3)
    live_site.kill(receiver)
    check = await check_of(live_site, third)
    await check.turn()
    await third.competing.turn()
    assert (await third.owns(), third.held) == (ids, ids)


async def test_a_receiver_that_dies_while_it_drains_itself_leaves_everything_to_the_next_check(live_site: Site) -> None:
    giver, receiver, third = (live_site.node(name) for name in ("giver", "receiver", "third"))
    ids = await handed_to(live_site, giver, receiver, 3)
    draining = asyncio.create_task(receiver.drain.run())
    while not any(one.holding is Holding.OFFERED for one in await live_site.db.tx(adoptable, 10)):
        assert not draining.done()
    draining.cancel()
    live_site.kill(receiver)
    await live_site.channels.take(["orchestrix.job.handoff"], "nobody", limit=100, wait=0)  # what it asked is lost too
    check = await check_of(live_site, third)
    await check.turn()
    await third.competing.turn()
    assert await third.owns() == ids


@pytest.mark.parametrize("committed", [True, False], ids=["already adopted", "about to adopt"])
@pytest.mark.parametrize("way", ["competing", "tending"])
async def test_who_drains_while_it_adopts_hands_that_on(live_site: Site, way: str, committed: bool) -> None:
    """Its drain begins between its transaction and its knowing about it: it must not leave as if it owned nothing."""
    giver, third = live_site.node("giver"), live_site.node("third")
    receiver, gate = held_up(live_site, "receiver", committed)
    ids = await live_site.sent(3)
    await giver.takes(ids)
    live_site.company.alive = {name: live_site.company.alive[name] for name in ("receiver", "third")}
    await live_site.db.tx(abandon, giver.owner, dict.fromkeys(ids, 1), NOW)
    if way == "competing":
        await live_site.channels.send("orchestrix.job.handoff", [handoff(one) for one in ids])
    adopting = asyncio.create_task(adopts(receiver, way))
    async with asyncio.timeout(10):
        await gate.reached.wait()
    draining = asyncio.create_task(receiver.drain.run())
    await asyncio.sleep(QUICK.ack_timeout / 2)
    gate.opened.set()
    async with third.running(), asyncio.timeout(15):
        await asyncio.gather(adopting, draining)
        while await third.owns() != ids:
            pass  # it looks every two seconds
    assert (receiver.held, await receiver.owns()) == ([], [])
    (ended,) = live_site.recorder.all(DrainEnded, left=0)
    assert ended.taken > 0


class Gate:
    """Where an adoption waits."""

    def __init__(self) -> None:
        self.reached, self.opened = asyncio.Event(), asyncio.Event()


class HeldUpDatabase:
    """A store that is slow to let somebody adopt, or to say so."""

    def __init__(self, db: Database, gate: Gate, *, committed: bool) -> None:
        self._db, self._gate, self._committed = db, gate, committed
        self.read = db.read

    async def tx(self, work: Callable[..., Any], *args: Any) -> Any:
        if work is not adopt:
            return await self._db.tx(work, *args)
        done = await self._db.tx(work, *args) if self._committed else None
        self._gate.reached.set()
        await self._gate.opened.wait()
        return done if self._committed else await self._db.tx(work, *args)


def held_up(live_site: Site, name: str, committed: bool) -> tuple[Node, Gate]:
    gate = Gate()
    site = Site(cast(Database, HeldUpDatabase(live_site.db, gate, committed=committed)), live_site.clock, wait=0.1)
    site.channels, site.company, site.events = live_site.channels, live_site.company, live_site.events
    return site.node(name), gate


def handoff(execution_id: int) -> dict[str, object]:
    named = {"jobId": 1, "executionId": execution_id, "historyId": execution_id}
    return {**named, "fromNodeId": "giver", "generation": 1, "reason": "Shutdown"}


async def adopts(node: Node, way: str) -> None:
    if way == "competing":
        await node.competing.turn()
        return
    for _ in range(3):  # a look, and what was seen twice
        await node.tending.turn()


async def test_a_node_that_died_draining_is_found_within_a_check(db: Database, clock: ManualClock) -> None:
    """With the real eyes: it says that it drains, and then nothing any more."""
    site = Site(db, clock)
    receiver, third = Member(db, clock, "receiver"), Member(db, clock, "third")
    await third.election.turn()
    for member in (receiver, third):
        await member.turn()
    station = seen_by(site, third)
    check = Orphans(station, third.election, every=ORPHAN_CHECK, assignment_timeout=20.0)
    competing = Competing(station, wait=0.0)
    ids = await site.sent(2)
    await db.tx(claim, Owner("receiver", receiver.node.incarnation), ids, NOW)
    await receiver.membership.drain()
    states = {row.said.node_id: row.said.state for row in await db.read(list_nodes)}
    assert states["receiver"] is NodeState.DRAINING
    died, checked_at = clock.monotonic(), float("-inf")
    while not site.recorder.all(OrphansFound, node="receiver", count=2):
        clock.move(1.0)
        third.election.worked()
        await third.election.turn()
        await third.turn()
        if clock.monotonic() - checked_at >= ORPHAN_CHECK:
            checked_at = clock.monotonic()
            await check.turn()
        assert clock.monotonic() - died <= RHYTHM.dead_after.total_seconds() + ORPHAN_CHECK
    await competing.turn()
    rows, _ended = await db.tx(owned_by, station.owner)
    assert sorted(one.execution_id for one in rows) == ids


def seen_by(site: Site, member: Member) -> Station:
    owner = Owner(member.node.id, member.node.incarnation)
    peers = SeenPeers(site.db, member.membership.fellows, owner.node_id)
    return Station(site.db, owner, peers, site.clock, site.events, site.channels)
