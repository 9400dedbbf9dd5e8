"""The memory of routing, on every kind of database."""

from orth.store.database import Connection, Database
from orth.store.jobs import delete_job
from orth.store.routes import keep_route_memory, keep_route_numbers, route_memory, route_numbers
from tests.store.builders import stored_job


async def test_numbers_grow_and_unknown_jobs_have_none(db: Database) -> None:
    assert await db.read(route_numbers, [1, 2]) == {}
    await db.tx(keep_route_numbers, {1: 3, 2: 1}, {})
    assert await db.read(route_numbers, [1, 2, 3]) == {1: 3, 2: 1}
    await db.tx(keep_route_numbers, {1: 5, 2: 1, 3: 1}, {1: 3, 2: 1})
    assert await db.read(route_numbers, [1, 2, 3]) == {1: 5, 2: 1, 3: 1}


async def test_uses_are_written_and_those_no_longer_remembered_go(db: Database) -> None:
    first = {1: {"http://a:1": (1, 1), "http://b:1": (1, 2)}, 2: {"http://a:1": (7, 9)}}
    await db.tx(keep_route_memory, first, {})
    assert await db.read(route_memory, [1, 2, 3]) == first
    second = {1: {"http://a:1": (2, 3), "http://c:1": (1, 4)}, 2: first[2]}
    await db.tx(keep_route_memory, second, first)
    assert await db.read(route_memory, [1, 2]) == second


async def test_counters_and_uses_do_not_mix(db: Database) -> None:
    await db.tx(keep_route_numbers, {1: 4}, {})
    await db.tx(keep_route_memory, {1: {"http://a:1": (1, 1)}}, {})
    assert await db.read(route_numbers, [1]) == {1: 4}
    assert await db.read(route_memory, [1]) == {1: {"http://a:1": (1, 1)}}


async def test_many_jobs_at_once(db: Database) -> None:
    memory = {job: {f"http://{n}:1": (job, n) for n in range(3)} for job in range(1, 1201)}
    await db.tx(keep_route_memory, memory, {})
    assert await db.read(route_memory, memory) == memory
    grown = {job: {address: (uses + 1, last) for address, (uses, last) in one.items()} for job, one in memory.items()}
    await db.tx(keep_route_memory, grown, memory)
    assert await db.read(route_memory, memory) == grown


async def test_a_deleted_job_leaves_nothing(db: Database) -> None:
    job = await stored_job(db)

    def remember(connection: Connection) -> None:
        keep_route_numbers(connection, {job: 2}, {})
        keep_route_memory(connection, {job: {"http://a:1": (1, 1)}}, {})

    await db.tx(remember)
    await db.tx(delete_job, job)
    assert await db.read(route_numbers, [job]) == {}
    assert await db.read(route_memory, [job]) == {}
