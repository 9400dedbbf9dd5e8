"""No-op executions through a real executor, beside taskiq draining a Redis stream.

Ours are accepted over HTTP, executed in the threads of their jobs, logged to a file each, journalled with fsync and
delivered to a coordinator; the clock runs from the first request to the last delivered result. The reference is one
taskiq worker on a Redis stream without results, from its first task to its last: it keeps neither log nor result. It
is installed into a private environment in the system's temporary folder at the first run; where that or Redis is
missing, the line says "not measured" and the bar is not judged. Exits with 1 when the bar is missed, and with 2 when it
was not judged::

    python bench/executor_run.py            # the bar as stated
    python bench/executor_run.py --quick    # few executions, the bar lowered to 50 %, for a busy machine
"""

import argparse
import statistics
import sys
import time

from _executor import ExecutorProcess, executor_process
from _taskiq import NotMeasured, taskiq_rate

TIMES_TASKIQ = 2.0
QUICK_TOLERANCE = 0.5
JOBS = 32
BATCH = 500
ROUNDS = 3
WARM_UP_ROUNDS = 6
NOT_JUDGED = 2


def warm_up(process: ExecutorProcess, count: int) -> None:
    """Run until it gets no faster: file systems make new files slowly where many were deleted a moment ago."""
    before, rate = 0.0, 1.0
    for _ in range(WARM_UP_ROUNDS):
        if rate < before * 1.1:
            return
        before, rate = rate, process.drain([process.trigger(1 + number % JOBS) for number in range(count)], BATCH)


def drain_rates(process: ExecutorProcess, count: int) -> tuple[float, float]:
    """Executions per second, in batches and one by one."""
    rates = []
    for _ in range(ROUNDS):
        triggers = [process.trigger(1 + number % JOBS) for number in range(count)]
        rates.append(process.drain(triggers, BATCH))
    single = process.drain([process.trigger(1 + number % JOBS) for number in range(count // 4)], 1)
    return statistics.median(rates), single


def latencies(process: ExecutorProcess, count: int) -> tuple[list[float], list[float]]:
    """Milliseconds until the answer, and until the result is delivered, of triggers sent one after the other."""
    answered, delivered = [], []
    for _ in range(count):
        trigger = process.trigger(1)
        log_id = int(str(trigger["logId"]))
        began = time.perf_counter()
        process.run(trigger)
        answered.append((time.perf_counter() - began) * 1000)
        process.coordinator.wait(lambda log_id=log_id: log_id in process.coordinator.arrived)
        delivered.append((process.coordinator.arrived[log_id] - began) * 1000)
    return answered, delivered


def idle_threads(process: ExecutorProcess, count: int) -> tuple[float, float]:
    """Kilobytes per idle job thread, and the share of a processor that all of them together take."""
    before = process.rss()
    process.drain([process.trigger(10_000 + number) for number in range(count)], BATCH)
    grown = process.rss() - before
    began, used = time.perf_counter(), process.processor_seconds()
    time.sleep(2.0)
    share = (process.processor_seconds() - used) / (time.perf_counter() - began)
    return grown / count / 1024, share


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def reference(count: int) -> float | None:
    try:
        return taskiq_rate(count)
    except NotMeasured as reason:
        print(f"{'taskiq, Redis stream':<44}not measured: {reason}")
        return None


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true", help="few executions, and the bar lowered to 50 %%")
    quick = arguments.parse_args().quick
    count, threads, bar = (1000, 200, TIMES_TASKIQ * QUICK_TOLERANCE) if quick else (10_000, 2000, TIMES_TASKIQ)
    taskiq = reference(count)
    with executor_process() as process:
        warm_up(process, count // 2)
        batched, single = drain_rates(process, count)
        answered, delivered = latencies(process, count // 10)
        memory, share = idle_threads(process, threads)
    if taskiq is not None:
        print(f"{'taskiq, Redis stream':<44}{taskiq:>9.0f} /s")
    print(f"{'orth, batches of ' + str(BATCH):<44}{batched:>9.0f} /s")
    print(f"{'orth, one by one':<44}{single:>9.0f} /s")
    for name, values in (("answered", answered), ("delivered", delivered)):
        middle, late = percentile(values, 0.5), percentile(values, 0.99)
        print(f"{'one trigger ' + name + ', p50 / p99':<44}{middle:>9.2f} / {late:.2f} ms")
    print(f"{'memory of an idle job thread':<44}{memory:>9.1f} kB")
    print(f"{f'processor time of {threads} idle job threads':<44}{share:>9.1%}")
    return judged(batched, taskiq, bar)


def judged(batched: float, taskiq: float | None, bar: float) -> int:
    """Say whether the bar is met; the exit code."""
    if taskiq is None:
        print(f"bar: {bar:g} times taskiq; not judged: there is nothing to compare with")
        return NOT_JUDGED
    met = batched >= bar * taskiq
    print(f"bar: {bar:g} times taskiq; reached: {batched / taskiq:.2f}{'' if met else '  MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
