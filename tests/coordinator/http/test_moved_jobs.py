"""A job is moved to another group: what happened in the first stays with those who may see that one, and what happens
in the other is seen there alone.
"""

from typing import Any

import pytest

from orth.coordinator.finishing import finish
from orth.domain.alarms import AlarmKind, Standing
from orth.domain.executions import FAILURE, SUCCESS
from orth.store.alarms import Message, keep_standings, store_messages
from orth.store.executions import Ending
from tests.coordinator.http.live import Caller
from tests.coordinator.http.rights_site import RightsSite

NEW_NAME = "merger with a competitor"


def items(caller: Caller, path: str) -> list[Any]:
    answer = caller.get(path)
    assert answer.status == 200, answer.body
    return list(answer.json["items"])


@pytest.fixture
def moved(rights: RightsSite) -> RightsSite:
    """With our job in their group, under another name."""
    change = {"job_group": rights.theirs.group, "job_desc": NEW_NAME}
    answer = rights.callers["administrator"].call("PATCH", f"/api/v1/jobs/{rights.ours.job}", change)
    assert answer.status == 200, answer.body
    return rights


def test_an_execution_does_not_tell_how_its_job_is_called_elsewhere(moved: RightsSite) -> None:
    ended = moved.ours.ended
    for who, name in (("viewer", None), ("overseer", NEW_NAME)):
        caller = moved.callers[who]
        assert caller.get(f"/api/v1/executions/{ended}").json["job_desc"] == name
        for path in ("/api/v1/executions", "/api/v1/executions?sort=duration"):
            assert {one["job_desc"] for one in items(caller, path) if one["job_id"] == moved.ours.job} == {name}


@pytest.mark.parametrize(("who", "told"), [("viewer", False), ("overseer", True)])
def test_why_does_not_tell_the_settings_that_a_job_has_elsewhere(moved: RightsSite, who: str, told: bool) -> None:
    moved.site.dispatched(moved.ours.execution, "http://ours.example.org:9999")
    change = {"executor_route_strategy": "LEAST_RECENTLY_USED"}
    assert moved.callers["administrator"].call("PATCH", f"/api/v1/jobs/{moved.ours.job}", change).status == 200
    why = moved.callers[who].get(f"/api/v1/executions/{moved.ours.execution}/why").body.decode()
    assert ("LEAST_RECENTLY_USED" in why) is told


def test_alarms_stay_where_they_arose(moved: RightsSite) -> None:
    site, job, group = moved.site, moved.ours.job, moved.ours.group
    now = site.clock.now()
    site.tx(keep_standings, {job: Standing(job, moved.ours.ended, now - 9, now, 3, group)})
    site.tx(store_messages, [Message(moved.ours.ended, job, AlarmKind.FIRST, "hook", "{}", job_group=group)], now)
    for path in ("/api/v1/alarms", "/api/v1/alarms/failing"):
        (told,) = items(moved.callers["viewer"], path)
        assert (told["job_id"], told["job_desc"], told.get("job_group")) == (job, None, None)
        assert items(moved.callers["other viewer"], path) == []
        assert [one["job_desc"] for one in items(moved.callers["overseer"], path)] == [NEW_NAME]
    (failing,) = items(moved.callers["viewer"], "/api/v1/alarms/failing")
    assert (failing["failures"], failing["channels"], failing["silenced"]) == (3, [], False)
    assert [one["channel"] for one in failing["messages"]] == ["hook"]


def test_a_silence_stays_where_it_was_made_and_silences_nothing_elsewhere(moved: RightsSite) -> None:
    ours, theirs = moved.callers["operator"], moved.callers["other editor"]
    (silence,) = items(ours, "/api/v1/alarms/silences")
    assert (silence["id"], silence["job_id"], silence["job_group"]) == (
        moved.ours.silence,
        moved.ours.job,
        moved.ours.group,
    )
    assert [one["id"] for one in items(theirs, "/api/v1/alarms/silences")] == [moved.theirs.silence]
    theirs.call("DELETE", f"/api/v1/alarms/silences/{moved.ours.silence}").problem(404)
    rules = {one["job_id"]: one["silenced"] for one in items(theirs, "/api/v1/alarms/rules")}
    assert rules == {moved.ours.job: False, moved.theirs.job: True}
    assert ours.call("DELETE", f"/api/v1/alarms/silences/{moved.ours.silence}").status == 200


def test_the_overview_shows_a_job_where_it_is(moved: RightsSite) -> None:
    site, job = moved.site, moved.ours.job
    one = site.execution(job)
    site.tx(finish, [Ending(execution_id=one, trigger_code=SUCCESS, handle_code=FAILURE)], site.clock.now() + 5_000)
    shown = {who: moved.callers[who].get("/api/v1/stats/overview").json for who in ("viewer", "other viewer")}
    assert job not in {seen["job_id"] for seen in (*shown["viewer"]["failing"], *shown["viewer"]["slowest"])}
    (failing,) = [seen for seen in shown["other viewer"]["failing"] if seen["job_id"] == job]
    assert (failing["job_id"], failing["execution_id"], failing["job_desc"]) == (job, one, NEW_NAME)


def test_a_batch_stays_with_those_who_started_it(moved: RightsSite) -> None:
    ours, theirs = moved.callers["operator"], moved.callers["other editor"]
    path = f"/api/v1/batches/{moved.ours.batch}"
    assert ours.get(path).json["id"] == moved.ours.batch
    theirs.get(path).problem(404)
    theirs.post(f"{path}/cancel").problem(404)
    assert moved.ours.batch in [one["id"] for one in items(ours, "/api/v1/batches")]
    assert [one["id"] for one in items(theirs, "/api/v1/batches")] == [moved.theirs.batch]
    assert items(theirs, f"/api/v1/executions?batch_id={moved.ours.batch}") == []
    assert ours.post(f"{path}/cancel").json["state"] == "cancelled"


def test_a_key_that_was_used_before_the_move_finds_nothing_of_the_other_group(rights: RightsSite) -> None:
    trigger, body = f"/api/v1/jobs/{rights.ours.job}/trigger", {"executor_param": "x"}
    opened = rights.callers["operator"].post(trigger, body, Idempotency_Key="k").json["execution_ids"]
    assert rights.callers["operator"].post(trigger, body, Idempotency_Key="k").json["execution_ids"] == opened
    change = {"job_group": rights.theirs.group}
    assert rights.callers["administrator"].call("PATCH", f"/api/v1/jobs/{rights.ours.job}", change).status == 200
    refused = rights.callers["other editor"].post(trigger, body, Idempotency_Key="k")
    assert refused.problem(422)["code"] == "key_used"
    fresh = rights.callers["other editor"].post(trigger, body, Idempotency_Key="another")
    assert fresh.status == 202
    assert fresh.json["execution_ids"] != opened
