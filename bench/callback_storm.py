"""A storm of results: a hundred thousand executions that executors have end at once, on PostgreSQL.

The executions are written as if they had been dispatched before. Results are delivered over several connections, in
batches, with their report keys and the client of our executors; each must be acknowledged, stored and counted.
Meanwhile a job fires every second on a real executor: its dispatch delay is the start of the handler, minus the instant
it was due. Memory is that of the coordinator: before, at its peak, and a while after. Exits with 1 when a bar is
missed::

    python bench/callback_storm.py              # 100,000 results
    python bench/callback_storm.py --quick      # 2,000
"""

import argparse
import asyncio
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from _site import TOKEN, Site, wait_for
from pydantic import SecretStr
from sqlalchemy import func, select, text, update
from tests.servers.postgres import PostgresServer

from orth.coordinator.defining import define_group
from orth.coordinator.first_start import signing_secret
from orth.coordinator.sealing import sealing_of
from orth.domain.executions import OUTCOMES, SUCCESS, Phase, Status
from orth.domain.jobs import AddressType, Group, Job, ScheduleType, TriggerCause
from orth.errors import Unavailable
from orth.executor.outbox import BATCH_COUNT
from orth.settings import Settings
from orth.settings.sections import SecuritySection
from orth.store.database import Connection
from orth.store.executions import Opening, open_executions
from orth.store.jobs import create_job
from orth.store.migrating import upgrade
from orth.store.statistics import Span, counts_by_status
from orth.store.tables import executions, jobs
from orth.wire.coordinator_calls import CoordinatorCalls
from orth.wire.messages import CallbackItem, Verdict
from orth.wire.report_keys import ReportKeys

CONNECTIONS = 8
JOBS = 200
AT_ONCE = 5_000
SENT_AGAIN_AFTER = 0.5
DELAYED_AT_MOST = 2.0
GREW_AT_MOST = 300.0
"""Megabytes: a request holds one batch, and only so many are under way."""
MESSAGE = "done: 1,234 rows written, 5 skipped, nothing left to do for this part of the region"
HOLDER = "http://127.0.0.1:9"


@dataclass(frozen=True, slots=True)
class Figures:
    """What came of a storm."""

    seconds: float
    verdicts: Counter[Verdict | None]
    batch_seconds: list[float]
    memory: tuple[float, float, float]
    delays: list[float]


class Memory(threading.Thread):
    """Watches the resident memory of a process, in megabytes."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self.before = self.peak = resident(pid)
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(0.05):
            self.peak = max(self.peak, resident(self._pid))

    def end(self) -> tuple[float, float, float]:
        """Before, at the peak, and now."""
        self._over.set()
        self.join()
        return self.before, self.peak, resident(self._pid)


def resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def now_ms() -> int:
    return time.time_ns() // 1_000_000


Open = tuple[int, str]
"""An execution that waits for its result: its id and its report key."""


def report_keys(site: Site) -> ReportKeys:
    """Those of the coordinator: what it shares with others is sealed with a key made from the access token."""
    settings = Settings(security=SecuritySection(access_token=SecretStr(TOKEN)))
    sealing = sealing_of(settings, Path("/nonexistent"))
    return ReportKeys(asyncio.run(signing_secret(site.db, sealing, now_ms())))


def write_open(connection: Connection, count: int, now: int, keys_of: ReportKeys) -> list[Open]:
    """Executions of some jobs that an executor has."""
    group = define_group(connection, Group(0, "storm", "storm", AddressType.MANUAL, (HOLDER,)), now)
    job = Job(id=0, job_group=group, job_desc="storm", executor_handler="storm")
    made = [create_job(connection, replace(job, job_desc=f"storm {number}"), now) for number in range(JOBS)]
    for first in range(0, count, AT_ONCE):
        keys = range(first, min(count, first + AT_ONCE))
        open_executions(connection, [_opening(group, made[key % JOBS], key) for key in keys], now)
    taken = {"phase": Phase.DISPATCHED, "trigger_code": SUCCESS, "executor_address": HOLDER}
    connection.execute(update(executions).values(**taken, epoch=1, keyed_epoch=1))
    ids = connection.scalars(select(executions.c.id).order_by(executions.c.id))
    return [(one, keys_of.key_of(one, now)) for one in ids]


def _opening(group: int, job: int, key: int) -> Opening:
    return Opening(
        job_id=job,
        job_group=group,
        job_version=1,
        cause=TriggerCause.API,
        trigger_key=f"key:{key}",
        schedule_time=None,
        executor_handler="storm",
        executor_param="",
        retries_left=0,
    )


def every_second(connection: Connection, now: int) -> None:
    """Define the job whose dispatch is measured."""
    group = define_group(connection, Group(0, "bench-app", "bench-app", AddressType.AUTO, ()), now)
    job = Job(
        id=0,
        job_group=group,
        job_desc="every second",
        executor_handler="note",
        schedule_type=ScheduleType.FIX_RATE,
        schedule_conf="1",
        trigger_status=True,
        trigger_next_time=now + 1000,
        due_time=now + 1000,
    )
    create_job(connection, job, now)


def deliver(port: int, ids: Sequence[Open], took: list[float]) -> Counter[Verdict | None]:
    """Report that these have succeeded, as the outbox of an executor does: a batch, its answer, the next. One that is
    not answered within the time our executors give it is sent again, and counted as None.
    """
    link = CoordinatorCalls([f"http://127.0.0.1:{port}"], TOKEN)
    verdicts: Counter[Verdict | None] = Counter()
    for first in range(0, len(ids), BATCH_COUNT):
        items = [
            CallbackItem(log_id=one, log_date_time=now_ms(), handle_code=SUCCESS, handle_msg=MESSAGE, report_key=key)
            for one, key in ids[first : first + BATCH_COUNT]
        ]
        while True:
            began = time.perf_counter()
            try:
                answers = link.call_back(items)
            except Unavailable:
                verdicts[None] += 1
                time.sleep(SENT_AGAIN_AFTER)
                continue
            took.append(time.perf_counter() - began)
            verdicts.update(answer.verdict for answer in answers)
            break
    link.close()
    return verdicts


def storm(site: Site, pid: int, ids: Sequence[Open], calm: float) -> Figures:
    """Deliver everything, with ``calm`` seconds before and after."""
    first = now_ms()
    time.sleep(calm)
    memory, took = Memory(pid), list[float]()
    memory.start()
    began = time.perf_counter()
    with ThreadPoolExecutor(CONNECTIONS) as senders:
        # Dealt out in turns, so that every batch has executions of many jobs, and neighbours end side by side.
        shares = [ids[number::CONNECTIONS] for number in range(CONNECTIONS)]
        answers = senders.map(lambda share: deliver(site.port, share, took), shares)
        verdicts = sum(answers, Counter[Verdict | None]())
    seconds = time.perf_counter() - began
    time.sleep(calm)
    return Figures(seconds, verdicts, sorted(took), memory.end(), delays(site, first, now_ms()))


def delays(site: Site, first: int, last: int) -> list[float]:
    """How late the job started that fires every second, for each of its fires in a span; longest last."""
    fires = range(first // 1000 * 1000 + 1000, last, 1000)
    deadline = time.monotonic() + 30
    while True:
        started = {fire: start / 1e9 - fire / 1e3 for _job, fire, start in site.record()}
        if all(fire in started for fire in fires) or time.monotonic() > deadline:
            return sorted(started.get(fire, float("inf")) for fire in fires)
        time.sleep(0.1)


def stored(site: Site) -> tuple[int, int]:
    """How many successes of the storm are stored, and how many are counted in the statistics."""
    with site.db.engine.begin() as connection:
        group = connection.execute(select(jobs.c.job_group).where(jobs.c.executor_handler == "storm").limit(1))
        storm_group = group.scalar_one()
        success = executions.c.outcome == OUTCOMES[Status.SUCCESS]
        rows = select(func.count()).where(executions.c.job_group == storm_group, success)
        counted = counts_by_status(connection, Span(since=0, until=10**14, job_group=storm_group))
        return int(connection.execute(rows).scalar_one()), counted[Status.SUCCESS].executions


@contextmanager
def coordinator() -> Iterator[tuple[Site, int]]:
    """A coordinator and one executor on PostgreSQL. Fires are planned when they are due: nothing is sent ahead."""
    with ExitStack() as stack:
        url = stack.enter_context(PostgresServer(durable=True)).create_database()
        upgrade(url)
        site = Site(Path(stack.enter_context(tempfile.TemporaryDirectory())), url)
        stack.callback(site.db.close)
        process = site.start("coordinator", site.port, ["server"], ORTH_COORDINATOR__PLAN_AHEAD="0s")
        stack.callback(process.wait, 60)
        stack.callback(process.terminate)
        executor = site.executor(1)
        stack.callback(executor.wait, 60)
        stack.callback(executor.terminate)
        yield site, process.pid


def told(figures: Figures, count: int, kept: tuple[int, int]) -> bool:
    """Print everything; whether every bar was kept."""
    before, peak, after = figures.memory
    late, took = figures.delays, figures.batch_seconds
    line("absorbed", f"{figures.seconds:.1f} s, {count / figures.seconds:.0f} results/s")
    line("a batch answered, p50 / most", f"{took[len(took) // 2] * 1e3:.0f} / {took[-1] * 1e3:.0f} ms")
    sent_again = figures.verdicts.pop(None, 0)
    said = ", ".join(f"{number} {verdict}" for verdict, number in figures.verdicts.items())
    line("acknowledged", f"{said}; {sent_again} batches sent again")
    line("stored / counted", f"{kept[0]} / {kept[1]}")
    line("memory of the coordinator", f"{before:.0f} MB before, {peak:.0f} MB at most, {after:.0f} MB after")
    line(f"{len(late)} dispatches meanwhile late by, p50 / most", f"{late[len(late) // 2]:.3f} / {late[-1]:.3f} s")
    return (
        kept == (count, count)
        and figures.verdicts.keys() <= ({Verdict.STORED, Verdict.DUPLICATE} if sent_again else {Verdict.STORED})
        and late[-1] <= DELAYED_AT_MOST
        and peak - before <= GREW_AT_MOST
    )


def line(what: str, figure: str) -> None:
    print(f"  {what:<50}{figure}", flush=True)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--results", type=int, default=100_000)
    arguments.add_argument("--quick", action="store_true", help="2,000 results")
    given = arguments.parse_args()
    count, calm = (2_000, 2.0) if given.quick else (given.results, 5.0)
    with coordinator() as (site, pid):
        keys = report_keys(site)
        with site.db.engine.begin() as connection:
            ids = write_open(connection, count, now_ms(), keys)
            every_second(connection, now_ms() // 1000 * 1000)
        with site.db.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("ANALYZE"))
        wait_for("the first start", site.record)
        print(
            f"{count} results over {CONNECTIONS} connections, {BATCH_COUNT} at a time; "
            f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors",
            flush=True,
        )
        kept = told(storm(site, pid, ids, calm), count, stored(site))
    print(
        f"bars: all stored, dispatches late by at most {DELAYED_AT_MOST:g} s, at most {GREW_AT_MOST:g} MB more memory"
        f"{'' if kept else '  MISSED'}"
    )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
