"""What may be running of a job, on every kind of database."""

from sqlalchemy import Connection, update

from orth.domain.executions import TEST_KEY, Execution, Phase
from orth.domain.overlap import WHOLE, Running
from orth.domain.reasons import BUSY_ELSEWHERE
from orth.store.database import Database
from orth.store.dispatching import put_back
from orth.store.executions import end_executions
from orth.store.possibly_running import (
    confirm_ends,
    covered_by,
    jobs_waiting,
    longest_waiting,
    note_unconfirmed,
    possibly_running,
)
from orth.store.tables import executions
from tests.store.builders import NOW, assign, execution, open_some, success

AT = "http://10.0.0.1:9999"


async def open_one(db: Database, prefix: str, **changes: object) -> int:
    (one,) = await db.tx(lambda connection: open_some(connection, 1, prefix=prefix, **changes))
    return one


async def waits(db: Database, *ids: int) -> None:
    await db.tx(put_back, ids, None, BUSY_ELSEWHERE, 1, NOW)


async def found(db: Database, besides: tuple[int, ...] = ()) -> list[Running]:
    rows: list[Running] = await db.read(possibly_running, [1], NOW, besides)
    return sorted(rows, key=lambda one: one.first[1])


async def test_what_was_sent_waits_or_was_planned_ahead_is_told_by_place_and_time(db: Database) -> None:
    sent = await db.tx(open_some, 2, prefix="sent")
    held = await db.tx(open_some, 2, prefix="held", not_before=NOW + 9)
    await db.tx(assign, *sent, *held)
    waiting = [await open_one(db, name, not_before=due) for name, due in (("w", NOW - 3), ("x", NOW - 5))]
    await waits(db, *waiting)
    unsent = await open_one(db, "ahead", not_before=NOW + 7)
    await open_one(db, "due")
    await db.tx(assign, await open_one(db, TEST_KEY))
    shard = await open_one(db, "shard", shard_index=1, shard_total=2)
    await db.tx(assign, shard)
    ended = await open_one(db, "ended")
    await db.tx(assign, ended)
    await db.tx(_end_unconfirmed, await db.read(execution, ended))
    whole = (1, WHOLE)
    assert await found(db) == [
        Running(whole, AT, Phase.DISPATCHING, None, 0, 2, (NOW, sent[0])),
        Running(whole, AT, Phase.DISPATCHING, None, NOW + 9, 2, (NOW + 9, held[0])),
        Running(whole, None, Phase.OPENED, BUSY_ELSEWHERE, 0, 2, (NOW - 5, waiting[0])),
        Running(whole, None, Phase.OPENED, None, NOW + 7, 1, (NOW + 7, unsent)),
        Running((1, 1), AT, Phase.DISPATCHING, None, 0, 1, (NOW, shard)),
        Running(whole, AT, Phase.ENDED, None, 0, 1, (NOW, ended)),
    ]
    left = await found(db, besides=(*sent, held[1], waiting[1], unsent))
    assert [(one.count, one.first[1]) for one in left] == [(1, held[0]), (1, waiting[0]), (1, shard), (1, ended)]
    await db.tx(confirm_ends, [ended])
    assert ended not in {one.first[1] for one in await found(db)}


async def test_the_longest_waiting_are_those_that_were_due_first(db: Database) -> None:
    late = await open_one(db, "late", not_before=NOW + 5)
    early, later = await db.tx(open_some, 2, prefix="by-hand")
    shard = await open_one(db, "shard", shard_index=0, shard_total=3)
    other = await open_one(db, "other", job_id=2)
    await open_one(db, "free")
    await waits(db, late, early, later, shard, other)
    assert await db.read(jobs_waiting) == {1, 2}
    assert await db.read(longest_waiting, {(1, WHOLE): 2}) == [early, later]
    assert await db.read(longest_waiting, {(1, WHOLE): 9, (1, 0): 9, (1, 1): 9}) == [early, later, late, shard]


async def test_a_whole_run_covers_every_shard_and_a_shard_its_own(db: Database) -> None:
    shards = [await open_one(db, f"s{index}", shard_index=index, shard_total=2) for index in range(2)]
    whole = await open_one(db, "whole")
    await waits(db, *shards, whole)
    last = await db.read(execution, await open_one(db, "last"))
    assert await covered(db, last) == [*shards, whole]
    shard = await db.read(execution, await open_one(db, "shard", shard_index=1, shard_total=2))
    assert await covered(db, shard) == [shards[1], whole]


async def covered(db: Database, one: Execution) -> list[int]:
    return [each.id for each in await db.tx(covered_by, one)]


def _end_unconfirmed(connection: Connection, one: Execution) -> None:
    end_executions(connection, [success(one.id)], NOW)
    note_unconfirmed(connection, [one], NOW)
    connection.execute(update(executions).where(executions.c.id == one.id).values(executor_address=AT))
