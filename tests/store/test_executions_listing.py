"""Finding executions: every filter alone and together, page by page, newest first."""

import itertools

import pytest
from sqlalchemy import Connection

from orth.domain.executions import FAILURE, SUCCESS, TIMED_OUT, Execution, Status
from orth.store.database import Database
from orth.store.dispatching import record_accepted, record_unknown, take_due
from orth.store.executions import Ending, end_executions, list_executions, open_executions
from tests.store.builders import NOW, an_opening, assign, execution, open_some

JOBS = (1, 2)
INSTANTS = (NOW - 2000, NOW - 1000, NOW)


def some_of_every_status(connection: Connection) -> list[Execution]:
    """Seven executions of each of two jobs at each of three instants, in every status; newest first."""
    for job, at in itertools.product(JOBS, INSTANTS):
        openings = [an_opening(f"fire:{at}:{number}", job_id=job) for number in range(7)]
        open_executions(connection, openings, at)
        ids = [one.id for one in take_due(connection, NOW, 7)]
        assign(connection, *ids)
        record_unknown(connection, [(ids[0], "lost")], at)
        record_accepted(connection, [ids[2], *ids[4:]], at)
        endings = [
            Ending(execution_id=ids[3], trigger_code=FAILURE),
            Ending(execution_id=ids[4], trigger_code=SUCCESS, handle_code=SUCCESS),
            Ending(execution_id=ids[5], trigger_code=SUCCESS, handle_code=TIMED_OUT),
            Ending(execution_id=ids[6], trigger_code=SUCCESS, handle_code=404),
        ]
        end_executions(connection, endings, at)
    [opened] = open_some(connection, 1, prefix="waiting")
    return [execution(connection, number) for number in range(opened, opened - 43, -1)]


async def test_each_filter_finds_what_it_says(db: Database) -> None:
    everything = await db.tx(some_of_every_status)
    assert {one.status for one in everything} == set(Status)
    for status, job, since in itertools.product((None, *Status), (None, 2, 3), (None, NOW, NOW + 1)):
        found = await db.read(list_executions, before=None, limit=100, job_id=job, status=status, since=since)
        assert found == [
            one
            for one in everything
            if (job is None or one.job_id == job)
            and (since is None or one.trigger_time >= since)
            and (status is None or one.status is status)
        ]


@pytest.mark.parametrize("size", [5, 43, 100])
async def test_pages_join_to_the_whole_even_while_new_ones_come(db: Database, size: int) -> None:
    everything = await db.tx(some_of_every_status)
    pages: list[Execution] = []
    before = None
    while page := await db.read(list_executions, before=before, limit=size):
        assert len(page) <= size
        pages += page
        before = page[-1].id
        await db.tx(open_some, 1, prefix=f"new:{before}")
    assert pages == everything


async def test_pages_of_one_job_and_status_join_too(db: Database) -> None:
    everything = await db.tx(some_of_every_status)
    wanted = [one.id for one in everything if one.job_id == 2 and one.status is Status.PENDING]
    first = await db.read(list_executions, before=None, limit=2, job_id=2, status=Status.PENDING)
    rest = await db.read(list_executions, before=first[-1].id, limit=9, job_id=2, status=Status.PENDING)
    assert [one.id for one in first + rest] == wanted
    assert len(wanted) == 3
