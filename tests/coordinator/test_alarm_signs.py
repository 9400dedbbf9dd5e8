"""Signs that ends leave: whom they concern, and what noting them costs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

import pytest
from sqlalchemy import Connection, event

from orth.coordinator.alarm_signs import note_ends
from orth.domain import reasons
from orth.domain.alarms import SignKind, Standing
from orth.domain.executions import FAILURE, SUCCESS, Execution, Phase
from orth.domain.jobs import Job, TriggerCause
from orth.store.alarms import keep_standings, noted_signs
from orth.store.database import Database, open_database
from tests.store.builders import NOW

_ids = count(1_000_000)


@dataclass(frozen=True)
class End:
    execution: Execution
    job: Job | None


def end(job_id: int, code: int = FAILURE, *, policy: str | None = None, **changes: object) -> End:
    execution = Execution(
        id=next(_ids),
        job_id=job_id,
        job_group=1,
        cause=TriggerCause.CRON,
        trigger_code=SUCCESS,
        handle_code=code,
        phase=Phase.ENDED,
        schedule_time=None,
        trigger_time=NOW,
    )
    return End(replace(execution, **changes), Job(id=job_id, job_group=1, job_desc="x", alarm_policy=policy))  # type: ignore[arg-type]  # fields of Execution


@pytest.fixture
def db(race_url: str) -> Iterator[Database]:
    with open_database(race_url) as db:
        yield db


async def signs_of(db: Database, job_id: int) -> list[tuple[int, SignKind]]:
    return [(sign.execution_id, sign.kind) for sign in await db.read(noted_signs, job_id, 100)]


async def test_only_what_failed_for_good_concerns_somebody(db: Database) -> None:
    job_id = next(_ids)
    given_up, retried, fine = end(job_id), end(job_id), end(job_id, SUCCESS)
    await db.tx(note_ends, [given_up, retried, fine], {given_up.execution.id}, NOW)
    assert await signs_of(db, job_id) == [(given_up.execution.id, SignKind.FAILURE)]


async def test_a_job_may_ask_for_each_failure(db: Database) -> None:
    job_id = next(_ids)
    retried = end(job_id, policy='{"each": true}')
    await db.tx(note_ends, [retried], set(), NOW)
    assert await signs_of(db, job_id) == [(retried.execution.id, SignKind.FAILURE)]


@pytest.mark.parametrize(
    "reason",
    [reasons.KILLED, reasons.DISCARDED, reasons.JOB_STOPPED, reasons.JOB_CHANGED, reasons.DELETED],
)
async def test_what_was_wanted_concerns_nobody(db: Database, reason: str) -> None:
    job_id = next(_ids)
    killed = end(job_id, policy='{"each": true}', reason_code=reason)
    await db.tx(note_ends, [killed], {killed.execution.id}, NOW)
    assert await signs_of(db, job_id) == []


async def test_a_success_counts_where_a_failure_was_before(db: Database) -> None:
    standing, noted, well = next(_ids), next(_ids), next(_ids)
    await db.tx(keep_standings, {standing: Standing(standing, 1, NOW, NOW, 1)})
    failed = end(noted)
    await db.tx(note_ends, [failed], {failed.execution.id}, NOW)
    ends = [end(one, SUCCESS) for one in (standing, noted, well)]
    await db.tx(note_ends, ends, set(), NOW)
    assert [kind for _, kind in await signs_of(db, standing)] == [SignKind.RESOLVED]
    assert [kind for _, kind in await signs_of(db, noted)] == [SignKind.FAILURE, SignKind.RESOLVED]
    assert await signs_of(db, well) == []


async def test_a_deleted_jobs_failure_is_noted_and_its_success_is_not(db: Database) -> None:
    job_id = next(_ids)
    failed, fine = replace(end(job_id), job=None), replace(end(next(_ids), SUCCESS), job=None)
    await db.tx(note_ends, [failed, fine], {failed.execution.id}, NOW)
    assert await signs_of(db, job_id) == [(failed.execution.id, SignKind.FAILURE)]


async def test_what_was_opened_in_a_group_that_the_job_has_left_says_nothing(db: Database) -> None:
    failing, well = next(_ids), next(_ids)
    await db.tx(keep_standings, {well: Standing(well, 1, NOW, NOW, 1, 1)})
    ends = [end(failing, job_group=7), end(well, SUCCESS, job_group=7)]
    await db.tx(note_ends, ends, {ends[0].execution.id}, NOW)
    assert await signs_of(db, failing) == await signs_of(db, well) == []


async def test_a_sign_is_of_the_group_of_its_execution(db: Database) -> None:
    job_id = next(_ids)
    failed = replace(end(job_id, job_group=7), job=None)
    await db.tx(note_ends, [failed], {failed.execution.id}, NOW)
    assert [sign.job_group for sign in await db.read(noted_signs, job_id, 9)] == [7]


async def test_a_batch_costs_two_statements_however_large(db: Database) -> None:
    ends = [end(next(_ids), SUCCESS if n % 2 else FAILURE) for n in range(300)]
    statements: list[str] = []

    def note(connection: Connection) -> None:
        event.listen(connection, "before_cursor_execute", lambda *given: statements.append(given[2]))
        note_ends(connection, ends, {one.execution.id for one in ends}, NOW)

    await db.tx(note)
    assert len(statements) == 2, statements
    statements.clear()
    await db.tx(note_ends, [], set(), NOW)
    assert statements == []
