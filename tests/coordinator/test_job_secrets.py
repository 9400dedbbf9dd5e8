"""Secrets on their way: to executors that hide them and can be trusted with them, and to nobody else."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, delete, select, update

from orth.coordinator.sealing import Sealing
from orth.domain import reasons
from orth.domain.executions import Execution, Phase, Status
from orth.domain.job_secrets import travels_safely
from orth.domain.jobs import GroupDialect, Job
from orth.executor.context import JobContext
from orth.executor.handlers import Handlers
from orth.settings import Settings
from orth.settings.sections import SecuritySection
from orth.store.all_tables import metadata
from orth.store.audit_tables import job_secrets
from orth.store.executor_entries import list_executors
from orth.store.groups import list_groups, set_group
from orth.store.jobs import replace_job
from orth.store.secrets import SealedSecret, put_secret
from orth.testing import Cluster
from orth.testing.network import Line

CANARY = "canary-of-this-test"
TRUSTING = Settings(security=SecuritySection(secrets_without_tls=True))


class Seen:
    """A handler that remembers the secrets it was given, and tells them."""

    def __init__(self) -> None:
        self.app = Handlers("tests")
        self.secrets: list[dict[str, str]] = []
        self.app.job("use")(self._use)

    def _use(self, ctx: JobContext) -> str:
        self.secrets.append(dict(ctx.secrets))
        print(ctx.secrets.get("API_KEY"))
        return f"used {ctx.secrets.get('API_KEY')}"


@pytest.fixture
def seen() -> Seen:
    return Seen()


def store(connection: Connection, sealing: Sealing, name: str, value: str = CANARY, group: int = 0) -> None:
    secret = SealedSecret(group, name, "")
    put_secret(connection, replace(secret, sealed=sealing.seal(value.encode(), secret.context)))


async def job_with(cluster: Cluster, *names: str, **fields: object) -> Job:
    for name in names:
        await cluster.db.tx(store, cluster.sealing, name)
    return await cluster.job(start=False, executor_handler="use", secrets=names, **fields)


async def run(cluster: Cluster, job: Job) -> Execution:
    execution_id = await cluster.trigger(job)
    await cluster.advance(seconds=1)
    return await cluster.execution(execution_id)


def everything(connection: Connection) -> str:
    return str([row for table in metadata.sorted_tables for row in connection.execute(select(table))])


def files_with(folder: Path, text: str) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


async def test_an_execution_gets_its_secrets_and_leaves_none_behind(tmp_path: Path, seen: Seen) -> None:
    async with Cluster(tmp_path, seen.app, settings=TRUSTING, own_keys=True) as cluster:
        job = await job_with(cluster, "API_KEY")
        done = await run(cluster, job)
        assert (done.status, done.handle_msg) == (Status.SUCCESS, "used ***")
        assert seen.secrets == [{"API_KEY": CANARY}]
        assert CANARY not in await cluster.db.read(everything)
        assert CANARY not in str(cluster.recorder.heard)
    assert files_with(tmp_path, CANARY) == []


async def test_many_at_once_each_get_their_own(tmp_path: Path, seen: Seen) -> None:
    async with Cluster(tmp_path, seen.app, settings=TRUSTING, own_keys=True) as cluster:
        jobs = [await job_with(cluster, f"KEY_{n}") for n in range(5)] + [await job_with(cluster)]
        for job in jobs:
            await cluster.trigger(job)
        await cluster.advance(seconds=1)
        assert sorted(map(str, seen.secrets)) == sorted([*(str({f"KEY_{n}": CANARY}) for n in range(5)), "{}"])


async def test_what_may_have_arrived_is_repeated_with_its_secrets(tmp_path: Path, seen: Seen) -> None:
    async with Cluster(tmp_path, seen.app, settings=TRUSTING, own_keys=True) as cluster:
        job = await job_with(cluster, "API_KEY")
        cluster.set_line(cluster.executors[0], Line.LOST_REQUESTS)
        execution_id = await cluster.trigger(job)
        await cluster.advance(seconds=1)
        assert (await cluster.execution(execution_id)).phase is Phase.UNKNOWN
        cluster.set_line(cluster.executors[0], Line.UP)
        await cluster.advance(seconds=30)
        assert (await cluster.execution(execution_id)).status is Status.SUCCESS
        assert seen.secrets == [{"API_KEY": CANARY}]


async def test_secrets_do_not_leave_the_machine_unencrypted(tmp_path: Path, seen: Seen) -> None:
    async with Cluster(tmp_path, seen.app) as cluster:
        ended = await run(cluster, await job_with(cluster, "API_KEY"))
        assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.NO_SECRET_EXECUTOR)
        assert seen.secrets == []


async def test_executors_of_another_make_get_none(tmp_path: Path, seen: Seen) -> None:
    async with Cluster(tmp_path, seen.app, settings=TRUSTING, own_keys=True) as cluster:
        job = await job_with(cluster, "API_KEY")
        [group] = await cluster.db.read(list_groups, 0, 10)
        await cluster.db.tx(set_group, replace(group, dialect=GroupDialect.XXL), cluster.clock.now())
        assert (await run(cluster, job)).reason_code == reasons.NO_SECRET_EXECUTOR
        assert seen.secrets == []


async def test_the_word_secrets_alone_gets_none(tmp_path: Path, seen: Seen) -> None:
    """A thief of the token can announce whatever it likes; the key of its own it has to prove."""
    async with Cluster(tmp_path, seen.app, settings=TRUSTING) as cluster:
        (entry,) = await cluster.db.read(list_executors)
        assert {"secrets", "report-key"} <= entry.extensions
        assert (await run(cluster, await job_with(cluster, "API_KEY"))).reason_code == reasons.NO_SECRET_EXECUTOR
        assert seen.secrets == []


async def test_a_queue_gets_none(tmp_path: Path, seen: Seen) -> None:
    async with Cluster(tmp_path, seen.app, settings=TRUSTING, own_keys=True) as cluster:
        job = await job_with(cluster, "API_KEY")
        await cluster.db.tx(replace_job, replace(job, executor_queue="q"), cluster.clock.now())
        assert (await run(cluster, job)).reason_code == reasons.SECRETS_NOT_QUEUED


async def test_without_its_secret_a_job_does_not_run_and_others_do(tmp_path: Path, seen: Seen) -> None:
    async with Cluster(tmp_path, seen.app, settings=TRUSTING, own_keys=True) as cluster:
        missing, changed, good = [await job_with(cluster, name) for name in ("GONE", "BROKEN", "GOOD")]

        def spoil(connection: Connection) -> None:
            connection.execute(delete(job_secrets).where(job_secrets.c.name == "GONE"))
            other = Sealing.fresh().seal(b"x", "job-secret:0:BROKEN")
            connection.execute(update(job_secrets).where(job_secrets.c.name == "BROKEN").values(sealed=other))

        await cluster.db.tx(spoil)
        ids = [await cluster.trigger(job) for job in (missing, changed, good)]
        await cluster.advance(seconds=1)
        ended = [await cluster.execution(one) for one in ids]
        assert [one.reason_code for one in ended[:2]] == [reasons.SECRET_MISSING] * 2
        assert ended[2].status is Status.SUCCESS
        assert seen.secrets == [{"GOOD": CANARY}]


@pytest.mark.parametrize(
    ("address", "safe"),
    [
        ("https://10.0.0.7:9999", True),
        ("http://127.0.0.1:9999", True),
        ("http://127.8.0.1", True),
        ("http://[::1]:9999", True),
        ("http://localhost:9999", True),
        ("http://10.0.0.7:9999", False),
        ("http://executor:9999", False),
        ("http://localhost.example.org", False),
        ("", False),
    ],
)
def test_where_nobody_reads_along(address: str, safe: bool) -> None:
    assert travels_safely(address) is safe
