"""A job is moved to another group: what happened in the first stays with those who may see that one, and what happens
in the other is seen there alone.
"""

from typing import Any

import pytest

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
