"""A leader that stops: what it waits for, and what it does not."""

import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from orth.cluster.facts import TermBegan
from orth.coordinator.defining import define_group
from orth.coordinator.node import Coordinator
from orth.domain.executions import Phase
from orth.domain.jobs import AddressType, Group
from tests.coordinator.queue_site import QueueSite, eventually

AT_ONCE = 1.0


@pytest.fixture
def hung() -> Iterator[str]:
    """The address of an executor that takes connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


async def test_the_lead_does_not_wait_for_an_executor_that_hangs(tmp_path: Path, hung: str) -> None:
    async with QueueSite(f"sqlite:///{tmp_path / 'orth.db'}", tmp_path, coordinators=2, patience=3.0) as site:
        await eventually(_terms(site), lambda terms: bool(terms))
        (first,) = (one for one in site.coordinators if one.work.election.term is not None)
        (second,) = (one for one in site.coordinators if one is not first)
        group = Group(0, "hung-tests", "hung", AddressType.MANUAL, (hung,))
        group_id = await site.db.tx(define_group, group, site.clock.now())
        one = await site.trigger(await site.job(job_group=group_id, executor_queue=""))
        await site.until(one, lambda it: it.phase is Phase.DISPATCHING)
        await eventually(_busy(first), bool)
        await eventually(_others_of(first), bool)

        began = time.monotonic()
        first.stop_loops()
        await first.resign()
        await eventually(_terms(site), lambda terms: second.given.node.id in terms, AT_ONCE)
        assert time.monotonic() - began < AT_ONCE
        assert first.work.dispatch.posting.busy, "its request is still on its way"
        await site.until(one, lambda it: it.phase is Phase.UNKNOWN)  # the next one asks about it


def _terms(site: QueueSite) -> Callable[[], Awaitable[list[str]]]:
    async def look() -> list[str]:
        return [fact.node for fact in site.recorder.all(TermBegan)]

    return look


def _others_of(coordinator: Coordinator) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return bool(coordinator.company.owning.station.peers.others())

    return look


def _busy(coordinator: Coordinator) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return coordinator.work.dispatch.posting.busy

    return look
