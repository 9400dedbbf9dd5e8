"""Many triggers in one request, and the answer to each."""

import json

import pytest

from orth.errors import Invalid, InvalidMessage
from orth.wire.dialects import (
    Malformed,
    kill_body,
    read_kill,
    read_run_answers,
    read_runs,
    run_answers_payload,
    runs_body,
)
from orth.wire.fields import BATCH_LIMIT
from orth.wire.messages import Extension, Reply, RunAnswer, RunRequest

ALL = frozenset({Extension.RESEND, Extension.KILL_EXECUTION, Extension.BATCH_RUN})


def trigger(log_id: int, **more: object) -> RunRequest:
    return RunRequest.model_validate({"jobId": 1, "logId": log_id, "executorHandler": "hello"} | more)


def test_a_batch_is_read_as_it_was_written() -> None:
    sent = [trigger(1), trigger(2, scheduleTime=5, executorConcurrency=3), trigger(3, resendTo="a-process")]
    path, body = runs_body(sent, ALL)
    assert path == "/runs"
    assert read_runs(body) == sent
    assert read_runs(runs_body([], ALL)[1]) == []


def test_an_executor_that_takes_no_batch_is_sent_none() -> None:
    with pytest.raises(Invalid, match="one by one"):
        runs_body([trigger(1)], frozenset({Extension.RESEND}))
    with pytest.raises(Invalid, match="at most 500"):
        runs_body([trigger(number) for number in range(BATCH_LIMIT + 1)], ALL)


def test_one_bad_request_spoils_only_itself() -> None:
    body = (
        b'{"requests": [{"jobId": 1, "logId": 1, "logDateTim": 9, "executorParams": null}, 5, {"logId": 2},'
        b' {"jobId": 1, "logId": 3, "glueSource": "\\ud800"}, {"jobId": 1, "logId": "x"},'
        b' {"jobId": 1, "logId": 4, "executorParams": "\\ud83d\\ude00"}]}'
    )
    read = read_runs(body)
    assert [item.log_id for item in read] == [1, None, 2, 3, None, 4]
    assert [type(item) for item in read] == [RunRequest, Malformed, Malformed, Malformed, Malformed, RunRequest]
    assert isinstance(read[0], RunRequest)
    assert read[0].log_date_time == 9
    reasons = [item.reason for item in read if isinstance(item, Malformed)]
    assert reasons == [
        "a request is an object",
        "jobId: Field required",
        "half of a surrogate pair",
        "logId: must be an integer",
    ]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"requests": null}',
        b'{"requests": {}}',
        b'{"requests": [{"jobId": 1, "jobId": 2}]}',
        b'{"requests": [NaN]}',
        json.dumps({"requests": [{}] * (BATCH_LIMIT + 1)}).encode(),
    ],
)
def test_what_is_no_batch_is_refused_whole(body: bytes) -> None:
    with pytest.raises(InvalidMessage):
        read_runs(body)


def test_the_answers_find_their_requests() -> None:
    answers = [RunAnswer(log_id=2, code=500, msg="no"), RunAnswer(code=500, msg="?"), RunAnswer(log_id=1, code=200)]
    reply = Reply.success(json.loads(json.dumps(run_answers_payload(answers))))
    assert read_run_answers(reply, [trigger(1), trigger(2), trigger(3)]) == [answers[2], answers[0], None]


@pytest.mark.parametrize("payload", [None, [], {"replies": None}, {"replies": [5, {"logId": 1}]}])
def test_without_an_answer_nothing_is_known(payload: object) -> None:
    assert read_run_answers(Reply.success(payload), [trigger(1)]) == [None]


def test_a_kill_names_the_execution_only_where_that_is_understood() -> None:
    assert read_kill(kill_body(1, 7, ALL)).log_id == 7
    assert read_kill(kill_body(1, 7)).log_id is None
