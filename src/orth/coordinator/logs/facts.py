"""What is told about logs."""

import logging
from dataclasses import dataclass

from orth.events import Event


@dataclass(frozen=True, slots=True)
class LogNotArchived(Event):
    """A log was left where it is, and goes with its executor."""

    level = logging.WARNING
    sentence = "the log of execution {execution_id} is not archived: {reason}"
    execution_id: int
    reason: str


@dataclass(frozen=True, slots=True)
class LogBroughtABug(Event):
    """A log met a bug of ours on its way to the archive. It is left alone, and the others go on."""

    level = logging.ERROR
    sentence = "the log of execution {execution_id} is not archived, it brought a bug to light: {error} | {traceback}"
    execution_id: int
    error: str
    traceback: str
