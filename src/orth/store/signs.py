"""Signs of change: a few numbers that differ when something did, read often and cheaply.

They do not say what changed, only where to look again.
"""

from collections.abc import Hashable, Mapping

from sqlalchemy import Connection, func, select

from orth.domain.alarms import AlarmState
from orth.store.audit import newest_by_kind
from orth.store.cluster_history import newest_handoff
from orth.store.executor_entries import FORMER
from orth.store.jobs import RUNNING
from orth.store.leases import find_lease
from orth.store.nodes import list_nodes
from orth.store.ownership import Holding
from orth.store.record_tables import alarm_standings, alarms
from orth.store.service_events import last_seq
from orth.store.statistics import open_counts
from orth.store.tables import executions, executor_drains, jobs, ownership, registry

_LOOKED_AT = 100
"""Entries of the audit that are looked at: more than come between two looks. One about jobs that is pushed out of them
by others is one sign too many, which costs a page one question.
"""
_UNTOLD = (AlarmState.NOTED, AlarmState.LOCKED, AlarmState.WAITING, AlarmState.SENDING)
_CHANGING_NOTHING = (
    "job.trigger",
    "script.test",
    "session.refuse",
    "session.end_others",
    "session.end_all",
    "link.make",
)
"""Done to a job, and seen by its execution; or to a user, whose rights stay the same."""
PEOPLE = "people"
"""The sign that somebody's rights may be others, which is for nobody's eyes but their own."""


def read_signs(connection: Connection) -> Mapping[str, Hashable]:
    """A value for each subject. What is opened has a new number; what moves on or ends leaves its phase; who follows it
    is part of what is told of it.
    """
    newest = connection.execute(select(func.max(executions.c.id))).scalar() or 0
    lease = find_lease(connection)
    leads = (lease.epoch, lease.node_id) if lease else (0, None)
    nodes = [(one.said.node_id, one.said.incarnation, one.said.state, one.said.role) for one in list_nodes(connection)]
    handed = newest_handoff(connection)
    return {
        "executions": (newest, tuple(sorted(open_counts(connection).items())), handed),
        "services": last_seq(connection),
        "cluster": (leads, handed, tuple(nodes), _ownerless(connection)),
        "executors": _executors(connection),
        **_definitions(connection),
    }


def _ownerless(connection: Connection) -> Hashable:
    """Executions that wait for an owner, or for another one."""
    waits = ownership.c.state.in_((Holding.OFFERED, Holding.ORPHAN_PENDING))
    return tuple(connection.execute(select(func.count(), func.max(ownership.c.changed_at)).where(waits)).one())


def _definitions(connection: Connection) -> dict[str, Hashable]:
    """What people change is in the audit, by the transaction that changes it. What the clock changes, the next fires,
    moves the earliest of them.
    """
    changed = newest_by_kind(connection, _LOOKED_AT, without=_CHANGING_NOTHING)
    waiting = select(func.min(jobs.c.due_time)).where(jobs.c.trigger_status == RUNNING, jobs.c.due_time > 0)
    return {
        "alarms": (*_alarms(connection), changed.get("channel"), changed.get("silence")),
        "jobs": (changed.get("job"), changed.get("calendar"), connection.execute(waiting).scalar()),
        "groups": changed.get("group"),
        PEOPLE: (changed.get("user"), changed.get("group")),  # a group takes the roles in it along
    }


def _alarms(connection: Connection) -> tuple[Hashable, ...]:
    """Which jobs are failing, and how far messages are: one that is told or given up leaves those that wait."""
    of = alarm_standings.c
    sums = (func.count(), func.sum(of.failures), func.max(of.since), func.max(of.told_at))
    failing = connection.execute(select(*sums)).one()
    newest = connection.execute(select(func.max(alarms.c.id))).scalar()
    state, due = alarms.c.state, func.max(alarms.c.next_attempt)
    waiting = select(state, func.count(), due).where(state.in_(_UNTOLD)).group_by(state).order_by(state)
    return (*map(int, (one or 0 for one in failing)), newest, *map(tuple, connection.execute(waiting)))


def _executors(connection: Connection) -> Hashable:
    """Who comes, is another process, takes no work, goes or is drained; their beats and loads are no signs."""
    counts = func.count(), func.max(registry.c.id), func.max(registry.c.since), func.count(registry.c.unavailable)
    known = connection.execute(select(*counts).where(registry.c.registry_group != FORMER)).one()
    drained = connection.execute(select(func.count(), func.max(executor_drains.c.since))).one()
    return (*known, *drained)
