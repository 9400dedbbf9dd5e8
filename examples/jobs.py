"""A few jobs to try: ``python examples/jobs.py``, or ``orth executor examples/jobs.py``."""

import logging
import random
import time
from datetime import date
from typing import Annotated, Literal

from orth import Executor, JobContext, JobFailed, Param, Retry

log = logging.getLogger(__name__)
app = Executor("demo")


@app.job("hello", schedule="0/5 * * * * ?")
def hello(ctx: JobContext, name: str = "world") -> str:
    """Greet somebody every five seconds; the parameter is the name."""
    log.info("hello %s; due at %s", name, ctx.schedule_time or "no particular time")
    return f"greeted {name}"


@app.job("countdown")
def countdown(ctx: JobContext, start: Annotated[int, Param(ge=1, le=60)] = 10, pause: float = 0.5) -> str:
    """Count down slowly, so that there is a log to watch."""
    for left in ctx.track(range(start, 0, -1), desc="counted"):  # also a place to leave when it is cancelled
        print(f"{left} to go ({100 * (start - left) // start} %)")
        time.sleep(pause)
    return "lift-off"


@app.job("moody", schedule="0 * * * * ?", retry=Retry(attempts=2, delay="10s"))
async def moody(failure_rate: Annotated[float, Param(ge=0, le=1)] = 0.3) -> str:
    """Fail on purpose now and then, to see what failing looks like."""
    dice = random.random()
    log.info("rolled %.2f; below %.2f is bad luck", dice, failure_rate)
    if dice < failure_rate / 2:
        raise JobFailed("not in the mood today")
    if dice < failure_rate:
        raise ValueError("an unexpected kind of bad luck")
    return "all good"


@app.job("report", schedule="0 0 6 * * ?", timezone="Europe/Paris", timeout=600, block="discard")
def report(
    ctx: JobContext,
    market: Literal["paris", "shanghai", "new-york"] = "paris",
    since: date | None = None,
    symbols: Annotated[list[str] | None, Param(max_items=500, help="empty means all")] = None,
) -> str:
    """Pretend to report on a market, with typed parameters and a share for each shard."""
    mine = ctx.my_share(symbols or ["AIR", "BNP", "MC", "OR", "SAN", "TTE"])
    log.info("%s since %s, shard %d of %d", market, since or "the beginning", ctx.shard_index, ctx.shard_total)
    for symbol in mine:
        print(f"{symbol}: {sum(map(ord, symbol)) % 97} points")
    return f"{len(mine)} symbols of {market}"


if __name__ == "__main__":
    app.main()
