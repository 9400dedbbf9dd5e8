"""What is told of which job, what it inherits, and what a message looks like."""

from typing import Any

import pytest

from tests.coordinator.http.live import Caller, Site

RULES = "/api/v1/alarms/rules"
PREVIEW = "/api/v1/alarms/preview"


def job(admin: Caller, group: int, name: str, **fields: Any) -> int:
    body = {"job_group": group, "job_desc": name, "executor_handler": "report", **fields}
    made = admin.post("/api/v1/jobs?allow_unknown_handler=true", body)
    assert made.status == 201, made.body
    return int(made.json["id"])


def test_a_job_inherits_what_it_does_not_say(site: Site, admin: Caller) -> None:
    group = site.group("demo")
    for name in ("ops", "all hands"):
        definition = {"url": "https://hooks.example/services/xyzzy"}
        body = {"name": name, "kind": "webhook", "definition": definition}
        assert admin.post("/api/v1/alarms/channels", body).status == 201
    plain = job(admin, group, "plain")
    own = job(admin, group, "own", alarm_policy={"each": True, "repeat": 60, "channels": ["ops"]})
    silence = {"job_id": own, "lasts": "1h", "reason": "being moved"}
    assert admin.post("/api/v1/alarms/silences", silence).status == 201
    shown = admin.get(RULES).json
    assert shown["next_cursor"] is None
    first, second = shown["items"]
    assert first == {
        "job_id": plain,
        "job_desc": "plain",
        "job_group": group,
        "each": False,
        "repeat": 4 * 3600,
        "resolved": True,
        "channels": ["ops", "all hands"],
        "own": [],
        "silenced": False,
    }
    assert (second["each"], second["repeat"], second["channels"], second["silenced"]) == (True, 60, ["ops"], True)
    assert second["own"] == ["each", "repeat", "channels"]
    assert len(admin.get(f"{RULES}?limit=1").json["items"]) == 1
    assert admin.get(f"{RULES}?job_group={group + 1}").json["items"] == []
    assert admin.get(f"{RULES}?job_id={own}").json == {"items": [second], "next_cursor": None}
    assert admin.get(f"{RULES}?job_id={own + 1}").json["items"] == []
    assert admin.get(f"{RULES}?job_id={plain}&job_group={group + 1}").json["items"] == []


def test_addresses_of_a_job_reach_nobody_without_a_mail_server(site: Site, admin: Caller) -> None:
    job(admin, site.group("demo"), "mailed", alarm_email="ops@example.org")
    (rule,) = admin.get(RULES).json["items"]
    assert (rule["own"], rule["channels"]) == (["mail"], [])


@pytest.mark.parametrize("preset", ["plain", "slack", "teams", "dingtalk", "wecom", "feishu"])
def test_a_preset_is_shown_filled_in(admin: Caller, preset: str) -> None:
    shown = admin.post(PREVIEW, {"preset": preset})
    assert shown.status == 200, shown.body
    assert shown.json["title"] == "Collect prices failed"
    assert "Collect prices failed" in str(shown.json["body"])


def test_a_template_is_shown_filled_in_and_nothing_is_sent(admin: Caller) -> None:
    template = {"summary": "{{title}}", "count": "{{failures}}"}
    shown = admin.post(PREVIEW, {"template": template, "kind": "repeat"}).json
    assert shown["body"]["summary"].startswith("Collect prices still fails: 3 times since ")
    assert shown["body"]["count"] == 3
    refused = admin.post(PREVIEW, {"template": "{{password}}"}).problem(422)
    assert "password" in refused["detail"]
    assert admin.post(PREVIEW, {"template": "{{text}}" * 101}).problem(422)["detail"]
    assert admin.get("/api/v1/alarms").json["items"] == []
