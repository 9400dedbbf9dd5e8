"""Jobs this version cannot read, through the API: one of them never spoils the list."""

import pytest
from sqlalchemy import Connection, update

from orth.domain.fires import FireDecision
from orth.store.fires import record_fires
from orth.store.tables import jobs
from tests.coordinator.http.live import Caller, Site

JOBS = "/api/v1/jobs"


def write(connection: Connection, job_id: int, **values: object) -> None:
    """Write what no verb of the store would."""
    connection.execute(update(jobs).where(jobs.c.id == job_id).values(**values))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("misfire_strategy", "FIRE_SOME"),
        ("executor_route_strategy", "WEIGHTED"),
        ("glue_type", "GLUE_RUBY"),
        ("child_jobid", "1,x"),
        ("trigger_next_time", 999_999_999_999_999),
        ("trigger_last_time", 2**62),
    ],
)
def test_the_list_shows_it_with_what_can_be_read(site: Site, admin: Caller, column: str, value: object) -> None:
    group = site.group()
    good, bad = site.job(job_group=group), site.job(job_group=group)
    site.tx(write, bad, **{column: value})
    answer = admin.get(JOBS)
    assert answer.status == 200
    first, second = answer.json["items"]
    assert first == admin.get(f"{JOBS}/{good}").json | {"glue_source": None}, "lists leave code out"
    assert "unreadable" not in first
    assert (second["id"], second["job_desc"], second["trigger_status"]) == (bad, "nightly report", 0)
    assert second["unreadable"] == f"{column} is {str(value)!r}"


def test_calls_for_that_one_say_what_is_wrong_and_change_nothing(site: Site, admin: Caller) -> None:
    bad = site.job(schedule_type="CRON", schedule_conf="0 2 * * *")
    site.tx(write, bad, misfire_strategy="FIRE_SOME")
    before = site.state()
    where = f"{JOBS}/{bad}"
    calls = [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/start"), ("POST", "/stop"), ("POST", "/trigger")]
    for method, path in [*calls, ("GET", "/next")]:
        said = admin.call(method, where + path, {} if method in ("PATCH", "POST") else None).problem(409)
        assert said["type"] == "urn:orth:problem:unreadable"
        assert "misfire_strategy is 'FIRE_SOME'" in said["detail"]
    assert site.state() == before


def test_its_ledger_can_be_read(site: Site, admin: Caller) -> None:
    bad = site.job()
    decision = FireDecision(bad, 1000, 1000, 1, "skipped", "the job was stopped: it cannot be read", 1)
    site.tx(record_fires, [decision], 1, 2000)
    site.tx(write, bad, misfire_strategy="FIRE_SOME")
    (fire,) = admin.get(f"{JOBS}/{bad}/fires").json["items"]
    assert fire["reason"] == "the job was stopped: it cannot be read"
