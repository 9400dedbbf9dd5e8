"""Executors of queues as this coordinator hears them: nobody calls them, they only say that they live.

Every coordinator listens. What a beat names is at its process; what becomes of a process that is not heard any more is
judged by how long *this* coordinator has listened without a gap, because a topic reaches only those who listen.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from orth.clock import Clock
from orth.wire.channel_messages import WorkerBeat

STOPPED = "Stopped"
_LIMIT = 20_000
_OF_ONE_APP = 5_000


class Fate(Enum):
    """What is known of a process."""

    ALIVE = "it was heard of late"
    LEFT = "it said good-bye"
    REPLACED = "another process has its name"
    SILENT = "it has not been heard of for a while"


@dataclass(frozen=True, slots=True)
class Process:
    """An executor process, its last beat, and when that came."""

    beat: WorkerBeat
    heard_at: float
    order: int
    """Which of two processes came later."""
    since: int
    """When it was first heard of, on the wall clock."""

    @property
    def tells_all(self) -> bool:
        """Whether its beat names everything that it has."""
        running = self.beat.active_jobs <= len(self.beat.running)
        return running and self.beat.unacknowledged_results <= len(self.beat.unacknowledged)

    @property
    def named(self) -> Iterator[int]:
        yield from self.beat.running
        yield from self.beat.unacknowledged


class Workers:
    """Everybody who takes from queues. For one event loop."""

    def __init__(self, clock: Clock, *, dead_after: float) -> None:
        self._clock = clock
        self._dead_after = dead_after
        self._processes: dict[str, Process] = {}
        self._latest: dict[tuple[str, str], str] = {}
        """By the app and the name of an executor, its newest process."""
        self._of_app: Counter[str] = Counter()
        self._order = 0
        self.listening_since: float | None = None
        """Since when no beat can have been missed; None while none is heard."""

    def heard(self, beat: WorkerBeat) -> bool:
        """Whether it counts: a process is of the app it first spoke for, and nobody else speaks for it."""
        before = self._processes.get(beat.incarnation)
        if before is not None and before.beat.app_name != beat.app_name:
            return False
        if before is None:
            self._make_room(beat.app_name)
            self._order += 1
            self._of_app[beat.app_name] += 1
            self._latest[beat.app_name, beat.worker_id] = beat.incarnation
        order, since = (before.order, before.since) if before is not None else (self._order, self._clock.now())
        self._processes[beat.incarnation] = Process(beat, self._clock.monotonic(), order, since)
        return True

    def hears(self) -> None:
        """Beats are heard from now on."""
        self.listening_since = self._clock.monotonic()

    def deaf(self) -> None:
        """No beat is heard until ``hears``: silence says nothing."""
        self.listening_since = None

    def missed(self) -> None:
        """Some beats may not have come: silence before now says nothing."""
        if self.listening_since is not None:
            self.hears()

    def fate(self, incarnation: str) -> Fate:
        process = self._processes.get(incarnation)
        if process is not None:
            if process.beat.status == STOPPED:
                return Fate.LEFT
            replaced = self._latest.get((process.beat.app_name, process.beat.worker_id)) != incarnation
            if replaced and self.silence(incarnation) >= self._dead_after / 2:  # else two of them share a name
                return Fate.REPLACED
        return Fate.SILENT if self.silence(incarnation) >= self._dead_after else Fate.ALIVE

    def silence(self, incarnation: str) -> float:
        """Seconds for which this process surely said nothing."""
        if self.listening_since is None:
            return 0.0
        process = self._processes.get(incarnation)
        heard = float("-inf") if process is None else process.heard_at
        return self._clock.monotonic() - max(heard, self.listening_since)

    def process(self, incarnation: str) -> Process | None:
        return self._processes.get(incarnation)

    def alive(self) -> list[Process]:
        """Everybody who lives."""
        return [one for incarnation, one in self._processes.items() if self.fate(incarnation) is Fate.ALIVE]

    def departed(self) -> list[str]:
        """Processes that left, or whose successor is there."""
        return [one for one in self._processes if self.fate(one) in (Fate.LEFT, Fate.REPLACED)]

    def takers(self, queue: str) -> list[Process]:
        """Those who take from a queue, as it is called on the wire."""
        return [one for one in self.alive() if queue in queues_of(one.beat)]

    def forget(self, silent_for: float) -> None:
        """Drop those of whom nothing was heard for so long."""
        gone = [one for one in self._processes if self.silence(one) >= silent_for]
        self._drop(gone)

    def _make_room(self, app_name: str) -> None:
        """Drop the one heard longest ago if there are too many; of an app that has too many, one of its own."""
        crowd = list(self._processes) if len(self._processes) >= _LIMIT else []
        if self._of_app[app_name] >= _OF_ONE_APP:
            crowd = [key for key, one in self._processes.items() if one.beat.app_name == app_name]
        if crowd:
            self._drop([min(crowd, key=lambda one: self._processes[one].heard_at)])

    def _drop(self, incarnations: Iterable[str]) -> None:
        for one in incarnations:
            beat = self._processes.pop(one).beat
            self._of_app[beat.app_name] -= 1
            worker = (beat.app_name, beat.worker_id)
            if self._latest.get(worker) == one:
                del self._latest[worker]


def queues_of(beat: WorkerBeat) -> tuple[str, ...]:
    """What it takes from, as it is called on the wire."""
    prefix = f"{beat.app_name}."
    return tuple(queue if queue.startswith(prefix) else f"{prefix}{queue}" for queue in beat.queues)
