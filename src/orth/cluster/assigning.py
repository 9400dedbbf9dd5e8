"""The leader says which executions want an owner: ``job.assigned``.

What waits in a queue is assigned at once, for its executor will speak on channels that somebody must follow. What was
pushed is assigned a moment later (``cluster.own_after``) and only if it is still open: most executions are over by
then, and have cost nobody a message or a row. A coordinator that is alone has nobody to tell and follows them itself.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from orth.channels.interface import ChannelsUnavailable
from orth.cluster.notices import Assignment, assigned
from orth.cluster.station import Station
from orth.loop import Loop
from orth.store.ownership import open_among

_BATCH = 500
_LIMIT = 50_000
_PAUSE = 0.5


@dataclass(frozen=True, slots=True)
class _Pushed:
    at: float
    assignment: Assignment


class Assigning(Loop):
    """Publishes assignments, many at a time."""

    def __init__(self, station: Station) -> None:
        super().__init__(station.clock, station.events)
        self._at = station
        self._queued: list[Assignment] = []
        self._pushed: deque[_Pushed] = deque(maxlen=_LIMIT)  # what falls out, the orphan check finds
        self._ended: set[int] = set()
        self.stays = True
        """Whether this node may follow executions itself."""

    def queued(self, assignments: Sequence[Assignment]) -> None:
        """These were put into queues."""
        if self.stays and not self._at.peers.others():
            self._follow(assignments)
            return
        self._queued.extend(assignments)
        self.wake()

    def pushed(self, execution_id: int, job_id: int) -> None:
        """An executor has taken this one."""
        if self.stays or self._at.peers.others():
            self._pushed.append(_Pushed(self.clock.monotonic(), Assignment(execution_id, job_id)))
            if not self._at.own_after:
                self.wake()

    def ended(self, execution_id: int) -> None:
        """This one needs no owner any more."""
        if self._pushed:
            self._ended.add(execution_id)

    async def turn(self) -> float:
        await self._assign_queued()
        return 0.0 if await self._assign_pushed() else _PAUSE

    async def _assign_queued(self) -> None:
        some = self._queued[:_BATCH]
        if not some:
            return
        try:
            await self._send(some)
        except ChannelsUnavailable:
            # Nobody hears of it, so we follow it ourselves, or the orphan check finds it.
            if self.stays:
                self._follow(some)
        del self._queued[: len(some)]
        if self._queued:
            self.wake()

    async def _assign_pushed(self) -> bool:
        """True when there is more to assign at once."""
        due = self.clock.monotonic() - self._at.own_after
        some: list[Assignment] = []
        while self._pushed and self._pushed[0].at <= due and len(some) < _BATCH:
            one = self._pushed.popleft().assignment
            if one.execution_id in self._ended:
                self._ended.discard(one.execution_id)
            else:
                some.append(one)
        if not self._pushed:
            self._ended.clear()
        if some:
            still = await self._at.db.read(open_among, [one.execution_id for one in some])
            wanted = [one for one in some if one.execution_id in still]
            if self._at.channels is not None and self._at.peers.others():
                await self._send(wanted)
            elif self.stays:
                self._follow(wanted)
        return len(some) == _BATCH

    async def _send(self, assignments: Sequence[Assignment]) -> None:
        if self._at.channels is None:
            raise ChannelsUnavailable("There are no channels.")
        if assignments:
            now = self.clock.now()
            await self._at.channels.send(self._at.names.assigned, [assigned(one, now) for one in assignments])

    def _follow(self, assignments: Sequence[Assignment]) -> None:
        followed = ((one.execution_id, one.job_id) for one in assignments)
        self._at.holdings.follow(followed, self.clock.monotonic())
