"""Services as the Registry API knows them: orchestrators and agents, their statuses, and how these change.

An *orchestrator* is a coordinator, an *agent* an executor. A service says itself what its status is. Two things say
otherwise: silence, and a failing health check. Both make it ``Failed``, and what it was is remembered. A beat ends a
silence; it does not mend a service whose health check fails, for that one has been beating all along.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from orth.errors import Invalid


class ServiceKind(StrEnum):
    ORCHESTRATOR = "orchestrator"
    AGENT = "agent"


class ServiceStatus(StrEnum):
    STARTING = "Starting"
    RUNNING = "Running"
    IDLE = "Idle"
    BUSY = "Busy"
    STOPPING = "Stopping"
    STOPPED = "Stopped"
    FAILED = "Failed"


class Failing(StrEnum):
    """What says that a service has failed, when it does not say so itself."""

    SILENCE = "silence"
    HEALTH = "health"


class Happening(StrEnum):
    """What the events of a service tell; their type is the kind of the service and one of these."""

    REGISTERED = "registered"
    UNREGISTERED = "unregistered"
    STATUS_CHANGED = "status_changed"


_ENDS = (ServiceStatus.STOPPING, ServiceStatus.STOPPED, ServiceStatus.FAILED)
STATUSES: Mapping[ServiceKind, tuple[ServiceStatus, ...]] = {
    ServiceKind.ORCHESTRATOR: (ServiceStatus.STARTING, ServiceStatus.RUNNING, *_ENDS),
    ServiceKind.AGENT: (ServiceStatus.STARTING, ServiceStatus.IDLE, ServiceStatus.BUSY, *_ENDS),
}
EVENT_TYPES = tuple(f"{kind}_{happening}" for kind in ServiceKind for happening in Happening)


class UnknownStatus(Invalid):
    """A word that is no status of such a service."""

    status = 400
    kind = "unknown-status"


@dataclass(frozen=True, slots=True)
class Standing:
    """How it stands with a service."""

    status: ServiceStatus
    failing: Failing | None = None
    failing_since: int | None = None
    before: ServiceStatus | None = None
    """What it was before something else than itself made it Failed."""


@dataclass(frozen=True, slots=True)
class Service:
    """A registered service."""

    id: str
    kind: ServiceKind
    url: str
    incarnation: str | None
    orchestrator_id: str | None
    name: str | None
    standing: Standing
    registered_at: int
    last_heartbeat: int
    beats: int
    """Counted, so that a silence is judged by watching and not by comparing clocks."""
    owner: str = ""
    """The app whose token it registered with; nothing for one with a credential that speaks for all."""

    @property
    def status(self) -> ServiceStatus:
        return self.standing.status

    def told(self, happening: Happening) -> str:
        """The type of an event about it."""
        return f"{self.kind}_{happening}"


def read_status(kind: ServiceKind, text: str) -> ServiceStatus:
    """The status of that name, in any case; ``UnknownStatus`` with the list when there is none."""
    for status in STATUSES[kind]:
        if status.lower() == text.strip().lower():
            return status
    listed = ", ".join(STATUSES[kind])
    raise UnknownStatus(f"{text[:40]!r} is no status of an {kind}.", hint=f"It is one of {listed}.", field="status")


def after_report(standing: Standing, said: ServiceStatus) -> Standing:
    """What a service says of itself counts, except that it is well while its health check says it is not."""
    if standing.failing is Failing.HEALTH and said not in _ENDS:
        return replace(standing, before=said)
    return Standing(said)


def after_beat(standing: Standing) -> Standing:
    """A beat ends a silence."""
    return _as_before(standing) if standing.failing is Failing.SILENCE else standing


def after_silence(standing: Standing, now: int) -> Standing:
    """Who has said that it stopped, or failed, owes no beat."""
    if standing.status in (ServiceStatus.STOPPED, ServiceStatus.FAILED):
        return standing
    return Standing(ServiceStatus.FAILED, Failing.SILENCE, now, standing.status)


def after_health(standing: Standing, now: int, *, well: bool, silent: bool) -> Standing:
    """``well``: what its health check says; ``silent``: whether its beats are missing as well."""
    if not well:
        if standing.status in _ENDS:
            return standing
        return Standing(ServiceStatus.FAILED, Failing.HEALTH, now, standing.status)
    if standing.failing is not Failing.HEALTH:
        return standing
    return replace(standing, failing=Failing.SILENCE) if silent else _as_before(standing)


def _as_before(standing: Standing) -> Standing:
    return Standing(standing.before or ServiceStatus.STARTING)
