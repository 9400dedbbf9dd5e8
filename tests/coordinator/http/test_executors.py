"""Executors as their beats make them look, and calendars."""

import pytest

from tests.coordinator.http.live import Caller, Site

CALENDARS = "/api/v1/calendars"


def test_an_executor_ages_visibly(site: Site, admin: Caller, executor: Caller) -> None:
    said = {"incarnation": "one", "extensions": ["resend", "from the future"], "version": "9"}
    beat = {"registryKey": "demo", "registryValue": "http://10.0.0.1:9999/", "orth": said}
    executor.post("/api/registry", beat).envelope()
    states = []
    for pause in (0, 33, 10, 17, 30):
        site.clock.move(pause)
        (shown,) = admin.get("/api/v1/executors").json["items"]
        states.append(shown["state"])
    assert states == ["alive", "alive", "missed_30", "missed_60", "removed"]
    assert shown == {
        "app_name": "demo",
        "address": "http://10.0.0.1:9999",
        "state": "removed",
        "last_beat": "2026-01-30T10:00:00.000Z",
        "incarnation": "one",
        "extensions": ["resend"],
    }
    executor.post("/api/registry", beat).envelope()
    assert admin.get("/api/v1/executors").json["items"][0]["state"] == "alive"


def test_executors_of_one_app(site: Site, admin: Caller, executor: Caller) -> None:
    for app_name, port in (("first", 1), ("second", 2), ("first", 3)):
        beat = {"registryKey": app_name, "registryValue": f"http://10.0.0.1:{port}"}
        executor.post("/api/registry", beat).envelope()
    shown = admin.get("/api/v1/executors?app_name=first").json
    assert [one["address"] for one in shown["items"]] == ["http://10.0.0.1:1", "http://10.0.0.1:3"]
    assert admin.get("/api/v1/executors?app_name=third").json["items"] == []


@pytest.mark.parametrize("app_name", ["a" * 65, "%00", "two%0Alines"])
def test_an_app_name_that_can_be_nobody_s_is_refused(admin: Caller, app_name: str) -> None:
    admin.get(f"/api/v1/executors?app_name={app_name}").problem(422)


def test_a_calendar_is_made_and_listed(admin: Caller) -> None:
    definition = {"weekdays": [1, 2, 3, 4, 5], "dates_out": ["2026-12-25"], "zone": "Europe/Berlin"}
    made = admin.post(CALENDARS, {"name": "workdays", "definition": definition})
    assert made.status == 201
    assert made.json["definition"] == {**definition, "dates_in": []}
    assert admin.get(CALENDARS).json == {"items": [made.json], "next_cursor": None}


def test_the_name_of_a_calendar_is_taken_once_however_it_is_written(site: Site, admin: Caller) -> None:
    assert admin.post(CALENDARS, {"name": "caf\u00e9", "definition": {}}).status == 201
    before = site.contents()
    for twin in ("caf\u00e9", " cafe\u0301 "):
        admin.post(CALENDARS, {"name": twin, "definition": {}}).problem(409)
    assert site.contents() == before


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "", "definition": {}}, "name"),
        ({"name": "a" * 65, "definition": {}}, "name"),
        ({"name": "two\nlines", "definition": {}}, "name"),
        ({"name": "x"}, "definition"),
        ({"name": "x", "definition": []}, "definition"),
        ({"name": "x", "definition": {"weekday": [1]}}, "weekday"),
        ({"name": "x", "definition": {"weekdays": [0]}}, "weekdays"),
        ({"name": "x", "definition": {"weekdays": [True]}}, "weekdays"),
        ({"name": "x", "definition": {"weekdays": [[1]]}}, "weekdays"),
        ({"name": "x", "definition": {"weekdays": [10**30]}}, "weekdays"),
        ({"name": "x", "definition": {"weekdays": []}}, "weekdays"),
        ({"name": "x", "definition": {"dates_in": ["2026-02-30"]}}, "dates_in"),
        ({"name": "x", "definition": {"dates_out": [20261225]}}, "dates_out"),
        ({"name": "x", "definition": {"dates_out": "2026-12-25"}}, "dates_out"),
        ({"name": "x", "definition": {"dates_out": ["2026-12-25"] * 5001}}, "dates_out"),
        ({"name": "x", "definition": {"zone": "Mars/Base"}}, "zone"),
        ({"name": "x", "definition": {"zone": 1}}, "zone"),
        ({"name": "x", "definition": {}, "id": 1}, "id"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_cannot_be_a_calendar_is_refused(site: Site, admin: Caller, body: object, field: str) -> None:
    before = site.contents()
    said = admin.post(CALENDARS, body).problem(422)
    assert field in [error["field"] for error in said["errors"]]
    assert site.contents() == before
