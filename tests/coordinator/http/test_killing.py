"""``POST /api/v1/executions/{id}/kill`` with executors on real sockets that behave or do not."""

import json

import pytest

from tests.coordinator.http.live import ACCESS_TOKEN, Caller, Site
from tests.servers.processes import wait_until
from tests.wire.peers import Behaviour, Exchange, Peer, answering, refusing

EXECUTIONS = "/api/v1/executions"


def taken_by(site: Site, address: str) -> int:
    execution_id = site.execution(site.job())
    site.dispatched(execution_id, address)
    return execution_id


def announce(executor: Caller, address: str) -> None:
    """Let the executor at ``address`` be one that ends a single execution when it is named."""
    beat = {"registryGroup": "EXECUTOR", "registryKey": "demo", "registryValue": address}
    said = {"incarnation": "one", "extensions": ["kill-execution"]}
    executor.post("/api/registry", {**beat, "orth": said}).envelope()


def test_one_that_waits_is_closed(site: Site, admin: Caller) -> None:
    execution_id = site.execution(site.job())
    answer = admin.post(f"{EXECUTIONS}/{execution_id}/kill")
    assert (answer.status, answer.json) == (
        202,
        {
            "id": execution_id,
            "status": "trigger_failed",
            "tag": "Trigger Failed 500/0",
            "told": False,
            "message": "It had not been sent to anybody.",
            "ended": [execution_id],
        },
    )
    told = admin.get(f"{EXECUTIONS}/{execution_id}/why").json
    assert (told["reason_code"], told["summary"]) == ("killed", "killed before it was sent")


def test_a_foreign_executor_is_told_the_job(site: Site, admin: Caller) -> None:
    with Peer(answering()) as peer:
        execution_id = taken_by(site, peer.address)
        answer = admin.post(f"{EXECUTIONS}/{execution_id}/kill").json
        (asked,) = peer.requests
    job_id = admin.get(f"{EXECUTIONS}/{execution_id}").json["job_id"]
    assert (asked.path, asked.json()) == ("/kill", {"jobId": job_id})
    assert asked.headers["xxl-job-access-token"] == ACCESS_TOKEN
    assert (answer["status"], answer["told"], answer["ended"]) == ("failed", True, [execution_id])
    shown = admin.get(f"{EXECUTIONS}/{execution_id}").json
    assert (shown["tag"], shown["handle_msg"], shown["reason_code"]) == (
        "Failed 200/500",
        "Killed by admin",
        "killed",
    )


def test_one_on_its_way_is_closed_and_its_executor_told(site: Site, admin: Caller) -> None:
    with Peer(answering()) as peer:
        execution_id = site.execution(site.job())
        site.sent(execution_id, peer.address)
        answer = admin.post(f"{EXECUTIONS}/{execution_id}/kill").json
        assert [asked.path for asked in peer.requests] == ["/kill"]
    assert (answer["tag"], answer["told"]) == ("Failed 200/500", True)


def test_an_executor_that_is_known_to_name_one_is_told_which(site: Site, admin: Caller, executor: Caller) -> None:
    with Peer(answering()) as peer:
        first = taken_by(site, peer.address)
        announce(executor, peer.address)
        second = site.execution(admin.get(f"{EXECUTIONS}/{first}").json["job_id"])
        site.dispatched(second, peer.address)
        answer = admin.post(f"{EXECUTIONS}/{first}/kill").json
        asked = [one.json() for one in peer.requests if one.path == "/kill"]
    assert (answer["told"], answer["ended"]) == (True, [first])
    assert asked == [{"jobId": admin.get(f"{EXECUTIONS}/{first}").json["job_id"], "logId": first}]
    assert admin.get(f"{EXECUTIONS}/{second}").json["status"] == "pending"


def test_the_executor_of_one_on_its_way_is_told_once_more(site: Site, admin: Caller, executor: Caller) -> None:
    with Peer(answering()) as peer:
        execution_id = site.execution(site.job())
        site.sent(execution_id, peer.address)
        announce(executor, peer.address)
        assert admin.post(f"{EXECUTIONS}/{execution_id}/kill").json["told"]
        assert len(peer.requests) == 1

        def told_twice() -> bool:
            site.clock.move(site.settings.coordinator.dispatch_timeout.total_seconds())
            return len(peer.requests) == 2

        wait_until(told_twice, "the second request")
    assert {asked.path for asked in peer.requests} == {"/kill"}
    assert peer.requests[0].body == peer.requests[1].body


def test_an_executor_may_report_the_end_before_it_answers(site: Site, admin: Caller, executor: Caller) -> None:
    verdicts: list[str] = []

    def reports_first(exchange: Exchange) -> None:
        item = {"logId": execution_id, "handleCode": 200, "handleMsg": "swallowed it"}
        stored = executor.post("/api/callback", [item]).envelope()["data"]["verdicts"]
        verdicts.extend(one["verdict"] for one in stored)
        answering()(exchange)

    with Peer(reports_first) as peer:
        execution_id = taken_by(site, peer.address)
        assert admin.post(f"{EXECUTIONS}/{execution_id}/kill").json["told"]
    assert verdicts == ["duplicate"]
    shown = admin.get(f"{EXECUTIONS}/{execution_id}").json
    assert (shown["status"], shown["handle_msg"]) == ("failed", "Killed by admin")


@pytest.mark.parametrize(
    "behaviour",
    [answering(code=500, msg="no"), lambda exchange: exchange.respond(b"nonsense"), Exchange.hang, Exchange.reset],
    ids=["refuses", "nonsense", "hangs", "resets"],
)
def test_an_executor_that_does_not_say_yes_may_still_be_working(
    site: Site, admin: Caller, behaviour: Behaviour
) -> None:
    with Peer(behaviour) as peer:
        execution_id = taken_by(site, peer.address)
        answer = admin.post(f"{EXECUTIONS}/{execution_id}/kill")
    assert (answer.status, answer.json["status"], answer.json["told"]) == (202, "failed", False)
    assert "may still be working" in answer.json["message"]


def test_an_executor_that_is_not_there_cannot_be_told(site: Site, admin: Caller, executor: Caller) -> None:
    with refusing() as address:
        execution_id = taken_by(site, address)
        answer = admin.post(f"{EXECUTIONS}/{execution_id}/kill").json
    assert (answer["status"], answer["told"]) == ("failed", False)
    assert f"{address} could not be told" in answer["message"]
    late = executor.post("/api/callback", [{"logId": execution_id, "handleCode": 200}]).envelope()
    assert late["data"]["verdicts"] == [{"logId": execution_id, "verdict": "duplicate"}]
    assert admin.get(f"{EXECUTIONS}/{execution_id}").json["tag"] == "Failed 200/500"


def test_what_has_ended_is_a_conflict_and_stays(site: Site, admin: Caller, executor: Caller) -> None:
    ended, waiting = taken_by(site, "http://127.0.0.1:9999"), site.execution(site.job(job_group=site.group("other")))
    executor.post("/api/callback", [{"logId": ended, "handleCode": 200}]).envelope()
    admin.post(f"{EXECUTIONS}/{waiting}/kill")
    before = site.state()
    problem = admin.post(f"{EXECUTIONS}/{ended}/kill").problem(409)
    assert problem["detail"] == f"Execution {ended} has ended: Success 200/200."
    assert "Trigger Failed 500/0" in admin.post(f"{EXECUTIONS}/{waiting}/kill").problem(409)["detail"]
    assert site.state() == before


def test_bad_input_changes_nothing(site: Site, admin: Caller, stranger: Caller, executor: Caller) -> None:
    execution_id = site.execution(site.job())
    before = site.state()
    admin.post(f"{EXECUTIONS}/404404/kill").problem(404)
    for nonsense in ("0", "-1", "x", "1.5", str(2**63)):
        admin.post(f"{EXECUTIONS}/{nonsense}/kill").problem(422)
    stranger.post(f"{EXECUTIONS}/{execution_id}/kill").problem(401)
    executor.post(f"{EXECUTIONS}/{execution_id}/kill").problem(401)
    admin.get(f"{EXECUTIONS}/{execution_id}/kill").problem(405)
    assert site.state() == before
    assert json.loads(admin.get(f"{EXECUTIONS}/{execution_id}").body)["status"] == "init"
