"""Read the bodies of channel calls, within the bounds of each verb.

An executor of ours asks for at most 100 boxes at once, posts to at most 500 and removes its own one. The bounds are
above that and are checked before anything is looked up: a name costs the caller 30 bytes, and a coordinator a place in
a statement of the database.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orth.errors import InvalidMessage
from orth.wire.fields import BODY_LIMIT
from orth.wire.strict_json import VALUES_LIMIT, read_json

_QUEUES = 256
_READ = 256
_POSTED = 1_000
_REMOVED = 16
_DELIVERIES = 1_000
_FEW_VALUES = 2_000
"""Values in a body of names."""
_MANY_VALUES = {"post": 50_000, "announce": VALUES_LIMIT}
"""Values where messages come: a post of ours has 30,000 at most, a beat describes handlers."""

Name = Annotated[str, Field(min_length=1, max_length=255)]
Wait = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Limit = Annotated[int, Field(ge=1, le=1_000)]


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Take(_Body):
    queues: Annotated[list[Name], Field(min_length=1, max_length=_QUEUES)]
    consumer: Name
    limit: Limit = 1
    wait: Wait = 0.0


class Done(_Body):
    queue: Name
    consumer: Name
    deliveries: Annotated[list[Name], Field(max_length=_DELIVERIES)]


class GiveBack(_Body):
    queue: Name
    consumer: Name
    to_dead_after: Annotated[int, Field(ge=1, le=1_000)] = 5


class Announce(_Body):
    topic: Name
    message: dict[str, Any]


class Post(_Body):
    boxes: Annotated[dict[Name, list[dict[str, Any]]], Field(max_length=_POSTED)]


class Read(_Body):
    after: Annotated[dict[Name, str], Field(min_length=1, max_length=_READ)]
    limit: Limit = 100
    wait: Wait = 0.0


class Remove(_Body):
    boxes: Annotated[list[Name], Field(max_length=_REMOVED)]


class Hear(_Body):
    topics: Annotated[list[Name], Field(min_length=1, max_length=16)]
    listener: Name
    wait: Wait = 0.0


_FORMS: Mapping[str, type[_Body]] = {
    "take": Take,
    "done": Done,
    "bury": Done,
    "give_back": GiveBack,
    "announce": Announce,
    "post": Post,
    "read": Read,
    "remove": Remove,
    "hear": Hear,
}
VERBS = tuple(_FORMS)


@dataclass(frozen=True, slots=True)
class ChannelRequest:
    """A body, as it was sent and in the form of its verb."""

    said: Mapping[str, Any]
    asked: _Body


def read_channel_request(verb: str, body: bytes) -> ChannelRequest:
    """``InvalidMessage`` or ``TooLarge`` unless ``body`` is what ``verb`` takes."""
    said = read_json(body, BODY_LIMIT, values=_MANY_VALUES.get(verb, _FEW_VALUES))
    try:
        asked = _FORMS[verb].model_validate(said)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InvalidMessage(f"{where}: {first['msg']}.", field=where) from None
    assert isinstance(said, dict), "its form is an object"
    return ChannelRequest(said, asked)
