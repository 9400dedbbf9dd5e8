"""An executor's presence and discovery together, with the settings as they come: neither takes the other's attempts."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from orth.domain.services import ServiceKind
from orth.events import Event, Events
from orth.lifecycle.attendance import AgentSide, Attendance
from orth.lifecycle.client import Registration
from orth.lifecycle.facts import DiscoveryFailed, RegistrationAttempted, RegistrationTriedAgain
from orth.loop import Loop
from orth.settings import Settings, load_settings
from orth.testing import ManualClock
from orth.wire.coordinator_calls import CoordinatorCalls
from tests.lifecycle.registry import ScriptedRegistry

COORDINATOR = "http://10.0.0.1:5080"
LADDER = [0.0, 5.0, 15.0, 35.0, 75.0]


class Rig:
    """An executor's dealings with its registry; both loops turn when they are due."""

    def __init__(self, settings: Settings, token: str) -> None:
        self.clock = ManualClock()
        self.began = self.clock.monotonic()
        self.told: list[tuple[float, Event]] = []
        agent = AgentSide(CoordinatorCalls((COORDINATOR,), token), lambda: False, lambda: None)
        me = Registration(ServiceKind.AGENT, "http://10.0.0.7:5090", "incarnation-1", "agent-1")
        events = Events(lambda event: self.told.append((self.now, event)))
        self.attendance = Attendance(settings, me, token, self.clock, events, agent=agent)
        self._due = dict.fromkeys(self.attendance.loops, 0.0)

    @property
    def now(self) -> float:
        return round(self.clock.monotonic() - self.began, 6)

    async def crank(self, until: float) -> None:
        while self.now <= until:
            for loop in [loop for loop, at in self._due.items() if at <= self.now]:
                self._due[loop] = await self._turned(loop)
            self.clock.move(min(*self._due.values(), until + 0.001) - self.now)

    async def _turned(self, loop: Loop) -> float:
        pause = await loop.turn()
        return round(self.now + max(pause, 0.001), 6)

    def attempts(self, since: float = 0.0) -> list[float]:
        kinds = (RegistrationAttempted, RegistrationTriedAgain)
        return [round(at, 2) for at, event in self.told if isinstance(event, kinds) and at >= since]


@pytest.fixture
def registry() -> Iterator[ScriptedRegistry]:
    registry = ScriptedRegistry()
    yield registry
    registry.stop()


@pytest.fixture
def rig(registry: ScriptedRegistry, tmp_path: Path) -> Iterator[Rig]:
    settings = load_settings(environ={"ORTH_REGISTRY__URL": registry.url}, cwd=tmp_path)
    rig = Rig(settings, registry.token)
    yield rig
    rig.attendance.close()


def of_ladder(begin: float, background: int) -> list[float]:
    """When the attempts are made that the settings promise."""
    return [*(begin + pause for pause in LADDER), *(begin + 75.0 + 120.0 * (n + 1) for n in range(background))]


async def test_without_a_registry_every_attempt_is_made_in_its_time(rig: Rig, registry: ScriptedRegistry) -> None:
    await rig.crank(1300)
    assert rig.attempts() == of_ladder(2.0, background=10)
    assert any(isinstance(event, DiscoveryFailed) for _at, event in rig.told), "it was asked beside that"
    registry.start()
    registry.add_orchestrator("orchestrator-1", COORDINATOR)
    await rig.crank(1396)
    assert rig.attendance.presence.id is None
    await rig.crank(1398)
    assert rig.attempts(since=1300) == [1397.0]
    assert rig.attendance.presence.id is not None
    before = len(registry.of("list"))
    await rig.crank(1405)
    assert len(registry.of("list")) > before, "and the questions go on at once"


@pytest.mark.parametrize(("key", "worst"), [("EXECUTOR__COORDINATORS", "INFO"), ("REGISTRY__URL", "ERROR")])
async def test_only_a_registry_that_was_set_has_to_be_one(
    registry: ScriptedRegistry, tmp_path: Path, key: str, worst: str
) -> None:
    registry.start()
    registry.always = {"list": 404, "register": 404}
    rig = Rig(load_settings(environ={f"ORTH_{key}": registry.url}, cwd=tmp_path), registry.token)
    await rig.crank(100)
    rig.attendance.close()
    assert logging.getLevelName(max(event.level for _at, event in rig.told)) == worst


async def test_an_outage_costs_no_attempt(rig: Rig, registry: ScriptedRegistry) -> None:
    registry.start()
    registry.add_orchestrator("orchestrator-1", COORDINATOR)
    await rig.crank(5)
    assert rig.attendance.presence.id is not None
    registry.stop()
    await rig.crank(92 + 75 + 130)
    assert rig.attempts(since=5) == of_ladder(92.0, background=1), "after three beats that failed"
    registry.start()
    await rig.crank(92 + 75 + 241)
    assert rig.attempts(since=5) == of_ladder(92.0, background=2)
    assert rig.attendance.presence.id is not None


async def test_questions_that_fail_for_long_are_asked_less_often(rig: Rig, registry: ScriptedRegistry) -> None:
    registry.always = {"list": 503}
    registry.start()
    await rig.crank(1300)
    introduced = len(rig.attempts())
    assert len(registry.of("list")) - introduced == 10 + 3, "every 30 s up to 270 s, then every five minutes"
