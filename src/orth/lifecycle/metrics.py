"""What monitoring reads about the registration of a process, the same for coordinators and executors.

Everything is counted by listening to facts, so a process that does not register serves zeros.
"""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from orth.events import Event
from orth.lifecycle import facts
from orth.lifecycle.breaker import Circuit
from orth.lifecycle.facts import Cause


@dataclass(frozen=True, slots=True)
class Family:
    """A metric as it is served: with a label, one value for each of its words; else one under the empty word."""

    name: str
    kind: str
    meaning: str
    label: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Tally:
    meaning: str
    label: str = ""
    words: tuple[str, ...] = ("",)


_TALLIES = {
    "orth_lifecycle_registration_attempts_total": _Tally("Attempts to register with the registry."),
    "orth_lifecycle_registrations_total": _Tally("Attempts that succeeded."),
    "orth_lifecycle_registration_failures_total": _Tally("Attempts that failed, by cause.", "cause", tuple(Cause)),
    "orth_lifecycle_heartbeats_total": _Tally("Beats to the registry.", "outcome", ("sent", "failed", "skipped")),
    "orth_lifecycle_circuits_opened_total": _Tally("Times the registry was left alone after failures in a row."),
    "orth_lifecycle_reloads_total": _Tally("Times settings were read again.", "outcome", ("taken", "refused")),
}
_COUNTED: Mapping[type[Event], tuple[str, str]] = {
    facts.RegistrationAttempted: ("orth_lifecycle_registration_attempts_total", ""),
    facts.RegistrationTriedAgain: ("orth_lifecycle_registration_attempts_total", ""),
    facts.RegistrationSucceeded: ("orth_lifecycle_registrations_total", ""),
    facts.HeartbeatSent: ("orth_lifecycle_heartbeats_total", "sent"),
    facts.HeartbeatFailed: ("orth_lifecycle_heartbeats_total", "failed"),
    facts.HeartbeatSkipped: ("orth_lifecycle_heartbeats_total", "skipped"),
    facts.CircuitOpened: ("orth_lifecycle_circuits_opened_total", ""),
    facts.SettingsReloaded: ("orth_lifecycle_reloads_total", "taken"),
    facts.SettingsRefused: ("orth_lifecycle_reloads_total", "refused"),
}
_CIRCUITS: Mapping[type[Event], Circuit] = {
    facts.CircuitOpened: Circuit.OPEN,
    facts.CircuitHalfOpened: Circuit.HALF_OPEN,
    facts.CircuitClosed: Circuit.CLOSED,
}
_REGISTERED: Mapping[type[Event], bool] = {
    facts.RegistrationSucceeded: True,
    facts.RegistrationDropped: False,
    facts.Unregistered: False,
}


class LifecycleMetrics:
    """Counts what is told; ``listen`` to events with it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._circuit = Circuit.CLOSED
        self._registered = False
        self._learnt = 0

    def __call__(self, event: Event) -> None:
        kind = type(event)
        if kind.__module__ != facts.__name__:  # most facts, told often, are about executions
            return
        with self._lock:
            if counted := _COUNTED.get(kind):
                self._counts[counted] += 1
            if isinstance(event, facts.AttemptFailed):
                self._counts["orth_lifecycle_registration_failures_total", event.cause] += 1
            if isinstance(event, facts.CoordinatorsDiscovered):
                self._learnt = event.learnt
            self._circuit = _CIRCUITS.get(kind, self._circuit)
            self._registered = _REGISTERED.get(kind, self._registered)

    def families(self) -> Iterator[Family]:
        with self._lock:
            counts, circuit, registered, learnt = self._counts.copy(), self._circuit, self._registered, self._learnt
        yield Family(
            "orth_lifecycle_registered", "gauge", "Whether the registry knows this process.", "", {"": int(registered)}
        )
        states = {state.value: int(state is circuit) for state in Circuit}
        yield Family("orth_lifecycle_circuit", "gauge", "The circuit breaker to the registry.", "state", states)
        yield Family(
            "orth_lifecycle_coordinators_learnt", "gauge", "Coordinators learnt from the registry.", "", {"": learnt}
        )
        for name, tally in _TALLIES.items():
            values = {word: counts[name, word] for word in tally.words}
            yield Family(name, "counter", tally.meaning, tally.label, values)
