"""A handler that waits for a file before it goes on, so that executions stay open for as long as a test wants."""

import os
import time
from pathlib import Path

from orth import Executor, JobContext

app = Executor("gated-tests")


@app.job("gated")
def gated(ctx: JobContext) -> str:
    """Wait for the gate, then leave a line."""
    while not Path(os.environ["GATE"]).exists():
        time.sleep(0.2)  # hundreds of threads do
    with Path(os.environ["PASSED"]).open("a") as out:
        out.write(f"{ctx.log_id}\n")
    return "passed"
