"""The pytest plugin, used by a pytest of its own."""

import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

TESTS = """
from orth import JobContext


def greet(ctx: JobContext, name: str = "world") -> str:
    return f"hello {name} at {ctx.trigger_time:%Y-%m-%d %H:%M}"


def test_run(orth_run):
    assert orth_run(greet, name="Ann").message.startswith("hello Ann at 20")


def test_clock(orth_run, orth_clock):
    assert orth_run(greet).message == "hello world at 2026-01-30 10:00"
    orth_clock.move(3600)
    assert orth_run(greet).message == "hello world at 2026-01-30 11:00"
"""


def test_the_fixtures_work(tmp_path: Path) -> None:
    (tmp_path / "test_jobs.py").write_text(TESTS)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "orth.testing.plugin", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "2 passed" in ran.stdout


def test_the_package_announces_the_plugin() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    plugin = import_module(project["entry-points"]["pytest11"]["orth"])
    assert {"orth_run", "orth_clock"} <= set(vars(plugin))


def test_loading_the_plugin_loads_little() -> None:
    heavy = ("pydantic", "orth.executor")
    code = f"import sys, orth.testing.plugin; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
