"""Executions: opening, ending and finding them. What happens between is in ``dispatching``, lists of them are in
``execution_lists``.

Every change names the phase it expects. A row that has ended matches none of them, so it is never changed again;
``end_executions`` tells which rows it won, and only the winner draws consequences.

A row may hold a cause or a phase that this version does not know, written by a newer node or by hand. Loops pass over
it (``KNOWN_CAUSE``), lists show it as an ``UnreadableExecution``, and whoever asks for it gets ``Unreadable``. A result
for it is stored; what would follow from it is left to a version that knows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, or_, select

from orth.domain.executions import (
    FAILURE,
    MAY_BECOME,
    NOT_YET,
    OPEN_PHASES,
    STORED_MESSAGE_LIMIT,
    SUCCESS,
    TAKEN_PHASES,
    Execution,
    Phase,
    cut,
    is_cancelled,
    outcome_of,
    status_of,
)
from orth.domain.jobs import TriggerCause
from orth.domain.reasons import CANCELLED, KILLED
from orth.errors import Unreadable
from orth.store.engines import among, insert_new, locked, update_many
from orth.store.history_tables import terms
from orth.store.tables import executions, ownership

_IDS_PER_STATEMENT = 500
_CAUSES = {one.value: one for one in TriggerCause}
_PHASES = {one.value: one for one in Phase}

KNOWN_CAUSE = executions.c.cause.in_(_CAUSES)
"""Executions that this version can read, among those in a phase it knows."""
READABLE = and_(KNOWN_CAUSE, executions.c.phase.in_(_PHASES))
"""Executions that this version can read."""


@dataclass(frozen=True, slots=True)
class UnreadableExecution:
    """What is stored about an execution that cannot be read, by the names of ``Execution``, and why it cannot."""

    id: int
    trigger_time: int
    values: Mapping[str, Any]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """An execution about to be stored. ``trigger_key`` names its cause: a second opening with the same key is the
    same execution.
    """

    job_id: int
    job_group: int
    job_version: int
    cause: TriggerCause
    trigger_key: str
    schedule_time: int | None
    executor_handler: str
    executor_param: str
    retries_left: int
    attempt: int = 1
    origin_id: int | None = None
    root_id: int | None = None
    request_digest: str | None = None
    addresses: tuple[str, ...] = ()
    shard_index: int = 0
    shard_total: int = 1
    not_before: int | None = None
    batch_id: int | None = None
    broadcast_id: int | None = None
    log_level: str | None = None  # None: as its job has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an execution ends. ``trigger_code`` 200 means an executor had it."""

    execution_id: int
    trigger_code: int
    handle_code: int = NOT_YET
    trigger_msg: str | None = None
    handle_msg: str | None = None
    start_time: int | None = None
    duration_ms: int | None = None
    """How long its handler ran, as its executor measured."""
    reason_code: str | None = None
    confirmed: bool = True
    """Whether it is known to have ended at its executor too, or counts as ended there."""
    reported_reason: str | None = None
    """Why its executor says that it ended. If a coordinator recalled it, that is why."""


def open_executions(connection: Connection, openings: Sequence[Opening], now: int) -> None:
    """Store openings whose key is new; the others are there already."""
    insert_new(connection, executions, [_opened_row(opening, now) for opening in openings])


def ids_of_trigger(connection: Connection, job_id: int, trigger_key: str) -> list[int]:
    """The executions one cause opened: one, or one per shard."""
    rows = connection.execute(
        select(executions.c.id).where(executions.c.job_id == job_id, executions.c.trigger_key == trigger_key)
    )
    # Sorted here: asked for an order, SQLite would walk the job's whole history in that order.
    return sorted(row.id for row in rows)


def ids_of_triggers(connection: Connection, triggers: Sequence[tuple[int, str]]) -> dict[tuple[int, str], int]:
    """What each of these causes, a job and a key, has opened, where that is one execution and no more."""
    found: dict[tuple[int, str], int] = {}
    for start in range(0, len(triggers), _IDS_PER_STATEMENT):
        some = triggers[start : start + _IDS_PER_STATEMENT]
        rows = connection.execute(
            select(executions.c.id, executions.c.job_id, executions.c.trigger_key).where(
                among(connection, executions.c.job_id, {job_id for job_id, _key in some}),
                among(connection, executions.c.trigger_key, {key for _job_id, key in some}),
            )
        )
        found |= {(row.job_id, row.trigger_key): row.id for row in rows}
    return found


def opened_keys(connection: Connection, triggers: Sequence[tuple[int, str]]) -> set[tuple[int, str]]:
    """Which of these causes, each a job and a key, have opened something."""
    jobs, keys = {job_id for job_id, _key in triggers}, {key for _job_id, key in triggers}
    statement = select(executions.c.job_id, executions.c.trigger_key).where(
        among(connection, executions.c.job_id, jobs), among(connection, executions.c.trigger_key, keys)
    )
    return {(row.job_id, row.trigger_key) for row in connection.execute(statement)} & set(triggers)


def request_of(connection: Connection, execution_id: int) -> tuple[str | None, int]:
    """What the caller who opened it asked for, in short, and in which group."""
    asked = select(executions.c.request_digest, executions.c.job_group).where(executions.c.id == execution_id)
    row = connection.execute(asked).one()
    return row.request_digest, row.job_group


def list_taken(connection: Connection, after: int, limit: int) -> list[Execution]:
    """Executions that were sent to an executor that has them, in order of id, those after ``after``."""
    taken = select(executions).where(
        executions.c.phase.in_(TAKEN_PHASES), executions.c.queue.is_(None), KNOWN_CAUSE, executions.c.id > after
    )
    return [execution_of(row) for row in connection.execute(taken.order_by(executions.c.id).limit(limit))]


def end_executions(connection: Connection, endings: Sequence[Ending], now: int) -> list[Execution]:
    """End those among these that are open and may end so; those it won and can read, as they are now. Two endings of
    one execution: the first counts.
    """
    wanted: dict[int, Ending] = {}
    for ending in endings:
        wanted.setdefault(ending.execution_id, ending)
    won: list[Execution] = []
    for ids in _chunks(
        sorted(wanted)
    ):  # in order of id, so that two such transactions never wait for each other in a ring
        still_open = select(executions).where(
            among(connection, executions.c.id, ids), executions.c.phase.in_(OPEN_PHASES)
        )
        rows = connection.execute(locked(still_open.order_by(executions.c.id), connection)).all()
        values = [(row, _ending_values(row, wanted[row.id], now)) for row in rows]
        admitted = [(row, value) for row, value in values if _may_end(row, value)]
        ended = [{"id": row.id, **value} for row, value in admitted]
        update_many(connection, executions, ("id",), ended, executions.c.phase != Phase.ENDED)
        won.extend(execution_of(row, value) for row, value in admitted if row.cause in _CAUSES)
    return won


def _may_end(row: Row[Any], value: dict[str, Any]) -> bool:
    """Whether the row's status may become the new one: what an executor has taken cannot have failed to be sent."""
    new = status_of(value["trigger_code"], value["handle_code"])
    return new in MAY_BECOME[status_of(row.trigger_code, row.handle_code)]


@dataclass(frozen=True, slots=True)
class Sent:
    """What decides who may speak for an execution that was, or may have been, sent to an executor."""

    trigger_time: int
    keyed: bool
    """Whether it was sent with a report key."""
    ended: bool
    address: str | None = None
    """The executor it was sent to."""


def sent_among(connection: Connection, ids: Iterable[int]) -> dict[int, Sent]:
    """Those of these executions that were, or may have been, sent to an executor; open or ended."""
    found: dict[int, Sent] = {}
    columns = executions.c
    for chunk in _chunks(sorted(set(ids))):
        sent = select(
            columns.id,
            columns.trigger_time,
            columns.keyed_epoch,
            columns.epoch,
            columns.phase,
            columns.executor_address,
        ).where(
            among(connection, columns.id, chunk),
            or_(columns.phase != Phase.OPENED, columns.offered_at.is_not(None)),
        )
        for row in connection.execute(sent):
            # A term that sent it again without a key has written its own number.
            keyed = row.keyed_epoch is not None and row.keyed_epoch == row.epoch
            ended = row.phase == Phase.ENDED
            found[row.id] = Sent(row.trigger_time, keyed, ended, row.executor_address)
    return found


def find_execution(connection: Connection, execution_id: int) -> Execution | None:
    """None when there is none; ``Unreadable`` when there is and it cannot be read."""
    found = look_up(connection, execution_id)
    if isinstance(found, UnreadableExecution):
        raise Unreadable.of("execution_unreadable", execution=found.id, said=found.reason)
    return found


def find_readable(connection: Connection, execution_id: int) -> Execution | None:
    """None when there is none that can be read."""
    found = look_up(connection, execution_id)
    return found if isinstance(found, Execution) else None


def look_up(connection: Connection, execution_id: int) -> Execution | UnreadableExecution | None:
    row = connection.execute(with_owner().where(executions.c.id == execution_id)).one_or_none()
    return None if row is None else listed_execution(row)


def unreadable_executions(connection: Connection, limit: int) -> list[UnreadableExecution]:
    """Executions that cannot be read and would otherwise be worked on: open ones, and those in an unknown phase."""
    # Between the phases that are known, one range after the other and unsorted, so that every database asks the index
    # for what nearly never is there.
    phase, known = executions.c.phase, sorted(_PHASES)
    asked = [phase < known[0], *(and_(phase > low, phase < high) for low, high in pairwise(known)), phase > known[-1]]
    asked.append(and_(phase.in_(OPEN_PHASES), executions.c.cause.not_in(_CAUSES)))
    ids = [one for each in asked for one in connection.scalars(select(executions.c.id).where(each).limit(limit))]
    found = (look_up(connection, one) for one in sorted(ids)[:limit])
    return [one for one in found if isinstance(one, UnreadableExecution)]


def _opened_row(opening: Opening, now: int) -> dict[str, Any]:
    sharding = f"{opening.shard_index}/{opening.shard_total}" if opening.shard_total > 1 else None
    return {
        "job_group": opening.job_group,
        "job_id": opening.job_id,
        "job_version": opening.job_version,
        "cause": opening.cause,
        "trigger_key": opening.trigger_key,
        "origin_id": opening.origin_id,
        "root_id": opening.root_id,
        "request_digest": opening.request_digest,
        "shard_index": opening.shard_index,
        "shard_total": opening.shard_total,
        "executor_sharding_param": sharding,
        "address_list": ",".join(opening.addresses) or None,
        "executor_handler": opening.executor_handler,
        "executor_param": opening.executor_param,
        "executor_fail_retry_count": opening.retries_left,
        "attempt": opening.attempt,
        "schedule_time": opening.schedule_time,
        "trigger_time": now,
        "trigger_code": NOT_YET,
        "handle_code": NOT_YET,
        "alarm_status": 0,
        "phase": Phase.OPENED,
        "phase_time": now,
        "epoch": 0,
        "not_before": opening.not_before,
        "batch_id": opening.batch_id,
        "broadcast_id": opening.broadcast_id,
        "log_level": opening.log_level,
    }


def _ending_values(row: Row[Any], ending: Ending, now: int) -> dict[str, Any]:
    trigger_code, handle_code = ending.trigger_code, ending.handle_code
    if trigger_code == NOT_YET:  # who has a result to report had the execution
        trigger_code = FAILURE if handle_code == NOT_YET else SUCCESS
    if handle_code < 0 or (trigger_code == SUCCESS and handle_code == NOT_YET):
        handle_code = FAILURE  # an end without a usable code is a failure, never an open row
    reason = _ending_reason(row, ending, handle_code, now)
    start_time = row.start_time if ending.start_time is None else ending.start_time
    trigger_msg, handle_msg = ending.trigger_msg, ending.handle_msg
    if reason is not None and is_cancelled(reason, start_time):  # its executor knows only that it was told to drop it
        trigger_msg, handle_msg = (None, CANCELLED[reason]) if trigger_code == SUCCESS else (CANCELLED[reason], None)
    return {
        "phase": Phase.ENDED,
        "phase_time": now,
        "outcome": outcome_of(trigger_code, handle_code, reason, start_time),
        "trigger_code": trigger_code,
        "trigger_msg": row.trigger_msg if trigger_msg is None else stored_message(trigger_msg),
        "handle_code": handle_code,
        "handle_msg": row.handle_msg if handle_msg is None else stored_message(handle_msg),
        "handle_time": now,
        "start_time": start_time,
        "duration_ms": _measured(ending, row.trigger_time, now),
        "reason_code": reason,
    }


def _measured(ending: Ending, trigger_time: int, now: int) -> int | None:
    """What the executor measured; nothing ran longer than since it was opened."""
    return None if ending.duration_ms is None else min(ending.duration_ms, max(0, now - trigger_time))


def _ending_reason(row: Row[Any], ending: Ending, handle_code: int, now: int) -> str | None:
    recalled: str | None = row.recalled if handle_code != SUCCESS else None
    if recalled and now < (row.not_before or 0) and ending.reason_code != KILLED:
        return recalled  # whatever became of it, it had not started: another attempt is not wanted either
    return ending.reason_code or recalled or ending.reported_reason or row.reason_code


_CHANGING = (
    "phase",
    "trigger_code",
    "trigger_msg",
    "handle_code",
    "handle_msg",
    "handle_time",
    "start_time",
    "duration_ms",
    "reason_code",
)


def execution_of(row: Row[Any], ended: dict[str, Any] | None = None) -> Execution:
    """A row of the table that can be read, or what it became when it was ``ended``."""
    values = _values(row, ended or {})
    return Execution(**values | {"cause": _CAUSES[values["cause"]], "phase": _PHASES[values["phase"]]})


def listed_execution(row: Row[Any]) -> Execution | UnreadableExecution:
    """A row of the table, whether or not it can be read."""
    wrong = [name for name, known in (("cause", _CAUSES), ("phase", _PHASES)) if getattr(row, name) not in known]
    if not wrong:
        return execution_of(row)
    reason = ", ".join(f"{name} is {str(getattr(row, name))[:40]!r}" for name in wrong)
    return UnreadableExecution(row.id, row.trigger_time, _values(row, {}), reason)


_NAMES = (
    "id",
    "job_id",
    "job_group",
    "cause",
    "schedule_time",
    "trigger_time",
    "executor_address",
    "incarnation",
    "executor_handler",
    "executor_param",
    "shard_index",
    "shard_total",
    "attempt",
    "root_id",
    "trigger_key",
    "not_before",
    "batch_id",
    "broadcast_id",
    "queue",
    "priority",
    "offered_at",
    "dispatch_time",
    "late_code",
    "alarm_status",
    "log_level",
    *_CHANGING,
)
"""Columns that ``Execution`` calls by the same names."""
_COLUMNS = [column.name for column in executions.columns]
_IN_ORDER = itemgetter(*(_COLUMNS.index(name) for name in _NAMES))
_ADDRESSES, _RETRIES_LEFT = _COLUMNS.index("address_list"), _COLUMNS.index("executor_fail_retry_count")


def _values(row: Row[Any], became: Mapping[str, Any]) -> dict[str, Any]:
    """By the names of ``Execution``, and as they are stored."""
    # Every execution passes here several times: by position, which takes a third of the time.
    values = dict(zip(_NAMES, _IN_ORDER(row), strict=True))
    for name in _CHANGING:
        if name in became:
            values[name] = became[name]
    addresses = row[_ADDRESSES]
    values["addresses"] = tuple(part for part in addresses.split(",") if part) if addresses else ()
    values["retries_left"] = row[_RETRIES_LEFT]
    values["owner_node"], values["sent_by"] = row[len(_COLUMNS) :] if len(row) > len(_COLUMNS) else (None, None)
    return values


def with_owner() -> Select[Any]:
    """Executions, each with the node that owns it and the one that sent it."""
    owner, sender = ownership.c.node_id.label("owner_node"), terms.c.node_id.label("sent_by")
    owned = executions.outerjoin(ownership, ownership.c.execution_id == executions.c.id)
    return select(executions, owner, sender).select_from(owned.outerjoin(terms, terms.c.epoch == executions.c.epoch))


def _chunks(ids: Sequence[int]) -> Iterable[Sequence[int]]:
    for start in range(0, len(ids), _IDS_PER_STATEMENT):
        yield ids[start : start + _IDS_PER_STATEMENT]


def storable(text: str) -> str:
    """``text`` as every database takes it."""
    # PostgreSQL cannot store NUL, and half a surrogate pair is no text anywhere.
    return text.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode()


def stored_message(message: str) -> str:
    """The same, as long as messages are kept."""
    return cut(storable(message), STORED_MESSAGE_LIMIT)
