"""Executions between opening and the executor's yes: taken, assigned, sent, doubted, settled.

Every change names the phase it expects. What differs from row to row is written by one statement for all of them; what
is the same, by one statement with a list of ids.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, func, or_, select, update

from orth.domain.executions import SUCCESS, Execution, Phase
from orth.domain.jobs import TriggerCause
from orth.domain.reasons import BUSY_ELSEWHERE, LOOKED_AT_AGAIN
from orth.store.engines import among, locked, update_many
from orth.store.executions import KNOWN_CAUSE, execution_of, stored_message
from orth.store.tables import executions

_IDS_PER_STATEMENT = 500

_DUE_SINCE = func.coalesce(executions.c.not_before, executions.c.trigger_time)


@dataclass(frozen=True, slots=True)
class Assignment:
    """The address chosen for an execution."""

    execution_id: int
    address: str
    incarnation: str | None
    message: str
    keyed: bool = False
    """Whether it is sent with a report key."""


def take_due(connection: Connection, now: int, limit: int) -> list[Execution]:
    """Executions that wait for dispatch and may start, those due longest first, locked until the transaction ends. What
    waits for others of its job is not among them (``possibly_running``).
    """
    due = or_(executions.c.not_before.is_(None), executions.c.not_before <= now)
    waiting = select(executions.c.id).where(
        executions.c.phase == Phase.OPENED, KNOWN_CAUSE, due, _waits_for_none_of((BUSY_ELSEWHERE,))
    )
    return take_these(connection, connection.scalars(waiting.order_by(_DUE_SINCE, executions.c.id).limit(limit)))


def take_ahead(connection: Connection, now: int, after: int, limit: int) -> list[Execution]:
    """Executions with ids above ``after`` that must not start yet, in order of id, locked as above. The next attempt at
    something is not among them: its pause may be long, and who is there when it is over is not known yet. Nor is what
    was due and is only looked at again later.
    """
    ahead = select(executions.c.id).where(
        executions.c.phase == Phase.OPENED,
        KNOWN_CAUSE,
        executions.c.not_before > now,
        executions.c.id > after,
        executions.c.cause != TriggerCause.RETRY,
        _waits_for_none_of(sorted(LOOKED_AT_AGAIN)),
    )
    return take_these(connection, connection.scalars(ahead.order_by(executions.c.id).limit(limit)))


def next_due(connection: Connection, now: int) -> int | None:
    """When the next execution that waits for dispatch may start; None when none waits for its time."""
    ahead = select(func.min(executions.c.not_before)).where(
        executions.c.phase == Phase.OPENED, executions.c.not_before > now
    )
    due: int | None = connection.scalar(ahead)
    return due


def take_these(connection: Connection, ids: Iterable[int]) -> list[Execution]:
    """Those of these executions that wait for dispatch, in this order, locked as above."""
    # Found first and locked by their keys then: a sorted read that locks would lock everything it looked at.
    order = {one: place for place, one in enumerate(ids)}
    taken: list[Execution] = []
    for chunk in _chunks(sorted(order)):
        waiting = select(executions).where(
            among(connection, executions.c.id, chunk), executions.c.phase == Phase.OPENED, KNOWN_CAUSE
        )
        taken += [execution_of(row) for row in connection.execute(locked(waiting, connection, skip=True))]
    return sorted(taken, key=lambda execution: order[execution.id])


def assign_executions(connection: Connection, assignments: Sequence[Assignment], epoch: int, now: int) -> None:
    """Write down whom each will be sent to, before anything is sent: whoever takes over knows whom to ask."""
    rows = [
        _assigned(assignment, epoch)
        | {"phase": Phase.DISPATCHING, "phase_time": now, "epoch": epoch, "reason_code": None}
        for assignment in assignments
    ]
    update_many(connection, executions, ("id",), rows, executions.c.phase == Phase.OPENED)


def reassign_executions(connection: Connection, assignments: Sequence[Assignment], epoch: int, now: int) -> set[int]:
    """Write another address for executions this term is dispatching and has surely not sent; those that still were."""
    still = _dispatching(connection, [assignment.execution_id for assignment in assignments], epoch)
    rows = [
        _assigned(assignment, epoch) | {"phase_time": now}
        for assignment in assignments
        if assignment.execution_id in still
    ]
    update_many(connection, executions, ("id",), rows, executions.c.phase == Phase.DISPATCHING)
    return still


def put_back(
    connection: Connection, ids: Sequence[int], until: int | None, reason_code: str, epoch: int, now: int
) -> None:
    """Let executions that surely have not been sent wait again, until an instant: opened ones and this term's own.
    Without an instant they stay due.
    """
    mine = or_(
        executions.c.phase == Phase.OPENED,
        (executions.c.phase == Phase.DISPATCHING) & (executions.c.epoch == epoch),
    )
    waiting = {"executor_address": None, "incarnation": None, "phase": Phase.OPENED, "phase_time": now}
    if until is not None:
        waiting["not_before"] = until
    for chunk in _chunks(ids):
        connection.execute(
            update(executions)
            .where(among(connection, executions.c.id, chunk), mine)
            .values(**waiting, reason_code=reason_code)
        )


def record_accepted(connection: Connection, ids: Sequence[int], now: int) -> None:
    """The executor said yes. A callback may have been faster: an ended row stays as it is."""
    for chunk in _chunks(ids):
        connection.execute(
            update(executions)
            .where(
                among(connection, executions.c.id, chunk), executions.c.phase.in_((Phase.DISPATCHING, Phase.UNKNOWN))
            )
            .values(phase=Phase.DISPATCHED, phase_time=now, dispatch_time=now, trigger_code=SUCCESS, reason_code=None)
        )


def record_unknown(
    connection: Connection, doubts: Sequence[tuple[int, str]], now: int, reason_code: str | None = None
) -> None:
    """The answer was lost: the executor may have it or not, and somebody has to ask."""
    rows = [
        {
            "id": one,
            "phase": Phase.UNKNOWN,
            "phase_time": now,
            "trigger_msg": stored_message(message),
            "reason_code": reason_code,
        }
        for one, message in doubts
    ]
    update_many(connection, executions, ("id",), rows, executions.c.phase == Phase.DISPATCHING)


def doubt_earlier_dispatches(connection: Connection, epoch: int, now: int, reason_code: str | None = None) -> list[int]:
    """Turn what an earlier term was sending when it ended into *unknown*; which those were."""
    earlier = select(executions.c.id).where(executions.c.phase == Phase.DISPATCHING, executions.c.epoch < epoch)
    ids = list(connection.scalars(locked(earlier, connection)))
    for chunk in _chunks(ids):
        connection.execute(
            update(executions)
            .where(among(connection, executions.c.id, chunk), executions.c.phase == Phase.DISPATCHING)
            .values(phase=Phase.UNKNOWN, phase_time=now, reason_code=reason_code)
        )
    return ids


def list_unknown(connection: Connection, limit: int, after: int = 0) -> list[tuple[Execution, int]]:
    """Executions nobody is sure about, in order of id, those after ``after``; each with the instant the doubt began."""
    rows = connection.execute(
        select(executions)
        .where(executions.c.phase == Phase.UNKNOWN, KNOWN_CAUSE, executions.c.id > after)
        .order_by(executions.c.id)
        .limit(limit)
    )
    return [(execution_of(row), row.phase_time) for row in rows]


def _waits_for_none_of(codes: Sequence[str]) -> ColumnElement[bool]:
    return or_(executions.c.reason_code.is_(None), executions.c.reason_code.not_in(codes))


def _dispatching(connection: Connection, ids: Sequence[int], epoch: int) -> set[int]:
    found: set[int] = set()
    for chunk in _chunks(sorted(ids)):
        mine = select(executions.c.id).where(
            among(connection, executions.c.id, chunk),
            executions.c.phase == Phase.DISPATCHING,
            executions.c.epoch == epoch,
        )
        found.update(connection.scalars(locked(mine.order_by(executions.c.id), connection)))
    return found


def _assigned(assignment: Assignment, epoch: int) -> dict[str, object]:
    return {
        "id": assignment.execution_id,
        "executor_address": assignment.address,
        "incarnation": assignment.incarnation,
        "trigger_msg": stored_message(assignment.message),
        "keyed_epoch": epoch if assignment.keyed else None,
    }


def _chunks(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), _IDS_PER_STATEMENT):
        yield ids[start : start + _IDS_PER_STATEMENT]
