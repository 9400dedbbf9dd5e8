"""Whom to call next, and when: the memory of ``probing``, without any calling."""

import heapq
from dataclasses import dataclass

from orth.coordinator.reach import Sight
from orth.domain.nodes import Reachability

CHECK_LINE = 60.0
"""Seconds between two questions on an open connection; below the ninety after which an executor closes an idle one."""
_PATIENT_AFTER = 60.0
_LONGEST_PAUSE = 10.0


@dataclass(slots=True)
class Target:
    """An address that is called."""

    ours: bool
    """Whether one of our executors is there, which may be watched by an open connection."""
    listed: bool = True
    """Whether it is in the registry or in a list somebody wrote. One that only a trigger named is forgotten soon."""
    due: float = 0.0
    called: bool = False
    """Whether a call is under way."""
    opened: float = 0.0
    short_lives: int = 0
    """How often in a row its connection was closed before it was old."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often to call, in seconds, and how often at most, in calls per second."""

    every: float
    rate: int

    def pause(self, sight: Sight | None, now: int, *, watched: bool, overdue: bool, unwatched: int) -> float:
        """Seconds until an address is called again. ``unwatched`` is how many share the calls."""
        if sight is not None and sight.state in (Reachability.SUSPECT, Reachability.UNREACHABLE):
            doubted = (now - sight.since) / 1000
            return self.every if doubted < _PATIENT_AFTER else max(self.every, min(_LONGEST_PAUSE, doubted / 10))
        if overdue:
            return self.every
        if watched:
            return CHECK_LINE
        return max(self.every, unwatched / self.rate)


class Agenda:
    """Targets in the order in which they are due."""

    def __init__(self) -> None:
        self.targets: dict[str, Target] = {}
        self._heap: list[tuple[float, str]] = []

    def put(self, address: str, target: Target, due: float) -> None:
        self.targets[address] = target
        self.schedule(address, due)

    def schedule(self, address: str, due: float) -> None:
        """Call ``address`` at ``due`` instead of when it would have been."""
        target = self.targets[address]
        target.due = due
        if not target.called:
            heapq.heappush(self._heap, (due, address))

    def drop(self, address: str) -> None:
        self.targets.pop(address, None)

    def next_due(self) -> float | None:
        """When something is due; None when nothing ever is."""
        while self._heap:
            due, address = self._heap[0]
            target = self.targets.get(address)
            if target is not None and not target.called and target.due == due:
                return due
            heapq.heappop(self._heap)  # it was dropped, is being called, or was given another time
        return None

    def take(self, now: float) -> str | None:
        """The address that is due first, as being called from here on; None when none is due."""
        due = self.next_due()
        if due is None or due > now:
            return None
        _due, address = heapq.heappop(self._heap)
        self.targets[address].called = True
        return address

    def done(self, address: str, due: float) -> None:
        """The call is over; the next is at ``due``, or sooner if that was asked for meanwhile."""
        target = self.targets.get(address)
        if target is not None:
            target.called = False
            self.schedule(address, due)
