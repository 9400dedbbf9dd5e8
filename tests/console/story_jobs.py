"""Jobs for the stories of the console: one of each ending, one that runs until it is ended, and a frequent one."""

import time
from pathlib import Path

from orth import Executor, JobContext

app = Executor("stories")


@app.job("greet")
def greet(ctx: JobContext) -> str:
    """Succeed at once."""
    ctx.log("{}", "hello")
    return "greeted"


@app.job("stumble")
def stumble() -> str:
    """Fail with a message."""
    raise ValueError("the supplier sent no prices for 2026-01-30")


@app.job("linger")
def linger(ctx: JobContext, until: str = "") -> str:
    """Run until a file appears or somebody ends it."""
    while not ctx.cancelled and not (until and Path(until).exists()):
        time.sleep(0.05)
    return "let go"
