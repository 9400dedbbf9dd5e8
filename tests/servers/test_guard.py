"""The guard as a program: what it does when its command ends, and when the one who started it does."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import guard
from tests.servers.processes import alive, wait_until


def start_guard(directory: Path, *command: str, ending: str = "SIGTERM") -> "subprocess.Popen[str]":
    directory.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, str(directory), "-", ending, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -KILL $$", 128 + 9)])
def test_it_passes_on_the_exit_code_and_leaves_the_directory(tmp_path: Path, script: str, code: int) -> None:
    with start_guard(tmp_path / "data", "sh", "-c", f"echo said; {script}") as process:
        assert process.wait(30) == code
    assert (tmp_path / "data/server.log").read_text() == "said\n"


def test_closing_its_input_ends_the_command_gently_and_removes_the_directory(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    script = f"trap 'echo ended > {trace}; exit 0' TERM; echo ready > {trace}; while :; do sleep 0.02; done"
    with start_guard(tmp_path / "data", "sh", "-c", script) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        wait_until(lambda: trace.exists() and trace.read_text() == "ready\n", "the command to run")
        process.stdin.close()
        assert process.wait(30) == 0
    assert trace.read_text() == "ended\n"
    assert not alive(pid)
    assert not (tmp_path / "data").exists()


def test_a_command_that_ignores_its_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_PATIENCE", 0.2)
    child = subprocess.Popen(
        ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.02; done"], stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    guard._end(child, signal.SIGTERM)
    assert child.returncode == -9
    child.stdout.close()


def test_a_command_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with start_guard(tmp_path / "data", "/no/such/program") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == ""
        assert process.wait(30) != 0


def test_the_command_keeps_its_temporary_files_to_itself(tmp_path: Path) -> None:
    with start_guard(tmp_path / "data", "sh", "-c", 'echo "$TMPDIR"; pwd') as process:
        assert process.wait(30) == 0
    assert (tmp_path / "data/server.log").read_text().splitlines() == [str(tmp_path / "data")] * 2
