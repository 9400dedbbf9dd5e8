"""Where somebody is signed in, as administrators see and end it."""

from tests.coordinator.http.live import Caller, Site
from tests.coordinator.http.test_users import USERS, added


def sign_in(site: Site, name: str) -> None:
    answer = site.stranger().post("/api/v1/auth/login", {"username": name, "password": "a long password"})
    assert answer.status == 200, answer.body


def test_sessions_of_somebody_are_seen_and_ended(site: Site, admin: Caller) -> None:
    ada = added(admin)
    path = f"{USERS}/{ada['id']}/sessions"
    assert admin.get(path).json["items"] == []
    sign_in(site, "ada")
    (only,) = admin.get(path).json["items"]
    assert (only["kind"], only["way"], only["current"]) == ("tokens", "password", False)
    assert admin.call("DELETE", path).json == {"ended": 1}
    assert admin.get(path).json["items"] == []
    (told,) = admin.get("/api/v1/audit?action=session.end_all").json["items"]
    assert (told["object_id"], told["after"]) == (str(ada["id"]), {"ended": 1})


def test_of_nobody_there_are_none(site: Site, admin: Caller) -> None:
    admin.get(f"{USERS}/4711/sessions").problem(404)
    admin.call("DELETE", f"{USERS}/4711/sessions").problem(404)
