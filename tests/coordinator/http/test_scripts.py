"""The code of jobs through the API: who may, what is kept, and what is refused."""

import json
from typing import Any

import pytest

from orth.domain.access import Role
from orth.domain.jobs import GlueType
from orth.domain.scripts import digest_of
from orth.store.database import Connection
from orth.store.users import add_user, find_user, set_grants
from tests.coordinator.http.live import Answer, Caller, Site

SHELL = "#!/bin/sh\necho one\n"
SCRIPT: dict[str, object] = {
    "executor_handler": "",
    "glue_type": "GLUE_SHELL",
    "glue_source": SHELL,
    "glue_remark": "made",
}
COMMAND: dict[str, object] = {"executor_handler": "orth.command", "executor_param": '{"argv": ["/bin/true"]}'}
HOURLY = {"schedule_type": "CRON", "schedule_conf": "0 * * * *"}
SPAN = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-02T00:00:00Z"}


def allowed_group(site: Site, app_name: str = "demo") -> int:
    return site.group(app_name, scripts_allowed=True)


def script_job(site: Site, source: str = SHELL, **fields: object) -> int:
    """A job with code, in a new group that allows it unless one is named."""
    fields.setdefault("job_group", 0)
    if not fields["job_group"]:
        fields["job_group"] = allowed_group(site)
    return site.job(
        **{"executor_handler": "", "glue_type": "GLUE_SHELL", "glue_source": source, "glue_remark": "made", **fields}
    )


def person(site: Site, grants: dict[int, Role], name: str = "li") -> Caller:
    """Somebody who has roles in single groups."""

    def add(connection: Connection) -> None:
        add_user(connection, name, "no hash", "", 0)
        user = find_user(connection, name)
        assert user is not None
        set_grants(connection, user.id, grants)

    site.tx(add)
    return site.bearer(site.access_token(name))


def save(caller: Caller, job_id: int, source: str, remark: str = "changed", **headers: str) -> Answer:
    body = {"glue_source": source, "glue_remark": remark}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return caller.call("PUT", f"/api/v1/scripts/{job_id}", body, headers=named)


def stored(site: Site, job_id: int) -> dict[str, Any]:
    return next(row for row in site.contents()["orth_job_info"] if row["id"] == job_id)


def versions(caller: Caller, job_id: int) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = caller.get(f"/api/v1/scripts/{job_id}/versions").json["items"]
    return items


@pytest.mark.parametrize("kind", [one for one in GlueType if one is not GlueType.BEAN])
def test_a_job_takes_code_of_every_kind(site: Site, admin: Caller, kind: GlueType) -> None:
    job_id = script_job(site, glue_type=kind)
    shown = admin.get(f"/api/v1/jobs/{job_id}").json
    assert (shown["glue_type"], shown["glue_source"], shown["glue_remark"]) == (kind, SHELL, "made")
    (listed,) = admin.get("/api/v1/jobs").json["items"]
    assert (listed["glue_type"], listed["glue_source"], listed["glue_remark"]) == (kind, None, "made")


def test_code_is_shown_with_its_author_and_digest(site: Site, admin: Caller) -> None:
    job_id = script_job(site, author="somebody else")
    answer = admin.get(f"/api/v1/scripts/{job_id}")
    shown = answer.json
    assert (shown["glue_source"], shown["author"], shown["size"]) == (SHELL, "admin", len(SHELL))
    assert shown["sha256"] == digest_of(SHELL)
    assert answer.headers["etag"] == f'"{digest_of(SHELL)}"'
    assert shown["scripts_allowed"] is True
    assert shown["version_id"] == versions(admin, job_id)[0]["id"]


def test_jobs_with_code_are_listed_to_who_may_see_them(site: Site, admin: Caller) -> None:
    group, other = allowed_group(site), allowed_group(site, "other")
    site.job(job_group=group)
    first, second = script_job(site, job_group=group), script_job(site, job_group=other)
    page = admin.get("/api/v1/scripts?limit=1").json
    assert [one["job_id"] for one in page["items"]] == [first]
    assert page["items"][0]["glue_type"] == "GLUE_SHELL"
    assert "glue_source" not in page["items"][0]
    after = admin.get(f"/api/v1/scripts?limit=1&cursor={page['next_cursor']}").json
    assert [one["job_id"] for one in after["items"]] == [second]
    assert after["next_cursor"] is None
    listed = person(site, {other: Role.VIEWER}).get("/api/v1/scripts").json["items"]
    assert [one["job_id"] for one in listed] == [second]


def test_every_save_is_a_version(site: Site, admin: Caller) -> None:
    job_id = script_job(site)
    before = stored(site, job_id)
    assert save(admin, job_id, "echo two").json["glue_source"] == "echo two"
    after = stored(site, job_id)
    assert after["glue_updatetime"] > before["glue_updatetime"]
    assert after["version"] == before["version"] + 1
    assert [one["glue_remark"] for one in versions(admin, job_id)] == ["changed", "made"]
    newest, first = versions(admin, job_id)
    whole = admin.get(f"/api/v1/scripts/{job_id}/versions/{first['id']}").json
    assert whole == {**first, "glue_source": SHELL}
    assert newest["sha256"] == digest_of("echo two")


def test_two_versions_of_one_millisecond_are_two(site: Site, admin: Caller) -> None:
    job_id = script_job(site)
    times = {stored(site, job_id)["glue_updatetime"]}
    for source in ("echo two", "echo three"):
        save(admin, job_id, source)
        times.add(stored(site, job_id)["glue_updatetime"])
    assert len(times) == 3


def test_saving_the_same_changes_nothing(site: Site, admin: Caller) -> None:
    job_id = script_job(site)
    before = site.state()
    assert save(admin, job_id, SHELL).status == 200
    assert site.state() == before


@pytest.mark.parametrize(
    ("source", "remark", "field"),
    [
        ("", "a remark", "glue_source"),
        ("echo \x00", "a remark", "glue_source"),
        ("x" * 65_537, "a remark", "glue_source"),
        ("ü" * 32_769, "a remark", "glue_source"),
        ("echo", "abc", "glue_remark"),
        ("echo", "x" * 101, "glue_remark"),
        ("echo", "two\nlines", "glue_remark"),
    ],
    ids=lambda value: str(value)[:12],
)
def test_what_is_no_code_is_refused(site: Site, admin: Caller, source: str, remark: str, field: str) -> None:
    job_id = script_job(site)
    before = site.state()
    problem = save(admin, job_id, source, remark).problem(422)
    assert field in json.dumps(problem)
    fields = {"glue_source": source, "glue_remark": remark}
    admin.call("PATCH", f"/api/v1/jobs/{job_id}", fields).problem(422)
    assert site.state() == before


def test_half_a_surrogate_pair_is_refused(site: Site, admin: Caller) -> None:
    job_id = script_job(site)
    raw = b'{"glue_source": "echo \\ud800", "glue_remark": "a remark"}'
    assert admin.call("PUT", f"/api/v1/scripts/{job_id}", raw=raw).status in (400, 422)


def test_the_largest_code_fits(site: Site, admin: Caller) -> None:
    job_id = script_job(site)
    largest = "#" * 65_536
    assert save(admin, job_id, largest).json["size"] == 65_536


def test_an_edit_was_made_to_the_code_it_names(site: Site, admin: Caller) -> None:
    job_id = script_job(site)
    read = admin.get(f"/api/v1/scripts/{job_id}").headers["etag"]
    assert save(admin, job_id, "echo mine", if_match=read).status == 200
    save(admin, job_id, "echo theirs", if_match=read).problem(412)
    body = {"version_id": versions(admin, job_id)[-1]["id"], "remark": "back again"}
    admin.post(f"/api/v1/scripts/{job_id}/rollback", body, If_Match=read).problem(412)
    assert admin.get(f"/api/v1/scripts/{job_id}").json["glue_source"] == "echo mine"


def test_a_diff_is_text(site: Site, admin: Caller) -> None:
    job_id = script_job(site)
    save(admin, job_id, "#!/bin/sh\necho two\n")
    new, old = (one["id"] for one in versions(admin, job_id))
    for query in (f"from={old}", f"from={old}&to={new}"):
        answer = admin.get(f"/api/v1/scripts/{job_id}/diff?{query}")
        assert (answer.status, answer.content_type) == (200, "text/plain")
        assert answer.body.decode().splitlines()[2:] == ["@@ -1,2 +1,2 @@", " #!/bin/sh", "-echo one", "+echo two"]
    assert admin.get(f"/api/v1/scripts/{job_id}/diff?from={new}").body == b""
    admin.get(f"/api/v1/scripts/{job_id}/diff?from={new + 1}").problem(404)
    admin.get(f"/api/v1/scripts/{job_id}/diff").problem(422)


def test_versions_of_another_job_are_not_there(site: Site, admin: Caller) -> None:
    one = script_job(site)
    other = script_job(site, job_group=admin.get(f"/api/v1/jobs/{one}").json["job_group"])
    (version,) = versions(admin, one)
    admin.get(f"/api/v1/scripts/{other}/versions/{version['id']}").problem(404)
    admin.get(f"/api/v1/scripts/{other}/diff?from={version['id']}").problem(404)
    body = {"version_id": version["id"], "remark": "that of the other"}
    admin.post(f"/api/v1/scripts/{other}/rollback", body).problem(404)


def test_rolling_back_is_a_new_version(site: Site, admin: Caller) -> None:
    job_id = script_job(site)
    save(admin, job_id, "print('two')")
    first = versions(admin, job_id)[-1]["id"]
    shown = admin.post(f"/api/v1/scripts/{job_id}/rollback", {"version_id": first, "remark": "it was better"}).json
    assert (shown["glue_source"], shown["glue_remark"]) == (SHELL, "it was better")
    assert [one["glue_remark"] for one in versions(admin, job_id)] == ["it was better", "changed", "made"]
    again = admin.post(f"/api/v1/scripts/{job_id}/rollback", {"version_id": first, "remark": "once more"})
    assert "already" in again.problem(409)["detail"]


def test_rolling_back_brings_the_kind_back_too(site: Site, admin: Caller) -> None:
    job_id = script_job(site)
    body = {"glue_source": "print(2)", "glue_remark": "in Python now", "glue_type": "GLUE_PYTHON"}
    assert admin.call("PUT", f"/api/v1/scripts/{job_id}", body).json["glue_type"] == "GLUE_PYTHON"
    first = versions(admin, job_id)[-1]["id"]
    shown = admin.post(f"/api/v1/scripts/{job_id}/rollback", {"version_id": first, "remark": "it was better"}).json
    assert (shown["glue_type"], shown["glue_source"]) == ("GLUE_SHELL", SHELL)


def test_code_does_not_cross_groups_with_a_job_that_moves(own_site: Site) -> None:
    """What a job ran before stays with those who could read it; what it runs goes along. So do its counts."""
    site, admin = own_site, own_site.admin()
    here, there = allowed_group(site), allowed_group(site, "other")
    job = script_job(site, "echo password-of-here\n", job_group=here)
    site.execution(job)
    save(admin, job, "echo nothing\n")
    (running, old) = versions(admin, job)
    insider, outsider = person(site, {here: Role.VIEWER, there: Role.VIEWER}), person(site, {there: Role.EDITOR}, "xu")
    assert admin.call("PATCH", f"/api/v1/jobs/{job}", {"job_group": there}).status == 200
    assert versions(admin, job) == versions(insider, job) == [running, old]
    assert versions(outsider, job) == [running]
    code = f"/api/v1/scripts/{job}"
    assert outsider.get(f"{code}/versions/{running['id']}").status == 200
    outsider.get(f"{code}/versions/{old['id']}").problem(404)
    outsider.get(f"{code}/diff?from={old['id']}").problem(404)
    outsider.get(f"{code}/diff?from={running['id']}&to={old['id']}").problem(404)
    outsider.post(f"{code}/rollback", {"version_id": old["id"], "remark": "please"}).problem(404)
    assert "password-of-here" in insider.get(f"{code}/versions/{old['id']}").json["glue_source"]
    opened = [one.get(f"/api/v1/jobs/{job}/stats").json["open"]["init"] for one in (admin, insider, outsider)]
    assert opened == [1, 1, 0]
    save(admin, job, "echo of-there\n")
    assert admin.call("PATCH", f"/api/v1/jobs/{job}", {"job_group": here}).status == 200
    assert len(versions(admin, job)) == 3
    only_here = person(site, {here: Role.VIEWER}, "yu")
    assert {one["id"] for one in versions(only_here, job)} == {old["id"], versions(admin, job)[0]["id"]}


def test_the_newest_thirty_are_kept(site: Site, admin: Caller) -> None:
    job_id = script_job(site)
    for number in range(32):
        save(admin, job_id, f"echo {number}", f"number {number}")
    kept = versions(admin, job_id)
    assert [one["glue_remark"] for one in kept] == [f"number {number}" for number in range(31, 1, -1)]
    page = admin.get(f"/api/v1/scripts/{job_id}/versions?limit=20").json
    rest = admin.get(f"/api/v1/scripts/{job_id}/versions?limit=20&cursor={page['next_cursor']}").json
    assert page["items"] + rest["items"] == kept
    assert rest["next_cursor"] is None


def test_a_history_goes_with_its_job(site: Site, admin: Caller) -> None:
    job_id = script_job(site)
    assert admin.call("DELETE", f"/api/v1/jobs/{job_id}").status == 204
    assert site.contents()["orth_job_logglue"] == []


def test_a_handler_in_the_executor_has_no_code(site: Site, admin: Caller) -> None:
    job_id = site.job(job_group=allowed_group(site))
    admin.get(f"/api/v1/scripts/{job_id}").problem(409)
    save(admin, job_id, "echo").problem(422)
    admin.post(f"/api/v1/scripts/{job_id}/test", {"source": "echo"}).problem(409)
    admin.call("PATCH", f"/api/v1/jobs/{job_id}", {"glue_source": "echo", "glue_remark": "a remark"}).problem(422)
    admin.get("/api/v1/scripts/999").problem(404)


def test_a_job_may_become_a_script_and_a_handler_again(site: Site, admin: Caller) -> None:
    job_id = site.job(job_group=allowed_group(site))
    code = {"glue_type": "GLUE_SHELL", "glue_source": "echo", "glue_remark": "a script now"}
    assert admin.call("PATCH", f"/api/v1/jobs/{job_id}", {"glue_type": "GLUE_SHELL"}).status == 422
    assert admin.call("PATCH", f"/api/v1/jobs/{job_id}", code).json["glue_source"] == "echo"
    back = admin.call("PATCH", f"/api/v1/jobs/{job_id}", {"glue_type": "BEAN", "executor_handler": "report"}).json
    assert (back["glue_type"], back["glue_source"], back["glue_remark"]) == ("BEAN", "", "")
    assert len(versions(admin, job_id)) == 1


def test_an_edit_of_something_else_leaves_the_code(site: Site, admin: Caller) -> None:
    job_id = script_job(site)
    before = stored(site, job_id)
    assert admin.call("PATCH", f"/api/v1/jobs/{job_id}", {"job_desc": "renamed"}).status == 200
    body = {"job_group": before["job_group"], "job_desc": "renamed again", "glue_type": "GLUE_SHELL"}
    assert admin.call("PUT", f"/api/v1/jobs/{job_id}", body).status == 200
    read = {"glue_source": SHELL, "glue_remark": "made"}
    assert admin.call("PUT", f"/api/v1/jobs/{job_id}", body | read).status == 200, "what was read may be written back"
    after = stored(site, job_id)
    for name in ("glue_source", "glue_remark", "glue_updatetime"):
        assert after[name] == before[name]
    assert len(versions(admin, job_id)) == 1


class TestTheSwitch:
    def test_it_is_off_at_first(self, site: Site, admin: Caller) -> None:
        group = site.group()
        assert admin.get(f"/api/v1/groups/{group}").json["scripts_allowed"] is False
        body = {
            "job_group": group,
            "job_desc": "script",
            "glue_type": "GLUE_SHELL",
            "glue_source": "echo",
            "glue_remark": "made",
        }
        before = site.state()
        problem = admin.post("/api/v1/jobs", body).problem(403)
        assert "does not allow scripts" in problem["detail"]
        assert f"orth script allow {group}" in problem["hint"]
        assert site.state() == before

    def test_it_is_part_of_the_group_and_stays_when_unsaid(self, site: Site, admin: Caller) -> None:
        group = allowed_group(site)
        assert admin.get("/api/v1/groups").json["items"][0]["scripts_allowed"] is True
        body: dict[str, object] = {"app_name": "demo", "title": "renamed"}
        read = admin.get(f"/api/v1/groups/{group}").headers["etag"]
        assert admin.call("PUT", f"/api/v1/groups/{group}", body).json["scripts_allowed"] is True
        assert admin.call("PUT", f"/api/v1/groups/{group}", body | {"scripts_allowed": False}).json == {
            **admin.get(f"/api/v1/groups/{group}").json,
            "scripts_allowed": False,
        }
        assert admin.get(f"/api/v1/groups/{group}").headers["etag"] != read

    @pytest.mark.parametrize("value", [1, "yes", "true", []])
    def test_it_is_yes_or_no(self, site: Site, admin: Caller, value: object) -> None:
        admin.post("/api/v1/groups", {"app_name": "demo", "scripts_allowed": value}).problem(422)

    def test_turned_off_nothing_is_written_or_tried_but_the_rest_is(self, site: Site, admin: Caller) -> None:
        group = allowed_group(site)
        job_id = script_job(site, job_group=group)
        admin.call("PUT", f"/api/v1/groups/{group}", {"app_name": "demo", "scripts_allowed": False})
        save(admin, job_id, "echo two").problem(403)
        admin.post(f"/api/v1/scripts/{job_id}/test", {"source": "echo"}).problem(403)
        admin.post(f"/api/v1/jobs/{job_id}/start")
        assert admin.call("PATCH", f"/api/v1/jobs/{job_id}", {"job_desc": "renamed"}).status == 200
        assert admin.get(f"/api/v1/scripts/{job_id}").json["scripts_allowed"] is False
        handler = {"glue_type": "BEAN", "executor_handler": "report"}
        assert admin.call("PATCH", f"/api/v1/jobs/{job_id}", handler).status == 200

    def test_code_does_not_move_where_it_is_not_allowed(self, site: Site, admin: Caller) -> None:
        job_id = script_job(site)
        closed = site.group("closed")
        admin.call("PATCH", f"/api/v1/jobs/{job_id}", {"job_group": closed}).problem(403)
        below = {"job_group": closed, "job_desc": "below", "super_task_id": job_id}
        admin.post("/api/v1/jobs", below).problem(403)
        other = site.job(job_group=closed)
        admin.call("PATCH", f"/api/v1/jobs/{other}", {"super_task_id": job_id}).problem(403)

    def test_a_handler_that_runs_programs_needs_it_too(self, site: Site, admin: Caller) -> None:
        closed = site.group("closed")
        body: dict[str, object] = {"job_group": closed, "job_desc": "command", **COMMAND}
        assert "does not allow scripts" in admin.post("/api/v1/jobs", body).problem(403)["detail"]
        other = site.job(job_group=closed)
        admin.call("PATCH", f"/api/v1/jobs/{other}", COMMAND).problem(403)
        moved = site.job(job_group=allowed_group(site), **COMMAND)
        admin.call("PATCH", f"/api/v1/jobs/{moved}", {"job_group": closed}).problem(403)

    def test_turned_off_a_program_stays_as_it_is(self, site: Site, admin: Caller) -> None:
        group = allowed_group(site)
        job_id = site.job(job_group=group, **COMMAND)
        admin.call("PUT", f"/api/v1/groups/{group}", {"app_name": "demo", "scripts_allowed": False})
        other = {"executor_param": '{"argv": ["/bin/sh"]}'}
        admin.call("PATCH", f"/api/v1/jobs/{job_id}", other).problem(403)
        assert admin.call("PATCH", f"/api/v1/jobs/{job_id}", {"job_desc": "renamed"}).status == 200

    def test_requests_are_no_programs(self, site: Site, admin: Caller) -> None:
        assert site.job(job_group=site.group("closed"), executor_handler="orth.http", executor_param="{}")


class TestParametersThatAreCode:
    @pytest.mark.parametrize("handler", ["orth.command", "orth.http"])
    @pytest.mark.parametrize("above", [False, True])
    def test_an_operator_gives_no_other(self, site: Site, handler: str, above: bool) -> None:
        group = allowed_group(site)
        fields = {"job_group": group, "executor_handler": handler, "executor_param": "{}", **HOURLY}
        job_id = site.job(**fields)
        if above:
            job_id = site.job(**{**fields, "executor_handler": "", "super_task_id": job_id})
        operator, other = person(site, {group: Role.OPERATOR}), {"executor_param": '{"argv": ["/bin/sh"]}'}
        before = site.contents()["orth_job_log"]
        refused = operator.post(f"/api/v1/jobs/{job_id}/trigger", other).problem(403)
        assert handler in refused["detail"]
        assert "'script'" in refused["detail"]
        operator.post(f"/api/v1/jobs/{job_id}/trigger-batch", {**SPAN, **other}).problem(403)
        assert site.contents()["orth_job_log"] == before
        assert not site.contents()["orth_batch"]
        for own in ({}, {"executor_param": "{}"}):
            assert operator.post(f"/api/v1/jobs/{job_id}/trigger", own).status == 202
        assert operator.post(f"/api/v1/jobs/{job_id}/trigger-batch", SPAN).status == 202

    @pytest.mark.parametrize("handler", ["orth.command", "orth.http"])
    def test_an_operator_does_nothing_again_that_the_job_no_longer_says(self, site: Site, handler: str) -> None:
        group = allowed_group(site)
        job_id = site.job(job_group=group, executor_handler=handler, executor_param='{"old": 1}')
        operator, editor = person(site, {group: Role.OPERATOR}), person(site, {group: Role.EDITOR}, "eve")
        (once,) = operator.post(f"/api/v1/jobs/{job_id}/trigger", {}).json["execution_ids"]
        operator.post(f"/api/v1/executions/{once}/kill")
        assert operator.post(f"/api/v1/executions/{once}/retry").status == 202
        editor.call("PATCH", f"/api/v1/jobs/{job_id}", {"executor_param": '{"new": 1}'})
        before = site.contents()["orth_job_log"]
        refused = operator.post(f"/api/v1/executions/{once}/retry").problem(403)
        assert "'script'" in refused["detail"]
        assert site.contents()["orth_job_log"] == before
        assert editor.post(f"/api/v1/executions/{once}/retry").status == 202

    def test_nor_among_many(self, site: Site) -> None:
        group = allowed_group(site)
        job_id = site.job(job_group=group, **COMMAND)
        operator, editor = person(site, {group: Role.OPERATOR}), person(site, {group: Role.EDITOR}, "eve")
        given: list[dict[str, object]] = [{"executor_param": '{"argv": ["/bin/sh"]}'}, {}]
        ids = [editor.post(f"/api/v1/jobs/{job_id}/trigger", one).json["execution_ids"][0] for one in given]
        for one in ids:
            site.dispatched(one, "http://127.0.0.1:9999")
            site.executor().post("/api/callback", [{"logId": one, "handleCode": 500}]).envelope()
        done = operator.post(f"/api/v1/executions/bulk/retry?job_id={job_id}").json
        assert (done["done"], done["skipped"]) == (1, 1)
        replayed = operator.post("/api/v1/dead-letters/replay", {"ids": ids}).json
        assert (replayed["done"], replayed["skipped"]) == (0, 2)
        told = [row["executor_param"] for row in site.contents()["orth_job_log"]]
        assert told.count('{"argv": ["/bin/sh"]}') == 1
        assert editor.post("/api/v1/dead-letters/replay", {"ids": ids}).json["done"] == 1

    def test_who_may_write_code_does(self, site: Site) -> None:
        group = allowed_group(site)
        job_id = site.job(job_group=group, **COMMAND)
        editor, other = person(site, {group: Role.EDITOR}), {"executor_param": '{"argv": ["/bin/sh"]}'}
        assert editor.post(f"/api/v1/jobs/{job_id}/trigger", other).status == 202
        assert editor.call("PATCH", f"/api/v1/jobs/{job_id}", other).status == 200

    def test_of_other_handlers_it_is_a_parameter(self, site: Site) -> None:
        group = allowed_group(site)
        operator = person(site, {group: Role.OPERATOR})
        for job_id in (site.job(job_group=group), script_job(site, job_group=group)):
            assert operator.post(f"/api/v1/jobs/{job_id}/trigger", {"executor_param": "other"}).status == 202


class TestCodeStaysInItsGroup:
    @pytest.mark.parametrize("code", [SCRIPT, COMMAND], ids=["script", "command"])
    def test_no_job_of_another_group_runs_it(self, site: Site, admin: Caller, code: dict[str, object]) -> None:
        ours, theirs = allowed_group(site, "ours"), allowed_group(site, "theirs")
        above = site.job(job_group=ours, **code)
        body: dict[str, object] = {"job_desc": "below", "super_task_id": above}
        refused = admin.post("/api/v1/jobs", {**body, "job_group": theirs}).problem(422)
        assert refused["errors"][0]["field"] == "super_task_id"
        below = site.job(job_group=ours, super_task_id=above)
        admin.call("PATCH", f"/api/v1/jobs/{below}", {"job_group": theirs}).problem(422)

    @pytest.mark.parametrize("code", [SCRIPT, COMMAND], ids=["script", "command"])
    def test_a_handler_that_others_run_does_not_become_code(self, site: Site, code: dict[str, object]) -> None:
        ours, theirs = allowed_group(site, "ours"), allowed_group(site, "theirs")
        above = site.job(job_group=ours)
        below = site.job(job_group=theirs, super_task_id=above)
        editor, before = person(site, {ours: Role.EDITOR}), stored(site, above)
        refused = editor.call("PATCH", f"/api/v1/jobs/{above}", code).problem(409)
        assert str(below) not in refused["detail"].replace(str(above), ""), "it is nothing this person may see"
        if code is SCRIPT:
            path, saved = f"/api/v1/scripts/{above}", {name: code[name] for name in code if name.startswith("glue_")}
            editor.call("PUT", path, saved).problem(409)
        assert stored(site, above) == before
        site.admin().call("PATCH", f"/api/v1/jobs/{below}", {"job_group": ours})
        assert editor.call("PATCH", f"/api/v1/jobs/{above}", code).status == 200


class TestRoles:
    @pytest.fixture
    def group(self, site: Site) -> int:
        return allowed_group(site)

    @pytest.mark.parametrize(
        ("role", "may"), [(Role.VIEWER, False), (Role.OPERATOR, False), (Role.EDITOR, True), (Role.ADMIN, True)]
    )
    def test_who_may_write_and_try(self, site: Site, group: int, role: Role, may: bool) -> None:
        job_id = script_job(site, job_group=group)
        caller = person(site, {group: role})
        assert caller.get(f"/api/v1/scripts/{job_id}").json["glue_source"] == SHELL
        assert len(versions(caller, job_id)) == 1
        saved = save(caller, job_id, "echo two")
        tried = caller.post(f"/api/v1/scripts/{job_id}/test", {"source": "echo draft"})
        (first, *_rest) = versions(caller, job_id)[::-1]
        back = caller.post(f"/api/v1/scripts/{job_id}/rollback", {"version_id": first["id"], "remark": "back again"})
        assert (saved.status, tried.status, back.status) == ((200, 202, 200) if may else (403, 403, 403))

    def test_in_another_group_there_is_nothing(self, site: Site, group: int) -> None:
        job_id = script_job(site, job_group=group)
        other = allowed_group(site, "other")
        caller = person(site, {other: Role.ADMIN})
        before = site.state()["orth_job_info"]
        (version,) = versions(site.admin(), job_id)
        for path in ("", "/versions", f"/versions/{version['id']}", f"/diff?from={version['id']}"):
            caller.get(f"/api/v1/scripts/{job_id}{path}").problem(404)
        save(caller, job_id, "echo").problem(404)
        caller.post(f"/api/v1/scripts/{job_id}/test", {}).problem(404)
        caller.post(f"/api/v1/scripts/{job_id}/rollback", {"version_id": 1, "remark": "back again"}).problem(404)
        assert site.contents()["orth_job_info"] == before

    def test_strangers_are_told_nothing(self, site: Site, stranger: Caller) -> None:
        job_id = script_job(site)
        for path in ("", "/versions", "/versions/1", "/diff?from=1"):
            stranger.get(f"/api/v1/scripts/{job_id}{path}").problem(401)
        for path in ("/test", "/rollback"):
            stranger.post(f"/api/v1/scripts/{job_id}{path}", {}).problem(401)


class TestTrying:
    def test_a_draft_is_an_execution_and_never_the_jobs_code(self, site: Site, admin: Caller) -> None:
        job_id = script_job(site, executor_fail_retry_count=3, executor_param="own")
        before = site.state()
        answer = admin.post(f"/api/v1/scripts/{job_id}/test", {"source": "echo draft", "executor_param": "given"})
        assert answer.status == 202
        (execution_id,) = answer.json["execution_ids"]
        shown = admin.get(f"/api/v1/executions/{execution_id}").json
        assert (shown["cause"], shown["test"], shown["executor_param"]) == ("manual", True, "given")
        assert shown["executor_fail_retry_count"] == 0
        after = site.contents()
        assert after["orth_job_info"] == before["orth_job_info"]
        assert after["orth_job_logglue"] == before["orth_job_logglue"]
        (draft,) = after["orth_script_draft"]
        assert (draft["execution_id"], draft["glue_source"]) == (execution_id, "echo draft")
        why = admin.get(f"/api/v1/executions/{execution_id}/why").json
        assert "to try code that is not the job's" in why["steps"][0]["text"]

    def test_without_a_source_it_is_the_code_as_saved(self, site: Site, admin: Caller) -> None:
        job_id = script_job(site)
        assert admin.post(f"/api/v1/scripts/{job_id}/test").status == 202
        assert site.contents()["orth_script_draft"][0]["glue_source"] == SHELL

    def test_the_same_key_is_the_same_test(self, site: Site, admin: Caller) -> None:
        job_id = script_job(site)
        body = {"source": "echo draft"}
        first = admin.post(f"/api/v1/scripts/{job_id}/test", body, Idempotency_Key="a")
        assert admin.post(f"/api/v1/scripts/{job_id}/test", body, Idempotency_Key="a").json == first.json
        other = {"source": "echo another"}
        admin.post(f"/api/v1/scripts/{job_id}/test", other, Idempotency_Key="a").problem(422)
        assert len(site.contents()["orth_job_log"]) == 1

    def test_only_executors_of_the_group_are_asked(self, site: Site, admin: Caller, executor: Caller) -> None:
        job_id = script_job(site)
        executor.post("/api/registry", {"registryKey": "demo", "registryValue": "http://127.0.0.1:9999"}).envelope()
        path = f"/api/v1/scripts/{job_id}/test"
        admin.post(path, {"address": "http://127.0.0.2:9999"}).problem(422)
        assert admin.post(path, {"address": "http://127.0.0.1:9999/"}).status == 202
        assert site.contents()["orth_job_log"][0]["address_list"] == "http://127.0.0.1:9999"

    @pytest.mark.parametrize(
        "body", [{"source": ""}, {"source": "\x00"}, {"source": "x" * 65_537}, {"glue_type": "BEAN"}, {"save": True}]
    )
    def test_what_cannot_be_tried(self, site: Site, admin: Caller, body: dict[str, object]) -> None:
        job_id = script_job(site)
        before = site.state()
        admin.post(f"/api/v1/scripts/{job_id}/test", body).problem(422)
        assert site.state() == before

    def test_it_cannot_be_done_again_as_if_it_were_the_jobs(self, site: Site, admin: Caller) -> None:
        job_id = script_job(site)
        (execution_id,) = admin.post(f"/api/v1/scripts/{job_id}/test", {"source": "x"}).json["execution_ids"]
        admin.post(f"/api/v1/executions/{execution_id}/kill")
        admin.post(f"/api/v1/executions/{execution_id}/retry").problem(409)
        assert admin.post(f"/api/v1/executions/bulk/retry?job_id={job_id}").json["done"] == 0


def test_the_audit_has_the_difference(site: Site, admin: Caller) -> None:
    job_id = script_job(site)
    save(admin, job_id, "#!/bin/sh\necho two\n")
    admin.post(f"/api/v1/scripts/{job_id}/test", {"source": "echo draft"})
    told = [row for row in site.contents()["orth_audit"] if row["action"].startswith("script.")]
    assert [(row["actor"], row["action"], row["object_id"]) for row in told] == [
        ("admin", "script.save", str(job_id)),
        ("admin", "script.save", str(job_id)),
        ("admin", "script.test", str(job_id)),
    ]
    after = json.loads(told[1]["after"])
    assert "-echo one\n+echo two\n" in after["diff"]
    assert after["sha256"] == digest_of("#!/bin/sh\necho two\n")
    assert json.loads(told[2]["after"])["sha256"] == digest_of("echo draft")


DECLARED = """# /// script
# dependencies = ["requests>=2"]
# requires-python = ">=3.11"
# [tool.orth.params.day]
# type = "string"
# ///
"""
TOLD = {
    "requirements": ["requests>=2"],
    "requires_python": ">=3.11",
    "params_schema": {
        "type": "object",
        "properties": {"day": {"type": "string"}},
        "required": [],
        "additionalProperties": False,
    },
    "header_trouble": None,
}
UNDECLARED = {"requirements": [], "requires_python": None, "params_schema": None, "header_trouble": None}


def test_a_script_and_its_versions_tell_what_they_need_and_take(site: Site, admin: Caller) -> None:
    job_id = script_job(site)
    assert save(admin, job_id, DECLARED).json.items() >= TOLD.items()
    assert admin.get(f"/api/v1/scripts/{job_id}").json.items() >= TOLD.items()
    newest, first = versions(admin, job_id)
    assert newest.items() >= TOLD.items()
    assert admin.get(f"/api/v1/scripts/{job_id}/versions/{first['id']}").json.items() >= UNDECLARED.items()


def test_a_header_that_is_not_understood_is_refused_with_its_line(site: Site, admin: Caller) -> None:
    wrong = DECLARED.replace("type =", "kind =")
    told = {"field": "glue_source", "code": "header_param_type"}
    group = allowed_group(site)
    job_id = script_job(site, job_group=group)
    answers = [
        save(admin, job_id, wrong),
        admin.call("PATCH", f"/api/v1/jobs/{job_id}", {"glue_source": wrong, "glue_remark": "another"}),
        admin.post("/api/v1/jobs", {"job_group": group, "job_desc": "new", **SCRIPT, "glue_source": wrong}),
    ]
    for answer in answers:
        (trouble,) = answer.problem(422)["errors"]
        assert trouble.items() >= told.items()
        assert trouble["facts"]["line"] == 4
    assert admin.get(f"/api/v1/scripts/{job_id}").json["glue_source"] == SHELL


def test_the_header_of_code_that_is_not_saved(admin: Caller) -> None:
    asked = {"glue_type": "GLUE_PYTHON", "glue_source": DECLARED}
    assert admin.post("/api/v1/scripts/header", asked).json == TOLD
    unended = admin.post("/api/v1/scripts/header", {**asked, "glue_source": "# /// script\n"}).json
    assert unended["header_trouble"]["code"] == "header_unended"
    assert unended["header_trouble"]["facts"] == {"line": 1, "end": "# ///"}
