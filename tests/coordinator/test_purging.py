"""Retention: what the settings no longer keep goes, step by step, while everything else goes on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from orth.clock import SystemClock
from orth.coordinator.facts import RowsPurged
from orth.coordinator.purging import STEP, Purging
from orth.domain.audit import Actor, ActorKind, Deed
from orth.domain.audit_chain import Chain, Kept
from orth.executor.handlers import Handlers
from orth.settings import Settings
from orth.settings.sections import RetentionSection
from orth.store.audit import Wanted, entries_after, record, verify
from orth.store.database import Connection, Database, open_database
from orth.store.execution_lists import list_executions
from orth.store.executions import end_executions, open_executions
from orth.store.fires import list_fires
from orth.testing import Cluster
from tests.store.builders import an_opening, open_some, success

HOUR = timedelta(hours=1)


def purging_of(cluster: Cluster) -> Purging:
    return next(loop for loop in cluster.coordinators[0].loops if isinstance(loop, Purging))


async def a_pass(purging: Purging) -> None:
    """Turn until it rests, with the pauses in between."""
    nobody = asyncio.Event()
    while (pause := await purging.guarded_turn()) < 1:
        await SystemClock().sleep_unless(nobody, pause)
    assert pause == 3600, "it does not lead"


@asynccontextmanager
async def keeping_an_hour(folder: Path, store_url: str | None = None) -> AsyncIterator[Cluster]:
    settings = Settings(retention=RetentionSection(executions=HOUR, fires=HOUR, statistics=HOUR))
    async with Cluster(folder, Handlers("tests"), store_url=store_url, settings=settings, executors=0) as cluster:
        await a_pass(purging_of(cluster))  # the first has begun: what follows is a whole one
        yield cluster


def ended_ones(connection: Connection, count: int, prefix: str, at: int) -> None:
    open_executions(connection, [an_opening(f"{prefix}:{number}") for number in range(count)], at)
    ids = [one.id for one in list_executions(connection, limit=count)]
    end_executions(connection, [success(one) for one in ids], at)


async def left(db: Database) -> list[str]:
    return [one.trigger_key for one in await db.read(list_executions, limit=10_000)]


async def test_a_pass_takes_short_steps_and_then_rests_for_an_hour(tmp_path: Path) -> None:
    async with keeping_an_hour(tmp_path) as cluster:
        purging, db = purging_of(cluster), cluster.db
        await db.tx(ended_ones, 3 * STEP + 1, "old", cluster.clock.now())
        cluster.clock.jump(HOUR.total_seconds() + 1)
        await db.tx(ended_ones, 2, "young", cluster.clock.now())
        before, pauses = await left(db), [0.0]
        while pauses[-1] < 1:
            pauses.append(await purging.guarded_turn())
            now = await left(db)
            assert len(before) - len(now) <= STEP
            before = now
        assert sorted(before) == ["young:0", "young:1"]
        assert pauses[-1] == 3600
        assert set(pauses[1:-1]) == {0.05}
        assert cluster.recorder.all(RowsPurged, what="executions", rows=3 * STEP + 1)


async def test_the_next_pass_starts_from_the_beginning(tmp_path: Path) -> None:
    """What was open in the first pass, and has ended since, is found by a later one."""
    async with keeping_an_hour(tmp_path) as cluster:
        purging, db = purging_of(cluster), cluster.db
        ids = await db.tx(open_some, 3)
        cluster.clock.jump(3 * HOUR.total_seconds())
        await a_pass(purging)
        assert len(await left(db)) == 3
        await db.tx(end_executions, [success(one) for one in ids[:2]], cluster.clock.now())
        cluster.clock.jump(2 * HOUR.total_seconds())
        await a_pass(purging)
        assert await left(db) == ["fire:2"]
        assert await db.read(list_fires, 1, 10) == []


async def test_opening_and_ending_go_on_while_a_history_is_removed(tmp_path: Path, race_url: str) -> None:
    """On every database: beside a purge, no transaction waits longer than a step takes."""
    async with keeping_an_hour(tmp_path, race_url) as cluster:
        purging = purging_of(cluster)
        await cluster.db.tx(ended_ones, 8 * STEP, "history", cluster.clock.now())
        cluster.clock.jump(2 * HOUR.total_seconds())
        clock, waits = SystemClock(), []
        with open_database(race_url, size=2) as other:
            task = asyncio.create_task(a_pass(purging))
            number = 0
            while not task.done():
                began = clock.monotonic()
                ids = await other.tx(open_some, 5, prefix=f"live:{number}", job_id=4711)
                await other.tx(end_executions, [success(one) for one in ids], cluster.clock.now())
                waits.append(clock.monotonic() - began)
                number += 1
            await task
        assert number > 1
        assert max(waits) < 5.0  # a lock that is waited for would end in an error after 8 s
        kept = [key for key in await left(cluster.db) if key.startswith("live")]
        assert len(kept) == 5 * number
        assert not [key for key in await left(cluster.db) if key.startswith("history")]


def some_deeds(connection: Connection, count: int, at: int) -> None:
    for number in range(count):
        record(connection, Actor(ActorKind.USER, "ann"), Deed("job.update", "job", str(number)), at)


async def test_the_audit_is_kept_for_its_own_time_and_stays_whole(tmp_path: Path) -> None:
    settings = Settings(retention=RetentionSection(audit=HOUR))
    async with Cluster(tmp_path, Handlers("tests"), settings=settings, executors=0) as cluster:
        await a_pass(purging_of(cluster))
        await cluster.db.tx(some_deeds, STEP + 3, cluster.clock.now())
        cluster.clock.jump(HOUR.total_seconds() + 1)
        await cluster.db.tx(some_deeds, 2, cluster.clock.now())
        await a_pass(purging_of(cluster))
        left = await cluster.db.read(entries_after, Wanted(), 0)
        assert [one.action for one in left] == ["job.update"] * 3 + ["audit.purge"] * 2
        chain = Chain(kept=Kept(HOUR // timedelta(milliseconds=1), cluster.clock.now()))
        assert await cluster.db.read(verify, chain) is None
        assert [purge.entries for purge in chain.purges] == [STEP, 2]
        assert cluster.recorder.all(RowsPurged, what="audit entries", rows=STEP + 2)
