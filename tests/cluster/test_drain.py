"""Leaving: everything is handed over, or at least offered, within bounds."""

import asyncio

from orth.cluster.ownership_facts import DrainCutShort, DrainEnded, HandoffsSettled
from orth.errors import StoreUnavailable
from orth.store.ownership import Holding, adoptable
from tests.cluster.ownership_site import QUICK, Site, assignments


async def test_all_that_is_owned_goes_to_the_others(live_site: Site) -> None:
    one, two, three = (live_site.node(name) for name in ("one", "two", "three"))
    ids = await live_site.sent(500)
    await one.takes(ids)
    async with one.running(), two.running(), three.running():
        await one.drain.run()
    assert await one.owns() == []
    assert sorted(await two.owns() + await three.owns()) == ids
    ended = live_site.recorder.all(DrainEnded, node="one", taken=500, left=0)
    assert ended[0].seconds < QUICK.hard


async def test_what_is_followed_but_not_written_down_goes_too(live_site: Site) -> None:
    one, two = live_site.node("one"), live_site.node("two")
    ids = await live_site.sent(2)
    one.station.holdings.follow(((each, 1) for each in ids), live_site.clock.monotonic())
    async with two.running():
        await one.drain.run()
    assert (one.held, await two.owns()) == ([], ids)


async def test_who_owns_nothing_leaves_at_once(live_site: Site) -> None:
    one = live_site.node("one")
    began = live_site.clock.monotonic()
    await one.drain.run()
    assert live_site.clock.monotonic() - began < QUICK.ack_timeout
    assert not live_site.recorder.all(DrainEnded)


async def test_who_is_alone_leaves_at_once_and_leaves_orphans(live_site: Site) -> None:
    one = live_site.node("one")
    ids = await live_site.sent(3)
    await one.takes(ids)
    await one.drain.run()
    assert live_site.recorder.all(DrainEnded, taken=0, left=3)[0].seconds < QUICK.ack_timeout
    assert live_site.recorder.all(HandoffsSettled, taken=0, left=3, alone=True)
    assert {row.holding for row in await live_site.db.tx(adoptable, 10)} == {Holding.ORPHAN_PENDING}


async def test_with_all_others_dead_it_waits_until_the_hard_bound(live_site: Site) -> None:
    one, two = live_site.node("one"), live_site.node("two")
    ids = await live_site.sent(2)
    await one.takes(ids)
    live_site.kill(two)
    await one.drain.run()
    ended = live_site.recorder.all(DrainEnded, taken=0, left=2)
    assert QUICK.hard <= ended[0].seconds < QUICK.hard + 2


async def test_one_that_comes_back_in_time_takes_all(live_site: Site) -> None:
    one, two = live_site.node("one"), live_site.node("two")
    ids = await live_site.sent(2)
    await one.takes(ids)
    live_site.kill(two)
    draining = asyncio.create_task(one.drain.run())
    while not any(row.holding is Holding.ORPHAN_PENDING for row in await live_site.db.tx(adoptable, 10)):
        assert not draining.done()
    live_site.company.silent.clear()
    back = live_site.node("two")
    async with back.running():
        await draining
    assert await back.owns() == ids
    assert live_site.recorder.all(DrainEnded, taken=2, left=0)


async def test_while_others_live_late_takers_have_the_grace(live_site: Site) -> None:
    one = live_site.node("one")
    live_site.node("two")  # alive, and never takes
    await one.takes(await live_site.sent(1))
    await one.drain.run()
    asking = QUICK.tries * QUICK.ack_timeout
    ended = live_site.recorder.all(DrainEnded, taken=0, left=1)
    assert asking + QUICK.grace <= ended[0].seconds < QUICK.hard + 2


async def test_who_finds_that_all_others_leave_too_does_not_wait_for_them(live_site: Site) -> None:
    one = live_site.node("one")
    live_site.node("two")
    await one.takes(await live_site.sent(2))
    draining = asyncio.create_task(one.drain.run())
    while not any(row.holding is Holding.OFFERED for row in await live_site.db.tx(adoptable, 10)):
        assert not draining.done()
        await asyncio.sleep(0)
    del live_site.company.alive["two"]  # it drains, as everybody was told to
    await draining
    assert live_site.recorder.all(DrainEnded, taken=0, left=2)[0].seconds < QUICK.tries * QUICK.ack_timeout
    assert {row.holding for row in await live_site.db.tx(adoptable, 10)} == {Holding.ORPHAN_PENDING}


async def test_who_leaves_takes_nothing_more(live_site: Site) -> None:
    one = live_site.node("one")
    await one.drain.run()
    ids = await live_site.sent(2)
    one.assigning.queued(assignments(ids, "reports.slow"))
    await one.assigning.turn()
    await one.competing.turn()
    await one.tending.turn()
    assert one.held == []
    assert await live_site.waiting("orchestrix.job.assigned") == 2


async def test_a_database_that_is_away_does_not_hold_it_up(live_site: Site) -> None:
    one = live_site.node("one")
    await one.takes(await live_site.sent(1))

    async def away(*_args: object) -> None:
        raise StoreUnavailable("not now")

    live_site.db.tx = away  # type: ignore[method-assign, assignment]  # an outage
    await one.drain.run()
    assert live_site.recorder.all(DrainCutShort, node="one", error="not now")
