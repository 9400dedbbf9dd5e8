"""The history of a job's source."""

from dataclasses import replace

import pytest
from sqlalchemy import Connection, update

from orth.domain.jobs import GlueType
from orth.domain.scripts import digest_of
from orth.errors import NotFound
from orth.store.database import Database
from orth.store.glue_versions import (
    GlueVersion,
    forget_glue_versions,
    get_glue_version,
    keep_glue_versions,
    list_glue_versions,
    newest_glue_version,
    set_glue_times,
    trim_glue_versions,
)
from orth.store.tables import glue_versions

FIRST = GlueVersion(GlueType.GLUE_SHELL, "echo 1", "first", 1_000, "li")
SECOND = GlueVersion(GlueType.GLUE_PYTHON, "print('ü')\n" * 20_000, "", 2_000)


async def _remarks(db: Database, job_id: int, limit: int = 100, before: int | None = None) -> list[str]:
    return [version.remark for version in await db.read(list_glue_versions, job_id, limit, before)]


async def test_versions_are_kept_in_order_and_for_their_job_only(db: Database) -> None:
    await db.tx(keep_glue_versions, 1, [FIRST, SECOND])
    await db.tx(keep_glue_versions, 2, [SECOND])
    await db.tx(keep_glue_versions, 3, [])
    assert [replace(one, id=0) for one in await db.read(list_glue_versions, 1)] == [SECOND, FIRST]
    assert [replace(one, id=0) for one in await db.read(list_glue_versions, 2)] == [SECOND]
    assert await db.read(list_glue_versions, 3) == []
    newest = await db.read(newest_glue_version, 1)
    assert newest is not None
    assert newest.digest == digest_of(SECOND.source)
    assert await db.read(newest_glue_version, 3) is None


async def test_a_version_is_found_by_its_id_and_only_as_its_jobs(db: Database) -> None:
    await db.tx(keep_glue_versions, 1, [FIRST])
    (kept,) = await db.read(list_glue_versions, 1)
    assert await db.read(get_glue_version, 1, kept.id) == kept
    for job_id, version_id in ((2, kept.id), (1, kept.id + 1)):
        with pytest.raises(NotFound):
            await db.read(get_glue_version, job_id, version_id)


async def test_times_are_written_to_the_versions_that_are_named(db: Database) -> None:
    await db.tx(keep_glue_versions, 1, [FIRST, FIRST, SECOND])
    newest, middle, oldest = await db.read(list_glue_versions, 1)
    await db.tx(set_glue_times, {oldest.id: 10, newest.id: 30})
    await db.tx(set_glue_times, {})
    written = await db.read(list_glue_versions, 1)
    assert written == [replace(newest, saved_at=30), middle, replace(oldest, saved_at=10)]


async def test_pages_go_back_in_time(db: Database) -> None:
    await db.tx(keep_glue_versions, 1, [replace(FIRST, remark=str(n)) for n in range(5)])
    page = await db.read(list_glue_versions, 1, 2)
    assert [one.remark for one in page] == ["4", "3"]
    assert await _remarks(db, 1, 2, page[-1].id) == ["2", "1"]


@pytest.mark.parametrize(("kept", "left"), [(1, ["4"]), (3, ["4", "3", "2"]), (5, list("43210")), (9, list("43210"))])
async def test_the_newest_are_kept(db: Database, kept: int, left: list[str]) -> None:
    await db.tx(keep_glue_versions, 1, [replace(FIRST, remark=str(n)) for n in range(5)])
    await db.tx(keep_glue_versions, 2, [FIRST])
    await db.tx(trim_glue_versions, 1, kept)
    assert await _remarks(db, 1) == left
    assert await _remarks(db, 2) == ["first"]


async def test_a_history_goes_with_its_job(db: Database) -> None:
    await db.tx(keep_glue_versions, 1, [FIRST])
    await db.tx(keep_glue_versions, 2, [FIRST])
    await db.tx(forget_glue_versions, 1)
    assert (await _remarks(db, 1), await _remarks(db, 2)) == ([], ["first"])


async def test_a_kind_of_another_version_of_orth_harms_nobody(db: Database) -> None:
    def strange(connection: Connection) -> None:
        connection.execute(update(glue_versions).where(glue_versions.c.job_id == 2).values(glue_type="GLUE_RUST"))

    await db.tx(keep_glue_versions, 1, [FIRST])
    await db.tx(keep_glue_versions, 2, [FIRST])
    await db.tx(strange)
    assert (await _remarks(db, 1), await _remarks(db, 2)) == (["first"], [])
