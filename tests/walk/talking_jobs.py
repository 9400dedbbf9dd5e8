"""A handler that writes lines and says in each when it was written."""

import time

from orth import Executor, JobContext

app = Executor("walk-tests")


@app.job("talk")
def talk(ctx: JobContext, lines: int = 100, pause: float = 0.05) -> str:
    """Write lines at a pace."""
    for number in range(lines):
        ctx.log("{}", f"written {time.time_ns()} {number}")
        time.sleep(pause)
    return "said it all"
