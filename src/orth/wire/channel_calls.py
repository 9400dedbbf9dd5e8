"""The channels as an executor reaches them through any coordinator: synchronous, each call one exchange.

Every verb is a POST to ``/api/channels/<verb>``; bodies and payloads are those of the coordinator's door. Taking is not
repeated at another coordinator when an answer was lost: the first may have done it. Whoever takes then gives back what
it may have been given.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import to_json

from orth.errors import Unavailable
from orth.wire.coordinator_calls import CoordinatorCalls

WAIT_LIMIT = 20.0
"""Seconds for which a coordinator is asked to hold back an answer, at most."""

T = TypeVar("T")
Json = Mapping[str, Any]


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Taken(_Answer):
    """A message of a queue."""

    id: str
    message: dict[str, Any]
    deliveries: int = 1


class BoxEntry(_Answer):
    """A message of a box."""

    position: str
    message: dict[str, Any]


class HeardMessage(_Answer):
    """A message of a topic."""

    topic: str
    message: dict[str, Any]


class HeardAnswer(_Answer):
    """What came since the last question; ``fresh`` when the coordinator did not know the listener any more."""

    heard: tuple[HeardMessage, ...] = ()
    missed: Annotated[int, Field(ge=0)] = 0
    fresh: bool = False


class PostAnswer(_Answer):
    """Boxes that took nothing."""

    full: tuple[str, ...] = ()


_TAKEN = TypeAdapter(dict[str, tuple[Taken, ...]])
_ENTRIES = TypeAdapter(dict[str, tuple[BoxEntry, ...]])
_HEARD = TypeAdapter(HeardAnswer)
_POSTED = TypeAdapter(PostAnswer)
_COUNT = TypeAdapter(int)


class ChannelCalls:
    """What an executor asks of the channels. Every call may raise ``Unavailable``. Safe to share between threads."""

    def __init__(self, coordinators: CoordinatorCalls, process: str) -> None:
        """``process`` tells apart the processes of the executor that asks; with the executor's key, which signs the
        requests, it proves that the process has the name it gives.
        """
        self._coordinators = coordinators
        self._process = process

    def take(self, queues: Sequence[str], consumer: str, limit: int, wait: float) -> dict[str, tuple[Taken, ...]]:
        asked = {"queues": queues, "consumer": consumer, "limit": limit, "wait": wait}
        return _read(_TAKEN, self._ask("take", asked, held_back=wait, repeatable=False) or {})

    def done(self, queue: str, consumer: str, deliveries: Sequence[str]) -> None:
        self._ask("done", {"queue": queue, "consumer": consumer, "deliveries": deliveries})

    def bury(self, queue: str, consumer: str, deliveries: Sequence[str]) -> None:
        self._ask("bury", {"queue": queue, "consumer": consumer, "deliveries": deliveries})

    def give_back(self, queue: str, consumer: str) -> int:
        return _read(_COUNT, self._ask("give_back", {"queue": queue, "consumer": consumer}))

    def announce(self, topic: str, message: Json) -> None:
        self._ask("announce", {"topic": topic, "message": message})

    def hear(self, topics: Sequence[str], listener: str, wait: float) -> HeardAnswer:
        asked = {"topics": topics, "listener": listener, "wait": wait}
        return _read(_HEARD, self._ask("hear", asked, held_back=wait) or {})

    def post(self, boxes: Mapping[str, Sequence[Json]]) -> tuple[str, ...]:
        """Those that had no room."""
        return _read(_POSTED, self._ask("post", {"boxes": boxes}) or {}).full

    def read(
        self, after: Mapping[str, str], limit: int, keys: Mapping[str, str | None] | None = None
    ) -> dict[str, tuple[BoxEntry, ...]]:
        """``keys`` are report keys, of the executions whose boxes are read, by box."""
        asked = {"after": after, "limit": limit, "keys": keys or {}}
        return _read(_ENTRIES, self._ask("read", asked) or {})

    def remove(self, boxes: Sequence[str]) -> None:
        self._ask("remove", {"boxes": boxes})

    def _ask(self, verb: str, asked: Json, *, held_back: float = 0.0, repeatable: bool = True) -> object:
        path = f"/api/channels/{verb}"
        body = to_json({**asked, "process": self._process})
        answer = self._coordinators.ask(path, body, held_back=held_back, repeatable=repeatable)
        return answer.payload


def _read(form: TypeAdapter[T], payload: object) -> T:
    try:
        return form.validate_python(payload)
    except ValidationError as error:
        raise Unavailable(f"A coordinator's answer has another form: {error.error_count()} errors.") from None
