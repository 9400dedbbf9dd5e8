"""Queues in the database: messages that wait, messages in somebody's hands, and dead letters.

A message is a row until it is done. To take it is to write one's name on it: of two who try at once, each gets what
the other has not locked. Nothing here knows for how long a consumer has had a message; whoever knows that the consumer
is gone gives its messages back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, delete, func, select, update

from orth.store.channel_tables import dead_messages, queue_messages
from orth.store.engines import among, insert_all, listed, locked

_PER_STATEMENT = 500
_columns = queue_messages.c


@dataclass(frozen=True, slots=True)
class TakenMessage:
    """A message in its consumer's hands."""

    id: int
    queue: str
    payload: str
    deliveries: int


def add_messages(connection: Connection, queue: str, payloads: Sequence[str]) -> None:
    """Append to a queue."""
    new = {"queue": queue, "consumer": None, "take_id": None, "deliveries": 0}
    insert_all(connection, queue_messages, [{"payload": payload, **new} for payload in payloads])


def count_messages(connection: Connection, queue: str, at_most: int) -> int:
    """How many messages of a queue are not done; counted up to ``at_most``."""
    some = select(_columns.id).where(_columns.queue == queue).limit(at_most).subquery()
    return connection.execute(select(func.count()).select_from(some)).scalar_one()


def queues_with_messages(connection: Connection, queues: Sequence[str]) -> list[str]:
    """Which of these have messages that nobody has taken, in the order asked for."""
    named = listed(connection, _columns.queue, queues)
    if named is None:
        return _queues_one_by_one(connection, queues)
    oldest = _waiting(connection, select(_columns.id), named.c.value).limit(1).scalar_subquery()
    found = set(connection.scalars(select(named.c.value).where(oldest.is_not(None))))
    return [queue for queue in queues if queue in found]


def _queues_one_by_one(connection: Connection, queues: Sequence[str]) -> list[str]:
    oldest = [
        _waiting(connection, select(_columns.id), queue).limit(1).scalar_subquery().label(f"q{number}")
        for number, queue in enumerate(queues)
    ]
    found = connection.execute(select(*oldest)).one()
    return [queue for queue, message in zip(queues, found, strict=True) if message is not None]


def take_messages(
    connection: Connection, queues: Sequence[str], consumer: str, take_id: str, limit: int
) -> list[TakenMessage]:
    """The oldest that wait, of the first queue before any of the next; they are the consumer's from now on. ``take_id``
    is unlike any other: should the answer be lost, they can be found by it.
    """
    taken: list[TakenMessage] = []
    for queue in queues:
        wanted = _waiting(connection, select(_columns.id, _columns.payload, _columns.deliveries), queue)
        rows = connection.execute(locked(wanted.limit(limit - len(taken)), connection, skip=True)).all()
        taken += [TakenMessage(row.id, queue, row.payload, row.deliveries + 1) for row in rows]
        if len(taken) >= limit:
            break
    for some in _chunks([one.id for one in taken]):
        connection.execute(
            update(queue_messages)
            .where(among(connection, _columns.id, some))
            .values(consumer=consumer, take_id=take_id, deliveries=_columns.deliveries + 1)
        )
    return taken


def untake_messages(connection: Connection, queues: Sequence[str], consumer: str, take_id: str) -> int:
    """Let what was taken by one call wait again as if it had not been; how many messages."""
    mine = among(connection, _columns.queue, queues), _columns.consumer == consumer, _columns.take_id == take_id
    untaken = {"consumer": None, "take_id": None, "deliveries": _columns.deliveries - 1}
    return connection.execute(update(queue_messages).where(*mine).values(untaken)).rowcount


def finish_messages(connection: Connection, queue: str, consumer: str, ids: Sequence[int]) -> None:
    """Forget those of these messages that are still the consumer's."""
    for some in _chunks(sorted(ids)):
        connection.execute(delete(queue_messages).where(among(connection, _columns.id, some), *_of(queue, consumer)))


def give_back_messages(
    connection: Connection, queue: str, consumer: str, *, to_dead_after: int, dead_limit: int, now: int
) -> tuple[int, int]:
    """Take everything away from a consumer; how many messages wait again, and how many are dead."""
    held = select(_columns.id, _columns.deliveries).where(*_of(queue, consumer)).order_by(_columns.id)
    rows = connection.execute(locked(held, connection)).all()
    dead = [row.id for row in rows if row.deliveries >= to_dead_after]
    back = [row.id for row in rows if row.deliveries < to_dead_after]
    for some in _chunks(back):
        connection.execute(update(queue_messages).where(among(connection, _columns.id, some)).values(consumer=None))
    for some in _chunks(dead):
        payloads = select(_columns.id, _columns.payload).where(among(connection, _columns.id, some))
        bury_messages(connection, queue, {row.id: row.payload for row in connection.execute(payloads)}, dead_limit, now)
    return len(back), len(dead)


def bury_messages(connection: Connection, queue: str, payloads: Mapping[int, str], dead_limit: int, now: int) -> None:
    """Move messages, by their ids, to the dead letters of their queue, of which the newest ``dead_limit`` are kept."""
    connection.execute(delete(queue_messages).where(among(connection, _columns.id, payloads)))
    rows = [{"payload": payload, "queue": queue, "died_at": now} for _, payload in sorted(payloads.items())]
    insert_all(connection, dead_messages, rows)
    newest = select(dead_messages.c.id).where(dead_messages.c.queue == queue).order_by(dead_messages.c.id.desc())
    surplus = connection.execute(newest.offset(dead_limit).limit(1)).scalar()
    if surplus is not None:
        connection.execute(delete(dead_messages).where(dead_messages.c.queue == queue, dead_messages.c.id <= surplus))


def bury_held(connection: Connection, queue: str, consumer: str, ids: Sequence[int], dead_limit: int, now: int) -> int:
    """Move those of these messages that are still the consumer's to the dead letters; how many."""
    held: dict[int, str] = {}
    for some in _chunks(sorted(ids)):
        wanted = select(_columns.id, _columns.payload).where(
            among(connection, _columns.id, some), *_of(queue, consumer)
        )
        held |= {row.id: row.payload for row in connection.execute(locked(wanted, connection))}
    if held:
        bury_messages(connection, queue, held, dead_limit, now)
    return len(held)


def holders_of(connection: Connection, queue: str) -> dict[str, int]:
    """Who has messages of a queue, and how many."""
    held = select(_columns.consumer, func.count()).where(_columns.queue == queue, _columns.consumer.is_not(None))
    return {row[0]: row[1] for row in connection.execute(held.group_by(_columns.consumer))}


def count_waiting(connection: Connection, queue: str) -> int:
    waiting = select(func.count()).select_from(queue_messages)
    return connection.execute(waiting.where(_columns.queue == queue, _columns.consumer.is_(None))).scalar_one()


def undone_messages(connection: Connection, queue: str, after: int, limit: int) -> list[tuple[int, str]]:
    """Messages of a queue with ids above ``after``, whoever has them, oldest first."""
    found = select(_columns.id, _columns.payload).where(_columns.queue == queue, _columns.id > after)
    return [(row.id, row.payload) for row in connection.execute(found.order_by(_columns.id).limit(limit))]


def newest_dead(connection: Connection, queue: str, limit: int) -> list[str]:
    """The messages of a queue that were given up, newest first."""
    dead = select(dead_messages.c.payload).where(dead_messages.c.queue == queue)
    return list(connection.scalars(dead.order_by(dead_messages.c.id.desc()).limit(limit)))


def forget_dead(connection: Connection, before: int, limit: int) -> int:
    """Remove dead letters of before ``before``; how many, at most ``limit``."""
    old = select(dead_messages.c.id).where(dead_messages.c.died_at < before).order_by(dead_messages.c.died_at)
    ids = list(connection.scalars(old.limit(limit)))
    for some in _chunks(ids):
        connection.execute(delete(dead_messages).where(among(connection, dead_messages.c.id, some)))
    return len(ids)


def _waiting(connection: Connection, wanted: Select[Any], queue: str | ColumnElement[str]) -> Select[Any]:
    """Messages that nobody has, oldest first, found by their index however long other queues are."""
    none = wanted.where(_columns.queue == queue, _columns.consumer.is_(None))
    if connection.dialect.name == "postgresql":
        # All have the same consumer, none; but by id alone it would rather walk through the messages of all queues.
        return none.order_by(_columns.consumer, _columns.id)
    # With the consumer in the order, MariaDB would sort all that wait, and lock them.
    return none.with_hint(queue_messages, "FORCE INDEX (ix_queue_message)", "mysql").order_by(_columns.id)


def _of(queue: str, consumer: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return _columns.queue == queue, _columns.consumer == consumer


def _chunks(ids: Sequence[int]) -> list[Sequence[int]]:
    return [ids[start : start + _PER_STATEMENT] for start in range(0, len(ids), _PER_STATEMENT)]
