"""What an executor of ours says of executions that run: when each began. A hint for people, which nothing rests on.

It is said of those only that have run for a while, many at once, so a short execution costs nothing. The answer names
those of which it should be said again: their coordinator does not know yet that the executor has them.
"""

from typing import Annotated

from pydantic import Field, ValidationError

from orth.wire.fields import Identity, LogId, Millis, ReportKey
from orth.wire.messages import Message, Reply
from orth.wire.reading import message_of
from orth.wire.strict_json import read_json

BEGUN_PATH = "/api/begun"
BEGUN_LIMIT = 1_000
_BODY_LIMIT = 256 * 1024
_VALUES_LIMIT = 10 * BEGUN_LIMIT


class Begun(Message):
    """An execution that runs, and since when by the clock of its executor."""

    log_id: LogId
    start_time: Millis
    report_key: ReportKey | None = Field(None, repr=False)


class BegunReport(Message):
    """Those of one process."""

    incarnation: Identity
    begun: Annotated[tuple[Begun, ...], Field(max_length=BEGUN_LIMIT)]

    def to_bytes(self) -> bytes:
        return self.model_dump_json(by_alias=True, exclude_none=True).encode()


class BegunAnswer(Message):
    """Which of them to say again, a moment later."""

    again: tuple[LogId, ...] = ()


def read_begun(body: bytes) -> BegunReport:
    return message_of(BegunReport, read_json(body, _BODY_LIMIT, values=_VALUES_LIMIT))


def read_begun_answer(reply: Reply) -> frozenset[int]:
    """Which to say again; none where the answer is something else."""
    try:
        return frozenset(BegunAnswer.model_validate(reply.payload).again)
    except ValidationError:
        return frozenset()
