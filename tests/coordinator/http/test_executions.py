"""Executions as people see them, and their logs through a coordinator from real executors that behave or do not."""

import time
from typing import Any

import pytest

from orth.domain import reasons
from orth.store.dispatching import record_unknown
from orth.store.notes import Note, add_notes
from tests.coordinator.http.live import ACCESS_TOKEN, Caller, Site
from tests.wire.peers import Exchange, Peer, answering, refusing

EXECUTIONS = "/api/v1/executions"


def lines(first: int, last: int, content: str = "", *, end: bool = False, key: str = "isEnd") -> dict[str, Any]:
    return {"fromLineNum": first, "toLineNum": last, "logContent": content, key: end}


def taken_by(site: Site, address: str) -> int:
    execution_id = site.execution(site.job())
    site.dispatched(execution_id, address)
    return execution_id


def end(site: Site, execution_id: int) -> None:
    site.executor().post("/api/callback", [{"logId": execution_id, "handleCode": 200}]).envelope()


def test_the_story_of_an_execution(site: Site, admin: Caller) -> None:
    execution_id = site.execution(site.job())
    told = admin.get(f"{EXECUTIONS}/{execution_id}/why").json
    assert told == {
        "id": execution_id,
        "status": "init",
        "tag": "Init 0/0",
        "phase": "opened",
        "reason_code": None,
        "summary": "It waits to be sent: the leader takes it within a second, if there is one.",
        "steps": [
            {"at": "2026-01-30T10:00:00.000Z", "code": "api", "text": "It was triggered through the API."},
        ],
        "next": "It waits to be sent: the leader takes it within a second, if there is one.",
    }
    site.sent(execution_id, "http://10.0.0.7:9999")
    site.tx(record_unknown, [(execution_id, "no answer")], site.clock.now(), reasons.UNKNOWN_ANSWER)
    note = Note(execution_id, reasons.UNKNOWN_ANSWER, "http://10.0.0.7:9999: no answer within 3 s.")
    site.tx(add_notes, [note], "node", site.clock.now())
    doubted = admin.get(f"{EXECUTIONS}/{execution_id}/why").json
    assert [step["code"] for step in doubted["steps"]] == ["api", "routed", "unknown_answer"]
    assert doubted["steps"][1] == {"at": None, "code": "routed", "text": "http://10.0.0.7:9999 was chosen by ROUND."}
    assert doubted["reason_code"] == "unknown_answer"
    assert "2026-01-30T10:10:00.000Z" in doubted["next"]
    end(site, execution_id)
    assert admin.get(f"{EXECUTIONS}/{execution_id}/why").json["summary"] == "It ended well."


def test_there_is_no_story_of_what_does_not_exist(admin: Caller, stranger: Caller) -> None:
    admin.get(f"{EXECUTIONS}/404/why").problem(404)
    stranger.get(f"{EXECUTIONS}/404/why").problem(401)


def test_an_execution_is_shown_on_its_way(site: Site, admin: Caller, executor: Caller) -> None:
    job_id = site.job(executor_param="own", executor_fail_retry_count=2)
    execution_id = site.execution(job_id)
    where = f"{EXECUTIONS}/{execution_id}"
    opened = admin.get(where).json
    group = admin.get(f"/api/v1/jobs/{job_id}").json["job_group"]
    assert opened == {
        "id": execution_id,
        "job_id": job_id,
        "job_group": group,
        "cause": "api",
        "trigger_code": 0,
        "handle_code": 0,
        "status": "init",
        "tag": "Init 0/0",
        "phase": "opened",
        "schedule_time": None,
        "trigger_time": "2026-01-30T10:00:00.000Z",
        "start_time": None,
        "handle_time": None,
        "executor_address": None,
        "executor_handler": "report",
        "executor_param": "own",
        "shard_index": 0,
        "shard_total": 1,
        "attempt": 1,
        "executor_fail_retry_count": 2,
        "trigger_msg": None,
        "handle_msg": None,
        "reason_code": None,
        "not_before": None,
        "batch_id": None,
        "owner_node": None,
    }
    site.dispatched(execution_id, "http://10.0.0.1:9999")
    pending = admin.get(where).json
    assert (pending["tag"], pending["executor_address"]) == ("Pending 200/0", "http://10.0.0.1:9999")
    site.clock.move(2.5)
    began = site.clock.now() - 1000
    result = {"logId": execution_id, "handleCode": 200, "handleMsg": "done", "startTime": began}
    executor.post("/api/callback", [result]).envelope()
    ended = admin.get(where).json
    assert (ended["status"], ended["phase"], ended["handle_msg"]) == ("success", "ended", "done")
    assert (ended["start_time"], ended["handle_time"]) == ("2026-01-30T10:00:01.500Z", "2026-01-30T10:00:02.500Z")


def test_executions_are_found_by_job_status_and_time(site: Site, admin: Caller, executor: Caller) -> None:
    group = site.group()
    first, second = (site.job(job_group=group) for _ in range(2))
    early = site.execution(first)
    site.clock.move(600)
    late, other = site.execution(first), site.execution(second)
    site.dispatched(early, "http://10.0.0.1:9999")
    executor.post("/api/callback", [{"logId": early, "handleCode": 500}]).envelope()
    site.dispatched(late, "http://10.0.0.1:9999")

    def found(query: str) -> list[int]:
        return [one["id"] for one in admin.get(f"{EXECUTIONS}?{query}").json["items"]]

    assert found("") == [other, late, early]
    assert found(f"job_id={first}") == [late, early]
    assert found("status=failed") == [early]
    assert found("status=pending") == [late]
    assert found("status=init") == [other]
    assert found("status=success") == found("status=timeout") == found("status=trigger_failed") == []
    assert found("since=5m") == [other, late]
    assert found("since=2026-01-30T10:05:00Z") == [other, late]
    assert found("since=2026-01-30T11:10:00%2B01:00") == [other, late]
    assert found("since=2026-01-30T10:10:00.001Z") == []
    assert found(f"since=1d&job_id={first}&status=failed") == [early]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("status=lost", "status"),
        ("status=", "status"),
        ("job_id=0", "job_id"),
        ("job_id=x", "job_id"),
        ("job_id=2147483648", "job_id"),
        ("since=yesterday", "since"),
        ("since=", "since"),
        ("since=" + "9" * 41, "since"),
        ("since=2026-02-30", "since"),
    ],
)
def test_a_filter_that_means_nothing_is_refused(admin: Caller, query: str, field: str) -> None:
    assert admin.get(f"{EXECUTIONS}?{query}").problem(422)["errors"][0]["field"] == field


@pytest.mark.parametrize("suffix", ["", "/log"])
def test_an_execution_that_does_not_exist_is_not_found(admin: Caller, suffix: str) -> None:
    for number in ("4711", "9223372036854775807"):
        assert number in admin.get(f"{EXECUTIONS}/{number}{suffix}").problem(404)["detail"]
    for number in ("0", "-1", "9223372036854775808", "9" * 50, "1.5", "x", "..%2f..%2fetc%2fpasswd", "%2e%2e"):
        assert admin.get(f"{EXECUTIONS}/{number}{suffix}").status in (404, 422)


def test_a_page_of_log_comes_through_as_it_is(site: Site, admin: Caller) -> None:
    with Peer(answering(lines(3, 4, "three\nfour"))) as peer:
        execution_id = taken_by(site, peer.address)
        answer = admin.get(f"{EXECUTIONS}/{execution_id}/log?from=3")
    assert answer.json == {"from_line": 3, "to_line": 4, "content": "three\nfour", "end": False}
    (asked,) = peer.requests
    assert asked.path == "/log"
    body = asked.json()
    assert isinstance(body, dict)
    assert (body["logId"], body["fromLineNum"]) == (execution_id, 3)
    assert body["logDateTim"] == body["logDateTime"] == site.clock.now()
    assert asked.headers["xxl-job-access-token"] == ACCESS_TOKEN


@pytest.mark.parametrize("key", ["isEnd", "end"])
@pytest.mark.parametrize("ended", [True, False])
def test_the_end_is_where_the_executor_says_once_the_execution_is_over(
    site: Site, admin: Caller, key: str, ended: bool
) -> None:
    with Peer(answering(lines(1, 2, "one\ntwo", end=ended, key=key))) as peer:
        execution_id = taken_by(site, peer.address)
        # A foreign executor calls every end of the file the end, also while the handler still writes.
        assert admin.get(f"{EXECUTIONS}/{execution_id}/log").json["end"] is False
        end(site, execution_id)
        # More lines may come as long as lines come, though the execution is over.
        assert admin.get(f"{EXECUTIONS}/{execution_id}/log").json["end"] is ended


@pytest.mark.parametrize("nothing_new", [lines(5, 4), lines(5, 0), lines(5, 2), {}, None], ids=str)
def test_nothing_new_is_the_end_only_when_the_execution_is_over(
    site: Site, admin: Caller, nothing_new: dict[str, Any] | None
) -> None:
    with Peer(answering(nothing_new)) as peer:
        execution_id = taken_by(site, peer.address)
        where = f"{EXECUTIONS}/{execution_id}/log?from=5"
        assert admin.get(where).json == {"from_line": 5, "to_line": 4, "content": "", "end": False}
        end(site, execution_id)
        assert admin.get(where).json == {"from_line": 5, "to_line": 4, "content": "", "end": True}


def test_the_note_of_an_executor_without_the_log_comes_with_the_end(site: Site, admin: Caller) -> None:
    with Peer(answering(lines(1, 0, "it was cleaned up", end=True))) as peer:
        execution_id = taken_by(site, peer.address)
        waiting = admin.get(f"{EXECUTIONS}/{execution_id}/log").json
        end(site, execution_id)
        shown = admin.get(f"{EXECUTIONS}/{execution_id}/log").json
    assert waiting == {"from_line": 1, "to_line": 0, "content": "", "end": False}
    assert shown == {"from_line": 1, "to_line": 0, "content": "it was cleaned up", "end": True}


def test_an_execution_nobody_was_sent_has_no_lines_yet(site: Site, admin: Caller) -> None:
    shown = admin.get(f"{EXECUTIONS}/{site.execution(site.job())}/log?from=7").json
    assert shown == {"from_line": 7, "to_line": 6, "content": "", "end": False}


def test_an_executor_that_is_gone_is_a_clear_problem(site: Site, admin: Caller) -> None:
    with refusing() as address:
        answer = admin.get(f"{EXECUTIONS}/{taken_by(site, address)}/log")
    said = answer.problem(503)
    assert address in said["detail"]
    assert answer.headers["retry-after"]


def test_an_executor_that_hangs_is_waited_for_no_longer_than_is_set(site: Site, admin: Caller) -> None:
    with Peer(Exchange.hang) as peer:
        execution_id = taken_by(site, peer.address)
        began = time.monotonic()
        said = admin.get(f"{EXECUTIONS}/{execution_id}/log").problem(503)
    assert "no answer within 0.5 s" in said["detail"]
    assert time.monotonic() - began < 5


def respond(status: int, body: bytes) -> Any:
    return lambda exchange: exchange.respond(body, status=status)


@pytest.mark.parametrize(
    "behaviour",
    [
        answering(code=500, msg="no such log"),
        answering(lines(1, 2) | {"fromLineNum": "x"}),
        answering(lines(1, 2) | {"toLineNum": 10**12}),
        answering(lines(1, 2) | {"toLineNum": 1.5}),
        respond(200, b"<html>hello</html>"),
        respond(200, b""),
        respond(200, b"["),
        respond(401, b'{"code": 500, "msg": "token"}'),
        respond(404, b"not here"),
        respond(500, b"Traceback"),
        respond(502, b"bad gateway"),
        respond(302, b""),
        lambda exchange: exchange.respond(b"x" * 17 * 1024 * 1024),
        Exchange.reset,
        Exchange.close,
    ],
)
def test_an_executor_that_talks_nonsense_is_a_problem_of_its_own(site: Site, admin: Caller, behaviour: Any) -> None:
    with Peer(behaviour) as peer:
        answer = admin.get(f"{EXECUTIONS}/{taken_by(site, peer.address)}/log")
    assert answer.status == 503
    assert peer.address in answer.json["detail"]


@pytest.mark.parametrize("line", ["0", "-1", "2147483648", "9" * 30, "x", "1.5", ""])
def test_a_line_out_of_range_is_refused(site: Site, admin: Caller, line: str) -> None:
    said = admin.get(f"{EXECUTIONS}/{site.execution(site.job())}/log?from={line}").problem(422)
    assert said["errors"][0]["field"] == "from"


def test_a_log_is_text_whatever_is_in_it(site: Site, admin: Caller) -> None:
    with Peer(answering(lines(1, 1, "a\x00b <script> \ud83d \x1b[31m"))) as peer:
        shown = admin.get(f"{EXECUTIONS}/{taken_by(site, peer.address)}/log")
    assert shown.content_type == "application/json"
    assert shown.json["content"] == "a\ufffdb <script> \ufffd \x1b[31m"
