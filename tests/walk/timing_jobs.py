"""Handlers for tests that ask when something began: each leaves its execution, its fire and the instant it began."""

import os
import time
from pathlib import Path

from orth import Executor, JobContext

app = Executor("walk-tests")


def _note(ctx: JobContext) -> None:
    due = int(ctx.schedule_time.timestamp() * 1000) if ctx.schedule_time else 0
    line = f"{ctx.log_id} {due} {time.time_ns() // 1_000_000}\n".encode()
    handle = os.open(Path(os.environ["NOTES"]), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(handle, line)
    finally:
        os.close(handle)


@app.job("note")
def note(ctx: JobContext) -> str:
    """Leave a line and succeed."""
    _note(ctx)
    return "noted"


@app.job("hold")
def hold(ctx: JobContext) -> str:
    """Leave a line and go on when the test says so, by a file."""
    _note(ctx)
    deadline = time.monotonic() + 60
    while not Path(os.environ["GO_ON"]).exists():
        assert time.monotonic() < deadline, "nobody said that it may go on"
        time.sleep(0.02)
    return "went on"
