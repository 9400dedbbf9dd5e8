"""Registering, beating, telling the status and leaving, on a clock moved by hand against a registry on a real port.

The sentences and their levels are written out here as people search for them.
"""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest

from orth.domain.services import ServiceKind
from orth.events import Event, Events
from orth.lifecycle.client import Registration, RegistryApi
from orth.lifecycle.facts import RegistrationAttempted
from orth.lifecycle.ladder import Ladder
from orth.lifecycle.line import RegistryLine
from orth.lifecycle.metrics import LifecycleMetrics
from orth.lifecycle.presence import Presence
from orth.lifecycle.settings import LifecycleSettings
from orth.testing import ManualClock
from tests.lifecycle.registry import HANG, RESET, Answer, ScriptedRegistry
from tests.servers.processes import free_port, wait_until

INCARNATION = "incarnation-1"
OWN_URL = "http://10.0.0.7:5080"
NOTE = "no internet connection or DNS failure"


@dataclass
class Rig:
    """A process's presence, and what it tells; time passes only by ``crank``."""

    rules: LifecycleSettings
    kind: ServiceKind = ServiceKind.ORCHESTRATOR
    url: str = OWN_URL
    busy: Callable[[], bool] | None = None
    clock: ManualClock = field(default_factory=ManualClock)
    told: list[tuple[float, Event]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.began = self.clock.monotonic()
        self.metrics = LifecycleMetrics()
        self.events = Events(lambda event: self.told.append((self.now, event)), self.metrics)
        api = RegistryApi(self.rules.registry, "token-of-this-test", timeout=self.rules.timeout, clock=self.clock)
        self.line = RegistryLine(api, self.rules, self.clock, self.events)
        me = Registration(self.kind, self.url, INCARNATION, "node-1")
        belongs_to = (lambda _api: "abc123") if self.kind is ServiceKind.AGENT else None
        self.presence = Presence(
            self.line, me, self.rules, self.clock, self.events, busy=self.busy, belongs_to=belongs_to
        )

    @property
    def now(self) -> float:
        return self.clock.monotonic() - self.began

    async def crank(self, seconds: float) -> None:
        """Turn whenever a turn is due, for so long."""
        until = self.now + seconds
        while True:
            pause = await self.presence.turn()
            if self.now + pause > until:
                self.clock.move(until - self.now)
                return
            self.clock.move(pause)

    def lines(self, *, debug: bool = False, since: int = 0) -> list[str]:
        return [str(event) for _at, event in self.told[since:] if debug or event.level > logging.DEBUG]

    def levels(self) -> dict[str, int]:
        return {str(event): event.level for _at, event in self.told}

    def at(self, beginning: str) -> list[float]:
        """When something was told."""
        return [round(at, 3) for at, event in self.told if str(event).startswith(beginning)]

    def counted(self, name: str, word: str = "") -> float:
        (family,) = [one for one in self.metrics.families() if one.name == f"orth_lifecycle_{name}"]
        return family.values[word]


@pytest.fixture
def registry() -> Iterator[ScriptedRegistry]:
    with ScriptedRegistry() as registry:
        yield registry


def rules_for(registry: ScriptedRegistry | str, **changes: object) -> LifecycleSettings:
    url = registry if isinstance(registry, str) else registry.url
    return LifecycleSettings(registry=(url,), **changes)  # type: ignore[arg-type]  # fields of the class


def shortened(line: str) -> str:
    """Without the reason after the fixed sentence."""
    return re.sub(r"(\)|\w): (http://|127\.).*", r"\1", line)


async def test_a_coordinator_settles_registers_runs_and_beats(registry: ScriptedRegistry) -> None:
    rig = Rig(rules_for(registry))
    await rig.crank(95)
    assert rig.lines() == [
        "Registration attempt 1/5",
        f"Orchestrator registered with ID: {rig.presence.id}",
        "Successfully registered on attempt 1",
        "Orchestrator status updated to Running",
    ]
    assert {level for line, level in rig.levels().items() if not line.startswith("Heartbeat")} == {logging.INFO}
    assert rig.at("Registration attempt") == [2.0], "after two seconds to settle"
    assert rig.at("Heartbeat sent for orchestrator ") == [32.0, 62.0, 92.0]
    assert rig.levels()[f"Heartbeat sent for orchestrator {rig.presence.id}"] == logging.DEBUG
    assert registry.verbs() == ["register", "status", "heartbeat", "heartbeat", "heartbeat"]
    assert registry.asked[0].body == {"url": OWN_URL, "incarnation": INCARNATION, "name": "node-1"}
    assert rig.counted("registered") == 1
    assert rig.counted("registrations_total") == 1
    assert rig.counted("heartbeats_total", "sent") == 3


async def test_an_agent_registers_for_its_orchestrator_and_is_idle(registry: ScriptedRegistry) -> None:
    rig = Rig(rules_for(registry), kind=ServiceKind.AGENT, busy=lambda: False)
    await rig.crank(40)
    assert rig.lines() == [
        "Registration attempt 1/5",
        f"Agent registered with ID: {rig.presence.id} for orchestrator abc123",
        "Successfully registered on attempt 1",
        "Agent status updated to Idle",
    ]
    assert registry.asked[0].body["orchestratorId"] == "abc123"
    assert rig.at(f"Heartbeat sent for agent {rig.presence.id}") == [32.0]


async def test_without_a_registry_five_attempts_then_the_service_runs_on_and_tries_every_two_minutes() -> None:
    rig = Rig(rules_for(f"http://127.0.0.1:{free_port()}", breaker_failures=100))
    await rig.crank(2 + 75 + 120 * 3 + 1)
    assert [shortened(line) for line in rig.lines()[:16]] == [
        "Registration attempt 1/5",
        f"Network error during registration ({NOTE})",
        "Registration attempt 1 failed. Retrying in 5 seconds...",
        "Registration attempt 2/5",
        "Network error during registration (retry 2/5)",
        "Registration attempt 2 failed. Retrying in 10 seconds...",
        "Registration attempt 3/5",
        "Network error during registration (retry 3/5)",
        "Registration attempt 3 failed. Retrying in 20 seconds...",
        "Registration attempt 4/5",
        "Network error during registration (retry 4/5)",
        "Registration attempt 4 failed. Retrying in 40 seconds...",
        "Registration attempt 5/5",
        "Network error during registration (retry 5/5)",
        "Failed to register after 5 attempts",
        "Failed to register orchestrator after 5 attempts. Service will continue without registration.",
    ]
    began_and_failed = [2.0, 2.0, 7.0, 7.0, 17.0, 17.0, 37.0, 37.0]
    assert rig.at("Registration attempt") == [*began_and_failed, 77.0, 197.0, 317.0, 437.0]
    levels = rig.levels()
    assert levels["Failed to register after 5 attempts"] == logging.ERROR
    assert (
        levels["Failed to register orchestrator after 5 attempts. Service will continue without registration."]
        == logging.WARNING
    )
    assert {
        level for line, level in levels.items() if line.startswith(("Network error", "Registration attempt 1 failed"))
    } == {logging.WARNING}
    assert levels["Skipping heartbeat - not registered"] == logging.DEBUG
    assert len(rig.lines()) == 16 + 3, "one line for each attempt in the background"
    assert rig.counted("registration_failures_total", "network") == 8
    assert rig.counted("registration_attempts_total") == 8
    assert rig.counted("registered") == 0


async def test_a_registry_that_appears_is_found_by_the_next_attempt(registry: ScriptedRegistry) -> None:
    registry.stop()
    rig = Rig(rules_for(registry))
    await rig.crank(78 + 120)
    registry.start()
    await rig.crank(121)
    assert rig.lines()[-3:] == [
        f"Orchestrator registered with ID: {rig.presence.id}",
        "Successfully registered on attempt 7",
        "Orchestrator status updated to Running",
    ]


@pytest.mark.parametrize(
    ("answer", "sentence", "level", "cause"),
    [
        (404, "Registration endpoint not found (404)", logging.ERROR, "not_found"),
        (503, "Registry unavailable during registration", logging.WARNING, "unavailable"),
        (b"not json", "Invalid response during registration", logging.ERROR, "malformed"),
        (b'{"name": "x"}', "Invalid response during registration", logging.ERROR, "malformed"),
        (HANG, "Timeout during registration", logging.WARNING, "timeout"),
        (RESET, "Network error during registration (no internet", logging.WARNING, "network"),
        (401, "Registration refused", logging.ERROR, "refused"),
    ],
)
async def test_each_class_of_failure_has_its_sentence_and_is_tried_again(
    registry: ScriptedRegistry, answer: Answer, sentence: str, level: int, cause: str
) -> None:
    registry.script = [answer]
    rig = Rig(rules_for(registry, timeout=0.3))
    await rig.crank(10)
    first, failure, retry, second = rig.told[:4]
    assert str(first[1]) == "Registration attempt 1/5"
    assert str(failure[1]).startswith(sentence)
    assert failure[1].level == level
    assert str(retry[1]) == "Registration attempt 1 failed. Retrying in 5 seconds..."
    assert (str(second[1]), second[0]) == ("Registration attempt 2/5", 7.0)
    assert rig.lines()[-1] == "Orchestrator status updated to Running"
    assert rig.counted("registration_failures_total", cause) == 1


@pytest.mark.parametrize(
    "answer",
    [
        404,
        405,
        501,
        (302, b""),
        (400, b"<html>"),
        (500, b'{"status": 500, "error": "Internal Server Error", "path": "/api/agents/register"}'),
        b'{"code": 500, "msg": null}',
        b"<html>",
    ],
)
async def test_coordinators_of_another_make_are_no_failure(registry: ScriptedRegistry, answer: Answer) -> None:
    registry.always = {"register": answer}
    rig = Rig(rules_for(registry, optional=True), ServiceKind.AGENT, busy=lambda: False)
    await rig.crank(1600)
    rig.presence.heard_from()
    await rig.crank(20)
    first, told = rig.lines()
    assert first == "Registration attempt 1/5"
    assert told.startswith(f"No Registry API here, and nothing depends on it: {registry.url}")
    assert {event.level for _at, event in rig.told} <= {logging.INFO, logging.DEBUG}
    assert len(registry.of("register")) == 15, "every two minutes, and when a coordinator is heard from"
    registry.stop()
    await rig.crank(240)
    assert len(rig.lines()) == 2, "nor does it matter that it is away"
    registry.start()
    registry.always = {}
    await rig.crank(120)
    assert rig.lines()[2].startswith("Agent registered with ID: ")


@pytest.mark.parametrize("answer", [401, 403, 503, (500, b'{"detail": "The database is away."}')])
async def test_coordinators_that_refuse_an_executor_are_told(registry: ScriptedRegistry, answer: Answer) -> None:
    registry.always = {"register": answer}
    rig = Rig(rules_for(registry, optional=True), ServiceKind.AGENT, busy=lambda: False)
    await rig.crank(3)
    assert rig.lines()[-1] == "Registration attempt 1 failed. Retrying in 5 seconds..."


async def test_missing_configuration_is_told_once_and_nothing_is_tried(registry: ScriptedRegistry) -> None:
    rig = Rig(LifecycleSettings(missing="registry.url is empty (orth.toml:3)"))
    await rig.crank(4000)
    assert rig.lines(debug=True) == [
        "RegistryApiUrl not configured in appsettings: registry.url is empty (orth.toml:3)",
        "Failed to register after 5 attempts",
        "Failed to register orchestrator after 5 attempts. Service will continue without registration.",
    ]
    assert list(rig.levels().values()) == [logging.ERROR, logging.ERROR, logging.WARNING]
    assert rig.counted("registration_failures_total", "configuration") == 1
    rig.presence.use(rules_for(registry))
    await rig.crank(1)
    assert rig.presence.id is not None, "settings that were mended count at once"


async def test_a_process_without_an_address_says_so(registry: ScriptedRegistry) -> None:
    rig = Rig(rules_for(registry), url="")
    await rig.crank(4000)
    first, *others = rig.told
    assert [event.level for _at, event in others] == [logging.ERROR, logging.WARNING]
    assert str(first[1]).startswith("ASPNETCORE_URLS not configured")
    assert first[1].level == logging.ERROR
    assert registry.asked == []


async def test_three_beats_in_a_row_that_fail_begin_the_ladder_anew(registry: ScriptedRegistry) -> None:
    rig = Rig(rules_for(registry))
    await rig.crank(3)
    known, so_far = rig.presence.id, len(rig.told)
    registry.stop()
    await rig.crank(90)
    assert [shortened(line) for line in rig.lines(since=so_far)[:5]] == [
        "Heartbeat network error (1/3)",
        "Heartbeat network error (2/3)",
        "Heartbeat network error (3/3)",
        "Too many consecutive heartbeat failures. Attempting re-registration...",
        "Registration attempt 1/5",
    ]
    assert {rig.levels()[line] for line in rig.lines(since=so_far)[:4]} == {logging.WARNING}
    assert rig.at("Too many consecutive") == [92.0]
    assert rig.counted("registered") == 0
    registry.start()
    await rig.crank(6)
    assert rig.presence.id == known, "the registry keeps the id of an address"
    assert rig.lines()[-1] == "Orchestrator status updated to Running"
    assert rig.counted("registered") == 1


async def test_two_beats_that_fail_are_forgiven(registry: ScriptedRegistry) -> None:
    rig = Rig(rules_for(registry, timeout=0.3))
    await rig.crank(3)
    rows: list[list[Answer]] = [[503, 503], [HANG, b"<html>"], [RESET]]
    for answers in rows:
        registry.script = list(answers)
        await rig.crank(30 * len(answers) + 30)
    failed = [line for line in rig.lines() if line.startswith("Heartbeat")]
    assert [re.match(r"Heartbeat [a-z ]+ \(\d/3\)", line)[0] for line in failed] == [  # type: ignore[index]  # it matches
        "Heartbeat unavailable (1/3)",
        "Heartbeat unavailable (2/3)",
        "Heartbeat timeout (1/3)",
        "Heartbeat invalid response (2/3)",
        "Heartbeat network error (1/3)",
    ]
    assert len(registry.of("register")) == 1


async def test_a_registry_that_forgot_us_is_told_at_once(registry: ScriptedRegistry) -> None:
    rig = Rig(rules_for(registry))
    await rig.crank(3)
    forgotten = rig.presence.id
    registry.records.clear()
    await rig.crank(30)
    assert registry.verbs() == ["register", "status", "heartbeat", "register", "status"]
    assert f"The registry does not know orchestrator {forgotten}. Attempting re-registration..." in rig.lines()
    assert rig.at("Registration attempt 1/5") == [2.0, 32.0]
    assert rig.counted("heartbeats_total", "failed") == 0


async def test_a_registry_that_forgets_as_fast_as_it_is_told_is_not_stormed(registry: ScriptedRegistry) -> None:
    registry.always = {"status": 404}
    rig = Rig(rules_for(registry))
    await rig.crank(30)
    assert rig.at("Registration attempt 1/5") == [2.0, 7.0, 12.0, 17.0, 22.0, 27.0]


async def test_the_status_follows_the_work_at_most_once_a_second(registry: ScriptedRegistry) -> None:
    working = False
    rig = Rig(rules_for(registry), kind=ServiceKind.AGENT, busy=lambda: working)
    await rig.crank(2.5)
    for _ in range(40):  # a quarter of a second each
        working = not working
        rig.presence.wake()
        await rig.crank(0.25)
    assert 3 <= len(registry.of("status")) <= 12
    times = rig.at("Agent status updated to")
    assert all(later - earlier >= 1 for earlier, later in pairwise(times))
    working = True
    await rig.crank(2)
    assert registry.statuses()[-1] == "Busy"
    working = False
    await rig.crank(2)
    assert registry.statuses()[-1] == "Idle"
    assert rig.levels()["Agent status updated to Busy"] == logging.INFO


async def test_a_status_that_was_not_taken_is_told_after_the_next_beat(registry: ScriptedRegistry) -> None:
    registry.always = {"status": 503}
    rig = Rig(rules_for(registry))
    await rig.crank(29)
    assert len(registry.of("status")) == 1, "it is not repeated in a hurry"
    assert len([line for line in rig.lines() if "(non-critical)" in line]) == 1
    registry.always = {}
    await rig.crank(5)
    assert registry.verbs()[-2:] == ["heartbeat", "status"]
    assert rig.lines()[-1] == "Orchestrator status updated to Running"


async def test_a_graceful_shutdown_says_stopping_and_unregisters(registry: ScriptedRegistry) -> None:
    rig = Rig(rules_for(registry))
    await rig.crank(10)
    so_far = len(rig.told)
    rig.presence.say_stopping()
    await rig.crank(45)
    assert registry.verbs()[-2:] == ["status", "heartbeat"], "while it drains it is there, and stopping"
    await rig.presence.leave()
    assert rig.lines(since=so_far) == [
        "Orchestrator shutting down gracefully...",
        "Orchestrator status updated to Stopping",
        "Orchestrator unregistered successfully",
    ]
    assert {rig.levels()[line] for line in rig.lines(since=so_far)} == {logging.INFO}
    assert registry.records == {}
    await rig.crank(200)
    assert registry.verbs()[-1] == "unregister", "and nothing after it"


async def test_leaving_at_once_also_says_both(registry: ScriptedRegistry) -> None:
    rig = Rig(rules_for(registry))
    await rig.crank(3)
    rig.presence.say_stopping()
    await rig.presence.leave()
    assert registry.verbs()[-2:] == ["status", "unregister"]
    assert registry.statuses()[-1] == "Stopping"


async def test_a_registry_that_is_away_does_not_hold_up_the_shutdown(registry: ScriptedRegistry) -> None:
    rig = Rig(rules_for(registry))
    await rig.crank(3)
    registry.stop()
    began = time.monotonic()
    rig.presence.say_stopping()
    await rig.presence.leave()
    assert time.monotonic() - began < 5
    assert rig.lines()[-1].startswith("Network error during unregister (non-critical)")
    assert rig.told[-1][1].level == logging.WARNING


async def test_a_registry_that_hangs_takes_two_seconds_at_most_even_in_the_middle_of_a_call(
    registry: ScriptedRegistry,
) -> None:
    rig = Rig(rules_for(registry))
    await rig.crank(3)
    registry.always = dict.fromkeys(("heartbeat", "status", "unregister"), HANG)
    rig.clock.move(30)
    turning = asyncio.create_task(rig.presence.turn())
    await asyncio.to_thread(wait_until, lambda: bool(registry.of("heartbeat")), "the beat is on its way")
    began = time.monotonic()
    await rig.presence.leave()
    await turning
    assert 1.5 < time.monotonic() - began < 2 + 3
    assert rig.lines()[-1].startswith("Network error during unregister (non-critical)")


async def test_who_never_registered_leaves_without_a_word() -> None:
    rig = Rig(rules_for(f"http://127.0.0.1:{free_port()}"))
    await rig.crank(3)
    so_far = len(rig.told)
    rig.presence.say_stopping()
    await rig.presence.leave()
    assert rig.lines(since=so_far) == ["Orchestrator shutting down gracefully..."]


async def test_prolonged_failure_opens_the_circuit_until_the_cooldown_and_one_call_probes(
    registry: ScriptedRegistry,
) -> None:
    registry.always = {"register": 503}
    rig = Rig(rules_for(registry))
    await rig.crank(2 + 75 + 5 * 120)
    assert len(registry.asked) == 10
    assert rig.lines()[-2] == "Circuit breaker open after 10 failures in a row: the registry is left alone for 120 s"
    assert rig.lines()[-1].endswith("Next attempt in 120 seconds.")
    assert rig.counted("circuit", "open") == 1
    await rig.crank(119)
    assert len(registry.asked) == 10, "no call while it is open"
    await rig.crank(2)
    assert len(registry.asked) == 11, "one probes"
    assert rig.at("Circuit breaker half-open") == [797.0], "at the next attempt in the background, not later"
    assert rig.counted("circuits_opened_total") == 2, "and has opened it again"
    registry.always = {}
    await rig.crank(120)
    assert "Circuit breaker closed: the registry answers again" in rig.lines()
    assert rig.counted("circuit", "closed") == 1
    assert rig.lines()[-1] == "Orchestrator status updated to Running"


async def test_no_beat_and_no_early_attempt_opens_the_circuit(registry: ScriptedRegistry) -> None:
    rig = Rig(rules_for(registry, breaker_failures=1))
    await rig.crank(3)
    registry.stop()
    so_far = rig.now
    await rig.crank(89 + 75)
    begun = [at for at, event in rig.told if isinstance(event, RegistrationAttempted) and at > so_far]
    assert begun == [92.0, 97.0, 107.0, 127.0, 167.0], "three beats, then every attempt in its time"
    assert rig.at("Circuit breaker open") == [167.0], "with the last of them"


@pytest.mark.parametrize("addresses", [(f"http://127.0.0.1:{free_port()}",), ()])
async def test_another_registry_that_does_not_know_us_is_no_registration(
    registry: ScriptedRegistry, addresses: tuple[str, ...]
) -> None:
    rig = Rig(rules_for(registry))
    await rig.crank(3)
    assert rig.counted("registered") == 1
    rig.presence.use(replace(rig.rules, registry=addresses))
    await rig.crank(600)
    assert rig.presence.id is None
    assert rig.counted("registered") == 0


async def test_while_an_agent_moves_to_another_orchestrator_it_is_not_registered(registry: ScriptedRegistry) -> None:
    rig = Rig(rules_for(registry), kind=ServiceKind.AGENT, busy=lambda: False)
    await rig.crank(3)
    rig.presence.belongs_elsewhere("another")
    assert (rig.presence.id, rig.counted("registered")) == (None, 0)
    await rig.crank(10)
    assert (rig.presence.id is not None, rig.counted("registered")) == (True, 1)


async def test_who_hears_that_the_registry_may_be_back_does_not_wait(registry: ScriptedRegistry) -> None:
    registry.always = {"register": 503}
    rig = Rig(rules_for(registry))
    await rig.crank(700)
    registry.always = {}
    rig.presence.heard_from()
    await rig.crank(0.1)
    assert rig.presence.id is not None


async def test_another_registry_is_told_at_once(registry: ScriptedRegistry) -> None:
    rig = Rig(rules_for(registry))
    await rig.crank(3)
    with ScriptedRegistry() as other:
        rig.presence.use(rules_for(other))
        await rig.crank(0.1)
        assert other.verbs() == ["register", "status"]
        rig.presence.use(rules_for(other, heartbeat=10.0))
        await rig.crank(41)
        assert other.verbs()[2:] == ["heartbeat"] * 2, (
            "other settings are no other registry: first as planned, then faster"
        )
    assert registry.verbs() == ["register", "status"]


async def test_an_agent_that_talks_to_another_orchestrator_says_so(registry: ScriptedRegistry) -> None:
    rig = Rig(rules_for(registry), kind=ServiceKind.AGENT, busy=lambda: False)
    await rig.crank(10)
    rig.presence.belongs_elsewhere("abc123")
    await rig.crank(5)
    assert len(registry.of("register")) == 1, "the same one is no news"
    rig.presence.belongs_elsewhere("def456")
    await rig.crank(5)
    assert len(registry.of("register")) == 2


async def test_other_ladders_count_their_own_attempts() -> None:
    rules = rules_for(f"http://127.0.0.1:{free_port()}", ladder=Ladder((0.0, 1.0), 50.0), settle=0.0)
    rig = Rig(rules)
    await rig.crank(52)
    assert rig.at("Registration attempt") == [0.0, 0.0, 1.0, 51.0]
    assert "Failed to register after 2 attempts" in rig.lines()
