"""Code on its way to executors: the group's switch, the executor's own list, and tests that have no consequences."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from orth.coordinator.defining import define_group
from orth.coordinator.letters import Letter, Peer, run_request
from orth.coordinator.scripting import Bounds, Code, Writer, define_with_code, save_code, try_code
from orth.coordinator.triggering import Request
from orth.domain import reasons
from orth.domain.access import Rights, Role
from orth.domain.audit import Actor, ActorKind
from orth.domain.executions import Execution, Phase, Status
from orth.domain.jobs import AddressType, GlueType, Group, Job, RouteStrategy, TriggerCause
from orth.domain.scripts import digest_of
from orth.errors import Forbidden
from orth.executor.handlers import Handlers
from orth.store.database import Connection, Database
from orth.store.dead_letters import LetterFilter, find_waiting
from orth.store.groups import get_group, set_group
from orth.store.jobs import get_job, hold_job
from orth.store.notes import notes_of
from orth.store.tables import jobs
from orth.testing import Cluster
from orth.testing.network import Line
from orth.wire.messages import RunRequest
from orth.wire.report_keys import ReportKeys

WRITER = Writer(Actor(ActorKind.USER, "ada"), Rights(everywhere=Role.EDITOR), Bounds(65_536, 30))


def glue(text: str) -> str:
    return f"def execute(ctx):\n    return {text!r} + ctx.param\n"


FAILING = "def execute(ctx):\n    raise ValueError('no')\n"


class Scripts:
    """A cluster whose group allows scripts, with one executor that takes GLUE."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    @property
    def db(self) -> Database:
        return self.cluster.db

    async def job(self, source: str = glue("own"), **fields: object) -> Job:
        plain = await self.cluster.job(start=False, executor_handler="note")
        await self.allow(plain.job_group, True)
        job = replace(
            plain,
            executor_handler="",
            glue_type=GlueType.GLUE,
            glue_source=source,
            glue_remark="made",
            **fields,  # type: ignore[arg-type]  # the fields of Job, checked by its constructor
        )
        job_id = await self.db.tx(define_with_code, job, WRITER, self.cluster.clock.now(), True)
        return await self.db.read(get_job, job_id)

    async def allow(self, group_id: int, allowed: bool) -> None:
        group = await self.db.read(get_group, group_id)
        await self.db.tx(set_group, replace(group, scripts_allowed=allowed), self.cluster.clock.now())

    async def save(self, job: Job, source: str) -> None:
        now = self.cluster.clock.now()

        def write(connection: Connection) -> None:
            save_code(connection, hold_job(connection, job.id), Code(GlueType.GLUE, source, "changed"), WRITER, now)

        await self.db.tx(write)

    async def attempt(self, job: Job, source: str, key: str = "a", addresses: Sequence[str] = ()) -> int:
        asked = Request(TriggerCause.MANUAL, key, "!", tuple(addresses))
        execution_id, _new = await self.db.tx(try_code, job, source, asked, WRITER, self.cluster.clock.now())
        for coordinator in self.cluster.coordinators:
            coordinator.work.dispatch.wake()
        return execution_id

    async def ended(self, execution_id: int) -> Execution:
        await self.cluster.advance(seconds=1)
        return await self.cluster.execution(execution_id)


@pytest.fixture
async def scripts(tmp_path: Path) -> AsyncIterator[Scripts]:
    app = Handlers("tests")
    app.job("note")(lambda text: text)
    async with Cluster(tmp_path, app, executors=0) as cluster:
        cluster.add_executor(scripts=["glue"])
        await cluster.advance(seconds=0)
        yield Scripts(cluster)


async def test_the_next_execution_runs_what_was_saved(scripts: Scripts) -> None:
    job = await scripts.job()
    assert (await scripts.ended(await scripts.cluster.trigger(job, "1"))).handle_msg == "own1"
    await scripts.save(job, glue("new"))
    assert (await scripts.ended(await scripts.cluster.trigger(job, "2"))).handle_msg == "new2"


async def test_a_group_that_changed_its_mind_is_sent_nothing(scripts: Scripts) -> None:
    job = await scripts.job(executor_fail_retry_count=3)
    await scripts.allow(job.job_group, False)
    ended = await scripts.ended(await scripts.cluster.trigger(job))
    assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.SCRIPTS_OFF)
    assert "does not allow scripts" in (ended.trigger_msg or "")
    assert len(await scripts.cluster.executions(job)) == 1, "another attempt would meet the same"
    await scripts.allow(job.job_group, True)
    assert (await scripts.ended(await scripts.cluster.trigger(job))).status is Status.SUCCESS


async def test_code_of_a_super_task_needs_the_switch_of_the_group_that_runs_it(scripts: Scripts) -> None:
    job = await scripts.job()
    below = await scripts.cluster.job(start=False, super_task_id=job.id)
    assert (await scripts.ended(await scripts.cluster.trigger(below, "1"))).handle_msg == "own1"
    await scripts.allow(below.job_group, False)
    assert (await scripts.ended(await scripts.cluster.trigger(below))).reason_code == reasons.SCRIPTS_OFF


async def test_code_of_another_group_is_not_sent_whatever_the_database_says(scripts: Scripts) -> None:
    job = await scripts.job()
    below = await scripts.cluster.job(start=False, super_task_id=job.id)
    elsewhere = await scripts.db.tx(
        define_group, Group(0, "elsewhere", "", AddressType.AUTO, (), scripts_allowed=True), 0
    )
    await scripts.db.tx(_move, job.id, elsewhere)
    ended = await scripts.ended(await scripts.cluster.trigger(below))
    assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.SCRIPTS_OFF)
    assert "which is in another group" in (ended.trigger_msg or "")


async def test_programs_are_sent_only_where_scripts_are_allowed(scripts: Scripts) -> None:
    job = await scripts.cluster.job(start=False, executor_handler="orth.command", executor_fail_retry_count=3)
    ended = await scripts.ended(await scripts.cluster.trigger(job))
    assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.SCRIPTS_OFF)
    assert "does not allow scripts" in (ended.trigger_msg or "")
    await scripts.allow(job.job_group, True)
    ended = await scripts.ended(await scripts.cluster.trigger(job))
    assert "executor.builtin would have to name command" in (ended.trigger_msg or "")


def _move(connection: Connection, job_id: int, group_id: int) -> None:
    connection.execute(sa.update(jobs).where(jobs.c.id == job_id).values(job_group=group_id))


async def test_a_kind_that_the_executor_does_not_name_is_refused_by_it(scripts: Scripts) -> None:
    job = await scripts.job(executor_route_strategy=RouteStrategy.FIRST)
    source = Code(GlueType.GLUE_SHELL, "echo", "a script now")
    now = scripts.cluster.clock.now()
    await scripts.db.tx(lambda connection: save_code(connection, hold_job(connection, job.id), source, WRITER, now))
    execution_id = await scripts.cluster.trigger(job)
    ended = await scripts.ended(execution_id)
    assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.SCRIPT_REFUSED)
    assert "executor.scripts would have to name shell" in (ended.trigger_msg or "")
    assert [note.code for note in await scripts.db.read(notes_of, execution_id)] == [reasons.SCRIPT_REFUSED]


async def test_a_test_has_no_consequences(scripts: Scripts) -> None:
    child = await scripts.cluster.job(start=False, executor_handler="note")
    job = await scripts.job(executor_fail_retry_count=3, child_job_ids=(child.id,), alarm_email="ops@example.org")
    good = await scripts.ended(await scripts.attempt(job, glue("draft"), "a"))
    bad = await scripts.ended(await scripts.attempt(job, FAILING, "b"))
    assert (good.status, good.handle_msg, bad.status) == (Status.SUCCESS, "draft!", Status.FAILED)
    await scripts.cluster.advance(seconds=120)
    assert [one.id for one in await scripts.cluster.executions(job)] == [good.id, bad.id]
    assert await scripts.cluster.executions(child) == []
    assert await scripts.db.read(find_waiting, LetterFilter(), 10) == ([], 0)
    assert [one.alarm_status for one in await scripts.cluster.executions(job)] == [0, 0]
    assert (await scripts.db.read(get_job, job.id)).glue_source == glue("own")


async def test_what_the_job_itself_does_still_has_them(scripts: Scripts) -> None:
    job = await scripts.job(FAILING, alarm_email="ops@example.org")
    failed = await scripts.ended(await scripts.cluster.trigger(job))
    await scripts.cluster.advance(seconds=120)
    assert await scripts.db.read(find_waiting, LetterFilter(), 10) == ([failed.id], 0)
    assert (await scripts.cluster.execution(failed.id)).alarm_status != 0


async def test_a_test_whose_answer_was_lost_is_still_a_test(scripts: Scripts) -> None:
    job = await scripts.job()
    (executor,) = scripts.cluster.executors
    scripts.cluster.set_line(executor, Line.LOST_REQUESTS)
    execution_id = await scripts.attempt(job, glue("draft"))
    await scripts.cluster.advance(seconds=1)
    assert (await scripts.cluster.execution(execution_id)).phase is Phase.UNKNOWN
    scripts.cluster.set_line(executor, Line.UP)
    await scripts.cluster.advance(seconds=30)
    assert (await scripts.cluster.execution(execution_id)).handle_msg == "draft!"


async def test_an_executor_that_would_take_a_draft_for_the_job_gets_none(
    scripts: Scripts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orth.executor.runtime.EXTENSIONS", ("resend", "batch-run", "app-name"))
    old = scripts.cluster.add_executor(scripts=["glue"])
    await scripts.cluster.advance(seconds=0)
    job = await scripts.job()
    routed = await scripts.ended(await scripts.attempt(job, glue("draft"), "a"))
    assert (routed.handle_msg, routed.executor_address != old.address) == ("draft!", True)
    named = await scripts.ended(await scripts.attempt(job, glue("draft"), "b", [old.address]))
    assert (named.status, named.reason_code) == (Status.TRIGGER_FAILED, reasons.NO_TEST_EXECUTOR)


async def test_a_test_of_a_broadcast_is_one_execution(scripts: Scripts) -> None:
    scripts.cluster.add_executor(scripts=["glue"])
    await scripts.cluster.advance(seconds=0)
    job = await scripts.job(executor_route_strategy=RouteStrategy.SHARDING_BROADCAST)
    ended = await scripts.ended(await scripts.attempt(job, glue("draft")))
    assert (ended.status, ended.shard_total) == (Status.SUCCESS, 1)
    assert len(await scripts.cluster.executions(job)) == 1


async def test_whoever_may_edit_but_not_write_code_may_not(scripts: Scripts) -> None:
    job = await scripts.job()
    nobody = replace(WRITER, rights=Rights(everywhere=Role.OPERATOR))
    now = scripts.cluster.clock.now()
    code = Code(GlueType.GLUE, glue("new"), "changed")
    with pytest.raises(Forbidden, match="'script'"):
        await scripts.db.tx(lambda connection: save_code(connection, hold_job(connection, job.id), code, nobody, now))
    with pytest.raises(Forbidden, match="'script'"):
        await scripts.db.tx(try_code, job, None, Request(TriggerCause.MANUAL, "a"), nobody, now)


async def test_a_trigger_carries_the_digest_of_its_source_where_that_is_understood(scripts: Scripts) -> None:
    job = await scripts.job()
    tried = await scripts.cluster.execution(await scripts.attempt(job, glue("draft")))
    own = await scripts.cluster.execution(await scripts.cluster.trigger(job))
    ours = Peer("", "tests", extensions=frozenset({"source-digest"}))

    def sent(execution: Execution, peer: Peer) -> RunRequest:
        letter, now = Letter(execution, job, job, peer), scripts.cluster.clock.now()
        return run_request(letter, now, lambda *_: None, ReportKeys("secret"), again=False)

    assert (sent(own, ours).source_digest, sent(own, ours).draft) == (digest_of(glue("own")), None)
    assert (sent(own, replace(ours, extensions=frozenset())).source_digest, sent(tried, ours).draft) == (None, True)
