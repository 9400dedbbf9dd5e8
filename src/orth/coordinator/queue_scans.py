"""Which offers are in their queue: a queue that is in use says by its messages alone what it lacks.

Where something waits, or is in somebody's hands, nobody sees from outside whether a certain message is among it. So a
queue in which an execution has waited for a while is read through from its first message to its last, some of them at a
time. What was offered before that began, and was not met, is not there; it does not come back by itself. A queue that
was read through is left alone for a while, for one that is always full would be read all the time.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from orth.channels.interface import START, Channels, Message
from orth.channels.names import Names
from orth.clock import Clock
from orth.coordinator.offering import Place

Offered = tuple[int, int]
"""An execution, and the number of its offer."""

_AT_ONCE = 50
"""Messages of one question: sources travel with them."""
_OF_ONE_LOOK = 2_000
_NOBODYS: Offered = (0, 0)


@dataclass(slots=True)
class _Scan:
    """A queue that is being read through."""

    sought: set[Offered] = field(default_factory=set)
    """What has not been met yet."""
    position: str = START


class QueueScans:
    """Reads through queues for the leader; what was found counts until ``forget``."""

    def __init__(self, channels: Channels, names: Names, clock: Clock, *, rest: float) -> None:
        self._channels = channels
        self._names = names
        self._clock = clock
        self._rest = rest
        self._scans: dict[Place, _Scan] = {}
        self._rests_until: dict[Place, float] = {}
        self._absent: set[Offered] = set()

    def forget(self) -> None:
        """Nothing that was seen counts."""
        self._scans, self._rests_until, self._absent = {}, {}, set()

    async def absent(self, waiting: Mapping[Place, Set[Offered]]) -> Set[Offered]:
        """Those of these offers, by their place, that are known not to be there. All were sent before."""
        self._absent &= set().union(*waiting.values())
        self._scans = {place: scan for place, scan in self._scans.items() if place in waiting}
        now = self._clock.monotonic()
        self._rests_until = {place: until for place, until in self._rests_until.items() if until > now}
        for place, offers in waiting.items():
            unknown = offers - self._absent
            if place not in self._scans and unknown and place not in self._rests_until:
                self._scans[place] = _Scan(set(unknown))
            if place in self._scans:
                await self._read_on(place, self._scans[place])
        return frozenset(self._absent)

    async def _read_on(self, place: Place, scan: _Scan) -> None:
        queue = self._names.dispatch(*place)
        for _ in range(_OF_ONE_LOOK // _AT_ONCE):
            entries = await self._channels.undone(queue, scan.position, limit=_AT_ONCE)
            scan.sought.difference_update(_offer_of(entry.message) for entry in entries)
            if len(entries) < _AT_ONCE or not scan.sought:
                self._absent |= scan.sought
                del self._scans[place]
                self._rests_until[place] = self._clock.monotonic() + self._rest
                return
            scan.position = entries[-1].position


def _offer_of(message: Message) -> Offered:
    execution, sending = message.get("executionId"), message.get("sending")
    return (execution, sending) if isinstance(execution, int) and isinstance(sending, int) else _NOBODYS
