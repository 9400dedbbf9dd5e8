"""Ownership: one owner for each generation, taken by comparing; nothing is written for what has ended."""

import asyncio

from sqlalchemy import Connection, func, select

from orth.domain.executions import Phase
from orth.store.database import Database
from orth.store.executions import end_executions
from orth.store.ownership import (
    Holding,
    Owned,
    Owner,
    abandon,
    adopt,
    adoptable,
    claim,
    keep,
    left_by,
    offer,
    open_among,
    orphan,
    orphan_unowned,
    owned_by,
    owners,
    release,
    release_orphans,
    still_given_by,
    unowned,
)
from orth.store.tables import executions, ownership
from tests.store.builders import NOW, assign, open_some, success

ONE, TWO = Owner("node-1", "process-1"), Owner("node-2", "process-2")


def rows(connection: Connection) -> int:
    return connection.execute(select(func.count()).select_from(ownership)).scalar_one()


def end(connection: Connection, *ids: int) -> None:
    end_executions(connection, [success(one) for one in ids], NOW)


def sent(connection: Connection, count: int) -> list[int]:
    ids = open_some(connection, count)
    assign(connection, *ids)
    return ids


async def test_what_is_open_is_claimed_and_what_has_ended_costs_no_row(db: Database) -> None:
    ids = await db.tx(sent, 3)
    await db.tx(end, ids[1])
    assert await db.tx(claim, ONE, ids, NOW) == [Owned(ids[0], 1, 1), Owned(ids[2], 1, 1)]
    assert await db.tx(rows) == 2


async def test_a_claim_repeated_after_a_lost_answer_is_the_same_claim(db: Database) -> None:
    ids = await db.tx(sent, 2)
    first = await db.tx(claim, ONE, ids, NOW)
    assert await db.tx(claim, ONE, ids, NOW) == first
    assert await db.tx(claim, TWO, ids, NOW) == []


async def test_of_two_who_claim_at_once_each_execution_has_one(db: Database, peer: Database) -> None:
    ids = await db.tx(sent, 50)
    some = await asyncio.gather(db.tx(claim, ONE, ids, NOW), peer.tx(claim, TWO, ids, NOW))
    assert sorted(one.execution_id for part in some for one in part) == ids


async def generations(db: Database, owner: Owner) -> dict[int, int]:
    """What is open and this owner's."""
    rows, _ended = await db.tx(owned_by, owner)
    return {one.execution_id: one.generation for one in rows}


async def test_owned_rows_are_not_adopted(db: Database) -> None:
    ids = await db.tx(sent, 2)
    await db.tx(claim, ONE, ids, NOW)
    assert await db.tx(adoptable, 10) == []
    assert await db.tx(adopt, TWO, dict.fromkeys(ids, 1), NOW) == []


async def test_what_is_offered_changes_hands_with_a_new_generation(db: Database) -> None:
    ids = await db.tx(sent, 2)
    await db.tx(claim, ONE, ids, NOW)
    seen = dict.fromkeys(ids, 1)
    assert await db.tx(offer, ONE, seen, NOW) == set(ids)
    assert await generations(db, ONE) == seen  # still the giver's
    assert await db.tx(adopt, ONE, seen, NOW) == []  # who does not take its own
    assert await db.tx(adopt, TWO, seen, NOW) == [Owned(ids[0], 1, 2), Owned(ids[1], 1, 2)]
    assert await generations(db, ONE) == {}
    assert await db.tx(still_given_by, ONE, seen) == set()
    assert await db.tx(owned_by, TWO) == ([Owned(ids[0], 1, 2), Owned(ids[1], 1, 2)], [])


async def test_of_many_who_adopt_at_once_one_wins(db: Database, peer: Database) -> None:
    ids = await db.tx(sent, 20)
    await db.tx(claim, ONE, ids, NOW)
    seen = dict.fromkeys(ids, 1)
    await db.tx(offer, ONE, seen, NOW)
    takers = [Owner(f"node-{n}", f"process-{n}") for n in range(2, 8)]
    some = await asyncio.gather(
        *(node.tx(adopt, taker, seen, NOW) for taker, node in zip(takers, (db, peer) * 3, strict=True))
    )
    assert sorted(one.execution_id for part in some for one in part) == ids
    assert {one.generation for part in some for one in part} == {2}


async def test_a_generation_that_is_gone_adopts_offers_and_keeps_nothing(db: Database) -> None:
    ids = await db.tx(sent, 1)
    await db.tx(claim, ONE, ids, NOW)
    old = dict.fromkeys(ids, 1)
    await db.tx(offer, ONE, old, NOW)
    await db.tx(adopt, TWO, old, NOW)
    assert await db.tx(offer, ONE, old, NOW) == set()
    assert await db.tx(abandon, ONE, old, NOW) == set()
    assert await db.tx(keep, ONE, old, NOW) == set()
    assert await db.tx(adopt, ONE, old, NOW) == []
    assert await generations(db, TWO) == {ids[0]: 2}


async def test_an_offer_that_is_taken_back_is_nobody_elses(db: Database) -> None:
    ids = await db.tx(sent, 1)
    await db.tx(claim, ONE, ids, NOW)
    seen = dict.fromkeys(ids, 1)
    await db.tx(offer, ONE, seen, NOW)
    assert await db.tx(keep, ONE, seen, NOW) == set(ids)
    assert await db.tx(adopt, TWO, seen, NOW) == []


async def test_what_is_abandoned_is_not_owned_and_may_be_adopted(db: Database) -> None:
    ids = await db.tx(sent, 1)
    await db.tx(claim, ONE, ids, NOW)
    seen = dict.fromkeys(ids, 1)
    await db.tx(abandon, ONE, seen, NOW)
    assert await generations(db, ONE) == {}
    assert await db.tx(still_given_by, ONE, seen) == set(ids)
    assert await db.tx(owned_by, ONE) == ([], [])
    assert [one.holding for one in await db.tx(adoptable, 10)] == [Holding.ORPHAN_PENDING]
    assert await db.tx(adopt, ONE, seen, NOW) == [Owned(ids[0], 1, 2)]


async def test_a_restarted_process_owns_nothing_of_its_predecessor(db: Database) -> None:
    ids = await db.tx(sent, 1)
    await db.tx(claim, ONE, ids, NOW)
    again = Owner("node-1", "process-9")
    assert await db.tx(owned_by, again) == ([], [])
    assert await db.tx(orphan, ONE, NOW, 10) == 1
    assert await db.tx(adopt, again, dict.fromkeys(ids, 1), NOW) == [Owned(ids[0], 1, 2)]


async def test_what_the_dead_owned_is_orphaned_some_at_a_time_and_once(db: Database) -> None:
    ids = await db.tx(sent, 5)
    await db.tx(claim, ONE, ids[:4], NOW)
    await db.tx(claim, TWO, ids[4:], NOW)
    await db.tx(offer, ONE, {ids[0]: 1}, NOW)
    assert [await db.tx(orphan, ONE, NOW, 3) for _ in range(3)] == [3, 1, 0]
    counts = {(one.node_id, one.holding): one.count for one in await db.tx(owners)}
    assert counts == {("node-1", Holding.ORPHAN_PENDING): 4, ("node-2", Holding.OWNED): 1}


async def test_what_one_that_is_gone_still_has_is_found_before_it_is_orphaned(db: Database) -> None:
    ids = await db.tx(sent, 5)
    await db.tx(claim, ONE, ids[:4], NOW)
    await db.tx(claim, TWO, ids[4:], NOW)
    await db.tx(offer, ONE, {ids[1]: 1}, NOW)
    await db.tx(end, ids[0])
    found = await db.tx(left_by, ONE, 10)
    assert [(one.execution_id, one.node_id) for one in found] == [(one, "node-1") for one in ids[1:4]]
    assert [one.execution_id for one in await db.tx(left_by, ONE, 1, after=ids[1])] == [ids[2]]
    await db.tx(orphan, ONE, NOW, 10)
    assert await db.tx(left_by, ONE, 10) == []


async def test_what_is_orphaned_is_nobodys_since_its_owner_was_lost(db: Database) -> None:
    ids = await db.tx(sent, 2)
    await db.tx(claim, ONE, ids[:1], NOW)
    await db.tx(claim, ONE, ids[1:], NOW + 9_000)  # after its last beat
    await db.tx(orphan, ONE, NOW + 5_000, 10)
    assert [one.since for one in await db.tx(adoptable, 10)] == [NOW + 5_000, NOW + 9_000]


async def test_executions_without_a_row_are_found_and_orphaned(db: Database) -> None:
    waiting = await db.tx(open_some, 1, prefix="waits")
    ids = await db.tx(sent, 4)
    await db.tx(claim, ONE, ids[:1], NOW)
    await db.tx(end, ids[1])
    assert await db.tx(unowned, 10) == ids[2:]
    assert await db.tx(unowned, 1, after=ids[2]) == ids[3:]
    await db.tx(end, ids[3])
    assert await db.tx(orphan_unowned, [*ids, *waiting], NOW) == 3  # also repeats what has a row, which stays
    assert [(one.execution_id, one.generation, one.node_id) for one in await db.tx(adoptable, 10)] == [
        (waiting[0], 0, None),
        (ids[2], 0, None),
    ]
    assert await generations(db, ONE) == {ids[0]: 1}


async def test_rows_of_ended_executions_go(db: Database) -> None:
    ids = await db.tx(sent, 4)
    await db.tx(claim, ONE, ids, NOW)
    await db.tx(orphan, ONE, NOW, 1)
    await db.tx(end, *ids[:3])
    assert await db.tx(owned_by, ONE) == ([Owned(ids[3], 1, 1)], ids[1:3])
    assert await db.tx(release_orphans, 10) == 1
    await db.tx(release, ids)
    assert await db.tx(owned_by, ONE) == ([Owned(ids[3], 1, 1)], [])
    assert await db.tx(rows) == 1


async def test_an_ended_execution_is_not_adopted(db: Database) -> None:
    ids = await db.tx(sent, 2)
    await db.tx(claim, ONE, ids, NOW)
    seen = dict.fromkeys(ids, 1)
    await db.tx(offer, ONE, seen, NOW)
    await db.tx(end, ids[0])
    assert [one.execution_id for one in await db.tx(adopt, TWO, seen, NOW)] == ids[1:]
    assert await db.tx(still_given_by, ONE, seen) == set()
    assert await db.tx(open_among, ids) == {ids[1]}


async def test_many_are_claimed_and_adopted_in_parts(db: Database) -> None:
    ids = await db.tx(sent, 1_203)
    assert len(await db.tx(claim, ONE, ids, NOW)) == 1_203
    seen = dict.fromkeys(ids, 1)
    assert len(await db.tx(offer, ONE, seen, NOW)) == 1_203
    assert len(await db.tx(adopt, TWO, seen, NOW)) == 1_203
    found = await db.tx(lambda c: c.execute(select(executions.c.phase)).scalars().all())
    assert set(found) == {Phase.DISPATCHING}
