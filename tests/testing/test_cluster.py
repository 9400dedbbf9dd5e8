"""The in-process cluster: a whole walk, cranked by hand."""

from pathlib import Path

from orth.coordinator.facts import ExecutionFinished
from orth.domain.executions import Status
from orth.domain.jobs import ScheduleType
from orth.executor.handlers import Handlers
from orth.testing import Cluster


def handlers() -> Handlers:
    app = Handlers("tests")

    @app.job("greet")
    def greet(name: str) -> str:
        return f"hello {name or 'nobody'}"

    return app


async def test_ninety_seconds_of_a_job_due_every_ten(tmp_path: Path) -> None:
    async with Cluster(tmp_path, handlers(), executors=2) as cluster:
        job = await cluster.job(
            executor_handler="greet", schedule_type=ScheduleType.CRON, schedule_conf="*/10 * * * * ?"
        )
        began = cluster.clock.now()
        await cluster.advance(seconds=90)
        executions = await cluster.executions(job)
        assert [one.schedule_time for one in executions] == [began + 10_000 * n for n in range(1, 10)]
        assert {one.status for one in executions} == {Status.SUCCESS}
        assert len({one.executor_address for one in executions}) == 2
        assert len(cluster.recorder.all(ExecutionFinished)) == 9


async def test_nothing_happens_without_time(tmp_path: Path) -> None:
    async with Cluster(tmp_path, handlers()) as cluster:
        job = await cluster.job(
            executor_handler="greet", schedule_type=ScheduleType.CRON, schedule_conf="*/10 * * * * ?"
        )
        await cluster.advance(seconds=0)
        await cluster.advance(seconds=9.9)
        assert await cluster.executions(job) == []
