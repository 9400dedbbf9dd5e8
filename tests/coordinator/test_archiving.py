"""Logs outlive their executors: copied by the leader, found by everybody, and removed in the end."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, update

from orth.coordinator import archiving
from orth.coordinator.logs import fetches
from orth.coordinator.logs.facts import LogBroughtABug, LogNotArchived
from orth.coordinator.logs.pages import LONG, gap_note
from orth.coordinator.logs.reading import LogReading, Page, Source
from orth.errors import Unavailable
from orth.executor.context import JobContext
from orth.executor.handlers import Handlers
from orth.settings import Settings
from orth.settings.sections import CoordinatorSection, LogsSection
from orth.store.log_archives import ArchivedLog, find_archive
from orth.store.tables import executions
from orth.testing.cluster import Cluster
from orth.testing.network import Line

COUNT = 2500


@asynccontextmanager
async def cluster_with(folder: Path, store_url: str | None = None, **logs: Any) -> AsyncIterator[Cluster]:
    app = Handlers("tests")

    @app.job("talk")
    def talk(ctx: JobContext, lines: int = COUNT) -> None:
        for number in range(1, lines + 1):
            ctx.log("{}", f"<b>line</b> {number} \x1b[31m")

    settings = Settings(coordinator=CoordinatorSection(data_dir=folder / "coordinator"), logs=LogsSection(**logs))
    async with Cluster(folder, app, store_url=store_url, settings=settings) as cluster:
        yield cluster


async def ran(cluster: Cluster, lines: int = COUNT) -> int:
    job = await cluster.job(start=False, executor_handler="talk", executor_param=f'{{"lines": {lines}}}')
    execution_id = await cluster.trigger(job)
    await cluster.advance(seconds=1)
    assert (await cluster.execution(execution_id)).status.terminal
    return execution_id


def reading(cluster: Cluster) -> LogReading:
    return cluster.coordinators[0].records.logs


async def whole(cluster: Cluster, execution_id: int, *, gaps: bool = False) -> list[str]:
    source = await reading(cluster).source(execution_id)
    found: list[str] = []
    line = 1
    while True:
        page = await reading(cluster).page(source, line)
        assert page.lines.first == line or (gaps and page.lines.first > line)
        found += page.lines.texts
        if page.end:
            return found
        line = page.lines.last + 1


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute until a log is given up instead of a quarter of an hour, in which all loops would turn thousands of
    times.
    """
    monkeypatch.setattr(archiving, "_PAUSES", tuple(10.0 * (one + 1) for one in range(len(archiving._PAUSES))))


@pytest.mark.parametrize("kind", ["store", "folder"])
async def test_a_log_outlives_its_executor_on_every_database(kind: str, store_url: str, tmp_path: Path) -> None:
    async with cluster_with(tmp_path, store_url, archive=kind) as cluster:
        one = await ran(cluster)
        before = await whole(cluster, one)
        assert sum("<b>line</b>" in text and "\x1b[31m" in text for text in before) == COUNT
        await cluster.advance(seconds=15)
        kept = await cluster.db.read(find_archive, one)
        assert kept is not None
        assert (kept.lines, kept.complete, kept.place is None) == (len(before), True, kind == "store")
        files = sorted((tmp_path / "coordinator" / "archive").rglob("*"))
        assert [path.name for path in files if path.is_file()] == ([] if kind == "store" else [f"{one}.log.gz"])
        cluster.kill_executor(cluster.executors[0])
        assert await whole(cluster, one) == before
        tail = await reading(cluster).tail(await reading(cluster).source(one), 2)
        assert (list(tail.lines.texts), tail.lines.last, tail.end) == (before[-2:], len(before), True)


async def test_without_an_archive_a_log_goes_with_its_executor(tmp_path: Path) -> None:
    async with cluster_with(tmp_path) as cluster:
        one = await ran(cluster, 3)
        await cluster.advance(seconds=30)
        assert await cluster.db.read(find_archive, one) is None
        cluster.kill_executor(cluster.executors[0])
        with pytest.raises(Unavailable):
            await whole(cluster, one)


@pytest.mark.parametrize("kind", ["store", "folder"])
async def test_of_a_long_log_the_beginning_and_the_last_lines_are_kept(kind: str, tmp_path: Path) -> None:
    async with cluster_with(tmp_path, archive=kind, archive_limit=20_000) as cluster:
        one = await ran(cluster)
        before = await whole(cluster, one)
        await cluster.advance(seconds=15)
        kept = await cluster.db.read(find_archive, one)
        assert kept is not None
        assert not kept.complete
        assert await whole(cluster, one) == before, "the executor still has all of it"
        cluster.kill_executor(cluster.executors[0])
        archived = await whole(cluster, one, gaps=True)
        note = next(index for index, text in enumerate(archived) if text.startswith("(Lines"))
        beginning, ending = archived[:note], archived[note + 1 :]
        assert 100 < note < 1000
        assert (beginning, ending) == (before[:note], before[-len(ending) :])
        assert archived[note] == gap_note(note + 1, len(before) - len(ending), LONG)


async def test_an_executor_that_does_not_answer_is_asked_again(tmp_path: Path) -> None:
    async with cluster_with(tmp_path, archive="store") as cluster:
        one = await ran(cluster, 3)
        cluster.set_line(cluster.executors[0], Line.LOST_ANSWERS)
        await cluster.advance(seconds=8)
        assert await cluster.db.read(find_archive, one) is None
        cluster.set_line(cluster.executors[0], Line.UP)
        await cluster.advance(seconds=20)
        assert await cluster.db.read(find_archive, one) is not None


@pytest.mark.usefixtures("short_pauses")
@pytest.mark.parametrize("stops", [True, False])
async def test_a_log_that_is_still_written_is_not_taken_for_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stops: bool
) -> None:
    async with cluster_with(tmp_path, archive="store") as cluster:
        read = LogReading._answer
        writing = True

        async def of_a_writer(self: LogReading, source: Source, line: int, **more: Any) -> AsyncGenerator[Page, None]:
            async for page in read(self, source, line, **more):
                yield replace(page, end=not page.lines.texts, closed=False) if writing else page

        monkeypatch.setattr(LogReading, "_answer", of_a_writer)
        one = await ran(cluster, 3)
        await cluster.advance(seconds=30)
        assert await cluster.db.read(find_archive, one) is None, "there is more to come"
        writing = not stops
        await cluster.advance(seconds=60)
        kept = await cluster.db.read(find_archive, one)
        assert kept is not None
        assert (kept.lines, kept.complete) == (5, stops)


@pytest.mark.usefixtures("short_pauses")
async def test_what_cannot_be_fetched_is_given_up_and_told(tmp_path: Path) -> None:
    async with cluster_with(tmp_path, archive="store") as cluster:
        one = await ran(cluster, 3)
        cluster.kill_executor(cluster.executors[0])
        await cluster.advance(seconds=90)
        (told,) = cluster.recorder.all(LogNotArchived)
        assert told.execution_id == one


async def test_a_new_leader_finds_what_ended_while_nobody_led(tmp_path: Path) -> None:
    async with cluster_with(tmp_path, archive="store") as cluster:
        one = await ran(cluster, 3)
        await cluster.kill_coordinator(cluster.coordinators[0])
        cluster.add_coordinator()
        await cluster.advance(seconds=60)
        assert await cluster.db.read(find_archive, one) is not None


@pytest.mark.parametrize("kind", ["store", "folder"])
async def test_copies_go_when_their_time_is_over(kind: str, tmp_path: Path) -> None:
    async with cluster_with(tmp_path, archive=kind, retention=timedelta(minutes=1)) as cluster:
        one = await ran(cluster, 3)
        await cluster.advance(seconds=15)
        assert await cluster.db.read(find_archive, one) is not None
        leftover = tmp_path / "coordinator" / "archive" / "2026-01-01"
        leftover.mkdir(parents=True, exist_ok=True)
        (leftover / "99.log.gz").write_bytes(b"of a leader that died before its row was stored")
        await cluster.advance(seconds=130)
        await cluster.coordinators[0].records.archive_folder.turn()
        assert await cluster.db.read(find_archive, one) is None
        assert [path for path in (tmp_path / "coordinator" / "archive").rglob("*") if path.is_file()] == []


async def test_a_damaged_file_is_no_reason_to_fail_while_the_executor_has_the_log(tmp_path: Path) -> None:
    async with cluster_with(tmp_path, archive="folder") as cluster:
        one = await ran(cluster, 3)
        before = await whole(cluster, one)
        await cluster.advance(seconds=15)
        (file,) = (tmp_path / "coordinator" / "archive").rglob("*.gz")
        file.unlink()
        assert await whole(cluster, one) == before


# --- executors that say anything


class Liar:
    """An executor whose logs are what a test says; everything else it does as it should."""

    def __init__(self, cluster: Cluster, page: Callable[[int], dict[str, Any]]) -> None:
        self._runtime = cluster.add_executor()
        self.address = self._runtime.address
        self.asked: list[int] = []
        self._page = page
        cluster.network.executors[self.address] = self  # type: ignore[assignment]  # in its place on the network

    def handle(self, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        if path != "/log":
            return self._runtime.handle(path, body, headers)
        line = json.loads(body)["fromLineNum"]
        self.asked.append(line)
        return 200, json.dumps({"code": 200, "data": self._page(line)}).encode()


def one_line(line: int) -> dict[str, Any]:
    return {"fromLineNum": line, "toLineNum": line, "logContent": "\n", "isEnd": False}


async def ran_at(cluster: Cluster, address: str, count: int = 1) -> list[int]:
    job = await cluster.job(start=False, executor_handler="talk", executor_param='{"lines": 3}')
    await cluster.advance(seconds=1)
    found = [one for _ in range(count) for one in await cluster.trigger_all(job, None, [address])]
    await cluster.advance(seconds=1)
    assert [(await cluster.execution(one)).status.terminal for one in found] == [True] * count
    return found


async def kept_of(cluster: Cluster, *ids: int) -> list[ArchivedLog | None]:
    return [await cluster.db.read(find_archive, one) for one in ids]


@pytest.mark.usefixtures("short_pauses")
async def test_a_page_of_nonsense_is_that_logs_trouble(tmp_path: Path) -> None:
    async with cluster_with(tmp_path, archive="store") as cluster:
        liar = Liar(cluster, lambda line: one_line(line) | {"toLineNum": 2**31 - 1})
        (bad,) = await ran_at(cluster, liar.address)
        (good,) = await ran_at(cluster, cluster.executors[0].address)
        await cluster.advance(seconds=15)
        assert [kept is not None for kept in await kept_of(cluster, bad, good)] == [False, True]
        await cluster.advance(seconds=90)
        (told,) = cluster.recorder.all(LogNotArchived)
        assert (told.execution_id, liar.address in told.reason) == (bad, True)


async def test_a_bug_met_with_one_log_costs_that_log_only(tmp_path: Path) -> None:
    async with cluster_with(tmp_path, archive="folder") as cluster:
        liar = Liar(cluster, lambda line: {"line": line // 0})
        (bad,) = await ran_at(cluster, liar.address)
        (good,) = await ran_at(cluster, cluster.executors[0].address)
        await cluster.advance(seconds=60)
        assert [kept is not None for kept in await kept_of(cluster, bad, good)] == [False, True]
        (told,) = cluster.recorder.all(LogBroughtABug)
        assert (told.execution_id, "ZeroDivisionError" in told.error) == (bad, True)
        assert len(liar.asked) == 1
        assert not list((tmp_path / "coordinator" / "archive").rglob("*.part"))


@pytest.mark.usefixtures("short_pauses")
async def test_logs_without_end_hold_up_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetches, "_SOON", 0.2)
    monkeypatch.setattr(archiving, "_PAGES", 10**9)  # so that only time ends them
    async with cluster_with(tmp_path, archive="folder") as cluster, asyncio.timeout(120):
        liar = Liar(cluster, one_line)
        endless = await ran_at(cluster, liar.address, 10)
        await cluster.advance(seconds=8)
        asked = len(liar.asked)
        (good,) = await ran_at(cluster, cluster.executors[0].address)
        await cluster.advance(seconds=15)
        assert len(liar.asked) > asked, "they go on"
        assert await kept_of(cluster, *endless) == [None] * 10
        assert (await kept_of(cluster, good))[0] is not None
        await cluster.advance(seconds=100)
        kept = [one for one in await kept_of(cluster, *endless) if one is not None]
        assert [one.complete for one in kept] == [False, False], "as many as are fetched of one executor at a time"
        asked = len(liar.asked)
        await cluster.advance(seconds=100)
        assert len(liar.asked) == asked, "it is left alone"
        await cluster.advance(seconds=400)
        told = cluster.recorder.all(LogNotArchived)
        assert told
        assert all("did not come to an end" in one.reason for one in told)


async def test_a_log_is_given_so_many_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archiving, "_PAGES", 50)
    async with cluster_with(tmp_path, archive="folder") as cluster:
        liar = Liar(cluster, one_line)
        (one,) = await ran_at(cluster, liar.address)
        await cluster.advance(seconds=15)
        assert len(liar.asked) == 50
        (kept,) = await kept_of(cluster, one)
        assert kept is not None
        assert (kept.lines, kept.complete) == (50, False)
        (file,) = (tmp_path / "coordinator" / "archive").rglob("*.gz")
        assert file.stat().st_size < 50 * 100


@pytest.mark.parametrize("kind", ["store", "folder"])
async def test_a_log_of_another_make_comes_in_one_answer_whatever_its_size(kind: str, tmp_path: Path) -> None:
    """All of the file, as one text: pages of it are packed while it comes."""
    text = "".join(f"line {number:>8}".ljust(99, ".") + "\n" for number in range(1, 200_001))
    whole_file = {"fromLineNum": 1, "toLineNum": 200_000, "logContent": text, "isEnd": False}
    nothing_new = {"toLineNum": 0, "logContent": ""}
    async with cluster_with(tmp_path, archive=kind, archive_limit=32 * 1024 * 1024) as cluster:
        liar = Liar(cluster, lambda line: whole_file if line == 1 else nothing_new)
        (one,) = await ran_at(cluster, liar.address)
        await cluster.db.tx(_of_another_make, one)
        await cluster.advance(seconds=15)
        (kept,) = await kept_of(cluster, one)
        assert kept is not None
        assert (kept.lines, kept.size, kept.complete) == (200_000, len(text), True)
        assert liar.asked == [1, 200_001], "one answer, and the end"


def _of_another_make(connection: Connection, execution_id: int) -> None:
    connection.execute(update(executions).where(executions.c.id == execution_id).values(incarnation=None))
