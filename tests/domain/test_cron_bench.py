import subprocess
import sys
from pathlib import Path


def test_the_search_is_faster_than_the_libraries_it_is_measured_by() -> None:
    program = Path(__file__).parents[2] / "bench" / "cron_next.py"
    run = subprocess.run([sys.executable, str(program), "--quick"], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.rstrip().endswith("missed: 0")
    assert len(run.stdout.splitlines()) == 12
