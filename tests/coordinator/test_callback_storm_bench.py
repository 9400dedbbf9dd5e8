"""The benchmark of result storms runs and prints its figures. They are judged by ``make bench``, with the machine to
itself.
"""

import re
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "bench" / "callback_storm.py"


def test_two_thousand_results_are_stored_and_counted_while_a_job_goes_on() -> None:
    run = subprocess.run([sys.executable, str(PROGRAM), "--quick"], capture_output=True, text=True, timeout=150)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    assert re.search(r"stored / counted +2000 / 2000", run.stdout), run.stdout + run.stderr
    late = re.search(r"([0-9]+) dispatches meanwhile late by, p50 / most +([0-9.]+) / ([0-9.]+) s", run.stdout)
    assert late is not None, run.stdout + run.stderr
    assert int(late[1]) >= 3
    assert "bars: " in run.stdout
