"""``orth up``: one command, a success within ten seconds, a clean stop."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.processes import free_port
from tests.walk.processes import HTTP, eventually

FIRST_SUCCESS_WITHIN = 10.0


class Up:
    """A running ``orth up`` with its output in a file."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.output = folder / "up.log"
        clean = {key: value for key, value in os.environ.items() if not key.startswith("ORTH_")}
        with self.output.open("w") as out:
            self.popen = subprocess.Popen(
                [sys.executable, "-m", "orth", "up", "--port", str(free_port()), *arguments],
                cwd=folder,
                env=clean,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def text(self) -> str:
        return self.output.read_text()


@contextmanager
def up(folder: Path, *arguments: str) -> Iterator[Up]:
    running = Up(folder, *arguments)
    try:
        yield running
    finally:
        if running.popen.poll() is None:
            running.popen.kill()
            running.popen.wait(10)


def children_of(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(word) for word in found.stdout.split()]


def test_up_shows_a_success_and_stops_cleanly(tmp_path: Path) -> None:
    began = time.monotonic()
    with up(tmp_path) as running:
        eventually(lambda: "Success 200/200" in running.text(), within=30, what="the first success")
        took = time.monotonic() - began
        assert took <= FIRST_SUCCESS_WITHIN, running.text()
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
        assert len(children) == 3
        running.popen.send_signal(signal.SIGINT)
        assert running.popen.wait(30) == 0
        assert running.text().splitlines()[-1].endswith("all stopped")
        assert password not in running.text()
        for child in children:
            assert not Path(f"/proc/{child}").exists()


def test_up_again_keeps_state_and_says_what_moved(tmp_path: Path) -> None:
    for _ in range(2):
        with up(tmp_path, "--executors", "1") as running:
            eventually(lambda: "ready after" in running.text(), what="ready")
            running.popen.send_signal(signal.SIGTERM)
            assert running.popen.wait(30) == 0
    assert "created job" not in running.text()


def test_a_child_that_dies_brings_the_rest_down(tmp_path: Path) -> None:
    with up(tmp_path, "--executors", "1", "--ephemeral") as running:
        eventually(lambda: "ready after" in running.text(), what="ready")
        victim = max(children_of(running.popen.pid))
        os.kill(victim, signal.SIGKILL)
        assert running.popen.wait(30) == 1
        assert "ended with exit code -9; stopping the others" in running.text()
        assert not (tmp_path / ".orth").exists()


def test_a_killed_up_leaves_nothing_behind(tmp_path: Path) -> None:
    with up(tmp_path, "--executors", "1") as running:
        eventually(lambda: "ready after" in running.text(), what="ready")
        children = children_of(running.popen.pid)
        running.popen.kill()
        running.popen.wait(10)
        eventually(
            lambda: not any(Path(f"/proc/{child}").exists() for child in children), what="the end of the children"
        )


def test_own_jobs_are_used_when_there_are_some(tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text(
        "from orth import Executor\n"
        'app = Executor("my-first-app")\n\n\n'
        '@app.job(schedule="* * * * * ?")\n'
        "def greet():\n"
        '    print("hello")\n'
    )
    with up(tmp_path, "--executors", "1") as running:
        eventually(lambda: re.search(r"greet  #\d+  Success 200/200", running.text()), what="a success of greet")
        assert "created job greet" in running.text()


def test_the_readme_shows_what_one_sees(tmp_path: Path) -> None:
    """Every line of the README's picture has its like in a real run, but for times, ports, folders and numbers."""
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    picture = readme.split("```text\n")[1].split("```")[0].splitlines()
    with up(tmp_path) as running:
        eventually(lambda: re.search(r"demo\.hello  #\d+  Success 200/200", running.text()), what="the first success")
        seen = {_shape(line) for line in running.text().splitlines()}
    assert [line for line in picture if _shape(line) not in seen] == []


def _shape(line: str) -> str:
    return re.sub(r"\d+", "0", re.sub(r"(sqlite:///)?(/[\w.-]+)+/\.orth", "FOLDER", line))
