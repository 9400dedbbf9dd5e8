"""Shards that end at the same time: one of them, and only one, learns that it was the last."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, select

from orth.domain.broadcasts import Tally
from orth.store.broadcasts import count_ended, open_broadcast
from orth.store.database import Database
from orth.store.tables import broadcasts

GOOD, BAD = Tally(succeeded=1), Tally(failed=1)


def left(connection: Connection) -> list[int]:
    return [row.id for row in connection.execute(select(broadcasts.c.id))]


async def test_the_last_one_is_told_the_sums_and_the_row_goes(db: Database) -> None:
    broadcast = await db.tx(open_broadcast, 1, 3)
    assert await db.tx(count_ended, {broadcast: GOOD}) == {}
    assert await db.tx(count_ended, {broadcast: BAD}) == {}
    assert await db.tx(count_ended, {broadcast: GOOD}) == {broadcast: Tally(succeeded=2, failed=1)}
    assert await db.read(left) == []


async def test_several_shards_of_several_broadcasts_are_counted_at_once(db: Database) -> None:
    first, second = await db.tx(open_broadcast, 1, 2), await db.tx(open_broadcast, 1, 5)
    done = await db.tx(count_ended, {first: GOOD + GOOD, second: BAD + GOOD})
    assert done == {first: Tally(succeeded=2)}
    assert await db.read(left) == [second]


async def test_an_id_is_never_used_again(db: Database) -> None:
    """The keys of children are made from it."""
    first = await db.tx(open_broadcast, 1, 1)
    await db.tx(count_ended, {first: GOOD})
    assert await db.tx(open_broadcast, 1, 1) > first


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shards=st.lists(st.booleans(), min_size=2, max_size=10), together=st.integers(1, 3))
async def test_whoever_ends_at_once_exactly_one_is_the_last(
    db: Database, peer: Database, shards: list[bool], together: int
) -> None:
    ids = [await db.tx(open_broadcast, 1, len(shards)) for _ in range(together)]
    calls = [
        (db, peer)[n % 2].tx(count_ended, dict.fromkeys(ids[:: 1 if n % 3 else -1], GOOD if good else BAD))
        for n, good in enumerate(shards)
    ]
    told = [found for one in await asyncio.gather(*calls) for found in one.items()]
    expected = Tally(succeeded=shards.count(True), failed=shards.count(False))
    assert sorted(told, key=lambda found: found[0]) == [(one, expected) for one in ids]
    assert await db.read(left) == []


@pytest.mark.parametrize("schema_url", ["postgresql", "mariadb"], indirect=True)
async def test_who_rolls_back_has_counted_nothing(db: Database) -> None:
    broadcast = await db.tx(open_broadcast, 1, 1)
    with pytest.raises(ZeroDivisionError):
        await db.tx(_count_and_fail, broadcast)
    assert await db.tx(count_ended, {broadcast: BAD}) == {broadcast: BAD}


def _count_and_fail(connection: Connection, broadcast: int) -> None:
    assert count_ended(connection, {broadcast: GOOD}) == {broadcast: GOOD}
    raise ZeroDivisionError
