"""How late handlers start, on PostgreSQL, with one coordinator and two executors: ``python bench/precision.py``.

Lateness is the start of the handler, which it takes itself, minus the instant the fire is due. Every fire must have
exactly one start, one execution and one decision in the ledger, and no job may start for anything else; otherwise the
run fails, whatever the figures. Exits with 1 then and when a bar is missed, with 2 when a bar could not be judged
because taskiq could not be measured; ``--no-reference`` does without that bar.

Three loads, each for ``--minutes`` (the bars are for 5): 1,000 jobs every second with their phases spread over the
second; 1,000 jobs every second, all due at the same instant; 10,000 jobs every 10 s, all due at the same instant. The
second is compared with taskiq's scheduler, worker and Redis, measured before it in the same run. Its intervals are
whole seconds, and its scheduler looks at every full second of the clock for what is due then; so its lateness is taken
as what has passed of the second when a task starts. One that is more than a second late counts for less that way.

Beside it stands, for both, the gap between two starts of a job minus the period: how unevenly they come, whatever they
were due. A scheduler that is late by the same span every time has none.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from _fires import Span, Stored, exit_code, wrong_fires
from _site import Site, site, wait_for
from _taskiq import NotMeasured, taskiq_starts
from sqlalchemy import func, select, update

from orth.coordinator.defining import define_group
from orth.coordinator.planning import schedule_of
from orth.domain.executions import Phase
from orth.domain.jobs import AddressType, Group, Job, RouteStrategy, ScheduleType
from orth.store.database import Connection
from orth.store.groups import list_groups
from orth.store.jobs import create_job
from orth.store.tables import executions, fires, jobs

_LEAD = 4_000
_SECOND = 1_000_000_000
_APP = "bench-app"


@dataclass(frozen=True, slots=True)
class Load:
    """So many jobs, each every ``period`` ms, spread over ``jitter`` ms; the bar is on a percentile, in ms."""

    name: str
    jobs: int
    period: int
    jitter: int
    percentile: float
    bar: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one load. ``wrong`` names what ``wrong_fires`` finds, and starts that were early."""

    lateness: list[float]
    gaps: list[float]
    wrong: list[str]

    def at(self, percentile: float) -> float:
        return at(self.lateness, percentile)


def at(values: list[float], percentile: float) -> float:
    """The value below which ``percentile`` percent lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percentile / 100))]


def measured(here: Site, load: Load, seconds: int) -> Figures:
    """Run a load and look at what became of every fire."""
    made = _define(here, load)
    began = -(-(time.time_ns() // 1_000_000 + _LEAD) // load.period) * load.period
    until = began + max(1, seconds * 1000 // load.period) * load.period
    defined = _start(here, made, began)
    wait_for("the time", lambda: time.time_ns() // 1_000_000 >= until, seconds + 120)
    wait_for("the last fire", lambda: _planned(here, until), 300)
    with here.db.engine.begin() as connection:
        connection.execute(update(jobs).values(trigger_status=0))
    wait_for("the last result", lambda: not _open(here), 300)
    return _figures(defined, Span(began, until, load.period), here.record(), _stored(here))


def _figures(defined: list[Job], span: Span, record: list[tuple[int, int, int]], stored: Stored) -> Figures:
    """Of the starts of these jobs: how late those of the span are, and what is wrong about any."""
    schedules = {job.id: schedule_of(job) for job in defined}
    starts = [one for one in record if one[0] in schedules]  # others are of another load
    late = [(fire, start, start / 1e6 - schedules[job].due_at(fire)) for job, fire, start in starts]
    by_job: dict[int, list[int]] = {}
    for job, fire, start in starts:
        if fire in span.fires():
            by_job.setdefault(job, []).append(start)
    wrong = list(wrong_fires(schedules, span, Counter((job, fire) for job, fire, _start in starts), stored))
    wrong += [f"started {-by:.3f} ms early" for _fire, _start, by in late if by < 0]
    return Figures([by for fire, _start, by in late if fire in span.fires()], gaps(by_job, span.period), wrong)


def _define(here: Site, load: Load) -> list[Job]:
    """Make the jobs, which takes its time, and start none."""
    now = time.time_ns() // 1_000_000

    def define(connection: Connection) -> list[Job]:
        known = {group.app_name: group.id for group in list_groups(connection, 0, 100)}
        group = known.get(_APP) or define_group(connection, Group(0, _APP, _APP, AddressType.AUTO, ()), now)
        made = []
        for number in range(load.jobs):
            job = Job(
                id=0,
                job_group=group,
                job_desc=f"{load.name} {number}",
                schedule_type=ScheduleType.FIX_RATE,
                schedule_conf=f"{load.period}ms",
                jitter=load.jitter,
                executor_handler="note",
                executor_route_strategy=RouteStrategy.CONSISTENT_HASH,  # a job's thread is kept where it is
            )
            made.append(replace(job, id=create_job(connection, job, now)))
        return made

    with here.db.engine.begin() as connection:
        return define(connection)


def _start(here: Site, made: list[Job], began: int) -> list[Job]:
    """Start all of them at once, the first fire being ``began``."""
    standing = {"trigger_next_time": began, "due_time": began}
    with here.db.engine.begin() as connection:
        mine = jobs.c.id.in_([job.id for job in made])
        connection.execute(update(jobs).where(mine).values(trigger_status=1, **standing))
    return [replace(job, trigger_status=True, **standing) for job in made]


def _planned(here: Site, until: int) -> bool:
    """Whether every fire before ``until`` is decided, however late that is."""
    with here.db.engine.begin() as connection:
        waiting = select(func.min(jobs.c.trigger_next_time)).where(jobs.c.trigger_status == 1)
        return int(connection.execute(waiting).scalar_one()) >= until


def _open(here: Site) -> int:
    with here.db.engine.begin() as connection:
        waiting = select(func.count()).select_from(executions).where(executions.c.phase != Phase.ENDED)
        return int(connection.execute(waiting).scalar_one())


def _stored(here: Site) -> Stored:
    with here.db.engine.begin() as connection:
        opened = connection.execute(select(executions.c.job_id, executions.c.schedule_time, executions.c.handle_code))
        codes: dict[tuple[int, int], list[int]] = {}
        for job, fire, code in opened:
            codes.setdefault((job, fire), []).append(code)
        ledger = connection.execute(select(fires.c.job_id, fires.c.fire_time, fires.c.decision, fires.c.reason))
        return Stored(codes, {(job, fire): (decision, reason) for job, fire, decision, reason in ledger})


def gaps(starts: Mapping[int, Iterable[int]], period: int) -> list[float]:
    """How far the gaps between two starts of a job (ns) are from its period, in ms."""
    pairs = (pair for mine in starts.values() for pair in pairwise(sorted(mine)))
    return [(later - earlier) / 1e6 - period for earlier, later in pairs]


def told(name: str, values: list[float]) -> str:
    if not values:
        return f"{name}: none"
    return f"{name}: p50 {at(values, 50):.1f}, p99 {at(values, 99):.1f}, max {max(values):.1f} ms of {len(values)}"


def reference(seconds: int) -> float | None:
    """The 99th percentile of the other side, or None where it cannot be measured."""
    try:
        starts = taskiq_starts(1000, seconds)
    except NotMeasured as reason:
        print(f"taskiq not measured: {reason}", flush=True)
        return None
    lateness = [start % _SECOND / 1e6 for mine in starts.values() for start in mine]
    print(told("taskiq, 1,000 at one instant", lateness), flush=True)
    print(told("  gap - period", gaps(starts, 1000)), flush=True)
    return at(lateness, 99)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--quick", action="store_true", help="two seconds and a twentieth of the jobs; no bars")
    parser.add_argument("--no-reference", action="store_true", help="without taskiq")
    parser.add_argument("--only", choices=("spread", "instant", "crowd"), action="append")
    chosen = parser.parse_args()
    seconds, part = (2, 20) if chosen.quick else (round(chosen.minutes * 60), 1)
    wanted = chosen.only or ["spread", "instant", "crowd"]
    compared = "instant" in wanted and not chosen.no_reference and not chosen.quick
    bar = reference(min(seconds, 60)) if compared else None
    loads = {
        "spread": Load("1,000/s, phases spread", 1000 // part, 1000, 999, 99, 100.0),
        "instant": Load("1,000 at one instant", 1000 // part, 1000, 0, 99, bar),
        "crowd": Load("10,000 at one instant", 10_000 // part, 1000 if chosen.quick else 10_000, 0, 100, 4000.0),
    }
    failed = False
    with site() as here:
        for key, load in loads.items():
            if key not in wanted:
                continue
            figures = measured(here, load, seconds)
            print(told(load.name, figures.lateness), flush=True)
            if not load.jitter:
                print(told("  gap - period", figures.gaps), flush=True)
            for line in figures.wrong[:10]:
                print(f"  wrong: {line}", flush=True)
            found = figures.at(load.percentile)
            missed = load.bar is not None and not chosen.quick and found > load.bar
            if missed:
                print(f"  bar missed: {found:.1f} ms, wanted at most {load.bar:.1f}", flush=True)
            failed = failed or missed or bool(figures.wrong)
    judged = bar is not None or not compared
    if not judged:
        print("not judged: 1,000 at one instant, for want of the figures of taskiq", flush=True)
    return exit_code(failed=failed, judged=judged)


if __name__ == "__main__":
    sys.exit(main())
