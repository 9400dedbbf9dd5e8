"""One row per day, and only what changed is written."""

import sqlalchemy as sa

from orth.domain.executions import FAILURE, SUCCESS
from orth.store.daily_reports import DAY, DailyReport, drop_reports, list_reports, write_reports
from orth.store.database import Database
from orth.store.executions import open_executions
from orth.store.record_tables import daily_reports
from orth.store.statistics import count_ends, fold
from tests.store.builders import NOW, an_opening
from tests.store.test_statistics import TODAY, ended


async def test_the_last_days_are_written_and_brought_up_to_date(db: Database) -> None:
    await db.tx(open_executions, [an_opening("a"), an_opening("b")], NOW)
    await db.tx(open_executions, [an_opening("c")], TODAY - 1)
    await db.tx(count_ends, [ended(), ended(), ended((SUCCESS, FAILURE)), ended((FAILURE, 0))], NOW)
    await db.tx(count_ends, [ended()], TODAY - DAY)
    await db.tx(count_ends, [ended()], TODAY - 3 * DAY)  # too long ago
    assert await db.tx(write_reports, NOW, 3) == 3
    expected = [
        DailyReport(TODAY - 2 * DAY, 0, 0, 0),
        DailyReport(TODAY - DAY, 1, 1, 0),
        DailyReport(TODAY, 2, 2, 2),
    ]
    assert await db.read(list_reports, 0) == expected
    assert await db.tx(write_reports, NOW + 1, 3) == 0
    await db.tx(fold, 100)
    assert await db.tx(write_reports, NOW + 2, 3) == 0
    await db.tx(count_ends, [ended()], NOW)
    assert await db.tx(write_reports, NOW + 3, 3) == 1
    assert (await db.read(list_reports, TODAY)) == [DailyReport(TODAY, 2, 3, 2)]
    written = sa.select(daily_reports.c.update_time).order_by(daily_reports.c.trigger_day)
    assert await db.read(lambda c: c.execute(written).scalars().all()) == [NOW, NOW, NOW + 3]
    assert await db.tx(drop_reports, TODAY) == 2
    assert await db.read(list_reports, 0) == [DailyReport(TODAY, 2, 3, 2)]
