import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from orth.domain.jobs import GlueType
from orth.executor import admission as admission_module
from orth.executor import outbox as outbox_module
from orth.executor.context import JobContext
from orth.executor.facts import TriggerRefused
from orth.executor.handlers import Handlers
from orth.executor.run_logs import LATEST_INSTANT
from orth.wire.dialects import Malformed
from orth.wire.messages import UNAVAILABLE, IdleBeatRequest
from tests.executor.bench import NOON, Rig, eventually, request
from tests.executor.conftest import MakeRig


class Busy:
    """A rig whose job 1 is running execution 1 until it is released."""

    def __init__(self, app: Handlers, rig: MakeRig, **settings: object) -> None:
        self.release = threading.Event()
        self.started: list[int] = []

        @app.job
        def hold(ctx: JobContext) -> None:
            self.started.append(ctx.log_id)
            assert self.release.wait(20)

        self.ran: Rig = rig(**settings)
        assert self.ran.run(1, "hold").ok
        eventually(lambda: self.started == [1])

    def finish(self) -> None:
        self.release.set()
        assert self.ran.runtime.join_idle(10)


def test_an_unknown_handler_is_refused_with_the_known_ones(app: Handlers, rig: MakeRig) -> None:
    app.job("hello")(lambda: None)
    app.job("other")(lambda: None)
    ran = rig()
    reply = ran.run(1, "helo")
    assert (reply.code, reply.msg) == (500, "Refused: there is no handler 'helo' here; known: hello, other.")
    assert [(told.log_id, told.job_id) for told in ran.ears.of(TriggerRefused)] == [(1, 1)]
    assert len(ran.runtime.outbox) == 0, "what is refused gives no result"


def test_a_trigger_of_another_application_is_misdirected(app: Handlers, rig: MakeRig) -> None:
    started: list[int] = []
    app.job("hello")(lambda ctx: started.append(ctx.log_id))
    ran = rig()
    own = ran.runtime.settings.app_name
    reply = ran.run(1, "hello", app_name="another")
    assert (reply.code, reply.msg) == (421, f"Refused: this is an executor of {own}, not of another.")
    assert ran.result(2, "hello", app_name=own).handle_code == 200
    assert ran.result(3, "hello").handle_code == 200, "whoever does not say is taken at its word"
    (answer,) = ran.runtime.admission.run_all([request(4, "hello", app_name="another")])
    assert (answer.log_id, answer.code) == (4, 421)
    assert started == [2, 3]


@pytest.mark.parametrize("kind", [kind for kind in GlueType if kind is not GlueType.BEAN])
def test_scripts_are_refused(app: Handlers, rig: MakeRig, kind: GlueType) -> None:
    app.job("hello")(lambda: None)
    reply = rig().run(1, "hello", glue_type=kind)
    assert not reply.ok
    assert str(reply.msg).startswith((f"Refused: {kind} is not allowed on", f"Refused: {kind} is not supported by"))


@pytest.mark.parametrize("field", ["log_date_time", "schedule_time"])
def test_times_no_calendar_has_are_refused(app: Handlers, rig: MakeRig, field: str) -> None:
    app.job("hello")(lambda: None)
    ran = rig()
    assert not ran.run(1, "hello", **{field: LATEST_INSTANT + 1}).ok
    assert ran.result(1, "hello", schedule_time=LATEST_INSTANT).handle_code == 200


@pytest.mark.parametrize(("index", "total"), [(1, 1), (3, 3), (7, 2)])
def test_a_shard_that_cannot_be_is_refused(app: Handlers, rig: MakeRig, index: int, total: int) -> None:
    app.job("hello")(lambda: None)
    ran = rig()
    refused = ran.run(1, "hello", broadcast_index=index, broadcast_total=total)
    assert (refused.code, refused.msg) == (500, f"Refused: there is no shard {index} of {total}; the first is 0.")
    assert ran.result(2, "hello", broadcast_index=total - 1, broadcast_total=total).handle_code == 200


def test_discard_later_refuses_while_busy_and_serves_when_idle(app: Handlers, rig: MakeRig) -> None:
    busy = Busy(app, rig)
    refused = busy.ran.run(2, "hold", executor_block_strategy="DISCARD_LATER")
    assert not refused.ok
    assert "is busy here" in str(refused.msg)
    assert busy.ran.run(3, "hold", job_id=2, executor_block_strategy="DISCARD_LATER").ok, "busyness is per job"
    busy.finish()
    assert busy.ran.run(4, "hold", executor_block_strategy="DISCARD_LATER").ok
    busy.finish()
    assert sorted(busy.started) == [1, 3, 4]


def test_the_queue_of_a_job_has_a_limit(app: Handlers, rig: MakeRig) -> None:
    busy = Busy(app, rig, queue_limit=2)
    assert [busy.ran.run(log_id, "hold").ok for log_id in (2, 3, 4)] == [True, True, False]
    assert "queue full" in str(busy.ran.run(5, "hold").msg)
    assert busy.ran.run(6, "hold", job_id=2).ok
    busy.finish()
    assert sorted(busy.started) == [1, 2, 3, 6]


def test_a_repeated_request_is_answered_with_its_standing_and_not_run_again(app: Handlers, rig: MakeRig) -> None:
    busy = Busy(app, rig)
    assert busy.ran.run(2, "hold").ok
    standing = {log_id: busy.ran.run(log_id, "hold") for log_id in (1, 2)}
    assert [reply.ok for reply in standing.values()] == [True, True]
    assert [reply.msg for reply in standing.values()] == [
        "Execution 1 is here already: running.",
        "Execution 2 is here already: queued.",
    ]
    busy.finish()
    assert busy.ran.run(1, "hold", resend_to="this-process").msg == "Execution 1 is here already: ended with 200."
    busy.finish()
    assert busy.started == [1, 2]


def test_one_request_arriving_many_times_at_once_starts_once(app: Handlers, rig: MakeRig) -> None:
    started: list[int] = []
    app.job("count")(lambda: started.append(1))
    ran = rig()
    together = threading.Barrier(8)

    def send(_: int) -> bool:
        together.wait(10)
        return ran.run(7, "count").ok

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(send, range(8))) == [True] * 8
    assert ran.runtime.join_idle(10)
    assert started == [1]
    assert [item.log_id for item in ran.runtime.outbox.waiting()] == [7]


def test_what_the_predecessor_left_in_the_outbox_is_not_run_again(app: Handlers, rig: MakeRig) -> None:
    started: list[int] = []
    app.job("count")(lambda: started.append(1))
    first = rig()
    first.result(7, "count")
    first.runtime.close()
    second = rig()
    reply = second.run(7, "count", resend_to="another-process")
    assert (reply.ok, reply.msg) == (True, "Execution 7 is here already: ended, its result is being delivered.")
    assert started == [1]


def test_a_repetition_meant_for_another_incarnation_is_never_run(app: Handlers, rig: MakeRig) -> None:
    started: list[int] = []
    app.job("count")(lambda: started.append(1))
    ran = rig()
    reply = ran.run(7, "count", resend_to="another-process")
    assert not reply.ok
    assert "another incarnation (this-process), which never had it" in str(reply.msg)
    assert ran.result(8, "count", resend_to="this-process").handle_code == 200
    assert started == [1]


def test_once_closed_only_the_known_is_answered_yes(app: Handlers, rig: MakeRig) -> None:
    busy = Busy(app, rig)
    busy.ran.runtime.admission.close()
    assert busy.ran.run(1, "hold").ok
    refused = busy.ran.run(2, "hold")
    assert (refused.code, refused.msg) == (UNAVAILABLE, "Refused: this executor is stopping.")
    assert busy.ran.run(2, "no such handler").code == UNAVAILABLE, "no verdict on the job"
    announced = busy.ran.runtime.announced().orth
    assert announced is not None
    assert announced.unavailable == "leaving"
    busy.finish()


def test_no_work_is_taken_while_results_have_no_room(
    app: Handlers, rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_module, "COUNT_LIMIT", 1)
    app.job("hello")(lambda: None)
    ran = rig()
    ran.result(1, "hello")
    refused = ran.run(2, "hello")
    assert refused.code == UNAVAILABLE
    assert "no room for more" in str(refused.msg)
    assert ran.runtime.health()["status"] != "ok"


def test_what_runs_and_waits_counts_as_results_to_come(
    app: Handlers, rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (admission_module, outbox_module):
        monkeypatch.setattr(module, "COUNT_LIMIT", 3)
    busy = Busy(app, rig)
    assert busy.ran.run(2, "hold").ok
    assert busy.ran.run(3, "hold", job_id=2).ok
    refused = busy.ran.run(4, "hold")
    assert str(refused.msg) == (
        "Refused: 3 executions are here and 0 results wait for a coordinator; there is no room for more."
    )
    assert busy.ran.run(3, "hold", job_id=2).ok, "what is known here is not new work"
    busy.finish()
    assert len(busy.ran.runtime.outbox) == 3, "the cap holds when all of them have ended"
    assert not busy.ran.run(4, "hold").ok


def test_an_idle_beat_is_about_one_job(app: Handlers, rig: MakeRig) -> None:
    busy = Busy(app, rig)
    admission = busy.ran.runtime.admission
    assert not admission.idle_beat(IdleBeatRequest(job_id=1)).ok
    assert admission.idle_beat(IdleBeatRequest(job_id=2)).ok
    busy.finish()
    assert admission.idle_beat(IdleBeatRequest(job_id=1)).ok


def test_a_batch_is_decided_in_one_go_and_item_by_item(app: Handlers, rig: MakeRig) -> None:
    busy = Busy(app, rig)
    batch = [
        request(2, "hold", job_id=2, executor_block_strategy="DISCARD_LATER"),
        request(3, "hold", job_id=2, executor_block_strategy="DISCARD_LATER"),
        Malformed(4, "jobId: Field required"),
        request(1, "hold"),
        request(5, "nobody"),
    ]
    answers = busy.ran.runtime.admission.run_all(batch)
    assert [(answer.log_id, answer.code) for answer in answers] == [(2, 200), (3, 500), (4, 500), (1, 200), (5, 500)]
    assert "job 2 is busy here" in str(answers[1].msg), "the first of the batch has not begun, and counts"
    assert answers[2].msg == "Refused: jobId: Field required."
    assert answers[3].msg == "Execution 1 is here already: running."
    busy.finish()
    assert sorted(busy.started) == [1, 2]


def test_an_id_that_was_used_before_is_another_execution_when_its_time_is_another(app: Handlers, rig: MakeRig) -> None:
    app.job("hello")(lambda ctx: ctx.log_time)
    ran = rig()
    assert ran.result(1, "hello").handle_msg == str(NOON)
    assert "is here already" in str(ran.run(1, "hello").msg)
    later = NOON + 86_400_000
    waits = ran.run(1, "hello", job_id=7, log_date_time=later)
    assert waits.msg == "Refused: the result of another execution with the id 1 is still being delivered."
    asyncio.run(ran.runtime.outbox.flush(5))
    assert ran.run(1, "hello", job_id=7, log_date_time=later).ok
    assert ran.runtime.join_idle(10)
    assert ran.waiting()[1].handle_msg == str(later), "it was executed, and its result is its own"


@pytest.mark.parametrize("restarted", [False, True])
def test_an_id_that_was_used_before_is_another_execution_when_its_job_is_another(
    app: Handlers, rig: MakeRig, restarted: bool
) -> None:
    app.job("hello")(lambda ctx: ctx.job_id)
    ran = rig()
    ran.result(1, "hello", job_id=1)

    def successor() -> Rig:
        ran.runtime.close()
        return rig()

    if restarted:
        ran = successor()
    assert "is here already" in str(ran.run(1, "hello", job_id=1).msg)
    waits = ran.run(1, "hello", job_id=7)
    assert waits.msg == "Refused: the result of another execution with the id 1 is still being delivered."
    asyncio.run(ran.runtime.outbox.flush(5))
    if restarted:
        ran = successor()
    assert "is here already: ended with 200" in str(ran.run(1, "hello", job_id=1).msg)
    assert ran.result(1, "hello", job_id=7).handle_msg == "7"


def test_an_execution_whose_id_was_used_before_on_the_same_day_has_a_log_of_its_own(
    app: Handlers, rig: MakeRig
) -> None:
    app.job("hello")(lambda ctx: ctx.log(f"rows of job {ctx.job_id}\n" * 1500))
    ran = rig()
    ran.result(1, "hello", job_id=1)
    logs = ran.runtime.logs
    assert logs.tail(1, NOON, 1, finished=True).to_line > 1500
    asyncio.run(ran.runtime.outbox.flush(5))
    ran.result(1, "hello", job_id=7)
    assert "job 7" in ran.text(1)
    assert "job 1\n" not in ran.text(1)
    page = logs.read(1, NOON, 1, finished=True)
    assert (page.from_line, "job 7" in page.content) == (1, True)
    assert 1500 < logs.tail(1, NOON, 1, finished=True).to_line < 2000, "the index is that of the new log"
    kept = logs.path_of(1, NOON).with_name(f"1.{NOON}.log")
    assert kept.read_text().count("rows of job 1\n") == 1500


def test_an_id_is_refused_while_another_execution_has_it(app: Handlers, rig: MakeRig) -> None:
    busy = Busy(app, rig)
    assert "is here already: running" in str(busy.ran.run(1, "hold").msg)
    reply = busy.ran.run(1, "hold", log_date_time=NOON + 86_400_000)
    assert reply.msg == "Refused: another execution, triggered at another time, is here under the id 1."
    reply = busy.ran.run(1, "hold", job_id=7)
    assert reply.msg == "Refused: another execution, of job 1, is here under the id 1."
    busy.finish()
