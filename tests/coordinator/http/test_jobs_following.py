"""Children and super tasks over the API."""

from typing import Any

import pytest

from tests.coordinator.http.live import Caller, Site

JOBS = "/api/v1/jobs"


@pytest.fixture
def group(site: Site) -> int:
    return site.group()


@pytest.mark.parametrize("as_text", [True, False])
def test_children_are_named_by_a_list_or_a_text(site: Site, admin: Caller, group: int, as_text: bool) -> None:
    first, second = site.job(job_group=group), site.job(job_group=group)
    named: object = f" {first}, {second},{first} " if as_text else [first, second, first]
    parent = site.job(job_group=group, child_jobid=named, child_per_shard=True)
    shown = admin.get(f"{JOBS}/{parent}").json
    assert (shown["child_jobid"], shown["child_per_shard"]) == ([first, second], True)
    renamed = admin.call("PATCH", f"{JOBS}/{parent}", {"job_desc": "renamed"}).json
    assert (renamed["child_jobid"], renamed["child_per_shard"]) == ([first, second], True)
    assert admin.call("PATCH", f"{JOBS}/{parent}", {"child_jobid": ""}).json["child_jobid"] == []


def test_a_ring_is_refused_at_save_and_at_edit(site: Site, admin: Caller, group: int) -> None:
    last = site.job(job_group=group)
    middle = site.job(job_group=group, child_jobid=[last])
    first = site.job(job_group=group, child_jobid=[middle])
    before = site.state()
    for job_id, children in ((last, [first]), (last, [middle]), (first, [middle, first])):
        said = admin.call("PATCH", f"{JOBS}/{job_id}", {"child_jobid": children}).problem(422)
        assert said["errors"][0]["field"] == "child_jobid"
    assert site.state() == before


BAD: list[tuple[dict[str, Any], str]] = [
    ({"child_jobid": [999]}, "child_jobid"),
    ({"child_jobid": "999"}, "child_jobid"),
    ({"child_jobid": "1;2"}, "child_jobid"),
    ({"child_jobid": "-1"}, "child_jobid"),
    ({"child_jobid": "1.0"}, "child_jobid"),
    ({"child_jobid": "٣"}, "child_jobid"),
    ({"child_jobid": "9" * 400}, "child_jobid"),
    ({"child_jobid": [0]}, "child_jobid"),
    ({"child_jobid": [2**31]}, "child_jobid"),
    ({"child_jobid": ["1"]}, "child_jobid.0"),
    ({"child_jobid": [True]}, "child_jobid.0"),
    ({"child_jobid": list(range(1, 30))}, "child_jobid"),
    ({"child_jobid": None}, "child_jobid"),
    ({"child_jobid": {}}, "child_jobid"),
    ({"child_per_shard": "yes"}, "child_per_shard"),
    ({"child_per_shard": 1}, "child_per_shard"),
    ({"super_task_id": 999}, "super_task_id"),
    ({"super_task_id": -1}, "super_task_id"),
    ({"super_task_id": "1"}, "super_task_id"),
    ({"super_task_id": 2**31}, "super_task_id"),
    ({"super_task_id": None}, "super_task_id"),
    ({"lost_after": -1}, "lost_after"),
    ({"lost_after": 604_801}, "lost_after"),
    ({"lost_after": "5"}, "lost_after"),
    ({"executor_handler": ""}, "executor_handler"),
    ({"executor_handler": "", "super_task_id": 0}, "executor_handler"),
    ({"label_selector": "a=b=c"}, "label_selector"),
    ({"label_selector": ","}, "label_selector"),
    ({"label_selector": 5}, "label_selector"),
    ({"label_selector": "a" * 300}, "label_selector"),
]


@pytest.mark.parametrize(("fields", "field"), BAD, ids=lambda value: str(value)[:60])
def test_bad_input_is_refused_at_its_field(
    site: Site, admin: Caller, group: int, fields: dict[str, Any], field: str
) -> None:
    stored = site.job(job_group=group)
    before = site.state()
    body = {"job_group": group, "job_desc": "j", "executor_handler": "report", **fields}
    assert admin.post(JOBS, body).problem(422)["errors"][0]["field"] == field
    assert admin.call("PATCH", f"{JOBS}/{stored}", fields).problem(422)["errors"][0]["field"] == field
    assert site.state() == before


def test_a_sub_task_needs_no_handler_and_holds_its_super(site: Site, admin: Caller, group: int) -> None:
    above = site.job(job_group=group, executor_handler="copy")
    body = {"job_group": group, "job_desc": "below", "super_task_id": above}
    below = admin.post(JOBS, body)
    assert (below.status, below.json["executor_handler"], below.json["super_task_id"]) == (201, "", above)
    where = f"{JOBS}/{below.json['id']}"
    execution = site.execution(below.json["id"])
    assert admin.get(f"/api/v1/executions/{execution}").json["executor_handler"] == "copy"
    assert "runs its handler" in admin.call("DELETE", f"{JOBS}/{above}").problem(409)["detail"]
    itself = {"super_task_id": below.json["id"]}
    assert admin.call("PATCH", where, itself).problem(422)["errors"][0]["field"] == "executor_handler"
    assert admin.call("PATCH", where, {**itself, "executor_handler": "own"}).json["executor_handler"] == "own"
    assert admin.call("DELETE", f"{JOBS}/{above}").status == 204


def test_super_tasks_have_one_level(site: Site, admin: Caller, group: int) -> None:
    above = site.job(job_group=group)
    below = site.job(job_group=group, super_task_id=above)
    third = site.job(job_group=group)
    for job_id, super_id in ((third, below), (above, third)):
        said = admin.call("PATCH", f"{JOBS}/{job_id}", {"super_task_id": super_id}).problem(422)
        assert said["errors"][0]["field"] == "super_task_id"


def test_a_handler_is_checked_where_it_is_run(site: Site, admin: Caller, executor: Caller, group: int) -> None:
    """A sub task runs the handler of its super task on its own group's executors."""
    above = site.job(job_group=group, executor_handler="copy")
    said = {"incarnation": "one", "handlers": [{"name": "move"}]}
    beat = {"registryKey": "other", "registryValue": "http://10.0.0.1:9999", "orth": said}
    executor.post("/api/registry", beat).envelope()
    body = {"job_group": site.group("other"), "job_desc": "below", "super_task_id": above}
    assert "'copy'" in admin.post(JOBS, body).problem(422)["detail"]
    assert admin.post(f"{JOBS}?allow_unknown_handler=true", body).status == 201


def test_a_job_that_follows_another_is_not_deleted(site: Site, admin: Caller, group: int) -> None:
    child = site.job(job_group=group)
    parent = site.job(job_group=group, child_jobid=[child])
    assert f"job {parent} is followed by it" in admin.call("DELETE", f"{JOBS}/{child}").problem(409)["detail"]
    assert admin.call("DELETE", f"{JOBS}/{parent}").status == 204
    assert admin.call("DELETE", f"{JOBS}/{child}").status == 204
