"""A handler that leaves on the disk when each execution began and ended, and in which process."""

import os
import time

from orth import Executor, JobContext

app = Executor("walk-tests")


def _note(ctx: JobContext, what: str) -> None:
    line = f"{what} {ctx.job_id} {ctx.shard_index} {ctx.log_id} {os.getpid()} {time.time_ns() // 1_000}\n"
    handle = os.open(os.environ["NOTES"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(handle, line.encode())
    finally:
        os.close(handle)


def _note_end(ctx: JobContext, stubborn: float) -> None:
    """Whoever ends the execution raises in it again and again, so this may take more than one try."""
    until = time.monotonic() + stubborn
    while True:
        try:
            time.sleep(max(0.0, until - time.monotonic()))
            return _note(ctx, "ended")
        except BaseException:
            continue


@app.job("span")
def span(ctx: JobContext, seconds: float = 0.5, stubborn: float = 0.0) -> str:
    """Take a while; when it is ended, so many seconds more."""
    _note(ctx, "began")
    try:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(0.01)
    except BaseException:
        _note_end(ctx, stubborn)
        raise
    _note_end(ctx, 0.0)
    return "done"
