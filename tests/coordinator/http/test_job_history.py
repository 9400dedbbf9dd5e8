"""How a definition came to be what it is."""

from tests.coordinator.http.live import Caller, Site

_ANY_HANDLER = "?allow_unknown_handler=true"


def made(admin: Caller, **fields: object) -> str:
    job = admin.post(f"/api/v1/jobs{_ANY_HANDLER}", {"executor_handler": "report", **fields})
    assert job.status == 201, job.body
    return f"/api/v1/jobs/{job.json['id']}"


def test_the_changes_of_a_job_are_shown_newest_first(site: Site, admin: Caller) -> None:
    path = made(admin, job_group=site.group("demo"), job_desc="nightly")
    for change in ({"executor_param": "7"}, {"schedule_type": "FIX_RATE", "schedule_conf": "60"}):
        assert admin.call("PATCH", f"{path}{_ANY_HANDLER}", change).status == 200
        assert admin.post(f"{path}/trigger").status == 202
    assert admin.post(f"{path}/start").status == 200
    shown = admin.get(f"{path}/history").json
    assert [one["action"] for one in shown["items"]] == ["job.start", "job.update", "job.update", "job.create"]
    assert {one["actor"] for one in shown["items"]} == {"admin"}
    assert (shown["items"][2]["before"], shown["items"][2]["after"]) == (
        {"executor_param": ""},
        {"executor_param": "7"},
    )
    assert shown["items"][3]["after"]["job_desc"] == "nightly"
    first = admin.get(f"{path}/history?limit=3").json
    rest = admin.get(f"{path}/history?limit=3&cursor={first['next_cursor']}").json
    assert [one["action"] for one in rest["items"]] == ["job.create"]
    assert rest["next_cursor"] is None


def test_what_happened_in_a_group_that_one_may_not_see_stays_there(site: Site, admin: Caller) -> None:
    theirs, ours = site.group("theirs"), site.group("ours")
    path = made(admin, job_group=theirs, job_desc="their secret plan")
    grants = [{"group_id": ours, "role": "viewer"}]
    person = {"username": "onlooker", "password": "only-looks-at-ours", "grants": grants}
    assert admin.post("/api/v1/users", person).status == 201
    viewer = site.bearer(site.access_token("onlooker"))
    assert viewer.get(f"{path}/history").status == 404
    moved = {"job_group": ours, "job_desc": "shared"}
    assert admin.call("PATCH", f"{path}{_ANY_HANDLER}", moved).status == 200
    update, create = viewer.get(f"{path}/history").json["items"]
    assert (update["action"], update["before"], update["after"]["job_desc"]) == ("job.update", None, "shared")
    assert admin.get(f"{path}/history").json["items"][0]["before"]["job_desc"] == "their secret plan"
    assert (create["action"], create["before"], create["after"]) == ("job.create", None, None)
