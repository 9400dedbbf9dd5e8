"""What is told about services in the log and in metrics."""

import logging
from dataclasses import dataclass
from enum import StrEnum

from orth.domain.services import Failing, ServiceKind, ServiceStatus
from orth.events import Event


class BeatFailure(StrEnum):
    """Why a beat was not taken."""

    UNKNOWN = "unknown"  # nobody has this id
    STORE = "store"
    BUSY = "busy"


class Drop(StrEnum):
    """Why a listener was let go."""

    SLOW = "slow"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class ServiceRegistered(Event):
    sentence = "{kind} {id} registered: {url}"
    kind: ServiceKind
    id: str
    url: str


@dataclass(frozen=True, slots=True)
class ServiceUnregistered(Event):
    sentence = "{kind} {id} unregistered: {url}"
    kind: ServiceKind
    id: str
    url: str


@dataclass(frozen=True, slots=True)
class ServiceForgotten(Event):
    """It has been silent for so long that it is removed."""

    sentence = "{kind} {id} is removed after a long silence: {url}"
    kind: ServiceKind
    id: str
    url: str


@dataclass(frozen=True, slots=True)
class ServiceStatusChanged(Event):
    """It said so itself, or it is heard of again."""

    level = logging.DEBUG
    sentence = "{kind} {id} is {status}"
    kind: ServiceKind
    id: str
    status: ServiceStatus


@dataclass(frozen=True, slots=True)
class ServiceFailed(Event):
    level = logging.WARNING
    sentence = "{kind} {id} has failed ({cause}): {url}"
    kind: ServiceKind
    id: str
    url: str
    cause: Failing


@dataclass(frozen=True, slots=True)
class ServiceRecovered(Event):
    """Its health check is well again."""

    sentence = "{kind} {id} has recovered and is {status}"
    kind: ServiceKind
    id: str
    status: ServiceStatus


@dataclass(frozen=True, slots=True)
class ServiceBeatFailed(Event):
    level = logging.DEBUG
    sentence = "a beat of a service was not taken: {cause}"
    cause: BeatFailure


@dataclass(frozen=True, slots=True)
class ListenerDropped(Event):
    """A socket was closed from our side before its time."""

    level = logging.WARNING
    sentence = "a listener of {username} was closed: {cause}"
    username: str
    cause: Drop
