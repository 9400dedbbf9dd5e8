"""docs/running.md: its commands, run as they stand there, start two coordinators, an executor and a job."""

import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.walk.processes import free_port

PAGE = (Path(__file__).parents[2] / "docs/running.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def with_places(text: str, postgres_url: str) -> str:
    """The page's text with free ports and the database of this test."""
    for port in ("5080", "5081", "9999"):
        text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{PORTS[port]}")
    return text.replace("postgresql://orth@127.0.0.1:5432/orth", postgres_url)


PORTS = {port: free_port() for port in ("5080", "5081", "9999")}


def test_the_commands_of_the_page_start_a_cluster_that_runs_a_job(tmp_path: Path, postgres_url: str) -> None:
    [settings], [jobs] = blocks("toml"), blocks("python")
    settings = with_places(settings, postgres_url)
    assert tomllib.loads(settings)["store"]["url"] == postgres_url
    (tmp_path / "orth.toml").write_text(settings)
    (tmp_path / "jobs.py").write_text(jobs)
    script = with_places("set -e\n" + "".join(blocks("sh")), postgres_url)
    (tmp_path / "all.sh").write_text(script)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ORTH_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{clean['PATH']}"
    environment = {**clean, "PATH": path, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    with (tmp_path / "said").open("w+") as said:
        running = subprocess.Popen(
            ["bash", "all.sh"],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = running.wait(150)
        finally:
            os.killpg(running.pid, signal.SIGKILL)
        said.seek(0)
        told = said.read()
    assert code == 0, told
    assert "greet  [FIX_RATE 2s]" in told, told
    assert re.search(r"greet +Success 200/200", told), told
    assert re.search(r"Group +\d+ +shop-app", told), told
    assert told.count(" leader ") == 1, told
    assert told.count(" follower ") == 1, told
