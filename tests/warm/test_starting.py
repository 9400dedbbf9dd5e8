"""What is started through the companion is as good as started from nothing."""

import os
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from orth.version import __version__
from tests.cli.running import environment, orth, orth_from_nothing
from tests.servers.processes import alive, free_port
from tests.walk.processes import PASSWORD, Site
from tests.warm.starting import run, start

COMMANDS = [["--version"], ["config", "view"], ["sever"], ["server", "--roles", "cook"], ["executor", "nothing.py"]]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_it_says_and_returns_what_it_does_from_nothing(command: list[str], tmp_path: Path) -> None:
    warm, cold = (how(*command, cwd=tmp_path, ORTH_LOGS__RETENTION="3d") for how in (orth, orth_from_nothing))
    assert (warm.returncode, warm.stdout, warm.stderr) == (cold.returncode, cold.stdout, cold.stderr)
    assert warm.stdout or warm.stderr


def shown_node(folder: Path, **environ: str) -> str:
    shown = run(["config", "view"], environment(**environ), folder, within=60).stdout
    (line,) = (line for line in shown.splitlines() if line.startswith("coordinator.node_id "))
    return line.split()[1]


def test_each_has_its_own_folder_and_environment_and_leaves_ours_alone(tmp_path: Path) -> None:
    before = (os.getcwd(), dict(os.environ))
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "orth.toml").write_text(f'[coordinator]\nnode_id = "{name}"\n')
    assert [shown_node(tmp_path / name) for name in ("one", "two", "one")] == ["one", "two", "one"]
    assert shown_node(tmp_path / "one", ORTH_COORDINATOR__NODE_ID="three") == "three"
    assert (os.getcwd(), dict(os.environ)) == before


def test_its_end_is_known_whoever_ends_it(tmp_path: Path) -> None:
    with Site(tmp_path) as site:
        first = site.coordinator()
        assert first.popen.poll() is None
        os.kill(first.popen.pid, signal.SIGKILL)
        assert first.popen.wait(30) == first.popen.returncode == -signal.SIGKILL
        assert not alive(first.popen.pid)
        second = site.coordinator()
        assert site.api().call("POST", "/api/v1/auth/login", {"username": "admin", "password": PASSWORD})
        assert second.end() == 0


def test_who_waits_is_told_when_it_takes_too_long(tmp_path: Path) -> None:
    listen = {"ORTH_COORDINATOR__LISTEN": f"127.0.0.1:{free_port()}"}
    with tempfile.TemporaryFile() as out:
        running = start(["server"], environment(**listen), tmp_path, stdout=out, stderr=out)
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                running.wait(0.01)
        finally:
            running.kill()
        assert running.wait(30) == -signal.SIGKILL


def test_an_interpreter_that_is_to_be_special_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="PYTHONHASHSEED"):
        orth("--version", cwd=tmp_path, PYTHONHASHSEED="1")
    assert __version__ in orth("--version", cwd=tmp_path).stdout
