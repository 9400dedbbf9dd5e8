"""What a definition may refer to, also when two people write at the same moment."""

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest
import sqlalchemy as sa

from orth.coordinator.defining import define, define_group, edit, remove_job
from orth.coordinator.references import check_references
from orth.domain.jobs import AddressType, Group, Job
from orth.errors import Conflict, Invalid
from orth.store.database import Connection, Database, open_database
from orth.store.jobs import get_job, hold_job, parents_of, sub_tasks_of
from orth.store.tables import jobs
from tests.store.builders import NOW

names = itertools.count()


@pytest.fixture
def db(race_url: str) -> Iterator[Database]:
    with open_database(race_url, size=4) as opened:
        yield opened


async def stored_jobs(db: Database, count: int) -> list[int]:
    group = await db.tx(define_group, Group(0, f"refs-{next(names)}", "r", AddressType.AUTO, ()), NOW)
    job = Job(id=0, job_group=group, job_desc="j", executor_handler="h")
    return [await db.tx(define, job, NOW, True) for _ in range(count)]


def change(connection: Connection, job_id: int, **fields: object) -> None:
    stored = hold_job(connection, job_id)
    edit(connection, stored, replace(stored, **fields), NOW, True)  # type: ignore[arg-type]  # fields of Job


async def test_a_ring_is_refused_and_shown(db: Database) -> None:
    a, b, c = await stored_jobs(db, 3)
    await db.tx(change, a, child_job_ids=(b,))
    await db.tx(change, b, child_job_ids=(c,))
    with pytest.raises(Invalid, match=f"for ever: {c} → {a} → {b} → {c}"):
        await db.tx(change, c, child_job_ids=(a,))
    with pytest.raises(Invalid, match="cannot follow itself"):
        await db.tx(change, c, child_job_ids=(c,))
    assert (await db.read(get_job, c)).child_job_ids == ()


async def test_two_ways_to_one_child_are_no_ring(db: Database) -> None:
    a, b, c, d = await stored_jobs(db, 4)
    await db.tx(change, b, child_job_ids=(d,))
    await db.tx(change, c, child_job_ids=(d,))
    await db.tx(change, a, child_job_ids=(b, c))
    assert await db.read(parents_of, d) == [b, c]


async def test_an_unknown_child_is_refused_but_an_old_one_does_not_stop_other_edits(db: Database) -> None:
    a, b = await stored_jobs(db, 2)
    with pytest.raises(Invalid, match="There is no job 999999"):
        await db.tx(change, a, child_job_ids=(b, 999_999))
    await db.tx(change, a, child_job_ids=(b,))
    await db.tx(_forget, b)
    await db.tx(change, a, job_desc="renamed")
    assert (await db.read(get_job, a)).job_desc == "renamed"


def _forget(connection: Connection, job_id: int) -> None:
    connection.execute(sa.delete(jobs).where(jobs.c.id == job_id))


async def test_parents_are_found_by_the_whole_number(db: Database) -> None:
    ids = await stored_jobs(db, 12)
    await db.tx(change, ids[0], child_job_ids=(ids[11],))
    assert await db.read(parents_of, ids[11]) == [ids[0]]
    shorter = int(str(ids[11])[:-1] or 0)
    assert ids[0] not in await db.read(parents_of, shorter)


async def test_super_tasks_have_one_level(db: Database) -> None:
    top, middle, below = await stored_jobs(db, 3)
    await db.tx(change, middle, super_task_id=top)
    with pytest.raises(Invalid, match=f"Job {middle} runs the handler of job {top} itself"):
        await db.tx(change, below, super_task_id=middle)
    with pytest.raises(Invalid, match=f"Job {middle} runs the handler of this one"):
        await db.tx(change, top, super_task_id=below)
    with pytest.raises(Invalid, match="There is no job 999999"):
        await db.tx(change, below, super_task_id=999_999)
    with pytest.raises(Invalid, match="no handler of its own"):
        await db.tx(change, below, executor_handler="", super_task_id=below)
    assert await db.read(sub_tasks_of, top) == [middle]


async def test_what_others_need_is_not_deleted(db: Database) -> None:
    above, below, parent = await stored_jobs(db, 3)
    await db.tx(change, below, super_task_id=above)
    await db.tx(change, parent, child_job_ids=(below,))
    with pytest.raises(Conflict, match=f"job {below} runs its handler"):
        await db.tx(remove_job, above, NOW)
    with pytest.raises(Conflict, match=f"job {parent} is followed by it"):
        await db.tx(remove_job, below, NOW)
    for job_id in (parent, below, above):
        await db.tx(remove_job, job_id, NOW)


async def attempt(db: Database, job_id: int, **fields: object) -> bool:
    try:
        await db.tx(change, job_id, **fields)
    except Invalid:
        return False
    return True


@pytest.mark.parametrize("length", [2, 4])
async def test_a_ring_cannot_be_closed_from_two_sides_at_once(race_url: str, db: Database, length: int) -> None:
    """Every second link is there; the missing ones are written at the same moment, and one must lose."""
    with open_database(race_url, size=4) as other:
        for _ in range(4):
            ids = await stored_jobs(db, length)
            links = list(zip(ids, ids[1:] + ids[:1], strict=True))
            for job_id, child in links[1::2] if length > 2 else []:
                await db.tx(change, job_id, child_job_ids=(child,))
            missing = links[::2] if length > 2 else links
            done = await asyncio.gather(
                *(
                    attempt((db, other)[n % 2], job_id, child_job_ids=(child,))
                    for n, (job_id, child) in enumerate(missing)
                )
            )
            assert done.count(True) == len(missing) - 1


async def test_a_super_task_cannot_be_deleted_while_it_is_being_named(race_url: str, db: Database) -> None:
    with open_database(race_url, size=4) as other:
        for _ in range(6):
            above, below = await stored_jobs(db, 2)
            named, removed = await asyncio.gather(attempt(db, below, super_task_id=above), _removed(other, above))
            assert named != removed


async def _removed(db: Database, job_id: int) -> bool:
    try:
        await db.tx(remove_job, job_id, NOW)
    except Conflict:
        return False
    return True


async def test_a_new_job_is_checked_too(db: Database) -> None:
    (job_id,) = await stored_jobs(db, 1)
    new = Job(id=0, job_group=(await db.read(get_job, job_id)).job_group, job_desc="n", super_task_id=job_id)
    await db.tx(check_references, new)
    with pytest.raises(Invalid, match="no handler of its own"):
        await db.tx(check_references, Job(id=0, job_group=1, job_desc="n"))
