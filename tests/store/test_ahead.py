"""Executions opened before they are due: forgotten when nothing of them was sent, recalled when something was."""

from dataclasses import replace

from sqlalchemy import Connection, func, select

from orth.domain.executions import Execution, Phase
from orth.domain.fires import FireDecision
from orth.domain.reasons import JOB_CHANGED, JOB_STOPPED
from orth.store.ahead import (
    decided_after,
    forget_decisions,
    forget_fires,
    hold_fires_after,
    list_recalled,
    recall_executions,
)
from orth.store.broadcasts import open_broadcast
from orth.store.database import Database
from orth.store.executions import end_executions, open_executions
from orth.store.fires import list_fires, record_fires
from orth.store.notes import Note, add_notes
from orth.store.tables import broadcasts, notes
from tests.store.builders import NOW, an_opening, assign, success


def opened(connection: Connection, *fires: int, job_id: int = 1) -> list[Execution]:
    """Executions of fires, planned ahead."""
    openings = [
        replace(an_opening(f"fire:{fire}", job_id=job_id), schedule_time=fire, not_before=fire) for fire in fires
    ]
    open_executions(connection, openings, NOW)
    return hold_fires_after(connection, job_id, NOW)


async def test_only_fires_of_the_job_after_the_instant_are_found(db: Database) -> None:
    await db.tx(opened, NOW - 1000, NOW, NOW + 1, NOW + 2000)
    await db.tx(opened, NOW + 5, job_id=2)
    await db.tx(open_executions, [an_opening("key:zzz"), an_opening("retry:7"), an_opening("batch:1:9")], NOW)
    found = await db.tx(hold_fires_after, 1, NOW)
    assert [one.schedule_time for one in found] == [NOW + 1, NOW + 2000]
    assert [one.schedule_time for one in await db.tx(hold_fires_after, 1, NOW - 1)] == [NOW, NOW + 1, NOW + 2000]


async def test_what_was_not_sent_goes_with_all_that_was_written_about_it(db: Database) -> None:
    first, second = await db.tx(opened, NOW + 1, NOW + 2)
    await db.tx(add_notes, [Note(first.id, "x", "…"), Note(second.id, "x", "…")], "node", NOW)
    shared = await db.tx(open_broadcast, 1, 2)
    await db.tx(forget_fires, [replace(first, broadcast_id=shared)])
    assert await db.tx(hold_fires_after, 1, NOW) == [second]
    assert await db.read(counted, notes) == 1
    assert await db.read(counted, broadcasts) == 0


async def test_what_was_sent_meanwhile_is_not_forgotten(db: Database) -> None:
    first, second = await db.tx(opened, NOW + 1, NOW + 2)
    await db.tx(assign, first.id)
    await db.tx(forget_fires, [first, second])
    assert [one.id for one in await db.tx(hold_fires_after, 1, NOW)] == [first.id]


async def test_a_forgotten_fire_may_be_planned_again(db: Database) -> None:
    (before,) = await db.tx(opened, NOW + 1)
    await db.tx(forget_fires, [before])
    (again,) = await db.tx(opened, NOW + 1)
    assert again.phase is Phase.OPENED


async def test_decisions_about_coming_fires_are_forgotten(db: Database) -> None:
    entries = [FireDecision(1, fire, fire, 1, "run", "", 1) for fire in (NOW, NOW + 1, NOW + 2, NOW + 3)]
    await db.tx(record_fires, [*entries, replace(entries[2], job_id=2)], 1, NOW)
    assert await db.read(decided_after, 1, NOW) == {NOW + 1, NOW + 2, NOW + 3}
    await db.tx(forget_decisions, 1, [NOW + 1, NOW + 3, NOW + 99])
    assert [entry.fire_time for entry in await db.read(list_fires, 1, 10)] == [NOW + 2, NOW]
    assert len(await db.read(list_fires, 2, 10)) == 1


async def test_a_recalled_execution_is_listed_until_it_is_due_or_over(db: Database) -> None:
    soon, later, over, wanted = await db.tx(opened, NOW + 1, NOW + 50, NOW + 60, NOW + 70)
    await db.tx(assign, soon.id, later.id, over.id, wanted.id)
    await db.tx(end_executions, [success(over.id)], NOW)
    await db.tx(recall_executions, [soon.id, later.id, over.id], JOB_STOPPED)
    await db.tx(recall_executions, [later.id], JOB_CHANGED)
    found = await db.read(list_recalled, NOW, 10)
    assert [(one.execution.id, one.reason_code) for one in found] == [(soon.id, JOB_STOPPED), (later.id, JOB_STOPPED)]
    assert [one.execution.id for one in await db.read(list_recalled, NOW + 1, 10)] == [later.id]
    assert len(await db.read(list_recalled, NOW, 1)) == 1


async def test_a_recalled_execution_that_fails_says_why_and_one_that_succeeds_does_not(db: Database) -> None:
    dropped, done = await db.tx(opened, NOW + 1, NOW + 2)
    await db.tx(assign, dropped.id, done.id)
    await db.tx(recall_executions, [dropped.id, done.id], JOB_STOPPED)
    ended = await db.tx(end_executions, [success(dropped.id, handle_code=500), success(done.id)], NOW)
    assert [one.reason_code for one in ended] == [JOB_STOPPED, None]


def counted(connection: Connection, table: object) -> int:
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())  # type: ignore[arg-type]
