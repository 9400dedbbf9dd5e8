"""``/api/v1/dead-letters``: what failed for good is listed, done again once, or dropped."""

from typing import Any

import pytest

from tests.coordinator.http.live import Caller, Site
from tests.coordinator.http.test_execution_actions import EXECUTIONS, failed, shown

LETTERS = "/api/v1/dead-letters"


def listed(admin: Caller, query: str = "") -> list[int]:
    return [one["execution_id"] for one in admin.get(f"{LETTERS}?{query}").json["items"]]


def states(admin: Caller) -> dict[int, str]:
    return {one["execution_id"]: one["state"] for one in admin.get(LETTERS).json["items"]}


def test_failures_are_listed_until_somebody_decides(site: Site, admin: Caller, executor: Caller) -> None:
    job_id = site.job()
    first, second = failed(site, executor, job_id), failed(site, executor, job_id, 502)
    failed(site, executor, job_id, 200)
    killed = site.execution(job_id)
    admin.post(f"{EXECUTIONS}/{killed}/kill")
    assert listed(admin) == [second, first], "neither a success nor what somebody killed"
    assert listed(admin, "limit=1") == [second]
    cursor = admin.get(f"{LETTERS}?limit=1").json["next_cursor"]
    assert listed(admin, f"limit=1&cursor={cursor}") == [first]
    assert listed(admin, "status=timeout") == [second]
    assert listed(admin, f"job_id={job_id + 1}") == []
    assert listed(admin, "since=1h") == [second, first]
    assert listed(admin, "until=1h") == []
    assert admin.get(LETTERS).json["items"][0] == {
        "execution_id": second,
        "job_id": job_id,
        "job_group": shown(site, second)["job_group"],
        "ended_at": "2026-01-30T10:00:00.000Z",
        "status": "timeout",
        "reason_code": "timed_out",
        "message": "",
        "state": "waiting",
        "replayed_by": None,
        "dropped_by": None,
    }


def test_letters_are_replayed_once(site: Site, admin: Caller, executor: Caller) -> None:
    ids = [failed(site, executor, site.job())]
    ids += [failed(site, executor, shown(site, ids[0])["job_id"]) for _ in range(2)]
    done = admin.post(f"{LETTERS}/replay", {"ids": [ids[0], 404404]}).json
    assert (done["done"], done["skipped"]) == (1, 1)
    assert admin.post(f"{LETTERS}/replay", {"ids": ids[:1]}).json["done"] == 0
    rest = admin.post(f"{LETTERS}/replay?status=failed&max=1").json
    assert (rest["done"], rest["left"]) == (1, 1)
    assert states(admin) == {ids[0]: "replayed", ids[1]: "replayed", ids[2]: "waiting"}
    by = {one["execution_id"]: one["replayed_by"] for one in admin.get(LETTERS).json["items"]}
    assert [by[one] for one in ids[:2]] == done["execution_ids"] + rest["execution_ids"]
    assert listed(admin, "state=waiting") == [ids[2]]
    assert admin.post(f"{EXECUTIONS}/bulk/retry?status=failed").json["done"] == 1, "only the third"
    assert states(admin)[ids[2]] == "replayed"


def test_one_that_was_done_again_by_name_is_settled(site: Site, admin: Caller, executor: Caller) -> None:
    one = failed(site, executor, site.job())
    (again,) = admin.post(f"{EXECUTIONS}/{one}/retry").json["execution_ids"]
    (letter,) = admin.get(LETTERS).json["items"]
    assert (letter["state"], letter["replayed_by"]) == ("replayed", again)
    assert admin.post(f"{EXECUTIONS}/bulk/retry?status=failed").json["done"] == 0


def test_dropped_letters_are_not_replayed(site: Site, admin: Caller, executor: Caller) -> None:
    first = failed(site, executor, site.job())
    second = failed(site, executor, shown(site, first)["job_id"])
    before = site.state()
    dry = admin.post(f"{LETTERS}/drop?dry_run=true", {"ids": [first, 404404]}).json
    assert (dry["dry_run"], dry["execution_ids"]) == (True, [first])
    assert admin.post(f"{LETTERS}/replay?status=failed&max=1&dry_run=true").json["left"] == 1
    assert site.state() == before
    assert admin.post(f"{LETTERS}/drop", {"ids": [first]}).json["execution_ids"] == [first]
    assert admin.post(f"{LETTERS}/replay", {"ids": [first]}).json["done"] == 0
    assert admin.post(f"{LETTERS}/drop?since=1h").json["execution_ids"] == [second]
    assert states(admin) == {first: "dropped", second: "dropped"}
    assert {one["dropped_by"] for one in admin.get(LETTERS).json["items"]} == {"admin"}


@pytest.mark.parametrize("action", ["replay", "drop"])
@pytest.mark.parametrize("named", [True, False])
def test_a_preview_equals_what_is_done(
    site: Site, admin: Caller, executor: Caller, action: str, *, named: bool
) -> None:
    group = site.group()
    kept, removed = (failed(site, executor, site.job(job_group=group)) for _ in range(2))
    assert admin.call("DELETE", f"/api/v1/jobs/{shown(site, removed)['job_id']}").status == 204
    query, body = ("", {"ids": [kept, removed, 404404]}) if named else (f"job_group={group}&", None)
    before = site.state()
    dry = admin.post(f"{LETTERS}/{action}?{query}dry_run=true", body).json
    assert site.state() == before
    done = admin.post(f"{LETTERS}/{action}?{query}", body).json
    assert dry["execution_ids"] == ([kept] if action == "replay" else [kept, removed])
    for name in ("done", "skipped", "left"):
        assert dry[name] == done[name], name


@pytest.mark.parametrize("action", ["replay", "drop"])
@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("", None),
        ("", {}),
        ("", {"ids": []}),
        ("", {"ids": [0]}),
        ("", {"ids": ["1"]}),
        ("", {"ids": [1] * 1001}),
        ("", {"ids": [1], "all": True}),
        ("job_id=1", {"ids": [1]}),
        ("max=5", None),
        ("reason_code=%27%3B", None),
        ("status=failed&max=0", None),
        ("since=never", None),
    ],
)
def test_what_is_not_meant_clearly_is_refused(
    site: Site, admin: Caller, executor: Caller, action: str, query: str, body: Any
) -> None:
    failed(site, executor, site.job())
    before = site.state()
    admin.post(f"{LETTERS}/{action}?{query}", body).problem(422)
    assert site.state() == before


def test_nobody_is_anonymous(site: Site, stranger: Caller, executor: Caller) -> None:
    for caller in (stranger, executor):
        caller.get(LETTERS).problem(401)
        caller.post(f"{LETTERS}/replay", {"ids": [1]}).problem(401)
        caller.post(f"{LETTERS}/drop", {"ids": [1]}).problem(401)
