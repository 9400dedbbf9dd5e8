"""What belongs to an execution: the run of its job before and after it, the other attempts at it, its other shards.

An attempt knows which execution it follows, and no index leads the other way: later attempts are looked for among the
next executions of the job, a bounded number of them. Who may see one may see all that is found: a job that moved to
another group has left its earlier executions behind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, select

from orth.domain.executions import Execution
from orth.domain.handoffs import PastHandoff
from orth.domain.jobs import TriggerCause
from orth.store.cluster_history import hands_of
from orth.store.execution_lists import Listed
from orth.store.executions import listed_execution, with_owner
from orth.store.tables import executions

ATTEMPTS_LIMIT = 50
SHARDS_LIMIT = 200
_LOOK_AHEAD = 500
"""Executions of the job among which later attempts are looked for."""


@dataclass(frozen=True, slots=True)
class Relatives:
    """Both lists are in order of id and hold the execution itself; ``previous`` and ``next`` are other runs."""

    previous: int | None
    next: int | None
    attempts: Sequence[Listed]
    shards: Sequence[Listed]
    hands: Mapping[int, Sequence[PastHandoff]]
    """The coordinators that took one of them over, in order."""


def relatives_of(connection: Connection, one: Execution) -> Relatives:
    seen = (executions.c.job_id == one.job_id, executions.c.job_group == one.job_group)
    other = select(executions.c.id).where(*seen, executions.c.trigger_key != one.trigger_key).limit(1)
    attempts = executions.c.id.in_(_attempts(connection, one))
    shards = executions.c.trigger_key == one.trigger_key
    tries = _listed(connection, *seen, attempts, limit=ATTEMPTS_LIMIT)
    parts = _listed(connection, *seen, shards, limit=SHARDS_LIMIT) if one.shard_total > 1 else []
    return Relatives(
        connection.scalar(other.where(executions.c.id < one.id).order_by(executions.c.id.desc())),
        connection.scalar(other.where(executions.c.id > one.id).order_by(executions.c.id)),
        tries,
        parts,
        hands_of(connection, {found.id for found in (*tries, *parts)}),
    )


def _attempts(connection: Connection, one: Execution) -> list[int]:
    first = _first_attempt(connection, one)
    following = select(executions.c.id, executions.c.origin_id).where(
        executions.c.job_id == one.job_id, executions.c.id > first, executions.c.cause != TriggerCause.PARENT
    )
    # The execution itself is not always among the next ones of the first attempt.
    found = {first, one.id}
    for row in connection.execute(following.order_by(executions.c.id).limit(_LOOK_AHEAD)):
        if row.origin_id in found and len(found) < ATTEMPTS_LIMIT:
            found.add(row.id)
    return sorted(found)


def _first_attempt(connection: Connection, one: Execution) -> int:
    first: int = one.id
    for _ in range(ATTEMPTS_LIMIT):
        followed = select(executions.c.origin_id).where(
            executions.c.id == first, executions.c.job_id == one.job_id, executions.c.cause != TriggerCause.PARENT
        )
        origin: int | None = connection.scalar(followed)
        if origin is None:
            return first
        first = origin
    return first


def _listed(connection: Connection, *asked: ColumnElement[bool], limit: int) -> list[Listed]:
    rows = connection.execute(with_owner().where(*asked).order_by(executions.c.id).limit(limit))
    return [listed_execution(row) for row in rows]
