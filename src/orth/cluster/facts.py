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
