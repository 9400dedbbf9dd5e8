"""Where an execution may go while others of its job may be running: pure.

An execution may be running from the commit that addresses or offers it until it has ended at its executor. As long as
an execution of a job may be running, the next one goes to the same executor, whose own block strategy decides. So
third-party executors keep the rule as well, and no executor is asked. SERIAL_EXECUTION sends there only what should run
within a second. The rest waits in the database, where the death of an executor costs it nothing. What cannot go there
waits too.

A fire that was sent ahead of its time may begin when it is due, and not earlier. So it binds the job to its executor,
but executions that are due before it do not wait for it. Executions that wait go in the order in which they are due,
and nothing that is due later is sent ahead past them. A job that always has a fire ahead would stay at one executor for
ever: for some seconds of each minute its fires are sent when they are due, if its route strategy chooses another one.

Each shard index of a broadcast counts by itself. An execution that is no shard overlaps with every shard of its job.
Tests of code run beside their job and do not count.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from orth.domain.executions import Execution, Phase
from orth.domain.jobs import BlockStrategy, Job, Overlap
from orth.domain.nodes import normal_address
from orth.domain.reasons import BUSY_ELSEWHERE

SOON = 1_000.0
"""Milliseconds within which what is sent to a busy executor should have run."""
_UNMEASURED = 2
"""How many executions may be there of a job whose duration nobody knows yet."""
_MOST = 500
_LAST_ID = 2**63
_MOVES_EVERY = 60_000
_IDLE_FOR = 1_000
_SPREAD = 7_919
NOBODY_KNOWS = ""
"""The place of an execution in a queue: whoever takes it."""
WHOLE = -1
"""Instead of the index of a shard: the execution is no shard of a broadcast."""

Key = tuple[int, int]
"""A job, and the index of a shard or ``WHOLE``."""
Position = tuple[int, int]
"""The place of an execution among those of its job: when it is due, then its id."""


def key_of(execution: Execution) -> Key:
    return execution.job_id, execution.shard_index if execution.shard_total > 1 else WHOLE


def position_of(execution: Execution) -> Position:
    due = execution.trigger_time if execution.not_before is None else execution.not_before
    return due, execution.id


@dataclass(frozen=True, slots=True)
class Running:
    """Open executions of one job and shard index in one phase at one place, and ends that no executor has confirmed."""

    key: Key
    address: str | None
    phase: str
    reason_code: str | None
    not_until: int
    """When they may begin, if that is later than now; else 0."""
    count: int
    first: Position
    """No execution among them is due earlier, or has a lower id."""


@dataclass(slots=True)
class Busy:
    """What may be running of one job or shard index, and what waits for it."""

    places: Counter[str] = field(default_factory=Counter)
    """By address as everybody compares it: what may have begun."""
    ahead: list[tuple[int, str]] = field(default_factory=list)
    """What was sent ahead of its time: when it may begin, and where."""
    unsent: list[int] = field(default_factory=list)
    """When fires are due that were planned ahead and were not sent."""
    choosing: bool = False
    """Whether some request is on its way, so that its executor may still change."""
    waiting: Position | None = None
    """The first of those that wait in the database; none of them is decided about now."""
    blocked: Position | None = None
    """The first of those that were decided about now and have to wait."""

    def add(self, one: Running) -> None:
        if one.phase != Phase.OPENED:
            choosing = one.phase == Phase.DISPATCHING
            self.occupy(one.address, one.not_until, one.count, choosing=choosing)
        elif one.reason_code == BUSY_ELSEWHERE:
            self.waiting = min(one.first, self.waiting or one.first)
        elif one.not_until:
            self.unsent += [one.not_until] * one.count

    def occupy(self, address: str | None, not_until: int = 0, count: int = 1, *, choosing: bool = True) -> None:
        place = normal_address(address) if address else NOBODY_KNOWS
        if not_until:
            self.ahead += [(not_until, place)] * count
        else:
            self.places[place] += count
        self.choosing = self.choosing or choosing

    def block(self, position: Position) -> None:
        self.blocked = min(position, self.blocked or position)

    def include(self, other: "Busy", waiting: Position | None) -> None:
        """Count what ``other`` has as well. Of those that wait there, ``waiting`` counts as the first."""
        self.places += other.places
        self.ahead += other.ahead
        self.unsent += other.unsent
        self.choosing = self.choosing or other.choosing
        self.waiting = _earlier(self.waiting, waiting)
        self.blocked = _earlier(self.blocked, other.blocked)

    @property
    def everywhere(self) -> set[str]:
        """Where anything is."""
        return {*self.places, *(place for _due, place in self.ahead)}

    def due_until(self, instant: int) -> list[int]:
        """When that may begin which was sent ahead, or will be, and is due by this instant; in order."""
        dues = (*(due for due, _place in self.ahead), *self.unsent)
        return sorted(due for due in dues if due <= instant)

    def is_due(self, instant: int) -> bool:
        """Whether anything that is there may have begun by this instant."""
        return bool(self.places) or any(due <= instant for due, _place in self.ahead)


class BusyJobs:
    """What may be running of several jobs."""

    def __init__(self, found: Iterable[Running] = ()) -> None:
        self._jobs: dict[int, dict[int, Busy]] = {}
        for one in found:
            self.of(one.key).add(one)

    def of(self, key: Key) -> Busy:
        """That of one job and shard index alone, to be changed."""
        job_id, shard = key
        return self._jobs.setdefault(job_id, {}).setdefault(shard, Busy())

    def seen_by(self, key: Key, *, released: bool = False) -> Busy:
        """That with which an execution of this key would overlap. ``released``: it has waited, and of its own key
        nothing that waits in the database goes before it.
        """
        job_id, shard = key
        shards, found = self._jobs.get(job_id, {}), Busy()
        if list(shards) == [shard] and not released:  # as of nearly every job: nothing is to be copied
            return shards[shard]
        for index, busy in shards.items():
            if index == shard:
                found.include(busy, None if released else busy.waiting)
            elif WHOLE in (index, shard):
                # Of equals neither waits for the other: both might have to.
                found.include(busy, None if busy.waiting is None else (busy.waiting[0], _LAST_ID))
        return found

    def waiting(self) -> list[Key]:
        """The jobs and shard indexes of which executions wait in the database."""
        return [
            (job_id, shard)
            for job_id, shards in self._jobs.items()
            for shard, busy in shards.items()
            if busy.waiting is not None
        ]

    @property
    def job_ids(self) -> set[int]:
        return set(self._jobs)


def _earlier(one: Position | None, other: Position | None) -> Position | None:
    return min(one, other) if one is not None and other is not None else one or other


@dataclass(frozen=True, slots=True)
class Candidate:
    """An execution that is to be sent, and where it may go."""

    position: Position
    now: int
    addresses: Sequence[str] = ()
    asks: bool = False
    """Whether its route strategy asks the executors first."""
    duration: float | None = None
    """How long executions of its job take, in ms; None when that is not known."""

    @property
    def begins(self) -> int:
        """When it may begin."""
        return max(self.position[0], self.now)


@dataclass(frozen=True, slots=True)
class Anywhere:
    """Nothing of the job may be running."""


@dataclass(frozen=True, slots=True)
class Only:
    """It may go to this address."""

    address: str


@dataclass(frozen=True, slots=True)
class Later:
    """It waits. The message is kept, so it says how it was then."""

    message: str


@dataclass(frozen=True, slots=True)
class Discard:
    """The job is busy, and its block strategy discards what comes meanwhile."""

    message: str


class BlockedBy(StrEnum):
    """What keeps an execution from being sent, or from beginning."""

    RUNNING = "running"  # may be running
    ENDED = "ended"  # has ended here, and its executor has not confirmed that
    EARLIER = "earlier"  # was due earlier and waits as well
    AHEAD = "ahead"  # was sent ahead to an executor where this one cannot go


@dataclass(frozen=True, slots=True)
class BlockingExecution:
    """The execution of the same job that another one waits for."""

    id: int
    kind: BlockedBy
    place: str = ""
    """Its address, or the queue in which it is."""
    begins: int | None = None
    """When one may begin that was sent ahead."""


def is_guarded(job: Job) -> bool:
    """Whether executions of a job must not overlap, whatever their executors."""
    return job.overlap is Overlap.CLUSTER and job.executor_block_strategy is not BlockStrategy.CONCURRENT


def may_move(job_id: int, due: int, plan_ahead: int) -> bool:
    """Whether a fire that is due then is one of those by which a job may go to another executor: those of a span that
    is longer than fires are planned ahead: before its first one, all that was sent ahead has begun. Jobs take turns.
    """
    return (due + job_id * _SPREAD) % max(_MOVES_EVERY, 10 * plan_ahead) < plan_ahead + _IDLE_FOR


def room_of(job: Job, duration: float | None) -> int:
    """How many executions of a job may be at its executor, the running one included. ``duration`` is in ms."""
    if job.executor_block_strategy is BlockStrategy.COVER_EARLY:
        return _MOST  # each ends the one before it
    if duration is None:
        return _UNMEASURED
    return max(1, min(_MOST, int(SOON / max(duration, 1.0))))


def where(job: Job, one: Candidate, busy: Busy) -> Anywhere | Only | Later | Discard:
    """Which of its addresses an execution of a guarded job may go to."""
    is_running, there = busy.is_due(one.begins), busy.everywhere
    if is_running and job.executor_block_strategy is BlockStrategy.DISCARD_LATER:
        told = f"An execution of the job may be running {_at(there)}, and its block strategy is DISCARD_LATER."
        return Discard(told)
    first = _earlier(busy.waiting, busy.blocked)
    if first is not None and first < one.position:
        return Later("Another execution of the job was due earlier and had to wait as well.")
    if not there:
        return Anywhere()
    what = "Another execution of the job might be running" if is_running else "A later fire of the job was sent ahead"
    told = f"{what} {_at(there)}"
    if len(there) > 1 or NOBODY_KNOWS in there:
        return Later(f"{told}.")
    (place,) = there
    chosen = next((each for each in one.addresses if normal_address(each) == place), None)
    if chosen is None:
        return Later(f"{told}, where this one could not go.")
    if one.asks and busy.choosing:
        return Later(f"{told}; its executor was still being chosen.")
    if len(one.addresses) > 1 and not _runs_soon(job, one, busy):
        return Later(f"{told}, and this one would have waited there for longer than a second.")
    return Only(chosen)


def _runs_soon(job: Job, one: Candidate, busy: Busy) -> bool:
    """Whether an execution should begin when it is due, or have run within a second, at the executor that has those
    before it.
    """
    coming = busy.due_until(one.begins)
    before = busy.places.total() + len(coming)
    if one.duration is None and one.position[0] > one.now:
        before = busy.places.total()  # only what has begun tells whether it would wait
    if not before or one.duration is None or job.executor_block_strategy is BlockStrategy.COVER_EARLY:
        return before < room_of(job, one.duration)
    free = one.now + busy.places.total() * one.duration
    for due in coming:
        free = max(free, due) + one.duration
    return before < _MOST and (free <= one.begins or free + one.duration - one.begins <= SOON)


def may_be_released(busy: Busy, room: int) -> int:
    """How many of those that wait may be looked at again."""
    if len(busy.everywhere) > 1 or NOBODY_KNOWS in busy.places:
        return 0
    return max(0, room - busy.places.total())


def _at(places: Iterable[str]) -> str:
    named = [place or "an executor of its queue" for place in sorted(places)]
    return "at " + ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")
