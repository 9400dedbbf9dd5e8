"""What an executor's answer means. One that did arrive is a ``Reply``, and its code decides.

Something else may answer at its address: a gateway that answers for its silent neighbour is no wiser than we are, and
what could come from any server is no executor's word.
"""

import codecs
from collections.abc import Sequence

from yarl import URL

from orth.errors import InvalidMessage
from orth.wire.dialects import read_reply, read_run_answers
from orth.wire.executor_link import AnswerUnknown, NotAnExecutor
from orth.wire.fields import whole_number
from orth.wire.messages import Reply, RunAnswer, RunRequest
from orth.wire.strict_json import parse

_GATEWAY_FAILED = (408, 502, 504, 524)
_AT_THE_DOOR = (401, 403, 429, 503)
"""Statuses of somebody who does not let us in now: who is behind the door, nobody knows."""
_DOOR_FULL = 503


def check_gateway(url: URL, status: int) -> None:
    """``AnswerUnknown`` when a gateway says that it has no answer."""
    if status in _GATEWAY_FAILED:
        raise AnswerUnknown.of("gateway_answered", address=str(url), status=status)


def read_beat(address: str, status: int, answer: bytes) -> Reply:
    """What an executor says when it is asked whether it is there. Whatever has no code is no executor's word."""
    reply = read_reply(status, answer)
    if not reply.ok and not _has_code(answer):
        raise NotAnExecutor(address, status, reply.msg)
    return reply


def read_state(address: str, status: int, answer: bytes) -> Reply:
    """What an executor says about itself: a no that could come from any server says nothing about the executor."""
    reply = read_reply(status, answer)
    if not reply.ok and not _is_envelope(status, answer):
        if status in _AT_THE_DOOR:
            raise AnswerUnknown.of("executor_not_answered", address=address, said=reply.msg or f"HTTP {status}")
        raise NotAnExecutor(address, status, reply.msg)
    return reply


def _is_envelope(status: int, body: bytes) -> bool:
    """Whether an answer is what an executor answers: a success of HTTP, with a code."""
    return 200 <= status < 300 and _has_code(body)


def _has_code(body: bytes) -> bool:
    try:
        value = parse(body.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace"))
        return isinstance(value, dict) and whole_number(value.get("code")) is not None
    except (InvalidMessage, ValueError):
        return False


def read_batch(status: int, answer: bytes, requests: Sequence[RunRequest]) -> list[RunAnswer | None]:
    """The answer to each trigger of a batch. One that was turned away at the door is a no to all; one that failed
    inside may have been carried out in part, so nothing is known about any of it.
    """
    reply = read_reply(status, answer)
    if 400 <= status < 500 or status == _DOOR_FULL:
        return [RunAnswer(log_id=request.log_id, code=reply.code, msg=reply.msg) for request in requests]
    return read_run_answers(reply, requests)
