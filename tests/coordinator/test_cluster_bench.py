"""The benchmark of a whole cluster runs, and none of its executions is lost or runs twice.

How soon and how cheaply is judged by ``make bench``, with the machine to itself.
"""

import re
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "bench" / "cluster.py"


def test_nothing_is_lost_or_doubled_while_coordinators_are_added() -> None:
    run = subprocess.run([sys.executable, str(PROGRAM), "--quick"], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "wrong" not in run.stdout
    once = [int(count) for count in re.findall(r"(\d+) executions, each ran and ended once", run.stdout)]
    assert once == [100, 20, 100, 20, 300], run.stdout
    timed = re.findall(r"'(\w+)' is in the database after .* of (\d+)", run.stdout)
    assert timed == [("runs", "100"), ("ended", "100")], run.stdout
