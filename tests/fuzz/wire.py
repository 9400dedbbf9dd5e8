"""Everything that crosses the network between coordinators and executors, in all its dialects."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import strategies as st

from orth.errors import Invalid, InvalidMessage, TooLarge
from orth.wire.addresses import checked_address
from orth.wire.dialects import (
    Malformed,
    callback_item_body,
    is_foreign,
    log_payload,
    read_callback,
    read_idle_beat,
    read_kill,
    read_log_page,
    read_log_request,
    read_registry,
    read_reply,
    read_run,
    read_runs,
    read_verdicts,
    reads_verdicts,
    registry_body,
    token_from,
)
from orth.wire.executor_answers import read_batch, read_state
from orth.wire.executor_link import AnswerUnknown, NotAnExecutor
from orth.wire.fields import BATCH_LIMIT
from orth.wire.messages import CallbackItem, RunRequest
from orth.wire.outbound import Outbound, plain_ip
from orth.wire.signatures import BadSignature, read_signature
from orth.wire.strict_json import is_storable
from tests.fuzz.mutations import json_bodies, mutated
from tests.fuzz.target import Target

_RUN = {
    "jobId": 7, "executorHandler": "demo", "executorParams": "a=1", "executorBlockStrategy": "SERIAL_EXECUTION",
    "executorTimeout": 0, "logId": 42, "logDateTime": 1_700_000_000_000, "logDateTim": 1_700_000_000_000,
    "glueType": "GLUE_SHELL", "glueSource": "echo hello", "glueUpdatetime": 1_600_000_000_000, "broadcastIndex": 0,
    "broadcastTotal": 1, "executorConcurrency": 2, "scheduleTime": 1_700_000_000_000, "startIn": 500,
    "startTick": 17, "tickOf": "a1b2", "appName": "collector", "sourceDigest": "0" * 64, "draft": None,
    "resendTo": "a1b2", "secrets": {"DB_PASSWORD": "hush"},
}  # fmt: skip
_BEAT = {
    "registryGroup": "EXECUTOR", "registryKey": "collector", "registryValue": "http://10.0.0.7:9999/",
    "orth": {
        "incarnation": "a1b2", "version": "1.0", "extensions": ["resend", "signed"], "running": [1, 2],
        "handlers": [
            {
                "name": "demo", "description": "d", "schedule": "*/5 * * * *", "timezone": "UTC",
                "paramsSchema": {"type": "object"}, "timeout": 5, "block": "CONCURRENT", "concurrency": 3,
                "retry": {"attempts": 3, "delay": 5, "backoff": 2.0, "jitter": True, "giveUpOn": ["ValueError"]},
            }
        ],
        "unacknowledged": [3], "load": {"running": 2, "queued": 0, "threads": 1}, "labels": {"zone": "eu"},
    },
}  # fmt: skip
_RESULT = {
    "logId": 42, "logDateTim": 1_700_000_000_000, "handleCode": 200, "handleMsg": "done", "startTime": 5,
    "incarnation": "a1b2", "final": True,
}  # fmt: skip
_FIRST_FORM = {"logId": 42, "logDateTim": 0, "executeResult": {"code": 500, "msg": "no"}}
_LOG_ASKED = {"logDateTim": 1_700_000_000_000, "logId": 42, "fromLineNum": 1, "tail": 5, "wait": 3, "progress": True}
_PAGE = {
    "fromLineNum": 1, "toLineNum": 3, "logContent": "a\nb\nc", "isEnd": True, "end": False,
    "progress": {"done": 1.0, "total": 2, "message": "half", "eta": 3.5},
}  # fmt: skip
_REPLIES = [
    {"code": 200, "msg": None, "content": None, "data": None},
    {"code": 500, "msg": "busy", "content": _PAGE},
    {"code": 200, "data": {"replies": [{"logId": 42, "code": 200, "msg": "ok"}, {"code": 500}]}},
    {"code": 200, "data": {"verdicts": [{"logId": 42, "verdict": "stored"}, {"logId": 43, "verdict": "retry"}]}},
    {"status": 404, "detail": {"a": [1]}, "title": "Not Found"},
    {"code": 200, "data": _PAGE},
]
_ASKED = [RunRequest(job_id=1, log_id=number) for number in (42, 43, 44)]
_REPORTED = [CallbackItem(log_id=number, handle_code=200) for number in (42, 43, 44)]


def _registry(body: bytes) -> None:
    read_registry(registry_body(read_registry(body)))  # what we write of it can be read again


def _run(body: bytes) -> None:
    request = read_run(body)
    assert request.log_id >= 0
    assert is_storable(request.model_dump(mode="json"))


def _runs(body: bytes) -> None:
    found = read_runs(body)
    assert len(found) <= BATCH_LIMIT
    assert all(isinstance(one, Malformed) or is_storable(one.model_dump(mode="json")) for one in found)


def _callback(body: bytes) -> None:
    for one in read_callback(body):
        if isinstance(one, CallbackItem):
            (again,) = read_callback(callback_item_body(one))
            assert again == one
            one.handle_msg.encode()  # fit to be stored


def _requests(reader: Callable[[bytes], object], valid: list[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.just(reader), json_bodies(valid))


def _feed(given: tuple[Callable[[Any], object], Any]) -> None:
    reader, value = given
    reader(value)


def _answer(given: tuple[int, bytes]) -> None:
    """An answer as whoever asked for it reads it; that must never fail, whatever the other side wrote."""
    status, body = given
    reply = read_reply(status, body)
    assert len(read_batch(status, body, _ASKED)) == len(_ASKED)
    assert len(read_verdicts(reply, _REPORTED)) == len(_REPORTED)
    with suppress(InvalidMessage):
        json.dumps(log_payload(read_log_page(reply.payload))).encode()
    read_state("http://10.0.0.7:9999", status, body)


def _headers(headers: dict[str, str]) -> None:
    token_from(headers)
    reads_verdicts(headers)
    is_foreign(headers)


def _address(text: str) -> None:
    """An address is read the same way by everybody, and judging its parts never fails."""
    plain_ip(text)
    Outbound().refusal(text)
    address = checked_address(text)
    assert checked_address(address) == address
    assert "@" not in address
    assert address.isascii()
    assert address.isprintable()


_signature = ";".join(["1", "0123456789abcdef", "1700000000000", "n" * 22, "us", "them", "a" * 64, "b" * 64])
_header_names = st.sampled_from(
    ["ORTH-ACCESS-TOKEN", "xxl-job-access-token", "Authorization", "ORTH-EXTENSIONS", "XXL-JOB-APPNAME"]
)
_addresses = [
    b"http://10.0.0.7:9999/", b"https://executor.example.org/base/path", b"http://[fe80::1%25eth0]:80", b"http://0x7f.1",
    b"http://2130706433/", b"http://[::ffff:127.0.0.1]:1", b"http://u:p@h/", b"file:///etc/passwd", b"http://h:99999",
    b"http://169.254.169.254/latest", b"gopher://h/", b"http://h/..", b"::ffff:7f00:1", b"2002:7f00:1::", b"[::1]%1",
]  # fmt: skip

TARGETS = [
    Target(
        "requests to coordinators and executors",
        st.one_of(
            _requests(_registry, [_BEAT]),
            _requests(_run, [_RUN]),
            _requests(_runs, [{"requests": [_RUN, {"jobId": 1, "logId": 2}]}]),
            _requests(read_idle_beat, [{"jobId": 7}]),
            _requests(read_kill, [{"jobId": 7, "logId": 42}]),
            _requests(read_log_request, [_LOG_ASKED]),
            _requests(_callback, [[_RESULT, _FIRST_FORM], {"callbackList": [_RESULT]}, _RESULT]),
        ),
        _feed,
        (Invalid, TooLarge),
        examples=700,
    ),
    Target(
        "answers of coordinators and executors",
        st.tuples(st.sampled_from([100, 200, 204, 302, 401, 404, 429, 500, 503, 504, 999]), json_bodies(_REPLIES)),
        _answer,
        (AnswerUnknown, NotAnExecutor),
    ),
    Target(
        "headers and signatures",
        st.one_of(
            st.tuples(st.just(_headers), st.dictionaries(_header_names, st.text(max_size=300), max_size=3)),
            st.tuples(st.just(read_signature), mutated([_signature.encode()]).map(lambda raw: raw.decode("latin-1"))),
        ),
        _feed,
        (BadSignature,),
    ),
    Target(
        "addresses",
        st.one_of(mutated(_addresses).map(lambda raw: raw.decode("utf-8", "replace")), st.text(max_size=200)),
        _address,
        (Invalid,),
    ),
]
