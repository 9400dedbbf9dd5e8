"""Whether a queue has room, without counting it each time."""

from dataclasses import dataclass

from orth.channels.interface import ChannelsUnavailable
from orth.clock import Clock

_GOOD_FOR = 1.0
_SHARE = 4  # others send too: after a quarter of the room that was found it is counted again
_QUEUES = 1_000


@dataclass(slots=True)
class _Found:
    room: int
    unasked: int
    until: float


class Room:
    """What this process knows of the room in queues."""

    def __init__(self, limit: int, clock: Clock) -> None:
        self._limit = limit
        self._clock = clock
        self._found: dict[str, _Found] = {}

    def known_for(self, queue: str, messages: int) -> bool:
        """Whether so many messages surely fit, as far as we know; if not, have the queue ``counted``."""
        found = self._found.get(queue)
        return found is not None and messages <= found.unasked and self._clock.monotonic() < found.until

    def counted(self, queue: str, messages: int) -> None:
        """So many messages were found in a queue just now."""
        now = self._clock.monotonic()
        if len(self._found) >= _QUEUES:
            self._found = {name: found for name, found in self._found.items() if found.until > now}
        room = max(0, self._limit - messages)
        self._found[queue] = _Found(room, room // _SHARE, now + _GOOD_FOR)

    def use(self, queue: str, messages: int) -> None:
        """Put messages into a queue; ``ChannelsUnavailable`` when they do not fit."""
        found = self._found[queue]
        if messages > found.room:
            raise ChannelsUnavailable(f"The queue {queue} is full.")
        found.room -= messages
        found.unasked -= messages
