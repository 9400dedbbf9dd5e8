"""What an execution waits for that others of its job keep from beginning: for those who ask why.

Only executions of the same group are named. Others may not see the rest.
"""

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from orth.domain.executions import TEST_KEY, Execution, Phase
from orth.domain.overlap import BlockedBy, BlockingExecution, key_of, position_of
from orth.domain.reasons import BUSY_ELSEWHERE
from orth.store.possibly_running import due_at, overlaps_with, shard_of_overlap, waits_for_job
from orth.store.tables import executions, has_outcome, unconfirmed_ends


def blocking_execution(connection: Connection, one: Execution, now: int) -> BlockingExecution | None:
    """What an execution waits for that is to be sent, or that is at an executor and may not have begun there."""
    if one.phase is Phase.DISPATCHED:
        return _unconfirmed(connection, one, one.executor_address)
    if one.phase is not Phase.OPENED or one.reason_code != BUSY_ELSEWHERE:
        return None
    columns, (due, _id) = executions.c, position_of(one)
    sent, is_due = columns.phase != Phase.OPENED, or_(columns.not_before.is_(None), columns.not_before <= now)
    earlier = or_(due_at < due, and_(due_at == due, columns.id < one.id))
    return (
        _open(connection, one, BlockedBy.RUNNING, and_(sent, is_due))
        or _unconfirmed(connection, one)
        or _open(connection, one, BlockedBy.EARLIER, and_(waits_for_job, earlier))
        or _open(connection, one, BlockedBy.AHEAD, and_(sent, columns.not_before > now))
    )


def _open(
    connection: Connection, one: Execution, kind: BlockedBy, condition: ColumnElement[bool]
) -> BlockingExecution | None:
    """The first of the open executions of its job for which the condition holds."""
    columns = executions.c
    others = select(columns.id, columns.executor_address, columns.queue, columns.not_before).where(
        columns.job_id == one.job_id,
        columns.job_group == one.job_group,
        has_outcome(0),
        columns.id != one.id,
        overlaps_with(shard_of_overlap, key_of(one)[1]),
        columns.trigger_key.not_like(f"{TEST_KEY}%"),
        condition,
    )
    row = connection.execute(others.order_by(due_at, columns.id).limit(1)).one_or_none()
    if row is None:
        return None
    begins = row.not_before if kind is BlockedBy.AHEAD else None
    return BlockingExecution(row.id, kind, row.executor_address or row.queue or "", begins)


def _unconfirmed(connection: Connection, one: Execution, address: str | None = None) -> BlockingExecution | None:
    """The first that has ended without its executor; only at an ``address``, if one is given."""
    columns = unconfirmed_ends.c
    ended = select(columns.execution_id, columns.executor_address, columns.queue).where(
        columns.job_id == one.job_id,
        columns.job_group == one.job_group,
        overlaps_with(columns.shard_index, key_of(one)[1]),
    )
    if address is not None:
        ended = ended.where(columns.executor_address == address)
    row = connection.execute(ended.order_by(columns.execution_id).limit(1)).one_or_none()
    if row is None:
        return None
    return BlockingExecution(row.execution_id, BlockedBy.ENDED, row.executor_address or row.queue or "")
