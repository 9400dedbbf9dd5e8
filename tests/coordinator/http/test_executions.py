"""Executions as people see them."""

from typing import Any
from urllib.parse import quote

import pytest
import sqlalchemy as sa

from orth.coordinator.finishing import finish
from orth.coordinator.http import executions
from orth.coordinator.http.paging import cursor_of
from orth.domain import reasons
from orth.domain.executions import FAILURE, SUCCESS
from orth.store.dispatching import put_back, record_unknown
from orth.store.executions import Ending, end_executions
from orth.store.notes import Note, add_notes
from orth.store.tables import executions as stored
from tests.coordinator.http.live import Caller, Site

EXECUTIONS = "/api/v1/executions"


def end(site: Site, execution_id: int) -> None:
    site.executor().post("/api/callback", [{"logId": execution_id, "handleCode": 200}]).envelope()


def test_the_story_of_an_execution(site: Site, admin: Caller) -> None:
    execution_id = site.execution(site.job())
    told = admin.get(f"{EXECUTIONS}/{execution_id}/why").json
    assert told == {
        "id": execution_id,
        "status": "init",
        "tag": "Init 0/0",
        "cancelled": False,
        "phase": "opened",
        "reason_code": None,
        "reason_facts": {},
        "summary": "It waits to be sent: the leader takes it within a second, if there is one.",
        "words": None,
        "steps": [
            {"at": "2026-01-30T10:00:00.000Z", "code": "api", "text": "It was triggered through the API.", "facts": {}},
        ],
        "next": "It waits to be sent: the leader takes it within a second, if there is one.",
        "next_code": "sent_soon",
        "next_facts": {},
    }
    site.sent(execution_id, "http://127.0.0.7:9999")
    site.tx(record_unknown, [(execution_id, "no answer")], site.clock.now(), reasons.UNKNOWN_ANSWER)
    note = Note(execution_id, reasons.UNKNOWN_ANSWER, "http://127.0.0.7:9999: no answer within 3 s.")
    site.tx(add_notes, [note], "node", site.clock.now())
    doubted = admin.get(f"{EXECUTIONS}/{execution_id}/why").json
    assert [step["code"] for step in doubted["steps"]] == ["api", "routed", "unknown_answer"]
    address = "http://127.0.0.7:9999"
    facts = {"address": address, "strategy": "ROUND"}
    assert doubted["steps"][1] == {
        "at": None,
        "code": "routed",
        "text": f"{address} was chosen by ROUND.",
        "facts": facts,
    }
    assert (doubted["next_code"], doubted["next_facts"]["address"]) == ("awaited_until", address)
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
        "job_desc": "nightly report",
        "job_tags": [],
        "test": False,
        "job_group": group,
        "cause": "api",
        "trigger_code": 0,
        "handle_code": 0,
        "status": "init",
        "tag": "Init 0/0",
        "phase": "opened",
        "queue_position": None,
        "schedule_time": None,
        "trigger_time": "2026-01-30T10:00:00.000Z",
        "dispatch_time": None,
        "start_time": None,
        "handle_time": None,
        "duration_ms": None,
        "executor_address": None,
        "queue": None,
        "executor_handler": "report",
        "executor_param": "own",
        "log_level": None,
        "shard_index": 0,
        "shard_total": 1,
        "attempt": 1,
        "executor_fail_retry_count": 2,
        "trigger_msg": None,
        "handle_msg": None,
        "reason_code": None,
        "cancelled": False,
        "not_before": None,
        "batch_id": None,
        "owner_node": None,
        "sent_by": None,
        "late_code": None,
        "progress": None,
        "left_behind": None,
        "alarm_status": 0,
        "unreadable": None,
    }
    site.dispatched(execution_id, "http://127.0.0.1:9999")
    pending = admin.get(where).json
    assert (pending["tag"], pending["executor_address"]) == ("Pending 200/0", "http://127.0.0.1:9999")
    site.clock.move(2.5)
    began = site.clock.now() - 1000
    result = {"logId": execution_id, "handleCode": 200, "handleMsg": "done", "startTime": began}
    executor.post("/api/callback", [result]).envelope()
    ended = admin.get(where).json
    assert (ended["status"], ended["phase"], ended["handle_msg"]) == ("success", "ended", "done")
    executor.post("/api/callback", [{"logId": execution_id, "handleCode": 502}]).envelope()
    late = admin.get(where).json
    assert (late["status"], late["late_code"], late["alarm_status"]) == ("success", 502, 0)
    assert (ended["start_time"], ended["handle_time"]) == ("2026-01-30T10:00:01.500Z", "2026-01-30T10:00:02.500Z")
    assert ended["duration_ms"] == 1000, "nobody measured it"


def test_a_result_that_arrives_late_does_not_lengthen_its_execution(
    site: Site, admin: Caller, executor: Caller
) -> None:
    """The coordinators were away for six seconds: wherever a duration is shown, it is the measured one."""
    job_id = site.job()
    ids = [site.execution(job_id) for _ in range(2)]
    began = site.clock.now()
    for one in ids:
        site.dispatched(one, "http://127.0.0.1:9999")
    site.clock.move(6)
    results = [{"logId": one, "handleCode": 200, "startTime": began, "durationMs": 24} for one in ids]
    executor.post("/api/callback", results).envelope()
    (shown,) = {admin.get(f"{EXECUTIONS}/{one}").json["duration_ms"] for one in ids}
    listed = {one["duration_ms"] for one in admin.get(f"{EXECUTIONS}?job_id={job_id}").json["items"]}
    (row,) = admin.get("/api/v1/jobs/board").json["items"]
    relatives = admin.get(f"{EXECUTIONS}/{ids[0]}/relatives").json["attempts"]
    on_board = {one["duration_ms"] for one in [*row["runs"], row["last"]]}
    assert {shown} == listed == on_board == {one["duration_ms"] for one in relatives} == {24}
    stats = admin.get(f"/api/v1/jobs/{job_id}/stats").json
    assert (stats["mean_ms"], stats["longest_ms"]) == (24, 24)


def test_executions_are_found_by_job_status_and_time(site: Site, admin: Caller, executor: Caller) -> None:
    group = site.group()
    first, second = (site.job(job_group=group) for _ in range(2))
    early = site.execution(first)
    site.clock.move(600)
    late, other = site.execution(first), site.execution(second)
    site.dispatched(early, "http://127.0.0.1:9999")
    executor.post("/api/callback", [{"logId": early, "handleCode": 500}]).envelope()
    site.dispatched(late, "http://127.0.0.1:9999")

    def found(query: str) -> list[int]:
        return [one["id"] for one in admin.get(f"{EXECUTIONS}?{query}").json["items"]]

    assert found("") == [other, late, early]
    assert found(f"job_id={first}") == [late, early]
    assert found("status=failed") == [early]
    assert found("status=pending") == [late]
    assert found("status=init") == [other]
    assert found("status=failed,init") == found("status=failed&status=init") == [other, early]
    assert found("status=init,pending") == found("status=init,pending&status=init") == [other, late]
    assert found(f"job_id={first}&status=failed,init,success") == [early]
    assert found("status=success,timeout") == []
    assert found("status=success") == found("status=timeout") == found("status=trigger_failed") == []
    assert found("since=5m") == [other, late]
    assert found("since=2026-01-30T10:05:00Z") == [other, late]
    assert found("since=2026-01-30T11:10:00%2B01:00") == [other, late]
    assert found("since=2026-01-30T10:10:00.001Z") == []
    assert found(f"since=1d&job_id={first}&status=failed") == [early]
    assert found("until=5m") == [early]
    assert found("since=1d&until=2026-01-30T10:10:00Z") == [early]
    assert found(f"job_group={group}") == [other, late, early]
    assert found(f"job_group={group + 1}") == []
    assert found("executor=http://127.0.0.1:9999") == [late, early]
    assert found("executor=http://127.0.0.1:9999&status=failed") == [early]
    assert found("cause=api") == [other, late, early]
    assert found("cause=cron") == found("batch_id=1") == []


def test_a_cancelled_execution_is_found_as_cancelled_and_not_as_failed(
    site: Site, admin: Caller, executor: Caller
) -> None:
    job = site.job()
    failed, dropped, unsent = (site.execution(job) for _ in range(3))
    for one in (failed, dropped):
        site.dispatched(one, "http://127.0.0.1:9999")
    executor.post("/api/callback", [{"logId": failed, "handleCode": 500}]).envelope()
    taken_back = {"reason_code": reasons.JOB_STOPPED}
    endings = [
        Ending(execution_id=dropped, trigger_code=SUCCESS, handle_code=FAILURE, **taken_back),
        Ending(execution_id=unsent, trigger_code=FAILURE, **taken_back),
    ]
    site.tx(end_executions, endings, site.clock.now())

    def found(status: str) -> list[int]:
        return [one["id"] for one in admin.get(f"{EXECUTIONS}?status={status}").json["items"]]

    assert found("failed") == found("failed,timeout,trigger_failed") == [failed]
    assert found("trigger_failed") == []
    assert found("cancelled") == [unsent, dropped]
    assert found("cancelled,failed") == [unsent, dropped, failed]
    assert found("success,timeout") == []
    retried = admin.post(f"{EXECUTIONS}/bulk/retry?status=failed,trigger_failed&dry_run=true").json
    assert retried["execution_ids"] == [failed]
    assert admin.post(f"{EXECUTIONS}/bulk/retry?status=cancelled").status == 422
    for one, tag in ((dropped, "Cancelled 200/500"), (unsent, "Cancelled 500/0")):
        shown, why = admin.get(f"{EXECUTIONS}/{one}").json, admin.get(f"{EXECUTIONS}/{one}/why").json
        assert (shown["tag"], shown["cancelled"]) == (why["tag"], why["cancelled"]) == (tag, True)
        assert admin.get(f"{EXECUTIONS}/{one}/relatives").json["attempts"][0]["cancelled"] is True
    assert admin.get(f"{EXECUTIONS}/{dropped}").json["status"] == "failed", "which the pair of codes says"


def test_what_ran_at_an_instant_is_found_however_early_it_began(site: Site, executor: Caller) -> None:
    job = site.job()
    short, long = site.execution(job), site.execution(job)
    for one in (short, long):
        site.dispatched(one, "http://127.0.0.1:9999")
    site.clock.move(60)
    executor.post("/api/callback", [{"logId": short, "handleCode": 200}]).envelope()
    site.clock.move(9 * 3_600)

    def found() -> list[int]:  # signed in anew: hours have passed
        query = "until=4h&ended_since=3h"
        return [one["id"] for one in site.admin().get(f"{EXECUTIONS}?{query}").json["items"]]

    assert found() == []  # it has not ended: `status=pending` finds it
    executor.post("/api/callback", [{"logId": long, "handleCode": 200}]).envelope()
    assert found() == [long]
    site.clock.move(4 * 3_600)
    assert found() == []


def test_executions_are_found_by_what_they_said(site: Site, admin: Caller, executor: Caller) -> None:
    job = site.job(executor_param="region=eu_1")
    said, other = site.execution(job), site.execution(job)
    site.dispatched(said, "http://127.0.0.1:9999")
    executor.post("/api/callback", [{"logId": said, "handleCode": 500, "handleMsg": "Disk 100% full"}]).envelope()

    def found(text: str) -> list[int]:
        return [one["id"] for one in admin.get(f"{EXECUTIONS}?text={quote(text)}").json["items"]]

    assert found("disk 100%") == found("FULL") == [said]
    assert found("REGION=eu_1") == [other, said]
    assert found("eu%1") == found("euX1") == found("'; DROP TABLE orth_job_log; --") == []


def test_a_page_of_a_long_search_may_be_empty_and_says_how_far_it_looked(
    site: Site, admin: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = site.job()
    first, *_others = [site.execution(job) for _ in range(6)]
    site.tx(lambda c: c.execute(sa.update(stored).where(stored.c.id == first).values(executor_param="needle")) and None)
    monkeypatch.setattr(executions, "_FIRST_WINDOW", 2)
    monkeypatch.setattr(executions, "_LOOK_FOR", 0.0)
    looked: list[dict[str, Any]] = []
    cursor = ""
    while True:
        looked.append(admin.get(f"{EXECUTIONS}?text=needle{cursor}").json)
        if looked[-1]["next_cursor"] is None:
            break
        cursor = f"&cursor={looked[-1]['next_cursor']}"
    assert [[one["id"] for one in page["items"]] for page in looked[:3]] == [[], [], [first]]
    assert [page["looked_to"] for page in looked[:2]] == ["2026-01-30T10:00:00.000Z"] * 2
    assert looked[-1]["looked_to"] is None
    monkeypatch.setattr(executions, "_LOOK_FOR", 10.0)
    assert [one["id"] for one in admin.get(f"{EXECUTIONS}?text=needle").json["items"]] == [first]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("status=lost", "status"),
        ("status=", "status"),
        ("status=failed,lost", "status"),
        ("status=failed,", "status"),
        ("status=failed&status=lost", "status"),
        ("job_id=0", "job_id"),
        ("job_id=x", "job_id"),
        ("job_id=2147483648", "job_id"),
        ("since=yesterday", "since"),
        ("since=", "since"),
        ("since=" + "9" * 41, "since"),
        ("since=2026-02-30", "since"),
        ("since=1h&until=2h", "since"),
        ("until=tomorrow", "until"),
        ("cause=magic", "cause"),
        ("job_group=0", "job_group"),
        ("executor=", "executor"),
        ("executor=" + "x" * 256, "executor"),
        ("text=", "text"),
        ("text=%00", "text"),
        ("text=" + "x" * 201, "text"),
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


def ran(site: Site, job_id: int, seconds: int) -> int:
    """An execution that has ended now, after so many seconds."""
    now, one = site.clock.now(), site.execution(job_id)
    site.dispatched(one, "http://127.0.0.8:9999")
    ending = Ending(execution_id=one, trigger_code=SUCCESS, handle_code=SUCCESS, start_time=now - seconds * 1000)
    site.tx(finish, [ending], now)
    return one


def test_the_longest_come_first_with_how_far_back_was_looked(
    site: Site, admin: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = site.job()
    ids = [ran(site, job_id, seconds) for seconds in (5, 9, 2, 7)]
    path = f"/api/v1/executions?job_id={job_id}&sort=duration&limit=2"
    first = admin.get(path).json
    second = admin.get(f"{path}&cursor={first['next_cursor']}").json
    assert [one["id"] for one in first["items"] + second["items"]] == [ids[1], ids[3], ids[0], ids[2]]
    assert (first["looked_to"], second["next_cursor"]) == (None, None)
    monkeypatch.setattr(executions, "_SORTED", 2)
    few = admin.get(path).json
    assert [one["id"] for one in few["items"]] == [ids[3], ids[2]]
    assert (few["next_cursor"], few["looked_to"]) == (None, few["items"][-1]["trigger_time"])
    other = admin.get("/api/v1/executions?limit=1").json["next_cursor"]
    for cursor in (other, cursor_of("1", "2", "3"), cursor_of("1", "2", "x", "4", "5"), cursor_of(*"1234", "9" * 19)):
        assert admin.get(f"{path}&cursor={cursor}").problem(422)["errors"][0]["field"] == "cursor"
    assert admin.get("/api/v1/executions?sort=size").status == 422


def test_what_runs_is_among_the_longest_by_its_time_so_far(own_site: Site) -> None:
    job_id, admin = own_site.job(), own_site.admin()
    running = own_site.execution(job_id)
    own_site.dispatched(running, "http://127.0.0.8:9999")
    own_site.clock.move(8)
    ids = [ran(own_site, job_id, seconds) for seconds in (5, 9)]
    shown = admin.get("/api/v1/executions?sort=duration").json["items"]
    assert [one["id"] for one in shown] == [ids[1], running, ids[0]]


def test_what_waits_for_its_job_is_told_for_which_execution(site: Site, admin: Caller) -> None:
    address = "http://127.0.0.1:9999"
    job_id = site.job()
    running, waits = [site.execution(job_id) for _ in range(2)]
    site.dispatched(running, address)
    site.tx(put_back, [waits], None, "busy_elsewhere", 1, site.clock.now())
    told = admin.get(f"{EXECUTIONS}/{waits}/why").json
    facts = {"execution": running, "address": address}
    assert (told["next_code"], told["next_facts"]) == ("waits_for_running", facts)
    assert told["summary"].startswith(f"Execution {running} of the same job may still be running at {address}.")


def test_what_waits_its_turn_on_an_executor_is_told_so(site: Site, admin: Caller) -> None:
    address = "http://127.0.0.1:9999"
    job_id = site.job()
    ids = [site.execution(job_id) for _ in range(4)]
    for one in ids[:3]:
        site.dispatched(one, address)
    for sort in ("opened", "duration"):
        listed = admin.get(f"{EXECUTIONS}?job_id={job_id}&sort={sort}").json["items"]
        places = {one["id"]: one["queue_position"] for one in listed}
        assert places == {ids[0]: None, ids[1]: 1, ids[2]: 2, ids[3]: None}
    assert admin.get(f"{EXECUTIONS}/{ids[2]}").json["queue_position"] == 2
    told = admin.get(f"{EXECUTIONS}/{ids[2]}/why").json
    facts = {"address": address, "position": 2, "ahead": ids[0]}
    assert (told["next_code"], told["next_facts"]) == ("waits_its_turn", facts)
    assert admin.get(f"{EXECUTIONS}/{ids[0]}/why").json["next_code"] == "runs"
    end(site, ids[0])
    assert admin.get(f"{EXECUTIONS}/{ids[1]}").json["queue_position"] is None
