"""What was sent ahead of its fire and fails before it: the next attempt is not early, and none follows a recall."""

from dataclasses import replace

from orth.coordinator.broadcasts import EVERYBODY
from orth.coordinator.claiming import Outlook
from orth.coordinator.defining import stop_job
from orth.coordinator.finishing import finish
from orth.coordinator.letters import Answer, Letter, Outcome
from orth.coordinator.planning import PlannedRun
from orth.coordinator.settling import Office, claim, settle
from orth.coordinator.triggering import open_planned
from orth.domain import reasons
from orth.domain.executions import FAILURE, SUCCESS, Phase
from orth.domain.jobs import TriggerCause
from orth.store.database import Connection, Database, open_database
from orth.store.dispatching import take_ahead, take_due
from orth.store.executions import Ending
from orth.store.jobs import get_job
from orth.testing.stores import prepare_store
from tests.coordinator.ending_site import read_rows, set_up
from tests.store.builders import NOW

FIRE = NOW + 8_000


def _send_ahead(connection: Connection) -> tuple[int, Office, list[Letter]]:
    """A fire of the broadcasting job, both shards on their way to executors that hold them."""
    job_ids, term = set_up(connection, NOW)
    job = get_job(connection, job_ids[2])
    office = Office("node", term.epoch, 60_000, Outlook(EVERYBODY, lambda choices: 0))
    open_planned(connection, [(job, PlannedRun(FIRE, TriggerCause.FIXED_RATE, FIRE, FIRE))], NOW)
    return job.id, office, claim(connection, take_ahead(connection, NOW, 0, 9), office, NOW).letters


async def _refuse_and_lose(db: Database, office: Office, letters: list[Letter]) -> None:
    refused, taken = letters
    answers = [Answer(refused, Outcome.REFUSED, "no", reasons.REFUSED), Answer(taken, Outcome.TAKEN, "")]
    await db.tx(settle, answers, (), office, NOW + 2)
    lost = Ending(
        execution_id=taken.execution.id,
        trigger_code=SUCCESS,
        handle_code=FAILURE,
        reason_code=reasons.RESULT_LOST,
    )
    await db.tx(finish, [lost], NOW + 3)


async def test_the_next_attempt_at_what_was_sent_ahead_waits_for_the_fire(sqlite_url: str) -> None:
    prepare_store(sqlite_url)
    with open_database(sqlite_url) as db:
        _job_id, office, letters = await db.tx(_send_ahead)
        await _refuse_and_lose(db, office, letters)
        rows = await db.read(read_rows)
    retries = [row for row in rows.values() if row.cause == TriggerCause.RETRY]
    assert [row.not_before for row in retries] == [FIRE, FIRE]


async def test_what_could_not_be_sent_ahead_is_tried_again_when_it_is_due(sqlite_url: str) -> None:
    """Its executor may just be restarting; when it is due and nobody is there, it fails."""
    prepare_store(sqlite_url)
    with open_database(sqlite_url) as db:
        _job_id, office, letters = await db.tx(_send_ahead)
        unsent = [Answer(one, Outcome.NOT_SENT, "nobody listens", reasons.NOT_SENT) for one in letters]
        await db.tx(settle, unsent, (), office, NOW + 2)
        waiting = await db.read(read_rows)
        early = await db.tx(take_due, FIRE - 1, 9)
        due = await db.tx(lambda connection: claim(connection, take_due(connection, FIRE, 9), office, FIRE).letters)
        await db.tx(
            settle, [replace(one, letter=letter) for one, letter in zip(unsent, due, strict=True)], (), office, FIRE
        )
        failed = await db.read(read_rows)
    assert {(row.phase, row.reason_code) for row in waiting.values()} == {(Phase.OPENED, reasons.PLANNED)}
    assert early == []
    assert len(due) == 2
    ended = [row for row in failed.values() if row.cause != TriggerCause.RETRY]
    assert {(row.phase, row.reason_code) for row in ended} == {(Phase.ENDED, reasons.NOT_SENT)}


async def test_what_was_recalled_in_time_is_not_tried_again_however_it_ends(sqlite_url: str) -> None:
    prepare_store(sqlite_url)
    with open_database(sqlite_url) as db:
        job_id, office, letters = await db.tx(_send_ahead)
        await db.tx(stop_job, job_id, NOW + 1)
        await _refuse_and_lose(db, office, letters)
        rows = await db.read(read_rows)
    assert [row.reason_code for row in rows.values()] == [reasons.JOB_STOPPED, reasons.JOB_STOPPED]
