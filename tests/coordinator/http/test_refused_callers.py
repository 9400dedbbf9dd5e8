"""Callers whom the API refuses, and callers whom executors turned away: the audit tells of each, and not of more."""

from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.coordinator.http.live import ACCESS_TOKEN, Caller, Site
from tests.coordinator.http.rights_site import RightsSite

BEAT = {"registryKey": "demo", "registryValue": "http://10.0.0.1:9999"}
ATTACKER = {"address": "10.0.0.66", "path": "/run", "reason": "token", "count": 7}


def entries(site: Site, action: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = site.admin().get(f"/api/v1/audit?action={action}").json["items"]
    return found


def brief(site: Site, action: str) -> list[tuple[str, str, str]]:
    return sorted((one["actor_kind"], one["actor"], one["object_id"]) for one in entries(site, action))


def test_strangers_are_told_of_once_for_each_route(own_site: Site) -> None:
    stranger = own_site.stranger()
    for number in (1, 2, 3):
        stranger.post(f"/api/v1/jobs/{number}/trigger").problem(401)
    own_site.bearer("default_token").get("/api/v1/jobs").problem(401)
    assert brief(own_site, "api.unauthenticated") == [
        ("stranger", "", "GET /api/v1/jobs"),
        ("stranger", "", "POST /api/v1/jobs/{job_id}/trigger"),
    ]
    (told,) = (one for one in entries(own_site, "api.unauthenticated") if one["object_id"].startswith("POST"))
    assert (told["address"], told["after"]["path"]) == ("127.0.0.1", "/api/v1/jobs/1/trigger")


def test_what_is_no_attack_is_not_told_of(own_site: Site) -> None:
    """A browser whose session has ended, monitoring, and signing in, which tells for itself."""
    browser = Caller(own_site.url, {"Cookie": "orth-session=0123456789abcdef.gone"})
    browser.get("/api/v1/jobs").problem(401)
    for path in ("/metrics", "/api/v1/auth/session"):
        own_site.stranger().get(path)
    assert entries(own_site, "api.unauthenticated") == []
    browser.post("/api/v1/jobs", {}).problem(401)
    assert brief(own_site, "api.unauthenticated") == [("stranger", "", "POST /api/v1/jobs")]


def test_somebody_known_is_told_of_by_name(rights: RightsSite) -> None:
    rights.callers["viewer"].post("/api/v1/groups", {"app_name": "mine"}).problem(403)
    named = [one for one in brief(rights.site, "api.refused") if one[2] == "POST /api/v1/groups"]
    assert [(kind, bool(name)) for kind, name, _object in named] == [("user", True)]


def test_a_group_token_where_it_may_not_is_told_of_by_its_name(own_site: Site) -> None:
    body = {"kind": "executor", "name": "of demo", "app_names": ["demo"]}
    token = own_site.admin().post("/api/v1/tokens", body).json["token"]
    Caller(own_site.url, {"ORTH-ACCESS-TOKEN": token}).get("/api/agents").problem(403)
    assert brief(own_site, "api.refused") == [("executor", "of demo", "GET /api/agents")]


def test_sockets_of_strangers_and_of_foreign_pages_are_told_of(own_site: Site) -> None:
    paths = ("/ws", "/api/v1/changes")
    for path in paths:
        url = own_site.url.replace("http", "ws") + path
        with pytest.raises((InvalidStatus, ConnectionClosed)):
            _first_message(url)
        with pytest.raises(InvalidStatus):
            _first_message(url, origin="http://elsewhere.example")
    for action in ("api.unauthenticated", "api.refused"):
        assert brief(own_site, action) == sorted(("stranger", "", f"WS {path}") for path in paths)


def _first_message(url: str, origin: Any = None) -> object:
    with connect(url, origin=origin) as line:
        line.send("{}")
        return line.recv(timeout=10)


def test_what_executors_turn_away_is_a_deed_of_strangers(own_site: Site) -> None:
    executor = Caller(own_site.url, {"ORTH-ACCESS-TOKEN": ACCESS_TOKEN})
    orth = {"incarnation": "a", "turnedAway": [ATTACKER, {**ATTACKER, "reason": "replay"}]}
    for _beat in range(2):
        executor.post("/api/registry", {**BEAT, "orth": orth}).envelope()
    told = entries(own_site, "executor.turned_away")
    assert [(one["actor_kind"], one["address"], one["object_id"]) for one in told] == [
        ("stranger", "10.0.0.66", "http://10.0.0.1:9999/run")
    ] * 2
    assert {one["after"]["reason"] for one in told} == {"token", "replay"}
    assert {(one["after"]["count"], one["after"]["told_by"]) for one in told} == {(7, "executors")}


def test_what_is_no_report_is_refused(own_site: Site) -> None:
    executor = Caller(own_site.url, {"ORTH-ACCESS-TOKEN": ACCESS_TOKEN})
    odd: list[Any] = [[ATTACKER] * 33, [{**ATTACKER, "address": "a\nb"}], [{**ATTACKER, "count": -1}], "x"]
    for told in odd:
        executor.post("/api/registry", {**BEAT, "orth": {"incarnation": "a", "turnedAway": told}}).envelope(400)
    assert entries(own_site, "executor.turned_away") == []


def test_every_answer_is_what_it_says_it_is(site: Site) -> None:
    answers = [site.admin().get("/api/v1/jobs"), site.stranger().get("/api/v1/jobs"), site.stranger().get("/none")]
    answers.append(site.stranger().post("/api/registry", BEAT))
    assert {one.headers.get("x-content-type-options") for one in answers} == {"nosniff"}
