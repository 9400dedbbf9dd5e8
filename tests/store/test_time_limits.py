"""Which executions are watched for their time limit."""

from dataclasses import replace

from orth.domain.jobs import TriggerCause
from orth.store.database import Connection, Database
from orth.store.dispatching import record_accepted, take_ahead, take_due
from orth.store.executions import end_executions, open_executions
from orth.store.time_limits import Limited, list_limited
from tests.store.builders import NOW, an_opening, assign, open_some, stored_job, success


def listed(connection: Connection) -> list[Limited]:
    return list(list_limited(connection))


async def test_what_was_sent_of_jobs_with_a_limit_is_watched(db: Database) -> None:
    limited, unlimited = await stored_job(db, executor_timeout=30), await stored_job(db)
    unsent, sent, taken, ended = await db.tx(open_some, 4, job_id=limited)
    others = await db.tx(open_some, 1, job_id=unlimited)
    await db.tx(assign, sent, taken, ended, *others)
    await db.tx(record_accepted, [taken, *others], NOW + 5)
    await db.tx(end_executions, [success(ended)], NOW)
    found = await db.read(listed)
    assert [(one.id, one.taken, one.sent_at) for one in found] == [(sent, False, NOW), (taken, True, NOW + 5)]
    assert {(one.timeout, one.job_id, one.ours, one.address, one.concurrency) for one in found} == {
        (30, limited, True, "http://10.0.0.1:9999", 1)
    }
    assert unsent not in {one.id for one in found}


async def test_more_than_a_page_is_watched(db: Database) -> None:
    job_id = await stored_job(db, executor_timeout=1)
    ids = await db.tx(open_some, 1001, job_id=job_id)
    await db.tx(assign, *ids)
    assert [one.id for one in await db.read(listed)] == ids


async def test_the_next_attempt_is_not_taken_ahead_of_its_time(db: Database) -> None:
    later = an_opening("fire:9", not_before=NOW + 5_000)
    again = replace(later, trigger_key="retry:7", cause=TriggerCause.RETRY)
    await db.tx(open_executions, [later, again], NOW)
    assert [one.trigger_key for one in await db.tx(take_ahead, NOW, 0, 10)] == ["fire:9"]
    assert await db.tx(take_due, NOW + 4_999, 10) == []
    assert {one.trigger_key for one in await db.tx(take_due, NOW + 5_000, 10)} == {"fire:9", "retry:7"}
