"""Silences: spans in which nothing is told about a job, a group, or anything."""

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, or_, select, update

from orth.domain.alarms import Silence
from orth.errors import NotFound
from orth.store.engines import among, insert_returning_id
from orth.store.group_scopes import in_groups
from orth.store.record_tables import silences


def add_silence(connection: Connection, silence: Silence) -> int:
    """Store a silence (its id is ignored) and give its id."""
    row = {
        "job_id": silence.job_id,
        "job_group": silence.job_group,
        "starts_at": silence.starts_at,
        "ends_at": silence.ends_at,
        "reason": silence.reason,
        "actor": silence.actor,
    }
    return insert_returning_id(connection, silences, row)


def get_silence(connection: Connection, silence_id: int) -> Silence:
    row = connection.execute(select(silences).where(silences.c.id == silence_id)).one_or_none()
    if row is None:
        raise NotFound("silence", silence_id)
    return _silence(row)


def end_silence(connection: Connection, silence_id: int, now: int) -> None:
    """Let a silence be over; one that is over stays as it is, one that has not begun never does."""
    silence = get_silence(connection, silence_id)
    if silence.ends_at > now:
        connection.execute(
            update(silences)
            .where(silences.c.id == silence_id)
            .values(ends_at=now, starts_at=min(silence.starts_at, now))
        )


def silences_at(connection: Connection, now: int, limit: int) -> list[Silence]:
    """Those in force."""
    found = select(silences).where(silences.c.ends_at > now, silences.c.starts_at <= now).limit(limit)
    return [_silence(row) for row in connection.execute(found)]


def count_silences(connection: Connection, now: int, limit: int) -> int:
    """How many are not over, counted up to ``limit``."""
    found = select(silences.c.id).where(silences.c.ends_at > now).limit(limit)
    return len(connection.execute(found).all())


def list_silences(
    connection: Connection,
    *,
    before: int | None,
    limit: int,
    now: int | None = None,
    groups: Collection[int] | None = None,
) -> list[Silence]:
    """Silences newest first, those with an id below ``before``; with ``now`` only those that are not over, with
    ``groups`` only those that concern one of them.
    """
    found = select(silences).order_by(silences.c.id.desc()).limit(limit)
    if groups is not None:
        of_all = and_(silences.c.job_group.is_(None), silences.c.job_id.is_(None))
        found = found.where(or_(of_all, *in_groups(silences.c.job_group, groups)))
    if before is not None:
        found = found.where(silences.c.id < before)
    if now is not None:
        found = found.where(silences.c.ends_at > now)
    return [_silence(row) for row in connection.execute(found)]


def purge_silences(connection: Connection, before: int, limit: int) -> int:
    """Remove silences that were over before an instant; how many."""
    old = select(silences.c.id).where(silences.c.ends_at < before).limit(limit)
    ids = [row.id for row in connection.execute(old)]
    if ids:
        connection.execute(delete(silences).where(among(connection, silences.c.id, ids)))
    return len(ids)


def _silence(row: Row[Any]) -> Silence:
    return Silence(row.job_id, row.job_group, row.starts_at, row.ends_at, row.reason, row.actor, row.id)
