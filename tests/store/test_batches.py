"""Batches as rows: one per key, and what is counted of their executions."""

from dataclasses import replace

import pytest

from orth.domain.batches import BatchState
from orth.domain.executions import FAILURE, SUCCESS
from orth.domain.jobs import TriggerCause
from orth.errors import NotFound
from orth.store.batches import (
    NewBatch,
    Progress,
    advance_batch,
    batch_of_key,
    done_instants,
    end_batch,
    get_batch,
    has_running_batch,
    hold_batch,
    list_batches,
    open_instants,
    progress_of,
    running_batches,
    store_batch,
)
from orth.store.database import Database
from orth.store.executions import Ending, end_executions, ids_of_trigger, open_executions
from tests.store.builders import NOW, an_opening

NEW = NewBatch(
    job_id=1,
    job_group=5,
    trigger_key="key:a",
    request_digest="d",
    start_time=100,
    end_time=200,
    total=10,
    at_once=2,
    executor_param="p",
    addresses=("http://10.0.0.1:9999", "http://10.0.0.2:9999"),
    skip_done=True,
    timing="t",
    actor="admin",
)


async def stored(db: Database, **changes: object) -> int:
    new = replace(NEW, **changes)  # type: ignore[arg-type]  # fields of NewBatch
    await db.tx(store_batch, new, NOW)
    found = await db.read(batch_of_key, new.job_id, new.trigger_key)
    assert found is not None
    return found[0].id


async def test_a_batch_comes_back_as_it_was_asked_for(db: Database) -> None:
    batch = await db.read(get_batch, await stored(db))
    assert (batch.start_time, batch.next_time, batch.end_time) == (100, 100, 200)
    assert (batch.total, batch.opened, batch.at_once, batch.job_group) == (10, 0, 2, 5)
    assert (batch.executor_param, batch.addresses, batch.skip_done) == ("p", NEW.addresses, True)
    assert (batch.state, batch.reason, batch.actor, batch.timing) == (BatchState.RUNNING, "", "admin", "t")
    bare = await db.read(get_batch, await stored(db, trigger_key="key:b", executor_param=None, addresses=()))
    assert (bare.executor_param, bare.addresses) == (None, ())
    with pytest.raises(NotFound):
        await db.tx(hold_batch, batch.id + 99)


async def test_the_same_key_is_the_same_batch(db: Database, peer: Database) -> None:
    first = await stored(db)
    assert await stored(peer, total=77) == first
    assert (await db.read(get_batch, first)).total == 10
    assert await stored(db, job_id=2) != first
    found = await db.read(batch_of_key, 1, "key:a")
    assert found is not None
    assert found[1] == "d"
    assert await db.read(batch_of_key, 1, "key:z") is None


async def test_progress_and_end(db: Database) -> None:
    first, second = await stored(db), await stored(db, trigger_key="key:b", job_id=2)
    await db.tx(advance_batch, first, 150, 4, NOW + 1)
    await db.tx(advance_batch, first, 200, 3, NOW + 2)
    batch = await db.read(get_batch, first)
    assert (batch.next_time, batch.opened, batch.changed_at) == (200, 7, NOW + 2)
    assert await db.read(running_batches, 10) == [first, second]
    assert await db.read(has_running_batch, 1)
    await db.tx(end_batch, first, BatchState.DONE, "", NOW + 3)
    await db.tx(end_batch, second, BatchState.CANCELLED, "r" * 999, NOW + 3)
    done, cancelled = await db.read(get_batch, first), await db.read(get_batch, second)
    assert (done.state, done.total) == (BatchState.DONE, 7)
    assert (cancelled.total, len(cancelled.reason)) == (10, 255)
    assert await db.read(running_batches, 10) == []
    assert not await db.read(has_running_batch, 1)


async def test_lists_are_newest_first_and_can_be_narrowed(db: Database) -> None:
    ids = [await stored(db, trigger_key=f"key:{n}", job_id=1 + n % 2) for n in range(4)]
    await db.tx(end_batch, ids[0], BatchState.DONE, "", NOW)

    async def listed(**asked: object) -> list[int]:
        found = await db.read(list_batches, **{"before": None, "limit": 10, **asked})  # type: ignore[arg-type]
        return [batch.id for batch in found]

    assert await listed() == ids[::-1]
    assert await listed(before=ids[2], limit=1) == [ids[1]]
    assert await listed(job_id=1) == [ids[2], ids[0]]
    assert await listed(state=BatchState.DONE) == [ids[0]]


async def test_executions_are_counted_by_how_they_ended_for_good(db: Database) -> None:
    openings = [an_opening(f"batch:1:{n}", schedule_time=n, batch_id=1) for n in range(4)]
    openings += [an_opening("batch:1:9", schedule_time=9, batch_id=1, shard_index=n, shard_total=3) for n in range(3)]
    openings += [an_opening("batch:2:0", schedule_time=0, batch_id=2), an_opening("fire:0", schedule_time=0)]
    await db.tx(open_executions, openings, NOW)
    ids = [(await db.read(ids_of_trigger, 1, f"batch:1:{n}"))[0] for n in range(4)]
    endings = [(ids[0], SUCCESS), (ids[1], FAILURE), (ids[2], FAILURE)]
    await db.tx(end_executions, [Ending(execution_id=i, trigger_code=SUCCESS, handle_code=c) for i, c in endings], NOW)
    again = an_opening(f"retry:{ids[1]}", schedule_time=1, batch_id=1, cause=TriggerCause.RETRY)
    await db.tx(open_executions, [again], NOW)
    # 3, the retry of 1 and three shards of 9 are open; 0 succeeded; 2 failed for good.
    assert await db.read(progress_of, [1, 2, 3]) == {1: Progress(5, 1, 1), 2: Progress(1, 0, 0)}
    assert await db.read(open_instants, 1) == 3
    assert await db.read(progress_of, []) == {}


async def test_an_instant_is_done_when_it_succeeded_or_runs(db: Database) -> None:
    openings = [an_opening(f"fire:{n}", schedule_time=n) for n in (10, 20, 30, 40)]
    openings += [
        an_opening("parent:1", schedule_time=15, cause=TriggerCause.PARENT),
        an_opening("key:k", schedule_time=None),
        an_opening("fire:50", schedule_time=35, job_id=2),
    ]
    await db.tx(open_executions, openings, NOW)
    for instant, code in ((10, SUCCESS), (20, FAILURE), (40, SUCCESS)):
        (one,) = await db.read(ids_of_trigger, 1, f"fire:{instant}")
        await db.tx(end_executions, [Ending(execution_id=one, trigger_code=SUCCESS, handle_code=code)], NOW)
    assert await db.read(done_instants, 1, 1, 10, 40) == {10, 30}
    assert await db.read(done_instants, 1, 1, 11, 41) == {30, 40}
    assert await db.read(done_instants, 1, 2, 10, 41) == set(), "what was done in another group does not count"
