"""Signs of change differ when something did, and stay when nothing did."""

from sqlalchemy import insert

from orth.coordinator.finishing import finish
from orth.domain.alarms import AlarmKind, Standing
from orth.domain.audit import Actor, ActorKind, Deed
from orth.store.alarms import Message, claim_messages, keep_standings, message_sent, store_messages
from orth.store.audit import record
from orth.store.cluster_history import Change, note_handoffs
from orth.store.database import Database
from orth.store.dispatching import record_accepted
from orth.store.jobs import Move, move_jobs
from orth.store.leases import read_lease, take_lease
from orth.store.registry import Beat, record_beats
from orth.store.signs import PEOPLE, read_signs
from orth.store.tables import ownership
from tests.store.builders import NOW, assign, open_some, stored_due_jobs, stored_job, success


async def test_every_step_of_an_execution_is_a_sign_and_nothing_else_changes(db: Database) -> None:
    await stored_job(db)
    seen = [await db.read(read_signs)]

    async def look() -> None:
        seen.append(await db.read(read_signs))

    (one,) = await db.tx(lambda connection: open_some(connection, 1))
    await look()
    await db.tx(lambda connection: assign(connection, one))
    await look()
    await db.tx(record_accepted, [one], NOW)
    await look()
    await db.tx(finish, [success(one)], NOW)
    await look()
    assert len({signs["cluster"] for signs in seen}) == 1
    await db.tx(note_handoffs, ("beta", "process"), [Change(one, 7, "alpha", "gone", offered=False, since=NOW)], NOW)
    await look()
    assert len({signs["executions"] for signs in seen}) == len(seen)
    assert await db.read(read_signs) == seen[-1]


async def test_a_job_that_somebody_changed_is_a_sign_and_so_is_its_next_fire(db: Database) -> None:
    (job,) = await stored_due_jobs(db, NOW)
    seen = [await db.read(read_signs)]
    changed = Deed("job.update", "job", str(job))
    await db.tx(record, Actor(ActorKind.USER, "admin", "127.0.0.1"), changed, NOW)
    seen.append(await db.read(read_signs))
    await db.tx(move_jobs, [Move(job, 1, NOW, NOW + 60_000, NOW + 60_000, running=True)])
    seen.append(await db.read(read_signs))
    for other in (Deed("token.revoke", "token", "1"), Deed("job.trigger", "job", str(job))):
        await db.tx(record, Actor(ActorKind.USER, "admin", "127.0.0.1"), other, NOW)
    assert (await db.read(read_signs)) == seen[-1], "what is done to others is none, nor is a trigger"
    assert len({signs["jobs"] for signs in seen}) == 3
    assert len({(signs["executions"], signs["groups"], signs["executors"]) for signs in seen}) == 1


async def test_an_executor_that_comes_is_a_sign_and_its_next_beat_is_none(db: Database) -> None:
    seen = [await db.read(read_signs)]
    for beat, incarnation in enumerate(("process-1", "process-1", "process-2")):
        await db.tx(record_beats, [Beat("demo", "http://a:1", incarnation)], NOW + beat * 1_000)
        seen.append(await db.read(read_signs))
    came, beat, replaced = (signs["executors"] for signs in seen[1:])
    assert came == beat
    assert len({seen[0]["executors"], came, replaced}) == 3


async def test_a_job_that_fails_is_a_sign_for_the_alarms_and_so_is_each_step_of_a_message(db: Database) -> None:
    job = await stored_job(db)
    seen = [await db.read(read_signs)]

    async def look() -> None:
        seen.append(await db.read(read_signs))

    for failures in (1, 2):
        await db.tx(keep_standings, {job: Standing(job, 1, NOW, NOW, failures)})
        await look()
    await db.tx(store_messages, [Message(1, job, AlarmKind.FIRST, "operations", "{}")], NOW)
    await look()
    (message,) = await db.tx(claim_messages, "a", NOW, NOW + 60_000, 10)
    await look()
    await db.tx(message_sent, message, "a", NOW)
    await look()
    await db.tx(keep_standings, {job: None})
    await look()
    silenced = Deed("silence.create", "silence", "1")
    await db.tx(record, Actor(ActorKind.USER, "admin", "127.0.0.1"), silenced, NOW)
    await look()
    assert len({signs["alarms"] for signs in seen}) == len(seen)
    assert len({signs["executions"] for signs in seen}) == 1
    assert await db.read(read_signs) == seen[-1]


async def test_an_execution_without_an_owner_is_a_sign_for_the_cluster(db: Database) -> None:
    before = await db.read(read_signs)
    row = {"execution_id": 1, "generation": 1, "state": "orphan_pending", "changed_at": NOW}
    await db.tx(lambda connection: connection.execute(insert(ownership).values(row)))
    after = await db.read(read_signs)
    assert after["cluster"] != before["cluster"]


async def test_a_new_leader_is_a_sign(db: Database) -> None:
    before = await db.read(read_signs)
    lease = await db.tx(read_lease)
    await db.tx(take_lease, lease, "node-1", "process-1")
    after = await db.read(read_signs)
    assert after["cluster"] != before["cluster"]
    assert after["executions"] == before["executions"]


async def test_what_somebody_may_is_a_sign_of_its_own_and_a_refused_password_is_none(db: Database) -> None:
    before = await db.read(read_signs)
    await db.tx(record, Actor(ActorKind.USER, "admin", "127.0.0.1"), Deed("session.refuse", "user", "oscar"), NOW)
    assert await db.read(read_signs) == before
    await db.tx(record, Actor(ActorKind.USER, "admin", "127.0.0.1"), Deed("user.update", "user", "1"), NOW)
    after = await db.read(read_signs)
    assert {subject for subject, sign in after.items() if sign != before[subject]} == {PEOPLE}
