"""Bodies that are too large, too deep, broken off, or not what they say."""

import gzip
import json
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from orth.coordinator.http.limits import STRANGERS_LIMIT
from orth.wire.fields import BODY_LIMIT, RESULTS_LIMIT
from tests.coordinator.http.live import ACCESS_TOKEN, Caller, Site
from tests.coordinator.http.scrolls import taken_by

MEGABYTE = 1024 * 1024
DEADLINE = 10.0


def resident() -> int:
    """Bytes of memory this process, which also serves, holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


def head(path: str, *lines: str) -> bytes:
    text = "\r\n".join([f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *lines])
    return text.encode() + b"\r\n\r\n"


def flood(site: Site, path: str, credential: str, size: int) -> tuple[bytes, int]:
    """Send ``size`` bytes in chunks without saying how many; the answer, and by how much memory grew at most."""
    chunk = b"%x\r\n" % 65_536 + b"[" * 65_536 + b"\r\n"
    before = peak = resident()
    with socket.create_connection(("127.0.0.1", site.port), timeout=DEADLINE) as sock:
        sock.sendall(head(path, credential, "Transfer-Encoding: chunked"))
        for _ in range(size // 65_536):
            sock.sendall(chunk)
            peak = max(peak, resident())
        return sock.recv(65_536), peak - before


def test_a_declared_length_above_the_limit_is_refused_unread(site: Site, admin: Caller) -> None:
    with socket.create_connection(("127.0.0.1", site.port), timeout=DEADLINE) as sock:
        credential = f"Authorization: {admin.headers['Authorization']}"
        sock.sendall(head("/api/v1/jobs", credential, f"Content-Length: {10 * MEGABYTE}"))
        assert sock.recv(65_536).startswith(b"HTTP/1.1 413 ")  # before a byte of the body was sent


@pytest.mark.parametrize("credential", ["Authorization: Bearer orth_pat_guessed", "Cookie: orth-session=a.b", "X: y"])
@pytest.mark.parametrize("length", ["Content-Length: 1000000", "Transfer-Encoding: chunked"])
def test_who_it_is_is_seen_before_anything_of_a_body_is_read(site: Site, credential: str, length: str) -> None:
    with socket.create_connection(("127.0.0.1", site.port), timeout=DEADLINE) as sock:
        sock.sendall(head("/api/v1/jobs", credential, length))
        assert sock.recv(65_536).startswith(b"HTTP/1.1 401 ")  # before a byte of the body was sent


def test_strangers_learn_nothing_about_what_they_sent(site: Site, admin: Caller) -> None:
    for raw in (b'{"a": 1, "a": 2}', b"[" * 1_000, b"no json"):
        admin.call("POST", "/api/v1/jobs", raw=raw, headers={"Content-Type": "application/json"}).problem(400)
        site.bearer("wrong").call("POST", "/api/v1/jobs", raw=raw).problem(401)


@pytest.mark.parametrize("path", ["/api/v1/auth/login", "/api/v1/auth/refresh", "/api/agents/register", "/nothing"])
def test_where_anybody_may_ask_little_is_read(site: Site, path: str) -> None:
    with socket.create_connection(("127.0.0.1", site.port), timeout=DEADLINE) as sock:
        sock.sendall(head(path, "Authorization: Bearer guessed", f"Content-Length: {STRANGERS_LIMIT + 1}"))
        assert sock.recv(65_536).startswith(b"HTTP/1.1 413 ")


def test_the_limit_is_exact(site: Site, admin: Caller) -> None:
    limit = site.settings.coordinator.max_body
    body = json.dumps({"x": ""}).encode()
    full = body.replace(b'""', b'"' + b"a" * (limit - len(body)) + b'"')
    assert len(full) == limit
    admin.call("POST", "/api/v1/jobs", raw=full).problem(422)
    said = admin.call("POST", "/api/v1/jobs", raw=full + b" ").problem(413)
    assert f"{limit:,}" in said["detail"]
    assert said["hint"]


def test_ten_megabytes_in_chunks_are_refused_with_memory_flat(site: Site, admin: Caller) -> None:
    before = site.state()
    answer, growth = flood(site, "/api/v1/jobs", f"Authorization: {admin.headers['Authorization']}", 10 * MEGABYTE)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"application/problem+json" in answer
    assert growth < 8 * MEGABYTE
    assert site.state() == before


def test_a_hundred_megabytes_of_results_are_refused_with_memory_flat(site: Site) -> None:
    answer, growth = flood(site, "/api/callback", f"XXL-JOB-ACCESS-TOKEN: {ACCESS_TOKEN}", 100 * MEGABYTE)
    status, _, rest = answer.partition(b"\r\n")
    assert status.startswith(b"HTTP/1.1 413 ")
    assert json.loads(rest.partition(b"\r\n\r\n")[2])["code"] == 500  # in the form executors read
    assert growth < 20 * MEGABYTE


@pytest.mark.parametrize("prefix", ["/api", "/xxl-job-admin/api", "/orth-admin/api", "//api"])
def test_results_may_be_larger_than_what_people_send(site: Site, executor: Caller, prefix: str) -> None:
    result = {"logId": 1, "handleCode": 200, "handleMsg": "a" * (2 * MEGABYTE)}
    assert executor.post(f"{prefix}/callback", [result]).envelope()["code"] == 200
    executor.call("POST", f"{prefix}/callback", raw=b"[" + b" " * RESULTS_LIMIT + b"]").envelope(413)


def test_very_many_results_at_once_are_taken_from_who_shows_its_token(site: Site, executor: Caller) -> None:
    one = taken_by(site, "http://127.0.0.1:1")
    last = json.dumps({"logId": one, "handleCode": 200, "handleMsg": "done"})
    stray = json.dumps({"logId": 999_999, "handleCode": 500, "handleMsg": "x" * 50_000})
    body = f"[{','.join([stray] * 150)},{last}]".encode()
    assert len(body) > BODY_LIMIT
    executor.call("POST", "/xxl-job-admin/api/callback", raw=body).envelope()
    assert site.admin().get(f"/api/v1/executions/{one}").json["handle_msg"] == "done"
    with socket.create_connection(("127.0.0.1", site.port), timeout=DEADLINE) as sock:
        sock.sendall(head("/api/callback", "ORTH-ACCESS-TOKEN: of-nobody", f"Content-Length: {len(body)}"))
        assert sock.recv(65_536).startswith(b"HTTP/1.1 401 ")  # before a byte of the body was sent


@pytest.mark.parametrize("path", ["/api/callback", "/xxl-job-admin/api/registry", "/api/begun"])
@pytest.mark.parametrize("length", ["Content-Length: 1000000", "Transfer-Encoding: chunked"])
def test_of_a_stranger_that_says_it_is_an_executor_little_is_read(site: Site, path: str, length: str) -> None:
    with socket.create_connection(("127.0.0.1", site.port), timeout=DEADLINE) as sock:
        sock.sendall(head(path, "ORTH-ACCESS-TOKEN: of-nobody", length))
        assert sock.recv(65_536).startswith(b"HTTP/1.1 401 ")  # before a byte of the body was sent


def test_a_request_broken_off_in_its_body_was_never_made(site: Site, admin: Caller) -> None:
    job_id = site.job()
    before = site.state()
    state = site.server.server_state
    with socket.create_connection(("127.0.0.1", site.port), timeout=DEADLINE) as sock:
        credential = f"Authorization: {admin.headers['Authorization']}"
        sock.sendall(head(f"/api/v1/jobs/{job_id}/trigger", credential, "Content-Length: 25"))
        until(lambda: bool(state.tasks))  # the request is being read, and waits for its body
    until(lambda: not state.tasks)
    assert site.state() == before


BROKEN = {
    "empty object cut off": b"{",
    "no JSON": b"hello",
    "two values": b"{}{}",
    "comment": b"{/* */}",
    "not UTF-8": b'{"job_desc": "\xff"}',
    "UTF-16": '{"job_desc": "x"}'.encode("utf-16"),
    "byte order mark": b"\xef\xbb\xbf{}",
    "same key twice": b'{"job_group": 1, "job_group": 2}',
    "NaN": b'{"job_group": NaN}',
    "Infinity": b'{"job_group": -Infinity}',
    "too large a number": b'{"job_group": 1e400}',
    "5000 digits": b'{"job_group": ' + b"9" * 5000 + b"}",
    "half a surrogate pair": b'{"job_desc": "\\ud800"}',
    "half a pair as a key": b'{"\\udfff": 1}',
    "40,000 deep": b"[" * 40_000,
    "65 deep": b'{"a":' * 65 + b"1" + b"}" * 65,
    "deep in a field": b'{"executor_param": ' + b"[" * 900 + b"]" * 900 + b"}",
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/api/v1/jobs"), ("PATCH", "/api/v1/jobs/1"), ("POST", "/api/v1/calendars"), ("PUT", "/api/v1/groups/1")],
)
def test_json_with_two_meanings_or_none_is_refused(
    site: Site, admin: Caller, name: str, method: str, path: str
) -> None:
    before = site.state()
    began = time.monotonic()
    admin.call(method, path, raw=BROKEN[name]).problem(400)
    assert time.monotonic() - began < DEADLINE
    assert site.state() == before


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json"])
def test_what_does_not_call_itself_json_is_refused(site: Site, admin: Caller, kind: str) -> None:
    job_id = site.job()
    before = site.state()
    said = admin.call(
        "POST", f"/api/v1/jobs/{job_id}/trigger", raw=b'{"executor_param": "x"}', headers={"Content-Type": kind}
    ).problem(415)
    assert said["hint"] == "Send Content-Type: application/json."
    assert site.state() == before


@pytest.mark.parametrize(
    "kind", ["application/json", "application/json; charset=utf-8", "application/merge-patch+json"]
)
def test_every_spelling_of_json_is_accepted(site: Site, admin: Caller, kind: str) -> None:
    job_id = site.job()
    answer = admin.call("PATCH", f"/api/v1/jobs/{job_id}", raw=b'{"author": "me"}', headers={"Content-Type": kind})
    assert answer.json["author"] == "me"


def test_compressed_bodies_are_not_unpacked(site: Site, admin: Caller, executor: Caller) -> None:
    bomb = gzip.compress(b"[" + b" " * (50 * MEGABYTE) + b"]")
    before = resident()
    admin.call("POST", "/api/v1/jobs", raw=bomb, headers={"Content-Encoding": "gzip"}).problem(400)
    executor.call("POST", "/api/callback", raw=bomb, headers={"Content-Encoding": "gzip"}).envelope(400)
    assert resident() - before < 20 * MEGABYTE


@pytest.mark.parametrize(
    "lines",
    [
        ["Content-Length: 2", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
        ["Content-Length: 2", "Content-Length: 3"],
        ["Content-Length: -1"],
        ["Content-Length: +2"],
        ["Transfer-Encoding: chunked", "X: \x00"],
    ],
    ids=str,
)
def test_a_body_whose_end_two_readers_would_see_elsewhere_is_refused(site: Site, lines: list[str]) -> None:
    with socket.create_connection(("127.0.0.1", site.port), timeout=DEADLINE) as sock:
        token = f"XXL-JOB-ACCESS-TOKEN: {ACCESS_TOKEN}"
        sock.sendall(head("/api/callback", token, *lines) + b"0\r\n\r\nGET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = b""
        while part := sock.recv(65_536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"alive" not in answer  # what came after it was not taken for a second request
