"""Executors say what they run, and people see it."""

from typing import Any

import pytest

from tests.coordinator.http.live import Caller, Site
from tests.coordinator.http.test_tokens import machine, of_group

THERE = "http://127.0.0.1:9999"
BEGUN = "/api/begun"


def report(*ids: int, start: int = 1_750_000_000_000) -> dict[str, Any]:
    return {"incarnation": "process-1", "begun": [{"logId": one, "startTime": start} for one in ids]}


def shown(site: Site, one: int) -> tuple[str, str, str | None]:
    said = site.admin().get(f"/api/v1/executions/{one}").json
    return said["status"], said["phase"], said["start_time"]


def test_one_that_runs_is_told_from_one_that_waits(site: Site, executor: Caller) -> None:
    job = site.job()
    runs, waits = (site.execution(job) for _ in range(2))
    for one in (runs, waits):
        site.dispatched(one, THERE)
    assert executor.post(BEGUN, report(runs)).envelope()["data"] == {"again": []}
    assert shown(site, runs) == ("pending", "running", "2025-06-15T15:06:40.000Z")
    assert shown(site, waits) == ("pending", "dispatched", None)
    phases = site.admin().get("/api/v1/stats").json["open"]["phases"]
    assert (phases["running"], phases["dispatched"]) == (1, 1)
    assert executor.post("/api/callback", [{"logId": runs, "handleCode": 200}]).envelope()
    assert shown(site, runs)[:2] == ("success", "ended")
    executor.post(BEGUN, report(runs, start=1)).envelope()
    assert shown(site, runs) == ("success", "ended", "2025-06-15T15:06:40.000Z"), "nothing undoes an end"


def test_the_answer_to_its_trigger_comes_first(site: Site, executor: Caller) -> None:
    one = site.execution(site.job())
    site.sent(one, THERE)
    assert executor.post(BEGUN, report(one)).envelope()["data"] == {"again": [one]}


def test_a_group_token_speaks_for_its_own_executions_only(site: Site) -> None:
    own, other = (site.execution(site.job(job_group=site.group(name))) for name in ("demo", "other"))
    for one in (own, other):
        site.dispatched(one, THERE)
    executor = machine(site, of_group(site, "demo")["token"])
    executor.post(BEGUN, report(other)).envelope(403)
    executor.post(BEGUN, report(own, other)).envelope()
    assert [shown(site, one)[1] for one in (own, other)] == ["running", "dispatched"]


def test_nobody_else_is_let_in(site: Site, stranger: Caller) -> None:
    one = site.execution(site.job())
    site.dispatched(one, THERE)
    assert stranger.post(BEGUN, report(one)).status == 401
    assert site.admin().post(BEGUN, report(one)).status == 401
    assert shown(site, one)[1] == "dispatched"


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"incarnation": "i", "begun": [{"logId": "x", "startTime": 1}]},
        {"incarnation": "i", "begun": [{"logId": 1, "startTime": -1}]},
        {"incarnation": "i", "begun": [{"logId": 1, "startTime": 1}] * 1001},
        {"begun": []},
    ],
)
def test_what_is_no_report_is_refused(executor: Caller, body: Any) -> None:
    executor.post(BEGUN, body).envelope(400)
