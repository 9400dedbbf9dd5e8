"""A handler that writes a log of a given size, for the benchmark of large logs."""

from orth import Executor, JobContext

app = Executor("bench-flood")
LINE = "an ordinary line of a program that says what it does, neither short nor long"


@app.job("flood")
def flood(ctx: JobContext, megabytes: int = 10) -> str:
    """Write so many megabytes, and a needle shortly before the end."""
    stamp = 25  # what the log puts in front of each line
    count = 1_000_000 // (len(LINE) + 10 + stamp)
    for part in range(megabytes):
        if part == megabytes - 1:
            ctx.log("{}", "here is the needle")
        ctx.log("{}", "\n".join(f"{LINE} {part * count + number:09d}" for number in range(count)))
    return "written"
