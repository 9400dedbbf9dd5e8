"""Executions that their executor says it runs: written down where they wait there, and nowhere else."""

from dataclasses import replace

from sqlalchemy import event

from orth.domain.executions import Phase
from orth.store.beginnings import record_begun
from orth.store.database import Database
from orth.store.dispatching import record_accepted, record_unknown
from orth.store.executions import end_executions
from tests.store.builders import NOW, assign, execution, open_some, success

PROCESS = "process-1"
BEGAN = NOW + 3


async def test_what_waits_there_runs(db: Database) -> None:
    ids = await db.tx(open_some, 3)
    await db.tx(assign, *ids)
    await db.tx(record_accepted, ids, NOW)
    before = [await db.read(execution, one) for one in ids]
    statements: list[str] = []
    event.listen(db.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    assert await db.tx(record_begun, PROCESS, {ids[0]: BEGAN, ids[1]: BEGAN + 1}, NOW + 2000) == set()
    assert len([one for one in statements if "orth_job_log" in one]) == 1, "one statement for all of them"
    after = [await db.read(execution, one) for one in ids]
    assert after == [
        replace(before[0], phase=Phase.RUNNING, start_time=BEGAN),
        replace(before[1], phase=Phase.RUNNING, start_time=BEGAN + 1),
        before[2],
    ]


async def test_what_has_ended_or_is_not_there_stays_as_it_is(db: Database) -> None:
    opened, ended, running, others, unknown, on_its_way = ids = await db.tx(open_some, 6)
    await db.tx(assign, ended, running, others, unknown, on_its_way)
    await db.tx(record_accepted, [ended, running, others], NOW)
    await db.tx(end_executions, [success(ended)], NOW)
    await db.tx(record_begun, PROCESS, {running: BEGAN}, NOW)
    await db.tx(record_unknown, [(unknown, "no answer")], NOW)
    before = [await db.read(execution, one) for one in ids]
    told = dict.fromkeys((opened, ended, running, unknown, on_its_way, 404), BEGAN + 9)
    assert await db.tx(record_begun, PROCESS, told, NOW + 1) == {unknown, on_its_way}, "their answers are not stored"
    assert await db.tx(record_begun, "another process", {others: BEGAN}, NOW + 1) == set()
    assert [await db.read(execution, one) for one in ids] == before


async def test_an_end_keeps_the_start_that_was_told(db: Database) -> None:
    (one,) = await db.tx(open_some, 1)
    await db.tx(assign, one)
    await db.tx(record_accepted, [one], NOW)
    await db.tx(record_begun, PROCESS, {one: BEGAN}, NOW)
    await db.tx(end_executions, [success(one)], NOW + 9)
    assert ((await db.read(execution, one)).phase, (await db.read(execution, one)).start_time) == (Phase.ENDED, BEGAN)
