"""A whole cluster: how soon what executors say is in the database, and what ownership costs as coordinators are added.

Real coordinators and executors on a private PostgreSQL and Redis, with the settings they come with. An execution that
did not run exactly once, or did not end as a success exactly once, fails the run, whatever the figures.

**ownership**: the same load on one coordinator, then two, then three, pushed to two executors: 300 executions/s of
50 ms, and 100/s of 5 s, for 30 s each. Printed is the CPU of all coordinators together, and of PostgreSQL, for each
execution, and its ratio to that of one coordinator. What they use when nothing happens is in it, and told beside it.

**status**: 10,000 executions are open on three executors of a queue, with three coordinators. Then, for 30 s, 100 end
each second and as many begin, so that 10,000 stay open, and each change is timed: from when the executor began the
execution, until its row says that it runs; from when the handler returned, until its row says how it ended. The
executor says so a little after either, so this is no shorter than the age of its word. A row says it when its
transaction commits, by PostgreSQL's own time of the commit.

    The bar: 99 of 100 changes are in the database within 1 s, for beginnings and for ends.

The executions are threads of the executors, 3,333 in each, and those of one job are at most 64: so there are many jobs.
Opening them is done here, directly in the database, and is part of PostgreSQL's figures.
"""

import argparse
import math
import secrets
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from _cluster_site import APP, QUEUE, Cluster, cluster
from _site import wait_for
from sqlalchemy import Float, cast, extract, func, literal_column, select

from orth.coordinator.defining import define, define_group
from orth.domain.executions import SUCCESS, Phase
from orth.domain.jobs import AddressType, BlockStrategy, Group, Job, RouteStrategy, TriggerCause
from orth.store.executions import Opening, open_executions
from orth.store.groups import list_groups
from orth.store.tables import executions

BAR = 1.0
_TOGETHER = 500
_AHEAD = 1.0
"""Seconds before its time that an execution is opened, as a planned one would be."""
_SLOT = 0.05
_OF_A_JOB = 64
_BOUND = 300.0
_COMMITTED = cast(extract("epoch", func.pg_xact_commit_timestamp(literal_column("orth_job_log.xmin"))), Float)


@dataclass(frozen=True, slots=True)
class Push:
    """A load for ``ownership``."""

    pace: int
    takes: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of everything that is measured."""

    coordinators: Sequence[int]
    pushes: Sequence[Push]
    idle: float
    warm: float
    """Seconds of load before what is measured of pushed executions; executors are new then."""
    executors: tuple[int, int]
    """Of pushed executions, and of the queue."""
    open: int
    pace: int
    seconds: float


FULL = Sizes((1, 2, 3), (Push(300, 0.05, 30.0), Push(100, 5.0, 30.0)), 10.0, 3.0, (2, 3), 10_000, 100, 30.0)
QUICK = Sizes((1, 2), (Push(100, 0.05, 1.0), Push(20, 2.5, 1.0)), 0.2, 0.0, (1, 2), 200, 50, 2.0)


class Load:
    """Jobs of one handler, and the executions that were opened of them. ``params`` are told by their numbers."""

    def __init__(self, here: Cluster, handler: str, jobs: int, queue: str = "") -> None:
        self.here = here
        self.handler = handler
        self.name = secrets.token_hex(4)
        self.opened = 0
        with here.db.engine.begin() as connection:
            now = _now()
            known = {group.app_name: group.id for group in list_groups(connection, 0, 100)}
            self._group = known.get(APP) or define_group(connection, Group(0, APP, APP, AddressType.AUTO, ()), now)
            self._jobs = [
                define(
                    connection,
                    Job(
                        id=0,
                        job_group=self._group,
                        job_desc=f"{handler} {number}",
                        executor_handler=handler,
                        executor_queue=queue,
                        executor_block_strategy=BlockStrategy.CONCURRENT,
                        executor_concurrency=_OF_A_JOB,
                        executor_route_strategy=RouteStrategy.CONSISTENT_HASH,
                    ),
                    now,
                    True,
                )
                for number in range(jobs)
            ]

    def open(self, params: Iterable[str], not_before: int | None = None) -> None:
        """Open one execution for each parameter, the jobs taking turns."""
        wanted = list(params)
        for first in range(0, len(wanted), _TOGETHER):
            some = enumerate(wanted[first : first + _TOGETHER], start=self.opened)
            openings = [self._opening(number, param, not_before) for number, param in some]
            with self.here.db.engine.begin() as connection:
                open_executions(connection, openings, _now())
            self.opened += len(openings)

    def _opening(self, number: int, param: str, not_before: int | None) -> Opening:
        return Opening(
            job_id=self._jobs[number % len(self._jobs)],
            job_group=self._group,
            job_version=1,
            cause=TriggerCause.MANUAL,
            trigger_key=f"{self.name}-{number}",
            schedule_time=None,
            executor_handler=self.handler,
            executor_param=param,
            retries_left=0,
            not_before=not_before,
        )

    def open_at_pace(self, params: Sequence[str], pace: int) -> None:
        """Open executions that begin at a steady pace, a moment ahead of their time; until the last has begun."""
        began, slot = time.time() + _AHEAD, max(1, round(pace * _SLOT))
        for first in range(0, len(params), slot):
            due = began + first / pace
            time.sleep(max(0.0, due - _AHEAD - time.time()))
            self.open(params[first : first + slot], round(due * 1000))
        time.sleep(max(0.0, began + len(params) / pace - time.time()))

    def count(self, phase: Phase) -> int:
        mine = executions.c.job_id.in_(self._jobs)
        with self.here.db.engine.begin() as connection:
            return int(connection.scalar(select(func.count()).where(mine, executions.c.phase == phase)) or 0)

    def ended(self) -> bool:
        return self.count(Phase.ENDED) >= self.opened

    def wrong(self) -> list[str]:
        """What did not run once, or has not ended once."""
        columns = executions.c.id, executions.c.handle_code, executions.c.reason_code, executions.c.late_code
        with self.here.db.engine.begin() as connection:
            rows = connection.execute(select(*columns).where(executions.c.job_id.in_(self._jobs))).all()
        starts, ends = self.here.record()
        found = [] if len(rows) == self.opened else [f"{len(rows)} executions of {self.opened} that were opened"]
        return found + [
            f"execution {row.id}: {len(starts.get(row.id, ()))} starts, {len(ends.get(row.id, ()))} ends, {row[1:]}"
            for row in rows
            if len(starts.get(row.id, ())) != 1
            or len(ends.get(row.id, ())) != 1
            or row.handle_code != SUCCESS
            or row.late_code is not None
        ]


class Commits:
    """When rows were first seen to be in a phase: the time of the commit, by execution."""

    def __init__(self, load: Load, phase: Phase) -> None:
        self._load = load
        self._phase = phase
        self._below = 0
        """All that were opened with a smaller id are known."""
        self.at: dict[int, float] = {}

    def look(self) -> int:
        """Add those that are new; how many are known."""
        columns = executions.c.id, _COMMITTED.label("committed")
        mine = executions.c.trigger_key.startswith(f"{self._load.name}-")
        wanted = select(*columns).where(executions.c.phase == self._phase, executions.c.id >= self._below, mine)
        with self._load.here.db.engine.begin() as connection:
            for row in connection.execute(wanted):
                self.at.setdefault(row.id, row.committed)
        self._below = self._below or min(self.at, default=0)
        while self._below in self.at:
            self._below += 1
        return len(self.at)


def _now() -> int:
    return time.time_ns() // 1_000_000


def _at(values: Sequence[float], percentile: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percentile / 100))]


def _judged(load: Load) -> bool:
    """Tell what is wrong; whether nothing is."""
    wrong = load.wrong()
    for line in wrong[:10]:
        print(f"  wrong: {line}", flush=True)
    if not wrong:
        print(f"  {load.opened:,} executions, each ran and ended once", flush=True)
    return not wrong


# --- ownership


def ownership(here: Cluster, sizes: Sizes) -> bool:
    """What each execution costs with one coordinator, and with more."""
    good = True
    alone: dict[Push, Counter[str]] = {}
    for count in sizes.coordinators:
        here.grow(count)
        with here.executing(sizes.executors[0]):
            if sizes.warm:
                good = _judged(_pushed(here, replace(sizes.pushes[0], seconds=sizes.warm))) and good
            before = here.burnt()
            time.sleep(sizes.idle)
            idle = here.burnt() - before
            at_rest = ", ".join(f"{kind} {idle[kind] / sizes.idle:.1%}" for kind in ("coordinators", "postgresql"))
            print(f"coordinators: {count}; at rest: {at_rest} of a core", flush=True)
            for push in sizes.pushes:
                before = here.burnt()
                load = _pushed(here, push)
                used = here.burnt() - before
                good = _judged(load) and good
                each = Counter({kind: seconds / load.opened for kind, seconds in used.items()})
                _tell_cost(count, each, alone.setdefault(push, each))
    return good


def _pushed(here: Cluster, push: Push) -> Load:
    """Executions of one length at a steady pace, until all have ended."""
    at_once = push.pace * push.takes
    load = Load(here, "pause", math.ceil(4 * at_once / _OF_A_JOB) + 8)
    began = time.monotonic()
    load.open_at_pace([f"{push.takes}"] * round(push.pace * push.seconds), push.pace)
    wait_for("the last result", load.ended, push.takes + _BOUND)
    late = time.monotonic() - began - push.seconds - push.takes - _AHEAD
    print(f"{push.pace}/s of {push.takes:g} s, the last result {max(0.0, late):.1f} s after its time:", flush=True)
    return load


def _tell_cost(count: int, each: Counter[str], alone: Counter[str]) -> None:
    told = ", ".join(
        f"{kind} {each[kind] * 1e3:.2f} ms ({each[kind] / max(alone[kind], 1e-9):.2f} of one's)"
        for kind in ("coordinators", "postgresql")
    )
    also = ", ".join(f"{kind} {each[kind] * 1e3:.2f} ms" for kind in ("executors", "redis"))
    print(f"  CPU of each with {count}: {told}; {also}", flush=True)


# --- status


def status(here: Cluster, sizes: Sizes, *, judge: bool) -> bool:
    """How soon beginnings and ends are in the database while very many executions are open."""
    here.grow(max(sizes.coordinators))
    with here.executing(sizes.executors[1], queue_places=sizes.open):
        load = Load(here, "gated", math.ceil(sizes.open / 50), QUEUE)
        began = time.monotonic()
        load.open(map(str, range(sizes.open)))
        wait_for("all to run", lambda: load.count(Phase.RUNNING) >= sizes.open, _BOUND)
        print(f"{sizes.open:,} run, {sizes.open / (time.monotonic() - began):,.0f}/s", flush=True)
        _rest(here, sizes)
        running, cpu = _change(here, load, sizes)
        changed = round(sizes.pace * sizes.seconds)
        here.open_gate(changed, max(200, sizes.open / 20))
        wait_for("the last result", load.ended, _BOUND)
        good = _judged(load)
    ended = Commits(load, Phase.ENDED)
    ended.look()
    began_at, ended_at = _said(here, load)
    newcomers, leavers = sorted(ended.at)[sizes.open :], sorted(ended.at)[:changed]
    ages = {
        "runs": [running.at[one] - began_at[one] for one in newcomers],
        "ended": [ended.at[one] - ended_at[one] for one in leavers],
    }
    each = ", ".join(f"{kind} {seconds / changed * 1e3:.2f} ms" for kind, seconds in cpu.items())
    print(f"  CPU of each of {changed:,}, begun and ended at {sizes.pace}/s: {each}", flush=True)
    within = [_within(word, values, judge) for word, values in ages.items()]
    return good and all(within)


def _rest(here: Cluster, sizes: Sizes) -> None:
    """What it costs that they are open."""
    time.sleep(min(5.0, 5 * sizes.idle))  # what has just begun is written down and has owners by then
    before = here.burnt()
    time.sleep(sizes.idle)
    used = ", ".join(f"{kind} {seconds / sizes.idle:.1%}" for kind, seconds in (here.burnt() - before).items())
    print(f"  at rest: {used} of a core", flush=True)


def _change(here: Cluster, load: Load, sizes: Sizes) -> tuple[Commits, Counter[str]]:
    """Let some end and as many begin; when those that began were in the database, and what it cost."""
    running = Commits(load, Phase.RUNNING)
    known = running.look()
    changed = round(sizes.pace * sizes.seconds)
    before = here.burnt()
    here.open_gate(0, sizes.pace, after=_AHEAD)
    load.open_at_pace([str(sizes.open + number) for number in range(changed)], sizes.pace)
    wait_for("those that began to be known", lambda: running.look() >= known + changed, _BOUND)
    return running, here.burnt() - before


def _said(here: Cluster, load: Load) -> tuple[dict[int, float], dict[int, float]]:
    """When the executor began each execution, by its result, and when its handler returned; s since 1970."""
    mine = executions.c.trigger_key.startswith(f"{load.name}-")
    with here.db.engine.begin() as connection:
        rows = connection.execute(select(executions.c.id, executions.c.start_time).where(mine)).all()
    _starts, ends = here.record()
    return {row.id: row.start_time / 1000 for row in rows}, {one: min(at) for one, at in ends.items()}


def _within(word: str, ages: Sequence[float], judge: bool) -> bool:
    found = _at(ages, 99)
    figures = f"p50 {_at(ages, 50) * 1e3:.0f}, p99 {found * 1e3:.0f}, max {max(ages) * 1e3:.0f} ms"
    print(f"  {word!r} is in the database after {figures}, of {len(ages):,}", flush=True)
    if not judge or found <= BAR:
        return True
    print(f"  bar missed: {found * 1e3:.0f} ms, wanted at most {BAR * 1e3:.0f}", flush=True)
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a few seconds and few executions; no bar")
    parser.add_argument("--only", choices=("ownership", "status"))
    parser.add_argument("--open", type=int, help="how many are open for `status`")
    parser.add_argument("--seconds", type=float, help="how long each load lasts")
    chosen = parser.parse_args()
    sizes = QUICK if chosen.quick else FULL
    sizes = replace(sizes, open=chosen.open or sizes.open)
    if chosen.seconds:
        pushes = [replace(push, seconds=chosen.seconds) for push in sizes.pushes]
        sizes = replace(sizes, seconds=chosen.seconds, pushes=pushes)
    with cluster() as here:
        good = [
            chosen.only == "status" or ownership(here, sizes),
            chosen.only == "ownership" or status(here, sizes, judge=not chosen.quick),
        ]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
