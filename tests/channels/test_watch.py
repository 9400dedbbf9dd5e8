"""How a process without notifications learns what others say, one turn at a time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select

from orth.channels.audience import Audience
from orth.channels.watch import LookingWatch, Numbers, boxes_frame, pass_on, queues_frame, topic_frame
from orth.errors import StoreUnavailable
from orth.events import Events
from orth.store.announcements import tell
from orth.store.channel_tables import announcements
from orth.store.database import Connection, open_database
from orth.testing import ManualClock
from tests.channels.conftest import Site

on_sqlite = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=40).flatmap(
        lambda delays: st.tuples(st.just(delays), st.lists(st.booleans(), min_size=40, max_size=40))
    )
)
def test_what_is_committed_late_is_seen_all_the_same(drawn: tuple[list[int], list[bool]]) -> None:
    """Numbers are given in order; each becomes visible some turns later, or never when its transaction fails."""
    delays, fails = drawn
    visible_at = {number: number + delay for number, delay in enumerate(delays, start=1) if not fails[number - 1]}
    numbers, seen = Numbers(0), list[int]()
    for turn in range(len(delays) + 5):
        also = numbers.skipped(float(turn))
        visible = [number for number, at in visible_at.items() if at <= turn]
        found = [number for number in visible if number > numbers.last or number in also]
        numbers.saw(found, float(turn))
        seen += found
    assert sorted(seen) == sorted(visible_at)
    assert len(seen) == len(set(seen))


def test_a_number_that_never_comes_is_given_up_after_a_while() -> None:
    numbers = Numbers(10)
    numbers.saw([14], 100.0)
    assert numbers.skipped(101.0) == [11, 12, 13]
    numbers.saw([12], 102.0)
    assert numbers.skipped(103.0) == [11, 13]
    assert numbers.skipped(113.0) == []
    assert numbers.last == 14


def test_a_leap_does_not_fill_the_memory() -> None:
    numbers = Numbers(0)
    numbers.saw([10_000_000_000], 0.0)
    assert len(numbers.skipped(0.0)) <= 1000


@on_sqlite
async def test_it_looks_less_often_while_it_is_quiet_and_clears_away_what_is_old(site: Site) -> None:
    db, clock = site.store(), ManualClock()
    audience = Audience(clock, 100)
    watch = LookingWatch(db, audience, "me", clock, Events())
    with audience.ear(["t"]) as ear:
        await db.tx(tell, "other", topic_frame("t", {"n": 0}))
        pauses = [await watch.turn() for _ in range(12)]
        assert pauses == sorted(pauses)
        assert (pauses[0], pauses[-1]) == (pytest.approx(0.03), 0.5)
        await db.tx(tell, "other", topic_frame("t", {"n": 1}))
        await db.tx(tell, "me", topic_frame("t", {"n": 2}))
        assert await watch.turn() < 0.03
        assert [one.message for one in await ear.next(0.0)] == [{"n": 1}]  # not from before, and not its own
    assert await db.read(count) == 3
    clock.move(61.0)
    await watch.turn()
    assert await db.read(count) == 3  # others may not have looked yet
    await db.tx(tell, "other", topic_frame("t", {"n": 3}))
    clock.move(61.0)
    await watch.turn()
    assert await db.read(count) == 1


def count(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(announcements)).scalar_one()


@on_sqlite
async def test_who_has_not_looked_for_long_knows_that_he_may_have_missed_something(site: Site) -> None:
    db, clock = site.store(), ManualClock()
    audience = Audience(clock, 100)
    watch = LookingWatch(db, audience, "me", clock, Events())
    with audience.ear(["t"]) as ear, audience.waiting(["q"]) as waiter:
        await watch.turn()
        clock.move(5.0)
        await watch.turn()
        assert (ear.missed, waiter.woken.is_set()) == (0, False)
        clock.move(21.0)
        await watch.turn()
        assert (ear.missed, waiter.woken.is_set()) == (1, True)


async def test_without_its_database_it_says_so_and_all_look_for_themselves(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    clock = ManualClock()
    audience = Audience(clock, 100)
    with open_database(f"sqlite:///{tmp_path_factory.mktemp('empty')}/orth.db") as db:
        watch = LookingWatch(db, audience, "me", clock, Events())
        with audience.ear(["t"]) as ear, pytest.raises(StoreUnavailable):
            await watch.turn()  # there are no tables
        assert (ear.missed, watch.in_touch) == (1, False)


async def test_frames_reach_those_they_are_for() -> None:
    audience = Audience(ManualClock(), 100)
    with audience.ear(["t"]) as ear, audience.ear(None) as news, audience.waiting(["q"]) as waiter:
        pass_on(audience, topic_frame("t", {"n": 1}))
        assert [one.message for one in await ear.next(0.0)] == [{"n": 1}]
        assert not waiter.woken.is_set()
        pass_on(audience, queues_frame({"other": 3}))
        assert not waiter.woken.is_set()
        pass_on(audience, queues_frame({"q": 1}))
        assert waiter.woken.is_set()
        pass_on(audience, boxes_frame(["b", "c"]))
        assert [one.message for one in await news.next(0.0)] == [{"box": "b"}, {"box": "c"}]
        assert list(await ear.next(0.0)) == []
