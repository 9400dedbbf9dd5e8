"""What is told about leadership."""

import logging
from dataclasses import dataclass

from orth.events import Event


@dataclass(frozen=True, slots=True)
class TermBegan(Event):
    sentence = "{node} leads: term {epoch} begins"
    node: str
    epoch: int


@dataclass(frozen=True, slots=True)
class TermEndedHere(Event):
    level = logging.WARNING
    sentence = "{node} no longer leads term {epoch}: {reason}"
    node: str
    epoch: int
    reason: str


@dataclass(frozen=True, slots=True)
class NodeJoined(Event):
    """A coordinator was seen for the first time, or another process under a known name."""

    sentence = "coordinator {node} is there, at {url}"
    node: str
    incarnation: str
    url: str


@dataclass(frozen=True, slots=True)
class NodeDraining(Event):
    sentence = "coordinator {node} gives away what it owns and stops"
    node: str
    incarnation: str


@dataclass(frozen=True, slots=True)
class NodeLeft(Event):
    """A coordinator said good-bye."""

    sentence = "coordinator {node} has left"
    node: str
    incarnation: str


@dataclass(frozen=True, slots=True)
class NodeDied(Event):
    """Seen from here, a coordinator has not beaten for as long as it may be silent."""

    level = logging.WARNING
    sentence = "coordinator {node} is dead: no beat for {silence:.0f} s"
    node: str
    incarnation: str
    silence: float


@dataclass(frozen=True, slots=True)
class NodeReturned(Event):
    """One that was thought dead beats again; what it owned may have gone to others."""

    level = logging.WARNING
    sentence = "coordinator {node} beats again"
    node: str
    incarnation: str


@dataclass(frozen=True, slots=True)
class NodeRefused(Event):
    """This node may not be one of the coordinators that run, and therefore stops."""

    level = logging.ERROR
    sentence = "coordinator {node} stops: {reason}"
    node: str
    incarnation: str
    reason: str


@dataclass(frozen=True, slots=True)
class NodeReplaced(Event):
    """Another process has joined under the name of this one, which therefore stops."""

    level = logging.ERROR
    sentence = "another process now bears the name {node}, so this one stops; every coordinator needs its own node id"
    node: str
    incarnation: str
    by: str


@dataclass(frozen=True, slots=True)
class NodeAsked(Event):
    """Somebody asked this coordinator, by the API, to do something."""

    sentence = "{node} was asked to {wish}"
    node: str
    wish: str


@dataclass(frozen=True, slots=True)
class LeaseHintAway(Event):
    level = logging.WARNING
    sentence = "the lease in Redis cannot be asked ({error}); the one in the database decides, as ever"
    error: str
