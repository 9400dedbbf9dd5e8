"""Secrets over the API: written, counted, removed, and never read."""

import pytest

from orth.store.secrets import find_secret
from tests.coordinator.http.live import Caller, Site

SECRETS = "/api/v1/secrets"
CANARY = "canary-of-this-test"


def put(caller: Caller, name: str, value: str = CANARY, group: int | None = None) -> int:
    query = "" if group is None else f"?job_group={group}"
    return caller.call("PUT", f"{SECRETS}/{name}{query}", {"value": value}).status


def test_a_secret_can_be_written_and_not_read(site: Site, admin: Caller) -> None:
    group = site.group()
    assert put(admin, "DB_PASSWORD", group=group) == 201
    assert put(admin, "DB_PASSWORD", "another value", group=group) == 200
    assert put(admin, "SHARED") == 201
    listed = admin.get(SECRETS).json["items"]
    assert [(one["name"], one["job_group"], one["version"], one["updated_by"]) for one in listed] == [
        ("DB_PASSWORD", group, 2, "admin"),
        ("SHARED", None, 1, "admin"),
    ]
    assert set(listed[0]) == {"id", "name", "job_group", "version", "updated_at", "updated_by"}
    assert [one["name"] for one in admin.get(f"{SECRETS}?job_group={group}").json["items"]] == ["DB_PASSWORD"]
    assert CANARY not in str(site.contents())
    admin.get(f"{SECRETS}/SHARED").problem(405)


def test_the_database_has_it_sealed_for_its_place(site: Site, admin: Caller) -> None:
    put(admin, "SHARED")
    stored = site.tx(find_secret, 0, "SHARED")
    assert stored is not None
    assert stored.sealed.startswith("orth1:")


@pytest.mark.parametrize("name", ["lower", "1ST", "A-B", "A" * 65, "ORTH_TOKEN", "PATH", "LD_PRELOAD", "PYTHONPATH"])
def test_names_that_cannot_be(site: Site, admin: Caller, name: str) -> None:
    before = site.state()
    answer = admin.call("PUT", f"{SECRETS}/{name}", {"value": CANARY})
    assert CANARY not in str(answer.problem(422))
    assert site.state() == before


@pytest.mark.parametrize("value", ["abc", "", "x" * 16_385, "nul \x00 in it", "half \ud800 a pair", 7, None])
def test_values_that_cannot_be_are_not_repeated(site: Site, admin: Caller, value: object) -> None:
    before = site.state()
    answer = admin.call("PUT", f"{SECRETS}/NAME", {"value": value})
    assert answer.status in (400, 422)
    if isinstance(value, str) and len(value) > 3:
        assert value[:20].encode("utf-8", "ignore") not in answer.body
    assert site.state() == before


def test_a_job_names_only_what_its_group_has(site: Site, admin: Caller) -> None:
    group, other = site.group(), site.group("other-app")
    put(admin, "OWN", group=group)
    put(admin, "SHARED")
    job = {"job_group": group, "job_desc": "x", "executor_handler": "h"}
    made = admin.post("/api/v1/jobs", {**job, "secrets": ["OWN", "SHARED", "OWN"]})
    assert made.json["secrets"] == ["OWN", "SHARED"]
    path = f"/api/v1/jobs/{made.json['id']}"
    assert admin.get(path).json["secrets"] == ["OWN", "SHARED"]
    assert "no secret OWN" in admin.call("PATCH", path, {"job_group": other}).problem(422)["detail"]
    for wrong in ({"secrets": ["GONE"]}, {"secrets": ["bad name"]}, {"secrets": ["SHARED"], "executor_queue": "q"}):
        assert admin.post("/api/v1/jobs", {**job, **wrong}).status == 422
    assert "needed by job" in admin.call("DELETE", f"{SECRETS}/OWN?job_group={group}").problem(409)["detail"]
    assert admin.call("PATCH", path, {"secrets": []}).json["secrets"] == []
    assert admin.call("DELETE", f"{SECRETS}/OWN?job_group={group}").status == 204


def test_a_group_that_is_not_there_has_no_secrets(admin: Caller) -> None:
    admin.call("PUT", f"{SECRETS}/NAME?job_group=999", {"value": CANARY}).problem(404)
    admin.call("DELETE", f"{SECRETS}/NAME").problem(404)


def test_the_audit_tells_that_and_never_what(site: Site, admin: Caller) -> None:
    group = site.group()
    put(admin, "OWN", group=group)
    admin.call("DELETE", f"{SECRETS}/OWN?job_group={group}")
    told = admin.get("/api/v1/audit?object=secret").json["items"]
    assert [(one["action"], one["object_id"], one["group_id"], one["after"]) for one in told] == [
        ("secret.delete", "OWN", group, None),
        ("secret.set", "OWN", group, {"version": 1}),
    ]
    assert CANARY not in str(told)
