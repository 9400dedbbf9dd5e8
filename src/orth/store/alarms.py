"""Alarms: the signs that ends leave, the messages made of them, jobs that stand as failing, and where messages go.

Signs and messages share a table. A sign has no channel; it is *noted* with the end of its execution, *locked* while the
messages that tell of it are under way, whose subject it then holds, and removed when they are settled. A message is
*waiting*, *sending* under a lease, and then *told* or *failed*. An execution's ``alarm_status`` follows by
compare-and-set: 0, -1 while it is locked, then 1, 2 or 3, which nothing changes again.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, exists, func, or_, select, union, update

from orth.domain.alarms import AlarmKind, AlarmState, AlarmStatus, Sign, SignKind, Standing
from orth.domain.executions import OUTCOMES, Status
from orth.store.alarm_order import HAS_EARLIER, UNSETTLED, hold_back, let_followers_go
from orth.store.engines import among, insert_new, locked, upsert
from orth.store.group_scopes import in_groups
from orth.store.record_tables import alarm_standings, alarms
from orth.store.tables import executions, has_outcome, jobs

_NO_CHANNEL = ""
_ERROR_LIMIT = 500
_IDS_PER_STATEMENT = 500
_SETTLED = (AlarmState.TOLD, AlarmState.FAILED)


@dataclass(frozen=True, slots=True)
class Message:
    """One thing to say by one channel. ``content`` is a JSON object."""

    execution_id: int
    job_id: int
    kind: AlarmKind
    channel: str
    content: str
    id: int = 0
    state: AlarmState = AlarmState.WAITING
    attempts: int = 0
    next_attempt: int = 0
    created_at: int = 0
    error: str | None = None
    job_group: int = 0
    """Of the execution: where it is seen, wherever the job is moved."""

    @property
    def message_id(self) -> str:
        """What names it to its receiver: the same each time it is sent."""
        return f"orth-alarm-{self.id}-{self.created_at}"

    @property
    def subject(self) -> str:
        """What it tells, the same by each channel."""
        return f"{self.kind}:{self.execution_id}"


def note_signs(connection: Connection, signs: Sequence[Sign], now: int) -> None:
    """Store what ends have left."""
    insert_new(
        connection,
        alarms,
        [
            {
                "execution_id": sign.execution_id,
                "kind": sign.kind,
                "channel": _NO_CHANNEL,
                "state": AlarmState.NOTED,
                "attempts": 0,
                "next_attempt": now,
                "created_at": sign.at,
                "job_id": sign.job_id,
                "job_group": sign.job_group,
            }
            for sign in signs
        ],
    )


def failing_jobs(connection: Connection, ids: Collection[int]) -> set[int]:
    """Which of these jobs stand as failing, or have a sign of a failure that was not judged yet."""
    standing = select(alarm_standings.c.job_id).where(among(connection, alarm_standings.c.job_id, ids))
    noted = select(alarms.c.job_id).where(
        alarms.c.state == AlarmState.NOTED,
        alarms.c.kind == SignKind.FAILURE,
        among(connection, alarms.c.job_id, ids),
    )
    return {row.job_id for row in connection.execute(union(standing, noted))}


def unbroken_broadcasts(connection: Connection, shards: Iterable[tuple[int, int | None]]) -> set[int]:
    """Of these broadcasts, each with its job, those of which every shard has succeeded, be it at a later attempt."""
    whole: set[int] = set()
    later = executions.alias()
    for job_id, broadcast_id in shards:
        tried_again = exists().where(
            later.c.job_id == job_id, later.c.broadcast_id == broadcast_id, later.c.origin_id == executions.c.id
        )
        broken = exists().where(
            executions.c.job_id == job_id,
            executions.c.broadcast_id == broadcast_id,
            ~has_outcome(OUTCOMES[Status.SUCCESS]),
            ~tried_again,
        )
        if broadcast_id is not None and not connection.execute(select(broken)).scalar():
            whole.add(broadcast_id)
    return whole


def due_jobs(connection: Connection, now: int, limit: int) -> list[int]:
    """Jobs with signs that are to be judged."""
    due = select(alarms.c.job_id).where(alarms.c.state == AlarmState.NOTED, alarms.c.next_attempt <= now)
    return [row.job_id for row in connection.execute(due.distinct().limit(limit))]


def noted_signs(connection: Connection, job_id: int, limit: int) -> list[Sign]:
    """Signs of a job that nobody has judged, oldest first."""
    noted = select(alarms).where(alarms.c.job_id == job_id, alarms.c.state == AlarmState.NOTED)
    return [_sign(row) for row in connection.execute(noted.order_by(alarms.c.id).limit(limit))]


def put_off(connection: Connection, job_id: int, now: int, until: int) -> None:
    """Leave the signs of a job for later, those that are due now."""
    connection.execute(
        update(alarms)
        .where(alarms.c.job_id == job_id, alarms.c.state == AlarmState.NOTED, alarms.c.next_attempt <= now)
        .values(next_attempt=until)
    )


def standings_of(connection: Connection, ids: Collection[int]) -> dict[int, Standing]:
    rows = connection.execute(select(alarm_standings).where(among(connection, alarm_standings.c.job_id, ids)))
    return {row.job_id: _standing(row) for row in rows}


def list_standings(
    connection: Connection,
    after: int,
    limit: int,
    groups: Collection[int] | None = None,
    only: int | None = None,
) -> list[Standing]:
    """Jobs that stand as failing, in order of id, those after ``after``; only those that failed in these groups, and
    only this job.
    """
    job_id, group = alarm_standings.c.job_id, alarm_standings.c.job_group
    found = select(alarm_standings).where(job_id > after, *in_groups(group, groups)).order_by(job_id)
    if only is not None:
        found = found.where(job_id == only)
    return [_standing(row) for row in connection.execute(found.limit(limit))]


def keep_standings(connection: Connection, standings: Mapping[int, Standing | None]) -> None:
    """Let jobs stand so; None: no longer."""
    over = [job_id for job_id, standing in standings.items() if standing is None]
    if over:
        connection.execute(delete(alarm_standings).where(among(connection, alarm_standings.c.job_id, over)))
    rows = [
        {
            "job_id": one.job_id,
            "execution_id": one.execution_id,
            "since": one.since,
            "told_at": one.told_at,
            "failures": one.failures,
            "job_group": one.job_group,
        }
        for one in standings.values()
        if one is not None
    ]
    upsert(connection, alarm_standings, rows, ("job_id",))


def lock_signs(connection: Connection, signs: Sequence[Sign], subject: str, locked_by: str, until: int) -> None:
    """Keep signs until the messages that tell of them are settled, and say so at their executions."""
    for chunk in _chunks([sign.id for sign in signs]):
        connection.execute(
            update(alarms)
            .where(among(connection, alarms.c.id, chunk), alarms.c.state == AlarmState.NOTED)
            .values(
                state=AlarmState.LOCKED, message=subject, locked_by=locked_by, locked_until=until, next_attempt=until
            )
        )
    ids = [sign.execution_id for sign in signs]
    _set_status(connection, ids, AlarmStatus.UNDER_WAY, expected=(AlarmStatus.NOT_LOOKED_AT,))


def drop_signs(connection: Connection, signs: Sequence[Sign]) -> None:
    """Be done with signs about which there is nothing to tell."""
    _settle(connection, signs, AlarmStatus.NOTHING_TO_TELL)


def settle_signs(connection: Connection, job_id: int, subject: str, status: AlarmStatus) -> None:
    """Be done with the signs of a job that the messages with this subject tell of, which are settled."""
    of_message = select(alarms).where(
        alarms.c.job_id == job_id, alarms.c.state == AlarmState.LOCKED, alarms.c.message == subject
    )
    _settle(connection, [_sign(row) for row in connection.execute(of_message)], status)


def forgotten_signs(connection: Connection, now: int, limit: int) -> list[Sign]:
    """Locked signs whose lease has run out."""
    due = select(alarms).where(alarms.c.state == AlarmState.LOCKED, alarms.c.next_attempt <= now)
    return [_sign(row) for row in connection.execute(due.order_by(alarms.c.next_attempt).limit(limit))]


def jobs_with_messages(connection: Connection, ids: Collection[int]) -> set[int]:
    """Which of these jobs have a message that is not settled."""
    open_ones = select(alarms.c.job_id).where(alarms.c.state.in_(UNSETTLED), among(connection, alarms.c.job_id, ids))
    return {row.job_id for row in connection.execute(open_ones.distinct())}


def extend_locks(connection: Connection, signs: Sequence[Sign], until: int) -> None:
    for chunk in _chunks([sign.id for sign in signs]):
        connection.execute(
            update(alarms)
            .where(among(connection, alarms.c.id, chunk), alarms.c.state == AlarmState.LOCKED)
            .values(locked_until=until, next_attempt=until)
        )


def abandon_signs(connection: Connection, signs: Sequence[Sign]) -> None:
    """Be done with locked signs of which no message is left."""
    _settle(connection, signs, AlarmStatus.NOT_TOLD)


def store_messages(connection: Connection, messages: Sequence[Message], now: int) -> None:
    """Store messages to be sent as soon as their ``next_attempt`` allows; one about the same, of the same kind, by the
    same channel is there already.
    """
    insert_new(
        connection,
        alarms,
        [
            {
                "execution_id": one.execution_id,
                "kind": one.kind,
                "channel": one.channel,
                "state": AlarmState.WAITING,
                "attempts": 0,
                "next_attempt": max(now, one.next_attempt),
                "message": one.content,
                "created_at": now,
                "job_id": one.job_id,
                "job_group": one.job_group,
            }
            for one in messages
        ],
    )


def untried_messages(connection: Connection, kind: AlarmKind, job_group: int) -> list[Message]:
    """Messages of a kind about a group that nobody has tried to send. They stay so until the transaction ends."""
    untried = select(alarms).where(
        alarms.c.state == AlarmState.WAITING,
        alarms.c.kind == kind,
        alarms.c.job_group == job_group,
        alarms.c.attempts == 0,
    )
    return [_message(row) for row in connection.execute(locked(untried.order_by(alarms.c.id), connection))]


def amend_message(connection: Connection, message: Message) -> None:
    """Let a message that waits say something else, at another instant."""
    connection.execute(
        update(alarms)
        .where(alarms.c.id == message.id, alarms.c.state == AlarmState.WAITING)
        .values(message=message.content, next_attempt=message.next_attempt)
    )


def claim_messages(connection: Connection, locked_by: str, now: int, until: int, limit: int) -> list[Message]:
    """Messages that are due, now being sent by the caller, until its lease runs out; also those whose sender let its
    lease run out. None that has to wait for another one.
    """
    hold_back(connection, now, until)
    due = or_(
        and_(alarms.c.state == AlarmState.WAITING, alarms.c.next_attempt <= now),
        and_(alarms.c.state == AlarmState.SENDING, alarms.c.next_attempt <= now),
    )
    found = locked(select(alarms).where(due, ~HAS_EARLIER).order_by(alarms.c.id).limit(limit), connection, skip=True)
    rows = connection.execute(found).all()
    if rows:
        connection.execute(
            update(alarms)
            .where(among(connection, alarms.c.id, [row.id for row in rows]))
            .values(
                state=AlarmState.SENDING,
                locked_by=locked_by,
                locked_until=until,
                next_attempt=until,
                attempts=alarms.c.attempts + 1,
            )
        )
    return [_message(row, attempts=row.attempts + 1) for row in rows]


def message_sent(connection: Connection, message: Message, locked_by: str, now: int) -> bool:
    """The receiver has said yes; False if somebody else is sending it by now, or has."""
    won = _release(connection, message, locked_by, {"state": AlarmState.TOLD, "error": None})
    let_followers_go(connection, message.job_id, message.channel, now)
    return won


def message_refused(connection: Connection, message: Message, locked_by: str, error: str, again_at: int) -> bool:
    """It did not get through, and is to be tried again at an instant."""
    values = {"state": AlarmState.WAITING, "error": _storable(error), "next_attempt": again_at}
    return _release(connection, message, locked_by, values)


def message_given_up(connection: Connection, message: Message, locked_by: str, error: str, now: int) -> bool:
    """It did not get through, and is not tried again."""
    won = _release(connection, message, locked_by, {"state": AlarmState.FAILED, "error": _storable(error)})
    let_followers_go(connection, message.job_id, message.channel, now)
    return won


def hand_back(connection: Connection, messages: Sequence[Message], locked_by: str, now: int) -> None:
    """Let somebody else send messages that the caller has claimed and not finished."""
    for message in messages:
        values = {"state": AlarmState.WAITING, "next_attempt": now, "attempts": message.attempts - 1}
        _release(connection, message, locked_by, values)


def states_beside(connection: Connection, message: Message) -> dict[str, AlarmState]:
    """How the messages that say the same stand, by channel."""
    same = select(alarms.c.channel, alarms.c.state).where(
        alarms.c.execution_id == message.execution_id, alarms.c.kind == message.kind, alarms.c.channel != _NO_CHANNEL
    )
    return {row.channel: AlarmState(row.state) for row in connection.execute(same)}


def next_alarm_at(connection: Connection) -> int | None:
    """When the next sign or message is to be looked at."""
    open_states = (AlarmState.NOTED, AlarmState.LOCKED, *UNSETTLED)
    # One seek in the index for each state, instead of a walk through all that is open.
    first = [connection.execute(_earliest(alarms.c.state == state)).scalar() for state in open_states]
    return min((at for at in first if at is not None), default=None)


def list_messages(
    connection: Connection,
    *,
    before: int | None,
    limit: int,
    job_id: int | None = None,
    state: AlarmState | None = None,
    groups: Collection[int] | None = None,
) -> list[Message]:
    """Messages newest first, those with an id below ``before``; only about executions of these groups."""
    found = select(alarms).where(alarms.c.channel != _NO_CHANNEL, *in_groups(alarms.c.job_group, groups))
    found = found.order_by(alarms.c.id.desc()).limit(limit)
    if before is not None:
        found = found.where(alarms.c.id < before)
    if job_id is not None:
        found = found.where(alarms.c.job_id == job_id)
    if state is not None:
        found = found.where(alarms.c.state == state)
    return [_message(row) for row in connection.execute(found)]


def purge_messages(connection: Connection, before: int, limit: int) -> int:
    """Remove settled messages made before an instant; how many."""
    old = select(alarms.c.id).where(alarms.c.state.in_(_SETTLED), alarms.c.next_attempt < before).limit(limit)
    ids = [row.id for row in connection.execute(old)]
    if ids:
        connection.execute(delete(alarms).where(among(connection, alarms.c.id, ids)))
    return len(ids)


def purge_standings(connection: Connection, limit: int) -> int:
    """Remove what stands of jobs that are deleted; how many."""
    gone = select(alarm_standings.c.job_id).where(~exists().where(jobs.c.id == alarm_standings.c.job_id)).limit(limit)
    ids = [row.job_id for row in connection.execute(gone)]
    if ids:
        connection.execute(delete(alarm_standings).where(among(connection, alarm_standings.c.job_id, ids)))
    return len(ids)


def _earliest(condition: ColumnElement[bool]) -> Any:
    return select(func.min(alarms.c.next_attempt)).where(condition)


def _settle(connection: Connection, signs: Sequence[Sign], status: AlarmStatus) -> None:
    failed = [sign.execution_id for sign in signs if sign.kind is SignKind.FAILURE]
    _set_status(connection, failed, status, expected=(AlarmStatus.NOT_LOOKED_AT, AlarmStatus.UNDER_WAY))
    for chunk in _chunks([sign.id for sign in signs]):
        connection.execute(delete(alarms).where(among(connection, alarms.c.id, chunk)))


def _set_status(
    connection: Connection, ids: Sequence[int], status: AlarmStatus, *, expected: tuple[AlarmStatus, ...]
) -> None:
    for chunk in _chunks(sorted(ids)):
        connection.execute(
            update(executions)
            .where(among(connection, executions.c.id, chunk), executions.c.alarm_status.in_(list(map(int, expected))))
            .values(alarm_status=int(status))
        )


def _release(connection: Connection, message: Message, locked_by: str, values: dict[str, Any]) -> bool:
    done = connection.execute(
        update(alarms)
        .where(
            alarms.c.id == message.id,
            alarms.c.state == AlarmState.SENDING,
            alarms.c.locked_by == locked_by,
            alarms.c.attempts == message.attempts,
        )
        .values(locked_by=None, locked_until=None, **values)
    )
    return done.rowcount == 1


def _storable(text: str) -> str:
    clean = text.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode()
    return clean[:_ERROR_LIMIT]


def _chunks(ids: Sequence[int]) -> Iterable[Sequence[int]]:
    for start in range(0, len(ids), _IDS_PER_STATEMENT):
        yield ids[start : start + _IDS_PER_STATEMENT]


def _sign(row: Row[Any]) -> Sign:
    return Sign(row.execution_id, row.job_id, SignKind(row.kind), row.created_at, row.id, row.job_group)


def _standing(row: Row[Any]) -> Standing:
    return Standing(row.job_id, row.execution_id, row.since, row.told_at, row.failures, row.job_group)


def _message(row: Row[Any], attempts: int | None = None) -> Message:
    return Message(
        execution_id=row.execution_id,
        job_id=row.job_id,
        kind=AlarmKind(row.kind),
        channel=row.channel,
        content=row.message or "{}",
        id=row.id,
        state=AlarmState(row.state),
        attempts=row.attempts if attempts is None else attempts,
        next_attempt=row.next_attempt,
        created_at=row.created_at,
        error=row.error,
        job_group=row.job_group,
    )
