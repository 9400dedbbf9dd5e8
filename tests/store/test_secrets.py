"""Secrets of jobs as they are stored: by group, counted, and not removed from under a job."""

import pytest

from orth.domain.jobs import Job
from orth.errors import Conflict, NotFound
from orth.store.database import Connection, Database
from orth.store.groups import delete_group
from orth.store.jobs import create_job, get_job
from orth.store.secrets import (
    SealedSecret,
    delete_secret,
    known_names,
    list_secrets,
    put_secret,
    secrets_of_jobs,
)
from tests.store.builders import NOW, stored_group


def put(connection: Connection, group: int, name: str, sealed: str = "sealed") -> SealedSecret:
    return put_secret(connection, SealedSecret(group, name, sealed, updated_by="admin", update_time=NOW))


def job_with(connection: Connection, group: int, *names: str) -> int:
    return create_job(connection, Job(id=0, job_group=group, job_desc="x", executor_handler="h", secrets=names), NOW)


async def test_a_secret_is_written_again_as_another_version(db: Database) -> None:
    assert (await db.tx(put, 1, "TOKEN_A", "one")).version == 1
    again = await db.tx(put, 1, "TOKEN_A", "two")
    assert (again.version, again.sealed, again.updated_by, again.update_time) == (2, "two", "admin", NOW)
    await db.tx(put, 2, "TOKEN_A")
    assert [one.job_group for one in await db.read(list_secrets, 0, 10)] == [1, 2]
    assert [one.job_group for one in await db.read(list_secrets, 0, 10, {2})] == [2]
    assert again.context != SealedSecret(2, "TOKEN_A", "").context


async def test_a_job_gets_its_groups_own_before_that_of_all(db: Database) -> None:
    group = await stored_group(db)
    await db.tx(put, 0, "SHARED", "of all")
    await db.tx(put, 0, "BOTH", "of all")
    await db.tx(put, group, "BOTH", "own")
    await db.tx(put, group + 1, "SHARED", "of another")
    job_id = await db.tx(job_with, group, "BOTH", "SHARED", "GONE")
    job = await db.read(get_job, job_id)
    assert job.secrets == ("BOTH", "SHARED", "GONE")
    found = await db.read(secrets_of_jobs, [job])
    assert [(one.name, one.sealed) for one in found[job_id]] == [("BOTH", "own"), ("SHARED", "of all")]
    assert await db.read(secrets_of_jobs, []) == {}
    assert await db.tx(known_names, group, ["BOTH", "GONE"], hold=True) == {"BOTH"}


async def test_what_a_job_needs_is_not_removed(db: Database) -> None:
    group = await stored_group(db)
    await db.tx(put, 0, "BOTH")
    await db.tx(put, group, "BOTH")
    await db.tx(put, group, "OTHER_A")
    job_id = await db.tx(job_with, group, "BOTH")
    await db.tx(delete_secret, group, "OTHER_A")
    await db.tx(delete_secret, group, "BOTH")  # that of all groups remains
    with pytest.raises(Conflict, match=f"needed by job {job_id}"):
        await db.tx(delete_secret, 0, "BOTH")
    with pytest.raises(NotFound):
        await db.tx(delete_secret, group, "BOTH")


async def test_an_underscore_in_a_name_is_no_wildcard(db: Database) -> None:
    group = await stored_group(db)
    await db.tx(put, group, "A_B")
    await db.tx(put, group, "AXB")
    await db.tx(job_with, group, "AXB")
    await db.tx(delete_secret, group, "A_B")


async def test_a_group_takes_its_secrets_with_it(db: Database) -> None:
    group = await stored_group(db)
    await db.tx(put, group, "OWN")
    await db.tx(put, 0, "SHARED")
    await db.tx(delete_group, group)
    assert [one.name for one in await db.read(list_secrets, 0, 10)] == ["SHARED"]
