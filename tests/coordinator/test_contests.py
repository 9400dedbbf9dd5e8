"""Two processes of one app at one address: who has the work key that was told there first has it, while it lives."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from orth.coordinator.contests import REMEMBERED, AddressHeld, Contests, is_free
from orth.coordinator.executor_keys import ExecutorKeys
from orth.coordinator.facts import AddressContested, ClaimRefused
from orth.coordinator.work_keys import WorkKeys
from orth.domain.nodes import ExecutorEntry, Reachability
from orth.executor.handlers import Handlers
from orth.executor.runtime import Runtime
from orth.store.executor_entries import list_executors
from orth.store.registry import Beat, record_beats
from orth.testing import Cluster, ManualClock
from orth.testing.network import Line
from orth.wire.key_calls import Holding
from orth.wire.messages import Announcement, RegistryRequest
from orth.wire.signatures import Key
from orth.wire.work_keys import new_work_key

FIRST = new_work_key()
CLAIMS = ("bare", "older", "other process", "same process", "same process, no key")


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with Cluster(tmp_path, Handlers("demo"), executors=0) as made:
        yield made


async def registered(cluster: Cluster) -> Runtime:
    true = cluster.add_executor(work_key=FIRST)
    await beaten(cluster, true)
    return true


async def beaten(cluster: Cluster, executor: Runtime, number: int = 0) -> None:
    await cluster.coordinators[number].presence.registrations.beat(executor.announced())


def claim(kind: str, true: Runtime) -> RegistryRequest:
    """What a thief of the token says of the address of another one."""
    said = {
        "bare": None,
        "older": Announcement(incarnation="thief", extensions=("signed",)),
        "other process": Announcement(incarnation="thief", extensions=("signed",), work_key=new_work_key()),
        "same process": Announcement(incarnation=true.incarnation, extensions=("signed",), work_key=new_work_key()),
        "same process, no key": Announcement(incarnation=true.incarnation, extensions=("signed",)),
    }[kind]
    return RegistryRequest(registry_key="demo", registry_value=true.address, orth=said)


async def stored(cluster: Cluster) -> list[ExecutorEntry]:
    return await cluster.db.read(list_executors)


@pytest.mark.parametrize("restarted", [False, True], ids=["known", "a coordinator that was just started"])
@pytest.mark.parametrize("kind", CLAIMS)
async def test_nobody_takes_the_address_of_a_process_that_lives(cluster: Cluster, kind: str, restarted: bool) -> None:
    true = await registered(cluster)
    before = await stored(cluster)
    take = (cluster.add_coordinator() if restarted else cluster.coordinators[0]).presence.registrations
    for said in (take.beat, take.leave):
        with pytest.raises(AddressHeld):
            await said(claim(kind, true))
        assert await stored(cluster) == before
    assert [one.claim for one in cluster.recorder.all(ClaimRefused)] == ["beat", "good-bye"]
    assert not await take.beat(true.announced())
    await take.leave(true.announced())
    assert await stored(cluster) == []


@pytest.mark.parametrize("restarted", [False, True], ids=["known", "a coordinator that was just started"])
async def test_the_next_process_at_an_address_has_it_with_its_first_beat(cluster: Cluster, restarted: bool) -> None:
    before = await registered(cluster)
    cluster.kill_executor(before)
    after = cluster.add_executor(at=before, work_key=new_work_key())
    if restarted:
        await cluster.kill_coordinator(cluster.coordinators[0])
        cluster.add_coordinator()
    await beaten(cluster, after)
    assert [one.incarnation for one in await stored(cluster)] == [after.incarnation]
    assert not cluster.recorder.all(AddressContested)
    assert not cluster.recorder.all(ClaimRefused)
    await cluster.coordinators[0].presence.registrations.leave(before.announced())  # its good-bye was late
    assert [one.incarnation for one in await stored(cluster)] == ([after.incarnation])


async def test_one_of_another_make_may_come_after_ours(cluster: Cluster) -> None:
    true = await registered(cluster)
    cluster.kill_executor(true)
    take = cluster.coordinators[0].presence.registrations
    assert not await take.beat(claim("bare", true))
    assert [one.work_key for one in await stored(cluster)] == [None]
    await take.leave(claim("bare", true))
    assert await stored(cluster) == []


async def test_a_thief_who_came_first_is_replaced_by_who_is_there(cluster: Cluster) -> None:
    true = cluster.add_executor(work_key=FIRST)
    take = cluster.coordinators[0].presence.registrations
    for kind in CLAIMS:
        assert not await take.beat(claim(kind, true))
        await take.beat(true.announced())
        (entry,) = await stored(cluster)
        assert WorkKeys(cluster.coordinators[0].given.sealing).opened(entry) == FIRST
        await take.leave(true.announced())


async def test_while_nobody_answers_an_address_is_kept_for_as_long_as_the_registry_waits(cluster: Cluster) -> None:
    true = await registered(cluster)
    cluster.set_line(true, Line.LOST_REQUESTS)
    take = cluster.coordinators[0].presence.registrations
    with pytest.raises(AddressHeld):
        await take.beat(claim("other process", true))
    cluster.clock.move(cluster.settings.registry.dead_after.total_seconds())
    await take.beat(claim("other process", true))
    assert [one.incarnation for one in await stored(cluster)] == ["thief"]


async def test_who_claims_an_address_is_not_heard_for_it(cluster: Cluster) -> None:
    """Neither does its process live, nor is it reached, nor does it have nothing to do."""
    true = await registered(cluster)
    presence = cluster.coordinators[0].presence
    named: list[str] = []
    presence.registrations._named = lambda _app, incarnation, _ids: named.append(incarnation)
    presence.reach.silent(true.address, "no answer")
    cluster.clock.move(30)
    for kind in CLAIMS:
        with pytest.raises(AddressHeld):
            await presence.registrations.beat(claim(kind, true))
    assert named == []
    assert list(presence.roster.ages()) == [30]
    assert presence.reach.state(true.address) is Reachability.SUSPECT
    await beaten(cluster, true)
    assert named == [true.incarnation]
    assert list(presence.roster.ages()) == [0]
    assert presence.reach.state(true.address) is Reachability.REACHABLE


async def test_another_app_at_an_address_does_not_clear_a_suspicion_of_it(cluster: Cluster) -> None:
    """Who has the token of one app may register any address; a probe finds out."""
    true = await registered(cluster)
    presence = cluster.coordinators[0].presence
    presence.reach.silent(true.address, "no answer")
    presence.reach.questions.clear()
    other = RegistryRequest(registry_key="other", registry_value=true.address)
    for _again in range(2):
        await presence.registrations.beat(other)
        assert presence.reach.state(true.address) is Reachability.SUSPECT
    assert presence.reach.questions == {true.address}


async def test_a_claim_in_the_same_moment_does_not_swallow_a_beat(cluster: Cluster) -> None:
    """They share a transaction."""
    true = await registered(cluster)
    (entry,) = await stored(cluster)
    mine = Beat("demo", true.address, true.incarnation, key_id=entry.key_id, work_key=entry.work_key)
    thiefs = Beat("demo", true.address, "thief", work_key="sealed")
    for beats in ([mine, thiefs], [thiefs, mine], [replace(mine, repeated=True), thiefs]):
        cluster.clock.move(1)
        now = cluster.clock.now()
        arrivals = await cluster.db.tx(record_beats, beats, now)
        held = [one.held_by.incarnation if one.held_by else None for one in arrivals]
        assert held == [None if one.incarnation == true.incarnation else true.incarnation for one in beats]
        (entry,) = await stored(cluster)
        assert (entry.incarnation, entry.last_beat) == (true.incarnation, now)
    await cluster.coordinators[0].presence.registrations.leave(true.announced())
    first, second = await cluster.db.tx(record_beats, [thiefs, mine], cluster.clock.now())
    assert first.joined, "nobody was there"
    assert second.held_by is not None, "so the one who is there asks for it again"


@pytest.mark.parametrize(
    ("holding", "silence", "free"),
    [
        (Holding.YES, 0, False),
        (Holding.YES, 1000, False),
        (Holding.NO, 0, True),
        (Holding.UNKNOWN, 0, False),
        (Holding.UNKNOWN, 89, False),
        (Holding.UNKNOWN, 90, True),
    ],
)
def test_when_an_address_is_free(holding: Holding, silence: float, free: bool) -> None:
    assert is_free(holding, silence, 90) is free


class Counting:
    """Counts how often an address is asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def holding(self, _address: str, _key: Key, _incarnation: str) -> Holding:
        self.asked += 1
        await asyncio.sleep(0)
        return Holding.YES


async def test_who_claims_an_address_again_and_again_asks_little_of_it(cluster: Cluster) -> None:
    true = await registered(cluster)
    (entry,) = await stored(cluster)
    link, clock, given = Counting(), ManualClock(), cluster.coordinators[0].given
    keys = ExecutorKeys(given.db, clock, given.sealing, (given.access_token,))
    contests = Contests(keys, link, clock, dead_after=90)
    assert not any(await asyncio.gather(*(contests.has_left(entry) for _ in range(50))))
    assert link.asked == 1
    clock.move(REMEMBERED)
    assert not await contests.has_left(entry)
    assert link.asked == 2
    assert true.quiet()
