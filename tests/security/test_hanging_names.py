"""A89: names whose name servers never answer hold up no call to another name.

The coordinator is a real process. Its ``/etc/resolv.conf`` leads to a socket that reads no question.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orth.coordinator.alarming.outbound import NotDelivered
from orth.errors import OrthError
from orth.wire.key_calls import Holding
from orth.wire.resolver import ResolverLimits
from tests.security.outbound_calls import CALLS, mail_by
from tests.servers.processes import free_port
from tests.walk.processes import HTTP, Api, Process, Site, eventually
from tests.wire.fake_names import FakeNames, faked

JOBS = """
from orth import Executor

app = Executor("honest")


@app.job("note")
def note() -> str:
    return "noted"
"""
NAMES = 30
WEBHOOKS = 8
"""More than the threads in which an event loop looks names up (four)."""
SOON = 5.0
"""Seconds for an execution from its trigger to its end: the coordinator waits 3 s for an executor."""
NAME = "h1.evil.example"
OF_COORDINATORS = [name for name, call in CALLS.items() if not call.waits]
_MOUNT = 'mount --make-rprivate / && mount --bind "$0" /etc/resolv.conf && exec "$@"'


class MuteNameServer:
    """A name server that never answers: each test process has one at an address of its own."""

    def __init__(self, folder: Path) -> None:
        pid = os.getpid()
        self._address = f"127.{128 + (pid >> 16 & 0x3F)}.{pid >> 8 & 0xFF}.{pid & 0xFF}"
        self.file = folder / "resolv.conf"
        self.file.write_text(f"nameserver {self._address}\n")
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def __enter__(self) -> "MuteNameServer":
        self.socket.bind((self._address, 53))
        return self

    def __exit__(self, *_exc: object) -> None:
        self.socket.close()

    def command(self, *words: str) -> list[str]:
        """The command line that runs ``words`` with this name server."""
        return ["unshare", "--mount", "sh", "-c", _MOUNT, str(self.file), *words]


class Asking(Process):
    """A coordinator that asks the mute name server."""

    def __init__(self, server: MuteNameServer, environment: Mapping[str, str], folder: Path) -> None:
        self.name = "coordinator"
        self.output = folder / "coordinator.log"
        clean = {key: value for key, value in os.environ.items() if not key.startswith("ORTH_")}
        with self.output.open("a") as out:
            self.popen = subprocess.Popen(
                server.command(sys.executable, "-m", "orth", "server"),
                env={**clean, **environment, "PYTHONUNBUFFERED": "1"},
                cwd=folder,
                stdout=out,
                stderr=out,
            )


def _lacking() -> str:
    if shutil.which("unshare") is None:
        return "unshare is not installed (util-linux)"
    tried = subprocess.run(["unshare", "--mount", "mount", "--make-rprivate", "/"], capture_output=True, check=False)
    return "" if tried.returncode == 0 else "mount namespaces cannot be made here"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A coordinator whose name server is mute, and an executor that is registered as ``localhost``."""
    if lacking := _lacking():
        assert os.environ.get("CI") != "true", lacking
        pytest.skip(lacking)
    (tmp_path / "jobs.py").write_text(JOBS)
    with MuteNameServer(tmp_path) as server, Site(tmp_path) as site:
        environment = {**site.settings, "ORTH_COORDINATOR__LISTEN": f"127.0.0.1:{site.port}"}
        coordinator = Asking(server, environment, tmp_path)
        site.processes.append(coordinator)
        eventually(lambda: site.answers(coordinator, f"{site.url}/health/ready"), what="the coordinator ready")
        port = free_port()
        site.executor(tmp_path / "jobs.py", port=port, ORTH_EXECUTOR__ADDRESS=f"http://localhost:{port}")
        yield site


def _job(api: Api) -> int:
    group = api.call("POST", "/api/v1/groups", {"app_name": "honest"})
    body = {"job_group": group["id"], "job_desc": "note", "executor_handler": "note"}
    return int(api.call("POST", "/api/v1/jobs", body)["id"])


def _seconds(api: Api, job_id: int) -> float:
    """How long an execution takes from its trigger to its success."""
    began = time.monotonic()
    (execution,) = api.call("POST", f"/api/v1/jobs/{job_id}/trigger", expect=202)["execution_ids"]
    shown = f"/api/v1/executions/{execution}"
    eventually(lambda: api.call("GET", shown)["phase"] == "ended", what="the end")
    found = api.call("GET", shown)
    assert found["status"] == "success", found["trigger_msg"]
    return time.monotonic() - began


def _register(site: Site, token: str, number: int) -> int:
    said = {"registryGroup": "EXECUTOR", "registryKey": "evil"}
    body = {**said, "registryValue": f"http://h{number}.evil.example:8080"}
    return HTTP.request("POST", f"{site.url}/api/registry", json=body, headers={"ORTH-ACCESS-TOKEN": token}).status


def _webhook(api: Api, number: int) -> int:
    definition = {"url": f"http://hook{number}.evil.example/"}
    body = {"name": f"hook{number}", "kind": "webhook", "definition": definition}
    return int(api.call("POST", "/api/v1/alarms/channels", body)["id"])


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeNames]:
    """Names that are looked up by the resolver, and in no other way."""

    def elsewhere(host: object, *_how: object, **_more: object) -> None:
        raise AssertionError(f"{host!r} is looked up without the resolver")

    with faked(limits=ResolverLimits(deadline=0.05)) as (names, resolver):
        monkeypatch.setattr("orth.wire.resolver._SYSTEM", resolver)
        monkeypatch.setattr(socket, "getaddrinfo", elsewhere)
        yield names


@pytest.mark.parametrize("call", OF_COORDINATORS)
async def test_every_call_of_a_coordinator_uses_the_resolver(call: str, names: FakeNames) -> None:
    try:
        said = str(await CALLS[call].make(f"http://{NAME}:8080"))  # what is wrong with a service
    except OrthError as error:
        said = str(error)
    assert said == str(Holding.UNKNOWN) or "does not resolve: its name servers do not answer in time" in said
    assert names.asked == [NAME]


async def test_mail_uses_the_resolver(names: FakeNames) -> None:
    with pytest.raises(NotDelivered, match="do not answer in time"):
        await mail_by(NAME, 25)
    assert names.asked == [NAME]


def test_names_that_hang_do_not_keep_work_from_an_executor_at_localhost(site: Site) -> None:
    api = site.api()
    job_id = _job(api)
    api.call("POST", "/api/v1/groups", {"app_name": "evil"})
    token = api.call("POST", "/api/v1/tokens", {"name": "stolen", "kind": "executor", "app_names": ["evil"]})["token"]
    with ThreadPoolExecutor(NAMES) as callers:
        assert set(callers.map(lambda number: _register(site, token, number), range(NAMES))) == {200}
    assert max(_seconds(api, job_id) for _ in range(8)) < SOON
    assert site.processes[0].end() == 0, "and a coordinator stops while lookups hang"


def test_webhooks_to_names_that_hang_do_not_keep_work_from_an_executor_at_localhost(site: Site) -> None:
    api = site.api()
    job_id = _job(api)
    hooks = [_webhook(api, number) for number in range(WEBHOOKS)]
    with ThreadPoolExecutor(WEBHOOKS) as callers:
        tried = [callers.submit(api.call, "POST", f"/api/v1/alarms/channels/{one}/test", {}) for one in hooks]
        assert max(_seconds(api, job_id) for _ in range(4)) < SOON
    answers = [one.result() for one in tried]
    assert [one["ok"] for one in answers] == [False] * WEBHOOKS, answers
