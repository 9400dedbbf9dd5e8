"""Callers whom the API refuses, and callers whom executors turned away: the audit tells of each, and not of more."""

from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.coordinator.http.live import ACCESS_TOKEN, PASSWORD, Caller, Site
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
    """A browser whose session has ended, a page that asks who is signed in, and a wrong password, which is counted."""
    browser = signed_out(own_site)
    browser.get("/api/v1/jobs").problem(401)
    browser.get("/api/v1/auth/session").problem(401)
    own_site.stranger().get("/api/v1/auth/session").problem(401)
    own_site.stranger().post("/api/v1/auth/login", {"username": "admin", "password": "x"}).problem(401)
    own_site.stranger().post("/api/v1/auth/link", {"token": "x"}).problem(401)
    assert entries(own_site, "api.unauthenticated") == []
    browser.post("/api/v1/jobs", {}).problem(401)
    assert brief(own_site, "api.unauthenticated") == [("stranger", "", "POST /api/v1/jobs")]


def signed_out(site: Site) -> Caller:
    """A browser that goes on showing the cookie of a session that has ended."""
    begun = site.stranger().post("/api/v1/auth/session", {"username": "admin", "password": PASSWORD})
    browser = Caller(site.url, {"Cookie": begun.headers["set-cookie"].partition(";")[0]})
    token = {"X-CSRF-Token": begun.json["csrf_token"]}
    assert browser.call("POST", "/api/v1/auth/logout", headers=token).status == 204
    return browser


def test_a_cookie_that_nobody_gave_hides_nobody(own_site: Site) -> None:
    """Nor does one that was given hide who shows a token as well."""
    real = signed_out(own_site).headers["Cookie"]
    made_up = ("orth-session=a.b", "orth-session=a.b.c", "orth-session=0123456789abcdef.gone", real[:-1] + "x")
    for number, cookie in enumerate(made_up):
        Caller(own_site.url, {"Cookie": cookie}).get(f"/api/v1/{READ[number]}").problem(401)
    both = {"Cookie": real, "Authorization": "Bearer orth_pat_guessed"}
    Caller(own_site.url, both).get("/api/v1/executors").problem(401)
    told = {name for _kind, _name, name in brief(own_site, "api.unauthenticated")}
    assert told == {f"GET /api/v1/{path}" for path in (*READ, "executors")}


READ = ("users", "jobs", "secrets", "tokens")


def test_who_is_refused_where_people_sign_in_is_told_of(own_site: Site) -> None:
    wrong, stranger = own_site.bearer("wrong"), own_site.stranger()
    change = {"old_password": "x", "new_password": "y" * 12}
    wrong.post("/api/v1/auth/password", change).problem(401)
    wrong.get("/api/v1/auth/sessions").problem(401)
    wrong.get("/api/v1/auth/session").problem(401)
    wrong.post("/api/v1/auth/logout").problem(401)
    wrong.get("/metrics").problem(401)
    stranger.post("/api/v1/auth/refresh", {"refresh_token": "x.y.z"}).problem(401)
    told = {name for _kind, _name, name in brief(own_site, "api.unauthenticated")}
    signing_in = ("POST /password", "GET /sessions", "GET /session", "POST /logout", "POST /refresh")
    assert told == {one.replace(" /", " /api/v1/auth/") for one in signing_in} | {"GET /metrics"}


def test_pages_of_other_sites_are_told_of_where_people_sign_in(own_site: Site) -> None:
    elsewhere = {"Origin": "https://elsewhere.example"}
    body = {"username": "admin", "password": PASSWORD}
    own_site.stranger().call("POST", "/api/v1/auth/session", body, headers=elsewhere).problem(403)
    begun = own_site.stranger().post("/api/v1/auth/session", body)
    browser = Caller(own_site.url, {"Cookie": begun.headers["set-cookie"].partition(";")[0]})
    browser.call("DELETE", "/api/v1/auth/sessions", headers=elsewhere).problem(403)
    found = {(one["actor_kind"], one["object_id"]) for one in entries(own_site, "api.refused")}
    assert ("stranger", "POST /api/v1/auth/session") in found
    assert "DELETE /api/v1/auth/sessions" in {name for _kind, name in found}


def test_who_asks_under_a_false_name_is_told_of(own_site: Site) -> None:
    for path in ("/", "/api/v1/jobs"):
        assert Caller(own_site.url, {"Host": "evil.example"}).get(path).status == 421
    (told,) = entries(own_site, "api.misdirected")
    assert (told["actor_kind"], told["after"]) == ("stranger", {"host": "evil.example", "path": "/"})


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
