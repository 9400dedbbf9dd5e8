"""Calendars, made and listed."""

import pytest

from tests.coordinator.http.live import Caller, Site

CALENDARS = "/api/v1/calendars"


def test_a_calendar_is_made_and_listed(admin: Caller) -> None:
    definition = {"weekdays": [1, 2, 3, 4, 5], "dates_out": ["2026-12-25"], "zone": "Europe/Berlin"}
    made = admin.post(CALENDARS, {"name": "workdays", "definition": definition})
    assert made.status == 201
    assert made.json["definition"] == {**definition, "dates_in": []}
    assert admin.get(CALENDARS).json == {"items": [made.json], "next_cursor": None}


def test_the_name_of_a_calendar_is_taken_once_however_it_is_written(site: Site, admin: Caller) -> None:
    assert admin.post(CALENDARS, {"name": "caf\u00e9", "definition": {}}).status == 201
    before = site.state()
    for twin in ("caf\u00e9", " cafe\u0301 "):
        admin.post(CALENDARS, {"name": twin, "definition": {}}).problem(409)
    assert site.state() == before


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
    before = site.state()
    said = admin.post(CALENDARS, body).problem(422)
    assert field in [error["field"] for error in said["errors"]]
    assert site.state() == before
