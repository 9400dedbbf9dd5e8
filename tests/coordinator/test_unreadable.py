"""One group, executor or execution that cannot be read: it is told once, stands still, and nobody else notices."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Table, update

from orth.coordinator.defining import define, define_group
from orth.coordinator.facts import RowUnreadable
from orth.domain import reasons
from orth.domain.executions import Phase, Status
from orth.domain.jobs import AddressType, Group, Job, RouteStrategy, ScheduleType
from orth.executor.handlers import Handlers
from orth.store.executions import find_execution
from orth.store.jobs import get_job
from orth.store.tables import executions, groups, registry
from orth.testing import Cluster

EVERY_SECOND = {"executor_handler": "work", "schedule_type": ScheduleType.FIX_RATE, "schedule_conf": "1s"}
TOLD = 35  # seconds within which it is

app = Handlers("tests")


@app.job("work")
def work() -> None:
    """Ends at once."""


def write(connection: Connection, table: Table, row: int | None, **values: object) -> None:
    """Write what no verb of the store would, into one row or into all."""
    chosen = update(table) if row is None else update(table).where(table.c.id == row)
    connection.execute(chosen.values(**values))


async def elsewhere(cluster: Cluster, **fields: Any) -> Job:
    """A job of another group, which has an address of its own."""
    now = cluster.clock.now()
    group = Group(0, "bad-app", "Bad", AddressType.MANUAL, ("http://nowhere:9999",))
    group_id = await cluster.db.tx(define_group, group, now)
    job = Job(id=0, job_group=group_id, job_desc="bad", executor_handler="work", **fields)
    return await cluster.db.read(get_job, await cluster.db.tx(define, job, now, True))


def told(cluster: Cluster) -> list[tuple[str, str]]:
    return [(one.what, one.reason) for one in cluster.recorder.all(RowUnreadable)]


@pytest.mark.parametrize(("column", "value"), [("dialect", "xxl36"), ("address_type", 7)])
@pytest.mark.parametrize("strategy", [RouteStrategy.ROUND, RouteStrategy.SHARDING_BROADCAST])
async def test_nothing_is_sent_to_a_group_nobody_can_read_and_the_others_go_on(
    tmp_path: Path, column: str, value: object, strategy: RouteStrategy
) -> None:
    async with Cluster(tmp_path, app) as cluster:
        good, bad = await cluster.job(**EVERY_SECOND), await elsewhere(cluster, executor_route_strategy=strategy)
        await cluster.db.tx(write, groups, bad.job_group, **{column: value})
        one = await cluster.trigger(bad)
        before = len(await cluster.executions(good))
        await cluster.advance(seconds=TOLD)
        assert len(await cluster.executions(good)) == before + TOLD
        ended = await cluster.execution(one)
        assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.GROUP_UNREADABLE)
        assert ended.trigger_msg is not None
        assert f"The group 'bad-app' cannot be read: {column} is {str(value)!r}." in ended.trigger_msg
        await cluster.advance(seconds=TOLD)
        what = f"group {bad.job_group} (bad-app)"
        assert told(cluster) == [(what, f"{column} is {str(value)!r}")], "once"


async def test_what_runs_in_a_group_nobody_can_read_any_more_is_not_lost(tmp_path: Path) -> None:
    async with Cluster(tmp_path, app) as cluster:
        job = await cluster.job(start=False, executor_handler="work", lost_after=30)
        one = await cluster.trigger(job)
        # As if an executor of another make, which the registry does not know, had it.
        taken = {"phase": Phase.RUNNING, "trigger_code": 200, "executor_address": "http://nowhere:9999"}
        await cluster.db.tx(write, executions, one, **taken)
        await cluster.db.tx(write, groups, job.job_group, address_type=7)
        await cluster.advance(seconds=180)
        assert (await cluster.execution(one)).phase is Phase.RUNNING
        await cluster.db.tx(write, groups, job.job_group, address_type=0)
        await cluster.advance(seconds=180)
        assert (await cluster.execution(one)).reason_code == reasons.RESULT_LOST, "as it is otherwise"


async def test_an_executor_with_broken_labels_gets_what_asks_for_none(tmp_path: Path) -> None:
    async with Cluster(tmp_path, app) as cluster:
        await cluster.db.tx(write, registry, None, labels="[1,")
        anywhere = await cluster.job(start=False, executor_handler="work")
        not_there = await cluster.job(start=False, executor_handler="work", label_selector="zone!=eu")
        ran, refused = await cluster.trigger(anywhere), await cluster.trigger(not_there)
        await cluster.advance(seconds=2)
        assert (await cluster.execution(ran)).status is Status.SUCCESS
        assert (await cluster.execution(refused)).reason_code == reasons.NO_MATCHING_EXECUTOR
        await cluster.advance(seconds=TOLD)
        address = cluster.executors[0].address
        assert told(cluster) == [(f"executor {address} of tests", "labels is '[1,'")]


@pytest.mark.parametrize(
    "values",
    [
        {"cause": "quantum"},
        {"cause": "quantum", "phase": Phase.UNKNOWN},
        {"cause": "quantum", "phase": Phase.RUNNING, "trigger_code": 200},
        {"phase": "limbo"},
    ],
    ids=str,
)
async def test_an_execution_nobody_can_read_stands_still(tmp_path: Path, values: dict[str, object]) -> None:
    async with Cluster(tmp_path, app) as cluster:
        good, bad = await cluster.job(**EVERY_SECOND), await cluster.job(start=False, executor_handler="work")
        one = await cluster.trigger(bad)
        await cluster.db.tx(write, executions, one, executor_address="http://nowhere:9999", **values)
        before = len(await cluster.executions(good))
        await cluster.advance(seconds=TOLD)
        assert len(await cluster.executions(good)) == before + TOLD
        await cluster.advance(seconds=TOLD)
        column, value = next(iter(values.items()))
        assert told(cluster) == [(f"execution {one}", f"{column} is {str(value)!r}")], "once"
        await cluster.db.tx(write, executions, one, cause="api", phase=Phase.OPENED, executor_address=None)
        await cluster.advance(seconds=2)
        mended = await cluster.db.read(find_execution, one)
        assert mended is not None
        assert mended.status is Status.SUCCESS


async def test_what_was_mended_and_broken_again_is_told_again(tmp_path: Path) -> None:
    async with Cluster(tmp_path, app) as cluster:
        bad = await elsewhere(cluster)
        for dialect in ("xxl36", "auto", "xxl36"):
            await cluster.db.tx(write, groups, bad.job_group, dialect=dialect)
            await cluster.advance(seconds=TOLD)
        assert len(told(cluster)) == 2
