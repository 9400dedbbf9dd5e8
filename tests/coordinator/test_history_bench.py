"""The benchmark of long histories runs and prints its figures. They are judged by ``make bench``, with the machine to
itself.
"""

import re
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "bench" / "history.py"


def test_a_small_history_is_written_asked_about_and_worked_beside() -> None:
    run = subprocess.run([sys.executable, str(PROGRAM), "--quick"], capture_output=True, text=True, timeout=150)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    assert "50000 executions" in run.stdout
    ratios = re.findall(r"(planning|finishing): [0-9]+/s without, [0-9]+/s with the history", run.stdout)
    assert ratios == ["planning", "finishing"], run.stdout + run.stderr
    found = dict(re.findall(r"^  ([a-z][^0-9\n]*?) +[0-9.]+ +[0-9.]+ +([0-9]+)", run.stdout, re.MULTILINE))
    assert (found["newest"], found["of a group that stopped"], found["pending (none)"]) == ("50", "50", "0")
    assert "bars: " in run.stdout
