"""A schedule is tried before it is saved."""

import pytest

from tests.coordinator.http.live import Caller, Site

PREVIEW = "/api/v1/schedules/preview"


def test_the_next_ten_fires_with_zone_and_clock_changes(site: Site, admin: Caller) -> None:
    asked = {"schedule_type": "CRON", "schedule_conf": "0 30 2 29 3 ?", "timezone": "Europe/Berlin"}
    shown = admin.post(PREVIEW, {**asked, "n": 2}).json
    assert (shown["timezone"], shown["per_day"]) == ("Europe/Berlin", 0)
    assert shown["items"] == [
        {
            "fire_time": "2026-03-29T01:00:00.000Z",
            "due_time": "2026-03-29T01:00:00.000Z",
            "local_time": "2026-03-29T03:00:00.000+02:00",
            "skipped": None,
            "clock_change": "moved",
        },
        {
            "fire_time": "2027-03-29T00:30:00.000Z",
            "due_time": "2027-03-29T00:30:00.000Z",
            "local_time": "2027-03-29T02:30:00.000+02:00",
            "skipped": None,
            "clock_change": None,
        },
    ]
    assert len(admin.post(PREVIEW, {**asked, "schedule_conf": "0 0 * * * ?"}).json["items"]) == 10


@pytest.mark.parametrize(
    ("schedule", "per_day", "fires"),
    [
        ({"schedule_type": "CRON", "schedule_conf": "0 */5 * * * ?"}, 288, 10),
        ({"schedule_type": "CRON", "schedule_conf": "* * * * * ?"}, 10_000, 10),
        ({"schedule_type": "FIX_RATE", "schedule_conf": "90s"}, 960, 10),
        ({"schedule_type": "FIX_DELAY", "schedule_conf": "30"}, None, 1),
        ({"schedule_type": "AT", "schedule_conf": "2026-01-30T11:00:00Z"}, 1, 1),
        ({}, None, 0),
    ],
    ids=str,
)
def test_how_often_each_kind_fires(admin: Caller, schedule: dict[str, str], per_day: int | None, fires: int) -> None:
    shown = admin.post(PREVIEW, schedule).json
    assert (shown["per_day"], len(shown["items"])) == (per_day, fires)


def test_a_calendar_says_what_it_refuses(admin: Caller) -> None:
    workdays = {"name": "workdays", "definition": {"weekdays": [1, 2, 3, 4, 5]}}
    calendar = admin.post("/api/v1/calendars", workdays).json["id"]
    asked = {"schedule_type": "CRON", "schedule_conf": "0 0 12 * * ?", "calendar_id": calendar, "n": 3}
    items = admin.post(PREVIEW, asked).json["items"]
    assert [bool(item["skipped"]) for item in items] == [False, True, True]  # a Friday and its weekend
    admin.post(PREVIEW, {**asked, "calendar_id": 99}).problem(404)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"schedule_type": "CRON", "schedule_conf": "0 25 * * *"}, "schedule_conf"),
        ({"schedule_type": "CRON", "schedule_conf": "0 0 2 * * ?", "timezone": "Europe/Berlni"}, "timezone"),
        ({"schedule_type": "AT", "schedule_conf": "2026-01-30T09:00:00Z"}, "schedule_conf"),
        ({"schedule_type": "WEEKLY"}, "schedule_type"),
        ({"n": 0}, "n"),
    ],
    ids=str,
)
def test_what_could_not_be_saved_is_refused_at_its_field(admin: Caller, wrong: dict[str, object], field: str) -> None:
    assert admin.post(PREVIEW, wrong).problem(422)["errors"][0]["field"] == field


def test_nothing_is_written(site: Site, admin: Caller) -> None:
    before = site.state()
    admin.post(PREVIEW, {"schedule_type": "FIX_RATE", "schedule_conf": "30"})
    assert site.state() == before


def test_every_zone_that_is_named_is_taken(admin: Caller) -> None:
    answer = admin.get("/api/v1/schedules/zones")
    names = answer.json["items"]
    assert names == sorted(set(names))
    assert {"UTC", "Etc/UTC", "US/Pacific", "Asia/Kolkata", "Asia/Calcutta", "Europe/Kyiv", "America/Nuuk"} <= set(
        names
    )
    assert not {"localtime", "Factory"} & set(names)
    assert not [name for name in names if name.startswith(("posix/", "right/"))]
    assert answer.headers["Cache-Control"] == "private, max-age=86400"
    for zone in ("Asia/Kolkata", "Etc/UTC", "America/Argentina/Buenos_Aires"):
        asked = {"schedule_type": "CRON", "schedule_conf": "0 0 2 * * ?", "timezone": zone}
        assert admin.post(PREVIEW, asked).json["timezone"] == zone
