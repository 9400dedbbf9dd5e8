"""Handlers that leave a line on the disk before they return, so that what ran is known whatever else is lost."""

import os
import time

from orth import Executor, JobContext

app = Executor("walk-tests")


@app.job("witness")
def witness(ctx: JobContext, seconds: float = 0.0) -> str:
    """Write down the id, force it to the disk, and say so."""
    time.sleep(seconds)
    handle = os.open(os.environ["NOTES"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(handle, f"{ctx.log_id}\n".encode())
        os.fsync(handle)
    finally:
        os.close(handle)
    return f"witnessed {ctx.log_id}"
