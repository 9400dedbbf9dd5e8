"""Run as a program: an executor with many idle jobs, and what each costs. Prints one JSON object."""

import asyncio
import json
import os
import sys
import threading
import time
from pathlib import Path

from orth.executor.handlers import Handlers
from tests.executor.bench import Rig, request

TICKS = os.sysconf("SC_CLK_TCK")


def private_kib() -> int:
    rollup = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in rollup if line.startswith("Private_"))


def cpu_ticks() -> int:
    fields = Path("/proc/self/stat").read_text().rpartition(") ")[2].split()
    return int(fields[11]) + int(fields[12])


def start(ran: Rig, job_ids: range) -> None:
    for first in range(job_ids.start, job_ids.stop, 500):
        batch = range(first, min(first + 500, job_ids.stop))
        answers = ran.runtime.admission.run_all([request(job_id, "noop", job_id=job_id) for job_id in batch])
        assert all(answer.code == 200 for answer in answers), answers
        assert ran.runtime.join_idle(60)


def main(directory: Path, jobs: int, seconds: float) -> None:
    app = Handlers("rig-app")
    app.job("noop")(lambda: None)
    ran = Rig(app, directory)
    start(ran, range(1, 101))
    before = private_kib()
    start(ran, range(101, jobs + 1))
    threads = sum(thread.name.startswith("orth-job-") for thread in threading.enumerate())
    asyncio.run(ran.runtime.outbox.flush(30))
    memory = (private_kib() - before) / (jobs - 100)
    ticks = cpu_ticks()
    time.sleep(seconds)
    busy = (cpu_ticks() - ticks) / TICKS / seconds
    json.dump({"threads": threads, "kib": memory, "cpu": busy}, sys.stdout)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
