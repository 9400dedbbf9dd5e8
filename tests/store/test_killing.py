"""What a kill holds: the rows as they are, until its transaction ends."""

import asyncio

from orth.domain.executions import Phase
from orth.store.database import Database
from orth.store.dispatching import record_accepted
from orth.store.executions import end_executions
from orth.store.killing import hold_executions, open_at_executors
from tests.store.builders import NOW, assign, execution, on_servers, open_some, success, until_blocked


async def test_what_an_executor_may_have_is_open_and_was_sent(db: Database) -> None:
    unsent, sent, taken, ended, other = await db.tx(open_some, 5)
    await db.tx(assign, sent, taken, ended)
    await db.tx(record_accepted, [taken], NOW)
    await db.tx(end_executions, [success(ended)], NOW)
    job_id = (await db.read(execution, sent)).job_id
    assert await db.tx(open_at_executors, job_id) == {sent, taken}
    assert await db.tx(open_at_executors, job_id + 1) == set()
    held = await db.tx(hold_executions, [other, ended, unsent, 404404])
    assert list(held) == [unsent, ended, other]
    assert held[ended] == await db.read(execution, ended)


async def test_more_than_one_statement_holds(db: Database) -> None:
    ids = await db.tx(open_some, 501)
    assert list(await db.tx(hold_executions, reversed(ids))) == ids


@on_servers
async def test_a_result_waits_for_who_holds_the_row(db: Database, peer: Database) -> None:
    [number] = await db.tx(open_some, 1)
    await db.tx(assign, number)
    with db.engine.begin() as holder:
        assert hold_executions(holder, [number])[number].phase is Phase.DISPATCHING
        result = asyncio.create_task(peer.tx(end_executions, [success(number)], NOW))
        await until_blocked(db)
    assert [one.id for one in await result] == [number]
