"""What is told about ownership: who adopted, who lost, who was found to look after nothing."""

import logging
from dataclasses import dataclass

from orth.events import Event


@dataclass(frozen=True, slots=True)
class ExecutionsAdopted(Event):
    sentence = "{node} adopted {count} executions of {giver}"
    node: str
    giver: str
    count: int
    orphans: int = 0
    """How many of them nobody looked after."""


@dataclass(frozen=True, slots=True)
class OwnershipLost(Event):
    """Rows that were ours are so no longer: we were thought dead, so that others have them or may take them, or
    somebody else has seen that they had ended.
    """

    level = logging.WARNING
    sentence = "{node} no longer owns {count} executions: they have ended, or are for others to adopt"
    node: str
    count: int


@dataclass(frozen=True, slots=True)
class HandoffsSettled(Event):
    """Executions were offered to others: so many were taken, so many were not."""

    sentence = "{node} handed over {taken} executions, {left} were not taken ({reason})"
    node: str
    reason: str
    taken: int
    left: int
    late: int = 0
    """How many were taken only after the others were asked again: case B."""
    alone: bool = False
    """Whether nobody else is alive, so that what is left is case D and not C."""


@dataclass(frozen=True, slots=True)
class OrphansFound(Event):
    level = logging.WARNING
    sentence = "{count} executions of {node} have no owner any more: {reason}"
    node: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class OrphansOffered(Event):
    sentence = "{count} executions without an owner were offered to all coordinators"
    count: int


@dataclass(frozen=True, slots=True)
class DrainBegan(Event):
    sentence = "{node} drains: it owns {owned} executions"
    node: str
    owned: int


@dataclass(frozen=True, slots=True)
class DrainEnded(Event):
    sentence = "{node} has drained in {seconds:.1f} s: {taken} executions handed over, {left} left to the orphan check"
    node: str
    taken: int
    left: int
    seconds: float


@dataclass(frozen=True, slots=True)
class DrainCutShort(Event):
    """The database does not answer; what this node owned is found by the orphan check."""

    level = logging.WARNING
    sentence = "{node} could not drain: {error}"
    node: str
    error: str
