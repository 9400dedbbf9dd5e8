"""``retry_policy`` and ``child_param`` of a job, through the API."""

from typing import Any

import pytest
from sqlalchemy import Connection, update

from orth.store.tables import jobs
from tests.coordinator.http.live import Caller, Site

JOBS = "/api/v1/jobs"
WHOLE = {
    "delay": 10.5,
    "multiplier": 2.0,
    "cap": 300.0,
    "jitter": 0.25,
    "give_up": ["timeout", "trigger_failed"],
    "codes": [404, 410],
}


def test_a_policy_is_kept_patched_and_taken_away(site: Site, admin: Caller) -> None:
    job_id = site.job(retry_policy=WHOLE, child_param="result")
    shown = admin.get(f"{JOBS}/{job_id}").json
    assert (shown["retry_policy"], shown["child_param"]) == (WHOLE, "result")
    renamed = admin.call("PATCH", f"{JOBS}/{job_id}", {"job_desc": "renamed"}).json
    assert (renamed["retry_policy"], renamed["child_param"]) == (WHOLE, "result")
    short = admin.call("PATCH", f"{JOBS}/{job_id}", {"retry_policy": {"delay": 5}}).json["retry_policy"]
    assert short == {"delay": 5, "multiplier": 1, "cap": 604_800, "jitter": 0, "give_up": [], "codes": []}
    gone = admin.call("PATCH", f"{JOBS}/{job_id}", {"retry_policy": None, "child_param": "own"}).json
    assert (gone["retry_policy"], gone["child_param"]) == (None, "own")


def test_unsaid_there_is_none(site: Site, admin: Caller) -> None:
    shown = admin.get(f"{JOBS}/{site.job()}").json
    assert (shown["retry_policy"], shown["child_param"]) == (None, "own")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(
            ("retry_policy", policy)
            for policy in (
                [],
                "10s",
                {"delay": -1},
                {"delay": "10"},
                {"delay": True},
                {"delay": 604_801},
                {"multiplier": 0},
                {"multiplier": 10.5},
                {"cap": -0.5},
                {"jitter": 1.01},
                {"give_up": ["success"]},
                {"give_up": ["failed"] * 4},
                {"codes": [0]},
                {"codes": ["404"]},
                {"codes": [2**31]},
                {"codes": list(range(1, 10))},
                {"attempts": 3},
            )
        ),
        ("child_param", "parent"),
        ("child_param", None),
    ],
    ids=str,
)
def test_what_is_no_policy_is_refused(site: Site, admin: Caller, field: str, value: Any) -> None:
    job_id = site.job()
    before = site.state()
    admin.call("PATCH", f"{JOBS}/{job_id}", {field: value}).problem(422)
    assert site.state() == before


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"retry_policy": '{"delay":-1}'}, "retry_policy is '{\"delay\":-1}'"),
        ({"retry_policy": "later"}, "retry_policy is 'later'"),
        ({"child_param": "both"}, "child_param is 'both'"),
    ],
)
def test_a_row_with_something_newer_is_listed_as_unreadable(
    site: Site, admin: Caller, values: dict[str, str], reason: str
) -> None:
    job_id = site.job()
    site.tx(_write, job_id, values)
    (listed,) = admin.get(JOBS).json["items"]
    assert listed["unreadable"] == reason
    admin.get(f"{JOBS}/{job_id}").problem(409)


def _write(connection: Connection, job_id: int, values: dict[str, str]) -> None:
    connection.execute(update(jobs).where(jobs.c.id == job_id).values(**values))
