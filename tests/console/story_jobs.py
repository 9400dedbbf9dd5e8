"""Jobs for the stories of the console: one of each ending, one that runs until it is ended, and a frequent one."""

import logging
import time
from pathlib import Path
from typing import Annotated

from orth import Executor, JobContext, Param

app = Executor("stories")


@app.job("greet")
def greet(ctx: JobContext) -> str:
    """Succeed at once."""
    ctx.log("{}", "hello")
    return "greeted"


@app.job("collect")
def collect(
    ctx: JobContext,
    supplier: Annotated[str, Param(help="Whose prices.")],
    pages: Annotated[int, Param(help="How many pages to read.", ge=1, le=100)] = 10,
    full: bool = False,
) -> str:
    """Collect the prices of one supplier."""
    logging.getLogger("prices").debug("asked %s for %d pages", supplier, pages)
    ctx.log("{}", f"{pages} pages of {supplier}, {'all' if full else 'new'} prices")
    return f"{pages} pages of {supplier}"


@app.job("stumble")
def stumble() -> str:
    """Fail with a message."""
    raise ValueError("the supplier sent no prices for 2026-01-30")


@app.job("ask")
def ask(ctx: JobContext, address: str) -> str:
    """Fail over an address, and link to it in the log."""
    ctx.log("{}", f"asked {address} for prices")
    raise ValueError(f"no answer from {address}")


@app.job("linger")
def linger(ctx: JobContext, until: str = "") -> str:
    """Run until a file appears or somebody ends it."""
    while not ctx.cancelled and not (until and Path(until).exists()):
        time.sleep(0.05)
    return "let go"


@app.job("chatter")
def chatter(ctx: JobContext, until: str = "") -> str:
    """Say how far it is until a file appears or somebody ends it, in its log and as progress."""
    said = 0
    while not ctx.cancelled and not (until and Path(until).exists()):
        said += 1
        logging.getLogger("stories.chatter").warning("said %s at %.3f", said, time.time())
        ctx.progress(said, 200, "talking")
        time.sleep(0.3)
    return f"said {said} times"


@app.job("flood")
def flood(ctx: JobContext, lines: int = 1_000_000) -> str:
    """Write a long log fast: an error in its middle and a needle near its end."""
    for begin in range(1, lines + 1, 10_000):
        texts = [f"INFO stories.flood: row {number} of the ledger was read" for number in range(begin, begin + 10_000)]
        if begin <= lines // 2 < begin + 10_000:
            texts[lines // 2 - begin] = "ERROR stories.flood: the ledger has no row in its middle"
        if begin <= lines - 10 < begin + 10_000:
            texts[lines - 10 - begin] = "INFO stories.flood: a needle in the haystack"
        ctx.log("{}", "\n".join(texts))
    return f"{lines} lines"


@app.job("mischief")
def mischief(ctx: JobContext) -> str:
    """Write what a careless viewer would obey."""
    ctx.log("{}", "\x1b[1;32mgreen and bold\x1b[0m, \x1b[41mon red\x1b[0m, \x1b[38;2;255;0;0mtrue red\x1b[0m")
    ctx.log("{}", "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>")
    ctx.log("{}", "\x1b]0;title\x07\x1b[2J\x1b[H and \u202egnp.exe")
    ctx.log("{}", "see https://example.org/report?id=7, or javascript:alert(1)")
    ctx.log("{}", "x" * 10_000_000)
    try:
        _deeper(5)
    except ValueError as error:
        ctx.log(error)
    ctx.log("{}", "\x1b[31mERROR\x1b[0m \x1b[2mstories.mischief\x1b[0m: that was \x1b[1mall\x1b[0m")
    return "all written"


def _deeper(left: int) -> None:
    if left == 0:
        raise ValueError("too deep")
    _deeper(left - 1)
