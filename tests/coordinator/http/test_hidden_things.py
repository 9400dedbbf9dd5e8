"""What somebody may not see is answered as if it were not there, word for word; the audit knows better."""

from typing import Any

import pytest

from tests.coordinator.http.live import Answer, Caller, Site
from tests.coordinator.http.rights_site import RightsSite, Things
from tests.coordinator.http.test_refused_callers import entries
from tests.servers.processes import wait_until

NOT_THERE = 999_999


@pytest.fixture
def own_rights(own_site: Site) -> RightsSite:
    """With nobody told of yet."""
    return RightsSite(own_site)


def asked(caller: Caller, things: Things) -> dict[str, Answer]:
    """Everything that names a thing, by its route."""
    group, job, execution, batch = things.group, things.job, things.execution, things.batch
    return {
        "GET /api/v1/groups/{group_id}": caller.get(f"/api/v1/groups/{group}"),
        "GET /api/v1/jobs/{job_id}": caller.get(f"/api/v1/jobs/{job}"),
        "POST /api/v1/jobs/{job_id}/trigger": caller.post(f"/api/v1/jobs/{job}/trigger", {}),
        "GET /api/v1/executions/{execution_id}/log": caller.get(f"/api/v1/executions/{execution}/log"),
        "POST /api/v1/executions/{execution_id}/kill": caller.post(f"/api/v1/executions/{execution}/kill"),
        "GET /api/v1/batches/{batch_id}": caller.get(f"/api/v1/batches/{batch}"),
    }


def refused(rights: RightsSite) -> list[dict[str, Any]]:
    return entries(rights.site, "api.refused")


def test_each_attempt_leaves_a_trace(own_rights: RightsSite) -> None:
    routes = asked(own_rights.callers["operator"], own_rights.theirs)
    assert {answer.status for answer in routes.values()} == {404}
    wait_until(lambda: len(refused(own_rights)) >= len(routes), "the entries")
    told = {one["object_id"]: one for one in refused(own_rights)}
    assert set(told) == set(routes)
    one = told["GET /api/v1/jobs/{job_id}"]
    assert (one["actor_kind"], one["actor"], one["address"]) == ("user", "operator", "127.0.0.1")
    assert one["after"]["path"] == f"/api/v1/jobs/{own_rights.theirs.job}"
    assert "not there" in one["after"]["reason"]


def test_nobody_can_tell_the_hidden_from_what_is_not_there(own_rights: RightsSite) -> None:
    operator = own_rights.callers["operator"]
    nothing = Things(NOT_THERE, "", NOT_THERE, NOT_THERE, NOT_THERE, NOT_THERE, NOT_THERE)
    hidden, absent = asked(operator, own_rights.theirs), asked(operator, nothing)
    for route, answer in hidden.items():
        assert answer.status == absent[route].status == 404
        number = answer.json["facts"]["key"].encode()
        assert answer.body == absent[route].body.replace(str(NOT_THERE).encode(), number)
        assert set(answer.headers) == set(absent[route].headers)


def test_lists_and_what_is_not_there_refuse_nobody(own_rights: RightsSite) -> None:
    operator, theirs = own_rights.callers["operator"], own_rights.theirs
    for path in ("groups", "jobs", f"jobs/board?id={theirs.job}", f"executions?job_id={theirs.job}", "batches"):
        assert operator.get(f"/api/v1/{path}").status == 200
    operator.get(f"/api/v1/jobs/{NOT_THERE}").problem(404)
    operator.get(f"/api/v1/executions/{NOT_THERE}").problem(404)
    operator.get(f"/api/v1/jobs/{theirs.job}").problem(404)
    wait_until(lambda: refused(own_rights) != [], "the entry")
    assert [one["object_id"] for one in refused(own_rights)] == ["GET /api/v1/jobs/{job_id}"]


def test_definitions_for_a_group_of_others_are_told_of(own_rights: RightsSite) -> None:
    one = {"job_group": own_rights.theirs.group, "job_desc": "mine", "executor_handler": "x"}
    for query in ("?dry_run=true", ""):
        answer = own_rights.callers["editor"].post(f"/api/v1/jobs/definitions{query}", {"jobs": [one]})
        assert (answer.status, answer.json["refused"], answer.json["items"][0]["code"]) == (200, 1, "not_found")
    wait_until(lambda: refused(own_rights) != [], "the entry")
    assert [one["object_id"] for one in refused(own_rights)] == ["POST /api/v1/jobs/definitions"]


def test_the_bounds_hold(own_rights: RightsSite) -> None:
    """The same within a minute is one entry, whatever the ids."""
    operator, theirs = own_rights.callers["operator"], own_rights.theirs
    for execution in (theirs.execution, theirs.ended) * 10:
        operator.get(f"/api/v1/executions/{execution}").problem(404)
    wait_until(lambda: refused(own_rights) != [], "the entry")
    assert len(refused(own_rights)) == 1


def test_apps_of_others_and_apps_that_are_not_there_are_the_same(rights: RightsSite) -> None:
    """With a group that may not be seen, with none though an executor is there, and with nothing at all."""
    operator = rights.callers["operator"]
    for verb in ("ping", "drain", "resume"):
        bodies = set()
        for app_name in (rights.theirs.app_name, "unclaimed", "no-such-app", rights.ours.app_name):
            named = {"app_name": app_name, "address": "http://10.9.9.9:1"}
            answer = operator.post(f"/api/v1/executors/{verb}", named)
            answer.problem(404)
            bodies.add(answer.body)
        assert len(bodies) == 1, verb


def test_who_sees_everything_is_told_what_is_missing(rights: RightsSite) -> None:
    named = {"app_name": "unclaimed", "address": "http://10.0.0.9:9999"}
    rights.callers["overseer"].post("/api/v1/executors/drain", named).problem(403)
    assert rights.callers["administrator"].post("/api/v1/executors/drain", named).status == 204
