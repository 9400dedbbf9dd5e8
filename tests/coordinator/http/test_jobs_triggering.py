"""Triggers by hand: once per key, with what the caller may choose and to executors that are known."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.coordinator.http.live import Caller, Site


def test_a_trigger_opens_one_execution(site: Site, admin: Caller) -> None:
    job_id = site.job(executor_param="own")
    for body, param in (
        (None, "own"),
        ({}, "own"),
        ({"executor_param": "given"}, "given"),
        ({"executor_param": ""}, ""),
    ):
        answer = admin.post(f"/api/v1/jobs/{job_id}/trigger", body)
        assert answer.status == 202
        (execution_id,) = answer.json["execution_ids"]
        shown = admin.get(f"/api/v1/executions/{execution_id}").json
        assert (shown["job_id"], shown["cause"], shown["executor_param"]) == (job_id, "api", param)
        assert (shown["status"], shown["phase"], shown["schedule_time"]) == ("init", "opened", None)


@pytest.mark.parametrize(
    "param", ["; rm -rf /", "$(reboot)", "two\nlines", "--option", "\u202eemordnilap", "日本語", "'\"\\", "a" * 65_535]
)
def test_a_parameter_is_one_value_and_comes_back_as_it_was(site: Site, admin: Caller, param: str) -> None:
    execution_id = site.execution(site.job(), executor_param=param)
    assert admin.get(f"/api/v1/executions/{execution_id}").json["executor_param"] == param


@pytest.mark.parametrize(
    "body",
    [
        {"executor_param": "nul\x00"},
        {"executor_param": "a" * 65_536},
        {"executor_param": 5},
        {"executor_param": {"a": 1}},
        {"glue_source": "import os", "glue_type": "GLUE_PYTHON"},
        {"executor_handler": "other"},
        {"log_level": "TRACE"},
        {"log_level": "debug"},
        {"log_level": 10},
        {"address_list": 5},
        {"address_list": [5]},
        {"address_list": ["http://10.0.0.1:9999"] * 51},
        {"address_list": [f"http://10.0.0.1:9999/{n:099}" for n in range(10)]},
        [],
        "x",
        5,
    ],
    ids=lambda body: str(body)[:60],
)
def test_a_trigger_may_change_nothing_else(site: Site, admin: Caller, body: object) -> None:
    job_id = site.job()
    before = site.state()
    admin.post(f"/api/v1/jobs/{job_id}/trigger", body).problem(422)
    assert site.state() == before


@pytest.mark.parametrize("as_text", [True, False])
def test_an_address_of_the_group_may_be_named(site: Site, executor: Caller, as_text: bool) -> None:
    for address in ("http://10.0.0.1:9999", "http://10.0.0.2:9999/"):
        executor.post("/api/registry", {"registryKey": "demo", "registryValue": address}).envelope()
    named = ["http://10.0.0.2:9999/", "http://10.0.0.1:9999"]
    site.execution(site.job(), address_list=", ".join(named) if as_text else named)
    (opened,) = site.contents()["orth_job_log"]
    assert opened["address_list"] == "http://10.0.0.2:9999,http://10.0.0.1:9999"


@pytest.mark.parametrize(
    "stranger",
    [
        "http://evil.example",
        "http://10.0.0.1:9999@evil.example",
        "http://10.0.0.1:9998",
        "http://10.0.0.1:9999/admin",
        "file:///etc/passwd",
        "http://169.254.169.254/latest/meta-data",
        "http://10.0.0.1:9999\r\nHost: evil",
        "\x00",
        "",
    ],
)
def test_nobody_can_make_a_coordinator_call_a_stranger(
    site: Site, admin: Caller, executor: Caller, stranger: str
) -> None:
    executor.post("/api/registry", {"registryKey": "demo", "registryValue": "http://10.0.0.1:9999"}).envelope()
    executor.post("/api/registry", {"registryKey": "other", "registryValue": "http://10.0.0.9:9999"}).envelope()
    job_id = site.job()
    before = site.state()
    for listed in ([stranger], ["http://10.0.0.1:9999", stranger], ["http://10.0.0.9:9999"]):
        said = admin.post(f"/api/v1/jobs/{job_id}/trigger", {"address_list": listed}).problem(422)
        assert said["errors"][0]["field"] == "address_list"
        assert "http://10.0.0.1:9999" in said["hint"]
    assert site.state() == before


def test_a_trigger_may_name_a_log_level(site: Site, admin: Caller) -> None:
    job_id = site.job()
    where = f"/api/v1/jobs/{job_id}/trigger"
    for level in ("DEBUG", "INFO", "WARNING", "ERROR", None):
        (execution_id,) = admin.post(where, {"log_level": level}).json["execution_ids"]
        assert admin.get(f"/api/v1/executions/{execution_id}").json["log_level"] == level
        assert admin.get("/api/v1/executions?limit=1").json["items"][0]["log_level"] == level
    (execution_id,) = admin.post(where).json["execution_ids"]
    assert admin.get(f"/api/v1/executions/{execution_id}").json["log_level"] is None


def test_what_is_no_log_level_is_refused_in_words(site: Site, admin: Caller) -> None:
    said = admin.post(f"/api/v1/jobs/{site.job()}/trigger", {"log_level": "TRACE"}).problem(422)
    assert said["errors"][0]["field"] == "log_level"
    assert all(level in said["errors"][0]["message"] for level in ("DEBUG", "INFO", "WARNING", "ERROR"))


def test_the_same_key_and_body_is_the_same_execution(site: Site, admin: Caller) -> None:
    where = f"/api/v1/jobs/{site.job()}/trigger"
    first = admin.post(where, {"executor_param": "x"}, Idempotency_Key="k").json
    assert admin.post(where, {"executor_param": "x"}, Idempotency_Key="k").json == first
    assert admin.post(where, {"executor_param": "x"}, Idempotency_Key="other").json != first
    assert len(site.contents()["orth_job_log"]) == 2


def test_the_same_key_at_the_same_time_is_one_execution(site: Site) -> None:
    where = f"/api/v1/jobs/{site.job()}/trigger"

    def trigger(_: int) -> tuple[int, ...]:
        return tuple(site.admin().post(where, {}, Idempotency_Key="k").json["execution_ids"])

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(trigger, range(16)))) == 1
    assert len(site.contents()["orth_job_log"]) == 1


def test_the_same_key_with_another_body_is_refused(site: Site, admin: Caller, executor: Caller) -> None:
    executor.post("/api/registry", {"registryKey": "demo", "registryValue": "http://10.0.0.1:9999"}).envelope()
    where = f"/api/v1/jobs/{site.job()}/trigger"
    assert admin.post(where, {"executor_param": "x"}, Idempotency_Key="k").status == 202
    before = site.state()
    for changed in (
        {"executor_param": "y"},
        {"address_list": ["http://10.0.0.1:9999"]},
        {"log_level": "DEBUG"},
    ):
        other = {"executor_param": "x", **changed}
        assert "another body" in admin.post(where, other, Idempotency_Key="k").problem(422)["detail"]
    assert site.state() == before


def test_a_repeated_request_is_the_same_one_though_the_job_was_edited_between(site: Site, admin: Caller) -> None:
    job_id = site.job(executor_param="before")
    first = admin.post(f"/api/v1/jobs/{job_id}/trigger", {}, Idempotency_Key="k").json
    admin.call("PATCH", f"/api/v1/jobs/{job_id}", {"executor_param": "after"})
    assert admin.post(f"/api/v1/jobs/{job_id}/trigger", {}, Idempotency_Key="k").json == first


def test_a_key_belongs_to_one_job(site: Site, admin: Caller) -> None:
    group = site.group()
    ids = [
        admin.post(f"/api/v1/jobs/{site.job(job_group=group)}/trigger", {}, Idempotency_Key="k").json["execution_ids"]
        for _ in range(2)
    ]
    assert ids[0] != ids[1]


@pytest.mark.parametrize("key", ["", "a" * 129])
def test_a_key_out_of_bounds_is_refused(site: Site, admin: Caller, key: str) -> None:
    job_id = site.job()
    said = admin.post(f"/api/v1/jobs/{job_id}/trigger", {}, Idempotency_Key=key).problem(422)
    assert said["errors"][0]["field"] == "idempotency-key"


def test_the_longest_key_is_kept_whole(site: Site, admin: Caller) -> None:
    where = f"/api/v1/jobs/{site.job()}/trigger"
    keys = ["a" * 127 + last for last in "xy"]
    assert len({tuple(admin.post(where, {}, Idempotency_Key=key).json["execution_ids"]) for key in keys}) == 2


@pytest.mark.parametrize(
    ("client", "cause"),
    [("console", "manual"), ("cli", "manual"), ("curl", "api"), ("", "api"), ("CLI", "api"), (None, "api")],
)
def test_who_calls_is_a_person_or_a_program(site: Site, admin: Caller, client: str | None, cause: str) -> None:
    headers = {} if client is None else {"Orth_Client": client}
    (execution_id,) = admin.post(f"/api/v1/jobs/{site.job()}/trigger", {}, **headers).json["execution_ids"]
    assert admin.get(f"/api/v1/executions/{execution_id}").json["cause"] == cause


def test_a_broadcast_opens_a_shard_for_every_address(site: Site, admin: Caller, executor: Caller) -> None:
    addresses = [f"http://10.0.0.{n}:9999" for n in (1, 2, 3)]
    for address in addresses:
        executor.post("/api/registry", {"registryKey": "demo", "registryValue": address}).envelope()
    job_id = site.job(executor_route_strategy="SHARDING_BROADCAST")
    where = f"/api/v1/jobs/{job_id}/trigger"
    ids = admin.post(where, {}, Idempotency_Key="k").json["execution_ids"]
    shards = [admin.get(f"/api/v1/executions/{one}").json for one in ids]
    assert [(one["shard_index"], one["shard_total"]) for one in shards] == [(0, 3), (1, 3), (2, 3)]
    executor.post("/api/registryRemove", {"registryKey": "demo", "registryValue": addresses[0]}).envelope()
    assert admin.post(where, {}, Idempotency_Key="k").json["execution_ids"] == ids
    named = admin.post(where, {"address_list": addresses[1]}).json["execution_ids"]
    assert len(named) == 1
    assert len(admin.post(where, {"address_list": addresses[1:]}).json["execution_ids"]) == 2


def test_a_repeated_request_is_answered_though_its_address_has_left(
    site: Site, admin: Caller, executor: Caller
) -> None:
    beat = {"registryKey": "demo", "registryValue": "http://10.0.0.1:9999"}
    executor.post("/api/registry", beat).envelope()
    where = f"/api/v1/jobs/{site.job()}/trigger"
    body = {"address_list": ["http://10.0.0.1:9999"]}
    first = admin.post(where, body, Idempotency_Key="k")
    executor.post("/api/registryRemove", beat).envelope()
    assert admin.post(where, body, Idempotency_Key="k").json == first.json
    admin.post(where, body, Idempotency_Key="new").problem(422)
