"""What a check says."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    OK = "ok"
    WARN = "warn"
    """It works, or may work, but not as it should; or it could not be looked at."""
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One finding: what was seen, and what to do about it."""

    state: State
    what: str
    next: str = ""
    check: str = ""
    """Filled in by whoever ran the check."""


def ok(what: str) -> Verdict:
    return Verdict(State.OK, what)


def warn(what: str, next_step: str) -> Verdict:
    return Verdict(State.WARN, what, next_step)


def bad(what: str, next_step: str) -> Verdict:
    return Verdict(State.BAD, what, next_step)
