"""Executions that wait their turn on an executor, on every kind of store."""

from typing import Any

import pytest
from sqlalchemy import Connection, event

from orth.domain.executions import Turn
from orth.domain.jobs import BlockStrategy
from orth.store.beginnings import record_begun
from orth.store.database import Database
from orth.store.dispatching import Assignment, assign_executions, record_accepted
from orth.store.executions import end_executions
from orth.store.turns import turns_of
from tests.store.builders import NOW, assign, execution, open_some, stored_job, success


def taken(connection: Connection, /, count: int, job_id: int, **changes: Any) -> list[int]:
    """Executions that the executor said yes to."""
    ids = open_some(connection, count, job_id=job_id, **changes)
    assign(connection, *ids)
    record_accepted(connection, ids, NOW)
    return ids


def turns(connection: Connection, ids: list[int]) -> dict[int, Turn]:
    return turns_of(connection, [execution(connection, one) for one in ids], NOW)


async def test_in_series_all_but_the_first_wait(db: Database) -> None:
    job_id = await stored_job(db)
    first, second, third = ids = await db.tx(taken, 3, job_id)
    assert await db.read(turns, ids) == {second: Turn(1, first), third: Turn(2, first)}
    assert await db.read(turns, [third]) == {third: Turn(2, first)}, "the others count also where nobody asks for them"
    await db.tx(end_executions, [success(first)], NOW)
    assert await db.read(turns, ids) == {third: Turn(1, second)}


async def test_several_at_once_have_as_many_places(db: Database) -> None:
    job_id = await stored_job(db, executor_block_strategy=BlockStrategy.CONCURRENT, executor_concurrency=2)
    ids = await db.tx(taken, 4, job_id)
    assert await db.read(turns, ids) == {ids[2]: Turn(1, ids[0]), ids[3]: Turn(2, ids[0])}


@pytest.mark.parametrize("strategy", [BlockStrategy.DISCARD_LATER, BlockStrategy.COVER_EARLY])
async def test_who_does_not_wait_has_no_turn(db: Database, strategy: BlockStrategy) -> None:
    ids = await db.tx(taken, 2, await stored_job(db, executor_block_strategy=strategy))
    assert await db.read(turns, ids) == {}


async def test_what_runs_is_before_all_that_wait(db: Database) -> None:
    job_id = await stored_job(db)
    first, second = ids = await db.tx(taken, 2, job_id)
    await db.tx(record_begun, "process-1", {second: NOW}, NOW)
    assert await db.read(turns, ids) == {first: Turn(1, second)}


async def test_other_jobs_groups_and_executors_are_not_before_it(db: Database) -> None:
    job_id = await stored_job(db)
    other = await stored_job(db)
    (elsewhere,) = await db.tx(open_some, 1, job_id=job_id, prefix="elsewhere")
    await db.tx(assign_executions, [Assignment(elsewhere, "http://10.0.0.2:9999", None, "")], 1, NOW)
    await db.tx(record_accepted, [elsewhere], NOW)
    (moved,) = await db.tx(taken, 1, job_id, prefix="moved", job_group=9)
    (beside,) = await db.tx(taken, 1, other)
    (unsent,) = await db.tx(open_some, 1, job_id=job_id, prefix="unsent")
    (own,) = await db.tx(taken, 1, job_id, prefix="own")
    assert await db.read(turns, [elsewhere, moved, beside, unsent, own]) == {}


async def test_what_is_held_for_later_neither_waits_its_turn_nor_is_before_others(db: Database) -> None:
    job_id = await stored_job(db)
    (held,) = await db.tx(taken, 1, job_id, prefix="held", not_before=NOW + 1)
    (own,) = await db.tx(taken, 1, job_id)
    (later,) = await db.tx(taken, 1, job_id, prefix="later", not_before=NOW + 1)
    assert await db.read(turns, [held, own, later]) == {}


async def test_of_a_job_that_was_removed_nothing_is_known(db: Database) -> None:
    assert await db.read(turns, await db.tx(taken, 2, 404)) == {}


async def test_nothing_is_asked_where_nothing_was_taken(db: Database) -> None:
    ids = await db.tx(open_some, 2)
    found = [await db.read(execution, one) for one in ids]
    statements: list[str] = []
    event.listen(db.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    assert await db.read(turns_of, found, NOW) == {}
    assert not [one for one in statements if "orth_job" in one]
