"""What is done to many: found by filter, oldest first, with what is left; never done again twice."""

import asyncio
import time
from dataclasses import replace

import pytest

from orth.coordinator.replaying import look_for_failed
from orth.domain.executions import FAILURE, SUCCESS, Status
from orth.domain.jobs import TriggerCause
from orth.store.bulk import Failed, find_failed, find_open, hold_ended, hold_failed
from orth.store.database import Connection, Database
from orth.store.dead_letters import add_dead_letters, mark_replayed
from orth.store.execution_filters import Filter
from orth.store.executions import Ending, end_executions, open_executions
from tests.store.builders import NOW, an_opening, assign, on_servers, open_some, success, until_blocked


def some_failed(connection: Connection, count: int, job_id: int = 1) -> list[int]:
    ids = open_some(connection, count, prefix=f"job:{job_id}", job_id=job_id)
    assign(connection, *ids)
    endings = [Ending(execution_id=one, trigger_code=SUCCESS, handle_code=FAILURE) for one in ids]
    add_dead_letters(connection, end_executions(connection, endings, NOW), NOW)
    return ids


def tried_again(connection: Connection, execution_id: int, kind: str = "retry", job_id: int = 1) -> None:
    opening = an_opening(f"{kind}:{execution_id}", job_id=job_id)
    open_executions(connection, [replace(opening, cause=TriggerCause.RETRY, origin_id=execution_id)], NOW)


async def test_what_failed_and_was_not_tried_again_is_found(db: Database) -> None:
    first, retried, second, again, by_hand = await db.tx(some_failed, 5)
    (other,) = await db.tx(some_failed, 1, job_id=2)
    done, waiting = await db.tx(open_some, 2)
    await db.tx(assign, done)
    await db.tx(end_executions, [success(done)], NOW)
    await db.tx(tried_again, retried)
    await db.tx(tried_again, again, "again")
    await db.tx(tried_again, other, "retry", 3)  # the key of another job's
    await db.tx(mark_replayed, [(by_hand, 70)])
    assert await db.read(find_failed, Filter(), 10) == Failed([first, second, other], 0, None)
    assert await db.read(find_failed, Filter(), 2) == Failed([first, second], 1, second)
    assert await db.read(find_failed, Filter(), 2, second) == Failed([other], 0, None)
    assert await db.read(find_failed, Filter(job_id=1), 10) == Failed([first, second], 0, None)
    assert await db.read(find_failed, Filter(statuses=frozenset({Status.TIMEOUT})), 10) == Failed([], 0, None)
    went_wrong = frozenset({Status.TIMEOUT, Status.FAILED})
    assert await db.read(find_failed, Filter(statuses=went_wrong), 2) == Failed([first, second], 1, second)
    assert await db.read(find_failed, Filter(statuses=frozenset({Status.SUCCESS})), 10) == Failed([], 0, None)
    held = await db.tx(hold_failed, [waiting, other, by_hand, retried, second, 404])
    assert [one.id for one in held] == [second, other]
    assert [one.id for one in await db.tx(hold_ended, [waiting, retried, done])] == [retried, done]


async def test_what_is_open_is_found(db: Database) -> None:
    unsent, sent, ended = await db.tx(open_some, 3)
    await db.tx(assign, sent, ended)
    await db.tx(end_executions, [success(ended)], NOW)
    assert await db.read(find_open, Filter(job_id=1), 10) == ([unsent, sent], [])
    assert await db.read(find_open, Filter(job_id=1), 1) == ([unsent], [sent])
    assert await db.read(find_open, Filter(job_id=2), 1) == ([], [])


@on_servers
async def test_the_second_of_two_sees_what_the_first_has_opened(db: Database, peer: Database) -> None:
    (one,) = await db.tx(some_failed, 1)
    with db.engine.begin() as holder:
        assert [held.id for held in hold_failed(holder, [one])] == [one]
        other = asyncio.create_task(peer.tx(hold_failed, [one]))
        await until_blocked(db)
        tried_again(holder, one, "again")
    assert await other == []


async def test_many_are_looked_through_quickly_however_many_were_done_again(db: Database) -> None:
    ids = await db.tx(some_failed, 3000)
    again = [replace(an_opening(f"retry:{one}"), cause=TriggerCause.RETRY) for one in ids[:600]]
    await db.tx(open_executions, again, NOW)
    began = time.monotonic()
    assert await db.read(find_failed, Filter(job_id=1), 1000) == Failed(ids[600:1600], 1400, ids[1599])
    assert time.monotonic() - began < 4, "by their keys, not by reading the history for each"


async def test_a_long_history_is_looked_at_in_parts(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies behind more than one part is found by going on, and no part says that it was all."""
    monkeypatch.setattr("orth.store.bulk._LOOKED_AT", 1000)
    ids = await db.tx(some_failed, 2500)
    again = [replace(an_opening(f"retry:{one}"), cause=TriggerCause.RETRY) for one in ids[:2490]]
    await db.tx(open_executions, again, NOW)
    first = await db.read(find_failed, Filter(job_id=1), 10)
    assert first == Failed([], 0, ids[999])
    second = await db.read(find_failed, Filter(job_id=1), 10, ids[999])
    assert second == Failed([], 0, ids[1999])
    assert await db.read(find_failed, Filter(job_id=1), 4, ids[1999]) == Failed(ids[2490:2494], 6, ids[2493])
    assert await look_for_failed(db, Filter(job_id=1), 100, 0) == Failed(ids[2490:], 0, None)
    monkeypatch.setattr("orth.coordinator.replaying._PARTS", 2)
    assert await look_for_failed(db, Filter(job_id=1), 100, 0) == Failed([], 0, ids[1999])
