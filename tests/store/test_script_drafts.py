"""What tests run is kept with their execution, and goes with it."""

from dataclasses import replace

from orth.domain.jobs import GlueType
from orth.store.database import Database
from orth.store.executions import end_executions
from orth.store.purging import purge_executions
from orth.store.script_drafts import Draft, drafts_of, keep_draft
from tests.store.builders import NOW, open_some, success

DRAFT = Draft(GlueType.GLUE_SHELL, "echo ü\n", 1_000)


async def test_each_test_has_its_own(db: Database) -> None:
    other = replace(DRAFT, source="echo 2", glue_type=GlueType.GLUE)
    await db.tx(keep_draft, 1, DRAFT)
    await db.tx(keep_draft, 2, other)
    assert await db.read(drafts_of, [1, 2, 3]) == {1: DRAFT, 2: other}
    assert await db.read(drafts_of, []) == {}


async def test_it_goes_with_its_execution(db: Database) -> None:
    ended, running = await db.tx(open_some, count=2, prefix="test")
    await db.tx(keep_draft, ended, DRAFT)
    await db.tx(keep_draft, running, DRAFT)
    await db.tx(end_executions, [success(ended)], NOW)
    await db.tx(purge_executions, NOW + 1, after=0, limit=10)
    assert list(await db.read(drafts_of, [ended, running])) == [running]
