"""Where the machine of endings runs: two groups, six jobs, a term; and a look at what ends have left."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, select

from orth.domain import reasons
from orth.domain.alarms import SignKind
from orth.domain.executions import Status
from orth.domain.jobs import AddressType, Group, Job, MisfireStrategy, Overlap, RouteStrategy, ScheduleType
from orth.store.all_tables import metadata
from orth.store.dispatching import doubt_earlier_dispatches
from orth.store.groups import create_group
from orth.store.jobs import create_job
from orth.store.leases import Term, read_lease, take_lease
from orth.store.record_tables import alarms, dead_letters
from orth.store.registry import Beat, record_beats
from orth.store.statistics import Span, counts_by_status
from orth.store.tables import broadcasts, executions, jobs, notes
from orth.wire.messages import Extension

OURS = ("http://10.0.0.1:9999", "http://10.0.0.2:9999")
FOREIGN = ("http://10.0.1.1:9999", "http://10.0.1.2:9999")
DELAY = 3
"""Seconds."""

Rows = Mapping[int, Any]


@dataclass(frozen=True)
class Found:
    """What the tables hold because executions have ended."""

    letters: Counter[int]
    failures: Counter[int]
    recoveries: Counter[int]
    late: Counter[int]
    left: Counter[int]
    """Notes about children that were not started, by job."""
    statistics: dict[Status, int]
    broadcasts: set[int]
    delay: int


def read_found(connection: Connection, delayed: int) -> Found:
    signs = connection.execute(select(alarms.c.execution_id, alarms.c.kind)).all()
    written = connection.execute(select(notes.c.execution_id, notes.c.code)).all()
    job_of = {row.id: row.job_id for row in connection.execute(select(executions.c.id, executions.c.job_id))}
    counts = counts_by_status(connection, Span(since=0, until=10**14))
    return Found(
        Counter(connection.scalars(select(dead_letters.c.execution_id))),
        Counter(sign.execution_id for sign in signs if sign.kind == SignKind.FAILURE),
        Counter(sign.execution_id for sign in signs if sign.kind == SignKind.RESOLVED),
        Counter(note.execution_id for note in written if note.code == reasons.LATE_RESULT),
        Counter(job_of[note.execution_id] for note in written if note.code == reasons.CHILDREN_NOT_STARTED),
        {status: total.executions for status, total in counts.items()},
        set(connection.scalars(select(broadcasts.c.id))),
        connection.execute(select(jobs.c.due_time).where(jobs.c.id == delayed)).scalar_one(),
    )


def read_rows(connection: Connection) -> Rows:
    return {row.id: row for row in connection.execute(select(executions).order_by(executions.c.id))}


def begin_term(connection: Connection, now: int) -> Term:
    term = take_lease(connection, read_lease(connection), "node", "process")
    assert term is not None
    doubt_earlier_dispatches(connection, term.epoch, now, reasons.LEADER_CHANGED)
    return term


def set_up(connection: Connection, now: int) -> tuple[list[int], Term]:
    """Begin with an empty database; the jobs, in the order in which the machine names them, and the term."""
    for table in metadata.sorted_tables:
        connection.execute(table.delete())
    extensions = frozenset({Extension.RESEND, Extension.KILL_EXECUTION, Extension.NOT_BEFORE})
    ours = create_group(connection, Group(0, "ours", "ours", AddressType.AUTO, ()), now)
    record_beats(connection, [Beat("ours", one, f"process at {one}", extensions) for one in OURS], now)
    theirs = create_group(connection, Group(0, "theirs", "theirs", AddressType.MANUAL, FOREIGN), now)
    plain = Job(id=0, job_group=ours, job_desc="job", executor_handler="note", executor_fail_retry_count=1)
    plain = replace(plain, overlap=Overlap.EXECUTOR)  # ``test_overlap_machine`` has those that wait for each other
    started = replace(plain, trigger_status=True, trigger_next_time=now, due_time=now)
    child = create_job(connection, replace(plain, alarm_policy='{"each": true}'), now)
    follows, shards = (child,), RouteStrategy.SHARDING_BROADCAST
    defined = [
        replace(plain, child_job_ids=follows, executor_fail_retry_count=2),
        replace(plain, child_job_ids=follows, job_group=theirs),
        replace(
            started,
            child_job_ids=follows,
            executor_route_strategy=shards,
            schedule_type=ScheduleType.FIX_RATE,
            schedule_conf="10",
        ),
        replace(
            plain,
            child_job_ids=follows,
            child_per_shard=True,
            executor_route_strategy=shards,
            executor_fail_retry_count=0,
        ),
        replace(
            started,
            schedule_type=ScheduleType.FIX_DELAY,
            schedule_conf=f"{DELAY}",
            misfire_strategy=MisfireStrategy.FIRE_ONCE_NOW,
        ),
    ]
    return [*(create_job(connection, job, now) for job in defined), child], begin_term(connection, now)
