"""What the leader says about dispatched executions: at once, later, or not at all."""

from dataclasses import replace

from orth.channels.interface import ChannelsUnavailable, Message
from orth.cluster.assigning import Assigning
from orth.cluster.station import OWN_AFTER
from orth.store.ownership import unowned
from orth.testing import ManualClock
from tests.cluster.ownership_site import Site, assignments

ASSIGNED = "orchestrix.job.assigned"


async def test_what_is_queued_is_assigned_at_once(site: Site) -> None:
    one = site.node("one")
    site.node("two")
    ids = await site.sent(2)
    one.assigning.queued(assignments(ids, "reports.slow"))
    await one.assigning.turn()
    taken = await site.channels.take([ASSIGNED], "two", limit=10, wait=0)
    messages = [dict(delivery.message) for delivery in taken[ASSIGNED]]
    assert [message.pop("timestamp")[:4] for message in messages] == ["2026", "2026"]
    assert messages == [
        {"jobId": 1, "executionId": each, "historyId": each, "queue": "reports.slow", "jobType": "nightly"}
        for each in ids
    ]


async def test_who_is_alone_follows_what_is_queued_itself_and_tells_nobody(site: Site) -> None:
    one = site.node("one")
    ids = await site.sent(2)
    one.assigning.queued(assignments(ids, "reports.slow"))
    for each in ids:
        one.assigning.pushed(each, 1)
    await one.assigning.turn()
    assert (one.held, await site.waiting(ASSIGNED)) == (ids, 0)


async def test_who_is_alone_follows_what_is_pushed_and_still_open(site: Site, clock: ManualClock) -> None:
    """No execution of a healthy coordinator is an orphan, however long it runs."""
    one = site.node("one")
    ids = await site.sent(2)
    for each in ids:
        one.assigning.pushed(each, 1)
    await site.end(ids[0])
    for _ in range(2):
        await one.assigning.turn()
        await one.competing.turn()
        clock.move(OWN_AFTER)
    await one.competing.turn()
    assert (one.held, await one.owns(), await site.waiting(ASSIGNED)) == ([ids[1]], [ids[1]], 0)
    assert await site.db.read(unowned, 10) == []


async def test_what_is_pushed_is_assigned_later_if_it_is_still_open(site: Site, clock: ManualClock) -> None:
    one = site.node("one")
    site.node("two")
    ids = await site.sent(3)
    for each in ids:
        one.assigning.pushed(each, 1)
    one.assigning.ended(ids[0])  # as this node heard
    await site.end(*ids[:2])
    await one.assigning.turn()
    assert await site.waiting(ASSIGNED) == 0
    clock.move(OWN_AFTER)
    await one.assigning.turn()
    taken = await site.channels.take([ASSIGNED], "two", limit=10, wait=0)
    assert [delivery.message["executionId"] for delivery in taken[ASSIGNED]] == [ids[2]]


async def test_what_is_pushed_is_assigned_with_its_dispatch_where_that_is_wanted(site: Site) -> None:
    one, two = site.node("one"), site.node("two")
    at_once = Assigning(replace(one.station, own_after=0.0))
    ids = await site.sent(2)
    for each in ids:
        at_once.pushed(each, 1)
    await at_once.turn()
    assert await site.waiting(ASSIGNED) == 2
    await two.competing.turn()
    assert await two.owns() == ids


async def test_many_are_assigned_one_batch_after_the_other(site: Site, clock: ManualClock) -> None:
    one = site.node("one")
    site.node("two")
    ids = await site.sent(1_100)
    for each in ids[:600]:
        one.assigning.pushed(each, 1)
    one.assigning.queued(assignments(ids[600:], "reports.slow"))
    clock.move(OWN_AFTER)
    pauses = [await one.assigning.guarded_turn() for _ in range(3)]
    assert pauses[0] == 0.0
    assert await site.waiting(ASSIGNED) == 1_100


async def test_what_cannot_be_told_is_followed_here(site: Site) -> None:
    one = site.node("one")
    site.node("two")
    ids = await site.sent(2)

    async def away(queue: str, messages: list[Message]) -> None:
        raise ChannelsUnavailable("not now")

    site.channels.send = away  # type: ignore[method-assign, assignment]  # an outage
    one.assigning.queued(assignments(ids, "reports.slow"))
    await one.assigning.turn()
    assert one.held == ids
