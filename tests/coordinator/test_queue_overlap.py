"""Executions of one job do not overlap when several executors take from its queue."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from orth.coordinator.killing import Killing
from orth.domain import reasons
from orth.domain.audit import Actor, ActorKind
from orth.domain.executions import COVERED_WORDS, Phase, Status
from orth.domain.jobs import BlockStrategy, Overlap
from orth.store.possibly_running import list_unconfirmed
from tests.coordinator.queue_site import QueueSite, Worker, eventually, quick_settings


@pytest.fixture
async def site(store_url: str, tmp_path: Path) -> AsyncIterator[QueueSite]:
    async with QueueSite(store_url, tmp_path) as site:
        yield site


async def test_one_place_from_the_offer_on(site: QueueSite) -> None:
    job = await site.job(overlap=Overlap.CLUSTER)
    async with Worker(site.channels) as one, Worker(site.channels, name="other") as other:
        first = await site.trigger(job)
        await site.until(first, lambda it: it.phase is Phase.OFFERED)
        second = await site.trigger(job)
        await site.until(second, lambda it: it.reason_code == reasons.BUSY_ELSEWHERE)
        (taken,) = await one.take()
        assert taken.execution_id == first
        await one.accept(taken)
        assert await other.take(0.8) == []
        await one.finish(taken)
        (taken,) = await other.take()
        assert taken.execution_id == second
        await other.accept(taken)
        await other.finish(taken)
        await site.until(second, lambda it: it.status is Status.SUCCESS)


async def test_each_executor_for_itself_where_the_job_says_so(site: QueueSite) -> None:
    job = await site.job(overlap=Overlap.EXECUTOR)
    async with Worker(site.channels) as one:
        ids = [await site.trigger(job) for _ in range(2)]
        taken = [dispatch for _ in range(2) for dispatch in await one.take()]
        assert sorted(dispatch.execution_id for dispatch in taken) == ids


async def test_discard_later_discards_while_one_is_in_the_queue(site: QueueSite) -> None:
    job = await site.job(overlap=Overlap.CLUSTER, executor_block_strategy=BlockStrategy.DISCARD_LATER)
    first = await site.trigger(job)
    await site.until(first, lambda it: it.phase is Phase.OFFERED)
    second = await site.trigger(job)
    ended = await site.until(second, lambda it: it.phase is Phase.ENDED)
    assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.DISCARDED)


async def test_cover_early_ends_what_another_executor_has_and_waits_until_it_has_ended(site: QueueSite) -> None:
    job = await site.job(overlap=Overlap.CLUSTER, executor_block_strategy=BlockStrategy.COVER_EARLY)
    async with Worker(site.channels) as one, Worker(site.channels, name="other") as other:
        first = await site.trigger(job)
        (taken,) = await one.take()
        await one.accept(taken)
        await site.until(first, lambda it: it.phase is Phase.DISPATCHED)
        second = await site.trigger(job)
        covered = await site.until(first, lambda it: it.phase is Phase.ENDED)
        assert covered.status is Status.FAILED
        assert COVERED_WORDS in (covered.handle_msg or "")
        assert covered.reason_code == reasons.COVERED
        assert await other.take(2.5) == [], "its beats still name it"
        await one.finish(taken, 500, "ended")
        (taken,) = await other.take()
        assert taken.execution_id == second


async def test_a_killed_execution_keeps_its_place_while_its_executor_names_it(site: QueueSite) -> None:
    job = await site.job(overlap=Overlap.CLUSTER)
    async with Worker(site.channels) as one, Worker(site.channels, name="other") as other:
        first = await site.trigger(job)
        (taken,) = await one.take()
        await one.accept(taken)
        await site.until(first, lambda it: it.phase is Phase.DISPATCHED)
        await kill(site, first)
        second = await site.trigger(job)
        assert await other.take(2.5) == [], "its beats still name it"
        one.running.discard(first)  # it has ended, and its result got lost
        (taken,) = await other.take()
        assert taken.execution_id == second


async def test_an_executor_that_falls_silent_keeps_what_it_named_as_long_as_a_lost_one(
    sqlite_url: str, tmp_path: Path
) -> None:
    settings = quick_settings(tmp_path, lost_after=timedelta(seconds=3))
    async with QueueSite(sqlite_url, tmp_path, settings=settings) as site:
        job = await site.job(overlap=Overlap.CLUSTER)
        async with Worker(site.channels) as one, Worker(site.channels, name="other") as other:
            first = await site.trigger(job)
            (taken,) = await one.take()
            await one.accept(taken)
            await site.until(first, lambda it: it.phase is Phase.DISPATCHED)
            await kill(site, first)
            second = await site.trigger(job)
            assert await other.take(6) == [], "its beats still name it"
            one.fall_silent()
            assert await other.take(3.5) == [], "it may still run"
            (taken,) = await other.take()
            assert taken.execution_id == second


async def test_a_killed_offer_that_nobody_took_gives_its_place_back(site: QueueSite) -> None:
    job = await site.job(overlap=Overlap.CLUSTER)
    async with Worker(site.channels):
        first = await site.trigger(job)
        await site.until(first, lambda it: it.phase is Phase.OFFERED)
        await kill(site, first)
        assert [one.id for one in await site.db.read(list_unconfirmed, 10, queued=True)] == [first]
        second = await site.trigger(job)
        await site.until(second, lambda it: it.phase is Phase.OFFERED)
        assert await eventually(lambda: site.db.read(list_unconfirmed, 10, queued=True), lambda rows: not rows) == []


async def kill(site: QueueSite, execution_id: int) -> None:
    work = site.coordinators[0].work
    killing = Killing(
        site.db, site.coordinators[0].given.link, site.clock, site.events, token="", offering=work.offering
    )
    await killing.kill(execution_id, Actor(ActorKind.USER, "somebody"))
