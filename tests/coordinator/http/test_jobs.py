"""Jobs: defined, edited by one at a time, started, stopped, deleted, and asked when they fire."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from orth.domain.fires import FireDecision
from orth.store.fires import record_fires
from tests.coordinator.http.live import Caller, Site

JOBS = "/api/v1/jobs"
NIGHTLY = {"schedule_type": "CRON", "schedule_conf": "0 2 * * *"}


def announce(executor: Caller, app_name: str, *handlers: str, address: str = "http://127.0.0.1:9999") -> None:
    said = {"incarnation": "one", "handlers": [{"name": name} for name in handlers]}
    beat = {"registryKey": app_name, "registryValue": address, "orth": said}
    executor.post("/api/registry", beat).envelope()


def test_a_job_is_defined_read_replaced_patched_and_deleted(site: Site, admin: Caller) -> None:
    group = site.group()
    made = admin.post(JOBS, {"job_group": group, "job_desc": "nightly", "executor_handler": "report", **NIGHTLY})
    assert (made.status, made.headers["etag"]) == (201, '"1"')
    where = made.headers["location"]
    assert where == f"{JOBS}/{made.json['id']}"
    assert admin.get(where).json == made.json

    body = {"job_group": group, "job_desc": "hourly", "executor_handler": "report", "executor_timeout": 60}
    replaced = admin.call("PUT", where, body)
    assert (replaced.status, replaced.headers["etag"]) == (200, '"2"')
    assert replaced.json["schedule_type"] == "NONE"  # a replacement says everything
    assert replaced.json["executor_timeout"] == 60

    patched = admin.call("PATCH", where, {"author": "somebody"})
    assert patched.json == {**replaced.json, "author": "somebody", "version": 3}
    assert admin.get(where).json == patched.json

    assert admin.call("DELETE", where).status == 204
    for method in ("GET", "DELETE"):
        admin.call(method, where).problem(404)
    admin.call("PATCH", where, {}).problem(404)
    admin.call("PUT", where, body).problem(404)


def test_everything_unsaid_has_a_default(site: Site, admin: Caller) -> None:
    shown = admin.get(f"{JOBS}/{site.job()}").json
    del shown["id"], shown["job_group"]
    assert shown == {
        "version": 1,
        "job_desc": "nightly report",
        "author": "",
        "tags": [],
        "schedule_type": "NONE",
        "schedule_conf": "",
        "timezone": "UTC",
        "dst_policy": "auto",
        "jitter": 0,
        "calendar_id": None,
        "misfire_strategy": "DO_NOTHING",
        "executor_route_strategy": "ROUND",
        "label_selector": "",
        "executor_queue": "",
        "priority": 1,
        "super_task_id": 0,
        "executor_handler": "report",
        "executor_param": "",
        "executor_block_strategy": "SERIAL_EXECUTION",
        "executor_concurrency": 1,
        "overlap": "cluster",
        "executor_timeout": 0,
        "executor_fail_retry_count": 0,
        "lost_after": 0,
        "retry_policy": None,
        "child_param": "own",
        "alarm_email": "",
        "alarm_policy": None,
        "glue_type": "BEAN",
        "glue_source": "",
        "glue_remark": "",
        "child_jobid": [],
        "child_per_shard": False,
        "secrets": [],
        "trigger_status": 0,
        "trigger_last_time": None,
        "trigger_next_time": None,
    }


@pytest.mark.parametrize("if_match", ['"1"', '"7", "1"', "*", None])
def test_an_edit_of_the_version_that_was_read_is_taken(site: Site, admin: Caller, if_match: str | None) -> None:
    headers = {} if if_match is None else {"If-Match": if_match}
    answer = admin.call("PATCH", f"{JOBS}/{site.job()}", {"author": "me"}, headers=headers)
    assert (answer.status, answer.headers["etag"]) == (200, '"2"')


@pytest.mark.parametrize("if_match", ['"1"', '"3"', 'W/"2"', "2", "", '"x"'])
@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_an_edit_of_another_version_is_refused(site: Site, admin: Caller, method: str, if_match: str) -> None:
    job_id = site.job()
    where = f"{JOBS}/{job_id}"
    assert admin.call("PATCH", where, {"author": "first"}).json["version"] == 2
    before = site.state()
    body = None if method == "DELETE" else {**admin.get(where).json, "author": "second"}
    if body is not None:
        readable = ("id", "version", "trigger_status", "trigger_last_time", "trigger_next_time")
        body = {name: value for name, value in body.items() if name not in readable}
    assert admin.call(method, where, body, headers={"If-Match": if_match}).problem(412)["hint"]
    assert site.state() == before


def test_of_many_edits_of_one_version_one_wins(site: Site) -> None:
    where = f"{JOBS}/{site.job()}"

    def edit(number: int) -> int:
        headers = {"If-Match": '"1"'}
        return site.admin().call("PATCH", where, {"author": f"author {number}"}, headers=headers).status

    with ThreadPoolExecutor(8) as threads:
        answers = sorted(threads.map(edit, range(8)))
    assert answers == [200] + [412] * 7
    assert site.admin().get(where).json["version"] == 2


@pytest.mark.parametrize("headers", [{}, {"If-Match": "*"}], ids=str)
def test_patches_of_different_fields_at_once_lose_nothing(site: Site, headers: dict[str, str]) -> None:
    where = f"{JOBS}/{site.job()}"
    changes: list[dict[str, Any]] = [
        {"author": "me"},
        {"executor_timeout": 7},
        {"executor_param": "p"},
        {"jitter": 5},
        {"job_desc": "other"},
        {"executor_concurrency": 3},
    ]
    with ThreadPoolExecutor(len(changes)) as threads:
        answers = list(threads.map(lambda change: site.admin().call("PATCH", where, change, headers=headers), changes))
    assert {answer.status for answer in answers} == {200}
    shown = site.admin().get(where).json
    assert {name: shown[name] for change in changes for name in change} == {
        name: value for change in changes for name, value in change.items()
    }


def test_a_started_job_waits_for_its_next_fire(site: Site, admin: Caller) -> None:
    where = f"{JOBS}/{site.job(**NIGHTLY)}"
    started = admin.post(f"{where}/start").json
    assert (started["trigger_status"], started["trigger_next_time"]) == (1, "2026-01-31T02:00:00.000Z")
    assert admin.post(f"{where}/start").json == started  # once is enough
    stopped = admin.post(f"{where}/stop").json
    assert (stopped["trigger_status"], stopped["trigger_next_time"]) == (0, None)
    assert admin.post(f"{where}/stop").json == stopped


def test_editing_when_a_started_job_fires_moves_its_next_fire(site: Site, admin: Caller) -> None:
    where = f"{JOBS}/{site.job(**NIGHTLY)}"
    admin.post(f"{where}/start")
    assert admin.call("PATCH", where, {"author": "me"}).json["trigger_next_time"] == "2026-01-31T02:00:00.000Z"
    moved = admin.call("PATCH", where, {"schedule_conf": "0 3 * * *", "timezone": "Europe/Berlin"}).json
    assert (moved["trigger_status"], moved["trigger_next_time"]) == (1, "2026-01-31T02:00:00.000Z")
    moved = admin.call("PATCH", where, {"timezone": "UTC"}).json
    assert moved["trigger_next_time"] == "2026-01-31T03:00:00.000Z"


def test_taking_the_schedule_from_a_started_job_stops_it(site: Site, admin: Caller) -> None:
    where = f"{JOBS}/{site.job(**NIGHTLY)}"
    admin.post(f"{where}/start")
    shown = admin.call("PATCH", where, {"schedule_type": "NONE"}).json
    assert (shown["trigger_status"], shown["trigger_next_time"]) == (0, None)


def test_a_job_without_schedule_cannot_be_started(site: Site, admin: Caller) -> None:
    assert admin.post(f"{JOBS}/{site.job()}/start").problem(409)["hint"]


def test_a_job_whose_only_fire_is_over_can_be_renamed_but_not_started(site: Site, admin: Caller) -> None:
    where = f"{JOBS}/{site.job(schedule_type='AT', schedule_conf='2026-01-30T10:30:00Z')}"
    site.clock.move(1800)
    said = admin.post(f"{where}/start").problem(422)
    assert (said["errors"][0]["field"], bool(said["hint"])) == ("schedule_conf", True)
    assert admin.call("PATCH", where, {"job_desc": "once, done"}).json["job_desc"] == "once, done"
    admin.call("PATCH", where, {"timezone": "Europe/Berlin"}).problem(422)


@pytest.mark.parametrize("action", ["start", "stop", "trigger"])
def test_a_job_that_does_not_exist_does_nothing(site: Site, admin: Caller, action: str) -> None:
    before = site.state()
    admin.post(f"{JOBS}/4711/{action}").problem(404)
    assert site.state() == before


@pytest.mark.parametrize("job_id", ["0", "-1", "2147483648", "9" * 30, "1.5", "x", "%00"])
def test_what_cannot_be_an_id_is_refused(site: Site, admin: Caller, job_id: str) -> None:
    before = site.state()
    for method, path in [("GET", ""), ("DELETE", ""), ("PATCH", ""), ("POST", "/start"), ("POST", "/trigger")]:
        said = admin.call(method, f"{JOBS}/{job_id}{path}", {} if method == "PATCH" else None).problem(422)
        assert said["errors"][0]["field"] == "job_id"
    assert site.state() == before


def test_a_job_with_an_open_execution_stays(site: Site, admin: Caller, executor: Caller) -> None:
    job_id = site.job()
    execution_id = site.execution(job_id)
    assert admin.call("DELETE", f"{JOBS}/{job_id}").problem(409)["hint"]
    site.dispatched(execution_id, "http://127.0.0.1:9999")
    admin.call("DELETE", f"{JOBS}/{job_id}").problem(409)
    executor.post("/api/callback", [{"logId": execution_id, "handleCode": 200}]).envelope()
    assert admin.call("DELETE", f"{JOBS}/{job_id}").status == 204
    assert admin.get(f"/api/v1/executions/{execution_id}").json["status"] == "success"  # history stays


def test_jobs_of_one_group(site: Site, admin: Caller) -> None:
    first, second = site.group("first"), site.group("second")
    jobs = [site.job(job_group=group) for group in (first, second, first)]
    shown = admin.get(f"{JOBS}?job_group={first}").json["items"]
    assert [job["id"] for job in shown] == [jobs[0], jobs[2]]
    assert admin.get(f"{JOBS}?job_group=4711").json["items"] == []
    admin.get(f"{JOBS}?job_group=0").problem(422)


def test_the_coming_fires_are_told_whether_or_not_it_is_started(site: Site, admin: Caller) -> None:
    where = f"{JOBS}/{site.job(**NIGHTLY, timezone='Europe/Berlin', jitter=60_000)}"
    shown = admin.get(f"{where}/next?n=2").json
    assert shown["timezone"] == "Europe/Berlin"
    assert [item["fire_time"] for item in shown["items"]] == ["2026-01-31T01:00:00.000Z", "2026-02-01T01:00:00.000Z"]
    assert all(item["fire_time"] <= item["due_time"] < item["fire_time"][:14] + "01:01" for item in shown["items"])
    assert len(admin.get(f"{where}/next").json["items"]) == 10
    for n in ("0", "101", "x"):
        admin.get(f"{where}/next?n={n}").problem(422)


@pytest.mark.parametrize(
    ("schedule", "fires"),
    [
        ({}, []),
        ({"schedule_type": "AT", "schedule_conf": "2026-01-30T11:00:00Z"}, ["2026-01-30T11:00:00.000Z"]),
        ({"schedule_type": "FIX_DELAY", "schedule_conf": "30"}, ["2026-01-30T10:00:30.000Z"]),
        (
            {"schedule_type": "FIX_RATE", "schedule_conf": "30"},
            ["2026-01-30T10:00:30.000Z", "2026-01-30T10:01:00.000Z", "2026-01-30T10:01:30.000Z"],
        ),
    ],
    ids=str,
)
def test_the_coming_fires_of_each_kind_of_schedule(
    site: Site, admin: Caller, schedule: dict[str, str], fires: list[str]
) -> None:
    shown = admin.get(f"{JOBS}/{site.job(**schedule)}/next?n=3").json
    assert [item["fire_time"] for item in shown["items"]] == fires


def test_a_fire_its_calendar_refuses_says_why(site: Site, admin: Caller) -> None:
    workdays = {"name": "workdays", "definition": {"weekdays": [1, 2, 3, 4, 5]}}
    calendar = admin.post("/api/v1/calendars", workdays).json["id"]
    items = admin.get(f"{JOBS}/{site.job(**NIGHTLY, calendar_id=calendar)}/next?n=3").json["items"]
    assert [bool(item["skipped"]) for item in items] == [True, True, False]  # Saturday, Sunday, Monday


def test_past_fires_are_told_newest_first(site: Site, admin: Caller) -> None:
    job_id = site.job(**NIGHTLY)
    times = [site.clock.now() + 1000 * number for number in range(5)]
    decisions = [FireDecision(job_id, time, time, 1, "skipped", "too late", 1) for time in times]
    site.tx(record_fires, decisions, 1, site.clock.now())
    first = admin.get(f"{JOBS}/{job_id}/fires?limit=3").json
    second = admin.get(f"{JOBS}/{job_id}/fires?limit=3&cursor={first['next_cursor']}").json
    shown = [fire["fire_time"][17:19] for fire in first["items"] + second["items"]]
    assert shown == ["04", "03", "02", "01", "00"]
    assert (first["items"][0]["decision"], first["items"][0]["reason"]) == ("skipped", "too late")
    assert second["next_cursor"] is None
    admin.get(f"{JOBS}/4711/fires").problem(404)


def test_a_handler_nobody_has_is_refused_with_the_nearest_one(site: Site, admin: Caller, executor: Caller) -> None:
    for address in ("http://127.0.0.1:9999", "http://127.0.0.2:9999"):  # two that say the same
        announce(executor, "demo", "report", "clean", address=address)
    body = {"job_group": site.group("demo"), "job_desc": "x", "executor_handler": "reprot"}
    before = site.state()
    said = admin.post(JOBS, body).problem(422)
    assert said["errors"][0]["field"] == "executor_handler"
    assert "Did you mean report?" in said["hint"]
    assert site.state() == before
    assert admin.post(f"{JOBS}?allow_unknown_handler=true", body).status == 201
    assert admin.post(JOBS, {**body, "executor_handler": "report"}).status == 201


def test_a_parameter_that_the_handler_would_refuse_is_not_saved(site: Site, admin: Caller, executor: Caller) -> None:
    schema = {"type": "object", "properties": {"market": {"type": "string"}}, "additionalProperties": False}
    said = {"incarnation": "one", "handlers": [{"name": "sync", "params_schema": schema}]}
    beat = {"registryKey": "demo", "registryValue": "http://127.0.0.1:9999", "orth": said}
    executor.post("/api/registry", beat).envelope()
    body = {"job_group": site.group(), "job_desc": "sync", "executor_handler": "sync"}
    before = site.state()
    refused = admin.post(JOBS, {**body, "executor_param": '{"markt": "x"}'}).problem(422)
    sentence = "The parameter does not fit the handler 'sync': markt: there is no such argument; known: market."
    assert refused["detail"] == sentence
    assert site.state() == before
    made = admin.post(JOBS, {**body, "executor_param": '{"market": "x"}'})
    assert made.status == 201
    admin.call("PATCH", made.headers["location"], {"executor_param": "paris"}).problem(422)
    assert admin.call("PATCH", made.headers["location"], {"executor_param": ""}).status == 200
    assert admin.post(f"{JOBS}?allow_unknown_handler=true", {**body, "executor_param": "paris"}).status == 201


@pytest.mark.parametrize("handler", ["os.system", "__import__", "report; rm -rf", "../report"])
def test_a_handler_name_is_looked_up_and_nothing_else(
    site: Site, admin: Caller, executor: Caller, handler: str
) -> None:
    announce(executor, "demo", "report")
    body = {"job_group": site.group("demo"), "job_desc": "x", "executor_handler": handler}
    admin.post(JOBS, body).problem(422)


def test_a_job_moved_to_another_group_needs_a_handler_there(site: Site, admin: Caller, executor: Caller) -> None:
    announce(executor, "first", "report")
    announce(executor, "second", "clean")
    first, second = site.group("first"), site.group("second")
    where = f"{JOBS}/{site.job(job_group=first)}"
    assert admin.call("PATCH", where, {"job_group": second}).problem(422)["errors"][0]["field"] == "executor_handler"
    moved = admin.call("PATCH", where, {"job_group": second, "executor_handler": "clean"})
    assert moved.json["job_group"] == second
    admin.call("PATCH", where, {"job_group": 4711}).problem(404)


def test_a_handler_cannot_be_judged_while_an_executor_has_not_said_what_it_has(site: Site, executor: Caller) -> None:
    announce(executor, "demo", "report")
    executor.post("/api/registry", {"registryKey": "demo", "registryValue": "http://127.0.0.2:9999"}).envelope()
    assert site.job(job_group=site.group("demo"), executor_handler="of the other one")
