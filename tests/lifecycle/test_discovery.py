"""Which coordinators an executor turns to."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from orth.events import Events
from orth.lifecycle.client import Orchestrator, RegistryApi
from orth.lifecycle.discovery import LEARNT, Discovery, orchestrator_of, preference, running
from orth.lifecycle.facts import CoordinatorsDiscovered, DiscoveryFailed
from orth.lifecycle.line import RegistryLine
from orth.lifecycle.settings import LifecycleSettings
from orth.testing import ManualClock, Recorder
from orth.wire.coordinator_calls import CoordinatorCalls
from tests.lifecycle.registry import Answer, ScriptedRegistry

FALLBACK = "http://10.9.9.9:5080"


def nodes(*numbers: int) -> list[str]:
    return [f"http://10.0.0.{number}:5080" for number in numbers]


class Rig:
    """An executor's discovery, against a registry on a real port."""

    def __init__(
        self,
        registry: ScriptedRegistry,
        *,
        learns: bool = True,
        optional: bool = False,
        configured: Sequence[str] = (FALLBACK,),
    ):
        self.registry = registry
        self.recorder = Recorder()
        events = Events(self.recorder)
        self.clock = ManualClock()
        self.rules = LifecycleSettings(registry=(registry.url,), learns=learns, optional=optional, breaker_failures=3)
        api = RegistryApi(self.rules.registry, registry.token, timeout=5, clock=self.clock)
        self.link = CoordinatorCalls(configured or (registry.url,), "token")
        self.changes: list[str] = []
        self.told: list[str] = []
        self.discovery = Discovery(
            RegistryLine(api, self.rules, self.clock, events),
            self.link,
            self.clock,
            events,
            identity="incarnation-1",
            rules=self.rules,
            configured=configured,
            changed=lambda: self.changes.append(self.link.address),
        )
        self.discovery.tell = self.told.append

    def run(self, *numbers: int) -> None:
        """Let these coordinators run, and no other."""
        self.registry.records.clear()
        for number, url in zip(numbers, nodes(*numbers), strict=True):
            self.registry.add_orchestrator(f"id-{number}", url)

    def known(self) -> list[str]:
        told = self.recorder.all(CoordinatorsDiscovered)
        return told[-1].addresses.split(", ") if told else []


@pytest.fixture
def registry() -> Iterator[ScriptedRegistry]:
    with ScriptedRegistry() as registry:
        yield registry


async def test_coordinators_that_run_are_learnt_and_the_configured_one_stays_behind(registry: ScriptedRegistry) -> None:
    rig = Rig(registry)
    rig.run(1, 2, 3)
    registry.add_orchestrator("id-4", "http://10.0.0.4:5080", "Starting")
    registry.add_orchestrator("id-5", "http://10.0.0.5:5080", "Failed")
    assert await rig.discovery.turn() == 30
    assert rig.known()[-1] == FALLBACK
    assert sorted(rig.known()[:-1]) == nodes(1, 2, 3)
    assert rig.link.address == rig.known()[0], "it begins with one that was learnt"
    assert rig.changes == [rig.link.address]
    assert rig.told == [f"id-{rig.link.address[len('http://10.0.0.') :].split(':')[0]}"]


async def test_new_ones_are_learnt_vanished_ones_dropped_and_nothing_new_is_no_news(registry: ScriptedRegistry) -> None:
    rig = Rig(registry)
    rig.run(1, 2)
    await rig.discovery.turn()
    await rig.discovery.turn()
    assert len(rig.changes) == 1
    rig.run(1, 2, 3)
    await rig.discovery.turn()
    assert sorted(rig.known()[:-1]) == nodes(1, 2, 3)
    rig.run(3)
    await rig.discovery.turn()
    assert rig.known() == [*nodes(3), FALLBACK]
    assert rig.link.address == nodes(3)[0]
    rig.run()
    assert await rig.discovery.turn() == 5, "it asks again soon"
    assert rig.known() == [FALLBACK]


async def test_who_was_given_no_coordinator_keeps_the_last_ones_when_the_registry_knows_none(
    registry: ScriptedRegistry,
) -> None:
    rig = Rig(registry, configured=())
    rig.run(1)
    await rig.discovery.turn()
    rig.run()
    await rig.discovery.turn()
    assert rig.link.address == nodes(1)[0]


async def test_a_registry_that_does_not_answer_changes_nothing_and_is_told_once(registry: ScriptedRegistry) -> None:
    rig = Rig(registry)
    rig.run(1)
    await rig.discovery.turn()
    registry.always = {"list": 503}
    for _ in range(6):
        await rig.discovery.turn()
    assert rig.link.address == nodes(1)[0]
    assert len(rig.recorder.all(DiscoveryFailed)) == 1
    assert len(registry.of("list")) == 4, "the circuit is open after three"
    registry.always = {}
    rig.clock.move(300)
    rig.run(2)
    await rig.discovery.turn()
    assert rig.link.address == nodes(2)[0]


@pytest.mark.parametrize("answer", [b'{"code": 200}', 501, (500, b"<html>")])
async def test_coordinators_of_another_make_are_asked_rarely_and_without_a_word(
    registry: ScriptedRegistry, answer: Answer
) -> None:
    rig = Rig(registry, learns=False, optional=True)
    registry.always = {"list": answer}
    assert [await rig.discovery.turn() for _ in range(3)] == [300.0] * 3
    assert rig.recorder.heard == []


async def test_without_a_registry_of_its_own_it_stays_with_what_it_was_given(registry: ScriptedRegistry) -> None:
    rig = Rig(registry, learns=False)
    rig.run(1)
    await rig.discovery.turn()
    assert rig.changes == []
    assert rig.link.address == FALLBACK
    assert rig.told == ["id-1"], "and still learns which orchestrator it belongs to"


async def test_other_configured_coordinators_count_at_once(registry: ScriptedRegistry) -> None:
    rig = Rig(registry)
    rig.run(1)
    await rig.discovery.turn()
    rig.discovery.use(rig.rules, ["http://10.8.8.8:5080"])
    assert rig.known() == [*nodes(1), "http://10.8.8.8:5080"]
    assert rig.link.address == nodes(1)[0], "where it worked it stays"
    rig.discovery.use(replace(rig.rules, learns=False), ["http://10.8.8.8:5080"])
    assert rig.known() == ["http://10.8.8.8:5080"], "without a registry the configured ones are all there is"


def test_executors_spread_over_the_coordinators_and_few_move_when_one_comes() -> None:
    three, four = nodes(1, 2, 3), nodes(1, 2, 3, 4)
    first = {f"executor-{n}": preference(f"executor-{n}", three)[0] for n in range(600)}
    assert all(150 < count < 250 for count in Counter(first.values()).values())
    moved = {who: there for who in first if (there := preference(who, four)[0]) != first[who]}
    assert set(moved.values()) == {four[3]}, "only to the new one"
    assert 90 < len(moved) < 210


def test_addresses_that_cannot_be_meant_are_left_out() -> None:
    listed = [
        Orchestrator("a", "http://127.0.0.1:5080", "Running"),
        Orchestrator("b", "http://10.0.0.1:5080/", "Running"),
        Orchestrator("c", "ftp://10.0.0.2", "Running"),
        Orchestrator("d", "http://user:pw@10.0.0.3:80", "Running"),
        Orchestrator("e", "http://localhost:5081", "Running"),
    ]
    assert running(listed, ["http://registry.example:5060"]) == ["http://10.0.0.1:5080"]
    assert running(listed, ["http://localhost:5060"]) == [
        "http://127.0.0.1:5080",
        "http://10.0.0.1:5080",
        "http://localhost:5081",
    ]


async def test_a_registry_cannot_make_it_remember_without_end(registry: ScriptedRegistry) -> None:
    rig = Rig(registry)
    rig.run(*range(1, 200))
    await rig.discovery.turn()
    assert len(rig.known()) == LEARNT + 1


def test_the_orchestrator_is_the_one_it_talks_to_else_one_that_runs() -> None:
    listed = [
        Orchestrator("starting", "http://10.0.0.1:5080", "Starting"),
        Orchestrator("running", "http://10.0.0.2:5080", "Running"),
        Orchestrator("mine", "http://10.0.0.3:5080/", "Running"),
    ]
    assert orchestrator_of(listed, "http://10.0.0.3:5080") == "mine"
    assert orchestrator_of(listed, "http://10.0.0.1:5080") == "starting"
    assert orchestrator_of(listed, "http://10.0.0.9:5080") == "running"
    assert orchestrator_of(listed[:1], "http://10.0.0.9:5080") == "starting"
    assert orchestrator_of([], "http://10.0.0.9:5080") is None
