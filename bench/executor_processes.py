"""Executions in processes of their own: handlers from the warm pool beside an interpreter for each run, and shell
scripts beside a bare ``subprocess``.

Handlers with ``isolation="process"`` are triggered in batches and run in worker processes that are kept ready; an
interpreter that is started for each run imports the same module and calls the same handler. Shell scripts are triggered
for one job, whose scripts run one after the other, and for four jobs side by side; the bare calls run one after the
other. The bar is on one job, which is like for like; four jobs show what an executor carries. All of it is measured in
turn, several times, and the medians are told. The clock runs from the first request to the last delivered result. Every
execution makes a log file, in a folder in which that takes no longer than usual (``_executor.place_for_files``). Exits
with 1 when a bar is missed::

    python bench/executor_processes.py            # the bars as stated
    python bench/executor_processes.py --quick    # few executions, bars lowered to 30 %, for a busy machine
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

from _executor import ExecutorProcess, executor_process

ISOLATED_PER_SECOND = 300.0
SHARE_OF_BARE = 0.6
QUICK_TOLERANCE = 0.3
JOBS = 4
BATCH = 100
ROUNDS = 5
SCRIPT = "#!/bin/sh\ntrue"  # the same shell as the bare call
BARE = "true"
SPAWNED = "import _noop_jobs; _noop_jobs.isolated()"
SPAWNS = 10
HERE = Path(__file__).parent


def isolated_rate(process: ExecutorProcess, count: int) -> float:
    return process.drain([process.trigger(1 + number % JOBS, "isolated") for number in range(count)], BATCH)


def spawned_rate(count: int) -> float:
    began = time.perf_counter()
    for _ in range(count):
        subprocess.run([sys.executable, "-c", SPAWNED], check=True, cwd=HERE)
    return count / (time.perf_counter() - began)


def script_rate(process: ExecutorProcess, count: int, jobs: int) -> float:
    source = {"glueType": "GLUE_SHELL", "glueSource": SCRIPT, "glueUpdatetime": 1}
    return process.drain([process.trigger(100 + number % jobs, "", **source) for number in range(count)], BATCH)


def bare_rate(count: int) -> float:
    began = time.perf_counter()
    for _ in range(count):
        subprocess.run(["sh", "-c", BARE], check=True)
    return count / (time.perf_counter() - began)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true", help="few executions, and bars lowered to 30 %%")
    quick = arguments.parse_args().quick
    count, tolerance = (100, QUICK_TOLERANCE) if quick else (1000, 1.0)
    with executor_process(ORTH_EXECUTOR__SCRIPTS="shell", ORTH_EXECUTOR__SCRIPTS_SHARE_USER="true") as process:
        isolated_rate(process, count // 4)  # warmed up, as the scripts
        script_rate(process, count // 10, JOBS)
        rounds = [
            (
                spawned_rate(max(3, count * SPAWNS // 1000)),
                isolated_rate(process, count),
                bare_rate(count // 4),
                script_rate(process, count // 4, 1),
                script_rate(process, count // 2, JOBS),
            )
            for _ in range(ROUNDS)
        ]
    spawned, isolated, bare, alone, scripts = (statistics.median(values) for values in zip(*rounds, strict=True))
    print(f"{'an interpreter for each run':<44}{spawned:>9.1f} /s")
    print(f"{'handlers in processes of the warm pool':<44}{isolated:>9.0f} /s   {isolated / spawned:.0f} times as many")
    print(f"{'bare subprocess.run of sh -c ' + BARE:<44}{bare:>9.0f} /s")
    print(f"{'shell scripts of one job':<44}{alone:>9.0f} /s   {alone / bare:.0%} of bare")
    print(f"{f'shell scripts of {JOBS} jobs':<44}{scripts:>9.0f} /s   {scripts / bare:.0%} of bare")
    bars = (isolated >= ISOLATED_PER_SECOND * tolerance, alone >= SHARE_OF_BARE * tolerance * bare)
    print(
        f"bars: {ISOLATED_PER_SECOND * tolerance:.0f} /s; {SHARE_OF_BARE * tolerance:.0%} of bare, "
        f"reached {alone / bare:.0%}; missed: {bars.count(False)}"
    )
    return 0 if all(bars) else 1


if __name__ == "__main__":
    sys.exit(main())
