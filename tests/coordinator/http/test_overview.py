"""The dashboard's figures, over HTTP."""

from orth.coordinator.http.overview import PER_DAY_LIMIT, LateShown, summed_up
from orth.domain.executions import FAILURE
from tests.coordinator.http.live import Caller, Site
from tests.coordinator.http.test_stats import a_morning, ended

OVERVIEW = "/api/v1/stats/overview"


def test_an_empty_coordinator_has_nothing_to_show(site: Site, admin: Caller) -> None:
    shown = admin.get(OVERVIEW).json
    assert shown.pop("at") == "2026-01-30T10:00:00.000Z"
    assert shown == {
        "jobs": {"started": 0, "stopped": 0, "paused": 0},
        "executors": {"alive": 0, "total": 0},
        "upcoming": [],
        "failing": [],
        "slowest": [],
        "late": None,
    }


def test_jobs_that_fail_and_those_that_take_long(site: Site) -> None:
    first, second = a_morning(site)
    shown = site.admin().get(OVERVIEW).json
    assert shown["jobs"] == {"started": 0, "stopped": 2, "paused": 0}
    failing = [(one["job_id"], one["status"], one["streak"]) for one in shown["failing"]]
    assert sorted(failing) == [(first, "timeout", 2), (second, "trigger_failed", 1)]
    (slow,) = shown["slowest"]
    assert (slow["job_id"], slow["executions"], slow["longest_ms"]) == (first, 4, 3000)


def test_what_fires_next(site: Site, admin: Caller) -> None:
    job_id = site.job(schedule_type="CRON", schedule_conf="0 0 12 * * ?", timezone="UTC", job_desc="noon")
    site.job(job_group=site.group("other"), job_desc="by hand only")
    assert admin.get(OVERVIEW).json["jobs"] == {"started": 0, "stopped": 2, "paused": 1}
    admin.post(f"/api/v1/jobs/{job_id}/start")
    shown = admin.get(OVERVIEW).json
    assert shown["jobs"] == {"started": 1, "stopped": 1, "paused": 0}
    (only,) = shown["upcoming"]
    assert (only["job_desc"], only["due_time"], only["per_day"]) == ("noon", "2026-01-30T12:00:00.000Z", 1)
    assert admin.get(f"{OVERVIEW}?upcoming=0").json["upcoming"] == []


def test_a_job_is_there_once_with_how_often_it_fires_in_a_day(site: Site, admin: Caller) -> None:
    definition = {"zone": "UTC", "dates_out": ["2026-01-31"]}
    calendar = admin.post("/api/v1/calendars", {"name": "closed", "definition": definition})
    assert calendar.status == 201, calendar.body
    group, closed = site.group(), calendar.json["id"]

    def job(type_: str, conf: str, **fields: object) -> int:
        return site.job(job_group=group, schedule_type=type_, schedule_conf=conf, timezone="UTC", **fields)

    often = {
        job("CRON", "0 */5 * * * ?"): 288,
        job("CRON", "* * * * * ?"): PER_DAY_LIMIT,
        job("FIX_RATE", "1h"): 24,
        job("FIX_DELAY", "30s"): None,
        job("CRON", "0 0 * * * ?", calendar_id=closed): 13,  # until midnight, for the next day is left out
    }
    for job_id in often:
        admin.post(f"/api/v1/jobs/{job_id}/start")
    shown = admin.get(OVERVIEW).json["upcoming"]
    assert {one["job_id"]: one["per_day"] for one in shown} == often
    assert len(shown) == len(often)


def test_half_and_nearly_all_fires_are_no_later_than_is_told() -> None:
    assert summed_up([]) is None
    assert summed_up([7]) == LateShown(fires=1, p50_ms=7, p95_ms=7)
    assert summed_up(range(1, 101)) == LateShown(fires=100, p50_ms=50, p95_ms=95)


def test_the_lists_are_as_long_as_asked(site: Site) -> None:
    for number in range(3):
        ended(site, site.job(job_group=site.group(app_name=f"group-{number}")), handle_code=FAILURE)
    admin = site.admin()
    assert len(admin.get(f"{OVERVIEW}?top=2").json["failing"]) == 2
    admin.get(f"{OVERVIEW}?top=51").problem(422)


def test_an_execution_has_the_name_of_its_job(site: Site, admin: Caller) -> None:
    job_id = site.job(job_desc="Collect prices")
    execution_id = site.execution(job_id)
    assert admin.get("/api/v1/executions").json["items"][0]["job_desc"] == "Collect prices"
    assert admin.get(f"/api/v1/executions/{execution_id}").json["job_desc"] == "Collect prices"
