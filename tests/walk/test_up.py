"""``orth up``: one command, a success within ten seconds, a clean stop."""

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import urllib3

from orth.apphost.drawing import frame
from orth.apphost.viewing import View
from tests.apphost.pictures import README_LINES, SHOWN
from tests.servers.processes import alive, free_port
from tests.walk.processes import HTTP, eventually

# Ten seconds of two cores, which other work takes from nobody, and half as much again for what shared caches cost.
PROCESSOR_TIME = 30.0
RESOURCES = 7  # registry, two coordinators, three executors, console


class Up:
    """A running ``orth up`` with its output in a file."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self.folder = folder
        self.output = folder / "up.txt"
        clean = {key: value for key, value in os.environ.items() if not key.startswith("ORTH_")}
        with self.output.open("w") as out:
            self.popen = subprocess.Popen(
                [sys.executable, "-m", "orth", "up", "--port", "0", *arguments],
                cwd=folder,
                env={**clean, **environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def text(self) -> str:
        return self.output.read_text()

    def is_ready(self) -> bool:
        return "ready after" in self.text()

    def pid_of(self, name: str) -> int:
        """The process of a resource, as the state file has it."""
        return int(json.loads((self.folder / ".orth" / "up.json").read_text())["pids"].get(name, 0))


@contextmanager
def up(folder: Path, *arguments: str, **environment: str) -> Iterator[Up]:
    running = Up(folder, *arguments, **environment)
    try:
        yield running
    finally:
        if running.popen.poll() is None:
            running.popen.kill()
            running.popen.wait(10)


def children_of(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(word) for word in found.stdout.split()]


def processor_time(pid: int) -> float:
    """Seconds a process has worked so far."""
    told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


SMALL = ("--executors", "1", "--coordinators", "1")
LEAN = {"ORTH_APPHOST__REGISTRY": "false", "ORTH_APPHOST__CONSOLE": "false"}


def test_up_shows_a_success_and_stops_cleanly(tmp_path: Path) -> None:
    with up(tmp_path) as running:
        eventually(lambda: "Success 200/200" in running.text() and running.is_ready(), within=60, what="a success")
        worked = sum(map(processor_time, [running.popen.pid, *children_of(running.popen.pid)]))
        assert worked <= PROCESSOR_TIME, running.text()
        url = re.search(r"API at (http://\S+),", running.text())
        assert url is not None
        password = (tmp_path / ".orth" / "admin-password").read_text().strip()
        assert (tmp_path / ".orth" / "admin-password").stat().st_mode & 0o077 == 0
        body = {"username": "admin", "password": password}
        token = HTTP.request("POST", f"{url.group(1)}/api/v1/auth/login", json=body).json()["access_token"]
        headers = {"Authorization": f"Bearer {token}"}
        listed = HTTP.request("GET", f"{url.group(1)}/api/v1/executions?status=success", headers=headers).json()
        assert listed["items"]
        children = children_of(running.popen.pid)
        assert len(children) == RESOURCES
        running.popen.send_signal(signal.SIGINT)
        assert running.popen.wait(30) == 0
        assert running.text().splitlines()[-1].endswith("all stopped")
        assert password not in running.text()
        for child in children:
            assert not Path(f"/proc/{child}").exists()


def test_up_prints_a_link_that_signs_in_once(tmp_path: Path) -> None:
    link = re.compile(r"once: (http://\S+)/\?t=(\S+)")
    with up(tmp_path, *SMALL, **LEAN) as running:
        eventually(lambda: link.search(running.text()), what="a link")
        found = link.search(running.text())
        assert found is not None
        console, token = found.groups()
        opened = [HTTP.request("POST", f"{console}/api/v1/auth/link", json={"token": token}) for _ in range(2)]
        assert [one.status for one in opened] == [200, 401]
        cookie = opened[0].headers["set-cookie"].partition(";")[0]
        assert HTTP.request("GET", f"{console}/api/v1/jobs", headers={"Cookie": cookie}).status == 200
        running.popen.send_signal(signal.SIGTERM)
        assert running.popen.wait(30) == 0


def test_up_again_keeps_state_and_says_what_moved(tmp_path: Path) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        for _ in range(2):
            with up(tmp_path, *SMALL, "--port", str(port), **LEAN) as running:
                eventually(running.is_ready, what="ready")
                running.popen.send_signal(signal.SIGTERM)
                assert running.popen.wait(30) == 0
    assert "created job" not in running.text()
    assert f"port {port} is taken, so coordinator-1 uses {port + 1}" in running.text()


def test_a_password_that_was_changed_stays_and_up_goes_on(tmp_path: Path) -> None:
    with up(tmp_path, *SMALL, **LEAN) as running:
        eventually(running.is_ready, within=60, what="readiness")
        given = (tmp_path / ".orth" / "admin-password").read_text().strip()
        url, token = signed_in(running, given)
        changed = {"old_password": given, "new_password": "as a person likes it"}
        answer = HTTP.request("POST", f"{url}/api/v1/auth/password", json=changed, headers=token)
        assert answer.status == 200, answer.data
        running.popen.send_signal(signal.SIGINT)
        assert running.popen.wait(30) == 0
    with up(tmp_path, *SMALL, **LEAN) as running:
        eventually(running.is_ready, within=60, what="readiness")
        assert "sign in as admin; the password is the one you chose" in running.text()
        url, token = signed_in(running, "as a person likes it")
        made = HTTP.request("GET", f"{url}/api/v1/tokens", headers=token).json()["items"]
        assert {(one["name"], one["created_by"]) for one in made} == {("orth up", "admin")}
        assert len(made) <= 2, "one of each run"


def signed_in(running: Up, password: str) -> tuple[str, dict[str, str]]:
    """Where its API is, and what shows that one is its administrator."""
    url = re.search(r"API at (http://\S+),", running.text())
    assert url is not None
    answer = HTTP.request("POST", f"{url.group(1)}/api/v1/auth/login", json={"username": "admin", "password": password})
    return url.group(1), {"Authorization": f"Bearer {answer.json()['access_token']}"}


def test_a_crashed_process_is_started_again(tmp_path: Path) -> None:
    with up(tmp_path, *SMALL, **LEAN) as running:
        eventually(running.is_ready, what="ready")
        victim = running.pid_of("agent-1")
        os.kill(victim, signal.SIGKILL)
        eventually(lambda: running.pid_of("agent-1") not in (0, victim), what="another process")
        text = running.text()
        assert "agent-1 ended with signal 9; it is started again in 1 s" in text
        before = text.count("Success 200/200")
        eventually(lambda: running.text().count("Success 200/200") > before, what="a success of the new one")
        assert running.popen.poll() is None


def test_one_that_does_not_get_ready_makes_the_exit_code_non_zero(tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text("import a_module_that_is_not_there\n")
    with up(tmp_path, *SMALL, **LEAN) as running:
        assert running.popen.wait(60) == 1
        assert "agent-1 ended with exit code 1 before it was ready." in running.text()
        assert "a_module_that_is_not_there" in running.text()
        assert running.text().splitlines()[-1].endswith("all stopped")
        assert not children_of(running.popen.pid)


def test_nothing_is_kept_of_an_ephemeral_one(tmp_path: Path) -> None:
    with up(tmp_path, *SMALL, "--ephemeral", **LEAN) as running:
        eventually(running.is_ready, what="ready")
        found = re.search(r"state in (/\S+)", running.text())
        assert found is not None
        assert Path(found.group(1)).exists()
        running.popen.send_signal(signal.SIGINT)
        assert running.popen.wait(30) == 0
        assert not Path(found.group(1)).exists()
        assert not (tmp_path / ".orth").exists()


def test_what_falls_due_while_all_stop_is_decided_after_the_next_start(tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text(
        "import time\n"
        "from orth import Executor\n"
        'app = Executor("busy")\n\n\n'
        '@app.job(schedule="* * * * * ?", block="CONCURRENT", concurrency=8)\n'
        "def work():\n"
        "    time.sleep(4)\n"
    )
    with up(tmp_path, *SMALL, **LEAN) as running:
        eventually(lambda: running.text().count("started: work") >= 3, what="some that run")
        running.popen.send_signal(signal.SIGINT)
        assert running.popen.wait(60) == 0, running.text()
        assert "no longer leads" in running.text()
    with closing(sqlite3.connect(tmp_path / ".orth" / "orth.db")) as store:
        ended = store.execute("SELECT trigger_code, handle_code, count(*) FROM orth_job_log GROUP BY 1, 2").fetchall()
    assert [codes for *codes, _count in ended] == [[200, 200]], (ended, running.text())


def test_a_second_ctrl_c_stops_at_once(tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text(
        "import time\n"
        "from orth import Executor\n"
        'app = Executor("sleepers")\n\n\n'
        '@app.job(schedule="* * * * * ?")\n'
        "def sleep():\n"
        '    print("sleeping", flush=True)\n'
        "    time.sleep(300)\n"
    )
    with up(tmp_path, *SMALL, **LEAN) as running:
        eventually(lambda: "sleep" in running.text() and "started: sleep" in running.text(), what="a sleeper")
        children = children_of(running.popen.pid)
        running.popen.send_signal(signal.SIGINT)
        eventually(lambda: "Ctrl+C again to stop at once" in running.text(), what="draining")
        began = time.monotonic()
        running.popen.send_signal(signal.SIGINT)
        assert running.popen.wait(20) == 1
        assert time.monotonic() - began < 5
        assert not any(alive(child) for child in children)


def test_a_killed_up_leaves_nothing_behind(tmp_path: Path) -> None:
    with up(tmp_path, *SMALL, **LEAN) as running:
        eventually(running.is_ready, what="ready")
        children = children_of(running.popen.pid)
        assert len(children) >= 2
        running.popen.kill()
        running.popen.wait(10)
        eventually(lambda: not any(alive(child) for child in children), within=5, what="the end of the children")


def test_one_killed_while_it_starts_leaves_nothing_behind(tmp_path: Path) -> None:
    with up(tmp_path) as running:
        children = eventually(lambda: children_of(running.popen.pid), what="a child")
        running.popen.kill()
        running.popen.wait(10)
        eventually(lambda: not any(alive(child) for child in children), within=5, what="the end of the children")


def test_own_jobs_are_used_when_there_are_some(tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text(
        "from orth import Executor\n"
        'app = Executor("my-first-app")\n\n\n'
        '@app.job(schedule="* * * * * ?")\n'
        "def greet():\n"
        '    print("hello")\n'
    )
    with up(tmp_path, *SMALL, **LEAN) as running:
        eventually(lambda: re.search(r"greet  #\d+  Success 200/200", running.text()), what="a success of greet")
        assert "created job greet" in running.text()


def test_one_wrong_schedule_stops_neither_the_cluster_nor_the_other_jobs(tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text(
        "from orth import Executor\n"
        'app = Executor("my-first-app")\n\n\n'
        '@app.job(schedule="0 25 * * *")\n'
        "def nightly(): ...\n\n\n"
        '@app.job(schedule="FIX_RATE 1s")\n'
        "def greet(): ...\n"
    )
    with up(tmp_path, *SMALL, **LEAN) as running:
        eventually(lambda: re.search(r"greet  #\d+  Success 200/200", running.text()), what="a success of greet")
        assert f"{tmp_path}/jobs.py:5: handler nightly has no schedule: '0 25 * * *': hour 25" in running.text()
        assert "created job greet (FIX_RATE 1s)" in running.text()
        running.popen.send_signal(signal.SIGINT)
        assert running.popen.wait(30) == 0


def test_a_topology_in_code_is_found(tmp_path: Path) -> None:
    (tmp_path / "work.py").write_text(
        "import os\n"
        "from orth import Executor\n"
        'app = Executor("coded")\n\n\n'
        '@app.job(schedule="* * * * * ?")\n'
        "def where():\n"
        '    return os.environ["TZ"]\n'
    )
    (tmp_path / "apphost.py").write_text(
        "from orth.apphost import AppHost\n\n"
        'host = AppHost("coded")\n'
        "coordinators = host.coordinators(1, port=0)\n"
        'host.agents(1, modules=["work"], port=0, name="worker").after(coordinators).env(TZ="Asia/Tokyo")\n'
        "host.run()\n"
    )
    with up(tmp_path) as running:
        eventually(lambda: re.search(r"where  #\d+  Success 200/200", running.text()), what="a success")
        assert "worker-1" in running.text()
        running.popen.send_signal(signal.SIGINT)
        assert running.popen.wait(30) == 0


def test_with_tls_everything_speaks_it(tmp_path: Path, installed: Callable[[str], Path]) -> None:
    installed("openssl")
    with up(tmp_path, *SMALL, "--tls") as running:
        eventually(
            lambda: (
                re.search(r"demo\.hello  #\d+  Success 200/200  \S+ s  https://", running.text()) and running.is_ready()
            ),
            what="a success over TLS",
        )
        assert "http://" not in running.text()
        found = re.search(r"API at (https://\S+),", running.text())
        assert found is not None
        ca = tmp_path / ".orth" / "tls" / "ca.pem"
        trusting = urllib3.PoolManager(retries=False, ca_certs=str(ca))
        assert trusting.request("GET", f"{found.group(1)}/health/ready").status == 200
        with pytest.raises(urllib3.exceptions.SSLError):
            urllib3.PoolManager(retries=False).request("GET", f"{found.group(1)}/health/ready")
        running.popen.send_signal(signal.SIGINT)
        assert running.popen.wait(30) == 0


def test_the_example_of_a_topology_in_code_is_one() -> None:
    """What the page and the example show is the same, and makes what it says."""
    root = Path(__file__).parents[2]
    example = (root / "examples" / "apphost.py").read_text()
    code = example[example.index("from orth.apphost") :]
    assert code in (root / "docs" / "up.md").read_text()


def test_the_readme_shows_what_one_sees() -> None:
    """The picture of the first screen is the one that is drawn."""
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    picture = readme.split("```text\n")[1].split("```")[0].rstrip("\n").split("\n")
    drawn = [line.plain.rstrip() for line in frame(SHOWN, View(chosen=1), README_LINES, 96, len(picture))]
    assert picture == drawn
