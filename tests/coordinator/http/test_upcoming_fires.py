"""What fires soon, over HTTP. It is 2026-01-30 10:00 UTC, a Friday."""

from tests.coordinator.http.live import Caller, Site

UPCOMING = "/api/v1/schedules/upcoming"


def started(site: Site, admin: Caller, conf: str, **fields: object) -> int:
    job_id = site.job(schedule_type="CRON", schedule_conf=conf, timezone="UTC", **fields)
    admin.post(f"/api/v1/jobs/{job_id}/start")
    return job_id


def test_nothing_fires_where_nothing_is_started(site: Site, admin: Caller) -> None:
    site.job(schedule_type="CRON", schedule_conf="0 */5 * * * ?")
    assert admin.get(UPCOMING).json == {
        "at": "2026-01-30T10:00:00.000Z",
        "until": "2026-01-30T11:00:00.000Z",
        "items": [],
        "more": False,
    }


def test_every_fire_in_the_time_asked_for_and_none_after_it(site: Site, admin: Caller) -> None:
    group = site.group()
    often = started(site, admin, "0 */20 * * * ?", job_group=group, job_desc="often")
    started(site, admin, "0 0 12 * * ?", job_group=group, job_desc="noon")
    (only,) = admin.get(UPCOMING).json["items"]
    assert (only["job_id"], only["job_group"], only["job_desc"], only["more"]) == (often, group, "often", False)
    assert [due[11:16] for due in only["due_times"]] == ["10:20", "10:40", "11:00"]
    both = admin.get(f"{UPCOMING}?minutes=120").json["items"]
    assert [one["job_desc"] for one in both] == ["often", "noon"]


def test_a_job_that_fires_very_often_is_cut_short_and_says_so(site: Site, admin: Caller) -> None:
    started(site, admin, "*/10 * * * * ?")
    (only,) = admin.get(UPCOMING).json["items"]
    assert only["more"]
    assert len(only["due_times"]) == 60
    assert only["due_times"][-1] == "2026-01-30T10:10:00.000Z"


def test_what_its_calendar_refuses_is_left_out(site: Site, admin: Caller) -> None:
    calendar = admin.post("/api/v1/calendars", {"name": "weekend", "definition": {"weekdays": [6, 7]}}).json["id"]
    started(site, admin, "0 */20 * * * ?", calendar_id=calendar)
    assert admin.get(UPCOMING).json["items"] == []


def test_the_span_has_bounds(admin: Caller) -> None:
    admin.get(f"{UPCOMING}?minutes=0").problem(422)
    admin.get(f"{UPCOMING}?minutes=1441").problem(422)
