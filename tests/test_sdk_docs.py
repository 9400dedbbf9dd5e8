"""The page about writing jobs: every example of it is loaded and does what the page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "sdk.md"
EXAMPLES = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE.read_text(), re.DOTALL))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in EXAMPLES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ORTH_")}
    return subprocess.run([sys.executable, *words], cwd=folder, env=clean, capture_output=True, text=True, timeout=60)


def test_every_example_has_a_name() -> None:
    assert set(EXAMPLES) == {"jobs.py", "copying.py", "counting.py", "site.py", "test_jobs.py"}
    assert PAGE.read_text().count("```python") == len(EXAMPLES)


@pytest.mark.parametrize(
    ("words", "code", "last"),
    [
        (["jobs.py:collect_prices", "market=paris"], 0, "Success 200/200  3 symbols"),
        (["jobs.py:collectPrices", "market=nyse", 'symbols=["a"]'], 10, "Failed 200/500  no data for a"),
        (["copying.py:syncOrders", "batch=100"], 0, "Success 200/200  1000 rows"),
        (["copying.py:report"], 0, "Success 200/200  written"),
        (["site.py:refresh"], 0, "Success 200/200  refreshed"),
        (["counting.py:count", "step=3"], 0, "Success 200/200  3 so far"),
    ],
)
def test_the_examples_run(folder: Path, words: list[str], code: int, last: str) -> None:
    ran = run(folder, "-m", "orth", "run", *words)
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (code, last), ran.stderr


def test_the_commands_of_the_page_work(folder: Path) -> None:
    assert run(folder, "jobs.py", "list").stdout.startswith("collectPrices  [0 */5 * * * ? Europe/Paris] Fetch")
    assert len(run(folder, "jobs.py", "next", "collectPrices", "-n", "3").stdout.splitlines()) == 3


def test_the_tests_of_the_page_pass(folder: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "orth.testing.plugin", "-p", "no:cacheprovider", "test_jobs.py"],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "4 passed" in ran.stdout
