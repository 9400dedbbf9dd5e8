"""What an execution waits for, on every kind of database."""

from sqlalchemy import Connection, update

from orth.domain.executions import TEST_KEY, Phase
from orth.domain.overlap import BlockedBy, BlockingExecution
from orth.domain.reasons import BUSY_ELSEWHERE
from orth.store.blocking import blocking_execution
from orth.store.database import Database
from orth.store.dispatching import put_back, record_accepted
from orth.store.executions import end_executions
from orth.store.possibly_running import note_unconfirmed
from orth.store.tables import executions
from tests.store.builders import NOW, assign, execution, open_some, success

AT = "http://10.0.0.1:9999"


async def open_one(db: Database, prefix: str, **changes: object) -> int:
    (one,) = await db.tx(lambda connection: open_some(connection, 1, prefix=prefix, **changes))
    return one


async def sent(db: Database, prefix: str, **changes: object) -> int:
    one = await open_one(db, prefix, **changes)
    await db.tx(assign, one)
    return one


async def waits(db: Database, prefix: str, **changes: object) -> int:
    one = await open_one(db, prefix, **changes)
    await db.tx(put_back, [one], None, BUSY_ELSEWHERE, 1, NOW)
    return one


async def blocking(db: Database, one: int) -> BlockingExecution | None:
    return await db.read(blocking_execution, await db.read(execution, one), NOW)


async def test_what_may_run_comes_before_what_ended_waits_or_is_held(db: Database) -> None:
    waiting = await waits(db, "waits", not_before=NOW - 5)
    await sent(db, TEST_KEY)
    await sent(db, "other-job", job_id=2)
    await sent(db, "other-group", job_group=2)
    assert await blocking(db, waiting) is None
    held = await sent(db, "held", not_before=NOW + 9)
    assert await blocking(db, waiting) == BlockingExecution(held, BlockedBy.AHEAD, AT, NOW + 9)
    await waits(db, "later")
    assert await blocking(db, waiting) == BlockingExecution(held, BlockedBy.AHEAD, AT, NOW + 9)
    earlier = await waits(db, "earlier", not_before=NOW - 6)
    assert await blocking(db, waiting) == BlockingExecution(earlier, BlockedBy.EARLIER)
    ended = await sent(db, "ended")
    await db.tx(_end_unconfirmed, ended)
    assert await blocking(db, waiting) == BlockingExecution(ended, BlockedBy.ENDED, AT)
    running = await sent(db, "running", not_before=NOW)
    assert await blocking(db, waiting) == BlockingExecution(running, BlockedBy.RUNNING, AT)


async def test_a_shard_waits_for_its_own_and_for_whole_runs(db: Database) -> None:
    shard = await waits(db, "shard", shard_index=1, shard_total=2)
    other = await sent(db, "other", shard_index=0, shard_total=2)
    assert await blocking(db, shard) is None
    whole = await sent(db, "whole")
    assert await blocking(db, shard) == BlockingExecution(whole, BlockedBy.RUNNING, AT)
    waiting = await waits(db, "waits")
    assert await blocking(db, waiting) == BlockingExecution(other, BlockedBy.RUNNING, AT)


async def test_what_an_executor_has_waits_there_for_what_has_not_left_it(db: Database) -> None:
    queued = await sent(db, "queued")
    await db.tx(record_accepted, [queued], NOW)
    await sent(db, "beside")
    assert await blocking(db, queued) is None
    ended = await sent(db, "ended")
    await db.tx(_end_unconfirmed, ended)
    assert await blocking(db, queued) == BlockingExecution(ended, BlockedBy.ENDED, AT)
    await db.tx(_run, queued)
    assert await blocking(db, queued) is None


def _end_unconfirmed(connection: Connection, one: int) -> None:
    end_executions(connection, [success(one)], NOW)
    note_unconfirmed(connection, [execution(connection, one)], NOW)


def _run(connection: Connection, one: int) -> None:
    connection.execute(update(executions).where(executions.c.id == one).values(phase=Phase.RUNNING))
