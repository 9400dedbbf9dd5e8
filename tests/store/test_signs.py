"""Signs of change differ when something did, and stay when nothing did."""

from orth.coordinator.finishing import finish
from orth.store.database import Database
from orth.store.dispatching import record_accepted
from orth.store.leases import read_lease, take_lease
from orth.store.signs import read_signs
from tests.store.builders import NOW, assign, open_some, stored_job, success


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
    assert len({signs["executions"] for signs in seen}) == len(seen)
    assert len({signs["cluster"] for signs in seen}) == 1
    assert await db.read(read_signs) == seen[-1]


async def test_a_new_leader_is_a_sign(db: Database) -> None:
    before = await db.read(read_signs)
    lease = await db.tx(read_lease)
    await db.tx(take_lease, lease, "node-1", "process-1")
    after = await db.read(read_signs)
    assert after["cluster"] != before["cluster"]
    assert after["executions"] == before["executions"]
