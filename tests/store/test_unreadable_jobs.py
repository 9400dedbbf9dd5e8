"""Rows of jobs that this version cannot read: told apart, one by one, on every database."""

import pytest
from sqlalchemy import Connection, update

from orth.domain.jobs import Job
from orth.domain.schedules import LAST_INSTANT
from orth.errors import NotFound, Unreadable
from orth.store.database import Database
from orth.store.jobs import (
    UnreadableJob,
    check_exists,
    claim_due_jobs,
    get_job,
    hold_job,
    hold_referred,
    jobs_by_id,
    list_jobs,
    unreadable_jobs,
)
from orth.store.tables import jobs
from tests.store.builders import NOW, on_sqlite, stored_due_jobs

UNKNOWN = [
    ("schedule_type", "LUNAR"),
    ("dst_policy", "never"),
    ("misfire_strategy", "FIRE_SOME"),
    ("executor_route_strategy", "WEIGHTED"),
    ("executor_block_strategy", "WAIT"),
    ("glue_type", "GLUE_RUBY"),
    ("child_jobid", "1,x"),
    ("child_jobid", "0"),
    ("child_jobid", str(2**63)),
    ("trigger_next_time", LAST_INSTANT + 1),
    ("trigger_next_time", -1),
    ("trigger_last_time", 999_999_999_999_999),
]


def write(connection: Connection, job_id: int, column: str, value: object) -> None:
    """Write what no verb of the store would."""
    connection.execute(update(jobs).where(jobs.c.id == job_id).values({column: value}))


@pytest.mark.parametrize(("column", "value"), UNKNOWN)
async def test_a_list_tells_the_one_that_cannot_be_read_from_the_others(
    db: Database, column: str, value: object
) -> None:
    before, bad, after = ids = await stored_due_jobs(db, NOW - 2, NOW - 1, NOW)
    await db.tx(write, bad, column, value)
    for listed in (await db.read(list_jobs, 0, 10), await db.tx(claim_due_jobs, NOW, 10)):
        assert [type(one) for one in listed] == [Job, UnreadableJob, Job]
        assert [one.id for one in listed] == ids
        told = listed[1]
        assert isinstance(told, UnreadableJob)
        assert told.reason == f"{column} is {str(value)!r}"
        assert 0 <= told.trigger_next_time <= LAST_INSTANT
        assert (told.version, told.job_desc, told.trigger_status) == (1, "nightly", True)
    assert set(await db.read(jobs_by_id, ids)) == {before, after}
    assert await db.read(unreadable_jobs, ids) == {bad: f"{column} is {str(value)!r}"}


async def test_whoever_asks_for_that_one_is_told(db: Database) -> None:
    (bad,) = await stored_due_jobs(db, NOW)
    await db.tx(write, bad, "misfire_strategy", "FIRE_SOME")
    for verb in (get_job, hold_job):
        with pytest.raises(Unreadable, match=f"Job {bad} cannot be read: misfire_strategy is 'FIRE_SOME'"):
            await db.tx(verb, bad)
    with pytest.raises(Unreadable):
        await db.tx(hold_referred, [bad])
    await db.read(check_exists, bad)
    with pytest.raises(NotFound):
        await db.read(check_exists, bad + 1)


@on_sqlite
@pytest.mark.parametrize("column", ["jitter", "executor_timeout", "version", "trigger_next_time", "lost_after"])
async def test_a_text_where_a_number_belongs_cannot_be_read(db: Database, column: str) -> None:
    """SQLite lets it in; the others do not."""
    (bad,) = await stored_due_jobs(db, NOW)
    with db.engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE orth_job_info SET {column} = 'many' WHERE id = ?", (bad,))
    assert await db.read(unreadable_jobs, [bad]) == {bad: f"{column} is 'many'"}
