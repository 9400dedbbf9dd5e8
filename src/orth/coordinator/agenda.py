"""Whom to call next, and when: the memory of ``probing``, without any calling.

Of those that are due each app has its turn: the addresses of one that are many and dead, invented ones perhaps, do not
keep those of others waiting.
"""

import heapq
from collections import Counter, OrderedDict, deque
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
    app_name: str = ""
    """Whose turn it takes: that of the app which was there first; "" for what only people have named."""
    listed: bool = True
    """Whether it is in the registry or in a list somebody wrote. One that only a trigger named is forgotten soon."""
    due: float = 0.0
    ready: bool = False
    """Whether it is due, and waits for its turn."""
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
    """Targets in the order in which they are due; of those that are, the apps in turn."""

    def __init__(self) -> None:
        self.targets: dict[str, Target] = {}
        self._sizes: Counter[str] = Counter()
        """How many targets each app has."""
        self._heap: list[tuple[float, str]] = []
        """Those that are not due yet."""
        self._ready: OrderedDict[str, deque[str]] = OrderedDict()
        """Those that are, by app; the app whose turn it is comes first."""

    def put(self, address: str, target: Target, due: float) -> None:
        self.drop(address)
        self.targets[address] = target
        self._sizes[target.app_name] += 1
        self.schedule(address, due)

    def schedule(self, address: str, due: float) -> None:
        """Call ``address`` at ``due`` instead of when it would have been. Who waits for its turn keeps its place."""
        target = self.targets[address]
        if target.ready:
            return
        target.due = due
        if not target.called:
            heapq.heappush(self._heap, (due, address))

    def drop(self, address: str) -> None:
        target = self.targets.pop(address, None)
        if target is not None:
            self._sizes[target.app_name] -= 1
            if not self._sizes[target.app_name]:
                del self._sizes[target.app_name]

    def sharing(self, address: str, unwatched: int) -> int:
        """With how many, of ``unwatched`` in all, a target shares the calls: no more than if all apps were as large as
        its own.
        """
        return min(unwatched, self._sizes[self.targets[address].app_name] * len(self._sizes))

    def next_due(self) -> float | None:
        """When something is due; None when nothing ever is."""
        if (address := self._first_ready()) is not None:
            return self.targets[address].due
        return self._next_in_heap()

    def _next_in_heap(self) -> float | None:
        while self._heap:
            due, address = self._heap[0]
            target = self.targets.get(address)
            if target is not None and not (target.called or target.ready) and target.due == due:
                return due
            heapq.heappop(self._heap)  # it was dropped, waits for its turn, is being called, or has another time
        return None

    def take(self, now: float) -> str | None:
        """The address that is to be called first, as being called from here on; None when none is due."""
        while (due := self._next_in_heap()) is not None and due <= now:
            _due, address = heapq.heappop(self._heap)
            target = self.targets[address]
            target.ready = True
            self._ready.setdefault(target.app_name, deque()).append(address)
        first = self._first_ready()
        if first is not None:
            target = self.targets[first]
            target.ready, target.called = False, True
            self._ready[target.app_name].popleft()
            self._ready.move_to_end(target.app_name)
        return first

    def _first_ready(self) -> str | None:
        """Whose turn it is."""
        while self._ready:
            app_name, waiting = next(iter(self._ready.items()))
            while waiting:
                target = self.targets.get(waiting[0])
                if target is not None and target.ready and target.app_name == app_name:
                    return waiting[0]
                waiting.popleft()  # it was dropped
            del self._ready[app_name]
        return None

    def done(self, address: str, due: float) -> None:
        """The call is over; the next is at ``due``, or sooner if that was asked for meanwhile."""
        target = self.targets.get(address)
        if target is not None:
            target.called = False
            self.schedule(address, due)
