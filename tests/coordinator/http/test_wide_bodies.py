"""What many members in a body cost: counted while they are read, before anything is made of them."""

import json
import shutil
import time
from pathlib import Path

import pytest

from orth.coordinator.http.limits import (
    LARGE_MEMBERS,
    LARGE_VALUES,
    MEMBERS_LIMIT,
    SMALL_BODY,
    STRANGERS_VALUES,
    VALUES_LIMIT,
)
from orth.coordinator.http.rates import BYTES_OF_A_DROP
from orth.settings import Settings
from orth.settings.sections import SecuritySection
from tests.coordinator.http.live import Caller, Site

MEGABYTE = 1024 * 1024
REQUESTS = 20
AFFORDABLE = 0.040
"""Seconds of processor time for one of them, with its client. Without a limit a megabyte takes 0.26 s and more."""


@pytest.fixture
def admin(site: Site) -> Caller:
    return site.admin()


def members(size: int) -> bytes:
    text, number = ["{"], 0
    length = 2
    while length < size - 20:
        text.append(f'"k{number}":1,')
        length += len(text[-1])
        number += 1
    return ("".join(text)[:-1] + "}").encode()


WIDE = {
    "members": members,
    "empty objects": lambda size: b"[" + b",".join([b"{}"] * ((size - 2) // 3)) + b"]",
    "empty lists in a member": lambda size: b'{"a":[' + b",".join([b"[]"] * ((size - 8) // 3)) + b"]}",
    "numbers": lambda size: b"[" + b",".join([b"1"] * ((size - 2) // 2)) + b"]",
    "empty strings": lambda size: b"[" + b",".join([b'""'] * ((size - 2) // 3)) + b"]",
    "strings of quotes": lambda size: b"[" + b",".join([b'"\\""'] * ((size - 2) // 5)) + b"]",
    "nested": lambda size: b"[" + b",".join([b"[[[[1]]]]"] * ((size - 2) // 10)) + b"]",
}


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize(
    ("path", "size"), [("/api/v1/jobs", MEGABYTE - 64), ("/api/v1/schedules/preview", SMALL_BODY - 64)]
)
def test_a_wide_body_costs_little(admin: Caller, wide: str, path: str, size: int) -> None:
    body = WIDE[wide](size)
    admin.call("POST", path, raw=body)
    began = time.process_time()
    for _ in range(REQUESTS):
        said = admin.call("POST", path, raw=body).problem(413)
    used = (time.process_time() - began) / REQUESTS
    assert said["code"] in ("too_many_values", "too_many_members")
    assert used < AFFORDABLE, f"{used * 1000:.1f} ms for each request"


@pytest.mark.parametrize("wide", WIDE)
def test_a_wide_body_of_a_stranger_costs_little(site: Site, wide: str) -> None:
    body, stranger = WIDE[wide](SMALL_BODY - 64), site.stranger()
    stranger.call("POST", "/api/v1/auth/login", raw=body)
    began = time.process_time()
    for _ in range(REQUESTS):
        said = stranger.call("POST", "/api/v1/auth/login", raw=body).problem(413)
    used = (time.process_time() - began) / REQUESTS
    assert (said["code"], said["facts"]) == ("too_many_values", {"limit": STRANGERS_VALUES})
    assert used < AFFORDABLE, f"{used * 1000:.1f} ms for each request"


@pytest.mark.parametrize(
    ("path", "member_limit", "limit"),
    [("/api/v1/jobs", LARGE_MEMBERS, LARGE_VALUES), ("/api/v1/schedules/preview", MEMBERS_LIMIT, VALUES_LIMIT)],
)
def test_the_limits_are_exact(admin: Caller, path: str, member_limit: int, limit: int) -> None:
    for many, status in ((member_limit, 422), (member_limit + 1, 413)):
        raw = json.dumps({f"k{number}": 1 for number in range(many)}, separators=(",", ":")).encode()
        said = admin.call("POST", path, raw=raw).problem(status)
    assert (said["code"], said["facts"]) == ("too_many_members", {"limit": member_limit})
    for many, status in ((limit - 1, 422), (limit, 413)):
        raw = json.dumps({"k": [1] * many}, separators=(",", ":")).encode()
        said = admin.call("POST", path, raw=raw).problem(status)
    assert (said["code"], said["facts"]) == ("too_many_values", {"limit": limit})


def test_commas_and_brackets_in_texts_are_no_values(admin: Caller) -> None:
    text = '[{,"\\' * 8_000
    said = admin.post("/api/v1/schedules/preview", {"timezone": text[:40_000]}).problem(422)
    assert said["code"] == "invalid_request"


def test_large_bodies_are_read_only_where_they_are_needed(admin: Caller) -> None:
    raw = b'{"timezone":"' + b"x" * SMALL_BODY + b'"}'
    said = admin.call("POST", "/api/v1/schedules/preview", raw=raw).problem(413)
    assert (said["code"], said["facts"]) == ("body_too_large", {"limit": SMALL_BODY})
    admin.call("POST", "/api/v1/jobs", raw=raw).problem(422)
    admin.call("PUT", "/api/v1/scripts/1", raw=raw).problem(422)


def test_a_caller_pays_for_the_bytes_it_sends(prepared: Path, tmp_path: Path) -> None:
    security = SecuritySection(rate=1, rate_burst=30)
    with Site(Path(shutil.copy(prepared, tmp_path / "orth.db")), Settings(security=security)) as site:
        admin, raw = site.admin(), b'{"timezone":"' + b"x" * (10 * BYTES_OF_A_DROP) + b'"}'
        statuses = [admin.call("POST", "/api/v1/schedules/preview", raw=raw).status for _ in range(4)]
        assert statuses == [422, 422, 429, 429]
        site.clock.move(11)
        assert admin.call("POST", "/api/v1/schedules/preview", raw=raw).status == 422
        site.clock.move(60)
        huge = b'{"job_desc":"' + b"x" * (60 * BYTES_OF_A_DROP) + b'"}'
        assert admin.call("POST", "/api/v1/jobs", raw=huge).status == 422, "a full bucket pays for any body"
