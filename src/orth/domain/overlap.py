"""Where an execution may go while others of its job may be running: pure.

An execution may be running from the commit that addresses or offers it until it has ended at its executor. As long as
an execution of a job may be running, the next one goes to the same executor, whose own block strategy decides. So
third-party executors keep the rule as well, and no executor is asked. SERIAL_EXECUTION sends there only what should run
within a second. The rest waits in the database, where the death of an executor costs it nothing. What cannot go there
waits too. Each shard index of a broadcast counts by itself. Tests of code run beside their job and do not count.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from orth.domain.executions import Phase
from orth.domain.jobs import BlockStrategy, Job, Overlap
from orth.domain.nodes import normal_address

SOON = 1_000.0
"""Milliseconds within which what is sent to a busy executor should have run."""
_UNMEASURED = 2
"""How many executions may be there of a job whose duration nobody knows yet."""
_MOST = 500
NOBODY_KNOWS = ""
"""The place of an execution in a queue: whoever takes it."""


Key = tuple[int, int]
"""A job and an index of its shards; 0 where it is no broadcast."""


@dataclass(frozen=True, slots=True)
class Running:
    """Executions of one job and shard index in one phase at one place; ``waiting`` ones are at none yet."""

    key: Key
    address: str | None
    phase: str
    count: int
    first_id: int

    @property
    def waiting(self) -> bool:
        return self.phase == Phase.OPENED


@dataclass(slots=True)
class Busy:
    """What may be running of one job or shard index, and the oldest that waits for it."""

    places: Counter[str] = field(default_factory=Counter)
    """By address as everybody compares it."""
    choosing: bool = False
    """Whether some request is on its way, so that its executor may still change."""
    waiting: int | None = None

    def add(self, one: Running) -> None:
        if one.waiting:
            self.waiting = one.first_id if self.waiting is None else min(self.waiting, one.first_id)
            return
        self.occupy(one.address, one.count, choosing=one.phase == Phase.DISPATCHING)

    def occupy(self, address: str | None, count: int = 1, *, choosing: bool = True) -> None:
        self.places[normal_address(address) if address else NOBODY_KNOWS] += count
        self.choosing = self.choosing or choosing


@dataclass(frozen=True, slots=True)
class Anywhere:
    """Nothing of the job may be running."""


@dataclass(frozen=True, slots=True)
class Only:
    """It may go to this address."""

    address: str


@dataclass(frozen=True, slots=True)
class Later:
    """It waits until what may be running has ended."""

    message: str


@dataclass(frozen=True, slots=True)
class Discard:
    """The job is busy, and its block strategy discards what comes meanwhile."""

    message: str


def is_guarded(job: Job) -> bool:
    """Whether executions of a job must not overlap, whatever their executors."""
    return job.overlap is Overlap.CLUSTER and job.executor_block_strategy is not BlockStrategy.CONCURRENT


def room_of(job: Job, duration: float | None) -> int:
    """How many executions of a job may be at its executor, the running one included. ``duration`` is in ms."""
    if job.executor_block_strategy is BlockStrategy.COVER_EARLY:
        return _MOST  # each ends the one before it
    if duration is None:
        return _UNMEASURED
    return max(1, min(_MOST, int(SOON / max(duration, 1.0))))


def where(
    job: Job, execution_id: int, busy: Busy | None, candidates: Sequence[str], room: int, *, asks: bool = False
) -> Anywhere | Only | Later | Discard:
    """Which of the ``candidates`` an execution of a guarded job may go to; ``asks``: the strategy asks them first."""
    if busy is None or not (busy.places or busy.waiting is not None):
        return Anywhere()
    if busy.places and job.executor_block_strategy is BlockStrategy.DISCARD_LATER:
        told = f"An execution of the job may be running {_at(busy.places)}, and its block strategy is DISCARD_LATER."
        return Discard(told)
    if busy.waiting is not None and busy.waiting < execution_id:
        return Later(f"Execution {busy.waiting} of the job waits as well and goes first.")
    if not busy.places:
        return Anywhere()
    told = f"Another execution of the job may be running {_at(busy.places)}"
    if len(busy.places) > 1 or NOBODY_KNOWS in busy.places:
        return Later(f"{told}.")
    (place,) = busy.places
    there = next((one for one in candidates if normal_address(one) == place), None)
    if there is None:
        return Later(f"{told}, where this one cannot go now.")
    if asks and busy.choosing:
        return Later(f"{told}; its executor is still being chosen.")
    if len(candidates) > 1 and busy.places[place] >= room:
        return Later(f"{told}, and this one would wait there for longer than a second.")
    return Only(there)


def may_be_released(busy: Busy, room: int) -> int:
    """How many of those that wait may be looked at again."""
    if not busy.places:
        return room
    if len(busy.places) > 1 or NOBODY_KNOWS in busy.places:
        return 0
    return max(0, room - busy.places.total())


def by_key(found: Iterable[Running]) -> dict[Key, Busy]:
    """What may be running, by job and shard index."""
    busy: dict[Key, Busy] = {}
    for one in found:
        busy.setdefault(one.key, Busy()).add(one)
    return busy


def _at(places: Counter[str]) -> str:
    named = [place or "an executor of its queue" for place in sorted(places)]
    return "at " + ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")
