"""Definitions out of one place and into another: what would be, what is, and who may."""

from typing import Any

import pytest

from tests.coordinator.http.live import Caller, Site
from tests.coordinator.http.rights_site import RightsSite

PATH = "/api/v1/jobs/definitions"
CRON = {"schedule_type": "CRON", "schedule_conf": "0 0 3 1 1 ?"}


def a_definition(name: str, **fields: object) -> dict[str, Any]:
    return {"job_group": "demo", "job_desc": name, "executor_handler": "report", **fields}


def taken(caller: Caller, *definitions: dict[str, Any], query: str = "", **headers: str) -> dict[str, Any]:
    answer = caller.call("POST", PATH + query, {"jobs": list(definitions)}, headers=headers)
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json
    return found


def fates(answer: dict[str, Any]) -> list[str]:
    return [one["fate"] for one in answer["items"]]


def exported(caller: Caller, query: str = "") -> list[dict[str, Any]]:
    answer = caller.get(f"{PATH}?{query}")
    assert answer.status == 200, answer.body
    return list(answer.json["items"])


def names(admin: Caller) -> list[str]:
    return [job["job_desc"] for job in admin.get("/api/v1/jobs").json["items"]]


def test_what_is_taken_out_here_is_the_same_there_though_ids_differ(site: Site, admin: Caller) -> None:
    group = site.group(scripts_allowed=True)
    calendar = admin.post("/api/v1/calendars", {"name": "weekdays", "definition": {"weekdays": [1, 2]}}).json["id"]
    last = site.job(job_group=group, job_desc="last/of all", tags=["eu"], author="data")
    first = site.job(job_group=group, job_desc="first", child_jobid=[last], calendar_id=calendar, **CRON)
    site.job(job_group=group, job_desc="like last", executor_handler="", super_task_id=last)
    code = {"glue_type": "GLUE_SHELL", "glue_source": "echo 1", "glue_remark": "first version"}
    site.job(job_group=group, job_desc="script", executor_handler="", **code)
    definitions = exported(admin)
    assert [one["job_desc"] for one in definitions] == ["script", "like last", "first", "last/of all"]
    assert definitions[2]["child_jobid"] == ["demo/last/of all"]
    assert (definitions[2]["calendar_id"], definitions[2]["job_group"]) == ("weekdays", "demo")
    assert (definitions[1]["super_task_id"], definitions[0]["glue_source"]) == ("demo/last/of all", "echo 1")
    assert fates(taken(admin, *definitions)) == ["same"] * 4

    for job in sorted((job["id"] for job in admin.get("/api/v1/jobs").json["items"]), reverse=True):
        assert admin.call("DELETE", f"/api/v1/jobs/{job}").status == 204
    site.job(job_group=group, job_desc="in between")
    answer = taken(admin, *definitions)
    assert fates(answer) == ["create"] * 4
    assert first not in {one["job_id"] for one in answer["items"]}
    ids = ",".join(str(one["job_id"]) for one in answer["items"])
    assert exported(admin, "&".join(f"id={one}" for one in ids.split(","))) == [
        definitions[place] for place in sorted(range(4), key=lambda place: -answer["items"][place]["job_id"])
    ]


def test_a_preview_tells_what_would_be_and_changes_nothing(site: Site, admin: Caller) -> None:
    group = site.group()
    kept = site.job(job_group=group, job_desc="kept", executor_handler="report")
    changed = site.job(job_group=group, job_desc="changed", executor_handler="report", executor_timeout=60, **CRON)
    before = site.contents()
    answer = taken(
        admin,
        a_definition("new", child_jobid=["demo/newer"]),
        a_definition("kept"),
        a_definition("changed", executor_timeout=90, **CRON),
        a_definition("newer"),
        a_definition("wrong", executor_timeout=-1),
        a_definition("lost", job_group="elsewhere"),
        a_definition("kept"),
        query="?dry_run=true",
    )
    assert fates(answer) == ["create", "same", "change", "create", "refuse", "refuse", "refuse"]
    assert [one["job_id"] for one in answer["items"][:4]] == [None, kept, changed, None]
    assert answer["items"][2]["changes"] == [{"field": "executor_timeout", "before": 60, "after": 90}]
    refused = answer["items"][4:]
    assert [one["field"] for one in refused] == ["executor_timeout", "job_group", None]
    assert "elsewhere" in refused[1]["detail"]
    assert "same job" in refused[2]["detail"]
    assert (answer["created"], answer["changed"], answer["same"], answer["refused"]) == (2, 1, 1, 3)
    assert site.contents() == before


def test_what_is_done_is_what_was_looked_at(site: Site, admin: Caller) -> None:
    job_id = site.job(job_group=site.group(), job_desc="shared", executor_handler="report")
    definitions = [a_definition("shared", executor_timeout=90), a_definition("new")]
    plan = taken(admin, *definitions, query="?dry_run=true")["plan"]
    assert admin.call("PATCH", f"/api/v1/jobs/{job_id}", {"author": "somebody else"}).status == 200
    answer = admin.call("POST", PATH, {"jobs": definitions}, headers={"If-Match": plan})
    assert answer.problem(412)["type"].endswith("changed-meanwhile")
    assert names(admin) == ["shared"], "and nothing of it was done"
    plan = taken(admin, *definitions, query="?dry_run=true")["plan"]
    assert fates(taken(admin, *definitions, **{"If-Match": plan})) == ["change", "create"]
    other = admin.call("POST", PATH, {"jobs": definitions[1:]}, headers={"If-Match": plan})
    assert other.status == 412, "another file is another plan"


def test_jobs_arrive_stopped_and_those_that_are_there_stay_as_they_are(site: Site, admin: Caller) -> None:
    job_id = site.job(job_group=site.group(), job_desc="on", **CRON)
    admin.post(f"/api/v1/jobs/{job_id}/start")
    taken(admin, a_definition("on", executor_timeout=5, **CRON), a_definition("new", **CRON))
    shown = {job["job_desc"]: job for job in admin.get("/api/v1/jobs").json["items"]}
    assert (shown["on"]["trigger_status"], shown["on"]["executor_timeout"]) == (1, 5)
    assert shown["new"]["trigger_status"] == 0


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"job_desc": ""}, "job_desc"),
        ({"job_group": None}, "job_group"),
        ({"job_group": 99}, None),
        ({"child_jobid": ["demo/nobody"]}, "child_jobid"),
        ({"child_jobid": ["demo"]}, "child_jobid"),
        ({"child_jobid": ["demo/twice"]}, "child_jobid"),
        ({"child_jobid": ["demo/wrong"]}, "child_jobid"),
        ({"super_task_id": "nowhere/x"}, "super_task_id"),
        ({"calendar_id": "no such"}, "calendar_id"),
        ({"schedule_type": "CRON", "schedule_conf": "never"}, "schedule_conf"),
        ({"tags": ["a,b"]}, "tags.0"),
        ({"nonsense": 1}, "nonsense"),
        ({"job_desc": "twice"}, None),
        ({"child_jobid": 7, "super_task_id": [], "calendar_id": {}}, "calendar_id"),
    ],
)
def test_what_is_refused_says_why_and_does_not_keep_the_others(
    site: Site, admin: Caller, fields: dict[str, object], field: str | None
) -> None:
    group = site.group()
    for _ in range(2):
        site.job(job_group=group, job_desc="twice")
    answer = taken(admin, a_definition("wrong", **{"job_desc": "wrong", **fields}), a_definition("good"))
    assert fates(answer) == ["refuse", "create"]
    assert answer["items"][0]["field"] == field, answer["items"][0]
    assert answer["items"][0]["detail"]
    assert names(admin) == ["twice", "twice", "good"]


def test_rings_are_refused_where_they_close(site: Site, admin: Caller) -> None:
    site.group()
    one, other = a_definition("one", child_jobid=["demo/other"]), a_definition("other", child_jobid=["demo/one"])
    assert "create" not in fates(taken(admin, one, other, query="?dry_run=true"))
    turned = [a_definition("one"), a_definition("other", child_jobid=["demo/one"])]
    assert fates(taken(admin, *turned)) == ["create", "create"]
    back = [a_definition("one", child_jobid=["demo/other"]), a_definition("other")]
    assert fates(taken(admin, *back)) == ["change", "change"], "those that are named come first, as they will be"


def test_each_is_told_to_the_audit_with_what_it_changed(site: Site, admin: Caller) -> None:
    site.group()
    taken(admin, a_definition("new"))
    taken(admin, a_definition("new", executor_timeout=9))
    taken(admin, a_definition("new", executor_timeout=10), query="?dry_run=true")
    told = [one for one in admin.get("/api/v1/audit").json["items"] if one["object_kind"] == "job"]
    assert [one["action"] for one in told] == ["job.update", "job.create"]
    assert told[0]["after"] == {"executor_timeout": 9}


def test_everybody_takes_in_only_where_they_may(rights: RightsSite) -> None:
    ours = a_definition("new", job_group="ours")
    theirs = a_definition("job of theirs", job_group="theirs")
    answer = taken(rights.callers["editor"], ours, theirs)
    missing = taken(rights.callers["editor"], a_definition("job of theirs", job_group="nobody"))
    assert fates(answer) == ["create", "refuse"]
    assert answer["items"][1]["detail"] == missing["items"][0]["detail"].replace("nobody", "theirs")
    by_id = taken(rights.callers["editor"], a_definition("x", job_group=rights.theirs.group))
    assert fates(by_id) == ["refuse"]
    child = f"theirs/job of {rights.theirs.app_name}"
    assert fates(taken(rights.callers["editor"], a_definition("x", job_group="ours", child_jobid=[child]))) == [
        "refuse"
    ]
    assert {one["job_group"] for one in exported(rights.callers["viewer"])} == {"ours"}
    assert {one["job_group"] for one in exported(rights.callers["overseer"])} == {"ours", "theirs"}


def test_what_may_not_be_seen_is_taken_out_by_its_number(rights: RightsSite) -> None:
    admin = rights.callers["administrator"]
    admin.call("PATCH", f"/api/v1/jobs/{rights.ours.job}", {"child_jobid": [rights.theirs.job]})
    (seen,) = exported(rights.callers["viewer"])
    assert seen["child_jobid"] == [rights.theirs.job]
    assert exported(admin, f"id={rights.ours.job}")[0]["child_jobid"] == ["theirs/job of theirs"]


def test_code_needs_the_permission_for_code_and_a_group_that_allows_it(site: Site, admin: Caller) -> None:
    site.group()
    code = {"glue_type": "GLUE_SHELL", "glue_source": "echo 1", "glue_remark": "first version", "executor_handler": ""}
    answer = taken(admin, a_definition("script", **code))
    assert fates(answer) == ["refuse"]
    assert "does not allow scripts" in answer["items"][0]["detail"]


def test_pages_of_definitions_follow_each_other(site: Site, admin: Caller) -> None:
    group = site.group()
    for number in range(3):
        site.job(job_group=group, job_desc=f"job {number}")
    first = admin.get(f"{PATH}?limit=2").json
    second = admin.get(f"{PATH}?limit=2&cursor={first['next_cursor']}").json
    assert [one["job_desc"] for one in first["items"] + second["items"]] == ["job 2", "job 1", "job 0"]
    assert second["next_cursor"] is None
