"""Everything that changes something tells the audit, in the same transaction, and what changes nothing does not."""

from collections.abc import Callable
from typing import Any

import pytest

from orth.coordinator.finishing import finish
from orth.domain.audit_chain import Chain
from orth.domain.executions import FAILURE, SUCCESS
from orth.store.audit import verify
from orth.store.executions import Ending
from tests.coordinator.http.live import Answer, Caller, Site

JOB = {"job_desc": "nightly report", "executor_handler": "report"}


class Told:
    """What the audit was told since the last look."""

    def __init__(self, site: Site, admin: Caller) -> None:
        self._site = site
        self._admin = admin
        self._seen = self._newest()

    def _newest(self) -> int:
        return int(self._admin.get("/api/v1/audit/head").json["seq"])

    def news(self) -> list[dict[str, Any]]:
        """The new entries, oldest first."""
        found = self._admin.get("/api/v1/audit?limit=200").json["items"]
        new = [one for one in reversed(found) if one["seq"] > self._seen]
        self._seen = self._newest()
        assert self._site.tx(verify, Chain()) is None
        return new

    def one(self, answer: Answer | None = None) -> dict[str, Any]:
        if answer is not None:
            assert answer.status < 300, answer.body
        [entry] = self.news()
        assert (entry["actor_kind"], entry["actor"], entry["address"]) == ("user", "admin", "127.0.0.1")
        return entry


@pytest.fixture
def told(site: Site, admin: Caller) -> Told:
    return Told(site, admin)


def ended(site: Site, job_id: int, *, fails: bool = True) -> int:
    execution_id = site.execution(job_id)
    site.dispatched(execution_id, "http://10.0.0.8:9999")
    code = FAILURE if fails else SUCCESS
    site.tx(finish, [Ending(execution_id=execution_id, trigger_code=SUCCESS, handle_code=code)], site.clock.now())
    return execution_id


def test_groups(site: Site, admin: Caller, told: Told) -> None:
    group = site.group("demo", title="Demo")
    entry = told.one()
    assert (entry["action"], entry["object_kind"], entry["object_id"]) == ("group.create", "group", str(group))
    assert (entry["group_id"], entry["before"], entry["after"]["title"]) == (group, None, "Demo")
    path = f"/api/v1/groups/{group}"
    entry = told.one(admin.call("PUT", path, {"app_name": "demo", "title": "Other"}))
    assert (entry["action"], entry["before"], entry["after"]) == ("group.update", {"title": "Demo"}, {"title": "Other"})
    entry = told.one(admin.call("DELETE", path))
    assert (entry["action"], entry["before"]["app_name"], entry["after"]) == ("group.delete", "demo", None)


def test_jobs(site: Site, admin: Caller, told: Told) -> None:
    group = site.group()
    told.news()
    job_id = site.job(job_group=group, schedule_type="FIX_RATE", schedule_conf="30")
    entry = told.one()
    assert (entry["action"], entry["object_id"], entry["group_id"]) == ("job.create", str(job_id), group)
    path = f"/api/v1/jobs/{job_id}"
    entry = told.one(admin.call("PATCH", path, {"executor_param": "x" * 3000, "priority": 2}))
    assert (entry["action"], set(entry["before"]), entry["before"]["priority"]) == (
        "job.update",
        {"executor_param", "priority"},
        1,
    )
    assert "sha256" in entry["after"]["executor_param"]
    for action in ("start", "stop"):
        assert told.one(admin.post(f"{path}/{action}"))["action"] == f"job.{action}"
        assert admin.post(f"{path}/{action}").status == 200
        assert told.news() == [], "it changed nothing"
    answer = admin.post(f"{path}/trigger", {"executor_param": "7"}, idempotency_key="k")
    entry = told.one(answer)
    assert entry["action"] == "job.trigger"
    assert entry["after"] == {"executions": answer.json["execution_ids"], "executor_param": "7"}
    assert admin.post(f"{path}/trigger", {"executor_param": "7"}, idempotency_key="k").status == 202
    assert told.news() == [], "it is the same trigger"
    louder = admin.post(f"{path}/trigger", {"log_level": "DEBUG"})
    assert told.one(louder)["after"] == {"executions": louder.json["execution_ids"], "log_level": "DEBUG"}
    for opened in (answer, louder):
        told.one(admin.post(f"/api/v1/executions/{opened.json['execution_ids'][0]}/kill"))
    assert told.one(admin.call("DELETE", path))["action"] == "job.delete"


def test_batches(site: Site, admin: Caller, told: Told) -> None:
    job_id = site.job(schedule_type="CRON", schedule_conf="0 * * * *")
    told.news()
    body = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-01T05:00:00Z"}
    answer = admin.post(f"/api/v1/jobs/{job_id}/trigger-batch", body, idempotency_key="k")
    entry = told.one(answer)
    assert (entry["action"], entry["after"]["total"]) == ("batch.start", answer.json["total"])
    admin.post(f"/api/v1/jobs/{job_id}/trigger-batch", body, idempotency_key="k")
    admin.post(f"/api/v1/jobs/{job_id}/trigger-batch", {**body, "preview": True})
    assert told.news() == []
    path = f"/api/v1/batches/{answer.json['batch_id']}/cancel"
    assert told.one(admin.post(path))["action"] == "batch.cancel"
    assert admin.post(path).status == 200
    assert told.news() == []


def test_executions(site: Site, admin: Caller, told: Told) -> None:
    job_id = site.job()
    first, open_one = ended(site, job_id), site.execution(job_id)
    told.news()
    entry = told.one(admin.post(f"/api/v1/executions/{open_one}/kill"))
    assert (entry["action"], entry["object_id"], entry["after"]) == (
        "execution.kill",
        str(open_one),
        {"ended": [open_one]},
    )
    path = f"/api/v1/executions/{first}/retry"
    answer = admin.post(path, idempotency_key="k")
    entry = told.one(answer)
    assert (entry["action"], entry["object_id"]) == ("execution.retry", str(first))
    assert entry["after"] == {"opened": answer.json["execution_ids"]}
    assert admin.post(path, idempotency_key="k").status == 202
    assert told.news() == []
    bulk = admin.post(f"/api/v1/executions/bulk/kill?job_id={job_id}")
    entry = told.one(bulk)
    assert (entry["action"], entry["after"]) == ("execution.kill", {"ended": bulk.json["execution_ids"]})
    ended(site, job_id)
    told.news()
    assert admin.post(f"/api/v1/executions/bulk/retry?job_id={job_id}&dry_run=true").status == 202
    assert told.news() == []
    assert told.one(admin.post(f"/api/v1/executions/bulk/retry?job_id={job_id}"))["action"] == "execution.retry"
    admin.post(f"/api/v1/executions/bulk/retry?job_id={job_id}")
    assert told.news() == []


def test_dead_letters(site: Site, admin: Caller, told: Told) -> None:
    job_id = site.job()
    letters = [ended(site, job_id) for _ in range(2)]
    told.news()
    entry = told.one(admin.post("/api/v1/dead-letters/replay", {"ids": letters[:1]}))
    assert entry["action"] == "dead_letter.replay"
    entry = told.one(admin.post(f"/api/v1/dead-letters/drop?job_id={job_id}"))
    assert (entry["action"], entry["after"]["executions"]) == ("dead_letter.drop", letters[1:])
    admin.post(f"/api/v1/dead-letters/drop?job_id={job_id}")
    assert told.news() == []


def test_calendars_and_executors(site: Site, admin: Caller, executor: Caller, told: Told) -> None:
    assert told.one(admin.post("/api/v1/calendars", {"name": "c", "definition": {}}))["action"] == "calendar.create"
    beat = {"registryGroup": "EXECUTOR", "registryKey": "lonely", "registryValue": "http://10.0.0.8:9999"}
    assert executor.post("/api/registry", beat).status == 200
    told.news()
    entry = told.one(admin.post("/api/v1/executors/unclaimed/lonely/adopt"))
    assert (entry["action"], entry["after"]["app_name"]) == ("group.adopt", "lonely")


@pytest.mark.parametrize("kind", ["orchestrator", "agent"])
def test_services_that_a_person_speaks_for(site: Site, admin: Caller, executor: Caller, told: Told, kind: str) -> None:
    path, body = f"/api/{kind}s", {"url": "http://10.6.6.6:5080", "name": "new", "incarnation": "one"}
    made = admin.post(f"{path}/register", body)
    entry = told.one(made)
    service = made.json["id"]
    assert (entry["action"], entry["object_kind"], entry["object_id"]) == ("service.register", kind, service)
    assert (entry["before"], entry["after"]["url"], entry["after"]["status"]) == (None, body["url"], "Starting")
    entry = told.one(admin.post(f"{path}/register", {**body, "name": "other"}))
    assert (entry["before"], entry["after"]) == ({"name": "new"}, {"name": "other"})
    entry = told.one(admin.post(f"{path}/{service}/status", {"status": "Failed"}))
    assert (entry["action"], entry["before"], entry["after"]) == (
        "service.report",
        {"status": "Starting"},
        {"status": "Failed"},
    )
    assert admin.post(f"{path}/{service}/status", {"status": "Failed"}).status == 200
    assert admin.post(f"{path}/{service}/heartbeat").status == 200
    assert told.news() == [], "it changed nothing"
    entry = told.one(admin.post(f"{path}/{service}/unregister"))
    assert (entry["action"], entry["before"]["url"], entry["after"]) == ("service.unregister", body["url"], None)


def test_an_agent_speaks_for_itself(site: Site, executor: Caller, told: Told) -> None:
    path, body = "/api/agents", {"url": "http://10.6.6.6:5080", "name": "new", "incarnation": "one"}
    service = "none yet"
    for call in ("register", "{}/heartbeat", "{}/status", "{}/unregister"):
        answer = executor.post(f"{path}/{call.format(service)}", body if call == "register" else {"status": "Idle"})
        assert answer.status == 200, answer.body
        service = answer.json["id"]
    assert told.news() == []


def test_the_access_token_speaks_for_no_orchestrator(site: Site, admin: Caller, executor: Caller, told: Told) -> None:
    path, body = "/api/orchestrators", {"url": "http://10.6.6.6:5080", "name": "new", "incarnation": "one"}
    service = admin.post(f"{path}/register", body).json["id"]
    before = admin.get("/api/orchestrators").json
    told.news()
    for call in ("register", f"{service}/heartbeat", f"{service}/status", f"{service}/unregister"):
        answer = executor.post(f"{path}/{call}", body if call == "register" else {"status": "Failed"})
        assert (answer.status, answer.json["type"]) == (403, "urn:orth:problem:forbidden")
    assert told.news()
    assert admin.get("/api/orchestrators").json == before


def test_alarms_without_their_secrets(site: Site, admin: Caller, told: Told) -> None:
    url = "https://hooks.example/xyzzy"
    body = {"name": "ops", "kind": "webhook", "definition": {"url": url, "headers": {"X-Key": "plugh"}}}
    made = admin.post("/api/v1/alarms/channels", body)
    entry = told.one(made)
    assert entry["action"] == "channel.create"
    path = made.headers["location"]
    definition = {"url": "https://hooks.example/frotz", "headers": {"X-Key": "plugh"}}
    entry = told.one(admin.call("PUT", path, {**body, "definition": definition}))
    assert (entry["action"], set(entry["after"])) == ("channel.update", {"definition"})
    assert told.one(admin.call("DELETE", path))["action"] == "channel.delete"
    silence = admin.post("/api/v1/alarms/silences", {"lasts": "1h", "reason": "works"})
    assert told.one(silence)["action"] == "silence.create"
    ended_ = admin.call("DELETE", f"/api/v1/alarms/silences/{silence.json['id']}")
    assert told.one(ended_)["action"] == "silence.end"
    whole = str(admin.get("/api/v1/audit?limit=200").json)
    assert [word for word in ("xyzzy", "plugh", "frotz") if word in whole] == []


def test_what_is_refused_leaves_no_entry(site: Site, admin: Caller, told: Told) -> None:
    job_id = site.job()
    told.news()
    refused: list[Callable[[], Answer]] = [
        lambda: admin.post("/api/v1/groups", {"app_name": "demo"}),
        lambda: admin.call("DELETE", "/api/v1/groups/1"),
        lambda: admin.post("/api/v1/jobs", {**JOB, "job_group": 999}),
        lambda: admin.call("PATCH", f"/api/v1/jobs/{job_id}", {"executor_param": "x"}, headers={"If-Match": '"9"'}),
        lambda: admin.post(f"/api/v1/jobs/{job_id}/start"),
        lambda: admin.post("/api/v1/executions/999/kill"),
        lambda: admin.post("/api/v1/cluster/step-down"),
        lambda: admin.post("/api/v1/cluster/nodes/nobody/drain"),
    ]
    for attempt in refused:
        assert attempt().status >= 400
    assert told.news() == []
