"""Tallies that all nodes share, and links that are good once."""

import asyncio

from sqlalchemy import Connection, func, select

from orth.store.database import Database
from orth.store.identities import bind_identity, find_identity, is_bound
from orth.store.sign_in_tables import sign_in_tallies
from orth.store.sign_in_tallies import (
    Tally,
    add_link,
    drop_stale_links,
    drop_stale_tallies,
    hold_tallies,
    make_good,
    set_tally,
    take_link,
)
from orth.store.users import add_user, find_user, remove_user
from tests.store.builders import NOW


def count_up(connection: Connection, *digests: str) -> None:
    for digest, tally in hold_tallies(connection, digests, NOW).items():
        set_tally(connection, digest, Tally(tally.tries + 1, NOW))


def look(connection: Connection) -> dict[str, int]:
    return {row.digest: row.tries for row in connection.execute(select(sign_in_tallies))}


async def test_nobody_is_missed_when_many_count_at_once(db: Database, peer: Database) -> None:
    # In two orders, which must not make them wait for each other.
    orders = (("a", "b", "c"), ("c", "b", "a"))
    await asyncio.gather(*((db, peer)[n % 2].tx(count_up, *orders[n % 2]) for n in range(20)))
    assert await db.read(look) == {"a": 20, "b": 20, "c": 20}


async def test_a_success_clears_one_and_takes_a_try_back_from_the_others(db: Database) -> None:
    for _ in range(3):
        await db.tx(count_up, "pair", "address", "account")
    await db.tx(make_good, "pair", ("address", "account"))
    assert await db.read(look) == {"address": 2, "account": 2}
    await db.tx(hold_tallies, ["zero"], NOW)
    await db.tx(make_good, None, ("zero", "address"))
    assert await db.read(look) == {"address": 1, "account": 2, "zero": 0}


async def test_old_ones_are_removed_and_the_oldest_when_there_are_too_many(db: Database) -> None:
    for number in range(5):
        await db.tx(hold_tallies, [f"t{number}"], NOW + number)
    await db.tx(drop_stale_tallies, NOW + 2)
    assert set(await db.read(look)) == {"t2", "t3", "t4"}
    await db.tx(drop_stale_tallies, NOW, 3)
    assert len(await db.read(look)) == 3
    await db.tx(drop_stale_tallies, NOW, 2)
    assert await db.read(lambda c: c.execute(select(func.count()).select_from(sign_in_tallies)).scalar()) == 0


async def test_a_link_is_good_once(db: Database, peer: Database) -> None:
    await db.tx(add_link, "digest", 7, NOW + 1)
    taken = await asyncio.gather(*((db, peer)[n % 2].tx(take_link, "digest", NOW) for n in range(6)))
    assert sorted(taken, key=str) == [7, None, None, None, None, None]


async def test_a_link_that_is_too_old_is_gone(db: Database) -> None:
    await db.tx(add_link, "late", 7, NOW)
    assert await db.tx(take_link, "late", NOW) is None
    await db.tx(add_link, "stale", 7, NOW)
    await db.tx(add_link, "fresh", 7, NOW + 1)
    await db.tx(drop_stale_links, NOW)
    assert await db.tx(take_link, "stale", NOW - 5) is None
    assert await db.tx(take_link, "fresh", NOW) == 7


async def test_an_identity_is_one_user_until_that_is_removed(db: Database) -> None:
    await db.tx(add_user, "ada", "!", "viewer", NOW)
    ada = await db.read(find_user, "ada")
    assert ada is not None
    assert await db.read(find_identity, "digest") is None
    assert await db.tx(bind_identity, "digest", ada.id, NOW)
    assert await db.tx(bind_identity, "digest", ada.id, NOW)
    assert not await db.tx(bind_identity, "digest", ada.id + 1, NOW)
    assert await db.read(find_identity, "digest") == ada.id
    assert await db.read(is_bound, ada.id)
    assert not await db.read(is_bound, ada.id + 1)
    await db.tx(remove_user, ada.id)
    assert await db.read(find_identity, "digest") is None
