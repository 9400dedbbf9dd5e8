"""Jobs: definitions with versions, and where each stands in its schedule."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection

from orth.domain.jobs import (
    BlockStrategy,
    DstPolicy,
    GlueType,
    Job,
    MisfireStrategy,
    RouteStrategy,
    ScheduleType,
)
from orth.errors import Conflict, NotFound
from orth.store.database import Database
from orth.store.executions import end_executions
from orth.store.jobs import (
    Move,
    Upcoming,
    claim_due_jobs,
    create_job,
    delete_job,
    get_job,
    hold_job,
    jobs_by_id,
    list_jobs,
    move_jobs,
    replace_job,
    upcoming_jobs,
    wait_again,
)
from tests.store.builders import (
    NOW,
    a_due_job,
    a_job,
    on_servers,
    open_some,
    stored_due_jobs,
    stored_group,
    stored_job,
    success,
    until_blocked,
)


async def test_every_field_of_a_job_comes_back(db: Database) -> None:
    job = Job(
        id=0,
        job_group=await stored_group(db),
        job_desc="Bericht 日報 🚀",
        version=7,
        author="ada",
        schedule_type=ScheduleType.CRON,
        schedule_conf="0 0 8 ? * MON-FRI",
        timezone="Europe/Berlin",
        dst_policy=DstPolicy.WALL,
        jitter=5000,
        calendar_id=3,
        misfire_strategy=MisfireStrategy.FIRE_ALL,
        executor_route_strategy=RouteStrategy.CONSISTENT_HASH,
        executor_handler="report",
        executor_param="p" * 70_000,
        executor_block_strategy=BlockStrategy.COVER_EARLY,
        executor_concurrency=3,
        executor_timeout=60,
        executor_fail_retry_count=2,
        glue_type=GlueType.GLUE_PYTHON,
        glue_source="print('🚀')\n" * 10_000,
        glue_updatetime=NOW,
        child_job_ids=(4, 5),
        trigger_status=True,
        trigger_last_time=NOW - 1,
        trigger_next_time=NOW + 1,
        due_time=NOW + 2,
    )
    number = await db.tx(create_job, job, NOW)
    assert await db.read(get_job, number) == replace(job, id=number)


async def test_a_job_needs_a_group(db: Database) -> None:
    with pytest.raises(NotFound, match="no group 404"):
        await db.tx(create_job, a_job(404), NOW)
    number = await stored_job(db)
    with pytest.raises(NotFound, match="no group 404"):
        await db.tx(replace_job, replace(await db.read(get_job, number), job_group=404), NOW)


async def test_what_does_not_exist_is_not_found(db: Database) -> None:
    group = await stored_group(db)
    for call in (
        db.read(get_job, 404),
        db.tx(hold_job, 404),
        db.tx(replace_job, a_job(group, id=404), NOW),
        db.tx(delete_job, 404),
    ):
        with pytest.raises(NotFound, match="no job 404"):
            await call
    assert await db.read(jobs_by_id, [404]) == {}


async def test_jobs_are_listed_by_id_page_by_page_and_by_group(db: Database) -> None:
    one, other = await stored_group(db, "one"), await stored_group(db, "other")
    ids = [await db.tx(create_job, a_job(group), NOW) for group in (one, other, one, one)]
    first = await db.read(list_jobs, 0, 3)
    assert [job.id for job in first] == ids[:3]
    assert [job.id for job in await db.read(list_jobs, first[-1].id, 3)] == ids[3:]
    assert [job.id for job in await db.read(list_jobs, 0, 2, one)] == [ids[0], ids[2]]
    assert sorted(await db.read(jobs_by_id, ids[:2])) == ids[:2]


# --- editing ---


async def test_an_edit_is_stored_one_version_on(db: Database) -> None:
    stored = await db.read(get_job, await stored_job(db))
    edited = await db.tx(replace_job, replace(stored, job_desc="weekly"), NOW + 1)
    assert edited == replace(stored, job_desc="weekly", version=stored.version + 1)
    assert await db.read(get_job, stored.id) == edited


async def test_an_edit_of_an_old_version_is_refused(db: Database) -> None:
    stored = await db.read(get_job, await stored_job(db))
    edited = await db.tx(replace_job, replace(stored, job_desc="weekly"), NOW)
    with pytest.raises(Conflict, match="changed by somebody else"):
        await db.tx(replace_job, replace(stored, job_desc="monthly"), NOW)
    assert await db.read(get_job, stored.id) == edited


async def test_an_edit_leaves_the_job_where_it_stands_unless_told(db: Database) -> None:
    [number] = await stored_due_jobs(db, NOW)
    read = await db.read(get_job, number)
    await db.tx(move_jobs, [Move(number, 1, NOW, NOW + 30_000, NOW + 30_000, running=True)])
    edited = await db.tx(replace_job, replace(read, author="ada"), NOW)
    assert (edited.author, edited.trigger_last_time, edited.due_time) == ("ada", NOW, NOW + 30_000)
    stopped = replace(edited, trigger_status=False, trigger_last_time=0, trigger_next_time=0, due_time=0)
    assert await db.tx(replace_job, stopped, NOW, standing=True) == replace(stopped, version=edited.version + 1)


@on_servers
async def test_a_job_that_is_held_is_not_changed_meanwhile(db: Database, peer: Database) -> None:
    number = await stored_job(db)
    with db.engine.begin() as holder:
        held = hold_job(holder, number)
        editing = asyncio.create_task(peer.tx(replace_job, replace(held, author="ada"), NOW))
        await until_blocked(db)
        assert get_job(holder, number) == held
    assert (await editing).author == "ada"


async def test_of_many_edits_of_one_version_one_is_stored(db: Database, peer: Database) -> None:
    stored = await db.read(get_job, await stored_job(db))
    edits = [node.tx(replace_job, replace(stored, author=f"{n}"), NOW) for n, node in enumerate((db, peer) * 3)]
    results = await asyncio.gather(*edits, return_exceptions=True)
    [winner] = [result for result in results if isinstance(result, Job)]
    assert sum(isinstance(result, Conflict) for result in results) == 5
    assert await db.read(get_job, stored.id) == winner


async def test_a_job_with_an_open_execution_stays(db: Database) -> None:
    number, other = await stored_job(db), await stored_job(db)
    [execution] = await db.tx(open_some, 1, job_id=number)
    with pytest.raises(Conflict, match="has not ended"):
        await db.tx(delete_job, number)
    await db.tx(delete_job, other)
    await db.tx(end_executions, [success(execution)], NOW)
    await db.tx(delete_job, number)
    assert await db.read(list_jobs, 0, 10) == []


# --- due jobs ---


def due_ids(connection: Connection, now: int, limit: int, ahead: int = 0) -> list[int]:
    return [job.id for job in claim_due_jobs(connection, now, limit, ahead)]


async def test_due_jobs_are_claimed_oldest_first_up_to_the_limit(db: Database) -> None:
    third, first, second, _later = await stored_due_jobs(db, NOW, NOW - 2000, NOW - 1, NOW + 1)
    assert await db.tx(due_ids, NOW, 10) == [first, second, third]
    assert await db.tx(due_ids, NOW, 2) == [first, second]
    assert await db.tx(due_ids, NOW - 3000, 10) == []


async def test_stopped_jobs_and_those_that_wait_for_something_else_are_never_due(db: Database) -> None:
    group = await stored_group(db)
    await db.tx(create_job, replace(a_due_job(group), trigger_status=False), NOW)
    await db.tx(create_job, replace(a_due_job(group), due_time=0), NOW)
    assert await db.tx(due_ids, NOW, 10) == []
    assert await db.read(upcoming_jobs, NOW) == Upcoming(None, None, None)
    await db.tx(create_job, a_due_job(group, NOW + 7), NOW)
    await db.tx(create_job, a_due_job(group, NOW + 5), NOW)
    assert await db.read(upcoming_jobs, NOW) == Upcoming(None, None, NOW + 5)
    assert await db.read(upcoming_jobs, NOW + 5) == Upcoming(NOW + 5, None, NOW + 7)


async def test_only_a_schedule_that_the_clock_decides_is_claimed_ahead(db: Database) -> None:
    group = await stored_group(db)
    rate = await db.tx(create_job, a_due_job(group, NOW + 300), NOW)
    cron = await db.tx(create_job, replace(a_due_job(group, NOW + 200), schedule_type=ScheduleType.CRON), NOW)
    delay = await db.tx(create_job, replace(a_due_job(group, NOW + 100), schedule_type=ScheduleType.FIX_DELAY), NOW)
    once = await db.tx(create_job, replace(a_due_job(group, NOW + 150), schedule_type=ScheduleType.AT), NOW)
    await db.tx(create_job, a_due_job(group, NOW + 501), NOW)
    assert await db.tx(due_ids, NOW, 10, 500) == [cron, rate]
    assert await db.read(upcoming_jobs, NOW, 500) == Upcoming(NOW + 200, NOW + 100, NOW + 501)
    assert await db.tx(due_ids, NOW + 150, 10, 100) == [delay, once, cron]


@on_servers
async def test_a_job_that_is_being_edited_is_left_for_the_next_pass(db: Database, peer: Database) -> None:
    ids = await stored_due_jobs(db, NOW - 3, NOW - 2, NOW - 1)
    with peer.engine.begin() as editor:
        replace_job(editor, replace(get_job(editor, ids[0]), author="ada"), NOW)
        async with asyncio.timeout(5):
            assert await db.tx(due_ids, NOW, 2) == ids[1:]
    assert await db.tx(due_ids, NOW, 10) == ids


@on_servers
async def test_two_planners_never_claim_the_same_job(db: Database, peer: Database) -> None:
    ids = await stored_due_jobs(db, *range(NOW - 6, NOW))
    with peer.engine.begin() as other:
        theirs = due_ids(other, NOW, 3)
        ours = await db.tx(due_ids, NOW, 10)
    assert sorted(theirs + ours) == ids
    assert len(theirs) == 3


async def test_a_move_advances_the_schedule(db: Database) -> None:
    going_on, ending = await stored_due_jobs(db, NOW, NOW)
    moves = [
        Move(going_on, 1, last_fire=NOW, next_fire=NOW + 30_000, due_time=NOW + 30_500, running=True),
        Move(ending, 1, last_fire=NOW, next_fire=0, due_time=0, running=False),
    ]
    await db.tx(move_jobs, moves)
    found = await db.read(jobs_by_id, [going_on, ending])
    jobs = [found[going_on], found[ending]]
    standing = [(j.trigger_last_time, j.trigger_next_time, j.due_time, j.trigger_status) for j in jobs]
    assert standing == [(NOW, NOW + 30_000, NOW + 30_500, True), (NOW, 0, 0, False)]
    await db.tx(move_jobs, [])


async def test_a_move_planned_with_another_version_is_ignored(db: Database) -> None:
    edited_id, other = await stored_due_jobs(db, NOW, NOW)
    moved = replace(await db.read(get_job, edited_id), due_time=NOW + 9)
    edited = await db.tx(replace_job, moved, NOW, standing=True)
    moves = [Move(number, 1, NOW, NOW + 1000, NOW + 1000, running=True) for number in (edited_id, other)]
    await db.tx(move_jobs, moves)
    assert await db.read(get_job, edited_id) == edited
    assert (await db.read(get_job, other)).due_time == NOW + 1000


# --- FIX_DELAY ---


def a_delayed_job(group: int, **changes: Any) -> Job:
    """One whose fire of ``NOW`` has been planned and is running."""
    waiting = replace(a_due_job(group, 0), schedule_type=ScheduleType.FIX_DELAY, trigger_last_time=NOW)
    return replace(waiting, **changes)


async def test_a_delay_begins_once_when_its_execution_has_ended(db: Database) -> None:
    number = await db.tx(create_job, a_delayed_job(await stored_group(db)), NOW)
    assert await db.tx(wait_again, number, NOW, NOW + 5000, NOW + 5000)
    assert not await db.tx(wait_again, number, NOW, NOW + 9000, NOW + 9000)
    job = await db.read(get_job, number)
    assert (job.trigger_next_time, job.due_time) == (NOW + 5000, NOW + 5000)


@pytest.mark.parametrize(
    "changes",
    [
        {"trigger_status": False},
        {"schedule_type": ScheduleType.FIX_RATE},
        {"trigger_last_time": NOW + 1},
        {"trigger_next_time": NOW + 1, "due_time": NOW + 1},
    ],
    ids=["stopped", "edited", "another fire", "waiting already"],
)
async def test_a_delay_does_not_begin_for_a_job_that_moved_on(db: Database, changes: dict[str, object]) -> None:
    stored = a_delayed_job(await stored_group(db), **changes)
    number = await db.tx(create_job, stored, NOW)
    assert not await db.tx(wait_again, number, NOW, NOW + 5000, NOW + 5000)
    assert await db.read(get_job, number) == replace(stored, id=number)
