"""What monitoring reads about queues, channels and owners, from the facts and from a coordinator that turns."""

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from orth.cluster.ownership_facts import ExecutionsAdopted, HandoffsSettled
from orth.coordinator.cluster_metrics import CLUSTER_TALLIES, NAMED_QUEUES, bounded, cluster_increments
from orth.coordinator.facts import ExecutionsOffered, ExecutionsTaken, OffersReclaimed, OffersRepeated
from orth.coordinator.node import Coordinator
from orth.events import Event
from tests.coordinator.queue_site import APP, QueueSite, Worker, eventually
from tests.coordinator.test_metrics import Samples, shown


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[QueueSite]:
    async with QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path) as site:
        yield site


@pytest.mark.parametrize(
    ("event", "counts"),
    [
        (ExecutionsOffered("app.a", 3), {"orth_queue_offered_total ": 3}),
        (ExecutionsTaken(2), {"orth_queue_taken_total ": 2}),
        (OffersReclaimed("app.a", "who", 4), {"orth_queue_redelivered_total reclaimed": 4}),
        (OffersRepeated("app.a", 5), {"orth_queue_redelivered_total repeated": 5}),
        (
            HandoffsSettled("one", "Shutdown", taken=7, left=2, late=3),
            {"orth_handoffs_total a": 4, "orth_handoffs_total b": 3, "orth_handoffs_total c": 2},
        ),
        (HandoffsSettled("one", "Shutdown", taken=0, left=2, alone=True), {"orth_handoffs_total d": 2}),
        (
            ExecutionsAdopted("one", "two", 5, orphans=2),
            {"orth_executions_adopted_total handoff": 3, "orth_executions_adopted_total orphan": 2},
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_facts_are_counted(event: Event, counts: dict[str, int]) -> None:
    found: Counter[str] = Counter()
    for name, value, count in cluster_increments(event):
        assert value in CLUSTER_TALLIES[name].values
        found[f"{name} {value}"] += count
    assert +found == counts


def test_queues_beyond_the_bound_are_counted_together() -> None:
    few = bounded({"app.b": 2, "app.a": 1})
    assert few == {"app.a": 1, "app.b": 2, "other": 0}
    many = bounded({f"app.{number:04}": 1 for number in range(NAMED_QUEUES + 30)})
    assert len(many) == NAMED_QUEUES + 1
    assert many["other"] == 30
    assert bounded({}) == {"other": 0}


async def until(coordinator: Coordinator, **wanted: float) -> Samples:
    """What is served, as soon as it is what is wanted; spaces in names are written as two underscores."""
    names = {name.replace("__", " ").replace("APP", APP): value for name, value in wanted.items()}
    return await eventually(
        lambda: shown(coordinator), lambda now: all(now.get(name) == value for name, value in names.items())
    )


async def test_what_waits_is_offered_and_taken_is_served(site: QueueSite) -> None:
    leader = site.coordinators[0]
    before = await shown(leader)
    assert [name for name in before if name.startswith("orth_queue_waiting")] == ["orth_queue_waiting other"]
    job, urgent = await site.job(), await site.job(priority=3)
    ids = [await site.trigger(job), await site.trigger(job), await site.trigger(urgent)]
    now = await eventually(
        lambda: shown(leader), lambda now: now.get(f"orth_queue_waiting {APP}.a") == now["orth_owned_executions"] == 3
    )
    assert now["orth_channel_waiting dispatch"] == now["orth_queue_offered_total"] == 3
    assert now["orth_queue_taken_total"] == 0
    async with Worker(site.channels) as worker:
        for _ in ids:
            (dispatch,) = await worker.take()
            await worker.accept(dispatch)
            await worker.finish(dispatch)
        for one in ids:
            await site.until(one, lambda it: it.status.terminal)
        now = await until(leader, orth_channel_waiting__dispatch=0, orth_owned_executions=0)
    assert now["orth_queue_taken_total"] == 3
    assert now["orth_queue_redelivered_total reclaimed"] == now["orth_queue_dead_letters_total"] == 0


async def test_what_the_dead_had_in_hand_and_what_kills_everybody_is_served(site: QueueSite) -> None:
    one = await site.trigger(await site.job())
    leader = site.coordinators[0]
    for number in range(1, 6):
        worker = Worker(site.channels, name=f"worker-{number}")
        await worker.beat()
        assert [dispatch.execution_id for dispatch in await worker.take(done=False)] == [one]
        await worker.beat("Stopped")
        await until(leader, orth_queue_redelivered_total__reclaimed=number)
    assert (await shown(leader))["orth_queue_dead_letters_total"] == 1


async def test_channels_that_fail_are_counted(site: QueueSite) -> None:
    leader = site.coordinators[0]
    site.channels.away = True
    await eventually(lambda: shown(leader), lambda now: now["orth_channel_errors_total queue"] > 0)
    assert (await shown(leader))["orth_channel_errors_total full"] == 0


async def test_only_who_leads_says_what_waits(tmp_path: Path) -> None:
    async with QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path, coordinators=2) as site:
        await site.trigger(await site.job())

        async def look() -> list[Samples]:
            return [await shown(coordinator) for coordinator in site.coordinators]

        await eventually(look, lambda both: sum(now["orth_channel_waiting dispatch"] for now in both) == 1)
        for now in await look():
            waiting = now.get(f"orth_queue_waiting {APP}.a", 0)
            assert waiting == now["orth_channel_waiting dispatch"] == now["orth_leader"]
