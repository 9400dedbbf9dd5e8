"""Executors as the machine of overlaps plays them: each works off one execution of a job after the other, and holds
what must not begin yet. They say what runs, and what ran at the same time.
"""

from dataclasses import dataclass
from enum import Enum, auto
from itertools import count

from orth.domain.overlap import WHOLE, Key


class At(Enum):
    """Where a sent execution is."""

    ON_ITS_WAY = auto()
    HELD = auto()
    QUEUED = auto()
    RUNNING = auto()


@dataclass(slots=True)
class Sent:
    """An execution that was sent. ``guarded``: its job was not to overlap on any executors when it was sent."""

    id: int
    key: Key
    address: str
    triggered: int
    due: int
    guarded: bool
    number: int
    at: At = At.ON_ITS_WAY
    began: int = 0


def conflict(one: Key, other: Key) -> bool:
    """Whether executions of these keys must not overlap."""
    return one[0] == other[0] and (one[1] == other[1] or WHOLE in (one[1], other[1]))


class Executors:
    """All executors, and what is on its way to them."""

    def __init__(self) -> None:
        self.sent: dict[int, Sent] = {}
        self._numbers = count(1)
        self._queues: dict[tuple[str, int], list[Sent]] = {}

    def send(self, execution_id: int, key: Key, address: str, triggered: int, due: int, *, guarded: bool) -> None:
        """A trigger goes on its way. A guarded one goes where everything is that it must not overlap with."""
        one = Sent(execution_id, key, address, triggered, due, guarded, next(self._numbers))
        elsewhere = [each for each in self.sent.values() if conflict(each.key, key) and each.address != address]
        assert not guarded or not elsewhere, f"{one} while {elsewhere} may be running"
        self.sent[execution_id] = one

    def arrive(self, execution_id: int, now: int) -> None:
        one = self.sent[execution_id]
        if one.at is At.ON_ITS_WAY:
            one.at = At.HELD
            self.turn(now)

    def leave(self, execution_id: int, now: int) -> None:
        """It has ended, was removed, or never came."""
        one = self.sent.pop(execution_id, None)
        if one is not None and one.at is At.QUEUED:
            self._queue(one).remove(one)
        self.turn(now)

    def turn(self, now: int) -> None:
        """Begin what may begin."""
        for one in sorted(self.here(At.HELD), key=lambda one: (one.due, one.number)):
            if one.due <= now:
                one.at = At.QUEUED
                self._queue(one).append(one)
        for (address, job_id), queue in self._queues.items():
            busy = any(one.address == address and one.key[0] == job_id for one in self.here(At.RUNNING))
            if queue and not busy:
                self._begin(queue.pop(0), now)

    def here(self, *at: At) -> list[Sent]:
        return [one for _id, one in sorted(self.sent.items()) if one.at in at]

    def _begin(self, one: Sent, now: int) -> None:
        one.at, one.began = At.RUNNING, now
        for other in self.here(At.RUNNING):
            if other is not one and conflict(one.key, other.key):
                later = max(one, other, key=lambda each: each.number)
                assert not later.guarded, f"{one} runs beside {other}"

    def _queue(self, one: Sent) -> list[Sent]:
        return self._queues.setdefault((one.address, one.key[0]), [])
