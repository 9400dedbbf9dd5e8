"""How many jobs a group may have, on every database, also when several are made at once."""

import asyncio

import pytest
from sqlalchemy import Connection

from orth.errors import NotFound, QuotaReached
from orth.store.database import Database
from orth.store.groups import create_group
from orth.store.jobs import create_job, list_jobs
from orth.store.quotas import check_room_for_job
from tests.store.builders import NOW, a_group, a_job


def make(connection: Connection, group: int, limit: int) -> int:
    check_room_for_job(connection, group, limit)
    return create_job(connection, a_job(group), NOW)


async def test_a_group_has_room_for_so_many(db: Database) -> None:
    group, other = [await db.tx(create_group, a_group(name), NOW) for name in ("reports", "others")]
    for _ in range(2):
        await db.tx(make, group, 2)
    with pytest.raises(QuotaReached, match="'reports' has 2 jobs") as refused:
        await db.tx(make, group, 2)
    assert "security.jobs_per_group" in str(refused.value.hint)
    await db.tx(make, other, 2)
    await db.tx(make, group, 0)
    with pytest.raises(NotFound):
        await db.tx(make, 99, 2)


async def test_of_many_at_once_no_more_are_let_in(nodes: tuple[Database, Database], db: Database) -> None:
    group = await db.tx(create_group, a_group(), NOW)
    makers = [node.tx(make, group, 3) for node in nodes for _ in range(4)]
    made = await asyncio.gather(*makers, return_exceptions=True)
    assert sorted(isinstance(one, QuotaReached) for one in made) == [False] * 3 + [True] * 5, made
    assert len(await db.read(list_jobs, 0, 10)) == 3
