"""What is old goes, with all that belongs to it; what is open or young stays."""

from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from orth.domain.batches import BatchState
from orth.domain.fires import FireDecision
from orth.store.batches import NewBatch, end_batch, store_batch
from orth.store.database import Database
from orth.store.executions import end_executions, list_taken, open_executions
from orth.store.fires import record_fires
from orth.store.notes import Note, add_notes
from orth.store.purging import Purged, purge_batches, purge_executions, purge_fires, purge_statistics
from orth.store.record_tables import alarms, dead_letters, statistics
from orth.store.statistics import HOUR, count_ends, fold
from orth.store.tables import batches, executions, fires, notes, ownership
from tests.store.builders import NOW, an_opening, open_some, success
from tests.store.test_statistics import ended

AGE = 1000
BEFORE = NOW + AGE


def ids_in(connection: Connection, column: sa.Column[Any]) -> list[int]:
    return list(connection.execute(sa.select(column).order_by(column)).scalars())


def attach(connection: Connection, execution_id: int) -> None:
    """One row of each kind that belongs to an execution."""
    add_notes(connection, [Note(execution_id, "code", "text")], "node", NOW)
    owner = {"node_id": "n", "generation": 1, "state": "owned", "changed_at": NOW}
    connection.execute(sa.insert(ownership).values(execution_id=execution_id, **owner))
    letter = {"job_id": 1, "job_group": 1, "ended_at": NOW, "outcome": 2}
    connection.execute(sa.insert(dead_letters).values(execution_id=execution_id, **letter))
    alarm = {"kind": "first", "channel": "mail", "state": "sent", "attempts": 1, "next_attempt": 0, "created_at": NOW}
    connection.execute(sa.insert(alarms).values(execution_id=execution_id, **alarm))


async def test_old_ends_go_with_what_belongs_to_them_and_nothing_else(db: Database) -> None:
    ids = await db.tx(open_some, 6)
    for one in ids:
        await db.tx(attach, one)
    await db.tx(end_executions, [success(one) for one in ids[:2]], NOW)
    await db.tx(end_executions, [success(ids[2])], BEFORE - 1)
    await db.tx(end_executions, [success(ids[3])], BEFORE)
    assert await db.tx(purge_executions, BEFORE, after=0, limit=100) == Purged(3, None)
    for column in (
        executions.c.id,
        notes.c.execution_id,
        ownership.c.execution_id,
        dead_letters.c.execution_id,
        alarms.c.execution_id,
    ):
        assert await db.read(ids_in, column) == ids[3:], column


async def test_a_pass_goes_in_steps_past_what_stays(db: Database) -> None:
    ids = await db.tx(open_some, 10)
    await db.tx(end_executions, [success(one) for one in ids if one % 2], NOW)
    after: int | None = ids[0] - 1
    steps = []
    while after is not None:
        done = await db.tx(purge_executions, BEFORE, after=after, limit=3)
        steps.append(done.rows)
        after = done.reached
    assert sum(steps) == 5
    assert max(steps) <= 2
    assert len(steps) == 4
    assert await db.read(ids_in, executions.c.id) == [one for one in ids if not one % 2]


async def test_a_pass_ends_where_everything_is_young(db: Database) -> None:
    await db.tx(open_executions, [an_opening(f"young:{number}") for number in range(9)], BEFORE)
    assert await db.tx(purge_executions, BEFORE, after=0, limit=3) == Purged(0, None)


async def test_open_ones_are_never_removed_however_old(db: Database) -> None:
    ids = await db.tx(open_some, 3)
    await db.tx(purge_executions, NOW * 2, after=0, limit=100)
    assert await db.read(ids_in, executions.c.id) == ids
    assert await db.read(list_taken, 0, 10) == []


def a_fire(number: int) -> FireDecision:
    return FireDecision(1, NOW + number, NOW + number, 1, "run", "", 1)


async def test_the_ledger_is_shortened_from_its_old_end(db: Database) -> None:
    for number in range(6):
        await db.tx(record_fires, [a_fire(number)], 1, NOW + number)
    assert await db.tx(purge_fires, NOW + 5, 3) == Purged(3, 0)
    assert await db.tx(purge_fires, NOW + 5, 3) == Purged(2, None)
    assert await db.tx(purge_fires, NOW + 5, 3) == Purged(0, None)
    assert await db.read(ids_in, fires.c.decided_at) == [NOW + 5]


async def test_decisions_of_one_instant_go_together(db: Database) -> None:
    await db.tx(record_fires, [a_fire(number) for number in range(6)], 1, NOW)
    assert await db.tx(purge_fires, BEFORE, 2) == Purged(6, 0)
    assert await db.tx(purge_fires, BEFORE, 2) == Purged(0, None)


async def test_counts_go_hour_by_hour(db: Database) -> None:
    for job in (1, 2, 3):
        for hours in (0, 1, 2):
            await db.tx(count_ends, [ended(job=job)], NOW + hours * HOUR)
    await db.tx(fold, 100)
    second = NOW - NOW % HOUR + HOUR
    removed, turns = 0, 0
    while (done := await db.tx(purge_statistics, second, 2)).reached is not None:
        assert done.rows <= 2
        removed += done.rows
        turns += 1
    assert (removed, turns) == (5, 3)  # three jobs, their group, and all
    assert set(await db.read(ids_in, statistics.c.hour)) == {second, second + HOUR}


async def test_batches_that_are_over_for_long_go(db: Database) -> None:
    new = NewBatch(
        job_id=1,
        job_group=1,
        trigger_key="a",
        request_digest="",
        start_time=0,
        end_time=1,
        total=1,
        at_once=1,
        executor_param=None,
        addresses=(),
        skip_done=False,
        timing="",
        actor="",
    )
    for key in "abc":
        await db.tx(store_batch, replace(new, trigger_key=key), NOW)
    first, second, third = await db.read(ids_in, batches.c.id)
    await db.tx(end_batch, first, BatchState.DONE, "", NOW)
    await db.tx(end_batch, second, BatchState.DONE, "", BEFORE)
    assert await db.tx(purge_batches, BEFORE, after=0, limit=2) == Purged(1, second)
    assert await db.tx(purge_batches, BEFORE, after=second, limit=2) == Purged(0, None)
    assert await db.read(ids_in, batches.c.id) == [second, third]
