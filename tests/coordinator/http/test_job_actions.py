"""What is done to many jobs by filter: each by itself, with what is left, and only where one may."""

from collections.abc import Callable
from typing import Any

import pytest

from orth.coordinator.facts import ExecutionsOpened
from orth.coordinator.http import job_actions
from orth.coordinator.http.instants import shown_instant
from tests.coordinator.http.live import Caller, Site
from tests.coordinator.http.rights_site import RightsSite

BULK = "/api/v1/jobs/bulk"
CRON = {"schedule_type": "CRON", "schedule_conf": "0 0 3 1 1 ?"}


def done(caller: Caller, path: str, **headers: str) -> dict[str, Any]:
    answer = caller.call("POST", f"{BULK}/{path}", headers=headers)
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json
    return found


def started(admin: Caller) -> set[int]:
    return {job["id"] for job in admin.get("/api/v1/jobs?limit=200").json["items"] if job["trigger_status"]}


def test_what_matches_and_would_change_is_started_and_stopped(site: Site, admin: Caller) -> None:
    group = site.group()
    ids = [site.job(job_group=group, tags=["eu"], job_desc=f"job {number}", **CRON) for number in range(3)]
    site.job(job_group=group, tags=["eu"], job_desc="by hand")
    other = site.job(job_group=group, **CRON)
    answer = done(admin, "start?tag=eu")
    assert (answer["done"], answer["left"], answer["next_cursor"]) == (3, 0, None)
    assert (answer["refused"], answer["skipped"]) == ([], 1)
    assert started(admin) == set(ids)
    assert done(admin, "start?all=true&only=paused")["job_ids"] == [other], "what is asked for may end by doing it"
    assert done(admin, f"stop?id={ids[0]}&id={ids[2]}")["done"] == 2
    assert started(admin) == {ids[1], other}


@pytest.mark.parametrize("action", ["start", "stop"])
def test_the_preview_names_exactly_the_jobs_that_change(site: Site, admin: Caller, action: str) -> None:
    group = site.group()
    site.job(job_group=group, job_desc="by hand")
    stopped = site.job(job_group=group, job_desc="stopped", **CRON)
    running = site.job(job_group=group, job_desc="running", **CRON)
    assert admin.post(f"/api/v1/jobs/{running}/start").status == 200
    changing = {"start": stopped, "stop": running}[action]
    preview = done(admin, f"{action}?all=true&dry_run=true")
    assert started(admin) == {running}
    answer = done(admin, f"{action}?all=true")
    for one in (preview, answer):
        assert (one["done"], one["job_ids"], one["left"], one["skipped"]) == (1, [changing], 0, 2)
        assert one["refused"] == []
    assert preview["jobs"] == [{"id": changing, "job_desc": {"start": "stopped", "stop": "running"}[action]}]
    assert answer["jobs"] == []
    assert started(admin) == {"start": {stopped, running}, "stop": set()}[action]
    again = done(admin, f"{action}?all=true&dry_run=true")
    assert (again["done"], again["jobs"], again["skipped"]) == (0, [], 3)


def outcome(answer: dict[str, Any]) -> dict[str, Any]:
    """What a preview and the real request must agree in."""
    return {name: answer[name] for name in ("done", "job_ids", "refused", "left", "skipped", "next_cursor")}


def _expired_schedule(site: Site) -> tuple[str, dict[int, str]]:
    """A single instant that passes before the job is started; another job that still has fires."""
    group = site.group()
    instant = shown_instant(site.clock.now() + 6_000)
    late = site.job(job_group=group, schedule_type="AT", schedule_conf=instant)
    site.job(job_group=group, **CRON)
    site.clock.jump(8.0)
    return "start?all=true", {late: "no_fire_left_since"}


def _needed_and_busy(site: Site) -> tuple[str, dict[int, str]]:
    """Two jobs with an open execution, and a child whose parent stays."""
    group = site.group()
    child = site.job(job_group=group, job_desc="child")
    busy = [site.job(job_group=group, job_desc="busy", child_jobid=[child]) for _ in range(2)]
    for job in busy:
        site.execution(job)
    ids = "&".join(f"id={one}" for one in (*busy, child))
    return f"delete?{ids}", {busy[0]: "job_is_open", busy[1]: "job_is_open", child: "job_followed_by"}


def _chain(site: Site) -> tuple[str, dict[int, str]]:
    """Jobs that need each other, the needed ones newer and older, and one that an unlisted job needs."""
    group = site.group()
    jobs = [site.job(job_group=group, tags=["x"], job_desc=f"job {number}") for number in range(4)]
    for parent, follower in ((0, 2), (2, 1), (1, 3)):
        patched = site.admin().call("PATCH", f"/api/v1/jobs/{jobs[parent]}", {"child_jobid": [jobs[follower]]})
        assert patched.status == 200
    needed = site.job(job_group=group, tags=["x"], job_desc="needed")
    site.job(job_group=group, child_jobid=[needed])
    return "delete?tag=x", {needed: "job_followed_by"}


def _used_key(site: Site) -> tuple[str, dict[int, str]]:
    """A job that ran under another parameter with the same key."""
    group = site.group()
    used = site.job(job_group=group)
    site.job(job_group=group)
    asked = {"executor_param": "another"}
    assert site.admin().post(f"/api/v1/jobs/{used}/trigger", asked, Idempotency_Key="k").status == 202
    return "trigger?all=true", {used: "key_used"}


@pytest.mark.parametrize("in_one", [1, 50])
@pytest.mark.parametrize("scene", [_expired_schedule, _needed_and_busy, _chain, _used_key])
def test_the_preview_equals_what_the_action_does(
    site: Site,
    admin: Caller,
    monkeypatch: pytest.MonkeyPatch,
    scene: Callable[[Site], tuple[str, dict[int, str]]],
    in_one: int,
) -> None:
    """However many jobs one transaction of a preview tries."""
    monkeypatch.setattr(job_actions, "_PREVIEWED_IN_ONE", in_one)
    path, refused = scene(site)
    key = {"Idempotency-Key": "k"}
    before = site.state()
    preview = done(admin, f"{path}&dry_run=true", **key)
    assert site.state() == before
    answer = done(admin, path, **key)
    assert outcome(preview) == outcome(answer)
    assert {one["id"]: one["code"] for one in preview["refused"]} == refused
    assert {one["id"] for one in preview["jobs"]} == set(preview["job_ids"])


def test_the_parts_of_a_preview_name_no_job_twice(site: Site, admin: Caller) -> None:
    group = site.group()
    child = site.job(job_group=group)
    parent = site.job(job_group=group, child_jobid=[child])
    first = done(admin, "delete?all=true&max=1&dry_run=true")
    second = done(admin, f"delete?all=true&max=1&dry_run=true&cursor={first['next_cursor']}")
    assert (first["job_ids"], second["job_ids"]) == ([parent], [child])


def test_a_preview_emits_no_events(site: Site, admin: Caller) -> None:
    site.job()
    told: list[object] = []
    stop = site.app.state.tools.events.listen(told.append)
    assert done(admin, "trigger?all=true&dry_run=true")["done"] == 1
    assert told == []
    assert done(admin, "trigger?all=true")["done"] == 1
    stop()
    assert [type(one) for one in told] == [ExecutionsOpened]


def test_one_transaction_of_a_preview_is_short(site: Site, admin: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite has one writer: a preview of many jobs lets others write in between."""
    group = site.group()
    ids = {site.job(job_group=group, **CRON) for _ in range(5)}
    monkeypatch.setattr(job_actions, "_PREVIEWED_FOR", -1.0)
    parts: list[int] = []
    real = site.db.dry_run

    async def counted(*arguments: Any) -> Any:
        parts.append(len(found := await real(*arguments)))
        return found

    monkeypatch.setattr(type(site.db), "dry_run", staticmethod(counted))
    assert set(done(admin, "start?all=true&dry_run=true")["job_ids"]) == ids
    assert parts == [1] * 5, "one at least, however long it takes"


def test_what_is_skipped_is_counted_from_the_cursor_on(site: Site, admin: Caller) -> None:
    group = site.group()
    ids = [site.job(job_group=group, **(CRON if number % 2 else {})) for number in range(6)]
    first = done(admin, "start?all=true&max=2&dry_run=true")
    assert (first["job_ids"], first["left"], first["skipped"]) == ([ids[5], ids[3]], 1, 3)
    second = done(admin, f"start?all=true&dry_run=true&cursor={first['next_cursor']}")
    assert (second["job_ids"], second["left"], second["skipped"]) == ([ids[1]], 0, 2)


def test_a_long_list_is_worked_through_in_parts(site: Site, admin: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    group = site.group()
    ids = [site.job(job_group=group, **CRON) for _ in range(5)]
    preview = done(admin, "start?all=true&max=2&dry_run=true")
    assert (preview["done"], preview["left"], started(admin)) == (2, 3, set())
    first = done(admin, "start?all=true&max=2")
    assert (first["job_ids"], first["left"]) == ([ids[4], ids[3]], 3)
    monkeypatch.setattr(job_actions, "_LONGEST", -1.0)
    second = done(admin, f"start?all=true&cursor={first['next_cursor']}")
    assert (second["job_ids"], second["left"]) == ([ids[2]], 2), "one at least, however long it takes"
    monkeypatch.undo()
    last = done(admin, f"start?all=true&cursor={second['next_cursor']}")
    assert (last["job_ids"], last["left"], last["next_cursor"]) == ([ids[1], ids[0]], 0, None)
    assert started(admin) == set(ids)


def test_the_same_key_runs_none_a_second_time(site: Site, admin: Caller) -> None:
    group = site.group()
    ids = {site.job(job_group=group) for _ in range(3)}
    for _ in range(2):
        assert done(admin, "trigger?all=true", **{"Idempotency-Key": "bulk-1"})["done"] == 3
    opened = admin.get("/api/v1/executions").json["items"]
    assert {one["job_id"] for one in opened} == ids
    assert len(opened) == 3


def test_what_is_needed_is_not_deleted_with_the_others(site: Site, admin: Caller) -> None:
    group = site.group()
    child = site.job(job_group=group, job_desc="child")
    parent = site.job(job_group=group, job_desc="parent", child_jobid=[child])
    busy = site.job(job_group=group, job_desc="busy")
    site.execution(busy)
    answer = done(admin, "delete?all=true")
    assert answer["job_ids"] == [parent, child], "newest first: the parent is gone when its child is looked at"
    assert [one["id"] for one in answer["refused"]] == [busy]


def test_those_that_need_each_other_are_deleted_together(site: Site, admin: Caller) -> None:
    """Whichever is newer, and though the one that needs the others comes in a later part."""
    group = site.group()
    first, second = (site.job(job_group=group, tags=["x"], job_desc=name) for name in ("first", "second"))
    like = site.job(job_group=group, tags=["x"], job_desc="like", executor_handler="", super_task_id=second)
    last = site.job(job_group=group, tags=["x"], job_desc="last")
    for job, child in ((first, second), (second, last), (like, last)):
        assert admin.call("PATCH", f"/api/v1/jobs/{job}", {"child_jobid": [child]}).status == 200
    answer = done(admin, "delete?tag=x&max=1")
    assert (answer["done"], answer["refused"], answer["left"], answer["next_cursor"]) == (4, [], 0, None)
    assert answer["job_ids"][-1] == last
    assert admin.get("/api/v1/jobs").json["items"] == []


def test_who_is_not_meant_keeps_what_it_needs(site: Site, admin: Caller) -> None:
    group = site.group()
    parent = site.job(job_group=group, job_desc="parent")
    meant = site.job(job_group=group, job_desc="meant", tags=["x"])
    child = site.job(job_group=group, job_desc="child", tags=["x"])
    for job, follows in ((parent, [meant, child]), (meant, [child])):
        assert admin.call("PATCH", f"/api/v1/jobs/{job}", {"child_jobid": follows}).status == 200
    answer = done(admin, "delete?tag=x")
    assert answer["job_ids"] == []
    assert {one["id"]: one["code"] for one in answer["refused"]} == {meant: "job_followed_by", child: "job_followed_by"}
    assert len(admin.get("/api/v1/jobs").json["items"]) == 3


def test_nobody_means_everything_by_saying_nothing(site: Site, admin: Caller) -> None:
    site.job(**CRON)
    for act in ("start", "stop", "trigger", "delete"):
        assert admin.post(f"{BULK}/{act}").problem(422)["errors"][0]["field"] == "all"
    assert started(admin) == set()


def test_only_where_one_may(rights: RightsSite) -> None:
    operator = rights.callers["operator"]
    answer = done(operator, "start?all=true")
    assert (answer["job_ids"], answer["refused"], answer["left"]) == ([rights.ours.job], [], 0)
    assert done(operator, f"stop?id={rights.theirs.job}")["done"] == 0
    assert started(rights.callers["administrator"]) == {rights.ours.job}
