"""Logs of executions from queues, after the end: what did not arrive is asked for, and whoever leads finds the rest."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, update

from orth.channels.interface import START, ChannelsUnavailable, Entry, Listening, Message
from orth.cluster.election import Node
from orth.coordinator import archiving
from orth.coordinator.ended_logs import EndedLogs, Step, next_step
from orth.coordinator.log_keeping import LEFT_OUT
from orth.coordinator.logs.pages import gap_note
from orth.coordinator.node import Coordinator
from orth.coordinator.rooms import Surroundings
from orth.domain.executions import Phase
from orth.errors import Unavailable
from orth.events import Events
from orth.settings import Settings
from orth.settings.sections import CoordinatorSection, LogsSection
from orth.store.database import Database, open_database
from orth.store.executions import end_executions
from orth.store.log_archives import ArchivedLog, find_archive
from orth.store.tables import executions
from orth.testing.clocks import ManualClock
from orth.testing.recorder import Recorder
from orth.testing.stores import prepare_store
from orth.wire.channel_messages import LogLines, LogsWanted, WantedLog
from orth.wire.entry_signatures import refusal_of
from orth.wire.executor_calls import ExecutorCalls
from orth.wire.signatures import key_of
from tests.coordinator.queue_site import APP, NAMES, TOKEN, ForgetfulChannels, QueueSite, Worker, eventually
from tests.store.builders import NOW, open_some, success

JOB = 1


class DeafChannels(ForgetfulChannels):
    """Away altogether, when they are."""

    async def read(self, after: Mapping[str, str], *, limit: int) -> dict[str, list[Entry]]:
        await self.check()
        return await super().read(after, limit=limit)

    async def announce(self, topic: str, message: Message) -> None:
        await self.check()
        await super().announce(topic, message)


class Bench:
    """The loop of a coordinator, turned by hand, and one execution that has ended."""

    def __init__(self, coordinator: Coordinator, channels: DeafChannels, clock: ManualClock, ear: Listening) -> None:
        self.logs: EndedLogs = coordinator.queues.ended_logs
        self.reading = coordinator.records.logs
        self.db: Database = coordinator.given.db
        self.channels, self.clock, self._ear = channels, clock, ear
        self.one = 0

    async def end_one(self) -> None:
        self.one = await self.db.tx(_ended)
        self.box = NAMES.logs(JOB, self.one)

    async def post(self, first_line: int, *texts: str, end: bool = False, follows: int | None = None) -> None:
        piece = LogLines(
            job_id=JOB,
            execution_id=self.one,
            seq=1,
            first_line=first_line,
            text="\n".join(texts),
            end=end or None,
            follows=follows,
        )
        await self.channels.post({self.box: [piece.model_dump(mode="json", by_alias=True, exclude_none=True)]})

    async def let_pass(self, seconds: float) -> None:
        """Time in which the loop turns as often as it likes."""
        until = self.clock.monotonic() + seconds
        while self.clock.monotonic() < until:
            await self.logs.turn()
            self.clock.move(0.5)
        await self.logs.turn()

    async def archived(self) -> ArchivedLog | None:
        return await self.db.read(find_archive, self.one)

    async def texts(self) -> list[str]:
        found: list[str] = []
        source, line = await self.reading.source(self.one), 1
        while True:
            page = await self.reading.page(source, line)
            found += page.lines.texts
            if page.end or not page.lines.texts:
                return found
            line = page.lines.last + 1

    async def asked(self) -> list[int]:
        """From which lines on the log was asked for."""
        heard = [LogsWanted.model_validate(one.message) for one in await self._ear.next(0.0)]
        assert all(question.app_name == APP for question in heard)
        return [log.from_line for question in heard for log in question.logs if log.execution_id == self.one]

    async def boxes_are_gone(self) -> bool:
        return not (await self.channels.read({self.box: START}, limit=1)).get(self.box)


def _ended(connection: Connection) -> int:
    (one,) = open_some(connection, 1)
    end_executions(connection, [success(one)], NOW)
    _put_into(connection, one, f"{APP}.a")
    return one


def _put_into(connection: Connection, execution_id: int, queue: str | None) -> None:
    connection.execute(update(executions).where(executions.c.id == execution_id).values(queue=queue))


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with benches(tmp_path) as bench:
        yield bench


@asynccontextmanager
async def benches(tmp_path: Path, **logs: Any) -> AsyncIterator[Bench]:
    url, clock = f"sqlite:///{tmp_path / 'orth.db'}", ManualClock()
    prepare_store(url)
    channels = DeafChannels(clock)
    async with ExecutorCalls(timeout=1.0) as link, channels.listen([NAMES.logs_wanted]) as ear:
        with open_database(url) as db:
            given = Surroundings(
                settings=Settings(coordinator=CoordinatorSection(data_dir=tmp_path), logs=LogsSection(**logs)),
                node=Node("node-1", "process-1"),
                db=db,
                link=link,
                clock=clock,
                events=Events(Recorder()),
                access_token=TOKEN,
                signing_secret="5e" * 32,
                channels=channels,
            )
            bench = Bench(Coordinator(given), channels, clock, ear)
            await bench.end_one()
            yield bench


def test_a_log_is_asked_for_ever_more_rarely_and_left_in_the_end() -> None:
    steps: list[tuple[float, Step]] = []
    age = silence = 0.0
    asked = 0
    while not steps or steps[-1][1] is not Step.LEAVE:
        age, silence = age + 1, silence + 1
        step = next_step(silence, age, asked)
        if step is not Step.WAIT:
            steps.append((age, step))
            silence, asked = 0.0, asked + 1
    ask, archive = Step.ASK, Step.ARCHIVE
    assert steps == [(2, ask), (6, ask), (14, ask), (30, ask), (62, archive), (362, ask), (1862, Step.LEAVE)]
    assert next_step(0.0, 3600.0, 0) is Step.LEAVE


async def test_a_whole_log_is_archived_at_once_and_nobody_asks(bench: Bench) -> None:
    await bench.post(1, "first", "second")
    await bench.post(3, "third", end=True)
    bench.logs.add(bench.one, JOB, begun=True)
    await bench.logs.turn()
    kept = await bench.archived()
    assert kept is not None
    assert (kept.complete, kept.lines, len(bench.logs)) == (True, 3, 0)
    assert await bench.boxes_are_gone()
    assert await bench.asked() == []


async def test_an_archive_that_cannot_be_written_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "archive").write_text("in the way of the folder")
    async with benches(tmp_path, archive="folder") as bench:
        await bench.post(1, "first", end=True)
        bench.logs.add(bench.one, JOB, begun=True)
        with pytest.raises(Unavailable, match="The archive of logs cannot be written"):
            await bench.logs.turn()
        (tmp_path / "archive").unlink()
        await bench.let_pass(2)
        kept = await bench.archived()
        assert kept is not None
        assert (kept.complete, kept.lines) == (True, 1)


async def test_what_is_sent_again_fills_the_gap_it_was_asked_for(bench: Bench) -> None:
    await bench.post(1, "first")
    await bench.post(4, "fourth", "fifth")
    bench.logs.add(bench.one, JOB, begun=True)
    await bench.let_pass(3)
    assert await bench.asked() == [2]
    await bench.post(2, "second", "third", "fourth")
    await bench.let_pass(2)
    assert await bench.archived() is None, "its end was not told"
    await bench.let_pass(4)
    assert await bench.asked() == [6], "what lay in front of its turn was read"
    await bench.post(6, "sixth", end=True)
    await bench.let_pass(2)
    kept = await bench.archived()
    assert kept is not None
    assert kept.complete
    assert await bench.texts() == ["first", "second", "third", "fourth", "fifth", "sixth"]


async def test_a_box_that_was_lost_is_filled_anew(bench: Bench) -> None:
    bench.logs.add(bench.one, JOB)
    await bench.let_pass(3)
    assert await bench.asked() == [1]
    await bench.post(1, "all of it", end=True)
    await bench.let_pass(2)
    kept = await bench.archived()
    assert kept is not None
    assert kept.complete
    assert await bench.boxes_are_gone()


async def test_silence_counts_only_while_the_channels_answer(bench: Bench) -> None:
    await bench.post(1, "first")
    bench.logs.add(bench.one, JOB, begun=True)
    await bench.let_pass(50)
    assert len(await bench.asked()) == 4
    bench.channels.away = True
    for _ in range(100):
        bench.clock.move(100)
        with pytest.raises(ChannelsUnavailable):
            await bench.logs.turn()
    bench.channels.away = False
    await bench.let_pass(50)
    assert await bench.archived() is None
    assert len(bench.logs) == 1
    await bench.post(2, "second", end=True)
    await bench.let_pass(10)
    kept = await bench.archived()
    assert kept is not None
    assert kept.complete


async def test_a_log_that_stays_incomplete_says_where_and_is_replaced_by_a_whole_one(bench: Bench) -> None:
    await bench.post(1, "first")
    await bench.post(3, "third")
    await bench.post(6, "sixth", end=True)
    bench.logs.add(bench.one, JOB, begun=True)
    await bench.let_pass(70)
    kept = await bench.archived()
    assert kept is not None
    assert not kept.complete
    lost = [gap_note(2, 2), "third", gap_note(4, 5)]
    assert await bench.texts() == ["first", *lost, "sixth"]
    await bench.let_pass(320)
    assert await bench.asked() == [2] * 6
    await bench.post(1, *map(str, range(1, 7)), end=True)
    await bench.let_pass(60)
    assert await bench.texts() == ["first", *map(str, range(2, 7))]
    kept = await bench.archived()
    assert kept is not None
    assert kept.complete
    assert len(bench.logs) == 0


async def test_of_a_log_of_which_nothing_came_that_is_said_and_it_is_left(bench: Bench) -> None:
    bench.logs.add(bench.one, JOB, begun=True)
    await bench.let_pass(70)
    assert await bench.texts() == [LEFT_OUT]
    await bench.let_pass(1900)
    assert len(bench.logs) == 0


async def test_what_was_left_out_on_purpose_is_not_asked_for(bench: Bench) -> None:
    await bench.post(1, "first")
    await bench.post(1000, "last", end=True, follows=1)
    bench.logs.add(bench.one, JOB, begun=True)
    await bench.logs.turn()
    assert await bench.asked() == []
    kept = await bench.archived()
    assert kept is not None
    assert not kept.complete
    assert await bench.texts() == ["first", gap_note(2, 999, "were left out, because the log is long"), "last"]


async def test_what_another_has_archived_is_let_go(bench: Bench) -> None:
    await bench.post(1, "first", end=True)
    bench.logs.add(bench.one, JOB, begun=True)
    await bench.logs.turn()
    bench.logs.add(bench.one, JOB)
    await bench.let_pass(70)
    kept = await bench.archived()
    assert kept is not None
    assert kept.complete
    assert len(bench.logs) == 0
    assert await bench.asked() == []


async def test_of_an_execution_that_was_pushed_no_log_is_awaited_here(bench: Bench) -> None:
    """Owners follow those as well; ``archiving`` fetches their logs."""
    await bench.db.tx(_put_into, bench.one, None)
    bench.logs.add(bench.one, JOB)
    await bench.let_pass(3)
    assert len(bench.logs) == 0
    assert await bench.asked() == []
    assert await bench.archived() is None


async def test_boxes_that_are_out_of_order_altogether_take_no_endless_time(bench: Bench) -> None:
    for number in range(300, 0, -1):
        await bench.post(number, str(number))
    bench.logs.add(bench.one, JOB, begun=True)
    await bench.let_pass(70)
    kept = await bench.archived()
    assert kept is not None
    assert not kept.complete


async def test_what_the_channels_forgot_while_it_ran_is_asked_for_and_archived(tmp_path: Path) -> None:
    async with (
        QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path) as site,
        Worker(site.channels) as worker,
        site.channels.listen([NAMES.logs_wanted]) as ear,
    ):
        job = await site.job()
        one = await site.trigger(job)
        (dispatch,) = await worker.take()
        await worker.accept(dispatch)
        await site.until(one, lambda it: it.phase is Phase.DISPATCHED)
        await worker.log(dispatch, 1, "first\nsecond")
        site.channels.lose_everything()
        await worker.log(dispatch, 3, "third", end=True)
        await worker.finish(dispatch)
        (heard,) = await ear.next(10.0)
        assert refusal_of(heard.message, NAMES.logs_wanted, key_of(TOKEN), site.clock.now()) is None
        time = dispatch.trigger.log_date_time
        wanted = WantedLog(job_id=job.id, execution_id=one, log_time=time, from_line=1)
        assert LogsWanted.model_validate(heard.message).logs == (wanted,)
        await worker.log(dispatch, 1, "first\nsecond\nthird", end=True)
        kept = await eventually(lambda: site.db.read(find_archive, one), lambda found: found is not None)
        assert kept is not None
        assert (kept.complete, kept.lines) == (True, 3)
        logs = site.coordinators[0].records.logs
        page = await logs.page(await logs.source(one), 1)
        assert (list(page.lines.texts), page.end) == (["first", "second", "third"], True)


async def test_what_ended_with_nobody_to_follow_it_is_found_by_the_leader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner died, and it ended before anybody else had it: any node took its result."""
    monkeypatch.setattr(archiving, "_LEFT_TO_OWNERS", 0.1)
    async with QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path, coordinators=0) as site:
        prepared = open_database(site.url)
        one = await prepared.tx(_ended_now, site.clock.now())
        prepared.close()
        piece: dict[str, Any] = {"jobId": JOB, "executionId": one, "seq": 1, "firstLine": 1, "text": "all", "end": True}
        box = NAMES.logs(JOB, one)
        await site.channels.post({box: [piece]})
        site.start()
        kept = await eventually(lambda: site.db.read(find_archive, one), lambda found: found is not None)
        assert kept is not None
        assert kept.complete
        await eventually(lambda: site.channels.read({box: START}, limit=1), lambda found: not found.get(box))


def _ended_now(connection: Connection, now: int) -> int:
    one = _ended(connection)
    times = {"trigger_time": now, "handle_time": now}
    connection.execute(update(executions).where(executions.c.id == one).values(**times))
    return one
