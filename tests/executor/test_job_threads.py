import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from orth.executor import job_threads as job_threads_module
from orth.executor.context import JobContext
from orth.executor.handlers import Handlers
from orth.executor.job_threads import IdleThreads
from tests.executor.bench import HandClock, Rig, eventually, request
from tests.executor.conftest import MakeRig


class Gate:
    """A handler that stands still until it is let go, and tells when it has begun."""

    def __init__(self, app: Handlers) -> None:
        self.begun = threading.Semaphore(0)
        self.go_on = threading.Semaphore(0)
        self.order: list[int] = []
        app.job("gate")(self.stand)

    def stand(self, ctx: JobContext) -> str:
        self.order.append(ctx.log_id)
        self.begun.release()
        assert self.go_on.acquire(timeout=20)
        return threading.current_thread().name


@pytest.fixture
def gate(app: Handlers) -> Gate:
    return Gate(app)


def started(gate: Gate) -> bool:
    return gate.begun.acquire(timeout=10)


def job_threads() -> Counter[str]:
    return Counter(thread.name for thread in threading.enumerate() if thread.name.startswith("orth-job-"))


def test_one_thread_per_job_in_the_order_of_arrival(rig: MakeRig, gate: Gate) -> None:
    ran = rig()
    for log_id in (1, 2, 3):
        assert ran.run(log_id, "gate", job_id=5).ok
    assert ran.run(4, "gate", job_id=6).ok
    assert started(gate)
    assert started(gate)
    assert (job_threads()["orth-job-5-gate"], job_threads()["orth-job-6-gate"]) == (1, 1)
    assert (ran.runtime.threads.load_of(5), ran.runtime.threads.load_of(6), ran.runtime.quiet()) == (3, 1, False)
    gate.go_on.release(4)
    assert ran.runtime.join_idle(10)
    assert [log_id for log_id in gate.order if log_id != 4] == [1, 2, 3]
    assert {item.handle_msg for item in ran.waiting().values()} == {"orth-job-5-gate", "orth-job-6-gate"}
    assert ran.runtime.quiet()


def test_join_idle_gives_up_after_its_time(rig: MakeRig, gate: Gate) -> None:
    ran = rig()
    ran.run(1, "gate")
    assert not ran.runtime.join_idle(0.01)
    gate.go_on.release()
    assert ran.runtime.join_idle(10)


async def test_an_idle_thread_is_retired_and_a_new_trigger_makes_another(
    app: Handlers, rig: MakeRig, clock: HandClock
) -> None:
    app.job("hello")(lambda: "x")
    ran = rig(clock=clock, idle_thread=90.0)
    retirement = next(loop for loop in ran.runtime.loops if isinstance(loop, IdleThreads))
    assert await retirement.turn() == 90
    ran.result(1, "hello")
    clock.advance(89)
    assert await retirement.turn() == 1
    assert ran.runtime.threads.thread_count() == 1
    clock.advance(1)
    assert await retirement.turn() == 90
    assert ran.runtime.threads.thread_count() == 0
    eventually(lambda: not job_threads())
    assert ran.result(2, "hello").handle_code == 200


async def test_a_busy_thread_is_never_retired(rig: MakeRig, gate: Gate, clock: HandClock) -> None:
    ran = rig(clock=clock, idle_thread=90.0)
    ran.run(1, "gate")
    assert started(gate)
    clock.advance(1000)
    assert ran.runtime.threads.retire_idle(90) is None
    assert ran.runtime.threads.thread_count() == 1
    gate.go_on.release()
    assert ran.runtime.join_idle(10)
    assert ran.runtime.threads.retire_idle(90) == 90, "idleness counts from the end of the work"


def test_triggers_racing_with_retirement_are_all_carried_out(app: Handlers, rig: MakeRig) -> None:
    app.job("hello")(lambda: "x")
    ran = rig()
    done = threading.Event()

    def retire_all_the_time() -> None:
        while not done.is_set():
            ran.runtime.threads.retire_idle(0)

    retiring = threading.Thread(target=retire_all_the_time)
    retiring.start()
    for log_id in range(300):
        assert ran.run(log_id, "hello").ok
    assert ran.runtime.join_idle(30)
    done.set()
    retiring.join()
    assert len(ran.waiting()) == 300


def test_draining_lets_the_running_end_and_reports_the_queued(rig: MakeRig, gate: Gate) -> None:
    ran = rig()
    for log_id in (1, 2, 3):
        ran.run(log_id, "gate")
    assert started(gate)
    ran.runtime.admission.close()
    with ThreadPoolExecutor(1) as pool:
        cut_short = pool.submit(ran.runtime.threads.drain, 10)
        eventually(lambda: len(ran.runtime.outbox) == 2)
        gate.go_on.release()
        assert cut_short.result(10) == 0
    ended = {log_id: (item.handle_code, item.handle_msg) for log_id, item in ran.waiting().items()}
    not_executed = (500, "Not executed: the executor stopped.")
    assert ended == {1: (200, "orth-job-1-gate"), 2: not_executed, 3: not_executed}
    eventually(lambda: not job_threads())


def test_what_outlives_the_drain_is_cut_short_and_reports_once(rig: MakeRig, gate: Gate) -> None:
    ran = rig()
    ran.run(1, "gate")
    assert started(gate)
    context = ran.runtime.tools.contexts[1]
    assert ran.runtime.threads.drain(0.05) == 1
    assert context.cancelled
    assert ran.waiting()[1].handle_msg.startswith("Cut short")
    assert "Cut short" in ran.text(1)
    gate.go_on.release()
    eventually(lambda: not job_threads())
    assert [item.handle_code for item in ran.runtime.outbox.waiting()] == [500]


def test_what_has_ended_is_remembered_within_a_bound(
    app: Handlers, rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_threads_module, "REMEMBERED", 2)
    monkeypatch.setattr(job_threads_module, "_FORGOTTEN", 0)
    app.job("hello")(lambda: "x")
    ran = rig()
    for log_id in (1, 2, 3):
        ran.result(log_id, "hello")
    standings = [ran.runtime.threads.standing(request(log_id, "")) for log_id in (1, 2, 3)]
    assert standings == [None, "ended with 200", "ended with 200"]


def test_a_failure_of_ours_still_ends_the_trigger_and_spares_the_thread(
    app: Handlers, rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.job("hello")(lambda: "x")
    ran: Rig = rig()
    with monkeypatch.context() as broken:
        broken.setattr(ran.runtime.logs, "open", lambda *_: 1 / 0)
        assert "ZeroDivisionError" in ran.result(1, "hello").handle_msg
    assert ran.result(2, "hello").handle_code == 200


def test_without_threads_to_have_the_trigger_is_refused(
    app: Handlers, rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    app.job("hello")(lambda: "x")
    ran = rig()

    def no_more(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as exhausted:
        exhausted.setattr(threading.Thread, "start", no_more)
        reply = ran.run(1, "hello")
    assert not reply.ok
    assert "no thread can be started" in str(reply.msg)
    assert ran.result(1, "hello").handle_code == 200
