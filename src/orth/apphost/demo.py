"""The jobs of the demo: one that greets, one that takes its time, one that fails now and then."""

import logging
import random
import threading

from orth import Executor, JobContext, JobFailed

log = logging.getLogger(__name__)
app = Executor("demo")


@app.job("demo.hello", schedule="*/3 * * * * ?")
def hello(ctx: JobContext, name: str = "world") -> str:
    """Greet somebody every three seconds."""
    log.info("hello %s, due at %s", name, ctx.schedule_time)
    return f"greeted {name}"


@app.job("demo.countdown", schedule="*/20 * * * * ?")
def countdown(start: int = 5) -> str:
    """Count down, a line a second."""
    for left in range(start, 0, -1):
        log.info("%d", left)
        threading.Event().wait(1)
    return "lift-off"


@app.job("demo.moody", schedule="*/15 * * * * ?")
def moody(failure_rate: float = 0.5) -> str:
    """Fail about every other time, on purpose."""
    if random.random() < failure_rate:
        raise JobFailed("not in the mood (this job fails on purpose)")
    return "in a good mood"
