"""Executions on queue transport: how soon a result is stored, and what ownership costs as coordinators are added.

Real coordinators, with PostgreSQL and Redis. Executors of queues take everything that is offered and keep it open;
then results come at a steady pace, and the time until each is acknowledged is measured: it is stored by then. The CPU
is that of all coordinators together, and exits with 1 when the bar is missed::

    python bench/queues.py                  # 10,000 open executions, with 1, 2 and 3 coordinators
    python bench/queues.py --quick          # a tenth of them, with 1 and 3
"""

import argparse
import asyncio
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.coordinator.queue_site import APP, NAMES, TOKEN, Worker
from tests.servers.postgres import PostgresServer
from tests.servers.processes import free_port
from tests.servers.redis import RedisServer
from tests.walk.processes import Site

from orth.channels.interface import START, Channels
from orth.channels.opening import open_channels
from orth.clock import SystemClock
from orth.coordinator.defining import define, define_group
from orth.domain.jobs import AddressType, Group, Job, Overlap, TriggerCause
from orth.events import Events
from orth.store.database import Database, open_database
from orth.store.executions import Opening, open_executions
from orth.store.migrating import upgrade
from orth.wire.channel_messages import Dispatch

PACE = 200
BAR = 1.0
TOGETHER = 10
CLOCK = SystemClock()


def burnt(pids: list[int]) -> float:
    """Seconds of CPU that these processes have used."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def coordinators(folder: Path, store: str, channels: str, count: int) -> Iterator[list[int]]:
    usual = {"ORTH_SECURITY__ACCESS_TOKEN": TOKEN, "ORTH_CLUSTER__LEASE": "30s", "ORTH_CLUSTER__LEASE_RENEW": "10s"}
    with Site(folder, store, ORTH_CHANNELS__URL=channels, **usual) as site:
        running = [
            site.coordinator(f"node-{one}", port=free_port(), ORTH_COORDINATOR__DATA_DIR=str(folder / f"node-{one}"))
            for one in range(count)
        ]
        yield [process.popen.pid for process in running]


async def open_all(db: Database, count: int) -> None:
    now = CLOCK.now()
    group = await db.tx(define_group, Group(0, APP, APP, AddressType.AUTO, ()), now)
    job = Job(
        id=0, job_group=group, job_desc="queued", executor_handler="work", executor_queue="a", overlap=Overlap.EXECUTOR
    )
    job_id = await db.tx(define, job, now, True)
    run = secrets.token_hex(4)
    for first in range(0, count, 500):
        openings = [
            Opening(
                job_id=job_id,
                job_group=group,
                job_version=1,
                cause=TriggerCause.MANUAL,
                trigger_key=f"{run}-{number}",
                schedule_time=None,
                executor_handler="work",
                executor_param="",
                retries_left=0,
            )
            for number in range(first, min(first + 500, count))
        ]
        await db.tx(open_executions, openings, now)


async def take_all(worker: Worker, count: int) -> list[Dispatch]:
    taken: list[Dispatch] = []
    while len(taken) < count:
        some = await worker.take(30.0, limit=200)
        assert some, "nothing more is offered"
        for dispatch in some:
            await worker.accept(dispatch)
        taken += some
    return taken


async def finish_all(worker: Worker, taken: list[Dispatch]) -> list[float]:
    """Report everything at a steady pace; how long each result took to be acknowledged, in seconds."""
    sent: dict[int, float] = {}
    ages: list[float] = []
    box = NAMES.acknowledged(worker.incarnation)

    async def hear() -> None:
        position = START
        while len(ages) < len(taken):
            entries = (await worker.channels.read({box: position}, limit=500)).get(box, [])
            now = time.monotonic()
            for entry in entries:
                ages.append(now - sent[entry.message["executionId"]])
                position = entry.position
            await asyncio.sleep(0.01)

    hearing = asyncio.create_task(hear())
    began = time.monotonic()
    for first in range(0, len(taken), TOGETHER):
        await asyncio.sleep(max(0.0, began + first / PACE - time.monotonic()))
        for dispatch in taken[first : first + TOGETHER]:
            sent[dispatch.execution_id] = time.monotonic()
            await worker.log(dispatch, 1, "a line of a log as long as they usually are: 4711", end=True)
            await worker.finish(dispatch)
    async with asyncio.timeout(60):
        await hearing
    return sorted(ages)


async def measure(channels: Channels, db: Database, pids: list[int], count: int) -> bool:
    async with Worker(channels) as worker:
        before, began = burnt(pids), time.monotonic()
        await open_all(db, count)
        taken = await take_all(worker, count)
        offering, took = burnt(pids) - before, time.monotonic() - began
        await asyncio.sleep(5)  # what is long enough has owners by then
        idle, quiet = burnt(pids), 10.0
        await asyncio.sleep(quiet)
        before = burnt(pids)
        ages = await finish_all(worker, taken)
        ending = burnt(pids) - before
    middle, late = (ages[int(len(ages) * part)] * 1000 for part in (0.5, 0.99))
    print(
        f"{len(pids)} coordinators, {count:,} open: offered and taken at {count / took:,.0f}/s with "
        f"{offering / count * 1e3:.2f} ms of CPU each; idle {(before - idle) / quiet:.0%} of a core; results at "
        f"{PACE}/s stored after p50 {middle:.0f} ms, p99 {late:.0f} ms with {ending / count * 1e3:.2f} ms of CPU each"
    )
    return late <= BAR * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the executions")
    quick = parser.parse_args().quick
    good = []
    with RedisServer() as redis, PostgresServer() as postgres:
        for nodes in (1, 3) if quick else (1, 2, 3):
            store, url = postgres.create_database(), redis.create_database()
            upgrade(store)
            with (
                tempfile.TemporaryDirectory() as folder,
                coordinators(Path(folder), store, url, nodes) as pids,
                open_database(store, size=4) as db,
            ):

                async def run(store: str = url, db: Database = db, pids: list[int] = pids) -> bool:
                    channels = open_channels(store, db, CLOCK, Events())
                    try:
                        return await measure(channels, db, pids, 1_000 if quick else 10_000)
                    finally:
                        await channels.close()

                good.append(asyncio.run(run()))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
