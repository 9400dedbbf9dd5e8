"""What executors call: who may, under which paths, and beats that are or are not what they should be."""

import sqlite3
from contextlib import closing
from typing import Any, NoReturn

import pytest

from orth.wire.dialects import PREFIXES
from orth.wire.work_keys import new_work_key, work_key_of
from tests.coordinator.http.enrolled import EnrolledCaller
from tests.coordinator.http.live import ACCESS_TOKEN, Caller, Site

CALLS = ("registry", "registryRemove", "callback")
PATHS = [f"{prefix}/{call}" for prefix in PREFIXES for call in CALLS]
HEADERS = ("ORTH-ACCESS-TOKEN", "XXL-JOB-ACCESS-TOKEN", "XXL-RPC-ACCESS-TOKEN", "xxl-job-access-token")
ADDRESS = "http://10.0.0.1:9999"


def beat(**fields: object) -> dict[str, object]:
    return {"registryGroup": "EXECUTOR", "registryKey": "demo", "registryValue": ADDRESS, **fields}


def body_of(path: str) -> Any:
    return [] if path.endswith("callback") else beat()


def without_audit(site: Site) -> dict[str, list[dict[str, Any]]]:
    """Everything but what is written down about who was refused."""
    return {name: rows for name, rows in site.contents().items() if not name.startswith("orth_audit")}


def known(site: Site) -> list[tuple[str, str]]:
    shown = site.admin().get("/api/v1/executors").json["items"]
    return [(one["app_name"], one["address"]) for one in shown]


@pytest.mark.parametrize("path", PATHS)
def test_without_the_token_nothing_is_taken(site: Site, path: str) -> None:
    before = without_audit(site)
    refused = [
        {},
        {"XXL-JOB-ACCESS-TOKEN": ""},
        {"XXL-JOB-ACCESS-TOKEN": " "},
        {"XXL-JOB-ACCESS-TOKEN": "wrong"},
        {"XXL-JOB-ACCESS-TOKEN": ACCESS_TOKEN + "x"},
        {"XXL-JOB-ACCESS-TOKEN": ACCESS_TOKEN[:-1]},
        {"XXL-JOB-ACCESS-TOKEN": ACCESS_TOKEN.upper()},
        {"XXL-JOB-ACCESS-TOKEN": "default_token"},
        {"XXL-JOB-ACCESS-TOKEN": "\xe9"},
        {"ORTH-ACCESS-TOKEN": "wrong", "XXL-JOB-ACCESS-TOKEN": ACCESS_TOKEN},
        {"Authorization": f"Basic {ACCESS_TOKEN}"},
        {"Authorization": ACCESS_TOKEN},
        site.admin().headers,  # a person is no executor
    ]
    said = {Caller(site.url, headers).post(path, body_of(path)).envelope(401)["msg"] for headers in refused}
    assert len(said) == 1  # and nobody learns how wrong it was
    site.stranger().post(f"{path}?accessToken={ACCESS_TOKEN}", body_of(path)).envelope(401)
    assert without_audit(site) == before


@pytest.mark.parametrize("path", PATHS)
def test_the_token_is_taken_from_each_header_it_is_sent_in(site: Site, path: str) -> None:
    accepted = [{name: ACCESS_TOKEN} for name in HEADERS] + [{"Authorization": f"Bearer {ACCESS_TOKEN}"}]
    for headers in accepted:
        assert Caller(site.url, headers).post(path, body_of(path)).envelope()["code"] == 200


@pytest.mark.parametrize("path", [path for path in PATHS if path.endswith("registry")])
def test_a_work_key_is_acknowledged_by_name_and_shown_to_nobody(site: Site, path: str) -> None:
    executor = EnrolledCaller(site.url, ACCESS_TOKEN, "demo", site.clock)
    own = executor.own
    answer = executor.beat(path).envelope()
    assert answer["data"] == answer["content"] == {"workKey": work_key_of(own.executor_key, own.work_key).id}
    for name in ("orth_job_registry", "orth_executor_key"):
        for row in site.contents()[name]:
            assert own.work_key not in str(row)
            assert own.executor_key not in str(row)
    shown = site.admin().get("/api/v1/executors").json["items"]
    assert "work_key" not in shown[0]
    assert executor.beat(path, incarnation="another process").status == 403
    with_token = Caller(site.url, {"ORTH-ACCESS-TOKEN": ACCESS_TOKEN})
    elsewhere = beat(registryValue="http://10.0.0.2:9999", orth={"incarnation": "one", "workKey": own.work_key})
    assert with_token.post(path, elsewhere).envelope()["data"] is None, "a work key that is told counts for nothing"
    for unfit in ("", "x", own.process[:-1], own.process.upper().replace("0", "A"), 7):
        with_token.post(path, beat(orth={"incarnation": "one", "process": unfit})).envelope(400)


def test_two_processes_at_one_address_are_refused_counted_and_in_the_audit(site: Site) -> None:
    """Nobody can be asked here, so who was there first has it."""
    site.clock.move(61)  # what others were refused within a minute is bounded
    executor = Caller(site.url, {"ORTH-ACCESS-TOKEN": ACCESS_TOKEN})
    true = EnrolledCaller(site.url, ACCESS_TOKEN, "demo", site.clock, address=ADDRESS)
    true.beat().envelope()
    before = without_audit(site)
    claims_of = {"workKey": new_work_key(), "process": true.own.process}
    for said in ({"incarnation": "thief", **claims_of}, {"incarnation": true.incarnation, **claims_of}, None):
        forged = beat() if said is None else beat(orth=said)
        for path in ("/api/registry", "/api/registryRemove"):
            assert "another work key" in executor.post(path, forged).envelope(409)["msg"]
    assert without_audit(site) == before
    entries = site.admin().get("/api/v1/audit?action=executor.contested").json["items"]
    assert {(one["object_id"], one["actor_kind"]) for one in entries} == {(f"demo {ADDRESS}", "executor")}
    claims = sorted((one["after"]["claim"], one["after"]["refused"]) for one in entries)
    assert claims == [("beat", True), ("good-bye", True)], "once a minute each"
    assert 'orth_registry_refusals_total{cause="contested"} 6.0' in site.admin().get("/metrics").body.decode()
    true.beat().envelope()
    true.beat("/api/registryRemove").envelope()
    assert known(site) == []


@pytest.mark.parametrize("path", ["//api/registry", "/xxl-job-admin//api/registry", "/orth-admin//api/registry"])
def test_a_coordinator_url_that_ends_in_a_slash_works_too(site: Site, executor: Caller, path: str) -> None:
    site.stranger().post(path, beat()).envelope(401)
    executor.post(path, beat()).envelope()
    assert known(site) == [("demo", ADDRESS)]


@pytest.mark.parametrize("kind", ["text/plain", "application/json;charset=UTF-8", "text/html", ""])
def test_the_content_type_of_an_executor_is_not_looked_at(site: Site, executor: Caller, kind: str) -> None:
    executor.call("POST", "/api/callback", [], headers={"Content-Type": kind}).envelope()


@pytest.mark.parametrize("prefix", ["/api", "/xxl-job-admin/api", "/orth-admin/api"])
def test_third_party_executors_read_why_they_are_refused(site: Site, prefix: str) -> None:
    """They read the envelope of HTTP 200 only; our own, whose signer needs the status, get it."""
    before = without_audit(site)
    for name in ("registry", "registryRemove", "callback", "triggerJob"):
        for headers in ({}, {"XXL-JOB-ACCESS-TOKEN": "wrong"}, {"XXL-RPC-ACCESS-TOKEN": "wrong"}):
            told = Caller(site.url, headers).post(f"{prefix}/{name}", body_of(name))
            assert (told.status, told.json["code"]) == (200, 500)
            assert "access token" in told.json["msg"]
        for headers in ({"ORTH-ACCESS-TOKEN": "wrong"}, {"Authorization": "Bearer wrong"}):
            assert Caller(site.url, headers).post(f"{prefix}/{name}", body_of(name)).status == 401
    client = Caller(site.url, {"XXL-JOB-ACCESS-TOKEN": ACCESS_TOKEN})
    unreadable = client.call("POST", f"{prefix}/registry", raw=b"{")
    assert (unreadable.status, unreadable.json["code"]) == (200, 500)
    assert site.stranger().post("/api/begun", {}).status == 401, "only ours call this"
    assert without_audit(site) == before


def test_a_token_is_checked_before_a_body_is_read(stranger: Caller) -> None:
    stranger.call("POST", "/api/callback", raw=b"[" * 100_000).envelope(401)


def test_an_executor_comes_and_goes(site: Site, admin: Caller, executor: Caller) -> None:
    group_id = site.group("demo")
    executor.post("/api/registry", beat()).envelope()
    executor.post("/api/registry", beat()).envelope()  # a second beat is no second executor
    executor.post("/api/registry", beat(registryValue="http://10.0.0.2:9999/")).envelope()
    assert known(site) == [("demo", ADDRESS), ("demo", "http://10.0.0.2:9999")]
    executor.post("/api/registryRemove", beat(registryValue=f"{ADDRESS}/")).envelope()
    assert known(site) == [("demo", "http://10.0.0.2:9999")]
    assert admin.get(f"/api/v1/groups/{group_id}").json["address_list"] == ["http://10.0.0.2:9999"]
    executor.post("/api/registryRemove", beat()).envelope()  # it has gone already, which is what was asked for


def test_an_app_nobody_made_a_group_for_is_accepted_and_seen(site: Site, executor: Caller) -> None:
    executor.post("/api/registry", beat(registryKey="not yet a group")).envelope()
    assert known(site) == [("not yet a group", ADDRESS)]


def test_only_the_three_fields_are_needed_and_others_are_ignored(site: Site, executor: Caller) -> None:
    executor.post("/api/registry", {"registryKey": "demo", "registryValue": ADDRESS, "newer": [1]}).envelope()
    assert known(site) == [("demo", ADDRESS)]


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("name", ["addJob", "updateJob", "removeJob", "startJob", "stopJob", "triggerJob"])
def test_an_executor_may_not_manage_jobs_and_is_told_so_in_the_envelope(
    site: Site, executor: Caller, prefix: str, name: str
) -> None:
    job_id = site.job()
    before = without_audit(site)
    body = {"id": job_id, "jobGroup": 1, "name": "x", "executorHandler": "x", "glueType": "BEAN", "executorParam": "x"}
    for path in (f"{prefix}/{name}", f"{prefix.removesuffix('/api')}//api/{name}"):
        refused = executor.post(path, body).envelope(404)
        assert (refused["code"], refused["data"]) == (500, None)
        assert "/api/v1/jobs with an API token" in refused["msg"]
        site.stranger().post(path, body).envelope(401)
    assert without_audit(site) == before


BAD_BEATS: list[Any] = [
    beat(registryKey=""),
    beat(registryKey="  "),
    beat(registryKey=None),
    beat(registryKey="a" * 65),
    beat(registryKey="nul\x00"),
    beat(registryKey="two\nlines"),
    beat(registryKey="\u202edemo"),
    beat(registryKey=7),
    beat(registryGroup=""),
    beat(registryGroup="   "),
    beat(registryGroup="\t"),
    beat(registryGroup="ADMIN"),
    beat(registryGroup="QUEUE"),
    beat(registryGroup="executor"),
    beat(registryGroup="a" * 51),
    beat(registryGroup=7),
    beat(registryValue=""),
    beat(registryValue=None),
    beat(registryValue=7),
    beat(registryValue="10.0.0.1:9999"),
    beat(registryValue="file:///etc/passwd"),
    beat(registryValue="gopher://10.0.0.1:70/"),
    beat(registryValue="http://user:password@10.0.0.1:9999"),
    beat(registryValue="http://10.0.0.1:9999@evil.example"),
    beat(registryValue="http://10.0.0.1:9999/\r\nHost: evil.example"),
    beat(registryValue="http://10.0.0.1:9999?x=1"),
    beat(registryValue="http://10.0.0.1:9999#x"),
    beat(registryValue="http://10.0.0.1:99999"),
    beat(registryValue="http://0.0.0.0:9999"),
    beat(registryValue="http://255.255.255.255:9999"),
    beat(registryValue="http://2130706433:9999"),
    beat(registryValue="http://0x7f.1:9999"),
    beat(registryValue="http://10.0.0.1:9999/../../x"),
    beat(registryValue="http://10.0.0.1:9999/x,http://evil.example"),
    beat(registryValue="http://h\u00f6st:9999"),
    beat(registryValue="http://" + "a" * 70_000),
    beat(orth={"incarnation": ""}),
    beat(orth={"incarnation": "a" * 65}),
    beat(orth={"incarnation": "one", "version": "1\x00"}),
    beat(orth={"incarnation": "one", "handlers": [{"name": ""}]}),
    beat(orth={"incarnation": "one", "handlers": [{"name": "x"}] * 1001}),
    beat(orth="yes"),
    [],
    "x",
    None,
]


@pytest.mark.parametrize("body", BAD_BEATS, ids=lambda body: str(body)[-70:])
@pytest.mark.parametrize("call", ["registry", "registryRemove"])
def test_a_beat_that_is_none_is_refused_in_the_envelope(site: Site, executor: Caller, body: object, call: str) -> None:
    before = site.state()
    answer = executor.call("POST", f"/api/{call}", raw=b"null" if body is None else None, body=body)
    assert answer.status in (400, 422)
    assert answer.envelope(answer.status)["msg"]
    assert site.state() == before


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("call", ["registry", "registryRemove"])
@pytest.mark.parametrize(("said", "complaint"), [("ADMIN", "says something else"), (" ", "is blank")])
def test_only_executors_register_and_others_are_told_what_is_expected(
    site: Site, executor: Caller, prefix: str, call: str, said: str, complaint: str
) -> None:
    executor.post("/api/registry", beat()).envelope()
    refused = executor.post(f"{prefix}/{call}", beat(registryGroup=said)).envelope(400)
    assert refused["code"] == 500
    assert refused["msg"].startswith(f"registryGroup: {complaint}; it must be EXECUTOR")
    assert known(site) == [("demo", ADDRESS)], "and is neither added nor taken away"


def test_a_database_that_is_away_is_an_envelope_and_nothing_is_acknowledged(own_site: Site) -> None:
    executor, job_id = own_site.executor(), own_site.job()
    execution_id = own_site.execution(job_id)
    own_site.dispatched(execution_id, ADDRESS)
    result = [{"logId": execution_id, "logDateTim": own_site.trigger_time(execution_id), "handleCode": 200}]
    with closing(sqlite3.connect(own_site.file)) as connection:
        connection.execute("ALTER TABLE orth_job_registry RENAME TO away")
        connection.execute("ALTER TABLE orth_job_log RENAME TO gone")
        for path, body in (("registry", beat()), ("registryRemove", beat()), ("callback", result)):
            said = executor.post(f"/api/{path}", body).envelope(503)
            assert (said["code"], said["msg"], said["data"]) == (500, "The database does not answer.", None)
        connection.execute("ALTER TABLE gone RENAME TO orth_job_log")
        connection.execute("ALTER TABLE away RENAME TO orth_job_registry")
    verdicts = executor.post("/api/callback", result).envelope()["data"]["verdicts"]
    assert verdicts == [{"logId": execution_id, "verdict": "stored"}]


def test_a_bug_of_ours_is_an_envelope_too(own_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(*_: object) -> NoReturn:
        raise KeyError("a bug")

    monkeypatch.setattr(own_site.db, "read", bug)
    monkeypatch.setattr(own_site.db, "tx", bug)
    for path in PATHS:
        assert "log of this node" in own_site.executor().post(path, body_of(path)).envelope(500)["msg"]
