"""The handler of ``precision``: writes down when it started, and nothing else."""

import os
import time

from orth import Executor, JobContext

app = Executor("bench-app")
_record = os.open(os.environ["BENCH_RECORD"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


@app.job("note")
def note(ctx: JobContext) -> None:
    """Append job, fire and start to the record."""
    started = time.time_ns()
    fire = 0 if ctx.schedule_time is None else round(ctx.schedule_time.timestamp() * 1000)
    os.write(_record, b"%d %d %d\n" % (ctx.job_id, fire, started))
