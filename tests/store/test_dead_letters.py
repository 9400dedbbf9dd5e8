"""Dead letters: kept once, settled once."""

import asyncio
from dataclasses import replace

import pytest

from orth.domain.executions import FAILURE, SUCCESS, TIMED_OUT, Status
from orth.store.database import Connection, Database
from orth.store.dead_letters import (
    LetterFilter,
    LetterState,
    add_dead_letters,
    drop_letters,
    find_waiting,
    hold_waiting,
    list_dead_letters,
    mark_replayed,
)
from orth.store.executions import Ending, end_executions
from tests.store.builders import NOW, assign, execution, on_servers, open_some, until_blocked

ALL = LetterFilter()


def failed(connection: Connection, count: int, *, now: int = NOW, code: int = FAILURE, job_id: int = 1) -> list[int]:
    """Executions that failed for good at ``now``."""
    ids = open_some(connection, count, prefix=f"at:{now}:{code}", job_id=job_id)
    assign(connection, *ids)
    endings = [Ending(execution_id=one, trigger_code=SUCCESS, handle_code=code, handle_msg="no\nwhy") for one in ids]
    add_dead_letters(connection, end_executions(connection, endings, now), now)
    return ids


async def test_letters_are_listed_newest_first_and_found_by_what_they_are(db: Database) -> None:
    first, second = await db.tx(failed, 2)
    late = (await db.tx(failed, 1, now=NOW + 10, code=TIMED_OUT, job_id=2))[0]
    rows = await db.read(list_dead_letters, ALL, limit=10)
    assert [row.execution_id for row in rows] == [late, second, first]
    assert (rows[0].status, rows[0].ended_at, rows[0].message, rows[0].state) == (
        Status.TIMEOUT,
        NOW + 10,
        "no",
        LetterState.WAITING,
    )

    async def found(**asked: object) -> list[int]:
        wanted = replace(ALL, **asked)  # type: ignore[arg-type]
        return [row.execution_id for row in await db.read(list_dead_letters, wanted, limit=10)]

    assert await found(job_id=2) == [late]
    assert await found(job_group=1) == [late, second, first]
    assert await found(status=Status.FAILED) == [second, first]
    assert await found(since=NOW + 10) == [late]
    assert await found(until=NOW + 10) == [second, first]
    assert await found(reason_code="killed") == []
    assert [row.execution_id for row in await db.read(list_dead_letters, ALL, before=late, limit=1)] == [second]
    assert await db.read(find_waiting, ALL, 2) == ([first, second], 1)
    assert await db.read(find_waiting, ALL, 2, [second, 404]) == ([second], 0)


async def test_a_letter_is_kept_once(db: Database) -> None:
    (one,) = await db.tx(failed, 1)
    await db.tx(mark_replayed, [(one, 77)])
    await db.tx(add_dead_letters, [await db.read(execution, one)], NOW + 5)
    rows = await db.read(list_dead_letters, ALL, limit=10)
    assert [(row.replayed_by, row.state, row.ended_at) for row in rows] == [(77, LetterState.REPLAYED, NOW)]


async def test_a_letter_is_settled_by_whoever_is_first(db: Database) -> None:
    replayed, dropped, waiting = await db.tx(failed, 3)
    await db.tx(mark_replayed, [(replayed, 70)])
    assert await db.tx(drop_letters, [replayed, dropped], "admin") == [dropped]
    await db.tx(mark_replayed, [(replayed, 71), (dropped, 72)])
    assert await db.tx(drop_letters, [replayed, dropped], "somebody") == []
    rows = await db.read(list_dead_letters, ALL, limit=10)
    assert [(row.execution_id, row.replayed_by, row.dropped_by) for row in rows] == [
        (waiting, None, None),
        (dropped, None, "admin"),
        (replayed, 70, None),
    ]
    for state, one in zip(LetterState, (waiting, replayed, dropped), strict=True):
        rows = await db.read(list_dead_letters, ALL, state=state, limit=10)
        assert [(row.execution_id, row.state) for row in rows] == [(one, state)]
    assert await db.read(hold_waiting, [replayed, dropped, waiting]) == [waiting]


async def test_more_than_one_statement_takes(db: Database) -> None:
    ids = await db.tx(failed, 501)
    assert await db.tx(drop_letters, ids, "admin") == ids
    assert await db.read(find_waiting, ALL, 1000) == ([], 0)


@on_servers
async def test_of_two_who_settle_a_letter_the_second_waits_and_finds_it_settled(db: Database, peer: Database) -> None:
    (one,) = await db.tx(failed, 1)
    with db.engine.begin() as holder:
        assert hold_waiting(holder, [one]) == [one]
        other = asyncio.create_task(peer.tx(drop_letters, [one], "admin"))
        await until_blocked(db)
        mark_replayed(holder, [(one, 70)])
    assert await other == []


@pytest.mark.parametrize("count", [0, 1])
async def test_nothing_is_a_set_too(db: Database, count: int) -> None:
    ids = (await db.tx(failed, 1))[:count]
    await db.tx(add_dead_letters, [], NOW)
    await db.tx(mark_replayed, [])
    assert await db.tx(drop_letters, ids, "admin") == ids
