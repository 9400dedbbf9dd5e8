"""The leader's loops for statistics, on a hand-cranked cluster with real executions."""

from pathlib import Path

from orth.coordinator.statistics import REPORTED_DAYS
from orth.domain.executions import Status
from orth.domain.jobs import ScheduleType
from orth.executor.context import JobContext, JobFailed
from orth.executor.handlers import Handlers
from orth.store.daily_reports import DAY, DailyReport, list_reports
from orth.store.statistics import Span, counts_by_status, has_unfolded
from orth.testing import Cluster


def app() -> Handlers:
    handlers = Handlers("tests")

    @handlers.job("sometimes")
    def sometimes(ctx: JobContext) -> None:
        if ctx.param == "fail":
            raise JobFailed("on purpose")

    return handlers


async def test_every_end_is_counted_once_and_folded(tmp_path: Path) -> None:
    async with Cluster(tmp_path, app()) as cluster:
        job = await cluster.job(start=False, executor_handler="sometimes", executor_fail_retry_count=1)
        now = cluster.clock.now()
        span = Span(since=now - now % DAY, until=now + DAY, job_id=job.id)
        for param in ("", "", "fail"):
            await cluster.trigger(job, param)
        await cluster.advance(seconds=40)
        fresh = await cluster.db.read(counts_by_status, span)
        assert {status: count.executions for status, count in fresh.items()} == {Status.SUCCESS: 2, Status.FAILED: 2}
        await cluster.advance(seconds=40)
        assert not await cluster.db.read(has_unfolded)
        assert await cluster.db.read(counts_by_status, span) == fresh


async def test_daily_reports_follow_within_a_minute(tmp_path: Path) -> None:
    async with Cluster(tmp_path, app()) as cluster:
        rate = {"schedule_type": ScheduleType.FIX_RATE, "schedule_conf": "10s"}
        await cluster.job(executor_handler="sometimes", **rate)
        await cluster.advance(seconds=65)
        today = cluster.clock.now() - cluster.clock.now() % DAY
        reports = await cluster.db.read(list_reports, 0)
        assert [report.day for report in reports] == [today - 2 * DAY, today - DAY, today]
        assert len(reports) == REPORTED_DAYS
        assert reports[:2] == [DailyReport(today - 2 * DAY, 0, 0, 0), DailyReport(today - DAY, 0, 0, 0)]
        assert 5 <= reports[-1].succeeded <= 6
        assert reports[-1].failed == 0
