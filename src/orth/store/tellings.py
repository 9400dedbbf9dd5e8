"""What became of the messages that tell of the jobs that stand as failing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, and_, func, or_, select

from orth.domain.alarms import AlarmKind, AlarmState, Standing
from orth.store.engines import among
from orth.store.record_tables import alarm_standings, alarms

_OF_MESSAGES = (alarms.c.kind.in_((AlarmKind.FIRST, AlarmKind.REPEAT)), alarms.c.channel != "")


@dataclass(frozen=True, slots=True)
class Telling:
    """One message of the last that tell of a job, by one channel. ``next_attempt`` 0: it is settled."""

    channel: str
    state: AlarmState
    attempts: int
    next_attempt: int
    error: str | None


def last_tellings(connection: Connection, standings: Sequence[Standing]) -> Mapping[int, list[Telling]]:
    """By job: its last messages, one for each channel, as far as they are kept. They were made when it was told."""
    same = and_(
        alarms.c.job_id == alarm_standings.c.job_id,
        alarms.c.job_group == alarm_standings.c.job_group,
        alarms.c.created_at == alarm_standings.c.told_at,
    )
    rows = connection.execute(
        select(alarms)
        .select_from(alarm_standings.join(alarms, same))
        .where(among(connection, alarm_standings.c.job_id, {one.job_id for one in standings}), *_OF_MESSAGES)
        .order_by(alarms.c.id)
    )
    found: dict[int, list[Telling]] = {}
    for row in rows:
        found.setdefault(row.job_id, []).append(_telling(row))
    return found


def last_told(connection: Connection, standings: Sequence[Standing]) -> Mapping[int, int]:
    """By job: when the last message was made that a receiver of one has taken since the job fails."""
    if not standings:
        return {}
    row = alarms.c
    of_each = [
        and_(row.job_id == one.job_id, row.job_group == one.job_group, row.created_at >= one.since) for one in standings
    ]
    rows = connection.execute(
        select(alarms.c.job_id, func.max(alarms.c.created_at).label("at"))
        .where(or_(*of_each), alarms.c.state == AlarmState.TOLD, *_OF_MESSAGES)
        .group_by(alarms.c.job_id)
    )
    return {row.job_id: row.at for row in rows}


def _telling(row: Row[Any]) -> Telling:
    state = AlarmState(row.state)
    open_one = state in (AlarmState.WAITING, AlarmState.SENDING)
    return Telling(row.channel, state, row.attempts, row.next_attempt if open_one else 0, row.error)
