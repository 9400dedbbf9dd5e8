"""Who may say how an execution ended: whom it was sent to, and nobody else with the token of its group."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from orth.coordinator.http.channel_requests import Read
from orth.coordinator.http.channel_shares import Guest
from orth.coordinator.node import Coordinator
from orth.coordinator.proving import Unproved
from orth.domain.executions import Execution, Phase, Status
from orth.executor.handlers import Handlers
from orth.executor.journal import put_record
from orth.executor.runtime import EXTENSIONS
from orth.store.audit import Wanted, newest_entries
from orth.store.database import Connection
from orth.store.dispatching import Assignment, assign_executions, put_back
from orth.store.executions import Sent, sent_among
from orth.store.notes import notes_of
from orth.testing import Cluster
from orth.testing.network import Line
from orth.wire.beginnings import Begun, BegunReport
from orth.wire.channel_messages import Standing
from orth.wire.messages import CallbackItem, CallbackVerdict, Extension, Verdict
from orth.wire.report_keys import ReportKeys
from tests.coordinator.queue_site import NAMES, QueueSite, Worker, eventually

OTHER_KEY = "0" * 64
REFUSED = [(None, Unproved.MISSING), (OTHER_KEY, Unproved.WRONG)]


@pytest.fixture
def handlers() -> Handlers:
    app = Handlers("tests")
    app.job("work")(lambda: "done")
    app.job("child")(lambda: None)
    return app


async def _open_one(cluster: Cluster) -> Execution:
    """An execution whose answer was lost, with a job that follows it: its executor has it and its result waits."""
    child = await cluster.job(start=False, executor_handler="child")
    job = await cluster.job(start=False, executor_handler="work", child_job_ids=(child.id,))
    before = cluster.network.coordinators[:]
    one = await cluster.trigger(job)
    cluster.network.coordinators.clear()  # its result finds nobody
    await cluster.advance(seconds=0)
    cluster.network.coordinators.extend(before)
    sent = await cluster.execution(one)
    assert sent.status is Status.PENDING
    return sent


async def _take(coordinator: Coordinator, **said: Any) -> tuple[CallbackVerdict, Unproved | None]:
    judged = await coordinator.work.callbacks.take([CallbackItem(**said)])
    (verdict,) = judged.verdicts
    return verdict, judged.unproved.get(verdict.log_id)


@pytest.mark.parametrize(("key", "why"), REFUSED)
async def test_who_was_not_sent_an_execution_cannot_end_it(
    tmp_path: Path, handlers: Handlers, key: str | None, why: Unproved
) -> None:
    async with Cluster(tmp_path, handlers, coordinators=2) as cluster:
        sent = await _open_one(cluster)
        for coordinator in cluster.coordinators:
            said = {"log_id": sent.id, "handle_code": 200, "handle_msg": "forged", "incarnation": sent.incarnation}
            answer = await _take(coordinator, **said, report_key=key)
            assert answer == (CallbackVerdict(log_id=sent.id, verdict=Verdict.RETRY), why)
        assert (await cluster.execution(sent.id)).status is Status.PENDING
        await cluster.advance(seconds=60)
        ended = await cluster.execution(sent.id)
        assert (ended.status, ended.handle_msg) == (Status.SUCCESS, "done"), "its own executor was heard"
        again, reason = await _take(cluster.coordinators[0], log_id=sent.id, handle_code=500, report_key=key)
        assert (again.verdict, reason) == (Verdict.DUPLICATE, why), "nobody is asked to keep it for ever"
        late = await cluster.execution(sent.id)
        assert late.late_code is None
        assert await cluster.db.read(notes_of, sent.id) == []


async def test_who_was_not_sent_an_execution_cannot_say_when_it_began(tmp_path: Path, handlers: Handlers) -> None:
    async with Cluster(tmp_path, handlers) as cluster:
        sent = await _open_one(cluster)
        assert sent.incarnation is not None
        (waiting,) = cluster.executors[0].outbox.waiting()
        take = cluster.coordinators[0].work.beginnings.take
        for key, phase in ((None, sent.phase), (OTHER_KEY, sent.phase), (waiting.report_key, Phase.RUNNING)):
            word = Begun(log_id=sent.id, start_time=1, report_key=key)
            assert await take(BegunReport(incarnation=sent.incarnation, begun=(word,))) == set()
            assert (await cluster.execution(sent.id)).phase is phase


async def test_the_key_survives_a_restart_in_another_process_at_another_address(
    tmp_path: Path, handlers: Handlers
) -> None:
    async with Cluster(tmp_path, handlers) as cluster:
        sent = await _open_one(cluster)
        (old,) = cluster.executors
        cluster.kill_executor(old)
        moved = cluster.add_executor(at=old)
        assert len(moved.outbox) == 1
        await cluster.advance(seconds=60)
        assert (await cluster.execution(sent.id)).status is Status.SUCCESS


async def test_an_executor_without_report_keys_reports_with_the_trigger_time(
    tmp_path: Path, handlers: Handlers, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tuple(one for one in EXTENSIONS if one != Extension.REPORT_KEY)
    monkeypatch.setattr("orth.executor.runtime.EXTENSIONS", known)
    async with Cluster(tmp_path, handlers) as cluster:
        sent = await _open_one(cluster)
        (waiting,) = cluster.executors[0].outbox.waiting()
        assert waiting.report_key is None
        assert b"reportKey" not in put_record(waiting)
        said = {"log_id": sent.id, "log_date_time": sent.trigger_time, "handle_code": 200}
        verdict, why = await _take(cluster.coordinators[0], **said)
        assert (verdict.verdict, why) == (Verdict.STORED, None)


async def test_a_batch_with_one_forged_result_stores_the_others(tmp_path: Path, handlers: Handlers) -> None:
    async with Cluster(tmp_path, handlers) as cluster:
        job = await cluster.job(start=False, executor_handler="work")
        ids = [await cluster.trigger(job) for _ in range(3)]
        coordinators = cluster.network.coordinators[:]
        cluster.network.coordinators.clear()
        await cluster.advance(seconds=0)
        cluster.network.coordinators.extend(coordinators)
        items = cluster.executors[0].outbox.waiting()
        assert [item.log_id for item in items] == ids
        forged = [items[0], items[1].model_copy(update={"report_key": items[0].report_key}), items[2]]
        judged = await cluster.coordinators[0].work.callbacks.take(forged)
        assert [one.verdict for one in judged.verdicts] == [Verdict.STORED, Verdict.RETRY, Verdict.STORED]
        assert judged.unproved == {ids[1]: Unproved.WRONG}
        honest_after_forged = [items[1].model_copy(update={"report_key": None, "handle_code": 500}), items[1]]
        judged = await cluster.coordinators[0].work.callbacks.take(honest_after_forged)
        assert [one.verdict for one in judged.verdicts] == [Verdict.RETRY, Verdict.STORED]
        assert (await cluster.execution(ids[1])).status is Status.SUCCESS


async def test_a_lost_answer_is_asked_for_with_the_same_key(tmp_path: Path, handlers: Handlers) -> None:
    async with Cluster(tmp_path, handlers) as cluster:
        job = await cluster.job(start=False, executor_handler="work")
        cluster.set_line(cluster.executors[0], Line.LOST_REQUESTS)
        one = await cluster.trigger(job)
        await cluster.advance(seconds=0)
        assert (await cluster.execution(one)).phase is Phase.UNKNOWN
        cluster.set_line(cluster.executors[0], Line.UP)
        await cluster.advance(seconds=120)
        assert (await cluster.execution(one)).status is Status.SUCCESS


def test_a_key_is_of_one_execution_of_one_database() -> None:
    ours, others = ReportKeys("a secret"), ReportKeys("another")
    key = ours.key_of(7, 1_000)
    assert ours.fits(key, 7, 1_000)
    assert not any((ours.fits(key, 8, 1_000), ours.fits(key, 7, 1_001), others.fits(key, 7, 1_000)))
    assert not ours.fits("\udcff", 7, 1_000)
    assert key not in repr(CallbackItem(log_id=7, handle_code=200, report_key=key))


async def test_a_term_that_sends_without_a_key_asks_for_none(tmp_path: Path, handlers: Handlers) -> None:
    """One of an earlier version writes its own term, and not the column that it does not know."""
    async with Cluster(tmp_path, handlers, executors=0) as cluster:
        (one,) = [await cluster.trigger(await cluster.job(start=False, executor_handler="work"))]

        def sent(connection: Connection) -> Sent:
            return sent_among(connection, [one])[one]

        now = cluster.clock.now()
        await cluster.db.tx(assign_executions, [Assignment(one, "http://a:1", "p", "", keyed=True)], 1, now)
        assert (await cluster.db.read(sent)).keyed
        await cluster.db.tx(put_back, [one], now, "", 1, now)
        earlier = Assignment(one, "http://b:1", "q", "")
        await cluster.db.tx(_assign_as_before, earlier, 2, now)
        assert not (await cluster.db.read(sent)).keyed


def _assign_as_before(connection: Connection, assignment: Assignment, epoch: int, now: int) -> None:
    kept = connection.exec_driver_sql("SELECT keyed_epoch FROM orth_job_log").scalar_one()
    assign_executions(connection, [assignment], epoch, now)
    connection.exec_driver_sql(f"UPDATE orth_job_log SET keyed_epoch = {kept}")


# --- queues


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[QueueSite]:
    async with QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path) as site:
        yield site


async def _refusals(site: QueueSite) -> list[str]:
    entries = await site.db.read(newest_entries, Wanted(action="callback.refused"), None, 100)
    return [entry.object_id for entry in entries]


@pytest.mark.parametrize("standing", [Standing.COMPLETED, Standing.REFUSED, Standing.RETURNED, Standing.RUNNING])
async def test_nobody_else_speaks_for_what_was_taken_from_a_queue(site: QueueSite, standing: Standing) -> None:
    one = await site.trigger(await site.job())
    async with Worker(site.channels) as worker, Worker(site.channels, name="thief", has_keys=False) as thief:
        (dispatch,) = await worker.take()
        await worker.accept(dispatch)
        await site.until(one, lambda row: row.incarnation == worker.incarnation)
        if standing is Standing.RETURNED:
            thief.incarnation = worker.incarnation  # it is no secret
        if standing is Standing.COMPLETED:
            await thief.finish(dispatch)
        else:
            await thief.say(dispatch, standing)
        await eventually(lambda: _refusals(site), lambda found: found == [str(one)])
        still = await site.execution(one)
        assert (still.status, still.incarnation, still.phase) == (Status.PENDING, worker.incarnation, Phase.DISPATCHED)
        await worker.finish(dispatch, message="mine")
        ended = await site.until(one, lambda row: row.phase is Phase.ENDED)
        assert (ended.status, ended.handle_msg) == (Status.SUCCESS, "mine")


@pytest.mark.parametrize("key", [None, OTHER_KEY])
async def test_nobody_else_writes_the_log_of_what_was_taken_from_a_queue(site: QueueSite, key: str | None) -> None:
    """Neither before its executor does, nor lines far behind, nor its end: not while it runs and not in the archive."""
    one = await site.trigger(await site.job())
    logs = site.coordinators[0].records.logs
    async with Worker(site.channels) as worker, Worker(site.channels, name="thief", has_keys=key is not None) as thief:
        (dispatch,) = await worker.take()
        stolen = dispatch.model_copy(update={"trigger": dispatch.trigger.model_copy(update={"report_key": key})})
        await thief.log(stolen, 1, "forged\nforged\nforged", end=True)
        await worker.accept(dispatch)
        await site.until(one, lambda row: row.incarnation == worker.incarnation)
        await worker.log(dispatch, 1, "true")
        await thief.log(stolen, 5_000, "forged", end=True)
        page = await logs.page(await logs.source(one), 1)
        assert (list(page.lines.texts), page.end) == (["true"], False)
        await worker.log(dispatch, 2, "true as well", end=True)
        await worker.finish(dispatch)
        await site.until(one, lambda row: row.phase is Phase.ENDED)
        source = await eventually(lambda: logs.source(one), lambda found: found.archived is not None)
        kept = await logs.page(source, 1)
        assert (list(kept.lines.texts), kept.end, kept.archived) == (["true", "true as well"], True, True)


@pytest.mark.parametrize("taken", [False, True])
async def test_nobody_speaks_without_the_key_for_what_waits_in_a_queue(site: QueueSite, *, taken: bool) -> None:
    """Not even a process that beats, has never announced keys, and to which the work might well have gone."""
    one = await site.trigger(await site.job())
    node = site.coordinators[0]
    async with Worker(site.channels, name="thief", has_keys=False) as thief:
        workers = node.queues.workers
        await eventually(lambda: asyncio.sleep(0, workers.process(thief.incarnation)), lambda known: known is not None)
        await site.until(one, lambda row: row.offered_at is not None)
        (dispatch,) = await thief.take(done=taken)
        await thief.accept(dispatch)
        await thief.log(dispatch, 1, "forged", end=True)
        await thief.finish(dispatch, message="forged")
        await eventually(lambda: _refusals(site), lambda found: str(one) in found)
        forged = CallbackItem(log_id=one, handle_code=200, handle_msg="forged", incarnation=thief.incarnation)
        judged = await node.work.callbacks.take([forged])
        assert judged.unproved == {one: Unproved.MISSING}
        still = await site.execution(one)
        assert (still.status, still.incarnation, still.handle_msg) == (Status.INIT, None, None)


async def test_a_box_is_read_through_a_coordinator_without_the_keys(site: QueueSite) -> None:
    one = await site.trigger(await site.job())
    async with Worker(site.channels) as worker:
        (dispatch,) = await worker.take()
        key = dispatch.trigger.report_key
        assert key is not None
        await worker.accept(dispatch)
        await site.until(one, lambda row: row.incarnation == worker.incarnation)
        box = NAMES.status(dispatch.job_id, one)
        door = site.coordinators[0].queues.door
        shown = await door.verbs["read"](Read(after={box: ""}), Guest())
        assert box in str(shown)
        assert key not in str(shown)
        await worker.finish(dispatch)
        await site.until(one, lambda row: row.phase is Phase.ENDED)
