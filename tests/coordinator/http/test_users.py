"""Users: added, changed and removed by administrators, of whom there is always one; and what everybody may know."""

from typing import Any

import pytest

from orth.coordinator.signing import password_fits
from orth.store.users import find_user
from tests.coordinator.http.live import Caller, Site

USERS = "/api/v1/users"


def added(admin: Caller, username: str = "ada", **fields: object) -> dict[str, Any]:
    answer = admin.post(USERS, {"username": username, "password": "a long password", **fields})
    assert answer.status == 201, answer.body
    made: dict[str, Any] = answer.json
    return made


def admin_id(admin: Caller) -> int:
    return int(admin.get(f"{USERS}?username=admin").json["items"][0]["id"])


def test_somebody_is_added_found_changed_and_removed(site: Site, admin: Caller) -> None:
    group = site.group()
    made = admin.post(USERS, {"username": "ada", "role": "viewer", "grants": [{"group_id": group, "role": "editor"}]})
    path = made.headers["location"]
    assert made.status == 201
    shown = {name: value for name, value in made.json.items() if name != "password"}
    assert shown == {
        "id": made.json["id"],
        "username": "ada",
        "role": "viewer",
        "grants": [{"group_id": group, "role": "editor"}],
        "disabled": False,
        "created_at": shown["created_at"],
    }
    assert admin.get(path).json == shown
    assert [one["username"] for one in admin.get(USERS).json["items"]] == ["admin", "ada"]
    assert [one["id"] for one in admin.get(f"{USERS}?username=ada").json["items"]] == [shown["id"]]
    changed = admin.call("PATCH", path, {"role": None, "grants": []})
    assert (changed.json["role"], changed.json["grants"]) == (None, [])
    assert admin.call("DELETE", path).status == 204
    admin.get(path).problem(404)
    admin.call("DELETE", path).problem(404)


def test_a_password_that_was_made_is_told_once_and_fits(site: Site, admin: Caller) -> None:
    made = admin.post(USERS, {"username": "ada"}).json
    user = site.tx(find_user, "ada")
    assert user is not None
    assert password_fits(made["password"], user.password)
    assert "password" not in admin.get(f"{USERS}/{made['id']}").json
    again = admin.post(f"{USERS}/{made['id']}/password").json["password"]
    user = site.tx(find_user, "ada")
    assert user is not None
    assert password_fits(again, user.password)
    assert again != made["password"]
    assert added(admin, "bob")["password"] is None
    assert admin.post(f"{USERS}/{made['id']}/password", {"password": "the next one"}).json == {"password": None}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "username"),
        ({"username": ""}, "username"),
        ({"username": "a b"}, "username"),
        ({"username": "-ada"}, "username"),
        ({"username": "аda"}, "username"),  # the first letter is Cyrillic
        ({"username": "a" * 51}, "username"),
        ({"username": "ada", "password": "short"}, "password"),
        ({"username": "ada", "password": "adminadmin"}, "password"),
        ({"username": "ada.lovelace", "password": "Ada.Lovelace"}, "password"),
        ({"username": "ada", "role": "owner"}, "role"),
        ({"username": "ada", "grants": [{"group_id": 1, "role": "viewer"}] * 2}, "grants"),
        ({"username": "ada", "grants": [{"group_id": 99999, "role": "viewer"}]}, "grants"),
        ({"username": "ada", "grants": [{"group_id": "1", "role": "viewer"}]}, "grants.0.group_id"),
        ({"username": "ada", "disabled": True}, "disabled"),
        ({"username": "ada", "password_version": 7}, "password_version"),
        ({"username": "ada", "id": 1}, "id"),
    ],
)
def test_what_cannot_be_is_refused_and_adds_nobody(
    site: Site, admin: Caller, body: dict[str, object], field: str
) -> None:
    before = site.state()
    assert admin.post(USERS, body).problem(422)["errors"][0]["field"] == field
    assert site.state() == before


def test_a_name_is_taken_once(admin: Caller) -> None:
    added(admin)
    admin.post(USERS, {"username": "ada", "password": "another password"}).problem(409)


@pytest.mark.parametrize(
    "body",
    [
        {"username": "eve"},
        {"password": "another password"},
        {"id": 1},
        {"role": "owner"},
        {"disabled": 1},
        {"rights": {}},
    ],
)
def test_a_change_names_only_what_can_be_changed(site: Site, admin: Caller, body: dict[str, object]) -> None:
    path = f"{USERS}/{added(admin)['id']}"
    before = site.state()
    admin.call("PATCH", path, body).problem(422)
    assert site.state() == before


def test_what_a_change_does_not_name_stays(site: Site, admin: Caller) -> None:
    grant = {"group_id": site.group(), "role": "operator"}
    path = f"{USERS}/{added(admin, role='viewer', grants=[grant])['id']}"
    assert admin.call("PATCH", path, {"disabled": True}).json["grants"] == [grant]
    assert admin.call("PATCH", path, {"role": "editor"}).json["disabled"] is True
    assert admin.call("PATCH", path, {}).json["role"] == "editor"


def test_a_change_of_another_version_is_refused(site: Site, admin: Caller) -> None:
    path = f"{USERS}/{added(admin)['id']}"
    tag = admin.get(path).headers["etag"]
    assert admin.call("PATCH", path, {"role": "viewer"}, headers={"If-Match": tag}).status == 200
    before = site.state()
    admin.call("PATCH", path, {"role": "admin"}, headers={"If-Match": tag}).problem(412)
    admin.call("DELETE", path, headers={"If-Match": tag}).problem(412)
    assert site.state() == before


def test_roles_in_single_groups_are_given_and_taken_one_by_one(site: Site, admin: Caller) -> None:
    one, other = site.group("reports"), site.group("invoices")
    path = f"{USERS}/{added(admin)['id']}/grants"
    admin.call("PUT", f"{path}/{one}", {"role": "viewer"})
    admin.call("PUT", f"{path}/{other}", {"role": "viewer"})
    assert admin.call("PUT", f"{path}/{one}", {"role": "admin"}).json["grants"] == [
        {"group_id": one, "role": "admin"},
        {"group_id": other, "role": "viewer"},
    ]
    left = [{"group_id": other, "role": "viewer"}]
    assert admin.call("DELETE", f"{path}/{one}").json["grants"] == left
    assert admin.call("DELETE", f"{path}/{one}").json["grants"] == left
    admin.call("PUT", f"{path}/99999", {"role": "viewer"}).problem(422)
    admin.call("PUT", f"{USERS}/99999/grants/{one}", {"role": "viewer"}).problem(404)


@pytest.mark.parametrize(
    ("method", "body"), [("PATCH", {"role": "editor"}), ("PATCH", {"disabled": True}), ("DELETE", None)]
)
def test_the_last_administrator_stays(site: Site, admin: Caller, method: str, body: object) -> None:
    path = f"{USERS}/{admin_id(admin)}"
    added(admin, "chief", role="editor")
    gone = added(admin, "gone", role="admin")
    admin.call("PATCH", f"{USERS}/{gone['id']}", {"disabled": True})
    before = site.state()
    assert "last administrator" in admin.call(method, path, body).problem(409)["detail"]
    assert site.state() == before
    admin.call("PATCH", f"{USERS}/{gone['id']}", {"disabled": False})
    assert admin.call(method, path, body).status in (200, 204)


@pytest.mark.parametrize("way", ["disable", "remove", "password"])
def test_sessions_end_with_the_one_they_belong_to(site: Site, admin: Caller, way: str) -> None:
    user_id = added(admin, role="viewer")["id"]
    ada = site.bearer(site.access_token("ada"))
    assert ada.get("/api/v1/jobs").status == 200
    if way == "disable":
        assert admin.call("PATCH", f"{USERS}/{user_id}", {"disabled": True}).status == 200
    elif way == "remove":
        assert admin.call("DELETE", f"{USERS}/{user_id}").status == 204
    else:
        assert admin.post(f"{USERS}/{user_id}/password").status == 200
    ada.get("/api/v1/jobs").problem(401)


def test_everybody_may_know_what_they_may(site: Site, admin: Caller) -> None:
    group = site.group()
    added(admin, grants=[{"group_id": group, "role": "operator"}])
    assert site.bearer(site.access_token("ada")).get(f"{USERS}/me").json == {
        "name": "ada",
        "kind": "user",
        "role": None,
        "permissions": [],
        "groups": [{"group_id": group, "role": "operator", "permissions": ["view", "operate"]}],
    }
    mine = admin.get(f"{USERS}/me").json
    assert (mine["role"], mine["groups"]) == ("admin", [])
    assert mine["permissions"] == ["view", "operate", "edit", "script", "administer"]


def test_every_change_is_in_the_audit_without_a_password(site: Site, admin: Caller) -> None:
    made = added(admin, role="viewer")
    path = f"{USERS}/{made['id']}"
    admin.call("PATCH", path, {"role": "editor"})
    admin.post(f"{path}/password", {"password": "a new long password"})
    admin.call("DELETE", path)
    rows = [row for row in site.contents()["orth_audit"] if row["object_kind"] == "user" and row["actor"] == "admin"]
    assert [row["action"] for row in rows][-4:] == ["user.create", "user.update", "user.password", "user.remove"]
    assert {row["object_id"] for row in rows[-4:]} == {str(made["id"])}
    assert "editor" in rows[-3]["after"]
    assert "password" not in f"{[row['after'] for row in rows]}{[row['before'] for row in rows]}"
