"""The executor's benchmarks run. What they measure is judged by ``make bench``, with the machine to itself."""

import os
import re
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench"


def test_the_benchmark_of_processes_runs_and_prints_its_table() -> None:
    run = subprocess.run(
        [sys.executable, str(BENCH / "executor_processes.py"), "--quick"], capture_output=True, text=True, timeout=150
    )
    assert run.returncode in (0, 1), run.stderr
    rates = [float(rate) for rate in re.findall(r"([\d.]+) /s(?: |$)", run.stdout, re.MULTILINE)]
    assert len(rates) == 5, run.stdout + run.stderr
    assert all(rate > 0 for rate in rates)
    assert "bars: " in run.stdout


def test_a_bar_without_its_reference_is_not_judged(tmp_path: Path) -> None:
    """Neither met nor missed: whoever reads only the exit code must not take it for met."""
    python_alone = {**os.environ, "PATH": str(tmp_path)}  # no Redis
    run = subprocess.run(
        [sys.executable, str(BENCH / "executor_run.py"), "--quick"],
        capture_output=True,
        text=True,
        timeout=150,
        env=python_alone,
    )
    assert run.returncode == 2, run.stdout + run.stderr
    assert "not measured: there is no redis-server" in run.stdout
    assert "not judged" in run.stdout
