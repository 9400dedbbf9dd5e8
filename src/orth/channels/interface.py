"""What every backend promises."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from orth.errors import Unavailable

Message = Mapping[str, Any]
"""A JSON object."""
START = ""
"""The position before the first message of a box."""


class ChannelsUnavailable(Unavailable):
    """The backend cannot be reached at the moment, or has no room. What was asked for may or may not have happened."""

    kind = "channels-unavailable"


class BoxFull(ChannelsUnavailable):
    """``boxes`` have no room for what was posted and got none of it; the others of the same post have theirs."""

    kind = "box-full"

    def __init__(self, boxes: Sequence[str]) -> None:
        super().__init__(f"The box {boxes[0]} is full.")
        self.boxes = frozenset(boxes)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message of a queue, the consumer's until it is done."""

    id: str
    message: Message
    deliveries: int
    """How often it was handed to somebody, this time included."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A message of a box, and the position to read on from."""

    position: str
    message: Message


@dataclass(frozen=True, slots=True)
class Heard:
    """A message of a topic; for boxes, ``message`` is ``{"box": name}``."""

    topic: str
    message: Message


class Listening(ABC):
    """Somebody's ear: holds a bounded number of messages, and drops the oldest when its owner is too slow."""

    missed: int = 0
    """How many were dropped, or may have been while the backend was away; its owner then looks everywhere."""
    hears: bool = True
    """Whether what is said now comes here: False from when the backend was found to be away until it is heard again."""

    @abstractmethod
    async def next(self, wait: float) -> Sequence[Heard]:
        """What has come, at least one; empty when nothing came within ``wait`` seconds, or something went wrong."""


class ExecutorChannels(ABC):
    """What an executor does with a backend: it takes, returns, reports and listens. Every method may raise
    ``ChannelsUnavailable``; a later call tries anew.
    """

    # --- queues

    @abstractmethod
    async def take(self, queues: Sequence[str], consumer: str, *, limit: int, wait: float) -> dict[str, list[Delivery]]:
        """Up to ``limit`` messages, oldest first, from the first of ``queues`` that has any before the next is looked
        at; waits up to ``wait`` seconds for the first one. What this consumer was given before is not given again.
        """

    @abstractmethod
    async def done(self, queue: str, consumer: str, deliveries: Sequence[str]) -> None:
        """These messages, by their ids, need nobody any more."""

    @abstractmethod
    async def give_back(self, queue: str, consumer: str, *, to_dead_after: int = 5) -> int:
        """Everything a consumer has not done goes to others, for it is known to be gone; how many. A message that was
        delivered ``to_dead_after`` times goes to the queue's dead letters instead.
        """

    @abstractmethod
    async def bury(self, queue: str, consumer: str, deliveries: Sequence[str]) -> None:
        """Those of these messages, by their ids, that are the consumer's go to the queue's dead letters: nobody is to
        act upon them.
        """

    # --- topics

    @abstractmethod
    async def announce(self, topic: str, message: Message) -> None:
        """Tell whoever listens now."""

    @abstractmethod
    def listen(self, topics: Sequence[str]) -> AbstractAsyncContextManager[Listening]:
        """Hear topics from now on."""

    # --- boxes

    @abstractmethod
    async def post(self, boxes: Mapping[str, Sequence[Message]]) -> None:
        """Append to boxes, and tell those who listen for news. Of one box in order, whole or not at all; ``BoxFull``
        names those that had no room.
        """

    @abstractmethod
    async def read(self, after: Mapping[str, str], *, limit: int) -> dict[str, list[Entry]]:
        """For each box what comes after a position (``START``: from the first), up to ``limit`` for each.
        ``InvalidMessage`` when one of them is no position of this backend, whether or not there is such a box.
        """

    async def read_said(self, boxes: Mapping[str, str | None], *, limit: int) -> dict[str, list[Entry]]:
        """What is in the status boxes of executions, each box with the report key of its execution: through a
        coordinator only those who were given an execution read what is said of it.
        """
        return await self.read(dict.fromkeys(boxes, START), limit=limit)

    @abstractmethod
    async def remove(self, boxes: Sequence[str]) -> None:
        """Forget boxes and all that is in them."""

    # --- the rest

    @abstractmethod
    async def check(self) -> None:
        """Show that the backend answers."""

    @abstractmethod
    async def close(self) -> None:
        """Let go of connections and threads."""


class Channels(ExecutorChannels):
    """A whole backend, as coordinators have it."""

    # --- queues

    @abstractmethod
    async def send(self, queue: str, messages: Sequence[Message]) -> None:
        """Append to a queue, all or none. ``ChannelsUnavailable`` when it is full."""

    @abstractmethod
    async def consumers(self, queue: str) -> Mapping[str, int]:
        """Who has messages of a queue that are not done, and how many."""

    @abstractmethod
    async def waiting(self, queue: str) -> int:
        """How many messages of a queue were not taken yet."""

    @abstractmethod
    async def undone(self, queue: str, after: str, *, limit: int) -> list[Entry]:
        """Messages of a queue that are not done, waiting or in somebody's hands, oldest first, from after a position
        (``START``: from the first) on; up to ``limit``, fewer when there are no more. They stay where they are.
        """

    @property
    def buried(self) -> int:
        """How many messages went to dead letters by this process's hand."""
        return 0

    @abstractmethod
    async def dead_letters(self, queue: str, limit: int) -> Sequence[Message]:
        """The newest messages that were given up, newest first."""

    # --- boxes

    @abstractmethod
    def news(self) -> AbstractAsyncContextManager[Listening]:
        """Hear the names of boxes that grow, from now on."""

    # --- the rest

    @abstractmethod
    async def clean(self, older_than: float) -> int:
        """Forget what nobody has fetched for so many seconds: boxes, dead letters, old announcements; how many."""

    async def complaint(self) -> str | None:
        """What is wrong with how the backend is set up, if anything; it works all the same."""
        return None
