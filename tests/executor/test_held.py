"""A trigger that arrives before its time is kept, counts as one that waits, and starts on time: never early."""

import asyncio
import random
import threading
import time

import pytest

from orth.clock import SystemClock
from orth.domain.jobs import BlockStrategy, GlueType
from orth.executor.context import JobContext
from orth.executor.handlers import Handlers
from orth.executor.runtime import EXTENSIONS
from orth.executor.time_limits import TimeLimits
from orth.wire.messages import Extension, IdleBeatRequest, KillRequest
from tests.executor.bench import HEADERS, HandClock, Rig, request
from tests.executor.conftest import MakeRig
from tests.executor.gates import Gates


@pytest.fixture
def gates(app: Handlers) -> Gates:
    return Gates(app)


@pytest.fixture
def ran(rig: MakeRig, gates: Gates, clock: HandClock) -> Rig:
    """An executor whose time is turned by hand."""
    assert gates.begun == []
    return rig(clock=clock)


def pass_time(ran: Rig, clock: HandClock, seconds: float) -> None:
    clock.advance(seconds)
    asyncio.run(ran.runtime.limits.turn())


def breathe(ran: Rig, clock: HandClock) -> None:
    """What is due beyond the first few is let go a moment later."""
    for _ in range(10):
        pass_time(ran, clock, 0.002)


def test_it_is_announced() -> None:
    assert Extension.NOT_BEFORE in EXTENSIONS


def test_what_it_took_to_arrive_is_not_added_when_its_own_clock_is_named(
    ran: Rig, gates: Gates, clock: HandClock
) -> None:
    gates.let(1, 2, 3)
    shown = int(clock.monotonic() * 1000)
    assert ran.run(1, "patient", job_id=1, start_in=500, start_tick=shown + 300, tick_of="this-process").ok
    assert ran.run(2, "patient", job_id=2, start_in=500, start_tick=shown + 300, tick_of="another-process").ok
    assert ran.run(3, "patient", job_id=3, start_in=500, start_tick=shown + 9_000, tick_of="this-process").ok
    pass_time(ran, clock, 0.299)
    assert ran.runtime.join_idle(10, held=False)
    assert gates.begun == []
    pass_time(ran, clock, 0.001)
    assert ran.runtime.join_idle(10, held=False)
    assert gates.begun == [1]
    pass_time(ran, clock, 0.2)
    assert ran.runtime.join_idle(10)
    assert sorted(gates.begun) == [1, 2, 3]


def test_health_tells_its_clock(ran: Rig, clock: HandClock) -> None:
    assert ran.runtime.health()["tick"] == int(clock.monotonic() * 1000)
    clock.advance(2.5)
    assert ran.runtime.health()["tick"] == int(clock.monotonic() * 1000)


def test_it_starts_when_its_time_has_come_and_not_before(ran: Rig, gates: Gates, clock: HandClock) -> None:
    gates.let(1)
    assert ran.run(1, "patient", start_in=500).ok
    pass_time(ran, clock, 0.499)
    assert ran.runtime.join_idle(10, held=False)
    assert gates.begun == []
    pass_time(ran, clock, 0.001)
    assert ran.runtime.join_idle(10)
    assert gates.begun == [1]
    assert ran.waiting()[1].handle_code == 200


def test_a_later_arrival_that_is_due_earlier_goes_first(ran: Rig, gates: Gates, clock: HandClock) -> None:
    gates.let(1, 2, 3, 4)
    for log_id, span in ((1, 900), (2, 300), (3, 600)):
        assert ran.run(log_id, "patient", start_in=span).ok
    assert ran.run(4, "patient").ok
    for _ in range(3):
        pass_time(ran, clock, 0.31)
        assert ran.runtime.join_idle(10, held=False)
    assert gates.begun == [4, 2, 3, 1]


def test_of_a_serial_job_that_is_behind_the_order_is_that_of_the_due_times(
    ran: Rig, gates: Gates, clock: HandClock
) -> None:
    assert ran.run(1, "patient").ok
    gates.wait_for(1)
    for log_id, span in ((2, 900), (3, 300), (4, 600)):
        assert ran.run(log_id, "patient", start_in=span).ok
    pass_time(ran, clock, 2.0)
    gates.let(1, 2, 3, 4)
    assert ran.runtime.join_idle(10)
    assert gates.begun == [1, 3, 4, 2]


def test_what_is_kept_counts_as_waiting(ran: Rig) -> None:
    assert ran.run(1, "patient", start_in=500).ok
    assert not ran.runtime.admission.idle_beat(IdleBeatRequest(job_id=1)).ok
    assert ran.runtime.threads.standing(request(1, "")) == "waits for its time"
    assert ran.runtime.admission.is_open(1)
    assert not ran.runtime.quiet()
    announced = ran.runtime.announced().orth
    assert announced is not None
    assert announced.load is not None
    assert (announced.running, announced.load.queued, announced.load.running) == ((1,), 1, 0)


def test_a_repeated_request_is_the_same_one(ran: Rig, gates: Gates, clock: HandClock) -> None:
    gates.let(1)
    assert ran.run(1, "patient", start_in=500).ok
    again = ran.run(1, "patient", start_in=100, resend_to="this-process")
    assert again.ok
    assert "waits for its time" in str(again.msg)
    pass_time(ran, clock, 0.2)
    assert ran.runtime.join_idle(10, held=False)
    assert gates.begun == []
    pass_time(ran, clock, 0.4)
    assert ran.runtime.join_idle(10)
    assert gates.begun == [1]


@pytest.mark.parametrize("log_id", [1, None])
def test_killed_before_its_time_it_never_starts(ran: Rig, gates: Gates, clock: HandClock, log_id: int | None) -> None:
    assert ran.run(1, "patient", start_in=500).ok
    told = ran.runtime.admission.kill(KillRequest(job_id=1, log_id=log_id))
    assert "1 queued were removed" in str(told.msg)
    pass_time(ran, clock, 1.0)
    assert ran.runtime.join_idle(10)
    assert gates.begun == []
    assert "killed on request" in ran.waiting()[1].handle_msg
    assert ran.run(1, "patient").ok, "it is known, and not run again"
    assert ran.runtime.join_idle(10)
    assert gates.begun == []


@pytest.mark.parametrize("strategy", [BlockStrategy.DISCARD_LATER, BlockStrategy.COVER_EARLY])
def test_what_depends_on_the_moment_of_the_start_is_not_taken_early(ran: Rig, strategy: BlockStrategy) -> None:
    refused = ran.run(1, "patient", start_in=500, executor_block_strategy=strategy)
    assert not refused.ok
    assert strategy in str(refused.msg)
    assert ran.runtime.quiet()


def test_the_queue_limit_counts_what_is_kept(rig: MakeRig, gates: Gates, clock: HandClock) -> None:
    ran = rig(clock=clock, queue_limit=2)
    assert [ran.run(log_id, "patient", start_in=500).ok for log_id in (1, 2, 3, 4)] == [True, True, True, False]
    assert gates.begun == []


def test_concurrent_ones_start_beside_each_other(ran: Rig, gates: Gates, clock: HandClock) -> None:
    for log_id in (1, 2, 3):
        more = {"executor_block_strategy": BlockStrategy.CONCURRENT, "executor_concurrency": 3}
        assert ran.run(log_id, "patient", start_in=500, **more).ok
    pass_time(ran, clock, 0.5)
    gates.wait_for(1, 2, 3)
    assert gates.most_inside[1] == 3
    gates.let(1, 2, 3)
    assert ran.runtime.join_idle(10)


def test_another_handler_takes_over_when_its_time_has_come(ran: Rig, gates: Gates, clock: HandClock) -> None:
    assert ran.run(1, "polite").ok
    gates.wait_for(1)
    assert ran.run(2, "patient", start_in=500).ok
    gates.let(2)
    pass_time(ran, clock, 0.4)
    assert ran.runtime.threads.standing(request(1, "")) == "running"
    pass_time(ran, clock, 0.1)
    assert ran.runtime.join_idle(10)
    assert "brought another handler" in ran.waiting()[1].handle_msg
    assert ran.waiting()[2].handle_code == 200


def test_one_that_was_overtaken_by_a_newer_version_ends_nothing(ran: Rig, gates: Gates, clock: HandClock) -> None:
    assert ran.run(1, "polite", start_in=500).ok
    assert ran.run(2, "patient").ok
    gates.wait_for(2)
    pass_time(ran, clock, 0.5)
    assert ran.runtime.threads.standing(request(2, "")) == "running"
    gates.let(1, 2)
    assert ran.runtime.join_idle(10)
    assert {item.handle_code for item in ran.waiting().values()} == {200}
    assert gates.begun == [2, 1]


def test_a_drain_waits_for_what_was_promised(rig: MakeRig, app: Handlers) -> None:
    app.job("hello")(lambda: "x")
    ran = rig()
    assert ran.run(1, "hello", start_in=300).ok

    async def stopped() -> None:
        loop = asyncio.create_task(ran.runtime.limits.run())
        await asyncio.to_thread(ran.runtime.threads.drain, 20.0)
        ran.runtime.limits.stop()
        await loop

    asyncio.run(stopped())
    assert ran.waiting()[1].handle_msg == "x"


def test_a_drain_that_cannot_wait_so_long_reports_it(ran: Rig, gates: Gates) -> None:
    assert ran.run(1, "patient", start_in=500).ok
    ran.runtime.admission.close()
    ran.runtime.threads.drain(0.05)
    assert gates.begun == []
    assert "the executor stopped" in ran.waiting()[1].handle_msg
    assert ran.runtime.quiet()


def test_what_comes_due_during_a_drain_behind_one_that_does_not_end_is_reported_and_not_begun(
    ran: Rig, gates: Gates, clock: HandClock
) -> None:
    assert ran.run(1, "patient").ok
    gates.wait_for(1)
    assert ran.run(2, "patient", start_in=1).ok
    ran.runtime.admission.close()
    draining = threading.Thread(target=ran.runtime.threads.drain, args=(1.0,))
    draining.start()
    pass_time(ran, clock, 0.5)
    draining.join(30)
    assert gates.begun == [1]
    assert {log_id: item.handle_code for log_id, item in ran.waiting().items()} == {1: 500, 2: 500}
    assert ran.waiting()[2].handle_msg == "Not executed: the executor stopped."


def test_a_drain_does_not_wait_for_what_is_far_away(ran: Rig, gates: Gates) -> None:
    assert ran.run(1, "patient", start_in=3_600_000).ok
    ran.runtime.admission.close()
    before = time.monotonic()
    ran.runtime.threads.drain(60.0)
    assert time.monotonic() - before < 30
    assert gates.begun == []
    assert "before its time had come" in ran.waiting()[1].handle_msg


def test_a_thread_with_something_kept_is_not_retired(ran: Rig, gates: Gates, clock: HandClock) -> None:
    gates.let(1)
    assert ran.run(1, "patient", start_in=500_000).ok
    clock.advance(400)
    assert ran.runtime.threads.retire_idle(90) is None
    pass_time(ran, clock, 100)
    assert ran.runtime.join_idle(10)
    assert gates.begun == [1]


def test_an_unusual_time_on_the_wire_is_refused_and_a_missing_one_means_now(ran: Rig, gates: Gates) -> None:
    gates.let(1)
    status, _answer = ran.runtime.handle("/run", b'{"jobId":1,"logId":1,"startIn":-1}', HEADERS)
    assert status == 400
    assert ran.ask("/run", b'{"jobId":1,"logId":1,"executorHandler":"patient","startIn":0}').ok
    assert ran.runtime.join_idle(10)
    assert gates.begun == [1]


def test_a_thousand_due_at_one_instant_start_on_time(app: Handlers, rig: MakeRig) -> None:
    started: dict[int, float] = {}

    def note(ctx: JobContext) -> None:
        started[ctx.log_id] = time.clock_gettime(time.CLOCK_BOOTTIME)

    app.job("note")(note)
    ran, number = rig(), 1000
    threads_before = threading.active_count()

    async def all_started() -> float:
        loop = asyncio.create_task(ran.runtime.limits.run())
        arrived = SystemClock().monotonic()
        for log_id in random.Random(1).sample(range(number), number):
            assert ran.run(log_id, "note", job_id=log_id, start_in=1500, glue_type=GlueType.BEAN).ok
        assert await asyncio.to_thread(ran.runtime.join_idle, 30)
        ran.runtime.limits.stop()
        await loop
        return arrived

    arrived = asyncio.run(all_started())
    assert threading.active_count() - threads_before <= number + 20, "a thread per job, none per trigger"
    assert len(started) == number
    assert min(started.values()) >= arrived + 1.5
    assert len(ran.runtime.limits) <= 1, "nothing is held; the turnstile may look once more"


def test_many_timers_are_one(ran: Rig, gates: Gates, clock: HandClock) -> None:
    limits: TimeLimits = ran.runtime.limits
    gates.let(*range(80))
    for log_id in range(80):
        assert ran.run(log_id, "patient", job_id=log_id, start_in=500 + 10 * log_id).ok
    assert len(limits) == 1
    pass_time(ran, clock, 0.945)
    assert ran.runtime.join_idle(10, held=False)
    assert sorted(gates.begun) == list(range(32))
    breathe(ran, clock)
    assert ran.runtime.join_idle(10, held=False)
    assert sorted(gates.begun) == list(range(47))
    assert len(limits) <= 2, "one for all that is held, and one of the turnstile that they pass"
    pass_time(ran, clock, 1.0)
    breathe(ran, clock)
    assert ran.runtime.join_idle(10)
    assert sorted(gates.begun) == list(range(80))
