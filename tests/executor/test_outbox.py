import asyncio
import os
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orth.domain.executions import came_cut
from orth.errors import Unavailable
from orth.executor import journal as journal_module
from orth.executor import outbox as outbox_module
from orth.executor.facts import (
    CallbacksDelivered,
    CallbacksFailed,
    OutboxRecovered,
    OutboxUnwritable,
    RecordQuarantined,
    ResultDisowned,
    ResultNotTaken,
    ResultShortened,
)
from orth.executor.handlers import Handlers
from orth.executor.outbox import Outbox
from orth.executor.results import Result
from orth.executor.room import COMMON, SHARE
from orth.wire.coordinator_calls import CoordinatorCalls, NotTaken, Unanswered
from orth.wire.messages import CallbackItem, CallbackVerdict, Verdict
from tests.executor.bench import NOON, TOKEN, Desk, Ears, HandClock
from tests.executor.conftest import MakeRig
from tests.executor.stand_in import StandIn


def item(log_id: int, message: str = "") -> Result:
    return Result(log_id=log_id, log_date_time=NOON, handle_code=200, handle_msg=message)


class Post:
    """An outbox and the coordinator it delivers to."""

    def __init__(self, directory: Path, clock: HandClock, ears: Ears) -> None:
        self.directory, self.clock, self.ears = directory, clock, ears
        self.desk = Desk()
        self.more_coming = False
        self.outbox = self.open()

    def open(self) -> Outbox:
        return Outbox(
            self.directory,
            self.desk,
            retry=30.0,
            clock=self.clock,
            events=self.ears,
            more_coming=lambda: self.more_coming,
        )

    def add(self, result: Result) -> None:
        """Add it and wait for the disk."""
        self.outbox.add(result)
        self.outbox.join_recorded()

    def restart(self) -> None:
        self.outbox.close()
        self.outbox = self.open()


@pytest.fixture
def post(tmp_path: Path, clock: HandClock, ears: Ears) -> Post:
    return Post(tmp_path / "outbox", clock, ears)


async def test_while_more_is_coming_results_gather_and_a_lone_one_does_not_wait(post: Post) -> None:
    post.more_coming = True
    post.add(item(1))
    assert await post.outbox.turn() == 0
    assert [result.log_id for result in post.desk.results] == [1], "after a quiet time it leaves at once"
    post.add(item(2))
    pause = await post.outbox.turn()
    assert 0 < pause <= outbox_module.GATHER
    post.add(item(3))
    assert len(post.desk.results) == 1
    post.clock.advance(pause)
    await post.outbox.turn()
    assert [len(batch) for batch in post.desk.batches] == [1, 2]
    post.more_coming = False
    post.add(item(4))
    assert await post.outbox.turn() == 0
    assert post.desk.results[-1].log_id == 4


async def test_a_result_that_comes_while_the_loop_pauses_for_long_wakes_it(post: Post) -> None:
    post.add(item(1))
    assert await post.outbox.turn() == 0
    assert await post.outbox.turn() == 30, "nothing is coming, so the loop lies down"
    post.more_coming = True
    post.outbox.paused_until = 10**9
    post.add(item(2))
    assert post.outbox.paused_until == post.clock.monotonic()


async def test_a_full_batch_does_not_wait_for_more(post: Post) -> None:
    post.more_coming = True
    post.add(item(1))
    await post.outbox.turn()
    assert await post.outbox.turn() > 0
    for log_id in range(2, 2 + outbox_module.BATCH_COUNT):
        post.add(item(log_id))
    assert post.outbox.paused_until == post.clock.monotonic(), "the one that fills the batch wakes the loop"
    assert await post.outbox.turn() == 0
    assert len(post.desk.results) == 1 + outbox_module.BATCH_COUNT


async def test_a_result_is_delivered_and_then_forgotten(post: Post) -> None:
    assert await post.outbox.turn() == 30
    post.add(item(1, "x"))
    assert 1 in post.outbox
    assert post.outbox.paused_until == post.clock.monotonic(), "a new result wakes the loop"
    assert await post.outbox.turn() == 0
    assert post.desk.results == [item(1, "x")]
    assert 1 not in post.outbox
    assert await post.outbox.turn() == 30
    assert len(post.desk.batches) == 1
    [told] = post.ears.of(CallbacksDelivered)
    assert (told.settled, told.kept, told.waiting) == (1, 0, 0)
    post.restart()
    assert len(post.outbox) == 0


async def test_results_go_in_batches_bounded_in_number_and_bytes(post: Post) -> None:
    for log_id in range(1200):
        post.add(item(log_id))
    for log_id in range(2000, 2020):
        post.add(item(log_id, "y" * 50_000))
    while len(post.outbox):
        assert await post.outbox.turn() == 0
    sizes = [len(batch) for batch in post.desk.batches]
    assert sizes[:2] == [500, 500]
    assert max(sizes) == 500
    assert [result.log_id for result in post.desk.results] == [*range(1200), *range(2000, 2020)]
    assert all(sum(len(result.handle_msg) for result in batch) < 1024 * 1024 for batch in post.desk.batches)


@pytest.mark.parametrize(
    ("verdict", "kept", "disowned"),
    [
        (Verdict.STORED, False, False),
        (Verdict.DUPLICATE, False, False),
        (Verdict.SUPERSEDED, False, False),
        (Verdict.UNKNOWN, False, True),
        (Verdict.MALFORMED, False, True),
        (Verdict.RETRY, True, False),
        (None, True, False),
    ],
)
async def test_each_result_is_treated_by_its_own_verdict(
    post: Post, verdict: Verdict | None, kept: bool, disowned: bool
) -> None:
    post.desk.answers = {2: verdict}
    for log_id in (1, 2, 3):
        post.add(item(log_id))
    await post.outbox.turn()
    assert [waiting.log_id for waiting in post.outbox.waiting()] == ([2] if kept else [])
    assert [event.log_id for event in post.ears.of(ResultDisowned)] == ([2] if disowned else [])
    post.restart()
    assert (2 in post.outbox) is kept


async def test_what_is_to_be_sent_again_waits_and_does_not_hold_up_others(post: Post) -> None:
    post.desk.answers = {1: Verdict.RETRY}
    post.add(item(1))
    await post.outbox.turn()
    assert await post.outbox.turn() == 0.5
    post.add(item(2))
    await post.outbox.turn()
    assert [result.log_id for result in post.desk.results] == [1, 2]
    post.clock.advance(0.5)
    post.desk.answers = {}
    await post.outbox.turn()
    assert [result.log_id for result in post.desk.results] == [1, 2, 1]
    assert len(post.outbox) == 0


async def test_while_nobody_answers_pauses_grow_to_the_setting_and_nothing_is_lost(post: Post) -> None:
    post.desk.away = True
    post.add(item(1))
    pauses = []
    for _ in range(8):
        pauses.append(await post.outbox.turn())
        post.add(item(100 + len(pauses)))
        assert await post.outbox.turn() == pauses[-1], "a new result does not shorten the pause"
        post.clock.advance(pauses[-1])
    assert pauses == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert len(post.ears.of(CallbacksFailed)) == 8
    post.desk.away = False
    assert await post.outbox.turn() == 0
    assert len(post.desk.results) == 9
    post.desk.away = True
    post.add(item(2))
    assert await post.outbox.turn() == 0.5, "after a success the pauses begin anew"


async def test_delivery_does_not_wait_for_the_threads_of_the_loop(post: Post) -> None:
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(1))
    released = threading.Event()
    kept = loop.run_in_executor(None, released.wait, 20)
    post.add(item(1))
    try:
        await asyncio.wait_for(post.outbox.turn(), 10)
        assert [result.log_id for result in post.desk.results] == [1]
    finally:
        released.set()
        await kept


async def test_undelivered_results_survive_the_process(post: Post) -> None:
    post.desk.away = True
    for log_id in (1, 2):
        post.add(item(log_id, f"result {log_id}"))
    await post.outbox.turn()
    post.restart()
    assert post.outbox.waiting() == [item(1, "result 1"), item(2, "result 2")]
    post.desk.away = False
    await post.outbox.turn()
    assert post.desk.results == [item(1, "result 1"), item(2, "result 2")]


async def test_nothing_is_sent_before_it_is_on_the_disk(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    syncing, let_go = threading.Event(), threading.Event()
    real = os.fsync

    def slow_fsync(file: int) -> None:
        syncing.set()
        assert let_go.wait(10)
        real(file)

    monkeypatch.setattr(os, "fsync", slow_fsync)
    post.outbox.add(item(1))
    assert syncing.wait(10)
    turn = asyncio.create_task(post.outbox.turn())
    await asyncio.sleep(0.05)
    assert post.desk.results == []
    assert 1 in post.outbox
    let_go.set()
    async with asyncio.timeout(10):
        await turn
    assert post.desk.results == [item(1)]


async def test_when_the_disk_fails_results_are_sent_from_memory_and_work_is_refused(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: int) -> None:
        raise OSError(28, "No space left on device")

    assert post.outbox.refusal is None
    post.desk.away = True
    with monkeypatch.context() as full:
        full.setattr(os, "fsync", failing)
        post.add(item(1))
        assert "cannot be made durable" in str(post.outbox.refusal)
        assert await post.outbox.turn() == 0.5
        post.clock.advance(60)
        post.desk.away = False
        assert await post.outbox.turn() == 0
        assert post.desk.results == [item(1)]
        assert await post.outbox.turn() == 5, "the disk is tried again soon, with nothing to deliver"
    assert len(post.ears.of(OutboxUnwritable)) >= 3
    await post.outbox.turn()
    assert post.outbox.refusal is None
    assert len(post.ears.of(OutboxRecovered)) == 1
    post.add(item(2))
    post.restart()
    assert [result.log_id for result in post.outbox.waiting()] == [2]


async def test_at_its_cap_the_outbox_asks_for_no_more_work(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "COUNT_LIMIT", 3)
    for log_id in range(3):
        assert post.outbox.refusal is None
        post.add(item(log_id, "z" * 50))
    assert "no room for more" in str(post.outbox.refusal)
    await post.outbox.turn()
    assert post.outbox.refusal is None


async def test_long_results_never_take_more_than_the_cap_whatever_was_accepted(post: Post) -> None:
    whole = "\U0001f600" * 50_000
    for log_id in range(800):
        post.outbox.add(item(log_id, whole))
    post.outbox.join_recorded()
    assert post.outbox.byte_count <= COMMON + 800 * SHARE
    assert sum(path.stat().st_size for path in post.directory.glob("*.journal")) <= COMMON + 800 * SHARE
    assert "the long ones among them leave no room for more" in str(post.outbox.refusal)
    assert len(post.outbox) == 800
    shortened = [one for one in post.outbox.waiting() if one.handle_msg != whole]
    assert len(shortened) == len(post.ears.of(ResultShortened)) > 600
    assert all(came_cut(one.handle_msg) for one in shortened)
    post.restart()
    assert "the long ones among them" in str(post.outbox.refusal), "also for the next process"
    while len(post.outbox):
        await post.outbox.turn()
    assert post.outbox.refusal is None
    post.add(item(900, whole))
    assert post.outbox.waiting()[0].handle_msg == whole


async def test_the_journal_does_not_grow_with_what_was_delivered(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "SEGMENT_LIMIT", 2000)
    monkeypatch.setattr(journal_module, "ENDED_KEPT", 20)
    for log_id in range(200):
        post.add(item(log_id, "z" * 100))
        await post.outbox.turn()
    [segment] = post.directory.glob("*.journal")
    assert segment.stat().st_size < 4000


async def test_flushing_tries_at_least_once_and_no_longer_than_its_time(post: Post) -> None:
    post.desk.away = True
    post.add(item(1))
    started = post.clock.monotonic()
    await post.outbox.flush(0)
    assert post.clock.monotonic() == started
    assert len(post.ears.of(CallbacksFailed)) == 1
    await post.outbox.flush(3)
    assert post.clock.monotonic() - started == pytest.approx(3, abs=0.01)
    assert len(post.outbox) == 1
    post.desk.away = False
    await post.outbox.flush(3)
    assert post.desk.results == [item(1)]


async def test_flushing_what_the_loop_is_just_delivering_waits_for_that_and_no_longer(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivering, let_go = threading.Event(), threading.Event()
    deliver = post.desk.call_back

    def slow_delivery(items: Sequence[CallbackItem]) -> list[CallbackVerdict]:
        delivering.set()
        assert let_go.wait(10)
        return deliver(items)

    monkeypatch.setattr(post.desk, "call_back", slow_delivery)
    post.add(item(1))
    turn = asyncio.create_task(post.outbox.turn())
    assert await asyncio.to_thread(delivering.wait, 10)
    started = post.clock.monotonic()
    flush = asyncio.create_task(post.outbox.flush(10))
    await asyncio.sleep(0)
    let_go.set()
    await asyncio.gather(turn, flush)
    assert post.clock.monotonic() == started
    assert post.desk.results == [item(1)]


async def test_after_closing_nothing_is_taken_or_sent(post: Post) -> None:
    post.add(item(1))
    post.outbox.close()
    post.add(item(2))
    assert await post.outbox.turn() == 30
    assert post.desk.results == []
    post.outbox = post.open()
    assert post.outbox.waiting() == [item(1)]


async def test_at_the_cap_a_trigger_is_refused_with_the_reason_and_taken_again_after_delivery(
    app: Handlers, rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_module, "COUNT_LIMIT", 2)
    app.job("hello")(lambda: "greeted")
    ran = rig()
    ran.desk.away = True
    for log_id in (1, 2):
        ran.result(log_id, "hello")
    refused = ran.run(3, "hello")
    assert not refused.ok
    assert refused.msg == "Refused: 2 results wait for a coordinator, and there is no room for more."
    assert ran.run(1, "hello").ok, "what is known here is not new work"
    assert ran.runtime.health()["status"] != "ok"
    ran.desk.away = False
    await ran.runtime.outbox.turn()
    assert ran.run(3, "hello").ok
    assert ran.runtime.join_idle(10)


async def test_damage_on_the_disk_costs_one_result_and_the_rest_is_delivered(post: Post) -> None:
    for log_id in range(1, 6):
        post.add(item(log_id, f"result {log_id}"))
    post.outbox.close()
    [segment] = post.directory.glob("*.journal")
    text = bytearray(segment.read_bytes())
    text[text.index(b"result 3")] ^= 0x20
    segment.write_bytes(text[:-7])
    post.outbox = post.open()
    await post.outbox.turn()
    assert [result.log_id for result in post.desk.results] == [1, 2, 4]
    assert len(post.ears.of(RecordQuarantined)) == 2


async def test_results_go_to_the_next_coordinator_when_the_first_is_dead(
    tmp_path: Path, clock: HandClock, ears: Ears, free_port: int
) -> None:
    with StandIn(TOKEN) as alive:
        dead = f"http://127.0.0.1:{free_port}"
        link = CoordinatorCalls([dead, alive.url], TOKEN, 3.0)
        outbox = Outbox(tmp_path / "outbox", link, retry=30.0, clock=clock, events=ears)
        for log_id in (1, 2):
            outbox.add(item(log_id))
            outbox.join_recorded()
            assert await outbox.turn() == 0
        assert [result["logId"] for result in alive.results] == [1, 2]
        assert (len(outbox), ears.of(CallbacksFailed)) == (0, [])
        outbox.close()
        link.close()


async def test_a_coordinator_that_dies_between_two_batches_is_left_for_the_other(
    tmp_path: Path, clock: HandClock, ears: Ears
) -> None:
    with StandIn(TOKEN) as second:
        with StandIn(TOKEN) as first:
            link = CoordinatorCalls([first.url, second.url], TOKEN, 3.0)
            outbox = Outbox(tmp_path / "outbox", link, retry=30.0, clock=clock, events=ears)
            outbox.add(item(1))
            outbox.join_recorded()
            await outbox.turn()
            assert [result["logId"] for result in first.results] == [1]
            first.taking_results = False
            outbox.add(item(2))
            outbox.join_recorded()
            await outbox.turn()
        outbox.add(item(3))
        outbox.join_recorded()
        await outbox.turn()
        assert [result["logId"] for result in second.results] == [2, 3]
        assert len(outbox) == 0
        outbox.close()
        link.close()


class Picky(Desk):
    """A coordinator that answers for a request as a whole, and cannot take some results."""

    def __init__(self, *unfit: int) -> None:
        super().__init__()
        self.unfit = set(unfit)
        self.asked: list[list[int]] = []

    def call_back(self, items: Sequence[CallbackItem]) -> list[CallbackVerdict]:
        ids = [one.log_id for one in items]
        self.asked.append(ids)
        if self.unfit & set(ids):
            raise NotTaken("JSON parse error")
        return super().call_back(items)


def picky(tmp_path: Path, clock: HandClock, ears: Ears, *unfit: int) -> tuple[Picky, Outbox]:
    desk = Picky(*unfit)
    return desk, Outbox(tmp_path / "outbox", desk, retry=30.0, clock=clock, events=ears)


async def turned(outbox: Outbox, clock: HandClock, seconds: float) -> None:
    """Turn it as its loop would, for so long."""
    until = clock.monotonic() + seconds
    while clock.monotonic() < until:
        clock.advance(min(await outbox.turn() or 0.01, until - clock.monotonic()))


async def test_one_result_that_is_not_taken_holds_up_no_other(tmp_path: Path, clock: HandClock, ears: Ears) -> None:
    desk, outbox = picky(tmp_path, clock, ears, 333, 700)
    for log_id in range(1, 1001):
        outbox.add(item(log_id))
    outbox.join_recorded()
    await turned(outbox, clock, 25)
    assert sorted(one.log_id for one in desk.results) == [n for n in range(1, 1001) if n not in (333, 700)]
    assert len(desk.asked) < 100
    assert sorted(one.log_id for one in outbox.waiting()) == [333, 700]
    assert {told.log_id for told in ears.of(ResultNotTaken)} == {333, 700}
    assert outbox.not_taken == len(ears.of(ResultNotTaken)) == 2 * 6, "at once, and after 0.5, 1, 2, 4 and 8 s"
    desk.asked.clear()
    outbox.add(item(2000))
    outbox.join_recorded()
    await turned(outbox, clock, 120)
    assert desk.asked[0] == [2000]
    assert {tuple(ids) for ids in desk.asked[1:]} == {(333,), (700,)}, "by themselves"
    assert 6 <= len(desk.asked[1:]) <= 10, "about every callback_retry"
    desk.unfit.clear()
    await turned(outbox, clock, 31)
    assert len(outbox) == 0


async def test_while_nothing_is_taken_requests_become_few_and_small_and_then_large_again(
    tmp_path: Path, clock: HandClock, ears: Ears
) -> None:
    desk, outbox = picky(tmp_path, clock, ears, *range(1, 1001))
    for log_id in range(1, 1001):
        outbox.add(item(log_id))
    outbox.join_recorded()
    await turned(outbox, clock, 600)
    assert len(desk.asked) < 50
    desk.unfit.clear()
    desk.asked.clear()
    await turned(outbox, clock, 62)
    assert len(outbox) == 0
    assert len(desk.asked) < 60


async def test_what_travels_alone_is_sent_again_however_much_else_there_is(
    tmp_path: Path, clock: HandClock, ears: Ears
) -> None:
    """A gateway refused everything for a while: what was refused by itself then is not forgotten under load."""
    desk, outbox = picky(tmp_path, clock, ears, *range(1, 100_000))
    for log_id in range(1, 50):
        outbox.add(item(log_id))
    outbox.join_recorded()
    await turned(outbox, clock, 60)
    assert outbox.not_taken > 3
    desk.unfit.clear()
    for log_id in range(1_000, 60_000, 500):  # there is always a full request waiting
        for other in range(log_id, log_id + 500):
            outbox.add(item(other))
        outbox.join_recorded()
        await turned(outbox, clock, 0.5)
    assert not [one for one in outbox.waiting() if one.log_id < 1_000]


async def test_results_that_are_never_taken_leave_the_others_their_pace(
    tmp_path: Path, clock: HandClock, ears: Ears
) -> None:
    unfit = range(20, 4_000, 40)
    _desk, outbox = picky(tmp_path, clock, ears, *unfit)
    for second in range(100):
        for log_id in range(40 * second, 40 * second + 40):
            outbox.add(item(log_id + 1))
        outbox.join_recorded()
        await turned(outbox, clock, 1)
        behind = [one.log_id for one in outbox.waiting() if one.log_id not in unfit]
        assert behind == [], f"after {second} s"
    assert sorted(one.log_id for one in outbox.waiting()) == sorted(unfit)


class Slow(Desk):
    """A coordinator, or a line to one, that takes so many results in the time of a call."""

    def __init__(self, clock: HandClock, most: int) -> None:
        super().__init__()
        self.clock, self.most = clock, most

    def call_back(self, items: Sequence[CallbackItem]) -> list[CallbackVerdict]:
        self.clock.advance(3.0 * min(len(items), self.most) / self.most)
        if len(items) > self.most:
            raise Unanswered("Read timed out.")
        return super().call_back(items)


@pytest.mark.parametrize("most", [300, 7])
async def test_a_coordinator_that_is_slow_gets_what_it_can_take(
    tmp_path: Path, clock: HandClock, ears: Ears, most: int
) -> None:
    desk = Slow(clock, most)
    outbox = Outbox(tmp_path / "outbox", desk, retry=30.0, clock=clock, events=ears)
    for log_id in range(1, 10 * most):
        outbox.add(item(log_id))
    outbox.join_recorded()
    began = clock.monotonic()
    while len(outbox):
        await turned(outbox, clock, 1)
    assert clock.monotonic() - began < 3 * 3.0 * 10 + 60, "a third of what it could take, and the way there"


class Brittle(Picky):
    """A coordinator that breaks off when it reads some results."""

    def call_back(self, items: Sequence[CallbackItem]) -> list[CallbackVerdict]:
        try:
            return super().call_back(items)
        except NotTaken:
            raise Unanswered("Connection aborted.") from None


async def test_a_result_that_ends_the_connection_holds_up_no_other(
    tmp_path: Path, clock: HandClock, ears: Ears
) -> None:
    desk = Brittle(7)
    outbox = Outbox(tmp_path / "outbox", desk, retry=30.0, clock=clock, events=ears)
    for log_id in range(1, 101):
        outbox.add(item(log_id))
    outbox.join_recorded()
    await turned(outbox, clock, 90)
    assert [one.log_id for one in outbox.waiting()] == [7]


async def test_on_leaving_everything_is_tried_again_whatever_became_of_it(
    tmp_path: Path, clock: HandClock, ears: Ears
) -> None:
    desk, outbox = picky(tmp_path, clock, ears, 1)
    outbox.add(item(1))
    outbox.join_recorded()
    await turned(outbox, clock, 40)
    desk.unfit.clear()
    began = clock.monotonic()
    await outbox.flush(5)
    assert len(outbox) == 0
    assert clock.monotonic() - began < 1


async def test_a_coordinator_that_is_there_and_refuses_is_told_from_one_that_is_away() -> None:
    calls = CoordinatorCalls(["http://127.0.0.1:9"], TOKEN, 1.0)
    with pytest.raises(Unavailable) as away:
        calls.call_back([item(1)])
    assert type(away.value) is Unavailable
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(Unanswered):
        CoordinatorCalls([f"http://127.0.0.1:{silent.getsockname()[1]}"], TOKEN, 0.3).call_back([item(1)])
    with StandIn(TOKEN) as coordinator:
        coordinator.taking_results = False
        with pytest.raises(NotTaken):
            CoordinatorCalls([coordinator.url], TOKEN, 5.0).call_back([item(1)])
