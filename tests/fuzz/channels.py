"""Messages on channels, and on the live socket, where anybody who reaches the Redis could have written."""

from typing import Any

from hypothesis import strategies as st
from pydantic import ValidationError

from orth.channels.packing import as_number, pack, position_of, unpack
from orth.errors import InvalidMessage
from orth.wire.channel_messages import (
    Acknowledged,
    Cancel,
    Dispatch,
    LogLines,
    StatusReport,
    WorkerBeat,
    may_start,
)
from orth.wire.live_calls import _read as read_live
from tests.fuzz.mutations import json_bodies
from tests.fuzz.target import Target

_TRIGGER = {"jobId": 7, "logId": 42, "executorHandler": "demo", "logDateTime": 1_700_000_000_000}
_DISPATCH = {
    "jobId": 7, "executionId": 42, "historyId": 42, "attempt": 1, "jobType": "demo", "arguments": "a", "priority": 1,
    "queue": "default", "correlationId": None, "sending": 5, "trigger": _TRIGGER,
}  # fmt: skip
_STATUS = {
    "jobId": 7, "executionId": 42, "seq": 3, "status": "Completed", "workerId": "w", "incarnation": "a1b2",
    "progress": {"done": 1, "total": 2}, "message": "m", "sending": 5, "timestamp": "2026-01-01T00:00:00Z",
    "result": {"logId": 42, "handleCode": 200, "handleMsg": "done"},
}  # fmt: skip
_LINES = {"jobId": 7, "executionId": 42, "seq": 1, "firstLine": 1, "text": "a\nb", "end": True}
_BEAT = {
    "workerId": "w", "incarnation": "a1b2", "appName": "collector", "queues": ["default"], "activeJobs": 1,
    "running": [42], "unacknowledged": [], "handlers": [{"name": "demo"}], "labels": {"zone": "eu"}, "processId": 5,
}  # fmt: skip
_VALID = [
    _DISPATCH,
    {"jobId": 7, "executionId": 42, "reason": "by hand"},
    _STATUS,
    _LINES,
    _BEAT,
    {"executionId": 42, "verdict": "stored"},
    {"type": "execution", "seq": 5, "at": "2026-01-01T00:00:00Z", "data": {"id": 42}},
]
_KINDS = [Dispatch, Cancel, StatusReport, LogLines, WorkerBeat, Acknowledged]
_OFFERED = Dispatch.model_validate(_DISPATCH)
_LIMIT = 1024 * 1024


def _message(given: tuple[type[Any], bytes]) -> None:
    """A message as its reader takes it from a channel. What is no message at all is None, and nothing more."""
    kind, body = given
    text = body.decode("utf-8", "replace")
    read_live(text)
    message = unpack(text)
    if message is None:
        return
    may_start(_OFFERED, [message, message], "a1b2")
    pack(kind.model_validate(message).model_dump(mode="json", by_alias=True), _LIMIT)


def _position(text: str) -> None:
    as_number(text)
    position_of(text)


TARGETS = [
    Target(
        "messages on channels",
        st.tuples(st.sampled_from(_KINDS), json_bodies(_VALID)),
        _message,
        (ValidationError,),
        examples=400,
    ),
    Target(
        "positions in boxes",
        st.one_of(st.text(max_size=30), st.integers().map(str)),
        _position,
        (InvalidMessage,),
        examples=100,
    ),
]
