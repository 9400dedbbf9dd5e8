"""The benchmark of the registry runs and prints its figures. They are judged by ``make bench``, with the machine to
itself.
"""

import re
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "bench" / "registry.py"


def test_a_thousand_executors_are_accepted_and_those_that_go_are_noticed() -> None:
    run = subprocess.run([sys.executable, str(PROGRAM), "--quick"], capture_output=True, text=True, timeout=150)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    assert "1000 executors" in run.stdout
    took = re.findall(r"(?:out of the list|out of routing) after +([0-9.]+) s", run.stdout)
    assert len(took) == 2, run.stdout + run.stderr
    assert "bars: " in run.stdout
