"""What an executor of queues asks before it begins something that may be older than what the channels tell: whether the
offer still stands.

Only who was given an offer can ask about it, for the report key came with it. The answer names those that wait to be
begun and says nothing of the others: whether they ended, were offered anew, or never were.
"""

from typing import Annotated

from pydantic import Field, ValidationError

from orth.errors import Unavailable
from orth.wire.fields import LogId, Millis, ReportKey
from orth.wire.messages import Message, Reply
from orth.wire.reading import message_of
from orth.wire.strict_json import read_json

OPEN_OFFERS_PATH = "/api/openOffers"
OFFERS_LIMIT = 1_000
_BODY_LIMIT = 256 * 1024
_VALUES_LIMIT = 10 * OFFERS_LIMIT


class AskedOffer(Message):
    """An offer, as its message in the queue named it."""

    execution_id: LogId
    sending: Millis = 0
    report_key: ReportKey | None = Field(None, repr=False)


class OpenOffersQuestion(Message):
    """Those that somebody has in hand; none, to hear only that a coordinator answers."""

    offers: Annotated[tuple[AskedOffer, ...], Field(max_length=OFFERS_LIMIT)] = ()

    def to_bytes(self) -> bytes:
        return self.model_dump_json(by_alias=True, exclude_none=True).encode()


class OpenOffers(Message):
    """Executions whose offers stand."""

    open: tuple[LogId, ...] = ()
    newest: LogId
    """The newest execution there is: what has a higher number was offered after the question."""


def read_open_offers_question(body: bytes) -> OpenOffersQuestion:
    return message_of(OpenOffersQuestion, read_json(body, _BODY_LIMIT, values=_VALUES_LIMIT))


def read_open_offers(reply: Reply) -> OpenOffers:
    """``Unavailable`` where the answer is something else: then nothing is known."""
    try:
        return OpenOffers.model_validate(reply.payload)
    except ValidationError as error:
        raise Unavailable(f"A coordinator's answer has another form: {error.error_count()} errors.") from None
