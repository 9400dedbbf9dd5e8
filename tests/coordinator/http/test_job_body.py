"""What a definition may say: each mistake is refused at its field, with nothing written."""

import time
from typing import Any

import pytest

from tests.coordinator.http.live import Caller, Site

JOBS = "/api/v1/jobs"
CRON = {"schedule_type": "CRON"}
BOUND = 10.0  # seconds: far above what any of this takes, far below what a search without bounds would

ALIASES = [
    ("executor_route_strategy", "ROUND_ROBIN", "ROUND"),
    ("executor_route_strategy", "round", "ROUND"),
    ("executor_route_strategy", "First", "FIRST"),
    ("executor_block_strategy", "SERIAL", "SERIAL_EXECUTION"),
    ("executor_block_strategy", "DISCARD", "DISCARD_LATER"),
    ("executor_block_strategy", "cover", "COVER_EARLY"),
    ("executor_block_strategy", "CONCURRENT", "CONCURRENT"),
    ("misfire_strategy", "fire_once_now", "FIRE_ONCE_NOW"),
    ("glue_type", "bean", "BEAN"),
]


@pytest.mark.parametrize(("field", "written", "stored"), ALIASES)
def test_shorter_names_and_any_case_are_understood(
    site: Site, admin: Caller, field: str, written: str, stored: str
) -> None:
    job_id = site.job(**{field: written})
    assert admin.get(f"{JOBS}/{job_id}").json[field] == stored


@pytest.mark.parametrize("text", ["Déjà vu — 日本語 🙂", "a" * 255, "<script>alert(1)</script>", "'; DROP TABLE x; --"])
def test_a_name_comes_back_as_it_was_written(site: Site, admin: Caller, text: str) -> None:
    job_id = site.job(job_desc=text, author=text[:64], executor_param=f" {text}\n\ttwo lines ")
    shown = admin.get(f"{JOBS}/{job_id}").json
    assert (shown["job_desc"], shown["author"]) == (text, text[:64])
    assert shown["executor_param"] == f" {text}\n\ttwo lines "


def test_blanks_around_a_name_and_ways_to_write_a_letter_do_not_matter(site: Site, admin: Caller) -> None:
    job_id = site.job(job_desc="  cafe\u0301 ")
    assert admin.get(f"{JOBS}/{job_id}").json["job_desc"] == "caf\u00e9"


BAD: list[tuple[dict[str, Any], str]] = [
    # ids and numbers
    ({"job_group": "1"}, "job_group"),
    ({"job_group": 1.0}, "job_group"),
    ({"job_group": True}, "job_group"),
    ({"job_group": 0}, "job_group"),
    ({"job_group": -1}, "job_group"),
    ({"job_group": 2**31}, "job_group"),
    ({"job_group": 2**64}, "job_group"),
    ({"job_group": 10**400}, "job_group"),
    ({"job_group": None}, "job_group"),
    ({"calendar_id": 0}, "calendar_id"),
    ({"calendar_id": "1"}, "calendar_id"),
    ({"jitter": -1}, "jitter"),
    ({"jitter": 3_600_001}, "jitter"),
    ({"executor_timeout": -1}, "executor_timeout"),
    ({"executor_timeout": 604_801}, "executor_timeout"),
    ({"executor_timeout": 10**18}, "executor_timeout"),
    ({"executor_concurrency": 0}, "executor_concurrency"),
    ({"executor_concurrency": -1}, "executor_concurrency"),
    ({"executor_concurrency": 10**6}, "executor_concurrency"),
    ({"executor_fail_retry_count": -1}, "executor_fail_retry_count"),
    ({"executor_fail_retry_count": 101}, "executor_fail_retry_count"),
    ({"executor_fail_retry_count": 10**9}, "executor_fail_retry_count"),
    # texts
    ({"job_desc": ""}, "job_desc"),
    ({"job_desc": " \t "}, "job_desc"),
    ({"job_desc": "a" * 256}, "job_desc"),
    ({"job_desc": "two\nlines"}, "job_desc"),
    ({"job_desc": "bell\x07"}, "job_desc"),
    ({"job_desc": "nul\x00"}, "job_desc"),
    ({"job_desc": "escape\x1b[31m"}, "job_desc"),
    ({"job_desc": "right\u202eto left"}, "job_desc"),
    ({"job_desc": "zero\u200bwidth"}, "job_desc"),
    ({"job_desc": "\u0958" * 255}, "job_desc"),  # grows when it is composed
    ({"job_desc": ["x"]}, "job_desc"),
    ({"author": "a" * 65}, "author"),
    ({"author": "a\rb"}, "author"),
    ({"executor_handler": ""}, "executor_handler"),
    ({"executor_handler": "  "}, "executor_handler"),
    ({"executor_handler": "a" * 256}, "executor_handler"),
    ({"executor_handler": "a\x00"}, "executor_handler"),
    ({"executor_param": "nul\x00"}, "executor_param"),
    ({"executor_param": "a" * 65_536}, "executor_param"),
    ({"executor_param": {"not": "text"}}, "executor_param"),
    # choices
    ({"schedule_type": "SOMETIMES"}, "schedule_type"),
    ({"schedule_type": 1}, "schedule_type"),
    ({"dst_policy": "never"}, "dst_policy"),
    ({"misfire_strategy": "PANIC"}, "misfire_strategy"),
    ({"executor_route_strategy": "NEAREST"}, "executor_route_strategy"),
    ({"executor_block_strategy": "ROUND"}, "executor_block_strategy"),
    ({"glue_source": "echo"}, "glue_source"),
    ({"glue_remark": "x" * 129}, "glue_remark"),
    ({"glue_type": "GLUE_PERL"}, "glue_type"),
    # fields that are not the caller's
    ({"id": 1}, "id"),
    ({"version": 9}, "version"),
    ({"trigger_status": 1}, "trigger_status"),
    ({"trigger_next_time": 0}, "trigger_next_time"),
    ({"glue_source": "import os"}, "glue_source"),
    ({"owner_node": "me"}, "owner_node"),
    ({"role": "admin"}, "role"),
    ({"__class__": "x"}, "__class__"),
    # schedules
    ({**CRON, "schedule_conf": ""}, "schedule_conf"),
    ({**CRON, "schedule_conf": "* * * *"}, "schedule_conf"),
    ({**CRON, "schedule_conf": "61 * * * *"}, "schedule_conf"),
    ({**CRON, "schedule_conf": "*/0 * * * *"}, "schedule_conf"),
    ({**CRON, "schedule_conf": "*/-1 * * * *"}, "schedule_conf"),
    ({**CRON, "schedule_conf": "0 0 30 2 *"}, "schedule_conf"),
    ({**CRON, "schedule_conf": "0 0 31 4 *"}, "schedule_conf"),
    ({**CRON, "schedule_conf": "0 0 0 1 1 ? 2020"}, "schedule_conf"),
    ({**CRON, "schedule_conf": "٣ * * * *"}, "schedule_conf"),
    ({**CRON, "schedule_conf": "@reboot"}, "schedule_conf"),
    ({**CRON, "schedule_conf": "1," * 127 + "1 * * * *"}, "schedule_conf"),
    ({**CRON, "schedule_conf": "a" * 1000}, "schedule_conf"),
    ({**CRON, "schedule_conf": "* * * * *\n* * * * *"}, "schedule_conf"),
    ({"schedule_type": "FIX_RATE", "schedule_conf": "0"}, "schedule_conf"),
    ({"schedule_type": "FIX_RATE", "schedule_conf": "-5"}, "schedule_conf"),
    ({"schedule_type": "FIX_RATE", "schedule_conf": "1ns"}, "schedule_conf"),
    ({"schedule_type": "FIX_RATE", "schedule_conf": "NaN"}, "schedule_conf"),
    ({"schedule_type": "FIX_RATE", "schedule_conf": "1" + "0" * 18}, "schedule_conf"),
    ({"schedule_type": "FIX_DELAY", "schedule_conf": "soon"}, "schedule_conf"),
    ({"schedule_type": "AT", "schedule_conf": "2020-01-01T00:00:00Z"}, "schedule_conf"),
    ({"schedule_type": "AT", "schedule_conf": "0001-01-01T00:00:00Z"}, "schedule_conf"),
    ({"schedule_type": "AT", "schedule_conf": "9999-12-31T00:00:00Z"}, "schedule_conf"),
    ({"schedule_type": "AT", "schedule_conf": "2027-02-30T00:00:00Z"}, "schedule_conf"),
    # zones
    ({**CRON, "schedule_conf": "* * * * *", "timezone": "Europe/Nowhere"}, "timezone"),
    ({**CRON, "schedule_conf": "* * * * *", "timezone": "../../etc/passwd"}, "timezone"),
    ({**CRON, "schedule_conf": "* * * * *", "timezone": "localtime"}, "timezone"),
    ({"timezone": "x" * 65}, "timezone"),
    ({"timezone": "UTC\x00"}, "timezone"),
    ({"timezone": "Mars/Base"}, "timezone"),
]


@pytest.mark.parametrize(("fields", "field"), BAD, ids=lambda value: str(value)[:60])
def test_what_cannot_be_a_job_is_refused_and_nothing_is_written(
    site: Site, admin: Caller, fields: dict[str, Any], field: str
) -> None:
    job_id = site.job()
    group = admin.get(f"{JOBS}/{job_id}").json["job_group"]
    good = {"job_group": group, "job_desc": "x", "executor_handler": "report"}
    before = site.state()
    began = time.monotonic()
    answers = [
        admin.post(JOBS, {**good, **fields}),
        admin.call("PATCH", f"{JOBS}/{job_id}", fields),
    ]
    assert time.monotonic() - began < BOUND
    for answer in answers:
        said = answer.problem(422)
        assert field in [error["field"] for error in said["errors"]]
    assert site.state() == before


def test_a_mistake_in_a_schedule_is_shown_at_its_place(site: Site, admin: Caller) -> None:
    body = {"job_group": site.group(), "job_desc": "x", "executor_handler": "report", **CRON}
    said = admin.post(JOBS, {**body, "schedule_conf": "0 25 * * *"}).problem(422)
    (error,) = said["errors"]
    assert said["type"] == "urn:orth:problem:invalid-schedule"
    assert (error["text"], error["position"], error["length"]) == ("0 25 * * *", 2, 2)
    assert said["hint"]


def test_an_unknown_zone_is_answered_with_the_nearest_one(site: Site, admin: Caller) -> None:
    body = {"job_group": site.group(), "job_desc": "x", "executor_handler": "report", "timezone": "Europe/Belrin"}
    assert "Europe/Berlin" in admin.post(JOBS, body).problem(422)["hint"]


@pytest.mark.parametrize("named", [{"job_group": 4711}, {"calendar_id": 4711}], ids=str)
def test_a_group_or_calendar_that_does_not_exist_is_not_found(site: Site, admin: Caller, named: dict[str, int]) -> None:
    job_id = site.job()
    group = admin.get(f"{JOBS}/{job_id}").json["job_group"]
    good = {"job_group": group, "job_desc": "x", "executor_handler": "report"}
    before = site.state()
    for query in ("", "?allow_unknown_handler=true"):
        said = admin.post(f"{JOBS}{query}", {**good, **named}).problem(404)
        assert "4711" in said["detail"]
        admin.call("PATCH", f"{JOBS}/{job_id}{query}", named).problem(404)
    assert site.state() == before


@pytest.mark.parametrize("body", [[], "x", 5, True, [{}]], ids=str)
def test_a_job_is_an_object(site: Site, admin: Caller, body: object) -> None:
    job_id = site.job()
    before = site.state()
    admin.post(JOBS, body).problem(422)
    admin.call("PATCH", f"{JOBS}/{job_id}", body).problem(422)
    admin.call("PUT", f"{JOBS}/{job_id}", body).problem(422)
    assert site.state() == before


def test_a_rare_schedule_is_found_and_told(site: Site, admin: Caller) -> None:
    job_id = site.job(**CRON, schedule_conf="0 0 0 29 2 ? *")
    began = time.monotonic()
    fires = admin.get(f"{JOBS}/{job_id}/next?n=100").json["items"]
    assert fires[0]["fire_time"] == "2028-02-29T00:00:00.000Z"
    assert time.monotonic() - began < BOUND
