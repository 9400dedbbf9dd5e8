"""The benchmark of precision runs, and every fire of it has one start, one execution and one decision.

How late the starts are is judged by ``make bench``, with the machine to itself.
"""

import re
import subprocess
import sys
from pathlib import Path

from tests.servers.postgres import PostgresServer

PROGRAM = Path(__file__).parents[2] / "bench" / "precision.py"


def test_no_fire_is_missed_doubled_or_early(postgres_server: PostgresServer) -> None:
    assert postgres_server.running, "the benchmark starts one of its own; this only says that there is one to start"
    command = [sys.executable, str(PROGRAM), "--quick"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "wrong" not in run.stdout
    starts = [int(count) for count in re.findall(r"of (\d+) starts", run.stdout)]
    assert starts == [300, 300, 3000], run.stdout
