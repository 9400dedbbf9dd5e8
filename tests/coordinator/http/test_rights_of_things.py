"""What people find and reach with a role in one group: lists, counts, and things that a body or a filter names."""

from typing import Any

import pytest

from orth.domain.access import Role
from orth.store.users import set_disabled, set_grants, set_role
from tests.coordinator.http.live import Answer, Caller
from tests.coordinator.http.rights_site import RightsSite

LISTS = {
    "/api/v1/groups": lambda one: one["id"],
    "/api/v1/jobs": lambda one: one["job_group"],
    "/api/v1/executions": lambda one: one["job_group"],
    "/api/v1/dead-letters": lambda one: one["job_group"],
    "/api/v1/batches": lambda one: one["job_id"],
    "/api/v1/alarms/silences": lambda one: one["job_id"],
    "/api/v1/executors": lambda one: one["app_name"],
}


def found(caller: Caller, path: str) -> list[Any]:
    answer = caller.get(path)
    assert answer.status == 200, answer.body
    return list(answer.json["items"])


def same_as_missing(answer: Answer, other: Answer) -> None:
    """Two refusals that differ only in the id that was asked for."""
    assert answer.status == other.status
    told = [{**one.problem(one.status), "detail": ""} for one in (answer, other)]
    for one in told:
        one.pop("errors", None)
        one.get("facts", {}).pop("key", None)
    assert told[0] == told[1]


@pytest.mark.parametrize("path", LISTS)
def test_a_list_has_what_its_caller_may_see_and_nothing_else(rights: RightsSite, path: str) -> None:
    def whose(who: str) -> set[Any]:
        return {LISTS[path](one) for one in found(rights.callers[who], path)}

    ours, theirs = whose("viewer"), whose("other viewer")
    assert len(ours) == len(theirs) == 1
    assert ours != theirs
    assert whose("overseer") >= ours | theirs


@pytest.mark.parametrize("path", ["/api/v1/jobs", "/api/v1/executions", "/api/v1/dead-letters"])
def test_to_ask_for_another_group_finds_nothing(rights: RightsSite, path: str) -> None:
    asked = f"{path}?job_group={rights.theirs.group}"
    assert found(rights.callers["overseer"], asked) != []
    assert found(rights.callers["viewer"], asked) == []


@pytest.mark.parametrize(
    "path",
    ["/api/v1/executions?job_id={0.job}", "/api/v1/executions?batch_id={0.batch}", "/api/v1/batches?job_id={0.job}"],
)
def test_to_ask_for_a_job_that_may_not_be_seen_finds_nothing_and_tells_nothing(rights: RightsSite, path: str) -> None:
    unseen = rights.callers["viewer"].get(path.format(rights.theirs)).json
    missing = rights.callers["viewer"].get(path.format(rights.theirs).replace(f"={rights.theirs.job}", "=99999")).json
    assert unseen == missing
    assert unseen["items"] == []
    assert unseen["next_cursor"] is None


def test_pages_of_a_list_go_on_inside_the_groups_that_may_be_seen(rights: RightsSite) -> None:
    for number in range(5):
        for things in (rights.ours, rights.theirs):
            rights.site.job(job_group=things.group, job_desc=f"job {number}")
    caller, seen, cursor = rights.callers["viewer"], list[int](), ""
    while True:
        page = caller.get(f"/api/v1/jobs?limit=2{cursor}").json
        seen += [one["job_group"] for one in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert seen == [rights.ours.group] * 6


def test_who_has_several_groups_sees_the_executions_of_all_of_them_in_order(rights: RightsSite) -> None:
    third = rights.site.job(job_group=rights.site.group("third-group"))
    grants = {rights.ours.group: Role.VIEWER, rights.theirs.group: Role.VIEWER}
    rights.site.tx(set_grants, rights.users["viewer"], grants)
    for _ in range(3):
        for job in (rights.ours.job, third, rights.theirs.job):
            rights.site.execution(job)
    everything = found(rights.callers["overseer"], "/api/v1/executions?limit=100")
    mine = [one["id"] for one in everything if one["job_id"] != third]
    assert len(mine) == len(everything) - 3
    assert [one["id"] for one in found(rights.callers["viewer"], "/api/v1/executions?limit=100")] == mine
    page = rights.callers["viewer"].get("/api/v1/executions?limit=3").json
    after = rights.callers["viewer"].get(f"/api/v1/executions?limit=100&cursor={page['next_cursor']}").json
    assert [one["id"] for one in page["items"] + after["items"]] == mine


def test_statistics_count_what_may_be_seen(rights: RightsSite) -> None:
    def counted(who: str, query: str = "") -> tuple[int, int]:
        stats = rights.callers[who].get(f"/api/v1/stats{query}").json
        return stats["executions"], stats["open"]["init"]

    ours, theirs, all_of_them = counted("viewer"), counted("other viewer"), counted("overseer")
    assert ours == theirs == (1, 1)
    assert all_of_them == (2, 2)
    assert counted("viewer", f"?job_group={rights.theirs.group}") == (0, 0)
    parts = rights.callers["viewer"].get(f"/api/v1/stats/histogram?job_id={rights.theirs.job}").json["items"]
    assert sum(part["trigger_failed"] for part in parts) == 0


def test_channels_are_named_to_everybody_and_shown_to_who_may_see_everything(rights: RightsSite) -> None:
    path = f"/api/v1/alarms/channels/{rights.channel}"
    for who, definition in (("viewer", False), ("editor", False), ("overseer", True)):
        one, listed = rights.callers[who].get(path).json, found(rights.callers[who], "/api/v1/alarms/channels")
        assert one["name"] == "hook"
        assert bool(one["definition"]) is bool(listed[0]["definition"]) is definition


# --- ids in bodies


def test_a_job_is_made_only_in_a_group_one_may_edit(rights: RightsSite) -> None:
    body = {"job_desc": "one more", "executor_handler": "report"}
    editor = rights.callers["editor"]
    unseen = editor.post("/api/v1/jobs", {**body, "job_group": rights.theirs.group})
    same_as_missing(unseen, editor.post("/api/v1/jobs", {**body, "job_group": 99999}))
    unseen.problem(404)


@pytest.mark.parametrize("field", ["child_jobid", "super_task_id"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_job_names_no_job_that_may_not_be_seen(rights: RightsSite, field: str, method: str) -> None:
    path = "/api/v1/jobs" if method == "POST" else f"/api/v1/jobs/{rights.ours.job}"

    def naming(job_id: int) -> Answer:
        body = {"job_group": rights.ours.group, "job_desc": "names another", "executor_handler": "report"}
        return rights.callers["editor"].call(
            method, path, body | {field: [job_id] if field == "child_jobid" else job_id}
        )

    unseen, missing = naming(rights.theirs.job), naming(99999)
    assert unseen.problem(422)["errors"][0]["field"] == field
    assert unseen.json["detail"].replace(str(rights.theirs.job), "N") == missing.json["detail"].replace("99999", "N")


def test_a_child_has_to_be_a_job_one_may_run(rights: RightsSite) -> None:
    grants = {rights.ours.group: Role.EDITOR, rights.theirs.group: Role.VIEWER}
    rights.site.tx(set_grants, rights.users["editor"], grants)
    path, body = f"/api/v1/jobs/{rights.ours.job}", {"child_jobid": [rights.theirs.job]}
    rights.callers["editor"].call("PATCH", path, body).problem(403)
    rights.site.tx(set_grants, rights.users["editor"], grants | {rights.theirs.group: Role.OPERATOR})
    assert rights.callers["editor"].call("PATCH", path, body).json["child_jobid"] == [rights.theirs.job]
    rights.site.tx(set_grants, rights.users["editor"], grants)  # what is there already may stay
    assert rights.callers["editor"].call("PATCH", path, {"job_desc": "renamed"}).status == 200


def test_a_job_is_moved_only_between_groups_one_may_edit(rights: RightsSite) -> None:
    path = f"/api/v1/jobs/{rights.ours.job}"
    move = {"job_group": rights.theirs.group}
    rights.callers["editor"].call("PATCH", path, move).problem(404)
    rights.site.tx(
        set_grants, rights.users["editor"], {rights.ours.group: Role.EDITOR, rights.theirs.group: Role.OPERATOR}
    )
    rights.callers["editor"].call("PATCH", path, move).problem(403)
    assert rights.callers["chief"].call("PATCH", path, move).json["job_group"] == rights.theirs.group


def test_what_is_done_again_runs_where_one_may_run_things(rights: RightsSite) -> None:
    """The execution is of our group still, and its job has moved to another one."""
    moved = {"job_group": rights.theirs.group}
    assert rights.callers["chief"].call("PATCH", f"/api/v1/jobs/{rights.ours.job}", moved).status == 200
    operator, ended = rights.callers["operator"], rights.ours.ended
    operator.post(f"/api/v1/executions/{ended}/retry").problem(409)
    replayed = operator.post("/api/v1/dead-letters/replay", {"ids": [ended]}).json
    assert (replayed["done"], replayed["skipped"]) == (0, 1)


@pytest.mark.parametrize("field", ["job_id", "job_group"])
def test_a_silence_is_of_what_one_may_operate(rights: RightsSite, field: str) -> None:
    def silence(of: int) -> Answer:
        body = {field: of, "lasts": "1h", "reason": "works"}
        return rights.callers["operator"].post("/api/v1/alarms/silences", body)

    same_as_missing(silence(rights.theirs.job if field == "job_id" else rights.theirs.group), silence(99999))
    assert silence(rights.ours.job if field == "job_id" else rights.ours.group).status == 201


def test_a_silence_of_everything_is_seen_by_all_and_made_by_who_may_everything(rights: RightsSite) -> None:
    body = {"lasts": "1h", "reason": "works everywhere"}
    rights.callers["operator"].post("/api/v1/alarms/silences", body).problem(403)
    made = rights.callers["chief"].post("/api/v1/alarms/silences", body).json["id"]
    assert made in [one["id"] for one in found(rights.callers["viewer"], "/api/v1/alarms/silences")]
    rights.callers["operator"].call("DELETE", f"/api/v1/alarms/silences/{made}").problem(403)
    rights.callers["operator"].call("DELETE", f"/api/v1/alarms/silences/{rights.theirs.silence}").problem(404)


# --- many at once


@pytest.mark.parametrize("dry_run", ["true", "false"])
def test_a_kill_by_filter_ends_only_what_one_may_operate(rights: RightsSite, dry_run: str) -> None:
    operator = rights.callers["operator"]
    for query in (f"job_group={rights.theirs.group}", f"job_id={rights.theirs.job}"):
        done = operator.post(f"/api/v1/executions/bulk/kill?{query}&dry_run={dry_run}").json
        assert (done["done"], done["left"], done["execution_ids"]) == (0, 0, [])
    done = operator.post(f"/api/v1/executions/bulk/kill?since=2d&dry_run={dry_run}").json
    assert done["execution_ids"] == [rights.ours.execution]
    theirs = rights.callers["overseer"].get(f"/api/v1/executions/{rights.theirs.execution}").json
    assert theirs["status"] == "init"


def test_a_retry_by_filter_does_only_what_one_may_operate(rights: RightsSite) -> None:
    for things in (rights.ours, rights.theirs):
        rights.callers["chief"].post(f"/api/v1/executions/{things.execution}/kill")
    done = rights.callers["operator"].post("/api/v1/executions/bulk/retry?status=trigger_failed").json
    assert done["done"] == 2
    jobs = {rights.callers["overseer"].get(f"/api/v1/executions/{one}").json["job_id"] for one in done["execution_ids"]}
    assert jobs == {rights.ours.job}


@pytest.mark.parametrize("action", ["replay", "drop"])
def test_dead_letters_of_others_are_settled_by_nobody_else(rights: RightsSite, action: str) -> None:
    ids = [rights.ours.ended, rights.theirs.ended]
    operator = rights.callers["operator"]
    tried = operator.post(f"/api/v1/dead-letters/{action}?dry_run=true", {"ids": ids}).json
    assert tried["execution_ids"] == [rights.ours.ended]
    by_filter = operator.post(f"/api/v1/dead-letters/{action}?job_group={rights.theirs.group}").json
    assert (by_filter["done"], by_filter["left"]) == (0, 0)
    done = operator.post(f"/api/v1/dead-letters/{action}", {"ids": ids}).json
    assert (done["done"], done["skipped"]) == (1, 1)
    states = {one["job_id"]: one["state"] for one in found(rights.callers["overseer"], "/api/v1/dead-letters")}
    assert states[rights.theirs.job] == "waiting"
    assert states[rights.ours.job] != "waiting"


# --- rights that change


def test_what_is_taken_away_is_gone_with_the_next_request(rights: RightsSite) -> None:
    path, site = f"/api/v1/jobs/{rights.ours.job}", rights.site
    assert rights.callers["viewer"].get(path).status == 200
    site.tx(set_grants, rights.users["viewer"], {})
    rights.callers["viewer"].get(path).problem(403)
    site.tx(set_role, rights.users["overseer"], None, site.clock.now())
    rights.callers["overseer"].get(path).problem(403)
    site.tx(set_disabled, rights.users["chief"], site.clock.now(), site.clock.now())
    rights.callers["chief"].get(path).problem(401)


def test_a_group_that_is_deleted_takes_its_grants_along(rights: RightsSite) -> None:
    group = rights.site.group("short-lived")
    rights.site.tx(set_grants, rights.users["idle"], {group: Role.EDITOR})
    assert rights.callers["idle"].get(f"/api/v1/groups/{group}").status == 200
    assert rights.callers["administrator"].call("DELETE", f"/api/v1/groups/{group}").status == 204
    assert rights.callers["administrator"].get(f"/api/v1/users/{rights.users['idle']}").json["grants"] == []


def test_a_role_nobody_knows_grants_nothing(rights: RightsSite) -> None:
    path = "/api/v1/jobs"
    rights.site.tx(set_role, rights.users["overseer"], "owner", rights.site.clock.now())  # type: ignore[arg-type]
    rights.callers["overseer"].get(path).problem(403)
