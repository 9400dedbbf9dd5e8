"""Links between jobs of different groups: made, changed and moved only by somebody who may do so at both ends."""

from typing import Any

import pytest

from orth.domain.access import Role
from orth.store.users import set_grants
from tests.coordinator.http.live import Answer
from tests.coordinator.http.rights_site import RightsSite


def change(rights: RightsSite, who: str, job: int, **fields: Any) -> Answer:
    return rights.callers[who].call("PATCH", f"/api/v1/jobs/{job}", fields)


def link(rights: RightsSite, parent: int, child: int) -> None:
    assert change(rights, "administrator", parent, child_jobid=[child]).status == 200


def grant(rights: RightsSite, **roles: Role) -> None:
    """Let the editor of our group have these roles, by the names of groups."""
    groups = {"ours": rights.ours.group, "theirs": rights.theirs.group}
    named = {groups[name] if name in groups else int(name[1:]): role for name, role in roles.items()}
    rights.site.tx(set_grants, rights.users["editor"], named)


@pytest.mark.parametrize("changed", [{"child_param": "result"}, {"child_per_shard": True}], ids=str)
def test_what_a_child_is_given_is_said_by_who_may_run_it(rights: RightsSite, changed: dict[str, Any]) -> None:
    link(rights, rights.ours.job, rights.theirs.job)
    refused = change(rights, "editor", rights.ours.job, **changed).problem(422)
    assert (refused["code"], refused["errors"][0]["field"]) == ("no_such_child", "child_jobid")
    grant(rights, ours=Role.EDITOR, theirs=Role.VIEWER)
    change(rights, "editor", rights.ours.job, **changed).problem(403)
    grant(rights, ours=Role.EDITOR)
    assert change(rights, "editor", rights.ours.job, job_desc="renamed", child_jobid=[]).status == 200
    link(rights, rights.ours.job, rights.theirs.job)
    grant(rights, ours=Role.EDITOR, theirs=Role.OPERATOR)
    assert change(rights, "editor", rights.ours.job, **changed).status == 200


def test_a_child_that_was_moved_away_is_told_what_its_group_agreed_to(rights: RightsSite) -> None:
    child = rights.site.job(job_group=rights.ours.group)
    link(rights, rights.ours.job, child)
    assert change(rights, "administrator", child, job_group=rights.theirs.group).status == 200
    change(rights, "editor", rights.ours.job, child_param="result").problem(422)


@pytest.mark.parametrize("moves", ["parent", "child"])
def test_a_move_makes_links_anew_in_both_directions(rights: RightsSite, moves: str) -> None:
    """The other end is in a third group, in which the mover may do nothing, then see, then what such a link takes."""
    third = rights.site.group("third")
    job, other = rights.ours.job, rights.site.job(job_group=third)
    link(rights, *((job, other) if moves == "parent" else (other, job)))
    roles = {"ours": Role.EDITOR, "theirs": Role.EDITOR}
    enough = Role.OPERATOR if moves == "parent" else Role.EDITOR

    def move() -> Answer:
        return change(rights, "editor", job, job_group=rights.theirs.group)

    grant(rights, **roles)
    refused = move().problem(409)
    assert (refused["code"], refused["facts"]) == ("links_into_groups", {"job": job, "others": "–", "hidden": 1})
    assert str(other) not in refused["detail"].replace(str(job), "")
    grant(rights, **roles, **{f"_{third}": Role.VIEWER})
    assert move().problem(409)["facts"] == {"job": job, "others": str(other), "hidden": 0}
    grant(rights, **roles, **{f"_{third}": enough})
    assert move().json["job_group"] == rights.theirs.group


def test_who_runs_a_handler_of_a_job_is_asked_when_it_moves(rights: RightsSite) -> None:
    third = rights.site.group("third")
    below = rights.site.job(job_group=third, executor_handler="", super_task_id=rights.ours.job)
    grant(rights, ours=Role.EDITOR, theirs=Role.EDITOR)
    assert change(rights, "editor", rights.ours.job, job_group=rights.theirs.group).problem(409)["facts"]["hidden"] == 1
    # The other end: what it runs may be seen by nobody who moves it.
    assert change(rights, "editor", below, job_group=rights.theirs.group).status == 404
    assert change(rights, "administrator", below, job_group=rights.theirs.group).status == 200
    assert change(rights, "administrator", rights.ours.job, job_group=third).status == 200
    refused = change(rights, "editor", below, job_group=rights.ours.group).problem(409)
    assert (refused["code"], refused["facts"]["hidden"]) == ("links_into_groups", 1)


def test_a_move_with_links_cut_is_nobody_elses_business(rights: RightsSite) -> None:
    third = rights.site.group("third")
    other = rights.site.job(job_group=third)
    link(rights, rights.ours.job, other)
    grant(rights, ours=Role.EDITOR, theirs=Role.EDITOR)
    moved = change(rights, "editor", rights.ours.job, job_group=rights.theirs.group, child_jobid=[])
    assert moved.json["job_group"] == rights.theirs.group


@pytest.mark.parametrize("as_super_task", [True, False])
def test_a_job_that_others_need_names_those_that_may_be_seen(rights: RightsSite, as_super_task: bool) -> None:
    grant(rights, ours=Role.EDITOR)
    job = rights.site.job(job_group=rights.ours.group, tags=["needed"])
    needs = {"executor_handler": "", "super_task_id": job} if as_super_task else {"child_jobid": [job]}
    ours = rights.site.job(job_group=rights.ours.group, **needs)
    path = f"/api/v1/jobs/{job}"
    told = rights.callers["editor"].call("DELETE", path).problem(409)
    assert told["facts"] == {"job": job, "others": str(ours)}
    theirs = [rights.site.job(job_group=rights.theirs.group, **needs) for _ in range(2)]
    told = rights.callers["editor"].call("DELETE", path).problem(409)
    assert (told["code"], told["facts"]) == ("job_needed_elsewhere", {"job": job, "others": str(ours), "hidden": 2})
    told = rights.callers["chief"].call("DELETE", path).problem(409)
    assert told["facts"]["others"] == ", ".join(map(str, [ours, *theirs]))
    many = rights.callers["editor"].post("/api/v1/jobs/bulk/delete?tag=needed").json
    assert [one["code"] for one in many["refused"]] == ["job_needed_elsewhere"]
