"""What one job does with its triggers: block strategies, threads, kill, time limits, and what cannot be ended."""

import sqlite3
import threading
import time
from typing import Any

import pytest

from orth.executor.context import JobContext
from orth.executor.facts import AbandonedReturned, ExecutionAbandoned, ThreadMissing
from orth.executor.handlers import Handlers
from orth.executor.job_thread import concurrency_of
from orth.wire.messages import IdleBeatRequest, KillRequest
from tests.executor.bench import HandClock, Rig, eventually, request
from tests.executor.conftest import MakeRig
from tests.executor.gates import Gates

CONCURRENT = {"executor_block_strategy": "CONCURRENT", "executor_concurrency": 3}
COVER = {"executor_block_strategy": "COVER_EARLY"}
DISCARD = {"executor_block_strategy": "DISCARD_LATER"}
KILLED = "it was killed on request."


@pytest.fixture
def gates(app: Handlers) -> Gates:
    return Gates(app)


def ended(ran: Rig) -> dict[int, tuple[int, str]]:
    assert ran.runtime.join_idle(10)
    return {log_id: (item.handle_code, item.handle_msg) for log_id, item in ran.waiting().items()}


def is_idle(ran: Rig, job_id: int = 1) -> bool:
    return ran.runtime.admission.idle_beat(IdleBeatRequest(job_id=job_id)).ok


def kill(ran: Rig, job_id: int = 1, log_id: int | None = None) -> str:
    reply = ran.runtime.admission.kill(KillRequest(job_id=job_id, log_id=log_id))
    assert reply.ok
    return str(reply.msg)


def with_two_waiting(ran: Rig, gates: Gates, how: dict[str, Any], at_once: int) -> Rig:
    """As many of one job as may run at once run, and two more wait."""
    for log_id in range(1, at_once + 3):
        ran.run(log_id, "patient", **how)
    gates.wait_for(*range(1, at_once + 1))
    return ran


def threads_of(job_id: int) -> list[str]:
    return sorted(t.name for t in threading.enumerate() if t.name.startswith(f"orth-job-{job_id}-"))


# --- the behaviour table: serial beside concurrent, row by row


@pytest.mark.parametrize(("how", "at_once"), [({}, 1), (CONCURRENT, 3)])
class TestBehaviour:
    def test_who_executes(self, rig: MakeRig, gates: Gates, how: dict[str, Any], at_once: int) -> None:
        ran = rig()
        for log_id in (1, 2, 3, 4):
            ran.run(log_id, "patient", **how)
        gates.wait_for(*range(1, at_once + 1))
        assert len(threads_of(1)) == at_once
        gates.let(1, 2, 3, 4)
        names = {message for _, message in ended(ran).values()}
        assert "orth-job-1-patient" in names
        assert gates.most_inside[1] == at_once

    def test_busy_means_running_or_queued(self, rig: MakeRig, gates: Gates, how: dict[str, Any], at_once: int) -> None:
        ran = rig()
        for log_id in range(1, at_once + 2):
            ran.run(log_id, "patient", **how)
        gates.wait_for(*range(1, at_once + 1))
        assert ran.runtime.threads.load_of(1) == at_once + 1
        gates.let(*range(1, at_once + 1))
        gates.wait_for(at_once + 1)
        assert not is_idle(ran)
        gates.let(at_once + 1)
        ended(ran)
        eventually(lambda: is_idle(ran))

    def test_idle_only_when_nothing_runs_or_waits(
        self, rig: MakeRig, gates: Gates, clock: HandClock, how: dict[str, Any], at_once: int
    ) -> None:
        ran = rig(clock=clock)
        for log_id in range(1, at_once + 1):
            ran.run(log_id, "patient", **how)
        gates.wait_for(*range(1, at_once + 1))
        clock.advance(1000)
        ran.runtime.threads.retire_idle(90)
        assert len(threads_of(1)) == at_once
        gates.let(*range(1, at_once + 1))
        ended(ran)
        eventually(lambda: is_idle(ran))
        clock.advance(90)
        ran.runtime.threads.retire_idle(90)
        eventually(lambda: not threads_of(1))

    def test_each_execution_has_its_context_and_its_callback(
        self, app: Handlers, rig: MakeRig, how: dict[str, Any], at_once: int
    ) -> None:
        app.job("echo")(lambda ctx: ctx.log("this is {}", ctx.log_id) or ctx.param)
        ran = rig()
        for log_id in range(1, 21):
            ran.run(log_id, "echo", executor_params=f"p{log_id}", **how)
        assert ended(ran) == {log_id: (200, f"p{log_id}") for log_id in range(1, 21)}, f"{at_once} at once"
        assert all(ran.text(log_id).count("this is ") == 1 for log_id in range(1, 21))
        assert all(f"this is {log_id}\n" in ran.text(log_id) for log_id in range(1, 21))

    def test_stopping_ends_running_and_queued(
        self, rig: MakeRig, gates: Gates, how: dict[str, Any], at_once: int
    ) -> None:
        ran = with_two_waiting(rig(), gates, how, at_once)
        assert ran.runtime.threads.drain(0.01) == at_once
        told = ended(ran)
        assert [code for code, _ in told.values()] == [500] * (at_once + 2)
        assert sum("Cut short" in message for _, message in told.values()) == at_once
        assert sum("Not executed" in message for _, message in told.values()) == 2
        assert not threads_of(1)
        assert len(gates.left) == at_once, "the handlers themselves were ended too"

    def test_stopping_can_finish_the_queue_first(
        self, rig: MakeRig, gates: Gates, how: dict[str, Any], at_once: int
    ) -> None:
        ran = with_two_waiting(rig(), gates, how, at_once)
        everyone = range(1, at_once + 3)
        gates.let(*everyone)
        assert ran.runtime.threads.drain(10, finish_queue=True) == 0
        assert {log_id: code for log_id, (code, _) in ended(ran).items()} == dict.fromkeys(everyone, 200)

    def test_what_waits_longer_than_a_stop_may_take_is_not_executed(
        self, rig: MakeRig, gates: Gates, how: dict[str, Any], at_once: int
    ) -> None:
        ran = with_two_waiting(rig(), gates, how, at_once)
        assert ran.runtime.threads.drain(0.05, finish_queue=True) == at_once
        told = ended(ran)
        assert sum("Not executed: the executor stopped" in message for _, message in told.values()) == 2

    def test_init_and_destroy_once(self, app: Handlers, rig: MakeRig, how: dict[str, Any], at_once: int) -> None:
        story: list[tuple[str, str]] = []
        together = threading.Barrier(at_once)

        @app.job("life")
        class Life:
            def init(self) -> None:
                story.append(("init", threading.current_thread().name))
                self.kept = sqlite3.connect(":memory:")

            def execute(self) -> None:
                together.wait(10)

            def destroy(self) -> None:
                self.kept.close()  # only the thread that has opened it can
                story.append(("destroy", threading.current_thread().name))

        ran = rig()
        for round_begins in range(1, 100, 2 * at_once):
            for log_id in range(round_begins, round_begins + 2 * at_once):
                ran.run(log_id, "life", **how)
            ended(ran)
            eventually(lambda: is_idle(ran))
            ran.runtime.threads.retire_idle(0)
            eventually(lambda: not threads_of(1))
            assert [what for what, _ in story] == ["init", "destroy"]
            assert len({thread for _, thread in story}) == 1
            story.clear()


class Connection:
    """A handler that holds something only the thread of its ``init`` can let go of; its executions end when told."""

    def __init__(self, app: Handlers) -> None:
        self.begun: dict[int, str] = {}
        self.may_end = {log_id: threading.Event() for log_id in range(1, 20)}
        self.story: list[tuple[str, str]] = []
        outer = self

        @app.job("connected")
        class Connected:
            def init(self) -> None:
                outer.story.append(("init", threading.current_thread().name))
                self.kept = sqlite3.connect(":memory:")

            def execute(self, ctx: JobContext) -> None:
                outer.begun[ctx.log_id] = threading.current_thread().name
                outer.may_end[ctx.log_id].wait(10)

            def destroy(self) -> None:
                self.kept.close()
                outer.story.append(("destroy", threading.current_thread().name))

    def wait_for(self, *log_ids: int) -> None:
        eventually(lambda: self.begun.keys() >= set(log_ids))

    def let(self, *log_ids: int) -> None:
        for log_id in log_ids:
            self.may_end[log_id].set()

    @property
    def maker(self) -> str:
        return self.story[0][1]

    def in_order(self, log_ids: list[int], *, maker_first: bool) -> list[int]:
        return sorted(log_ids, key=lambda log_id: (self.begun[log_id] == self.maker) is not maker_first)


@pytest.mark.parametrize("maker_first", [True, False])
def test_fewer_at_once_leave_the_thread_of_init(app: Handlers, rig: MakeRig, maker_first: bool) -> None:
    connection, ran = Connection(app), rig()
    for log_id in (1, 2, 3):
        ran.run(log_id, "connected", **CONCURRENT)
    connection.wait_for(1, 2, 3)
    for log_id in (4, 5):
        ran.run(log_id, "connected", executor_block_strategy="CONCURRENT", executor_concurrency=1)
    for log_id in connection.in_order([1, 2, 3], maker_first=maker_first):
        connection.let(log_id)
        eventually(lambda log_id=log_id: log_id in ran.waiting())
    connection.let(4, 5)
    ended(ran)
    eventually(lambda: threads_of(1) == [connection.maker])
    eventually(lambda: is_idle(ran))
    ran.runtime.threads.retire_idle(0)
    eventually(lambda: not threads_of(1))
    assert connection.story == [("init", connection.maker), ("destroy", connection.maker)]


def test_fewer_at_once_while_the_others_sleep(app: Handlers, rig: MakeRig) -> None:
    connection, ran = Connection(app), rig()
    for log_id in (1, 2, 3):
        ran.run(log_id, "connected", **CONCURRENT)
    connection.wait_for(1, 2, 3)
    connection.let(*range(1, 20))
    ended(ran)
    for log_id in range(4, 12):
        ran.run(log_id, "connected", executor_block_strategy="CONCURRENT", executor_concurrency=1)
    assert {code for code, _ in ended(ran).values()} == {200}
    ran.runtime.threads.drain(5)
    eventually(lambda: not threads_of(1))
    assert connection.story == [("init", connection.maker), ("destroy", connection.maker)]


@pytest.mark.parametrize("maker_first", [True, False])
def test_draining_destroys_in_the_thread_of_init(app: Handlers, rig: MakeRig, maker_first: bool) -> None:
    connection, ran = Connection(app), rig()
    for log_id in (1, 2, 3):
        ran.run(log_id, "connected", **CONCURRENT)
    connection.wait_for(1, 2, 3)
    draining = threading.Thread(target=ran.runtime.threads.drain, args=(10,))
    draining.start()
    for log_id in connection.in_order([1, 2, 3], maker_first=maker_first):
        connection.let(log_id)
        eventually(lambda log_id=log_id: log_id in ran.waiting())
    draining.join(10)
    eventually(lambda: not threads_of(1))
    assert connection.story == [("init", connection.maker), ("destroy", connection.maker)]


def test_who_cannot_be_ended_does_not_keep_the_thread_of_init(app: Handlers, rig: MakeRig) -> None:
    connection, ran = Connection(app), rig(kill_grace=0.1)
    for log_id in (1, 2):
        ran.run(log_id, "connected", **CONCURRENT)
    connection.wait_for(1, 2)
    mine, other = connection.in_order([1, 2], maker_first=True)
    connection.let(mine)
    eventually(lambda: mine in ran.waiting())
    ran.runtime.threads.drain(0.05)
    eventually(lambda: connection.maker not in threads_of(1))
    connection.let(other)
    eventually(lambda: not threads_of(1))


# --- block strategies


@pytest.mark.parametrize(
    ("strategy", "asked", "allowed"),
    [
        ("CONCURRENT", 3, 3),
        ("CONCURRENT", 0, 1),
        ("CONCURRENT", 64, 64),
        ("SERIAL_EXECUTION", 8, 1),
        ("COVER_EARLY", 8, 1),
        ("DISCARD_LATER", 8, 1),
        ("SOMETHING_NEW", 8, 1),
    ],
)
def test_how_many_at_once(strategy: str, asked: int, allowed: int) -> None:
    sent = request(1, "x", executor_block_strategy=strategy, executor_concurrency=asked)
    assert concurrency_of(sent) == allowed


def test_covering_ends_the_running_reports_the_queued_and_runs_the_new(rig: MakeRig, gates: Gates) -> None:
    ran = rig()
    ran.run(1, "patient")
    ran.run(2, "patient")
    gates.wait_for(1)
    assert ran.run(3, "patient", **COVER).ok
    gates.wait_for(3)
    gates.let(3)
    because = "execution 3 covers it, as the block strategy COVER_EARLY says."
    assert ended(ran) == {
        1: (500, f"Ended: {because}"),
        2: (500, f"Not executed: {because}"),
        3: (200, "orth-job-1-patient"),
    }
    assert gates.most_inside[1] == 1, "it began when the other was gone"
    assert f"--- being ended. Ended: {because}" in ran.text(1)


def test_of_many_that_cover_each_other_the_last_one_runs(rig: MakeRig, gates: Gates) -> None:
    ran = rig()
    ran.run(1, "polite", **COVER)
    gates.wait_for(1)
    for log_id in range(2, 30):
        assert ran.run(log_id, "polite", **COVER).ok
    gates.let(29)
    told = ended(ran)
    assert {log_id for log_id, (code, _) in told.items() if code == 200} == {29}
    assert len(told) == 29
    assert gates.most_inside[1] == 1


def test_covering_an_idle_job_ends_nothing(rig: MakeRig, gates: Gates) -> None:
    ran = rig()
    gates.let(1, 2)
    assert ran.result(1, "patient", **COVER).handle_code == 200
    assert ran.result(2, "patient", **COVER).handle_code == 200


def test_a_change_of_concurrency_resizes_without_killing(rig: MakeRig, gates: Gates) -> None:
    ran = rig()
    for log_id in (1, 2, 3):
        ran.run(log_id, "patient", **CONCURRENT)
    gates.wait_for(1, 2, 3)
    ran.run(4, "patient")
    gates.let(1, 2)
    eventually(lambda: {1, 2} <= set(gates.left))
    assert 4 not in gates.begun, "the limit is one now, and one still runs"
    gates.let(3)
    gates.wait_for(4)
    eventually(lambda: len(threads_of(1)) == 1)
    ran.run(5, "patient", **(CONCURRENT | {"executor_concurrency": 2}))
    gates.wait_for(5)
    gates.let(4, 5)
    assert [code for code, _ in ended(ran).values()] == [200] * 5


def test_another_handler_for_the_job_ends_what_the_old_one_had(rig: MakeRig, gates: Gates) -> None:
    ran = rig()
    ran.run(1, "patient")
    ran.run(2, "patient")
    gates.wait_for(1)
    assert ran.run(3, "polite", **DISCARD).ok, "the job is not that job any more, so it is not busy"
    gates.let(3)
    because = "execution 3 brought another handler or version for this job."
    assert ended(ran) == {
        1: (500, f"Ended: {because}"),
        2: (500, f"Not executed: {because}"),
        3: (200, "orth-job-1-polite-2"),
    }
    assert gates.most_inside[1] == 1


# --- kill


def test_killing_a_job_ends_all_of_it_and_nothing_else(rig: MakeRig, gates: Gates) -> None:
    ran = rig()
    for log_id in (1, 2, 3):
        ran.run(log_id, "patient")
    ran.run(4, "patient", job_id=2)
    gates.wait_for(1, 4)
    assert "1 running are being ended and 2 queued were removed" in kill(ran)
    assert "is being ended already" in kill(ran) or ran.runtime.threads.load_of(1) == 0
    gates.let(4)
    told = ended(ran)
    assert told[4][0] == 200
    assert told[1] == (500, f"Ended: {KILLED}")
    assert told[2] == told[3] == (500, f"Not executed: {KILLED}")
    gates.let(5)
    assert ran.result(5, "patient").handle_code == 200, "the job goes on"


def test_killing_one_execution_spares_its_siblings(rig: MakeRig, gates: Gates) -> None:
    ran = rig()
    for log_id in (1, 2, 3, 4, 5):
        ran.run(log_id, "patient", **CONCURRENT)
    gates.wait_for(1, 2, 3)
    assert "1 running are being ended and 0 queued" in kill(ran, log_id=2)
    gates.wait_for(4)
    assert "0 running are being ended and 1 queued" in kill(ran, log_id=5)
    assert "Nothing of execution 99" in kill(ran, log_id=99)
    assert "Nothing of execution 1 " in kill(ran, job_id=7, log_id=1), "it is no execution of job 7"
    gates.let(1, 3, 4)
    assert {log_id: code for log_id, (code, _) in ended(ran).items()} == {1: 200, 2: 500, 3: 200, 4: 200, 5: 500}


def test_a_result_that_came_first_is_not_changed_by_a_kill(rig: MakeRig, gates: Gates) -> None:
    ran = rig()
    gates.let(1)
    assert ran.result(1, "patient").handle_code == 200
    kill(ran)
    kill(ran, log_id=1)
    assert ended(ran)[1][0] == 200


# --- time limits


async def test_a_time_limit_ends_the_handler_after_its_result(rig: MakeRig, gates: Gates, clock: HandClock) -> None:
    ran = rig(clock=clock)
    began = clock.now()
    ran.run(1, "patient", executor_timeout=5)
    gates.wait_for(1)
    clock.advance(4.9)
    await ran.runtime.limits.turn()
    assert ran.waiting() == {}
    clock.advance(0.1)
    await ran.runtime.limits.turn()
    assert ended(ran) == {1: (502, "The execution took longer than its limit of 5 s.")}
    assert ran.waiting()[1].start_time == began
    eventually(lambda: gates.left == [1])
    eventually(lambda: is_idle(ran))
    assert "--- execution ends: 502" in ran.text(1)
    assert ran.ears.of(ExecutionAbandoned) == []
    assert len(ran.runtime.limits) == 0


async def test_a_limit_that_comes_late_says_that_the_process_stood_still(
    rig: MakeRig, gates: Gates, clock: HandClock
) -> None:
    ran = rig(clock=clock)
    ran.run(1, "patient", executor_timeout=5)
    gates.wait_for(1)
    clock.advance(44)  # nothing of this process could look at the clock meanwhile
    await ran.runtime.limits.turn()
    told = "It is ended 39 s late: this process stood still, as when code in C holds the interpreter."
    assert ended(ran) == {1: (502, f"The execution took longer than its limit of 5 s. {told}")}


def test_within_its_limit_an_execution_is_as_any_other(rig: MakeRig, gates: Gates) -> None:
    ran = rig()
    gates.let(1)
    ended_well = ran.result(1, "patient", executor_timeout=60)
    assert (ended_well.handle_code, ended_well.handle_msg) == (200, "orth-job-1-patient")
    assert len(ran.runtime.limits) == 0


# --- what cannot be ended


def abandon(ran: Rig, gates: Gates, log_id: int = 1) -> None:
    ran.run(log_id, "deaf")
    gates.wait_for(log_id)
    kill(ran)
    eventually(lambda: len(ran.runtime.tools.abandoned) == 1)


def named(ran: Rig) -> list[int]:
    """What the next beat says was left behind."""
    said = ran.runtime.announced().orth
    assert said is not None
    return [one.log_id for one in said.left_behind]


def test_what_does_not_end_is_left_behind_and_said_to_be(rig: MakeRig, gates: Gates) -> None:
    ran = rig(kill_grace=0.1)
    abandon(ran, gates)
    honest = "The handler did not end within 0.1 s; its thread is left behind and may still work."
    assert ended(ran) == {1: (500, f"Ended: {KILLED} {honest}")}
    assert honest in ran.text(1)
    assert [(told.log_id, told.thread) for told in ran.ears.of(ExecutionAbandoned)] == [(1, "orth-job-1-deaf")]
    assert ran.runtime.health()["abandoned"] == 1
    assert named(ran) == [1]
    assert "still inside: 1." in kill(ran)
    gates.let(1)
    assert ran.ears.wait(AbandonedReturned)[0].log_id == 1
    eventually(lambda: "the handler that was left behind has returned" in ran.text(1))
    assert ran.runtime.health()["abandoned"] == 0
    assert named(ran) == []
    assert len(ended(ran)) == 1, "what it returns now is no result"
    eventually(lambda: len(threads_of(1)) == 1)


def test_a_serial_job_waits_for_what_it_left_behind(rig: MakeRig, gates: Gates) -> None:
    ran = rig(kill_grace=0.05)
    abandon(ran, gates)
    assert ran.run(2, "deaf").ok
    assert not ran.run(3, "deaf", **DISCARD).ok
    assert not is_idle(ran)
    time.sleep(0.05)
    assert gates.begun == [1]
    gates.let(1, 2)
    assert ended(ran)[2][0] == 200
    assert gates.most_inside[1] == 1
    assert "still runs" not in ran.text(2)


async def test_it_does_not_wait_for_ever_and_says_so_in_both_logs(rig: MakeRig, gates: Gates, clock: HandClock) -> None:
    ran = rig(clock=clock, kill_grace=0.05, abandoned_hold=300.0)
    abandon(ran, gates)
    ran.run(2, "deaf")
    clock.advance(299)
    await ran.runtime.limits.turn()
    assert gates.begun == [1]
    clock.advance(1)
    await ran.runtime.limits.turn()
    gates.wait_for(2)
    assert "execution 1 of this job could not be ended: it still runs beside this one" in ran.text(2)
    assert "execution 2 of this job begins, this one still running" in ran.text(1)
    gates.let(1, 2)
    assert ended(ran)[2][0] == 200


async def test_a_job_is_not_forgotten_while_something_of_it_is_still_inside(
    rig: MakeRig, gates: Gates, clock: HandClock
) -> None:
    ran = rig(clock=clock, kill_grace=0.05, abandoned_hold=300.0)
    abandon(ran, gates)
    clock.advance(300)
    await ran.runtime.limits.turn()
    assert is_idle(ran)
    clock.advance(1000)
    assert ran.runtime.threads.retire_idle(90) is None
    assert "still inside: 1." in kill(ran)
    gates.let(2)
    assert ran.result(2, "deaf").handle_code == 200
    assert "execution 1 of this job could not be ended: it still runs beside this one" in ran.text(2)
    assert "execution 2 of this job begins, this one still running" in ran.text(1)
    gates.let(1)
    ran.ears.wait(AbandonedReturned)
    assert ran.runtime.threads.retire_idle(90) == 90, "idleness counts from its return"
    clock.advance(90)
    assert ran.runtime.threads.retire_idle(90) is None
    eventually(lambda: threads_of(1) == [])


def test_covering_does_not_wait_for_what_was_left_behind(rig: MakeRig, gates: Gates) -> None:
    ran = rig(kill_grace=0.05)
    abandon(ran, gates)
    gates.let(2)
    assert ran.result(2, "deaf", **COVER).handle_code == 200
    assert "execution 1 of this job could not be ended: it still runs beside this one" in ran.text(2)
    gates.let(1)


@pytest.mark.parametrize("how", [{}, COVER], ids=["serial", "cover"])
async def test_a_job_that_must_not_overlap_waits_until_what_was_left_behind_returns(
    rig: MakeRig, gates: Gates, clock: HandClock, how: dict[str, Any]
) -> None:
    ran = rig(clock=clock, kill_grace=0.05, abandoned_hold=300.0)
    abandon(ran, gates)
    ran.run(2, "deaf", overlap="cluster", **how)
    clock.advance(100_000)
    await ran.runtime.limits.turn()
    assert not is_idle(ran)
    assert not ran.run(3, "deaf", overlap="cluster", **DISCARD).ok
    assert gates.begun == [1]
    gates.let(1, 2)
    assert ended(ran)[2][0] == 200
    assert gates.most_inside[1] == 1


async def test_a_job_that_may_overlap_now_goes_on_beside_what_was_left_behind(
    rig: MakeRig, gates: Gates, clock: HandClock
) -> None:
    ran = rig(clock=clock, kill_grace=0.05, abandoned_hold=300.0)
    abandon(ran, gates)
    ran.run(2, "deaf", overlap="cluster")
    clock.advance(300)
    await ran.runtime.limits.turn()
    assert gates.begun == [1]
    ran.run(3, "deaf", overlap="executor")
    gates.wait_for(2)
    gates.let(1, 2, 3)
    assert {ended(ran)[one][0] for one in (2, 3)} == {200}


def test_one_left_behind_takes_one_of_the_places_of_a_concurrent_job(rig: MakeRig, gates: Gates) -> None:
    ran = rig(kill_grace=0.05)
    two = CONCURRENT | {"executor_concurrency": 2}
    ran.run(1, "deaf", **two)
    gates.wait_for(1)
    kill(ran)
    eventually(lambda: len(ran.runtime.tools.abandoned) == 1)
    ran.run(2, "deaf", **two)
    ran.run(3, "deaf", **two)
    gates.wait_for(2)
    time.sleep(0.05)
    assert 3 not in gates.begun
    gates.let(1)
    gates.wait_for(3)
    gates.let(2, 3)
    assert gates.most_inside[1] == 2
    assert [code for code, _ in ended(ran).values()] == [500, 200, 200]


def test_without_a_thread_the_others_do_the_work(rig: MakeRig, gates: Gates, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = rig()
    ran.run(1, "patient", **CONCURRENT)
    gates.wait_for(1)

    def no_more(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as exhausted:
        exhausted.setattr(threading.Thread, "start", no_more)
        assert ran.run(2, "patient", **CONCURRENT).ok
    assert ran.ears.of(ThreadMissing)[0].job_id == 1
    gates.let(1, 2)
    assert [code for code, _ in ended(ran).values()] == [200, 200]
