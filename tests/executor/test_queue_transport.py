"""Work from queues, over real channels: taken, run, reported, cancelled, given back."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from orth.channels.interface import Channels
from orth.channels.limits import Limits
from orth.channels.memory import MemoryChannels
from orth.channels.redis import RedisChannels
from orth.clock import SystemClock
from orth.executor.context import JobContext
from orth.executor.facts import DispatchWithdrawn, EntriesRefused, ExecutionStarted
from orth.executor.handlers import Handlers
from tests.executor.queue_bench import APP, NAMES, Owner, QueueRig, dispatch, signed, sooner_or_later

Open = Callable[[], Channels]


@pytest.fixture(params=["memory", "redis"])
async def opened(request: pytest.FixtureRequest) -> AsyncIterator[Open]:
    """Ways to the same channels, one for each who uses them."""
    async with AsyncExitStack() as stack:
        if request.param == "memory":
            shared = MemoryChannels(SystemClock(), Limits())
            yield lambda: shared
            return
        url = request.getfixturevalue("redis_url")

        def connect() -> Channels:
            channels = RedisChannels(url, SystemClock())
            stack.push_async_callback(channels.close)
            return channels

        yield connect


@pytest.fixture
def gate() -> threading.Event:
    return threading.Event()


@pytest.fixture
def app(gate: threading.Event) -> Handlers:
    handlers = Handlers(APP)

    @handlers.job
    def hello(name: str = "world") -> str:
        print("hello", name)
        return f"greeted {name}"

    @handlers.job
    def fails() -> None:
        raise ValueError("no")

    @handlers.job
    def waits() -> str:
        gate.wait(20)
        return "waited"

    @handlers.job
    def sleeps(ctx: JobContext) -> None:
        while True:
            ctx.checkpoint()
            gate.wait(0.01)

    @handlers.job
    def counts(ctx: JobContext) -> None:
        ctx.progress(1, 4, "one")
        print("a line")
        gate.wait(20)
        ctx.progress(4, 4, "four")

    return handlers


async def test_an_execution_walks_from_the_queue_to_a_verdict(app: Handlers, tmp_path: Path, opened: Open) -> None:
    async with Owner(opened()) as owner, QueueRig(app, tmp_path, opened()) as rig:
        await owner.send(dispatch(7, "hello", job_id=3))
        await sooner_or_later(lambda: owner.statuses(7)[-1:] == ["Completed"] and not len(rig.runtime.outbox))
        await sooner_or_later(lambda: owner.log_ended(7))
        last = owner.said[7][-1]
        assert last["result"]["handleCode"] == 200
        assert last["result"]["handleMsg"] == "greeted world"
        assert (last["jobId"], last["executionId"], last["historyId"], last["attempt"]) == (3, 7, 7, 1)
        assert (last["workerId"], last["incarnation"]) == ("rig:1", tmp_path.name)
        assert [message["seq"] for message in owner.said[7]] == list(range(1, len(owner.said[7]) + 1))
        assert "hello world" in owner.log(7)
        assert owner.log(7).rstrip("\n") == rig.runtime.logs.path_of(7, 1_750_000_000_000).read_text().rstrip("\n")
        assert rig.desk.results == []
        assert await owner.channels.consumers(NAMES.dispatch(f"{APP}.default")) == {}
        assert rig.transport.link.taken == {}


async def test_how_it_ends_has_a_name(app: Handlers, tmp_path: Path, opened: Open) -> None:
    async with Owner(opened()) as owner, QueueRig(app, tmp_path, opened()):
        late = dispatch(2, "sleeps", job_id=2, executorTimeout=1)
        await owner.send(dispatch(1, "fails", job_id=1), late, dispatch(3, "nobody", job_id=3))
        await sooner_or_later(lambda: len(owner.results()) == 2 and bool(owner.statuses(3)))
        assert owner.statuses(1)[-1] == "Failed"
        assert owner.statuses(2)[-1] == "TimedOut"
        assert owner.statuses(3) == ["Refused"]
        assert "nobody" in owner.said[3][0]["message"]


async def test_no_more_is_taken_than_there_are_places(
    app: Handlers, tmp_path: Path, opened: Open, gate: threading.Event
) -> None:
    line = NAMES.dispatch(f"{APP}.default")
    async with Owner(opened()) as owner, QueueRig(app, tmp_path, opened(), queue_concurrency=2) as rig:
        await owner.send(*(dispatch(number, "waits", job_id=number) for number in range(1, 6)))
        await sooner_or_later(lambda: rig.runtime.threads.count() == 2)
        await sooner_or_later(lambda: owner.statuses(1) != [] and owner.statuses(2) != [])
        assert await owner.channels.waiting(line) == 3
        assert await owner.channels.consumers(line) == {}
        gate.set()
        await sooner_or_later(lambda: len(owner.results()) == 5)
        assert await owner.channels.waiting(line) == 0


async def test_the_urgent_goes_first_and_every_queue_is_served(app: Handlers, tmp_path: Path, opened: Open) -> None:
    begun: list[int] = []

    @app.job
    def notes(ctx: JobContext) -> None:
        begun.append(ctx.log_id)

    async with Owner(opened()) as owner:
        for priority, log_id in ((0, 10), (1, 11), (3, 13), (2, 12)):
            await owner.send(dispatch(log_id, "notes"), queue="a", priority=priority)
            await owner.send(dispatch(log_id + 10, "notes"), queue="b", priority=priority)
        async with QueueRig(app, tmp_path, opened(), queues=("a", "b"), queue_concurrency=1):
            await sooner_or_later(lambda: len(begun) == 8)
    assert [log_id % 10 for log_id in begun] == [3, 3, 2, 2, 1, 1, 0, 0]


async def test_progress_and_lines_come_while_it_runs(
    app: Handlers, tmp_path: Path, opened: Open, gate: threading.Event
) -> None:
    async with Owner(opened()) as owner, QueueRig(app, tmp_path, opened()):
        await owner.send(dispatch(1, "counts"))
        await sooner_or_later(lambda: "Progress" in owner.statuses(1) and "a line" in owner.log(1))
        assert not owner.log_ended(1)
        said = next(message for message in owner.said[1] if message["status"] == "Progress")
        assert (said["progress"]["done"], said["progress"]["total"]) == (1, 4)
        gate.set()
        await sooner_or_later(lambda: owner.log_ended(1))
        numbers = [message["firstLine"] for message in owner.lines[1]]
        assert numbers == sorted(set(numbers))
        assert [message["seq"] for message in owner.lines[1]] == list(range(1, len(numbers) + 1))


async def test_a_cancel_ends_what_runs(app: Handlers, tmp_path: Path, opened: Open) -> None:
    async with Owner(opened()) as owner, QueueRig(app, tmp_path, opened()):
        await owner.send(dispatch(1, "sleeps", job_id=1), dispatch(2, "sleeps", job_id=2))
        await sooner_or_later(lambda: "Running" in owner.statuses(1) and "Running" in owner.statuses(2))
        await owner.cancel(1)
        await sooner_or_later(lambda: owner.statuses(1)[-1] == "Cancelled")
        assert owner.statuses(2)[-1] == "Running"
        owner.jobs[2] = 0  # whoever tells may not know the job any more
        await owner.cancel(2)
        owner.jobs[2] = 2
        await sooner_or_later(lambda: owner.statuses(2)[-1] == "Cancelled")


async def test_what_was_withdrawn_or_is_anothers_is_not_begun(app: Handlers, tmp_path: Path, opened: Open) -> None:
    line = NAMES.dispatch(f"{APP}.default")
    async with Owner(opened()) as owner:
        for log_id, word in {
            1: {"status": "Withdrawn"},
            2: {"status": "Withdrawn", "sending": 5},
            3: {"status": "Withdrawn", "sending": 4},
            4: {"status": "Running", "sending": 5, "incarnation": "another"},
        }.items():
            await owner.channels.post({NAMES.status(log_id, log_id): [word]})
            entry = dispatch(log_id, "hello", job_id=log_id) | {"sending": 5}
            await owner.channels.send(line, [signed(entry, line)])
        owner.jobs[3] = 3
        async with QueueRig(app, tmp_path, opened()) as rig:
            await owner.send(dispatch(5, "hello", job_id=5))
            await sooner_or_later(lambda: {3, 5} <= set(owner.results()))
            await sooner_or_later(lambda: bool(rig.ears.of(DispatchWithdrawn)))
            assert {started.log_id for started in rig.ears.of(ExecutionStarted)} == {3, 5}
            assert owner.said[3][-1]["sending"] == 5
            assert await owner.channels.waiting(line) == 0
            assert await owner.channels.consumers(line) == {}


async def test_beats_say_who_is_there_and_what_it_holds(
    app: Handlers, tmp_path: Path, opened: Open, gate: threading.Event
) -> None:
    async with Owner(opened()) as owner, QueueRig(app, tmp_path, opened(), queues=("a", "b")) as rig:
        await owner.send(dispatch(1, "waits"), queue="a")
        await sooner_or_later(lambda: owner.last_beat("running") == [1])
        beat = owner.beats[-1]
        assert (beat["appName"], beat["queues"], beat["status"]) == (APP, ["a", "b"], "Running")
        assert (beat["activeJobs"], beat["maxConcurrentJobs"]) == (1, rig.settings.queue_concurrency)
        gate.set()
        await rig.stop()
        await sooner_or_later(lambda: owner.last_beat("status") == "Stopped")


async def test_nobody_answers_so_results_go_over_http(app: Handlers, tmp_path: Path, opened: Open) -> None:
    async with Owner(opened()) as owner, QueueRig(app, tmp_path, opened()) as rig:
        owner.silent = True
        await owner.send(dispatch(1, "hello", job_id=1))
        await sooner_or_later(lambda: [item.log_id for item in rig.desk.results] == [1])
        assert owner.statuses(1)[-1] == "Completed"
        begun = asyncio.get_running_loop().time()
        await owner.send(dispatch(2, "hello", job_id=2))
        await sooner_or_later(lambda: len(rig.desk.results) == 2)
        assert asyncio.get_running_loop().time() - begun < 2.5  # the second time nobody is waited for
        owner.silent = False
        await owner.send(dispatch(3, "hello", job_id=3))
        await sooner_or_later(lambda: not len(rig.runtime.outbox) and 3 in owner.results())


async def test_results_wait_while_neither_answers_and_arrive_afterwards(
    app: Handlers, tmp_path: Path, opened: Open
) -> None:
    async with Owner(opened()) as owner, QueueRig(app, tmp_path, opened(), callback_retry=0.2) as rig:
        owner.silent, rig.desk.away = True, True
        await owner.send(dispatch(1, "hello"))
        await sooner_or_later(lambda: 1 in owner.results())
        assert len(rig.runtime.outbox) == 1
        owner.silent = False
        await sooner_or_later(lambda: not len(rig.runtime.outbox))
        assert rig.desk.results == []


async def test_leaving_finishes_what_runs_and_gives_back_what_waits(
    app: Handlers, tmp_path: Path, opened: Open, gate: threading.Event
) -> None:
    line = NAMES.dispatch(f"{APP}.default")
    async with Owner(opened()) as owner, QueueRig(app, tmp_path / "one", opened(), queue_concurrency=3) as rig:
        await owner.send(*(dispatch(number, "waits") for number in (1, 2, 3)))  # one job: they wait for each other
        await sooner_or_later(lambda: rig.runtime.threads.count() == 3 and "Running" in owner.statuses(1))
        leaving = asyncio.create_task(rig.stop())
        await sooner_or_later(lambda: owner.statuses(2)[-1:] == owner.statuses(3)[-1:] == ["Returned"])
        await sooner_or_later(lambda: (owner.last_beat("status"), owner.last_beat("running")) == ("Draining", [1]))
        await owner.send(dispatch(4, "hello"))
        gate.set()
        await leaving
        await sooner_or_later(lambda: set(owner.results()) == {1})
        assert [owner.said[number][-1].get("offerAgain") for number in (2, 3)] == [True, True]
        assert await owner.channels.waiting(line) == 1  # coordinators alone put something there
        assert rig.desk.results == []
        async with QueueRig(app, tmp_path / "two", opened()):
            await owner.send(dispatch(2, "waits"), dispatch(3, "waits"))
            await sooner_or_later(lambda: set(owner.results()) == {1, 2, 3, 4})


async def test_a_message_that_is_none_is_told_and_dropped(app: Handlers, tmp_path: Path, opened: Open) -> None:
    line = NAMES.dispatch(f"{APP}.default")
    async with Owner(opened()) as owner, QueueRig(app, tmp_path, opened()):
        broken = [{"jobId": 1}, dispatch(2, "hello") | {"trigger": {"jobId": "x"}}]
        await owner.channels.send(line, [signed(message, line) for message in broken])
        await owner.send(dispatch(3, "hello"))
        await sooner_or_later(lambda: 3 in owner.results())
        assert await owner.channels.waiting(line) == 0
        assert await owner.channels.consumers(line) == {}


async def test_the_same_message_twice_runs_once(
    app: Handlers, tmp_path: Path, opened: Open, gate: threading.Event
) -> None:
    runs: list[int] = []

    @app.job
    def notes(ctx: JobContext) -> None:
        runs.append(ctx.log_id)
        gate.wait(20)

    async with Owner(opened()) as owner, QueueRig(app, tmp_path, opened()) as rig:
        await owner.send(dispatch(1, "notes"), dispatch(1, "notes"))
        await sooner_or_later(lambda: runs == [1])
        await owner.send(dispatch(1, "notes"), dispatch(2, "hello", job_id=2))
        await sooner_or_later(lambda: 2 in owner.results())
        gate.set()
        await sooner_or_later(lambda: 1 in owner.results() and not len(rig.runtime.outbox))
        await owner.send(dispatch(1, "notes"), dispatch(3, "hello", job_id=2))
        await sooner_or_later(lambda: 3 in owner.results() and not rig.transport.link.taken)
        assert runs == [1]


async def test_two_executors_share_the_work(app: Handlers, tmp_path: Path, opened: Open) -> None:
    async with (
        Owner(opened()) as owner,
        QueueRig(app, tmp_path / "one", opened(), queue_concurrency=4) as one,
        QueueRig(app, tmp_path / "two", opened(), queue_concurrency=4) as two,
    ):
        await owner.send(*(dispatch(number, "hello", job_id=number % 7 + 1) for number in range(1, 201)))
        await sooner_or_later(lambda: len(owner.results()) == 200, 20)
        done: dict[Any, int] = {}
        for result in owner.results().values():
            done[result["incarnation"]] = done.get(result["incarnation"], 0) + 1
        assert set(done) == {"one", "two"}
        await sooner_or_later(lambda: not len(one.runtime.outbox) and not len(two.runtime.outbox))


async def test_a_small_box_of_acknowledgements_is_emptied_in_time(app: Handlers, tmp_path: Path) -> None:
    channels = MemoryChannels(SystemClock(), Limits(box=6))
    async with Owner(channels) as owner, QueueRig(app, tmp_path, channels, channels_limits=Limits(box=6)) as rig:
        for number in range(1, 21):
            await owner.send(dispatch(number, "hello", job_id=number))
            await sooner_or_later(lambda number=number: number in owner.results() and not len(rig.runtime.outbox))
        assert rig.desk.results == [], "none had to go over HTTP"


async def test_a_box_of_acknowledgements_that_is_full_is_emptied(app: Handlers, tmp_path: Path) -> None:
    """The coordinators may allow less than this executor was told."""
    channels = MemoryChannels(SystemClock(), Limits(box=4))
    box = NAMES.acknowledged(tmp_path.name)
    async with Owner(channels) as owner, QueueRig(app, tmp_path, channels) as rig:
        await channels.post({box: [{"executionId": 99, "verdict": "stored"}] * 4})
        await owner.send(dispatch(1, "hello", job_id=1))
        await sooner_or_later(lambda: len(rig.desk.results) == 1 and not len(rig.runtime.outbox))
        await owner.send(dispatch(2, "hello", job_id=2))
        await sooner_or_later(lambda: not len(rig.runtime.outbox) and rig.transport.link.taken == {})
        assert len((await channels.read({box: ""}, limit=9)).get(box, [])) < 4


async def test_a_log_that_got_lost_is_sent_again_to_whoever_may_ask(
    app: Handlers, tmp_path: Path, opened: Open
) -> None:
    channels = opened()
    async with Owner(channels) as owner, QueueRig(app, tmp_path, opened()) as rig:
        await owner.send(dispatch(7, "hello", job_id=3))
        await sooner_or_later(lambda: owner.log_ended(7) and not len(rig.runtime.outbox))
        whole, sent = owner.log(7), len(owner.lines[7])
        wanted = {"jobId": 3, "executionId": 7, "historyId": 7, "logTime": 1_750_000_000_000, "fromLine": 1}
        question = {"appName": APP, "logs": [wanted]}
        await channels.announce(NAMES.logs_wanted, signed(question, NAMES.logs_wanted, "of nobody"))
        await sooner_or_later(lambda: bool(rig.ears.of(EntriesRefused)))
        await channels.announce(NAMES.logs_wanted, signed({**question, "appName": "another"}, NAMES.logs_wanted))
        await channels.announce(NAMES.logs_wanted, signed(question, NAMES.logs_wanted))
        await sooner_or_later(lambda: len(owner.lines[7]) > sent)
        again = "\n".join(message["text"] for message in owner.lines[7][sent:])
        assert again.rstrip("\n") == whole.rstrip("\n")
