"""What a process tells about its registration, in fixed sentences at fixed levels: people and programs search for them.

A sentence may go on after its fixed part, to say which address or what reason.
"""

import logging
from dataclasses import dataclass
from enum import StrEnum

from orth.events import Event


class Cause(StrEnum):
    """Why a call to the registry did not succeed; each is handled, and told, in its own way."""

    NETWORK = "network"
    TIMEOUT = "timeout"
    NOT_FOUND = "not_found"
    UNAVAILABLE = "unavailable"
    REFUSED = "refused"
    MALFORMED = "malformed"
    CONFIGURATION = "configuration"


@dataclass(frozen=True, slots=True)
class RegistryApiStarted(Event):
    """This process serves the Registry API."""

    sentence = "Registry API started on {url}"
    url: str


# --- registering
# ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RegistrationAttempted(Event):
    """One of the first attempts begins."""

    sentence = "Registration attempt {attempt}/{attempts}"
    attempt: int
    attempts: int


@dataclass(frozen=True, slots=True)
class RegistrationTriedAgain(Event):
    """An attempt in the background begins."""

    level = logging.DEBUG
    sentence = "Registration attempt {attempt}, in the background"
    attempt: int


@dataclass(frozen=True, slots=True)
class OrchestratorRegistered(Event):
    sentence = "Orchestrator registered with ID: {id}"
    id: str


@dataclass(frozen=True, slots=True)
class AgentRegistered(Event):
    sentence = "Agent registered with ID: {id} for orchestrator {orchestrator_id}"
    id: str
    orchestrator_id: str


@dataclass(frozen=True, slots=True)
class RegistrationSucceeded(Event):
    sentence = "Successfully registered on attempt {attempt}"
    attempt: int


@dataclass(frozen=True, slots=True)
class AttemptFailed(Event):
    """Base of what may come of an attempt that fails; ``cause`` is what it is counted under."""

    level = logging.WARNING
    cause: Cause
    reason: str


@dataclass(frozen=True, slots=True)
class RegistrationNetworkError(AttemptFailed):
    """Nobody could be reached. ``note`` explains the first failure and numbers the retries."""

    sentence = "Network error during registration ({note}): {reason}"
    note: str


@dataclass(frozen=True, slots=True)
class RegistrationTimedOut(AttemptFailed):
    sentence = "Timeout during registration: {reason}"


@dataclass(frozen=True, slots=True)
class RegistrationNotFound(AttemptFailed):
    """The address answers and has no Registry API: it is wrong, or is being set up."""

    level = logging.ERROR
    sentence = "Registration endpoint not found (404): {reason}"


@dataclass(frozen=True, slots=True)
class RegistrationUnavailable(AttemptFailed):
    sentence = "Registry unavailable during registration: {reason}"


@dataclass(frozen=True, slots=True)
class RegistrationRefused(AttemptFailed):
    level = logging.ERROR
    sentence = "Registration refused: {reason}"


@dataclass(frozen=True, slots=True)
class RegistrationMalformed(AttemptFailed):
    level = logging.ERROR
    sentence = "Invalid response during registration: {reason}"


@dataclass(frozen=True, slots=True)
class RegistryNotConfigured(AttemptFailed):
    """There is no registry to register with; nothing is tried until the settings change."""

    level = logging.ERROR
    sentence = "RegistryApiUrl not configured in appsettings: {reason}"


@dataclass(frozen=True, slots=True)
class AddressNotConfigured(AttemptFailed):
    """This process has no address to register."""

    level = logging.ERROR
    sentence = "ASPNETCORE_URLS not configured: {reason}"


@dataclass(frozen=True, slots=True)
class BackgroundAttemptFailed(AttemptFailed):
    level = logging.INFO
    sentence = "Still not registered: {reason}. Next attempt in {pause:.0f} seconds."
    pause: float


@dataclass(frozen=True, slots=True)
class RegistryNotOffered(Event):
    """The coordinators of an executor are of another make: it is looked for again now and then, without a word."""

    sentence = "No Registry API here, and nothing depends on it: {reason}"
    reason: str


@dataclass(frozen=True, slots=True)
class RetryPlanned(Event):
    level = logging.WARNING
    sentence = "Registration attempt {attempt} failed. Retrying in {pause:g} seconds..."
    attempt: int
    pause: float


@dataclass(frozen=True, slots=True)
class RegistrationFailed(Event):
    """None of the first attempts succeeded; told in the same words where they cannot even be made."""

    level = logging.ERROR
    sentence = "Failed to register after {attempts} attempts"
    attempts: int


@dataclass(frozen=True, slots=True)
class RunningUnregistered(Event):
    """The process works on without being known; attempts go on in the background where that makes sense."""

    level = logging.WARNING
    sentence = "Failed to register {kind} after {attempts} attempts. Service will continue without registration."
    kind: str
    attempts: int


# --- being registered
# ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StatusUpdated(Event):
    sentence = "{title} status updated to {status}"
    title: str
    status: str


@dataclass(frozen=True, slots=True)
class StatusNotUpdated(Event):
    """It is told again after the next heartbeat that arrives."""

    level = logging.WARNING
    sentence = "{title} status not updated to {status} (non-critical): {reason}"
    title: str
    status: str
    reason: str


@dataclass(frozen=True, slots=True)
class HeartbeatSent(Event):
    level = logging.DEBUG
    sentence = "Heartbeat sent for {kind} {id}"
    kind: str
    id: str


@dataclass(frozen=True, slots=True)
class HeartbeatSkipped(Event):
    level = logging.DEBUG
    sentence = "Skipping heartbeat - not registered"


_HEARTBEAT_WORDS = {
    Cause.NETWORK: "network error",
    Cause.TIMEOUT: "timeout",
    Cause.UNAVAILABLE: "unavailable",
    Cause.MALFORMED: "invalid response",
}


@dataclass(frozen=True, slots=True)
class HeartbeatFailed(Event):
    level = logging.WARNING
    sentence = "Heartbeat {what} ({failures}/{limit}): {reason}"
    cause: Cause
    failures: int
    limit: int
    reason: str

    @property
    def what(self) -> str:
        return _HEARTBEAT_WORDS.get(self.cause, "refused")

    def __str__(self) -> str:
        return self.sentence.format(what=self.what, failures=self.failures, limit=self.limit, reason=self.reason)


@dataclass(frozen=True, slots=True)
class HeartbeatsLost(Event):
    level = logging.WARNING
    sentence = "Too many consecutive heartbeat failures. Attempting re-registration..."


@dataclass(frozen=True, slots=True)
class ForgottenByRegistry(Event):
    """It answered that it has no such id: it lost its memory, or another one answers now."""

    level = logging.WARNING
    sentence = "The registry does not know {kind} {id}. Attempting re-registration..."
    kind: str
    id: str


@dataclass(frozen=True, slots=True)
class RegistrationDropped(Event):
    """The id counts no longer: the process registers anew, for whatever reason."""

    level = logging.DEBUG
    sentence = "No longer registered as {kind} {id}"
    kind: str
    id: str


# --- leaving
# ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShuttingDown(Event):
    sentence = "{title} shutting down gracefully..."
    title: str


@dataclass(frozen=True, slots=True)
class Unregistered(Event):
    sentence = "{title} unregistered successfully"
    title: str


@dataclass(frozen=True, slots=True)
class NotUnregistered(Event):
    """Best effort: the registry learns from the silence."""

    level = logging.WARNING
    sentence = "Network error during unregister (non-critical): {reason}"
    reason: str


# --- the circuit breaker, discovery, settings
# ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CircuitOpened(Event):
    level = logging.WARNING
    sentence = "Circuit breaker open after {failures} failures in a row: the registry is left alone for {cooldown:g} s"
    failures: int
    cooldown: float


@dataclass(frozen=True, slots=True)
class CircuitHalfOpened(Event):
    sentence = "Circuit breaker half-open: one call probes the registry"


@dataclass(frozen=True, slots=True)
class CircuitClosed(Event):
    sentence = "Circuit breaker closed: the registry answers again"


@dataclass(frozen=True, slots=True)
class CoordinatorsDiscovered(Event):
    """The coordinators this executor turns to have changed; the first is asked first."""

    sentence = "coordinators are now {addresses}"
    addresses: str
    learnt: int


@dataclass(frozen=True, slots=True)
class DiscoveryFailed(Event):
    """The coordinators known so far stay."""

    level = logging.WARNING
    sentence = "the registry did not say which coordinators there are: {reason}"
    reason: str


@dataclass(frozen=True, slots=True)
class SettingsReloaded(Event):
    sentence = "settings read again from {file}: {changed}"
    file: str
    changed: str


@dataclass(frozen=True, slots=True)
class SettingsNeedRestart(Event):
    level = logging.WARNING
    sentence = "changed in {file} and taken over at the next start only: {keys}"
    file: str
    keys: str


@dataclass(frozen=True, slots=True)
class SettingsRefused(Event):
    """The values in use stay."""

    level = logging.ERROR
    sentence = "{file} was not taken over, the settings stay as they were: {problems}"
    file: str
    problems: str
