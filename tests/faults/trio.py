"""Three coordinators on one database and executors, for tests that lose one of them while jobs fire.

Starting them costs most of such a test, so tests of a module may share them: ``mend`` makes them whole again, and what
is looked at afterwards are the jobs, the executions and the words since then.
"""

import asyncio
import re
import signal
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from orth.coordinator.defining import define, define_group, start_job, stop_job
from orth.domain.jobs import AddressType, Group, Job, MisfireStrategy, Overlap, ScheduleType
from orth.store.database import open_database
from orth.store.groups import find_group
from orth.store.record_tables import log_archives
from orth.store.tables import executions, fires
from orth.testing.stores import prepare_store
from tests.servers.processes import free_port
from tests.walk.processes import Api, Process, Site, eventually

JOBS = Path(__file__).parent.parent / "walk" / "noting_jobs.py"
STEP = 1000
NAMES = ("node-1", "node-2", "node-3")


class Trio:
    """Three coordinators, executors that know them all, and jobs that fire every second."""

    def __init__(self, folder: Path, url: str, *, executors: int = 1, **settings: str) -> None:
        self.url = url
        self._executors = executors
        self.notes = folder / "notes"
        self.site = Site(folder, url, NOTES=str(self.notes), **settings)
        self.ports = {name: free_port() for name in NAMES}
        self.nodes: dict[str, Process] = {}
        self.job_ids: list[int] = []
        self.mended_at = 0.0
        self.stopped_at = 0

    def __enter__(self) -> "Trio":
        prepare_store(self.url)
        self.site.__enter__()
        try:
            self.start(*NAMES)
            known = ",".join(f"http://127.0.0.1:{port}" for port in self.ports.values())
            for number in range(1, self._executors + 1):
                self.site.executor(JOBS, f"executor-{number}", ORTH_EXECUTOR__COORDINATORS=known)
        except BaseException:
            self.site.__exit__()
            raise
        return self

    def __exit__(self, *_exc: object) -> None:
        self.site.__exit__()

    def start(self, *names: str) -> None:
        """Start coordinators, again; at the same time, for each takes seconds."""
        for name in names:
            self._begin(name)
        for name in names:
            self._ready(name)

    def mend(self) -> None:
        """Bring back whoever an earlier test has ended or frozen, and wait until all know each other."""
        for process in self.nodes.values():
            if process.alive():
                process.popen.send_signal(signal.SIGCONT)
        self.start(*(name for name, process in self.nodes.items() if not process.alive()))
        self.all_beat()
        self.mended_at = time.time()
        self.job_ids = []

    def said(self, name: str, sentence: str) -> list[float]:
        """When a coordinator has said something that fits ``sentence`` since all were whole."""
        return [at for at in told_at(self.nodes[name], sentence) if at >= self.mended_at]

    def _begin(self, name: str) -> None:
        own = {"ORTH_COORDINATOR__DATA_DIR": str(self.site.folder / name)}
        self.nodes[name] = self.site.coordinator(name, port=self.ports[name], ready=False, **own)

    def _ready(self, name: str) -> None:
        process, url = self.nodes[name], f"http://127.0.0.1:{self.ports[name]}/health/ready"
        eventually(lambda: Site.answers(process, url), within=90, what=f"{name} ready")

    def api(self, name: str) -> Api:
        return Api(f"http://127.0.0.1:{self.ports[name]}")

    def others(self, name: str) -> list[str]:
        return [other for other in NAMES if other != name]

    def leader(self, *, but: str = "", asking: str = "") -> str:
        """Who leads, as one of them says; somebody other than ``but``."""
        api = self.api(asking or next(name for name in NAMES if name != but))

        def leads() -> str:
            found = api.call("GET", "/api/v1/cluster")["leader"]
            return "" if found == but else str(found or "")

        return eventually(leads, what="a leader")

    def all_beat(self, names: Sequence[str] = NAMES) -> None:
        """Wait until each of these is known to be there."""
        api = self.api(names[0])

        def active() -> bool:
            found = api.call("GET", "/api/v1/cluster")["nodes"]
            return {one["id"] for one in found if one["state"] == "active"} >= set(names)

        eventually(active, what="every coordinator in the list")

    # --- jobs

    def fire_every_second(self, count: int, *, queue: str = "") -> None:
        """Define and start jobs that all fire at every full second; each fire counts, however late."""
        self.job_ids = asyncio.run(self._with_store(_define, count, queue))
        self.runs(count)

    def runs(self, more: int, *, within: float = 30.0) -> None:
        """Wait for so many more runs."""
        wanted = len(self.noted()) + more
        eventually(lambda: len(self.noted()) >= wanted, within=within, what=f"{more} more runs")

    def stop(self) -> None:
        """Stop the jobs, and wait for the end of every execution."""
        self.stopped_at = round(time.time() * 1000)
        asyncio.run(self._stop_each())
        eventually(lambda: self.executions(open_ones=True) == [], what="the end of every execution")

    def noted(self) -> list[int]:
        """The ids of all executions that ran, as the handler wrote them down."""
        lines = self.notes.read_text().splitlines(keepends=True) if self.notes.exists() else []
        return [int(line.split()[0]) for line in lines if line.endswith("\n")]

    def executions(self, *, open_ones: bool = False) -> list[Any]:
        wanted = select(executions).where(executions.c.job_id.in_(self.job_ids))
        return asyncio.run(
            self._with_store(_rows, wanted.where(executions.c.phase != "ended") if open_ones else wanted)
        )

    def check_fires(self) -> None:
        """Until the jobs were stopped no fire is missing and each ran; ever, none has two executions or ran twice."""
        due = fires.c.fire_time <= self.stopped_at, fires.c.job_id.in_(self.job_ids)
        ledger = asyncio.run(
            self._with_store(_rows, select(fires).where(*due).order_by(fires.c.job_id, fires.c.fire_time))
        )
        assert {entry.job_id for entry in ledger} == set(self.job_ids), "a job has not fired at all"
        for job_id, entries in groupby(ledger, key=lambda entry: entry.job_id):
            for earlier, later in pairwise(entries):
                assert later.fire_time == earlier.last_time + STEP, f"job {job_id}: a hole, {earlier} to {later}"
        rows, ran = self.executions(), Counter(self.noted())
        per_fire = Counter((one.job_id, one.schedule_time) for one in rows)
        assert [fire for fire, count in per_fire.items() if count > 1] == [], "a fire has two executions"
        assert [one for one, count in ran.items() if count > 1] == [], "an execution ran twice"
        planned = {(entry.job_id, entry.fire_time) for entry in ledger if entry.decision == "run"}
        skipped = [entry for entry in ledger if entry.decision != "run" and "job was stopped" not in entry.reason]
        assert not skipped, f"each of these was to run: {skipped}"
        assert planned == {fire for fire in per_fire if fire[1] <= self.stopped_at}, "executions and ledger disagree"
        idle = [one for one in rows if one.id not in ran and one.schedule_time <= self.stopped_at]
        assert not idle, f"they did not run: {idle}"

    def logs_are_whole(self, *, within: float = 60.0) -> None:
        """Wait until the log of everything that ran is archived, from its first line to its last."""
        kept = select(log_archives.c.execution_id).where(log_archives.c.complete == 1)
        lacking = select(executions.c.id).where(executions.c.job_id.in_(self.job_ids), executions.c.id.not_in(kept))

        def without() -> set[int]:
            return {row.id for row in asyncio.run(self._with_store(_rows, lacking))} & set(self.noted())

        eventually(lambda: not without(), within=within, what="a whole log of every execution")

    def worst_gap(self) -> float:
        """The longest time, in seconds, in which no execution started."""
        starts = sorted(one.start_time for one in self.executions() if one.start_time)
        return max((later - earlier for earlier, later in pairwise(starts)), default=0) / 1000

    def worst_delay(self) -> float:
        """The longest time, in seconds, from when an execution was due to its start."""
        return max(one.start_time - one.schedule_time for one in self.executions() if one.start_time) / 1000

    async def _stop_each(self) -> None:
        with open_database(self.url, size=4, patience=60) as db:
            await asyncio.gather(*(db.tx(stop_job, one, round(time.time() * 1000)) for one in self.job_ids))

    async def _with_store(self, work: Any, *arguments: Any) -> Any:
        with open_database(self.url, size=1, patience=60) as db:
            return await db.tx(work, *arguments)


def told_at(process: Process, sentence: str) -> list[float]:
    """When a process said something that fits ``sentence``, in seconds since 1970."""
    lines = (line for line in process.text().splitlines() if re.search(sentence, line))
    return [datetime.strptime(line[:23], "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC).timestamp() for line in lines]


def _define(connection: Connection, count: int, queue: str) -> list[int]:
    now = round(time.time() * 1000)
    known = find_group(connection, "walk-tests")
    group = Group(0, "walk-tests", "walk-tests", AddressType.AUTO, ())
    group_id = known.id if known else define_group(connection, group, now)
    ids: list[int] = []
    for number in range(count):
        job = Job(
            id=0,
            job_group=group_id,
            job_desc=f"note {number}",
            schedule_type=ScheduleType.CRON,
            schedule_conf="* * * * * ?",
            misfire_strategy=MisfireStrategy.FIRE_ALL,
            executor_handler="note",
            executor_queue=queue,
            overlap=Overlap.EXECUTOR,  # these tests are about loss; what waits for other fires ends late
        )
        ids.append(define(connection, job, now, True))
        start_job(connection, ids[-1], now)
    return ids


def _rows(connection: Connection, query: Any) -> list[Any]:
    return list(connection.execute(query))
