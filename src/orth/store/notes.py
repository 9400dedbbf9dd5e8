"""Notes: what happened to an execution beyond the ordinary. An execution that simply runs has none.

Each has a code of ``orth.domain.reasons`` and a sentence. They are kept as long as their execution. One execution has
at most ``NOTES_LIMIT``, because what repeats for ever says nothing new after that.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, insert, select

from orth.domain.executions import cut
from orth.store.engines import among
from orth.store.tables import notes

NOTES_LIMIT = 100
_MESSAGE_LIMIT = 500
_IDS_PER_STATEMENT = 500


@dataclass(frozen=True, slots=True)
class Note:
    """One of them. ``at`` is when it was written, by ``node_id``."""

    execution_id: int
    code: str
    message: str
    at: int = 0
    node_id: str = ""


def add_notes(
    connection: Connection, written: Sequence[Note], node_id: str, now: int, *, beyond_limit: bool = False
) -> None:
    """Store notes, in this order; those of an execution that has enough are left out, unless something rests on them:
    ``beyond_limit``.
    """
    counts = _counts(connection, sorted({note.execution_id for note in written}))
    rows = []
    for note in written:
        counts[note.execution_id] = counts.get(note.execution_id, 0) + 1
        if beyond_limit or counts[note.execution_id] <= NOTES_LIMIT:
            message = cut(note.message.replace("\x00", ""), _MESSAGE_LIMIT)
            row = {"execution_id": note.execution_id, "at": now, "node_id": node_id, "code": note.code}
            rows.append(row | {"message": message.encode("utf-8", "backslashreplace").decode()[:_MESSAGE_LIMIT]})
    if rows:
        connection.execute(insert(notes), rows)


def notes_of(connection: Connection, execution_id: int) -> list[Note]:
    """The notes of an execution, oldest first."""
    rows = connection.execute(select(notes).where(notes.c.execution_id == execution_id).order_by(notes.c.id))
    return [Note(row.execution_id, row.code, row.message, row.at, row.node_id) for row in rows]


def last_noted(connection: Connection, ids: Sequence[int], code: str) -> dict[int, int]:
    """When ``code`` was last noted about each of these executions; those about which it never was are left out."""
    found: dict[int, int] = {}
    for start in range(0, len(ids), _IDS_PER_STATEMENT):
        chunk = ids[start : start + _IDS_PER_STATEMENT]
        noted = (
            select(notes.c.execution_id, func.max(notes.c.at).label("last"))
            .where(among(connection, notes.c.execution_id, chunk), notes.c.code == code)
            .group_by(notes.c.execution_id)
        )
        found |= {row.execution_id: row.last for row in connection.execute(noted)}
    return found


def _counts(connection: Connection, ids: Sequence[int]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for start in range(0, len(ids), _IDS_PER_STATEMENT):
        chunk = ids[start : start + _IDS_PER_STATEMENT]
        counted = (
            select(notes.c.execution_id, func.count().label("n"))
            .where(among(connection, notes.c.execution_id, chunk))
            .group_by(notes.c.execution_id)
        )
        counts |= {row.execution_id: row.n for row in connection.execute(counted)}
    return counts
