"""A large log in bounded memory, by the benchmark in its short form: 30 MB, which no process may keep."""

import re
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[3] / "bench" / "big_log.py"
MEMORY = 60.0
"""MB by which a process may grow: some pages on their way, twice what one takes as JSON and as text."""


def test_a_large_log_is_read_searched_and_streamed_in_bounded_memory() -> None:
    run = subprocess.run([sys.executable, str(PROGRAM), "--quick"], capture_output=True, text=True, timeout=170)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    grown = re.findall(r"(?:coordinator|executor) (-?[0-9]+) MB", run.stdout)
    assert len(grown) == 2, run.stdout + run.stderr
    assert max(map(float, grown)) <= MEMORY, run.stdout
    assert re.search(r"download +3[0-9] MB", run.stdout) or re.search(r"download +2[89] MB", run.stdout), run.stdout
