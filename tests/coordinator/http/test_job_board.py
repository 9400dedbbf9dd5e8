"""The list of jobs with what people ask of it at a glance, over HTTP."""

import pytest

from orth.clock import iso
from orth.domain.executions import FAILURE
from orth.domain.fires import FireDecision
from orth.store.fires import record_fires
from tests.coordinator.http.live import Caller, Site
from tests.coordinator.http.test_stats import ended

BOARD = "/api/v1/jobs/board"


def test_a_job_comes_with_its_last_executions_and_its_executors(site: Site, executor: Caller) -> None:
    executor.post(
        "/api/registry", {"registryGroup": "EXECUTOR", "registryKey": "demo", "registryValue": "http://10.0.0.1:9999"}
    )
    job_id = site.job(job_desc="Collect prices")
    ended(site, job_id, seconds=2)
    ended(site, job_id, handle_code=FAILURE)
    (row,) = site.admin().get(BOARD).json["items"]
    assert (row["job"]["id"], row["job"]["job_desc"], row["job"]["glue_source"]) == (job_id, "Collect prices", None)
    assert row["executors"] == {"alive": 1, "total": 1}
    assert [run["status"] for run in row["runs"]] == ["failed", "success"]
    newest = row["runs"][0]
    assert row["last"] == newest
    assert (newest["trigger_code"], newest["handle_code"]) == (200, 500)
    assert newest["handle_time"] == "2026-01-30T10:00:03.000Z"


def test_the_next_fire_is_the_one_that_comes_next_though_it_is_planned_already(site: Site, admin: Caller) -> None:
    job_id = site.job(schedule_type="CRON", schedule_conf="0 0 * * * ?")
    admin.post(f"/api/v1/jobs/{job_id}/start")

    def coming() -> str:
        (row,) = admin.get(BOARD).json["items"]
        return str(row["job"]["trigger_next_time"])

    before, now = coming(), site.clock.now()
    site.tx(record_fires, [FireDecision(job_id, now + 4_000, now + 4_000, 1, "run", "", 1)], 1, now)
    assert coming() == iso(now + 4_000)
    (upcoming,) = admin.get("/api/v1/schedules/upcoming?minutes=60").json["items"]
    assert upcoming["due_times"] == [iso(now + 4_000), before]
    site.clock.jump(5)
    assert coming() == before


def test_never_more_than_a_dozen_executions(site: Site, admin: Caller) -> None:
    job_id = site.job()
    ids = [site.execution(job_id) for _ in range(14)]
    (row,) = admin.get(BOARD).json["items"]
    assert [run["id"] for run in row["runs"]] == sorted(ids, reverse=True)[:12]


def test_pages_follow_each_other(site: Site, admin: Caller) -> None:
    group = site.group()
    ids = [site.job(job_group=group, job_desc=f"job {number}") for number in range(3)]
    first = admin.get(f"{BOARD}?limit=2").json
    second = admin.get(f"{BOARD}?limit=2&cursor={first['next_cursor']}").json
    assert [row["job"]["id"] for row in first["items"] + second["items"]] == ids[::-1]
    assert second["next_cursor"] is None


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("text=nightly", ["nightly"]),
        ("only=failing", ["failing"]),
        ("only=paused", ["nightly"]),
        ("only=never_ran", ["nightly"]),
        ("only=no_executor", ["nightly", "failing"]),
    ],
)
def test_filters(site: Site, query: str, found: list[str]) -> None:
    group = site.group()
    ended(site, site.job(job_group=group, job_desc="failing"), handle_code=FAILURE)
    site.job(job_group=group, job_desc="nightly", schedule_type="CRON", schedule_conf="0 0 2 * * ?")
    assert [row["job"]["job_desc"] for row in site.admin().get(f"{BOARD}?{query}").json["items"]] == found


def test_what_nobody_can_mean_is_refused(admin: Caller) -> None:
    for query in ("only=broken", "limit=0", "cursor=!", "job_group=x"):
        admin.get(f"{BOARD}?{query}").problem(422)


def test_by_author_and_tags_which_are_offered_to_choose_from(site: Site, admin: Caller) -> None:
    group = site.group()
    site.job(job_group=group, job_desc="one", author="data", tags=["Prices", "eu", "EU "])
    site.job(job_group=group, job_desc="two", author="ops", tags=["eu"])

    def found(query: str) -> list[str]:
        return [row["job"]["job_desc"] for row in admin.get(f"{BOARD}?{query}").json["items"]]

    assert found("tag=EU&tag=prices") == ["one"]
    assert found("author=ops") == ["two"]
    assert found("author=ops&tag=prices") == []
    assert admin.get("/api/v1/jobs/in-use").json == {"authors": ["data", "ops"], "tags": ["eu", "prices"]}
    assert admin.get(f"{BOARD}?tag=a,b").problem(422)["errors"][0]["field"] == "tag.0"
