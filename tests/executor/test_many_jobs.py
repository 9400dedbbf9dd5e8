"""Five thousand jobs on one executor: each has its thread, and an idle thread costs next to nothing."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
JOBS = 5_000
WATCHED = 3.0


def test_five_thousand_idle_jobs_are_cheap(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.executor.idle_jobs", str(tmp_path), str(JOBS), str(WATCHED)]
    measured = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=180).stdout)
    assert measured["threads"] == JOBS
    assert measured["kib"] < 40, "private memory per idle job"
    assert measured["cpu"] < 0.05, "of one core, all of them idle"
