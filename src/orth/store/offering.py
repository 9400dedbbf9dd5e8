"""Executions on queue transport: offered, taken by whoever came, put back, lost.

Every change names the phase it expects. ``offered_at`` grows with every offer of an execution, so that what is said
about an earlier one can be told apart.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, or_, select, update

from orth.domain import reasons
from orth.domain.executions import NOT_YET, OUTCOMES, SUCCESS, TAKEN_PHASES, Phase, Status
from orth.store.engines import among, locked, update_many
from orth.store.executions import stored_message
from orth.store.tables import executions, groups, has_outcome, jobs

_IDS_PER_STATEMENT = 500
_TAKEABLE = (Phase.OFFERED, Phase.DISPATCHED, Phase.QUEUED, Phase.RUNNING)


@dataclass(frozen=True, slots=True)
class Placing:
    """In which queue an execution is offered, as it is called on the wire, and how urgent it is there."""

    execution_id: int
    queue: str
    priority: int
    sending: int
    keyed: bool = False
    """Whether it is offered with a report key."""


@dataclass(frozen=True, slots=True)
class InQueue:
    """An open execution on queue transport. ``incarnation`` is of the process that has it, None while it waits."""

    id: int
    job_id: int
    queue: str
    priority: int
    sending: int
    since: int
    incarnation: str | None
    lost_after: int
    """Seconds; 0 = the setting."""
    reason_code: str | None = None


@dataclass(frozen=True, slots=True)
class EndedInQueue:
    """An execution that ended while it was offered: nobody is to begin it any more."""

    id: int
    job_id: int
    queue: str


@dataclass(frozen=True, slots=True)
class StandingOffer:
    """An execution that waits in a queue, by the number of its last offer."""

    id: int
    sending: int
    trigger_time: int
    app_name: str


@dataclass(frozen=True, slots=True)
class Taking:
    """A process says that it has an execution."""

    execution_id: int
    address: str
    incarnation: str
    running: bool


def offer_executions(connection: Connection, placings: Sequence[Placing], epoch: int, now: int) -> None:
    """Write down where each will be offered, before anything is sent."""
    rows = [
        {
            "id": one.execution_id,
            "queue": one.queue,
            "priority": one.priority,
            "offered_at": one.sending,
            "phase": Phase.OFFERED,
            "phase_time": now,
            "epoch": epoch,
            "keyed_epoch": epoch if one.keyed else None,
            "reason_code": None,
            "trigger_msg": stored_message(f"offered in queue {one.queue} (priority {one.priority})"),
        }
        for one in placings
    ]
    update_many(connection, executions, ("id",), rows, executions.c.phase == Phase.OPENED)


def reopen_offered(connection: Connection, seen: Mapping[int, int], now: int, reason_code: str) -> list[int]:
    """Let executions be dispatched again whose offer, by its number, is known to be lost; those that still waited."""
    reopened: list[int] = []
    for chunk in _chunks(sorted(seen)):
        still = select(executions.c.id, executions.c.offered_at).where(
            among(connection, executions.c.id, chunk), executions.c.phase == Phase.OFFERED
        )
        rows = connection.execute(locked(still.order_by(executions.c.id), connection)).all()
        held = [row.id for row in rows if row.offered_at == seen[row.id]]
        if held:
            connection.execute(
                update(executions)
                .where(among(connection, executions.c.id, held), executions.c.phase == Phase.OFFERED)
                .values(phase=Phase.OPENED, phase_time=now, queue=None, reason_code=reason_code)
            )
        reopened += held
    return reopened


def record_taken(connection: Connection, takings: Sequence[Taking], now: int) -> None:
    """Executors say that they have these, or run them. What has ended stays as it is."""
    rows = [
        {
            "id": one.execution_id,
            "executor_address": one.address,
            "incarnation": one.incarnation,
            "phase": Phase.RUNNING if one.running else Phase.DISPATCHED,
            "phase_time": now,
            "trigger_code": SUCCESS,
            "reason_code": None,
        }
        for one in takings
    ]
    takeable = or_(*(executions.c.phase == phase for phase in _TAKEABLE))  # a list cannot stand in a repeated statement
    update_many(connection, executions, ("id",), rows, takeable)


def record_returned(
    connection: Connection,
    returned: Mapping[int, str],
    now: int,
    reason_code: str | None = None,
    in_no_queue: Collection[int] = (),
) -> None:
    """Executors gave these back unbegun, each named by the process that had it: they wait in their queue again, or, if
    they are ``in_no_queue``, with a ``reason_code`` to be offered.
    """
    for chunk in _chunks(sorted(returned)):
        rows = connection.execute(
            select(executions.c.id, executions.c.incarnation).where(
                among(connection, executions.c.id, chunk), executions.c.phase.in_(TAKEN_PHASES)
            )
        )
        mine = [row.id for row in rows if row.incarnation == returned[row.id]]
        for code in (None, reason_code):
            some = [one for one in mine if (one in in_no_queue) == (code is not None)]
            if some:
                connection.execute(
                    update(executions)
                    .where(among(connection, executions.c.id, some), executions.c.phase.in_(TAKEN_PHASES))
                    .values(
                        phase=Phase.OFFERED,
                        phase_time=now,
                        trigger_code=NOT_YET,
                        executor_address=None,
                        incarnation=None,
                        reason_code=code,
                    )
                )


def list_in_queues(connection: Connection) -> list[InQueue]:
    """All open executions that were offered in queues, in order of id."""
    columns = executions.c
    rows = connection.execute(
        select(
            columns.id,
            columns.job_id,
            columns.queue,
            columns.priority,
            columns.offered_at,
            columns.phase_time,
            columns.incarnation,
            func.coalesce(jobs.c.lost_after, 0),
            columns.reason_code,
        )
        .select_from(executions.outerjoin(jobs, jobs.c.id == columns.job_id))
        .where(columns.phase.in_((Phase.OFFERED, *TAKEN_PHASES)), columns.queue.is_not(None))
        .order_by(columns.id)
    )
    return [InQueue(*row) for row in rows]


def standing_offers(connection: Connection, execution_ids: Collection[int]) -> tuple[list[StandingOffer], int]:
    """Those of these executions that are offered and wait to be taken; and the newest execution there is, or 0."""
    columns = executions.c
    rows = connection.execute(
        select(columns.id, columns.offered_at, columns.trigger_time, groups.c.app_name)
        .join(groups, groups.c.id == columns.job_group)
        .where(among(connection, columns.id, list(execution_ids)), columns.phase == Phase.OFFERED)
    )
    newest = connection.execute(select(func.max(columns.id))).scalar_one()
    return [StandingOffer(*row) for row in rows], newest or 0


def ended_in_queues(connection: Connection, since: int, limit: int) -> list[EndedInQueue]:
    """The newest that ended before an executor had taken them, of those triggered after ``since``."""
    columns = executions.c
    rows = connection.execute(
        select(columns.id, columns.job_id, columns.queue)
        .where(
            has_outcome(OUTCOMES[Status.TRIGGER_FAILED]),
            columns.queue.is_not(None),
            columns.reason_code.in_((reasons.KILLED, reasons.COVERED, reasons.NOBODY_TOOK_IT)),
            columns.trigger_time >= since,
        )
        .order_by(columns.id.desc())
        .limit(limit)
    )
    return [EndedInQueue(*row) for row in rows]


def _chunks(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), _IDS_PER_STATEMENT):
        yield ids[start : start + _IDS_PER_STATEMENT]
