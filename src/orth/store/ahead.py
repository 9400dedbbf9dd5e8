"""Executions that were opened before they are due, and taking them back.

What was not sent can be forgotten as if it had never been planned: nobody outside has seen it. What was sent can only
be *recalled*: the row says so, somebody tells the executor, and whatever the executor answers is how it ends. Only when
the process that had it is gone, and was so before it could start, does it wait here again.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import ColumnElement, Connection, delete, select, update

from orth.domain.executions import NOT_YET, OPEN_PHASES, Execution, Phase
from orth.domain.reasons import CANCELLED, REASONS
from orth.store.engines import among, locked
from orth.store.executions import KNOWN_CAUSE, READABLE, execution_of
from orth.store.tables import NOT_CANCELLED, broadcasts, executions, fires, notes

T = TypeVar("T")

_IDS_PER_STATEMENT = 500
RECALLS = tuple(CANCELLED)
"""For which reasons an execution ends that was recalled."""
_LAST_KEY = f"fire:{10**13 - 1}"


@dataclass(frozen=True, slots=True)
class Recalled:
    """An execution that is being recalled, and why."""

    execution: Execution
    reason_code: str


@dataclass(frozen=True, slots=True)
class Holder:
    """A process of ours that has executions which must not start yet."""

    address: str
    incarnation: str


def hold_fires_after(connection: Connection, job_id: int, instant: int) -> list[Execution]:
    """The executions of a job's fires after an instant, kept as they are until the transaction ends."""
    # By the whole unique key, not by the job's history. Instants of these centuries have thirteen digits, so the keys
    # of fires sort like the fires.
    rows = select(executions).where(
        executions.c.job_id == job_id,
        executions.c.trigger_key > f"fire:{max(instant, 10**12)}",
        executions.c.trigger_key <= _LAST_KEY,
        READABLE,
    )
    found = connection.execute(locked(rows.order_by(executions.c.id), connection))
    return [execution_of(row) for row in found]


def forget_fires(connection: Connection, unsent: Sequence[Execution]) -> None:
    """Remove executions of planned fires that were not sent, all shards of each, with all that was written about
    them.
    """
    for chunk in _chunks(unsent):
        ids = [execution.id for execution in chunk]
        connection.execute(delete(notes).where(among(connection, notes.c.execution_id, ids)))
        connection.execute(
            delete(executions).where(among(connection, executions.c.id, ids), executions.c.phase == Phase.OPENED)
        )
        shared = {execution.broadcast_id for execution in chunk if execution.broadcast_id is not None}
        if shared:
            connection.execute(delete(broadcasts).where(among(connection, broadcasts.c.id, shared)))


def decided_after(connection: Connection, job_id: int, instant: int) -> set[int]:
    """The fires of a job after an instant that the ledger has a decision about."""
    return set(
        connection.scalars(select(fires.c.fire_time).where(fires.c.job_id == job_id, fires.c.fire_time > instant))
    )


def forget_decisions(connection: Connection, job_id: int, fire_times: Iterable[int]) -> None:
    """Remove what the ledger says about these fires of a job."""
    for chunk in _chunks(sorted(fire_times)):
        connection.execute(delete(fires).where(fires.c.job_id == job_id, among(connection, fires.c.fire_time, chunk)))


def tell_recall(connection: Connection, job_id: int, fire_times: Iterable[int], reason: str, now: int) -> None:
    """Write down that these fires of a job, which were to run, are being recalled."""
    _change_decisions(connection, job_id, fire_times, now, reason=reason[:255])


def skip_dropped(connection: Connection, job_id: int, fire_times: Iterable[int], reason_code: str, now: int) -> None:
    """Let the ledger say that these fires of a job did not run, where everything that was opened for them was
    recalled and had not begun.
    """
    wanted = set(fire_times)
    for chunk in _chunks(sorted(wanted)):
        ran = select(executions.c.schedule_time).where(
            executions.c.job_id == job_id,
            among(connection, executions.c.trigger_key, [f"fire:{fire}" for fire in chunk]),
            NOT_CANCELLED,
        )
        wanted -= set(connection.scalars(ran))
    reason = f"{reason_code}: {REASONS[reason_code]}"
    _change_decisions(connection, job_id, wanted, now, decision="skipped", reason=reason[:255])


def _change_decisions(connection: Connection, job_id: int, fire_times: Iterable[int], now: int, **values: str) -> None:
    for chunk in _chunks(sorted(fire_times)):
        connection.execute(
            update(fires)
            .where(fires.c.job_id == job_id, among(connection, fires.c.fire_time, chunk), fires.c.decision == "run")
            .values(decided_at=now, **values)
        )


def recall_executions(connection: Connection, ids: Sequence[int], reason_code: str) -> None:
    """Mark executions that were sent as no longer wanted; the first reason stands."""
    for chunk in _chunks(sorted(ids)):
        connection.execute(
            update(executions)
            .where(
                among(connection, executions.c.id, chunk),
                executions.c.phase != Phase.ENDED,
                executions.c.recalled.is_(None),
            )
            .values(recalled=reason_code)
        )


def list_recalled(connection: Connection, now: int, limit: int, opened_after: int = 0) -> list[Recalled]:
    """What is being recalled and has not come due; with ``opened_after`` only the newer ones are looked at."""
    rows = select(executions).where(
        executions.c.phase.in_(OPEN_PHASES),
        KNOWN_CAUSE,
        executions.c.recalled.is_not(None),
        executions.c.not_before > now,
    )
    if opened_after:
        rows = rows.where(executions.c.trigger_time > opened_after)
    found = connection.execute(rows.order_by(executions.c.not_before, executions.c.id).limit(limit))
    return [Recalled(execution_of(row), row.recalled) for row in found]


def list_holders(connection: Connection, epochs: Collection[int], after: int) -> list[Holder]:
    """The processes that took what these terms sent and must not start until after an instant."""
    held = _sent_ahead(epochs, after)
    rows = select(executions.c.executor_address, executions.c.incarnation).where(*held).distinct()
    return [Holder(row.executor_address, row.incarnation) for row in connection.execute(rows)]


def list_sent_ahead(
    connection: Connection, holder: Holder, epochs: Collection[int], after: int, limit: int
) -> list[Execution]:
    """What ``holder`` has of these, soonest first."""
    rows = (
        select(executions)
        .where(
            *_sent_ahead(epochs, after),
            KNOWN_CAUSE,
            executions.c.executor_address == holder.address,
            executions.c.incarnation == holder.incarnation,
        )
        .order_by(executions.c.not_before, executions.c.id)
        .limit(limit)
    )
    return [execution_of(row) for row in connection.execute(rows)]


def _sent_ahead(epochs: Collection[int], after: int) -> tuple[ColumnElement[bool], ...]:
    return (
        executions.c.phase == Phase.DISPATCHED,
        executions.c.epoch.in_(epochs),
        executions.c.not_before > after,
        executions.c.incarnation.is_not(None),
        executions.c.executor_address.is_not(None),
        executions.c.recalled.is_(None),
    )


def reopen_unstarted(
    connection: Connection, ids: Sequence[int], incarnation: str, after: int, now: int, reason_code: str
) -> list[int]:
    """Let executions wait for dispatch again that ``incarnation`` took and must not start until after an instant; those
    that still were so. The caller knows that this process was gone at that instant.
    """
    reopened: list[int] = []
    for chunk in _chunks(sorted(ids)):
        still = select(executions.c.id).where(
            among(connection, executions.c.id, chunk),
            executions.c.phase == Phase.DISPATCHED,
            executions.c.incarnation == incarnation,
            executions.c.not_before > after,
            executions.c.recalled.is_(None),
        )
        held = list(connection.scalars(locked(still.order_by(executions.c.id), connection)))
        connection.execute(
            update(executions)
            .where(among(connection, executions.c.id, held), executions.c.phase == Phase.DISPATCHED)
            .values(
                phase=Phase.OPENED,
                phase_time=now,
                trigger_code=NOT_YET,
                dispatch_time=None,
                executor_address=None,
                incarnation=None,
                reason_code=reason_code,
            )
        )
        reopened += held
    return reopened


def _chunks(items: Sequence[T]) -> Iterable[Sequence[T]]:
    for start in range(0, len(items), _IDS_PER_STATEMENT):
        yield items[start : start + _IDS_PER_STATEMENT]
