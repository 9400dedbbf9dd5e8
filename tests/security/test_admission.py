"""Who is let in as an executor, and who is not: attacks with a stolen token, and with what was read on the wire.

Coordinator and honest executor are real processes. The thief knows the token of the group and nothing else.
"""

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import urllib3

from orth.executor.own_key import FILE
from orth.wire.enrolment import ENROLMENT_PATH
from orth.wire.work_keys import work_key_of_process
from tests.receivers import WebhookReceiver
from tests.security.test_downgrade import Interceptor
from tests.walk.processes import TOKEN, Api, Process, Site, eventually

JOBS = """
from orth import Executor

app = Executor("reports")


@app.job("pay")
def pay(ctx) -> str:
    return "has its secret" if ctx.secrets.get("DB_PASSWORD") == "hunter2-of-this-test" else "has none"
"""
SECRET = "hunter2-of-this-test"  # nothing to protect
HTTP = urllib3.PoolManager(retries=False, timeout=20)
FAST = {"ORTH_EXECUTOR__HEARTBEAT": "300ms"}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "jobs.py").write_text(JOBS)
    with Site(tmp_path) as site:
        site.coordinator()
        yield site


def executor(site: Site, name: str = "executor-1", **more: str) -> Process:
    return site.executor(site.folder / "jobs.py", name, **(FAST | more))


def made_group(api: Api, admission: str) -> int:
    return int(api.call("POST", "/api/v1/groups", {"app_name": "reports", "admission": admission})["id"])


def made_job(api: Api, group: int) -> int:
    api.call("PUT", f"/api/v1/secrets/DB_PASSWORD?job_group={group}", {"value": SECRET})
    body = {"job_group": group, "job_desc": "pay", "executor_handler": "pay", "secrets": ["DB_PASSWORD"]}
    path = "/api/v1/jobs?allow_unknown_handler=true"
    return int(api.call("POST", path, {**body, "executor_route_strategy": "ROUND"})["id"])


def run(api: Api, job: int) -> dict[str, Any]:
    (execution,) = api.call("POST", f"/api/v1/jobs/{job}/trigger")["execution_ids"]
    path = f"/api/v1/executions/{execution}"
    eventually(lambda: api.call("GET", path)["status"] not in ("init", "pending"), what="it has ended")
    found: dict[str, Any] = api.call("GET", path)
    return found


def keys(api: Api) -> list[dict[str, Any]]:
    return api.items("/api/v1/executor-keys")


def registered(api: Api) -> list[str]:
    return [one["address"] for one in api.items("/api/v1/executors")]


class Thief:
    """Announces itself as an executor with the token alone, and keeps what it is sent."""

    def __init__(self, coordinator: str) -> None:
        self.sent: list[dict[str, Any]] = []
        thief = self

        class Door(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"] or 0))
                thief.sent.append(json.loads(body or b"{}"))
                answer = b'{"code":200,"msg":null}'
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._coordinator = coordinator

    def register(self, **more: Any) -> int:
        said = {"incarnation": "thief", "extensions": ["secrets", "report-key", "resend"], **more}
        beat = {"registryGroup": "EXECUTOR", "registryKey": "reports", "registryValue": self.url, "orth": said}
        headers = {"ORTH-ACCESS-TOKEN": TOKEN}
        answer = HTTP.request("POST", f"{self._coordinator}/api/registry", json=beat, headers=headers)
        return int(answer.json()["code"])

    @contextmanager
    def open(self) -> Iterator["Thief"]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()


# --- with the token alone


def test_a_thief_of_the_token_gets_no_secrets(site: Site) -> None:
    """What it says of itself counts for nothing, a work key that it invents neither."""
    api = site.api()
    job = made_job(api, made_group(api, "open"))
    executor(site)
    with Thief(site.url).open() as thief:
        assert thief.register(workKey="0" * 64, process="0" * 32, extensions=["secrets", "report-key", "signed"]) == 200
        assert thief.register() == 200
        eventually(lambda: len(registered(api)) == 2, what="both are registered")
        ended = [run(api, job) for _ in range(6)]
        assert {one["handle_msg"] for one in ended} == {"has its secret"}
        assert SECRET not in json.dumps(thief.sent)
        assert not any("logId" in one for one in thief.sent)


def test_where_executors_are_known_a_thief_of_the_token_gets_no_work(site: Site) -> None:
    api = site.api()
    group = made_group(api, "open")
    with Thief(site.url).open() as thief:
        assert thief.register() == 200
        admission = {"app_name": "reports", "admission": "known"}
        api.call("PUT", f"/api/v1/groups/{group}", admission)
        assert registered(api) == [], "who has no key of its own is taken off the list"
        assert thief.register() == 500
        job = made_job(api, group)
        assert run(api, job)["status"] != "success"
        assert not any("logId" in one for one in thief.sent)


def test_a_new_executor_waits_until_somebody_admits_it(site: Site) -> None:
    api = site.api()
    job = made_job(api, made_group(api, "known"))
    process = executor(site)
    eventually(lambda: "orth executors admit 1" in process.text(), what="it is told how it gets in")
    (waiting,) = keys(api)
    assert (waiting["state"], waiting["source"], waiting["decided_by"]) == ("waiting", "127.0.0.1", None)
    assert registered(api) == []
    assert run(api, job)["status"] != "success"
    api.call("POST", "/api/v1/executor-keys/1/admit")
    eventually(lambda: registered(api), within=20, what="it registers")
    assert run(api, job)["handle_msg"] == "has its secret"
    (join,) = api.items("/api/v1/audit?action=executor.join")
    assert (join["address"], join["after"]["state"], join["after"]["address"]) == (
        "127.0.0.1",
        "waiting",
        waiting["address"],
    )
    assert api.items("/api/v1/audit?action=executor.admit")[0]["actor"] == "admin"


def test_each_new_executor_is_told_by_every_channel(tmp_path: Path) -> None:
    """Once: an executor that starts again is not new."""
    (tmp_path / "jobs.py").write_text(JOBS)
    with Site(tmp_path) as site, WebhookReceiver() as ops:
        site.coordinator(ORTH_ALARMS__ALLOW_LOCAL="true", ORTH_ALARMS__QUIET="100ms")
        api = site.api()
        made_group(api, "known")
        api.call("POST", "/api/v1/alarms/channels", {"name": "ops", "kind": "webhook", "definition": {"url": ops.url}})
        first = executor(site)
        (told,) = ops.wait_for(1)
        assert (told.json["kind"], told.json["title"]) == ("executor", "New executor of reports")
        assert "orth executors admit 1" in told.json["text"]
        first.end()
        assert first.popen.wait(20) is not None
        executor(site)
        executor(site, "executor-2")
        *_, last = ops.wait_for(2)
        assert "Executor 2 at" in last.json["text"]
        assert last.json["failures"] == 1
        shown = api.items("/api/v1/alarms")[0]
        assert (shown["kind"], shown["job_id"], shown["execution_id"]) == ("executor", None, None)


def test_a_revoked_executor_is_refused_and_gets_nothing(site: Site) -> None:
    api = site.api()
    job = made_job(api, made_group(api, "open"))
    process = executor(site)
    eventually(lambda: registered(api), what="it is registered")
    assert run(api, job)["status"] == "success"
    api.call("POST", "/api/v1/executor-keys/1/revoke")
    assert registered(api) == []
    eventually(lambda: "Executor 1 was revoked" in process.text(), within=20, what="it is told")
    assert registered(api) == [], "and does not come back"
    assert run(api, job)["status"] != "success"
    api.call("POST", "/api/v1/executor-keys/1/admit", expect=409)
    assert [one["state"] for one in keys(api)] == ["revoked"]


def test_a_join_token_admits_one_executor(site: Site) -> None:
    api = site.api()
    made_group(api, "known")
    body = {"kind": "executor", "name": "for one", "app_names": ["reports"], "once": True}
    made = api.call("POST", "/api/v1/tokens", body)
    assert made["expires_at"] is not None
    own = {"ORTH_SECURITY__ACCESS_TOKEN": made["token"]}
    first = executor(site, **own)
    eventually(lambda: registered(api), within=20, what="it registers")
    assert [(one["state"], one["decided_by"]) for one in keys(api)] == [("admitted", "join token for one")]
    second = executor(site, "executor-2", **own)
    eventually(lambda: "not signed with an access token" in second.text(), within=20, what="it is refused")
    assert len(keys(api)) == 1
    first.end()
    assert first.popen.wait(20) is not None
    executor(site, **own)
    eventually(lambda: registered(api), within=20, what="the admitted one comes back without a good token")
    bare = HTTP.request("POST", f"{site.url}/api/registry", body=b"{}", headers={"ORTH-ACCESS-TOKEN": made["token"]})
    assert bare.json()["code"] == 500


def test_an_executor_is_as_good_as_the_token_that_let_it_in(site: Site) -> None:
    """Who stole a token and enrolled with it is out when the token is revoked."""
    api = site.api()
    made_group(api, "open")
    made = api.call("POST", "/api/v1/tokens", {"kind": "executor", "name": "leaked", "app_names": ["reports"]})
    process = executor(site, ORTH_SECURITY__ACCESS_TOKEN=made["token"])
    eventually(lambda: registered(api), what="it is registered")
    api.call("DELETE", f"/api/v1/tokens/{made['id']}")
    eventually(lambda: "not signed with an access token" in process.text(), within=20, what="it is refused")


def test_two_executors_do_not_have_one_key(site: Site) -> None:
    api = site.api()
    made_group(api, "open")
    executor(site)
    eventually(lambda: registered(api), what="the first is registered")
    (address,) = registered(api)
    (site.folder / "executor-2").mkdir()
    shutil.copy(site.folder / "executor-1" / FILE, site.folder / "executor-2" / FILE)
    copy = executor(site, "executor-2")
    eventually(lambda: f"in use at {address}" in copy.text(), within=20, what="the copy is refused")
    assert registered(api) == [address]
    contested = api.items("/api/v1/audit?action=executor.contested")
    assert contested[0]["after"] == {"claim": "beat", "refused": True}


def test_an_executor_that_moves_takes_its_key_along(site: Site) -> None:
    api = site.api()
    made_group(api, "open")
    first = executor(site)
    eventually(lambda: registered(api), what="it is registered")
    before = registered(api)
    first.popen.kill()
    first.popen.wait(10)
    executor(site)
    eventually(lambda: set(registered(api)) - set(before), within=20, what="it is registered at its new address")
    assert len(keys(api)) == 1


# --- on the wire


def test_a_reader_learns_neither_key_nor_token_and_replays_nothing(site: Site) -> None:
    """Also with the token, which leaks later: nothing that was read is good for anything."""
    api = site.api()
    made_group(api, "open")
    with Interceptor(site.url).open() as reader:
        reader.attacks = False
        executor(site, ORTH_EXECUTOR__COORDINATORS=reader.url)
        eventually(lambda: registered(api), what="it is registered")
        own = (site.folder / "executor-1" / FILE).read_text().strip()
        assert (site.folder / "executor-1" / FILE).stat().st_mode & 0o777 == 0o600
        processes = {
            said["orth"]["process"] for _path, _headers, body in reader.requests if "orth" in (said := _json(body))
        }
        assert processes
        for secret in (TOKEN, own, *(work_key_of_process(own, one) for one in processes)):
            assert not reader.has_read(secret)
        enrolments = [(headers, body) for path, headers, body in reader.requests if path == ENROLMENT_PATH]
        assert len(enrolments) >= 2
        before = keys(api)
        for headers, body in enrolments:
            again = HTTP.request("POST", site.url + ENROLMENT_PATH, body=body, headers=headers)
            assert again.status == 401
        assert [one["id"] for one in keys(api)] == [one["id"] for one in before]


@pytest.mark.parametrize("side", ["request", "answer"])
def test_who_changes_the_exchange_without_the_token_enrols_nobody(site: Site, side: str) -> None:
    api = site.api()
    made_group(api, "open")

    def forged(path: str, body: bytes) -> bytes:
        said = json.loads(body) if path == ENROLMENT_PATH and body.startswith(b"{") else {}
        if side == "request" and "public" in said:
            return json.dumps({**said, "public": "0" * 767 + "4"}).encode()
        data = said.get("data")
        if side == "answer" and isinstance(data, dict) and "public" in data:
            return json.dumps({**said, "data": {**data, "public": "0" * 767 + "4"}}).encode()
        return body

    with Interceptor(site.url, **{f"change_{side}": forged}).open() as attacker:
        attacker.attacks = False
        process = executor(site, ORTH_EXECUTOR__COORDINATORS=attacker.url)
        told = "did not prove the access token" if side == "answer" else "not the one that was signed"
        eventually(lambda: told in process.text(), within=20, what="it is told")
        assert (keys(api), registered(api)) == ([], [])
        own = (site.folder / "executor-1" / FILE).read_text().strip()
        assert not attacker.has_read(own)


def _json(body: bytes) -> dict[str, Any]:
    try:
        said = json.loads(body)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
