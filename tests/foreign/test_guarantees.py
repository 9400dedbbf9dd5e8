"""What a coordinator owes executors of other makes: twelve promises, in order, each with what would break it."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orth.executor.handlers import Handlers
from orth.store.executor_entries import list_executors
from orth.testing.cluster import Cluster
from orth.wire.messages import RegistryRequest
from tests.foreign.conftest import Coordinator
from tests.foreign.executors import HTTP, Body, ForeignExecutor, envelope, later
from tests.walk.processes import TOKEN, eventually
from tests.wire.peers import Exchange

BASE_FIELDS = {
    "jobId",
    "executorHandler",
    "executorParams",
    "executorBlockStrategy",
    "executorTimeout",
    "logId",
    "logDateTime",
    "glueType",
    "glueSource",
    "glueUpdatetime",
    "broadcastIndex",
    "broadcastTotal",
}


@pytest.fixture
def foreign(coordinator: Coordinator) -> Iterator[ForeignExecutor]:
    with ForeignExecutor(coordinator.url, coordinator.app_name()) as executor:
        executor.register()
        yield executor
        executor.leave()


def triggered(coordinator: Coordinator, executor: ForeignExecutor, **fields: object) -> int:
    """A new execution of a new job in the executor's group."""
    return coordinator.trigger(coordinator.job(coordinator.group(executor.app_name), **fields))


def pending(coordinator: Coordinator, executor: ForeignExecutor, **fields: object) -> int:
    execution = triggered(coordinator, executor, **fields)
    coordinator.until(execution, status="pending")
    return execution


# --- 1: every answer is JSON with a code, under every prefix ----------------------------------------------------------


@pytest.mark.parametrize("name", ["registry", "registryRemove", "callback"])
@pytest.mark.parametrize("prefix", ["/api/", "/xxl-job-admin/api/", "/orth-admin/api/"])
@pytest.mark.parametrize("slash", ["", "/"], ids=["plain", "slash"])
def test_01_answers_are_json_with_a_code(coordinator: Coordinator, prefix: str, slash: str, name: str) -> None:
    url = coordinator.url + prefix.replace("/api/", f"{slash}/api/") + name
    good: object = [] if name == "callback" else {"registryKey": "none-of-ours", "registryValue": "http://10.9.9.9:1"}
    for body, token, code in ((good, TOKEN, 200), (good, "wrong", 500), (17, TOKEN, 500), (None, TOKEN, 500)):
        data = b"" if body is None else json.dumps(body).encode()
        answer = HTTP.request("POST", url, body=data, headers={"XXL-JOB-ACCESS-TOKEN": token})
        assert answer.headers["content-type"] == "application/json"
        told = json.loads(answer.data)
        assert told["code"] == code
        assert {"msg", "content", "data"} <= told.keys()


# --- 2: addresses as people write them --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["", "/job", "/a/b"])
@pytest.mark.parametrize("end", ["", "/"], ids=["plain", "slash"])
def test_02_an_address_may_end_in_a_slash_and_have_a_path(coordinator: Coordinator, path: str, end: str) -> None:
    with ForeignExecutor(coordinator.url, coordinator.app_name(), path=path) as executor:
        executor.register(executor.address + end)
        execution = pending(coordinator, executor)
        assert executor.got("run")[0]["logId"] == execution
        executor.report(execution)
        coordinator.until(execution, status="success")


# --- 3: callbacks in every form ---------------------------------------------------------------------------------------

FORMS: dict[str, tuple[Callable[[int], object], str, str]] = {
    "text": (lambda i: [{"logId": i, "handleCode": 200, "handleMsg": "done"}], "success", "done"),
    "object": (lambda i: [{"logId": i, "handleCode": 200, "handleMsg": {"rows": 3}}], "success", '{"rows": 3}'),
    "list": (lambda i: [{"logId": i, "handleCode": 200, "handleMsg": [1, "b"]}], "success", '[1, "b"]'),
    "number": (lambda i: [{"logId": i, "handleCode": 200, "handleMsg": 42}], "success", "42"),
    "null": (lambda i: [{"logId": i, "handleCode": 200, "handleMsg": None}], "success", ""),
    "absent": (lambda i: [{"logId": i, "handleCode": 200}], "success", ""),
    "texts for numbers": (lambda i: [{"logId": str(i), "handleCode": "200", "handleMsg": "ok"}], "success", "ok"),
    "oldest form": (lambda i: [{"logId": i, "executeResult": {"code": 200, "msg": "old"}}], "success", "old"),
    "oldest form, failed": (lambda i: [{"logId": i, "executeResult": {"code": 500, "msg": "no"}}], "failed", "no"),
    "single": (lambda i: {"logId": i, "handleCode": 502, "handleMsg": "too slow"}, "timeout", "too slow"),
    "wrapped": (lambda i: {"callbackList": [{"logId": i, "handleCode": 500, "handleMsg": "w"}]}, "failed", "w"),
    "batch with strangers": (
        lambda i: [
            {"logId": 2**60, "handleCode": 200},
            {"logId": "x"},
            7,
            {"logId": i, "handleCode": 200, "handleMsg": "mine"},
            {"logId": i, "handleCode": 500, "handleMsg": "twice"},
        ],
        "success",
        "mine",
    ),
    "a code of its own": (lambda i: [{"logId": i, "handleCode": 407, "handleMsg": "odd"}], "failed", "odd"),
}


@pytest.mark.parametrize("form", FORMS)
def test_03_a_result_is_read_in_every_form(coordinator: Coordinator, foreign: ForeignExecutor, form: str) -> None:
    body_of, status, message = FORMS[form]
    execution = pending(coordinator, foreign)
    for _ in range(2):  # a repetition is answered like the first
        assert foreign.post("/api/callback", body_of(execution))["code"] == 200
        ended = coordinator.execution(execution)
        assert (ended["status"], ended["handle_msg"]) == (status, message)


def test_03_unknown_ids_are_answered_with_success(foreign: ForeignExecutor) -> None:
    assert foreign.report(2**62)["code"] == 200
    assert foreign.report(0)["code"] == 200


def test_03_a_result_may_overtake_the_answer_to_its_trigger(coordinator: Coordinator, foreign: ForeignExecutor) -> None:
    def report_first(exchange: Exchange, body: Body) -> None:
        assert foreign.report(body["logId"], message="quick")["code"] == 200
        exchange.respond(envelope())

    foreign.reactions["run"] = report_first
    execution = triggered(coordinator, foreign)
    ended = coordinator.until(execution, status="success")
    assert (ended["trigger_code"], ended["handle_msg"]) == (200, "quick")
    second = triggered_again(coordinator, ended)  # the answer to the first has been stored by now
    coordinator.until(second, status="success")
    assert coordinator.execution(execution) == ended


def triggered_again(coordinator: Coordinator, execution: dict[str, Any]) -> int:
    return coordinator.trigger(execution["job_id"])


# --- 4: answers of every kind -----------------------------------------------------------------------------------------

ANSWERS: dict[str, tuple[Callable[[Exchange], None], str, str]] = {
    "array": (lambda e: e.respond(b"[1, 2]"), "trigger_failed", "not the expected answer: [1, 2]"),
    "plain 500": (lambda e: e.respond(b"Internal Error", 500, "text/plain"), "trigger_failed", "HTTP 500"),
    "html": (lambda e: e.respond(b'{"code":200}', content_type="text/html;charset=UTF-8"), "pending", ""),
    "without msg": (lambda e: e.respond(b'{"code":500}'), "trigger_failed", "500"),
    "4xx with a message": (lambda e: e.respond(b'{"code":200,"msg":"go away"}', 403), "trigger_failed", "go away"),
    "404 page": (lambda e: e.respond(b"<html>404</html>", 404, "text/html"), "trigger_failed", "HTTP 404"),
    "a code as text": (lambda e: e.respond(b'{"code":"200"}'), "pending", ""),
    "no code": (lambda e: e.respond(b'{"ok":true}'), "trigger_failed", "without a code"),
    "another code": (lambda e: e.respond(b'{"code":407,"msg":"busy"}'), "trigger_failed", "busy"),
    "empty": (lambda e: e.respond(b""), "trigger_failed", "nothing"),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_04_every_kind_of_answer_is_understood(coordinator: Coordinator, foreign: ForeignExecutor, answer: str) -> None:
    respond, status, message = ANSWERS[answer]
    foreign.reactions["run"] = lambda exchange, _body: respond(exchange)
    execution = triggered(coordinator, foreign)
    told = coordinator.until(execution, status=status)
    assert message in (told["trigger_msg"] or "")
    assert len(foreign.got("run")) == 1


def test_04_a_trigger_without_an_answer_is_unknown_until_its_result_decides(
    coordinator: Coordinator, foreign: ForeignExecutor
) -> None:
    def hang(exchange: Exchange, body: Body) -> None:
        foreign.running.add(body["logId"])
        exchange.hang()

    foreign.reactions["run"] = hang
    with ForeignExecutor(coordinator.url, foreign.app_name) as other:
        other.register()
        group = coordinator.group(foreign.app_name)
        execution = coordinator.trigger(coordinator.job(group), address_list=[foreign.address])
        coordinator.until(execution, phase="unknown")
        assert foreign.report(execution, message="it did run")["code"] == 200
        ended = coordinator.until(execution, status="success")
        assert ended["handle_msg"] == "it did run"
        assert len(foreign.got("run")) == 1
        assert other.got("run") == []
        other.leave()


# --- 5, 10, 11: kill --------------------------------------------------------------------------------------------------


def test_05_a_killed_execution_stays_killed_whatever_its_executor_reports(
    coordinator: Coordinator, foreign: ForeignExecutor
) -> None:
    execution = pending(coordinator, foreign)
    assert coordinator.kill(execution)["told"]
    assert foreign.report(execution, message="I made it")["code"] == 200
    ended = coordinator.execution(execution)
    assert (ended["status"], ended["handle_msg"]) == ("failed", "Killed by admin")


def test_10_a_kill_may_be_answered_only_after_the_result_was(
    coordinator: Coordinator, foreign: ForeignExecutor
) -> None:
    execution = pending(coordinator, foreign)
    answers: list[Body] = []

    def report_before_answering(exchange: Exchange, _body: Body) -> None:
        answers.append(foreign.report(execution, code=500, message="cancelled"))
        exchange.respond(envelope())

    foreign.reactions["kill"] = report_before_answering
    assert coordinator.kill(execution)["told"]
    assert [answer["code"] for answer in answers] == [200]
    assert coordinator.execution(execution)["handle_msg"] == "Killed by admin"


def test_11_a_kill_covers_a_trigger_whose_answer_is_still_on_its_way(
    coordinator: Coordinator, foreign: ForeignExecutor
) -> None:
    answering = threading.Event()

    def answer_late(exchange: Exchange, body: Body) -> None:
        answering.wait(10)
        exchange.respond(envelope())
        later(lambda: foreign.report(body["logId"], message="swallowed it"))

    foreign.reactions["run"] = answer_late
    execution = triggered(coordinator, foreign)
    eventually(lambda: foreign.got("run"), what="the trigger")
    answer = coordinator.kill(execution)
    answering.set()
    assert answer["told"]
    foreign.reactions["run"] = lambda exchange, _body: exchange.respond(envelope())
    job_id = coordinator.execution(execution)["job_id"]
    coordinator.until(coordinator.trigger(job_id), status="pending")  # later answers have been stored
    ended = coordinator.execution(execution)
    assert (ended["status"], ended["handle_msg"]) == ("failed", "Killed by admin")


# --- 6, 12: what an executor forgets ----------------------------------------------------------------------------------


def test_06_a_trigger_that_was_dropped_silently_ends_some_day(
    coordinator: Coordinator, foreign: ForeignExecutor
) -> None:
    dropped = pending(coordinator, foreign)
    foreign.running.discard(dropped)  # a kill empties the queue, and nobody is told
    ended = coordinator.until(dropped, status="failed")
    assert ended["handle_msg"] == "Result lost: the executor says that nothing of the job runs or waits there."
    assert foreign.report(dropped, message="after all")["code"] == 200
    late = coordinator.execution(dropped)
    assert late["late_code"] == 200
    assert {**late, "late_code": None, "alarm_status": 0} == {**ended, "alarm_status": 0}


def test_06_a_trigger_that_runs_long_is_not_taken_for_dropped(
    coordinator: Coordinator, foreign: ForeignExecutor
) -> None:
    long = pending(coordinator, foreign)
    eventually(lambda: foreign.got("idleBeat")[4:], what="five questions")
    assert coordinator.execution(long)["status"] == "pending"
    foreign.report(long)
    coordinator.until(long, status="success")


def test_12_the_first_result_stands(coordinator: Coordinator, foreign: ForeignExecutor) -> None:
    execution = pending(coordinator, foreign)
    assert foreign.report(execution, message="well done")["code"] == 200
    # Some report a success once more as a failure when the answer to the first report was lost.
    assert foreign.report(execution, code=500, message="callback error")["code"] == 200
    ended = coordinator.execution(execution)
    assert (ended["status"], ended["handle_msg"]) == ("success", "well done")


def test_12_a_result_dropped_by_an_executor_that_left_is_lost_in_time(coordinator: Coordinator) -> None:
    with ForeignExecutor(coordinator.url, coordinator.app_name()) as executor:
        executor.register()
        execution = pending(coordinator, executor)
        executor.leave()
    ended = coordinator.until(execution, status="failed")
    assert ended["handle_msg"] == "Result lost: the executor has left the registry."


# --- 7: beats at any pace ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pace", [10, 20, 30])
async def test_07_beats_at_any_pace_keep_an_executor_and_90_seconds_of_silence_remove_it(
    tmp_path: Path, pace: int
) -> None:
    beat = RegistryRequest(registry_key="foreign-app", registry_value="http://10.0.0.7:9999/")
    async with Cluster(tmp_path, Handlers("tests"), executors=0) as cluster:
        for _ in range(300 // pace):
            await cluster.coordinators[0].presence.registrations.beat(beat)
            await cluster.advance(seconds=pace)
            assert len(await cluster.db.read(list_executors, "foreign-app")) == 1
        await cluster.advance(seconds=89 - pace)
        assert len(await cluster.db.read(list_executors, "foreign-app")) == 1
        await cluster.advance(seconds=32)
        assert await cluster.db.read(list_executors, "foreign-app") == []


# --- 8: nothing it does not know --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dialect", "more"), [("auto", set()), ("xxl", set()), ("orth", {"executorConcurrency", "scheduleTime"})]
)
def test_08_a_trigger_has_no_field_the_group_did_not_ask_for(
    coordinator: Coordinator, foreign: ForeignExecutor, dialect: str, more: set[str]
) -> None:
    group = coordinator.group(foreign.app_name, dialect=dialect)
    job = coordinator.job(group, executor_block_strategy="CONCURRENT", executor_concurrency=4)
    execution = coordinator.trigger(job)
    coordinator.until(execution, status="pending")
    (got,) = foreign.got("run")
    assert got.keys() == BASE_FIELDS | more
    assert {key: type(value) for key, value in got.items() if key in BASE_FIELDS} == {
        key: str if key.startswith(("executorH", "executorP", "executorB", "glueT", "glueS")) else int
        for key in BASE_FIELDS
    }
    foreign.report(execution)


# --- 9: a beat has a body ---------------------------------------------------------------------------------------------


def test_09_a_beat_has_a_body(coordinator: Coordinator, foreign: ForeignExecutor) -> None:
    bodies: list[bytes] = []

    def insist(exchange: Exchange, _body: Body) -> None:
        bodies.append(exchange.request.body)
        exchange.respond(envelope() if exchange.request.body else envelope(500, msg="no body"))

    foreign.reactions["beat"] = insist
    execution = pending(coordinator, foreign, executor_route_strategy="FAILOVER")
    assert bodies
    assert set(bodies) == {b"{}"}
    foreign.report(execution)
