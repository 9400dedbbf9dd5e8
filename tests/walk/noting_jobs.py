"""Handlers for tests with real processes: each leaves a line in a file, so that what ran can be counted."""

import os
import time
from pathlib import Path

from orth import Executor, JobContext, JobFailed

app = Executor("walk-tests")


def _note(ctx: JobContext) -> None:
    due = int(ctx.schedule_time.timestamp() * 1000) if ctx.schedule_time else 0
    line = f"{ctx.log_id} {due}\n".encode()
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


@app.job("fail")
def fail(ctx: JobContext) -> None:
    """Leave a line and fail."""
    _note(ctx)
    raise JobFailed("failed as asked")


@app.job("slow")
def slow(ctx: JobContext, seconds: float = 5.0) -> str:
    """Leave a line and take a while."""
    _note(ctx)
    time.sleep(seconds)
    return "took a while"


@app.job("halfway")
def halfway(ctx: JobContext, seconds: float = 60.0) -> str:
    """Say how far it is, and take a while."""
    for done in range(2):
        ctx.progress(done, 4, "rows")
    ctx.progress(2, 4, "rows")
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ctx.checkpoint()
        time.sleep(0.05)
        ctx.progress(2, 4, "rows")
    return "got there"
