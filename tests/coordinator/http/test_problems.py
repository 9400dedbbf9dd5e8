"""What callers are told when something goes wrong, and what they are not."""

import logging
import sqlite3
from contextlib import closing
from typing import NoReturn

import pytest
import urllib3

from orth.coordinator.http import executions, jobs
from orth.coordinator.http.problems import Problem
from tests.coordinator.http.live import Caller, Site, assert_tells_nothing_inside

SECRET_DETAIL = "SELECT password FROM orth_job_user"


def broken(*_: object, **__: object) -> NoReturn:
    raise RuntimeError(SECRET_DETAIL)


def test_a_bug_is_told_by_a_reference_that_leads_to_the_log(
    admin: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(jobs, "list_jobs", broken)
    with caplog.at_level(logging.ERROR, "orth.http"):
        answer = admin.get("/api/v1/jobs")
    detail = answer.problem(500)["detail"]
    assert SECRET_DETAIL.encode() not in answer.body
    (logged,) = [record for record in caplog.records if record.name == "orth.http"]
    reference = detail.rstrip(".").split()[-1]
    assert reference in logged.getMessage()
    assert logged.exc_info is not None
    assert SECRET_DETAIL in str(logged.exc_info[1])


def test_a_bug_spoils_neither_the_connection_nor_the_next_request(
    site: Site, admin: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_connection = urllib3.HTTPConnectionPool("127.0.0.1", site.port, maxsize=1, block=True, retries=False)
    with monkeypatch.context() as patch:
        patch.setattr(executions, "look", broken)
        for _ in range(3):
            assert one_connection.request("GET", "/api/v1/executions", headers=admin.headers).status == 500
    assert one_connection.request("GET", "/api/v1/executions", headers=admin.headers).status == 200
    assert one_connection.num_connections == 1


def test_a_database_that_fails_is_told_without_its_own_words(own_site: Site) -> None:
    admin, stranger = own_site.admin(), own_site.stranger()
    with closing(sqlite3.connect(own_site.file)) as connection:
        connection.execute("ALTER TABLE orth_job_info RENAME TO away")
        for answer in (admin.get("/api/v1/jobs"), admin.post("/api/v1/jobs/1/start")):
            said = answer.problem(503)
            assert said["type"] == "urn:orth:problem:store-unavailable"
            assert answer.headers["retry-after"] == "5"
            assert b"away" not in answer.body
        connection.execute("ALTER TABLE orth_job_user RENAME TO gone")
        stranger.post("/api/v1/auth/login", {"username": "admin", "password": "x"}).problem(503)
        admin.get("/api/v1/groups").problem(503)  # who calls cannot be known: nobody is let in meanwhile
        connection.execute("ALTER TABLE gone RENAME TO orth_job_user")
        connection.execute("ALTER TABLE away RENAME TO orth_job_info")
    assert admin.get("/api/v1/jobs").json["items"] == []


def test_health_is_not_ready_without_a_database(own_site: Site) -> None:
    own_site.db.close()
    own_site.stranger().get("/health/ready").problem(503)
    assert own_site.stranger().get("/health/live").status == 200


def test_every_problem_has_its_documented_form(site: Site, admin: Caller) -> None:
    site.group("taken")
    answers = [
        admin.get("/api/v1/jobs/1"),
        admin.post("/api/v1/jobs", {}),
        admin.post("/api/v1/groups", {"app_name": "taken"}),
        admin.call("POST", "/api/v1/jobs", raw=b"{"),
        admin.call("POST", "/api/v1/jobs", raw=b"x", headers={"Content-Type": "text/plain"}),
        admin.get("/nowhere"),
        site.stranger().get("/api/v1/jobs"),
    ]
    for answer, status in zip(answers, (404, 422, 409, 400, 415, 404, 401), strict=True):
        answer.problem(status)
        Problem.model_validate_json(answer.body)


def test_every_wrong_field_is_named_at_once(admin: Caller) -> None:
    said = admin.post("/api/v1/jobs", {"job_group": 0, "executor_timeout": -1, "nonsense": 1}).problem(422)
    fields = {error["field"]: error["message"] for error in said["errors"]}
    assert set(fields) == {"job_group", "executor_timeout", "nonsense", "job_desc", "executor_handler"}
    assert fields["nonsense"] == "there is no such field"


def test_a_thousand_wrong_fields_are_answered_in_a_few_lines(admin: Caller) -> None:
    answer = admin.post("/api/v1/jobs", {f"field-{number}": 1 for number in range(1000)})
    assert len(answer.problem(422)["errors"]) == 50
    assert len(answer.body) < 10_000


def test_the_guard_against_telling_too_much_sees_what_it_should() -> None:
    with pytest.raises(AssertionError):
        assert_tells_nothing_inside(b'{"detail": "no such table: orth_job_info"}')
