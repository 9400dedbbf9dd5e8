"""Batches over the API: looked at first, stored once per key, followed and cancelled; bad input changes nothing."""

from typing import Any

import pytest

from orth.domain.executions import FAILURE, SUCCESS
from orth.domain.jobs import TriggerCause
from orth.store.executions import Ending, end_executions, ids_of_trigger, open_executions
from tests.coordinator.http.live import Caller, Site
from tests.store.builders import an_opening

SPAN = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-02T00:00:00Z"}
HOURLY = {"schedule_type": "CRON", "schedule_conf": "0 * * * *"}


def path(job_id: int) -> str:
    return f"/api/v1/jobs/{job_id}/trigger-batch"


def test_a_preview_counts_and_shows_both_ends_and_writes_nothing(site: Site, admin: Caller) -> None:
    job_id = site.job(**HOURLY)
    before = site.state()
    answer = admin.post(path(job_id), {**SPAN, "preview": True})
    assert answer.status == 200
    assert {name: answer.json[name] for name in ("count", "refused", "done")} == {"count": 24, "refused": 0, "done": 0}
    assert (len(answer.json["first"]), len(answer.json["last"])) == (20, 20)
    assert answer.json["first"][0] == "2026-01-01T00:00:00.000Z"
    assert answer.json["last"][-1] == "2026-01-01T23:00:00.000Z"
    assert (answer.json["start"], answer.json["end"]) == ("2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z")
    nothing = admin.post(path(job_id), {**SPAN, "end": "2026-01-01T00:00:00.000Z", "preview": True})
    nothing.problem(422)
    assert site.state() == before


def test_a_batch_is_stored_shown_listed_and_cancelled(site: Site, admin: Caller) -> None:
    job_id = site.job(**HOURLY)
    begun = admin.post(path(job_id), {**SPAN, "executor_param": "again", "at_once": 3})
    assert (begun.status, begun.json["total"]) == (202, 24)
    where = begun.headers["location"]
    assert where == f"/api/v1/batches/{begun.json['batch_id']}"
    shown = admin.get(where).json
    del shown["created_at"], shown["changed_at"]
    assert shown == {
        "id": begun.json["batch_id"],
        "job_id": job_id,
        "state": "running",
        "reason": "",
        "start_time": "2026-01-01T00:00:00.000Z",
        "end_time": "2026-01-02T00:00:00.000Z",
        "total": 24,
        "opened": 0,
        "running": 0,
        "succeeded": 0,
        "failed": 0,
        "at_once": 3,
        "skip_done": False,
        "executor_param": "again",
        "address_list": [],
        "actor": "admin",
    }
    second = admin.post(path(job_id), SPAN).json["batch_id"]
    assert [one["id"] for one in admin.get("/api/v1/batches").json["items"]] == [second, shown["id"]]
    first_page = admin.get("/api/v1/batches?limit=1").json
    assert [one["id"] for one in first_page["items"]] == [second]
    rest = admin.get(f"/api/v1/batches?limit=1&cursor={first_page['next_cursor']}").json
    assert ([one["id"] for one in rest["items"]], rest["next_cursor"]) == ([shown["id"]], None)
    assert admin.get(f"/api/v1/batches?job_id={job_id + 1}").json["items"] == []
    for _ in range(2):
        cancelled = admin.post(f"{where}/cancel")
        assert (cancelled.status, cancelled.json["state"]) == (200, "cancelled")
        assert cancelled.json["reason"] == "cancelled by admin"
    assert [one["id"] for one in admin.get("/api/v1/batches?state=running").json["items"]] == [second]


def test_what_became_of_its_executions_is_counted(site: Site, admin: Caller) -> None:
    job_id = site.job(**HOURLY)
    batch = admin.post(path(job_id), SPAN).json["batch_id"]
    openings = [
        an_opening(f"batch:{batch}:{n}", job_id=job_id, schedule_time=n, batch_id=batch, cause=TriggerCause.BATCH)
        for n in range(3)
    ]
    site.tx(open_executions, openings, site.clock.now())
    for n, code in ((0, SUCCESS), (1, FAILURE)):
        (one,) = site.tx(ids_of_trigger, job_id, f"batch:{batch}:{n}")
        site.tx(end_executions, [Ending(execution_id=one, trigger_code=SUCCESS, handle_code=code)], site.clock.now())
    shown = admin.get(f"/api/v1/batches/{batch}").json
    assert (shown["running"], shown["succeeded"], shown["failed"]) == (1, 1, 1)
    (listed,) = admin.get("/api/v1/batches").json["items"]
    assert listed == shown
    site.execution(job_id)
    ours = admin.get(f"/api/v1/executions?batch_id={batch}").json["items"]
    assert [(one["cause"], one["batch_id"]) for one in ours] == [("batch", batch)] * 3
    for wrong in (0, "x", 2**31):
        admin.get(f"/api/v1/executions?batch_id={wrong}").problem(422)


def test_the_same_key_is_the_same_batch(site: Site, admin: Caller) -> None:
    job_id = site.job(**HOURLY)
    first = admin.post(path(job_id), SPAN, Idempotency_Key="k").json
    assert admin.post(path(job_id), SPAN, Idempotency_Key="k").json == first
    assert admin.post(path(job_id), SPAN).json["batch_id"] != first["batch_id"]
    before = site.state()
    said = admin.post(path(job_id), {**SPAN, "at_once": 9}, Idempotency_Key="k").problem(422)
    assert "another body" in said["detail"]
    assert site.state() == before


BAD: list[tuple[dict[str, Any], str]] = [
    ({"start": "yesterday"}, "start"),
    ({"start": ""}, "start"),
    ({"start": 5}, "start"),
    ({"start": None}, "start"),
    ({"start": "2026-01-01T00:00:00Z" + "0" * 99}, "start"),
    ({"start": "0001-01-01"}, "start"),
    ({"end": "2026-02-30"}, "end"),
    ({"end": "9999-01-01"}, "end"),
    ({"end": SPAN["start"]}, "end"),
    ({"end": "2025-12-31"}, "end"),
    ({"end": "2026-01-01T00:00:00\x00Z"}, "end"),
    ({"end": "2028-01-01"}, "end"),
    ({"end": "2199-01-01"}, "end"),
    ({"max": 23}, "end"),
    ({"max": 0}, "max"),
    ({"max": 1.5}, "max"),
    ({"at_once": 0}, "at_once"),
    ({"at_once": 1001}, "at_once"),
    ({"at_once": "3"}, "at_once"),
    ({"at_once": True}, "at_once"),
    ({"skip_done": 1}, "skip_done"),
    ({"preview": "yes"}, "preview"),
    ({"executor_param": 5}, "executor_param"),
    ({"executor_param": "nul\x00"}, "executor_param"),
    ({"address_list": ["http://evil.example"]}, "address_list"),
    ({"address_list": 5}, "address_list"),
    ({"cause": "cron"}, "cause"),
    ({"log_level": "DEBUG"}, "log_level"),
]


@pytest.mark.parametrize(("changes", "field"), BAD, ids=lambda value: str(value)[:60])
def test_bad_input_is_refused_at_its_field(site: Site, admin: Caller, changes: dict[str, Any], field: str) -> None:
    job_id = site.job(**HOURLY)
    before = site.state()
    said = admin.post(path(job_id), {**SPAN, **changes}).problem(422)
    assert said["errors"][0]["field"] == field
    assert site.state() == before


@pytest.mark.parametrize("body", [None, [], "x", 5, {}, {"start": SPAN["start"]}], ids=str)
def test_a_span_must_be_said(site: Site, admin: Caller, body: object) -> None:
    admin.post(path(site.job(**HOURLY)), body).problem(422)


def test_how_many_fires_are_too_many_is_said(site: Site, admin: Caller) -> None:
    job_id = site.job(**HOURLY)
    said = admin.post(path(job_id), {**SPAN, "end": "2028-01-01"}).problem(422)
    assert "17,520 fires; a batch may have 10,000" in said["detail"]
    assert "24 fires; a batch may have 10" in admin.post(path(job_id), {**SPAN, "max": 10}).problem(422)["detail"]
    preview = {**SPAN, "end": "2028-01-01", "preview": True}
    admin.post(path(job_id), preview).problem(422)


@pytest.mark.parametrize(
    "schedule",
    [
        {"schedule_type": "NONE"},
        {"schedule_type": "FIX_DELAY", "schedule_conf": "5"},
        {"schedule_type": "AT", "schedule_conf": "2199-01-01T00:00:00Z"},
    ],
    ids=lambda schedule: schedule["schedule_type"],
)
@pytest.mark.parametrize("preview", [True, False])
def test_a_schedule_without_a_span_is_refused(
    site: Site, admin: Caller, schedule: dict[str, str], preview: bool
) -> None:
    said = admin.post(path(site.job(**schedule)), {**SPAN, "preview": preview}).problem(409)
    assert "CRON or FIX_RATE" in said["hint"]


@pytest.mark.parametrize("path_", ["/api/v1/batches/7", "/api/v1/batches/7/cancel", path(7)])
def test_what_does_not_exist_is_not_found(site: Site, admin: Caller, path_: str) -> None:
    method = "GET" if path_.endswith("/7") else "POST"
    admin.call(method, path_, SPAN if "jobs" in path_ else None).problem(404)


@pytest.mark.parametrize("query", ["state=over", "job_id=0", "job_id=x", "limit=0", "cursor=*"])
def test_a_list_is_asked_for_properly(site: Site, admin: Caller, query: str) -> None:
    admin.get(f"/api/v1/batches?{query}").problem(422)


def test_a_job_with_a_running_batch_is_not_deleted(site: Site, admin: Caller) -> None:
    job_id = site.job(**HOURLY)
    batch = admin.post(path(job_id), SPAN).json["batch_id"]
    assert "batch" in admin.call("DELETE", f"/api/v1/jobs/{job_id}").problem(409)["detail"]
    admin.post(f"/api/v1/batches/{batch}/cancel")
    assert admin.call("DELETE", f"/api/v1/jobs/{job_id}").status == 204
    assert admin.get(f"/api/v1/batches/{batch}").json["state"] == "cancelled"
