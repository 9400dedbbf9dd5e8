"""The benchmark of signatures runs and prints its table."""

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench" / "signatures.py"


def test_the_benchmark_runs() -> None:
    done = subprocess.run([sys.executable, str(BENCH), "--quick"], capture_output=True, text=True, timeout=240)
    assert "500 triggers at once" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("signed") == 4
