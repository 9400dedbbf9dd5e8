"""What belongs to an execution, as people see it."""

from orth.store.cluster_history import Change, note_handoffs
from tests.coordinator.http.live import Caller, Site

EXECUTIONS = "/api/v1/executions"


def test_the_runs_beside_it_and_the_attempts_at_it(site: Site, admin: Caller, executor: Caller) -> None:
    job_id = site.job()
    first, second = site.execution(job_id), site.execution(job_id)
    site.dispatched(second, "http://127.0.0.7:9999")
    executor.post("/api/callback", [{"logId": second, "handleCode": 500}]).envelope()
    (again,) = admin.post(f"{EXECUTIONS}/{second}/retry").json["execution_ids"]
    found = admin.get(f"{EXECUTIONS}/{second}/relatives").json
    assert (found["previous"], found["next"], found["shards"]) == (first, again, [])
    failed, retried = found["attempts"]
    assert (failed["id"], failed["status"], failed["executor_address"]) == (second, "failed", "http://127.0.0.7:9999")
    assert (failed["trigger_time"], failed["handle_time"]) == ("2026-01-30T10:00:00.000Z",) * 2
    assert (retried["id"], retried["status"], retried["start_time"]) == (again, "init", None)


def test_who_took_an_attempt_over_is_told_with_it_and_in_its_story(site: Site, admin: Caller) -> None:
    job_id = site.job()
    one, other = site.execution(job_id), site.execution(job_id)
    now = site.clock.now()
    changes = [Change(number, 7, "alpha", "gone", offered=False, since=now - 100) for number in (one, other)]
    site.tx(note_handoffs, ("beta", "process"), changes, now)
    (attempt,) = admin.get(f"{EXECUTIONS}/{one}/relatives").json["attempts"]
    took = {"from_node": "alpha", "to_node": "beta", "reason": "NodeCrash", "at": "2026-01-30T10:00:00.000Z"}
    assert attempt["hands"] == [took]
    story = admin.get(f"{EXECUTIONS}/{one}/why").json["steps"]
    assert [(step["code"], step["facts"]) for step in story[1:]] == [
        ("owner_lost", {"taker": "beta", "giver": "alpha"})
    ]


def test_what_is_not_there_has_no_relatives(admin: Caller) -> None:
    admin.get(f"{EXECUTIONS}/4711/relatives").problem(404)
