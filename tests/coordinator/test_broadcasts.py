"""Broadcasts and what follows them: one execution per address, one end for all."""

import asyncio
import itertools
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orth.coordinator.batches import BatchRequest, start_batch
from orth.coordinator.claiming import Outlook, Routes
from orth.coordinator.defining import define, define_group, edit, trigger_job
from orth.coordinator.finishing import Finished, finish
from orth.coordinator.letters import Letter
from orth.coordinator.triggering import Request, open_requested
from orth.domain import reasons
from orth.domain.executions import FAILURE, SUCCESS, Execution, Phase, Status
from orth.domain.jobs import AddressType, Group, Job, RouteStrategy, ScheduleType, TriggerCause
from orth.domain.nodes import Unavailability
from orth.executor.context import JobContext, JobFailed
from orth.executor.handlers import Handlers
from orth.store.database import Connection, Database, open_database
from orth.store.execution_filters import Filter
from orth.store.execution_lists import list_executions
from orth.store.executions import Ending, find_execution
from orth.store.executor_drains import drain_executor, resume_executor
from orth.store.groups import get_group, set_group
from orth.store.jobs import get_job
from orth.store.notes import notes_of
from orth.store.registry import Beat, record_beats
from orth.testing import Cluster
from orth.wire.messages import Extension
from tests.store.builders import NOW

BROADCAST = RouteStrategy.SHARDING_BROADCAST
EVERY_TEN = {"schedule_type": ScheduleType.CRON, "schedule_conf": "*/10 * * * * ?"}


class Ran:
    """Handlers that note their shard; ``fails`` are the shards that fail, once for each mention."""

    def __init__(self) -> None:
        self.app = Handlers("tests")
        self.shards: list[tuple[int, int]] = []
        self.children = 0
        self.fails: list[int] = []
        self._lock = threading.Lock()
        self.app.job("shard")(self._shard)
        self.app.job("child")(self._child)

    def _shard(self, ctx: JobContext) -> None:
        with self._lock:
            self.shards.append((ctx.shard_index, ctx.shard_total))
            if ctx.shard_index in self.fails:
                self.fails.remove(ctx.shard_index)
                raise JobFailed("on purpose")

    def _child(self) -> None:
        with self._lock:
            self.children += 1


@pytest.fixture
def ran() -> Ran:
    return Ran()


async def parent_and_child(cluster: Cluster, **fields: object) -> tuple[Job, Job]:
    child = await cluster.job(start=False, executor_handler="child")
    values = {"executor_route_strategy": BROADCAST, "child_job_ids": (child.id,), **fields}
    return await cluster.job(start=False, executor_handler="shard", **values), child


async def test_every_address_gets_a_shard_and_the_children_come_once(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=3) as cluster:
        parent, child = await parent_and_child(cluster)
        ids = await cluster.trigger_all(parent)
        await cluster.advance(seconds=2)
        shards = [await cluster.execution(one) for one in ids]
        assert sorted(ran.shards) == [(0, 3), (1, 3), (2, 3)]
        assert {one.executor_address for one in shards} == {executor.address for executor in cluster.executors}
        assert [one.status for one in shards] == [Status.SUCCESS] * 3
        (followed,) = await cluster.executions(child)
        assert (followed.cause, followed.status) == (TriggerCause.PARENT, Status.SUCCESS)
        assert followed.trigger_key == f"parent:broadcast:{shards[0].broadcast_id}"


async def test_planned_fires_broadcast_too_with_one_logical_time(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        child = await cluster.job(start=False, executor_handler="child")
        job = await cluster.job(
            executor_handler="shard", executor_route_strategy=BROADCAST, child_job_ids=(child.id,), **EVERY_TEN
        )
        await cluster.advance(seconds=21)
        times = [one.schedule_time for one in await cluster.executions(job)]
        assert len(times) == 4
        assert len(set(times)) == 2
        assert [one.schedule_time for one in await cluster.executions(child)] == sorted(set(times))


async def test_given_addresses_are_the_shards(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=3) as cluster:
        parent, _child = await parent_and_child(cluster)
        given_ = [cluster.executors[2].address, cluster.executors[0].address]
        ids = await cluster.trigger_all(parent, addresses=given_)
        await cluster.advance(seconds=1)
        assert [(await cluster.execution(one)).executor_address for one in ids] == given_
        assert ran.shards.count((0, 2)) == ran.shards.count((1, 2)) == 1


async def without_one(cluster: Cluster) -> tuple[str, str]:
    """End the first executor; its address, which is known to be out of reach, and that of the other."""
    dead, alive = sorted(cluster.executors, key=lambda one: one.address)
    cluster.kill_executor(dead)
    cluster.coordinators[0].presence.reach.refused(dead.address, "connection refused")
    return dead.address, alive.address


async def test_an_address_out_of_reach_gets_no_shard(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        parent, child = await parent_and_child(cluster)
        planned = await cluster.job(executor_handler="shard", executor_route_strategy=BROADCAST, **EVERY_TEN)
        dead, alive = await without_one(cluster)
        (by_hand,) = await cluster.trigger_all(parent)
        await cluster.advance(seconds=11)
        one = await cluster.execution(by_hand)
        assert (one.executor_address, one.shard_total, one.status) == (alive, 1, Status.SUCCESS)
        assert len(await cluster.executions(child)) == 1
        assert [one.executor_address for one in await cluster.executions(planned)] == [alive]
        named = await cluster.trigger_all(parent, addresses=(dead, alive))
        assert [(await cluster.execution(one)).addresses for one in named] == [(dead,), (alive,)], "as they were given"


async def test_a_drained_executor_gets_no_shard(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        parent, _child = await parent_and_child(cluster)
        drained, other = (executor.address for executor in cluster.executors)
        await cluster.db.tx(drain_executor, "tests", drained, cluster.clock.now())
        (one,) = await cluster.trigger_all(parent)
        await cluster.advance(seconds=1)
        assert (await cluster.execution(one)).executor_address == other
        await cluster.db.tx(resume_executor, "tests", drained)
        assert len(await cluster.trigger_all(parent)) == 2


async def says_it_takes_no_work(cluster: Cluster, address: str) -> None:
    said = Beat("tests", address, "full", frozenset({Extension.RESEND}), unavailable=Unavailability.CANNOT_RECORD)
    await cluster.db.tx(record_beats, [said], cluster.clock.now())


async def test_an_executor_that_takes_no_work_gets_no_shard(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        parent, _child = await parent_and_child(cluster)
        full, other = (executor.address for executor in cluster.executors)
        await says_it_takes_no_work(cluster, full)
        (one,) = await cluster.trigger_all(parent)
        await cluster.advance(seconds=1)
        shard = await cluster.execution(one)
        assert (shard.executor_address, shard.shard_total, shard.status) == (other, 1, Status.SUCCESS)
        await says_it_takes_no_work(cluster, other)
        assert len(await cluster.trigger_all(parent)) == 2, "if none takes work, each gets a shard"


async def test_a_child_and_a_batch_that_broadcast_leave_out_who_is_out_of_reach(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        child = await cluster.job(start=False, executor_handler="shard", executor_route_strategy=BROADCAST)
        parent = await cluster.job(start=False, executor_handler="child", child_job_ids=(child.id,))
        cron = await cluster.job(start=False, executor_handler="shard", executor_route_strategy=BROADCAST, **EVERY_TEN)
        _dead, alive = await without_one(cluster)
        await cluster.trigger(parent)
        span = BatchRequest(key="k", start="2026-01-01T00:00:00Z", end="2026-01-01T00:00:10Z", limit=10)
        await cluster.db.tx(start_batch, cron.id, span, cluster.clock.now())
        await cluster.advance(seconds=2)
        for job in (child, cron):
            assert [one.executor_address for one in await cluster.executions(job)] == [alive]


async def test_with_nobody_in_reach_everybody_gets_a_shard(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        parent, _child = await parent_and_child(cluster)
        for executor in cluster.executors:
            cluster.coordinators[0].presence.reach.silent(executor.address, "no answer")
        assert len(await cluster.trigger_all(parent)) == 2


async def test_without_an_executor_it_is_one_execution_that_says_so(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=0) as cluster:
        parent, child = await parent_and_child(cluster)
        (only,) = await cluster.trigger_all(parent)
        await cluster.advance(seconds=1)
        ended = await cluster.execution(only)
        assert (ended.status, ended.shard_total) == (Status.TRIGGER_FAILED, 1)
        assert await cluster.executions(child) == []


async def test_a_retry_runs_its_own_shard_again_and_no_other(tmp_path: Path, ran: Ran) -> None:
    ran.fails = [1, 1]
    async with Cluster(tmp_path, ran.app, executors=3) as cluster:
        parent, child = await parent_and_child(cluster, executor_fail_retry_count=2)
        await cluster.trigger_all(parent)
        await cluster.advance(seconds=3)
        assert sorted(ran.shards) == [(0, 3), (1, 3), (1, 3), (1, 3), (2, 3)]
        again = [one for one in await cluster.executions(parent) if one.cause is TriggerCause.RETRY]
        assert len({one.executor_address for one in again}) == 1
        assert ran.children == 1
        assert len(await cluster.executions(child)) == 1


async def test_a_shard_that_fails_for_good_keeps_the_children_back_and_says_so(tmp_path: Path, ran: Ran) -> None:
    ran.fails = [0, 0]
    async with Cluster(tmp_path, ran.app, executors=3) as cluster:
        parent, child = await parent_and_child(cluster, executor_fail_retry_count=1)
        await cluster.trigger_all(parent)
        await cluster.advance(seconds=3)
        assert await cluster.executions(child) == []
        notes = [note for one in await cluster.executions(parent) for note in await cluster.db.read(notes_of, one.id)]
        (note,) = [note for note in notes if note.code == reasons.CHILDREN_NOT_STARTED]
        assert f"Job {child.id} was not started: 1 of 3 shards" in note.message


async def test_children_for_each_shard_when_asked_for(tmp_path: Path, ran: Ran) -> None:
    ran.fails = [1]
    async with Cluster(tmp_path, ran.app, executors=3) as cluster:
        parent, child = await parent_and_child(cluster, child_per_shard=True)
        ids = await cluster.trigger_all(parent)
        await cluster.advance(seconds=2)
        keys = {one.trigger_key for one in await cluster.executions(child)}
        assert keys == {f"parent:{ids[0]}", f"parent:{ids[2]}"}


async def test_a_child_that_broadcasts_is_a_broadcast(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        broadcast = await cluster.job(start=False, executor_handler="shard", executor_route_strategy=BROADCAST)
        first = await cluster.job(start=False, executor_handler="child", child_job_ids=(broadcast.id,))
        await cluster.trigger(first)
        await cluster.advance(seconds=2)
        assert sorted(ran.shards) == [(0, 2), (1, 2)]


async def test_a_fixed_delay_begins_when_the_last_shard_has_ended(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=3) as cluster:
        job = await cluster.job(
            executor_handler="shard",
            executor_route_strategy=BROADCAST,
            schedule_type=ScheduleType.FIX_DELAY,
            schedule_conf="5s",
        )
        await cluster.advance(seconds=24)
        by_fire = itertools.groupby(await cluster.executions(job), key=lambda one: one.schedule_time)
        fires = [list(shards) for _fire, shards in by_fire]
        assert [len(shards) for shards in fires] == [3] * len(fires)
        assert len(fires) >= 3
        for earlier, later in itertools.pairwise(fires):
            last = max(one.handle_time or 0 for one in earlier)
            assert later[0].schedule_time == last + 5_000


async def test_a_shard_keeps_its_place_when_the_group_changes(tmp_path: Path, ran: Ran) -> None:
    """Indexes of a broadcast under way never shift: each shard has the address it was opened for."""
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        parent, _child = await parent_and_child(cluster)
        ids = await cluster.trigger_all(parent)
        cluster.add_executor()
        await cluster.advance(seconds=2)
        shards = [await cluster.execution(one) for one in ids]
        assert [(one.shard_index, one.shard_total) for one in shards] == [(0, 2), (1, 2)]
        assert {one.executor_address for one in shards} == {one.address for one in cluster.executors[:2]}


async def test_the_same_request_opens_no_shard_more_after_an_executor_came(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        parent, _child = await parent_and_child(cluster)
        asked = Request(TriggerCause.API, "same")
        first = await cluster.db.tx(open_requested, parent, asked, cluster.clock.now())
        cluster.add_executor()
        await cluster.advance(seconds=1)
        assert await cluster.db.tx(open_requested, parent, asked, cluster.clock.now()) == first
        assert len(await cluster.executions(parent)) == 2


async def test_a_selector_decides_who_gets_a_shard(tmp_path: Path, ran: Ran) -> None:
    """With nobody who fits it is one execution, which dispatch ends with the reason."""
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        parent, _child = await parent_and_child(cluster, label_selector="gpu=a100")
        (only,) = await cluster.trigger_all(parent)
        await cluster.advance(seconds=1)
        ended = await cluster.execution(only)
        assert (ended.status, ended.reason_code) == (Status.TRIGGER_FAILED, reasons.NO_MATCHING_EXECUTOR)


async def test_a_strategy_changed_under_way_does_not_split_a_retry(tmp_path: Path, ran: Ran) -> None:
    ran.fails = [0]
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        job = await cluster.job(start=False, executor_handler="shard", executor_fail_retry_count=1)
        await cluster.trigger(job)
        stored = await cluster.db.read(get_job, job.id)
        changed = replace(stored, executor_route_strategy=BROADCAST)
        await cluster.db.tx(edit, stored, changed, cluster.clock.now(), True)
        await cluster.advance(seconds=2)
        assert ran.shards == [(0, 1), (0, 1)]


# --- whatever the order, and whoever reports ---


names = itertools.count()


async def broadcast_of(db: Database, shards: int, retries: int) -> tuple[Job, int, list[int]]:
    """A job that broadcasts to so many addresses, its child, and its executions, sent."""
    addresses = tuple(f"http://10.0.0.{n + 1}:9999" for n in range(shards))
    group = Group(0, f"race-{next(names)}", "race", AddressType.MANUAL, addresses)
    group_id = await db.tx(define_group, group, NOW)
    child = await db.tx(define, Job(id=0, job_group=group_id, job_desc="c", executor_handler="c"), NOW, True)
    parent = Job(
        id=0,
        job_group=group_id,
        job_desc="p",
        executor_handler="p",
        executor_route_strategy=BROADCAST,
        child_job_ids=(child,),
        executor_fail_retry_count=retries,
    )
    job = await db.read(get_job, await db.tx(define, parent, NOW, True))
    ids = await db.tx(open_requested, job, Request(TriggerCause.API, "race"), NOW)
    assert len(ids) == shards
    return job, child, ids


def report(connection: Connection, endings: list[tuple[int, bool]]) -> list[Finished]:
    return finish(
        connection,
        [
            Ending(execution_id=one, trigger_code=SUCCESS, handle_code=SUCCESS if good else FAILURE)
            for one, good in endings
        ],
        NOW,
    )


def of_job(connection: Connection, job_id: int) -> list[Execution]:
    return list_executions(connection, Filter(job_id=job_id), limit=1000)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    outcomes=st.lists(st.booleans(), min_size=2, max_size=6),
    chance=st.randoms(use_true_random=False),
    at_once=st.integers(1, 6),
    retries=st.integers(0, 1),
)
async def test_whatever_order_shards_end_in_children_open_exactly_once(
    race_url: str, outcomes: list[bool], chance: object, at_once: int, retries: int
) -> None:
    """Shards are reported in any order, in batches of any size, each batch twice, from two nodes at the same time; a
    failed shard is retried once if it may be, and then succeeds.
    """
    with open_database(race_url, size=4) as one, open_database(race_url, size=4) as other:
        job, child, ids = await broadcast_of(one, len(outcomes), retries)
        waiting = list(zip(ids, outcomes, strict=True))
        while waiting:
            chance.shuffle(waiting)  # type: ignore[attr-defined]  # a random.Random, made by hypothesis
            batches = [waiting[n : n + at_once] for n in range(0, len(waiting), at_once)]
            await asyncio.gather(*(db.tx(report, batch) for batch in batches for db in (one, other)))
            retried = [row for row in await one.read(of_job, job.id) if row.phase is not Phase.ENDED]
            waiting = [(row.id, True) for row in retried]
        opened = await other.read(of_job, child)
        good = all(outcomes) or retries > 0
        assert len(opened) == (1 if good else 0)
        assert {row.cause for row in opened} <= {TriggerCause.PARENT}
        ended = await one.read(of_job, job.id)
        notes = [note.code for row in ended for note in await one.read(notes_of, row.id)]
        assert notes == ([] if good else [reasons.CHILDREN_NOT_STARTED])


async def test_the_same_request_through_two_nodes_at_once_is_one_broadcast(race_url: str) -> None:
    with open_database(race_url, size=4) as one, open_database(race_url, size=4) as other:
        job, _child, _ids = await broadcast_of(one, 4, 0)
        for key in map(str, range(5)):
            asked = Request(TriggerCause.API, key)
            answers = await asyncio.gather(*(db.tx(trigger_job, job.id, asked, NOW) for db in (one, other) * 3))
            assert len({tuple(answer) for answer in answers}) == 1
            assert len(answers[0]) == 4
        opened = [row for row in await one.read(of_job, job.id) if row.trigger_key != "key:race"]
        assert len({row.broadcast_id for row in opened}) == 5


async def test_two_last_shards_that_end_at_the_same_moment_open_one_child(race_url: str) -> None:
    with open_database(race_url, size=4) as one, open_database(race_url, size=4) as other:
        for _ in range(10):
            job, child, ids = await broadcast_of(one, 2, 0)
            await asyncio.gather(one.tx(report, [(ids[0], True)]), other.tx(report, [(ids[1], True)]))
            (opened,) = await one.read(of_job, child)
            parent = await one.read(find_execution, ids[0])
            assert parent is not None
            assert (opened.job_id, opened.trigger_key) == (child, f"parent:broadcast:{parent.broadcast_id}")
            assert len(await one.read(of_job, job.id)) == 2


async def test_paths_of_one_port_have_one_share(tmp_path: Path, ran: Ran) -> None:
    """H2 of the second security review. A list that an administrator wrote is used as it is."""
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        job = await cluster.job(start=False, executor_handler="shard", executor_route_strategy=BROADCAST)
        group = await cluster.db.read(get_group, job.job_group)
        thief = [f"http://127.0.0.9:9/{number}" for number in range(50)]
        await cluster.db.tx(record_beats, [Beat(group.app_name, one) for one in thief], cluster.clock.now())
        assert len(await cluster.trigger_all(job)) == 3
        manual = replace(group, address_type=AddressType.MANUAL, addresses=(*group.addresses, *thief))
        await cluster.db.tx(set_group, manual, cluster.clock.now())
        assert len(await cluster.trigger_all(job)) == 52


async def test_a_port_of_many_paths_is_chosen_in_its_turn(tmp_path: Path, ran: Ran) -> None:
    async with Cluster(tmp_path, ran.app, executors=2) as cluster:
        job = await cluster.job(start=False, executor_handler="shard", executor_route_strategy=RouteStrategy.ROUND)
        group = await cluster.db.read(get_group, job.job_group)
        thief = [f"http://127.0.0.9:9/{number}" for number in range(50)]
        await cluster.db.tx(record_beats, [Beat(group.app_name, one) for one in thief], cluster.clock.now())
        ids = [await cluster.trigger(job) for _number in range(6)]

        def assigned(connection: Connection) -> list[str]:
            executions = [find_execution(connection, one) for one in ids]
            wanted = [one for one in executions if one is not None]
            routes = Routes(connection, wanted, Outlook(tuple, lambda _n: 0), cluster.clock.now())
            letters = [routes.address(one, 1) for one in wanted]
            return [letter.peer.address for letter in letters if isinstance(letter, Letter)]

        assert len([one for one in await cluster.db.tx(assigned) if one in thief]) == 2
