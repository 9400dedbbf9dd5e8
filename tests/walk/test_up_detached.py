"""``orth up --detach`` and those who look after it: ``ps``, ``logs``, ``down``."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3

from tests.cli.running import environment, orth
from tests.servers.processes import alive
from tests.walk.processes import eventually
from tests.walk.terminals import family, left_of

JOBS = """from orth import Executor

app = Executor("told-app")

@app.job(schedule="0 25 * * *")
def wrong() -> None: ...

@app.job(schedule="AT 2001-01-01")
def past() -> None: ...

@app.job(schedule="0 0 2 * * ?")
def right() -> None: ...
"""
SMALL = ("--port", "0", "--coordinators", "1", "--executors", "1")


def standing(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / ".orth" / "up.json").read_text())
    return found


@pytest.fixture
def detached(tmp_path: Path) -> Iterator[Path]:
    """A folder with an ``orth up`` in the background; it is ended in any case."""
    made = orth("up", "--detach", *SMALL, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    pid = int(str(standing(tmp_path)["pid"]))
    assert "agent-1" in made.stdout
    yield tmp_path
    if alive(pid):
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not alive(pid), what="the end of the background process")


def test_its_life(detached: Path) -> None:
    pid = int(str(standing(detached)["pid"]))
    processes = family(pid)

    shown = orth("ps", cwd=detached)
    assert shown.returncode == 0
    assert [line.split()[0] for line in shown.stdout.splitlines()] == [
        "RESOURCE", "registry", "coordinator-1", "agent-1", "console",
    ]  # fmt: skip
    rows = json.loads(orth("ps", "-o", "json", cwd=detached).stdout)
    assert {row["name"]: row["pid"] for row in rows} == standing(detached)["pids"]

    again = orth("up", *SMALL, cwd=detached)
    assert again.returncode == 0
    assert "runs here already" in again.stdout
    assert int(str(standing(detached)["pid"])) == pid

    lines = orth("logs", "coordinator-1", cwd=detached).stdout
    assert "coordinator-1 serves on" in lines
    assert "agent-1" not in {line.split(" ")[0] for line in lines.splitlines()}
    assert orth("logs", "nobody", cwd=detached).returncode == 3

    with subprocess.Popen(
        [sys.executable, "-m", "orth", "logs", "-f", "--tail", "0"],
        cwd=detached,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    ) as following:
        assert following.stdout is not None
        assert any("Success 200/200" in line for line in following.stdout)
        ended = orth("down", cwd=detached)
        assert (ended.returncode, ended.stdout) == (0, "all stopped\n")
        assert following.wait(20) == 0, "it ends with what it follows"
    assert left_of(processes) == []
    assert orth("ps", cwd=detached).returncode == 3
    assert orth("down", cwd=detached).returncode == 3
    assert "all stopped" in orth("logs", "up", cwd=detached).stdout, "lines stay"


def test_the_api_of_its_coordinators_stops_starts_and_restarts_its_processes(detached: Path) -> None:
    password = (detached / ".orth" / "admin-password").read_text().strip()
    api = Api(json.loads(orth("ps", "-o", "json", cwd=detached).stdout)[1]["address"], password)

    def agent() -> dict[str, object]:
        return next(one for one in api.call("GET", "/api/v1/processes")["items"] if one["name"] == "agent-1")

    first = standing(detached)["pids"]
    assert [one["here"] for one in api.call("GET", "/api/v1/processes")["items"]] == [False, True, False, False]
    api.call("POST", "/api/v1/processes/agent-1/stop")
    eventually(lambda: agent()["state"] == "Stopped", what="the stop")
    api.call("POST", "/api/v1/processes/agent-1/start")
    eventually(lambda: agent()["state"] in ("Idle", "Busy"), within=30, what="the start")
    api.call("POST", "/api/v1/processes/agent-1/restart")
    eventually(lambda: agent()["restarts"] == 2 and agent()["state"] in ("Idle", "Busy"), within=30, what="another")
    after = standing(detached)["pids"]
    assert isinstance(first, dict)
    assert isinstance(after, dict)
    assert {name for name in first if first[name] != after[name]} == {"agent-1"}


class Api:
    """The API of a coordinator, for its administrator."""

    def __init__(self, address: str, password: str) -> None:
        self._url = f"http://{address}"
        self._headers: dict[str, str] = {}
        signed_in = self.call("POST", "/api/v1/auth/login", {"username": "admin", "password": password})
        self._headers["Authorization"] = f"Bearer {signed_in['access_token']}"

    def call(self, method: str, path: str, body: object = None) -> Any:
        answer = urllib3.request(method, self._url + path, json=body, headers=self._headers, timeout=30, retries=False)
        assert answer.status < 300, answer.data
        return answer.json()


def test_it_is_ended_at_once(detached: Path) -> None:
    processes = family(int(str(standing(detached)["pid"])))
    assert orth("down", "--now", cwd=detached).returncode == 0
    assert left_of(processes) == []


def test_a_killed_one_leaves_nothing_and_the_folder_is_free(detached: Path) -> None:
    pid = int(str(standing(detached)["pid"]))
    processes = family(pid)
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: left_of(processes) == [], within=5, what="the end of its processes")
    assert orth("ps", cwd=detached).returncode == 3


def test_one_that_does_not_come_up_is_told(tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text("import a_module_that_is_not_there\n")
    failed = orth("up", "--detach", *SMALL, cwd=tmp_path)
    assert failed.returncode == 1
    lines = failed.stderr.splitlines()
    assert lines[0] == "agent-1 ended with exit code 1 before it was ready."
    assert f"a_module_that_is_not_there' ({tmp_path}/jobs.py:1)" in failed.stderr
    assert len(lines) < 9, "the reason, not the story of the stop"
    assert orth("ps", cwd=tmp_path).returncode == 3


def test_jobs_that_are_not_created_are_told(tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text(JOBS)
    try:
        made = orth("up", "--detach", *SMALL, cwd=tmp_path)
        assert made.returncode == 0, made.stderr
        told = made.stdout.splitlines()
        assert any(
            line.startswith(f"{tmp_path}/jobs.py:5: handler wrong has no schedule: '0 25 * * *'") for line in told
        )
        assert any(line.startswith("no job was created for past (AT 2001-01-01)") for line in told)
        assert "orth executor FILE --check" in made.stdout
        assert "right" not in made.stdout
    finally:
        orth("down", "--now", cwd=tmp_path)


def test_wrong_settings_are_told(tmp_path: Path) -> None:
    wrong = orth("up", "--detach", "--ephemeral", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "--ephemeral" in wrong.stderr


def test_of_two_at_once_one_says_that_the_other_runs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "orth", "up", "--detach", *SMALL]
    both = [
        subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    try:
        said = [one.communicate(timeout=90) for one in both]
        assert [one.returncode for one in both] == [0, 0], said
        joined = [b"runs here already" in out for out, _ in said]
        assert sorted(joined) == [False, True], said
        assert all(b"agent-1" in out for out, _ in said)
    finally:
        orth("down", "--now", cwd=tmp_path)
