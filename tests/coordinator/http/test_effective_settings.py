"""The settings a coordinator runs with, as administrators see them."""

from tests.coordinator.http.live import Caller, Site

SETTINGS = "/api/v1/settings"


def test_every_setting_is_shown_with_where_it_was_said(site: Site, admin: Caller) -> None:
    shown = admin.get(SETTINGS).json
    settings = {one["key"]: one for one in shown["items"]}
    kept = settings["retention.executions"]
    assert (kept["value"], kept["default"], kept["origin"]) == ("30d", "30d", "default")
    assert kept["explanation"]
    assert shown["version"]
    assert shown["file"] is None


def test_secrets_are_not_part_of_it(site: Site, admin: Caller) -> None:
    items = admin.get(SETTINGS).json["items"]
    secrets = [one["value"] for one in items if one["type"].startswith("secret")]
    assert secrets
    assert set(secrets) <= {"", "********"}
