import asyncio
import threading

import pytest

from orth.errors import CannotStart
from orth.executor import runtime as runtime_module
from orth.executor.facts import ExecutorStarted, ExecutorStopped
from orth.executor.handlers import Handlers
from orth.executor.retention import Retention
from orth.loop import run_loops
from orth.version import __version__
from tests.executor.bench import NOON, HandClock, Rig, eventually
from tests.executor.conftest import MakeRig


async def test_the_whole_walk_from_trigger_to_delivery_turned_by_hand(app: Handlers, rig: MakeRig) -> None:
    app.job("hello")(lambda: "greeted")
    ran: Rig = rig()
    for loop in ran.runtime.loops:
        await loop.guarded_turn()
    assert ran.ask("/run", b'{"jobId": 1, "logId": 7, "executorHandler": "hello"}').ok
    assert await asyncio.to_thread(ran.runtime.join_idle, 10)
    await ran.runtime.outbox.guarded_turn()
    [result] = ran.desk.results
    assert (result.log_id, result.handle_code, result.handle_msg) == (7, 200, "greeted")
    assert result.incarnation == "this-process"


async def test_it_announces_what_it_is(app: Handlers, rig: MakeRig) -> None:
    @app.job("hello", schedule="0/5 * * * * ?")
    def hello(count: int = 1) -> None:
        """Greet."""

    ran = rig()
    await ran.runtime.heartbeat.turn()
    [request] = ran.desk.registered
    assert (request.registry_group, request.registry_key) == ("EXECUTOR", "rig-app")
    assert request.registry_value == "http://127.0.0.1:9999"
    assert request.orth is not None
    assert (request.orth.incarnation, request.orth.version) == ("this-process", __version__)
    assert request.orth.extensions == (
        "resend",
        "verdicts",
        "kill-execution",
        "batch-run",
        "follow-log",
        "not-before",
        "app-name",
        "ticks",
        "progress",
        "signed",
        "source-digest",
        "drafts",
        "secrets",
        "long-pages",
        "report-key",
        "run-key",
        "log-level",
        "proofs",
        "overlap",
    )
    [handler] = request.orth.handlers
    assert (handler.name, handler.description, handler.schedule) == ("hello", "Greet.", "0/5 * * * * ?")
    assert handler.params_schema is not None
    assert [told.handlers for told in ran.ears.of(ExecutorStarted)] == [1]


async def test_with_its_loops_running_it_delivers_and_stops_in_good_order(app: Handlers, rig: MakeRig) -> None:
    release = threading.Event()

    @app.job
    def hold() -> str:
        assert release.wait(20)
        return "held"

    ran = rig()
    loops = asyncio.create_task(run_loops(*ran.runtime.loops))
    for log_id in (1, 2):
        assert ran.run(log_id, "hold").ok
    await asyncio.to_thread(eventually, lambda: bool(ran.runtime.tools.contexts and ran.desk.registered))
    stopping = asyncio.create_task(ran.runtime.stop())
    await asyncio.to_thread(eventually, lambda: ran.runtime.admission.closed)
    assert not ran.run(3, "hold").ok
    await asyncio.to_thread(eventually, lambda: [result.log_id for result in ran.desk.results] == [2])
    release.set()
    async with asyncio.timeout(20):
        await stopping
        await loops
    assert {result.log_id: result.handle_code for result in ran.desk.results} == {1: 200, 2: 500}
    assert len(ran.desk.unregistered) == 1
    assert [(told.cut_short, told.undelivered) for told in ran.ears.of(ExecutorStopped)] == [(0, 0)]


async def test_a_time_limit_works_on_the_running_loops(app: Handlers, rig: MakeRig) -> None:
    release = threading.Event()
    app.job("hold")(lambda: release.wait(20))
    ran = rig()
    loops = asyncio.create_task(run_loops(*ran.runtime.loops))
    ran.run(1, "hold", executor_timeout=1)
    assert await asyncio.to_thread(ran.runtime.join_idle, 10)
    await asyncio.to_thread(eventually, lambda: ran.runtime.health()["abandoned"] == 1)
    await ran.runtime.stop()
    await loops
    assert [result.handle_code for result in ran.desk.results] == [502]
    release.set()


async def test_what_could_not_be_delivered_waits_for_the_next_start(app: Handlers, rig: MakeRig) -> None:
    app.job("hello")(lambda: "greeted")
    first = rig()
    first.desk.away = True
    first.result(7, "hello")
    await first.runtime.stop(flush=0)
    assert [told.undelivered for told in first.ears.of(ExecutorStopped)] == [1]
    second = rig()
    await second.runtime.outbox.turn()
    assert [result.log_id for result in second.desk.results] == [7]


@pytest.mark.parametrize("delivered", ["by this process", "by the next"])
async def test_a_trigger_repeated_after_a_restart_is_not_run_again(app: Handlers, rig: MakeRig, delivered: str) -> None:
    runs = []
    app.job("effect")(lambda: runs.append(1))
    first = rig()
    first.result(7, "effect")
    if delivered == "by this process":
        await first.runtime.outbox.turn()
    first.runtime.close()
    second = rig()
    await second.runtime.outbox.turn()
    reply = second.run(7, "effect")
    assert (reply.code, reply.msg) == (200, "Execution 7 is here already: ended with 200.")
    assert len(first.desk.results) + len(second.desk.results) == 1
    second.result(7, "effect", log_date_time=NOON + 61_000)
    assert len(runs) == 2, "another time is another execution: a coordinator with a new database counts from 1 again"


async def test_closed_like_a_killed_process_it_reports_nothing_more(app: Handlers, rig: MakeRig) -> None:
    release, ended = threading.Event(), threading.Event()

    @app.job
    def hold() -> None:
        assert release.wait(20)
        ended.set()

    ran = rig()
    ran.run(1, "hold")
    ran.run(2, "hold")
    eventually(lambda: bool(ran.runtime.tools.contexts))
    ran.runtime.close()
    release.set()
    assert ended.wait(10)
    successor = rig()
    await successor.runtime.outbox.turn()
    assert (ran.desk.results, successor.desk.results) == ([], [])


def test_two_executors_cannot_share_a_data_folder(app: Handlers, rig: MakeRig) -> None:
    rig()
    with pytest.raises(CannotStart, match=r"Another executor uses the data folder .* --data-dir"):
        rig()


async def test_a_beat_names_what_is_here_and_counts_what_it_does_not_name(
    app: Handlers, rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    app.job("hold")(lambda: release.wait(20) and None)
    app.job("hello")(lambda: "greeted")
    ran = rig()
    ran.desk.away = True
    for log_id in (1, 2):
        ran.result(log_id, "hello", job_id=2)
    for log_id in range(10, 15):
        assert ran.run(log_id, "hold").ok
    await asyncio.to_thread(eventually, lambda: len(ran.runtime.tools.contexts) == 1)
    said = ran.runtime.announced().orth
    assert said is not None
    assert (said.running, said.unacknowledged) == ((10, 11, 12, 13, 14), (1, 2))
    assert said.load is not None
    assert said.load.model_dump() == {
        "running": 1,
        "queued": 4,
        "threads": 2,
        "abandoned": 0,
        "unacknowledged": 2,
    }
    monkeypatch.setattr(runtime_module, "STANDING_LIMIT", 1)
    said = ran.runtime.announced().orth
    assert said is not None
    assert said.load is not None
    assert (said.running, said.load.running + said.load.queued) == ((10,), 5)
    assert (said.unacknowledged, said.load.unacknowledged) == ((1,), 2)
    release.set()
    assert await asyncio.to_thread(ran.runtime.join_idle, 10)


async def test_a_delivered_result_makes_an_unregistered_executor_register_at_once(app: Handlers, rig: MakeRig) -> None:
    app.job("hello")(lambda: "greeted")
    ran = rig(clock=HandClock())
    ran.desk.away = True
    await ran.runtime.heartbeat.guarded_turn()
    ran.result(1, "hello")
    ran.desk.away = False
    waited = ran.runtime.heartbeat.paused_until
    await ran.runtime.outbox.guarded_turn()
    assert ran.runtime.heartbeat.paused_until < waited
    assert ran.desk.registered == []
    await ran.runtime.heartbeat.guarded_turn()
    assert len(ran.desk.registered) == 1


def test_old_logs_go_while_it_runs(app: Handlers, rig: MakeRig) -> None:
    ran = rig(log_retention=86_400.0)
    [retention] = [loop for loop in ran.runtime.loops if isinstance(loop, Retention)]
    old = ran.runtime.logs.path_of(1, 0)
    old.parent.mkdir()
    old.write_text("from 1970")
    asyncio.run(retention.turn())
    assert not old.exists()


def test_a_log_over_the_limit_that_was_set_still_tells_how_the_execution_ended(app: Handlers, rig: MakeRig) -> None:
    @app.job
    def chatter() -> None:
        for _ in range(10_000):
            print("0123456789" * 6)
        raise ValueError("bad luck")

    ran = rig(log_file_limit=100_000)
    ran.result(1, "chatter")
    text = ran.text(1)
    assert "this log may have 100000 bytes" in text
    assert "\n" in text.partition(" bytes are left out here …")[2]
    assert "Traceback (most recent call last):" in text
    assert "--- execution ends: 500" in text.splitlines()[-1]
    assert len(text) < 100_000 + 256 * 1024 + 500
