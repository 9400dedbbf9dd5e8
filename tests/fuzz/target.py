"""One reader under examination, and what was learnt about it."""

import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis.strategies import SearchStrategy

MEMORY_BOUND = 256 * 1024
"""KiB by which a process may grow while one target is examined."""
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""Where files of inputs are kept: in memory, if there is such a folder, because a disk would be most of the time."""
_SHOWN = 160
_AGAIN = 2


@dataclass(frozen=True, slots=True)
class Target:
    """``feed`` reads one input, and may answer with one of ``refusals``, as its documentation says."""

    name: str
    inputs: SearchStrategy[Any]
    feed: Callable[[Any], None]
    refusals: tuple[type[Exception], ...] = ()
    bound: float = 0.25
    """Seconds of processor time that one input may take."""
    examples: int = 250
    """How many the short form tries."""


class TooSlowError(AssertionError):
    """An input that takes longer than its bound."""


@dataclass(slots=True)
class Tally:
    """What has been seen of one target."""

    inputs: int = 0
    refused: int = 0
    slowest: float = 0.0
    slowest_input: str = ""
    memory_before: int = field(default_factory=lambda: peak_memory())

    @property
    def grown(self) -> int:
        """KiB by which the peak of this process has risen."""
        return peak_memory() - self.memory_before


def peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def examine(target: Target, value: Any, tally: Tally) -> None:
    """Feed one input; what escapes is a finding. One that seems slow is fed again: the first time may fill a cache, or
    have met the garbage collector.
    """
    tally.inputs += 1
    spent, refused = _fed(target, value)
    if spent > tally.slowest:
        spent = min(spent, *(_fed(target, value)[0] for _ in range(_AGAIN)))
    tally.refused += refused
    if spent > tally.slowest:
        tally.slowest, tally.slowest_input = spent, shown(value)
    if spent > target.bound:
        raise TooSlowError(f"{target.name}: {spent:.3f} s for {shown(value)}")


def _fed(target: Target, value: Any) -> tuple[float, bool]:
    """Seconds of processor time, and whether it was refused."""
    refused = False
    began = time.thread_time()
    try:
        target.feed(value)
    except target.refusals:
        refused = True
    return time.thread_time() - began, refused


def shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
