"""Statistics as people ask for them."""

import pytest

from orth.coordinator.finishing import finish
from orth.domain.executions import FAILURE, SUCCESS, TIMED_OUT
from orth.store.executions import Ending
from orth.store.statistics import fold
from tests.coordinator.http.live import Caller, Site

STATS = "/api/v1/stats"
HOUR = 3600


def ended(site: Site, job_id: int, trigger_code: int = SUCCESS, handle_code: int = SUCCESS, seconds: float = 1) -> None:
    execution_id = site.execution(job_id)
    if trigger_code == SUCCESS:
        site.dispatched(execution_id, "http://10.0.0.1:9999")
    site.clock.move(seconds)
    ending = Ending(execution_id=execution_id, trigger_code=trigger_code, handle_code=handle_code)
    site.tx(finish, [ending], site.clock.now())


def a_morning(site: Site) -> tuple[int, int]:
    """Two jobs of two groups: one that ran well at ten and failed at eleven, and one that nobody took."""
    first, second = site.job(), site.job(job_group=site.group(app_name="other"))
    ended(site, first, seconds=1)
    ended(site, first, seconds=3)
    site.clock.move(HOUR)
    ended(site, first, handle_code=FAILURE, seconds=2)
    ended(site, first, handle_code=TIMED_OUT, seconds=2)
    ended(site, second, trigger_code=FAILURE, handle_code=0)
    site.dispatched(site.execution(first), "http://10.0.0.1:9999")
    site.execution(second)
    return first, second


@pytest.mark.parametrize("folded", [False, True])
def test_the_figures_of_a_day(site: Site, folded: bool) -> None:
    first, second = a_morning(site)
    admin = site.admin()  # signed in now: an hour has passed
    if folded:
        site.tx(fold, 100)
    shown = admin.get(STATS).json
    phases = dict.fromkeys(("dispatching", "unknown", "offered", "queued", "running", "reporting"), 0)
    assert shown == {
        "since": "2026-01-29T11:00:00.000Z",
        "until": "2026-01-30T11:00:09.000Z",
        "executions": 5,
        "ended": {"success": 2, "failed": 1, "timeout": 1, "trigger_failed": 1},
        "success_rate": 0.4,
        "mean_ms": 2000,
        "longest_ms": 3000,
        "open": {"init": 1, "pending": 1, "phases": {**phases, "opened": 1, "dispatched": 1}},
    }
    group = admin.get(f"/api/v1/jobs/{second}").json["job_group"]
    of_group = admin.get(f"{STATS}?job_group={group}").json
    assert (of_group["executions"], of_group["success_rate"], of_group["mean_ms"]) == (1, 0.0, None)
    assert of_group["open"]["init"] == 1
    assert of_group["open"]["pending"] == 0
    assert admin.get(f"{STATS}?since=1s").json["executions"] == 3  # of the whole hour
    job = admin.get(f"/api/v1/jobs/{first}/stats?days=2").json
    assert (job["job_id"], job["executions"], job["success_rate"]) == (first, 4, 0.5)
    assert [day["start"] for day in job["days"]] == ["2026-01-29T00:00:00.000Z", "2026-01-30T00:00:00.000Z"]
    assert job["days"][1] == {
        "start": "2026-01-30T00:00:00.000Z",
        "success": 2,
        "failed": 1,
        "timeout": 1,
        "trigger_failed": 0,
        "mean_ms": 2000,
        "longest_ms": 3000,
    }


def test_a_histogram_has_every_part_of_its_span(site: Site) -> None:
    first, _second = a_morning(site)
    admin = site.admin()
    hours = admin.get(f"{STATS}/histogram?since=2026-01-30T09:30:00Z").json
    assert hours["bucket"] == "hour"
    assert [(part["start"][11:13], part["success"], part["trigger_failed"]) for part in hours["items"]] == [
        ("09", 0, 0),
        ("10", 2, 0),
        ("11", 0, 1),
    ]
    of_job = admin.get(f"{STATS}/histogram?since=2h&job_id={first}&until=2026-01-30T11:00:00Z").json["items"]
    assert [part["failed"] for part in of_job] == [0, 0]
    days = admin.get(f"{STATS}/histogram?bucket=day").json["items"]
    assert len(days) == 31
    assert (days[0]["mean_ms"], days[0]["longest_ms"]) == (None, None)
    assert days[-1] == {
        "start": "2026-01-30T00:00:00.000Z",
        "success": 2,
        "failed": 1,
        "timeout": 1,
        "trigger_failed": 1,
        "mean_ms": 2000,
        "longest_ms": 3000,
    }


def test_nothing_is_no_rate(site: Site, admin: Caller) -> None:
    job_id = site.job()
    shown = admin.get(f"/api/v1/jobs/{job_id}/stats").json
    assert (shown["executions"], shown["success_rate"], shown["mean_ms"], shown["longest_ms"]) == (0, None, None, None)
    assert len(shown["days"]) == 7


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/stats?since=tomorrow", "since"),
        ("/stats?since=2027-01-01T00:00:00Z", "since"),
        ("/stats?since=1960-01-01T00:00:00Z", "since"),
        ("/stats?job_group=0", "job_group"),
        ("/stats/histogram?since=100d", "since"),
        ("/stats/histogram?since=1h&until=2h", "since"),
        ("/stats/histogram?bucket=minute", "bucket"),
        ("/stats/histogram?until=9999-12-31T23:59:59Z&bucket=day", "since"),
        ("/jobs/1/stats?days=0", "days"),
        ("/jobs/1/stats?days=401", "days"),
    ],
)
def test_a_span_that_means_nothing_is_refused(admin: Caller, path: str, field: str) -> None:
    assert admin.get(f"/api/v1{path}").problem(422)["errors"][0]["field"] == field


def test_whose_statistics(admin: Caller, stranger: Caller) -> None:
    admin.get("/api/v1/jobs/4711/stats").problem(404)
    for path in ("/stats", "/stats/histogram", "/jobs/1/stats"):
        stranger.get(f"/api/v1{path}").problem(401)
