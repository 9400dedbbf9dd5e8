"""The history of a job's source."""

from orth.domain.jobs import GlueType
from orth.store.database import Database
from orth.store.glue_versions import GlueVersion, keep_glue_versions, list_glue_versions


async def test_versions_are_kept_in_order_and_for_their_job_only(db: Database) -> None:
    first = GlueVersion(GlueType.GLUE_SHELL, "echo 1", "first", 1_000, "li")
    second = GlueVersion(GlueType.GLUE_PYTHON, "print('ü')\n" * 20_000, "", 2_000)
    await db.tx(keep_glue_versions, 1, [first, second])
    await db.tx(keep_glue_versions, 2, [second])
    await db.tx(keep_glue_versions, 3, [])
    assert await db.read(list_glue_versions, 1) == [first, second]
    assert await db.read(list_glue_versions, 2) == [second]
    assert await db.read(list_glue_versions, 3) == []
