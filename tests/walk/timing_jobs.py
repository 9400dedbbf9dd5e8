"""Handlers for tests that ask when something began: each leaves its execution, its fire and the instant of its start."""

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


@app.job("slow")
def slow(ctx: JobContext, seconds: float) -> str:
    """Leave a line and take a while."""
    _note(ctx)
    time.sleep(seconds)
    return "took a while"
