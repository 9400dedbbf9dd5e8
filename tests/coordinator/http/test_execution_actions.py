"""Doing executions again and ending many: ``…/retry``, ``…/bulk/retry`` and ``…/bulk/kill``."""

from typing import Any

import pytest
from sqlalchemy import update

from orth.store.tables import executions
from tests.coordinator.http.live import Caller, Site
from tests.servers.processes import wait_until
from tests.wire.peers import Peer, answering

EXECUTIONS = "/api/v1/executions"
ADDRESS = "http://127.0.0.1:9999"


def failed(site: Site, executor: Caller, job_id: int, code: int = 500) -> int:
    execution_id = site.execution(job_id)
    site.dispatched(execution_id, ADDRESS)
    executor.post("/api/callback", [{"logId": execution_id, "handleCode": code}]).envelope()
    return execution_id


def shown(site: Site, execution_id: int) -> dict[str, Any]:
    found: dict[str, Any] = site.admin().get(f"{EXECUTIONS}/{execution_id}").json
    return found


def test_what_has_ended_is_done_again_as_it_was(site: Site, admin: Caller, executor: Caller) -> None:
    job_id = site.job(executor_param="its own", executor_fail_retry_count=2)
    asked = {"executor_param": "for this once"}
    (first,) = admin.post(f"/api/v1/jobs/{job_id}/trigger", asked).json["execution_ids"]
    admin.post(f"{EXECUTIONS}/{first}/kill")
    answer = admin.post(f"{EXECUTIONS}/{first}/retry", Orth_Client="console")
    assert answer.status == 202
    (again,) = answer.json["execution_ids"]
    one = shown(site, again)
    assert (one["cause"], one["attempt"], one["executor_fail_retry_count"]) == ("manual", 1, 2)
    assert (one["executor_param"], one["status"]) == ("for this once", "init")
    first_step = admin.get(f"{EXECUTIONS}/{again}/why").json["steps"][0]["text"]
    assert f"it does again what execution {first} was to do" in first_step
    assert admin.post(f"{EXECUTIONS}/{first}/retry").json["execution_ids"] != [again], "another request is another one"


def test_a_success_can_be_done_again_by_name(site: Site, admin: Caller, executor: Caller) -> None:
    done = failed(site, executor, site.job(), 200)
    (again,) = admin.post(f"{EXECUTIONS}/{done}/retry").json["execution_ids"]
    assert (shown(site, again)["cause"], shown(site, done)["status"]) == ("api", "success")


def test_the_same_key_is_the_same_request(site: Site, admin: Caller, executor: Caller) -> None:
    first = failed(site, executor, site.job())
    other = failed(site, executor, shown(site, first)["job_id"])
    answers = [admin.post(f"{EXECUTIONS}/{first}/retry", Idempotency_Key="k" * 128).json for _ in range(3)]
    assert answers == [answers[0]] * 3
    before = site.state()
    admin.post(f"{EXECUTIONS}/{first}/retry", Idempotency_Key="k" * 128)
    assert site.state() == before
    assert admin.post(f"{EXECUTIONS}/{other}/retry", Idempotency_Key="k" * 128).json != answers[0]


def test_a_shard_is_done_again_alone(site: Site, admin: Caller, executor: Caller) -> None:
    one = failed(site, executor, site.job())
    site.tx(_make_shard, one)
    (again,) = admin.post(f"{EXECUTIONS}/{one}/retry").json["execution_ids"]
    assert (shown(site, again)["shard_index"], shown(site, again)["shard_total"]) == (1, 3)


def _make_shard(connection: Any, execution_id: int) -> None:
    connection.execute(
        update(executions).where(executions.c.id == execution_id).values(shard_index=1, shard_total=3, broadcast_id=7)
    )


def test_what_is_open_or_not_there_is_not_done_again(
    site: Site, admin: Caller, stranger: Caller, executor: Caller
) -> None:
    waiting = site.execution(site.job())
    ended = failed(site, executor, shown(site, waiting)["job_id"])
    before = site.state()
    assert "has not ended" in admin.post(f"{EXECUTIONS}/{waiting}/retry").problem(409)["detail"]
    admin.post(f"{EXECUTIONS}/404404/retry").problem(404)
    admin.post(f"{EXECUTIONS}/x/retry").problem(422)
    admin.post(f"{EXECUTIONS}/{ended}/retry", Idempotency_Key="k" * 129).problem(422)
    for path in (f"{ended}/retry", "bulk/retry?job_id=1", "bulk/kill?job_id=1"):
        stranger.post(f"{EXECUTIONS}/{path}").problem(401)
        executor.post(f"{EXECUTIONS}/{path}").problem(401)
    assert site.state() == before


def test_of_several_attempts_only_the_last_is_done_again_once(site: Site, admin: Caller, executor: Caller) -> None:
    first = failed(site, executor, site.job(executor_fail_retry_count=1))
    (second,) = (one["id"] for one in admin.get(f"{EXECUTIONS}?cause=retry").json["items"])
    refused = admin.post(f"{EXECUTIONS}/{first}/retry?once=true").problem(409)
    assert (refused["code"], refused["facts"]) == ("again_already", {"execution": first})
    assert "has not ended" in admin.post(f"{EXECUTIONS}/{second}/retry?once=true").problem(409)["detail"]
    admin.post(f"{EXECUTIONS}/{second}/kill")
    answers = [admin.post(f"{EXECUTIONS}/{second}/retry?once=true", Idempotency_Key="k").json for _ in range(2)]
    assert answers[0] == answers[1], "the same request is no other one"
    assert admin.post(f"{EXECUTIONS}/{second}/retry?once=true").problem(409)["code"] == "again_already"
    assert admin.post(f"{EXECUTIONS}/{first}/retry").status == 202, "by itself it may be done again all the same"


def test_what_succeeded_is_done_again_as_often_as_it_is_asked_for(site: Site, admin: Caller, executor: Caller) -> None:
    done = failed(site, executor, site.job(), 200)
    for _ in range(2):
        assert admin.post(f"{EXECUTIONS}/{done}/retry?once=true").status == 202


def test_many_are_done_again_once_each(site: Site, admin: Caller, executor: Caller) -> None:
    job_id = site.job()
    ids = [failed(site, executor, job_id) for _ in range(5)]
    failed(site, executor, job_id, 200)
    other = failed(site, executor, site.job(job_group=site.group("other")))
    before = site.state()
    dry = admin.post(f"{EXECUTIONS}/bulk/retry?job_id={job_id}&max=3&dry_run=true").json
    assert dry == {"dry_run": True, "done": 3, "skipped": 0, "left": 2, "next_after": ids[2], "execution_ids": ids[:3]}
    assert site.state() == before
    rest = admin.post(f"{EXECUTIONS}/bulk/retry?job_id={job_id}&max=3&dry_run=true&after={ids[2]}").json
    assert (rest["execution_ids"], rest["left"], rest["next_after"]) == (ids[3:], 0, None)
    first = admin.post(f"{EXECUTIONS}/bulk/retry?job_id={job_id}&max=3").json
    assert (first["done"], first["skipped"], first["left"]) == (3, 0, 2)
    second = admin.post(f"{EXECUTIONS}/bulk/retry?job_id={job_id}&max=3").json
    assert (second["done"], second["left"]) == (2, 0)
    assert not set(first["execution_ids"]) & set(second["execution_ids"])
    assert admin.post(f"{EXECUTIONS}/bulk/retry?job_id={job_id}").json["done"] == 0
    waiting = admin.get(f"{EXECUTIONS}?status=init").json["items"]
    assert sorted(one["id"] for one in waiting) == sorted(first["execution_ids"] + second["execution_ids"])
    assert admin.post(f"{EXECUTIONS}/bulk/retry?status=failed&dry_run=true").json["execution_ids"] == [other]


def test_many_of_several_statuses_are_done_again_or_ended(site: Site, admin: Caller, executor: Caller) -> None:
    job_id = site.job()
    failing, late, _well = (failed(site, executor, job_id, code) for code in (500, 502, 200))
    begun, waiting = site.execution(job_id), site.execution(job_id)
    site.dispatched(begun, ADDRESS)
    again = admin.post(f"{EXECUTIONS}/bulk/retry?status=timeout,failed&dry_run=true").json
    assert again["execution_ids"] == [failing, late]
    assert admin.post(f"{EXECUTIONS}/bulk/retry?status=timeout,trigger_failed&dry_run=true").json["done"] == 1
    ended = admin.post(f"{EXECUTIONS}/bulk/kill?status=init,pending&dry_run=true").json
    assert ended["execution_ids"] == [begun, waiting]


def test_what_the_coordinator_tried_again_is_left_out(site: Site, admin: Caller, executor: Caller) -> None:
    failed(site, executor, site.job(executor_fail_retry_count=1))
    assert admin.post(f"{EXECUTIONS}/bulk/retry?status=failed").json["done"] == 0


def test_what_somebody_did_again_by_name_is_left_out(site: Site, admin: Caller) -> None:
    job_id = site.job()
    killed = site.execution(job_id)
    admin.post(f"{EXECUTIONS}/{killed}/kill")
    many = f"{EXECUTIONS}/bulk/retry?job_id={job_id}&dry_run=true"
    assert admin.post(many).json["execution_ids"] == [killed]
    (again,) = admin.post(f"{EXECUTIONS}/{killed}/retry").json["execution_ids"]
    assert admin.post(many).json["execution_ids"] == []
    step = admin.get(f"{EXECUTIONS}/{killed}/why").json["steps"][-1]
    assert (step["code"], step["text"]) == ("done_again", f"It was done again as execution {again}.")


def test_many_are_killed_and_their_executors_told(site: Site, admin: Caller, executor: Caller) -> None:
    job_id = site.job()
    waiting, ended = site.execution(job_id), failed(site, executor, job_id)
    with Peer(answering()) as peer:
        sent = [site.execution(job_id) for _ in range(3)]
        for one in sent:
            site.dispatched(one, peer.address)
        dry = admin.post(f"{EXECUTIONS}/bulk/kill?job_id={job_id}&status=pending&dry_run=true").json
        assert dry["execution_ids"] == sent
        killed = admin.post(f"{EXECUTIONS}/bulk/kill?job_id={job_id}&max=2").json
        wait_until(lambda: [asked.path for asked in peer.requests] == ["/kill"], "the executor to be told, once")
    assert (killed["done"], killed["left"]) == (4, 0)
    assert killed["execution_ids"] == [waiting, *sent], "an executor of another make ends a job as a whole"
    assert [shown(site, one)["reason_code"] for one in killed["execution_ids"]] == ["killed"] * 4
    assert shown(site, ended)["reason_code"] is None
    assert admin.post(f"{EXECUTIONS}/bulk/kill?job_id={job_id}").json["done"] == 0


def test_the_preview_of_a_retry_leaves_out_what_the_retry_skips(site: Site, admin: Caller, executor: Caller) -> None:
    group = site.group()
    kept, removed = (failed(site, executor, site.job(job_group=group)) for _ in range(2))
    assert admin.call("DELETE", f"/api/v1/jobs/{shown(site, removed)['job_id']}").status == 204
    before = site.state()
    dry = admin.post(f"{EXECUTIONS}/bulk/retry?status=failed&dry_run=true").json
    assert site.state() == before
    done = admin.post(f"{EXECUTIONS}/bulk/retry?status=failed").json
    assert dry["execution_ids"] == [kept]
    for name in ("done", "skipped", "left", "next_after"):
        assert dry[name] == done[name], name


@pytest.mark.parametrize("maximum", [1, 2, 100])
def test_the_preview_of_a_kill_counts_what_third_party_executors_end_together(
    site: Site, admin: Caller, monkeypatch: pytest.MonkeyPatch, maximum: int
) -> None:
    """However many are killed in one transaction."""
    monkeypatch.setattr("orth.coordinator.replaying._KILLED_IN_ONE", 1)
    group = site.group()
    job_id, other = site.job(job_group=group), site.job(job_group=group)
    with Peer(answering()) as peer:
        sent = [site.execution(job_id) for _ in range(3)]
        for one in sent:
            site.dispatched(one, peer.address)
        waiting = site.execution(other)
        before = site.state()
        dry = admin.post(f"{EXECUTIONS}/bulk/kill?job_group={group}&max={maximum}&dry_run=true").json
        assert site.state() == before
        done = admin.post(f"{EXECUTIONS}/bulk/kill?job_group={group}&max={maximum}").json
        wait_until(lambda: bool(peer.requests), "the executor to be told")
    assert {**dry, "dry_run": False} == done
    everything = maximum == 100
    assert dry["execution_ids"] == [*sent, *([waiting] if everything else [])]
    assert dry["left"] == (0 if everything else 1)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "max=10",
        "dry_run=true",
        "job_id=0",
        "job_id=1&max=0",
        "job_id=1&max=1001",
        "job_id=1&max=x",
        "job_id=1&dry_run=perhaps",
        "status=odd",
        "status=success",
        "status=failed,pending",
        "status=failed,timeout,success",
        "status=failed,odd",
        "since=tomorrow",
    ],
)
@pytest.mark.parametrize("action", ["retry", "kill"])
def test_nobody_means_everything_by_saying_nothing(site: Site, admin: Caller, action: str, query: str) -> None:
    site.execution(site.job())
    before = site.state()
    admin.post(f"{EXECUTIONS}/bulk/{action}?{query}").problem(422)
    assert site.state() == before
