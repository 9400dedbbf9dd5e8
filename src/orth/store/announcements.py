"""How one node tells the others through the database that something happened, with the change itself or alone.

PostgreSQL carries the text to whoever listens (``Notifications``); nothing is stored. Elsewhere it is a row that
everybody reads who looks in time (``announced_after``), and that is forgotten soon after.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select
from sqlalchemy.engine import URL

from orth.errors import StoreUnavailable
from orth.store.channel_tables import announcements
from orth.store.database_reasons import database_sentence
from orth.store.engines import among

_TOPIC = "orth_channels"
_PART = 7_000  # PostgreSQL carries less than 8,000 bytes at a time
_CONNECT_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Announced:
    """What somebody said; ``origin`` is who. ``id`` is 0 where nothing is stored."""

    id: int
    origin: str
    payload: str


def tell(connection: Connection, origin: str, payload: str) -> None:
    """Say ``payload``, which is ASCII, to all nodes when the transaction commits."""
    if connection.dialect.name != "postgresql":
        connection.execute(insert(announcements).values(origin=origin, payload=payload))
        return
    parts = [payload[start : start + _PART] for start in range(0, len(payload), _PART)]
    for number, part in enumerate(parts, start=1):
        connection.execute(select(func.pg_notify(_TOPIC, f"{origin} {number} {len(parts)} {part}")))


def newest_announced(connection: Connection) -> int:
    """The id of what was said last; 0 when nothing is known."""
    return connection.execute(select(func.max(announcements.c.id))).scalar() or 0


def announced_after(connection: Connection, after: int, also: Sequence[int], limit: int) -> list[Announced]:
    """What was said after an id, and what became visible late among the ids ``also``; in order."""
    newer: ColumnElement[bool] = announcements.c.id > after
    wanted = or_(newer, among(connection, announcements.c.id, also)) if also else newer
    rows = connection.execute(select(announcements).where(wanted).order_by(announcements.c.id).limit(limit))
    return [Announced(row.id, row.origin, row.payload) for row in rows]


def forget_announced(connection: Connection, up_to: int) -> None:
    connection.execute(delete(announcements).where(announcements.c.id <= up_to))


class Notifications:
    """A connection that hears what is said on PostgreSQL. Use it as a context; any failure ends it for good."""

    def __init__(self, url: URL) -> None:
        self._url = url
        self._conninfo = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._connection: Any = None  # Any: psycopg is an extra, and only imported where it is used
        self._parts: dict[int, list[str]] = {}

    async def __aenter__(self) -> Self:
        import psycopg

        try:
            # Without keepalives, a server that vanished would look like one that has nothing to say.
            self._connection = await psycopg.AsyncConnection.connect(
                self._conninfo,
                autocommit=True,
                connect_timeout=_CONNECT_SECONDS,
                keepalives_idle=5,
                keepalives_interval=2,
                keepalives_count=3,
            )
            await self._connection.execute(f"LISTEN {_TOPIC}")
        except psycopg.Error as error:
            await self.close()
            raise StoreUnavailable(f"PostgreSQL cannot be listened to: {database_sentence(error, self._url)}") from None
        return self

    async def __aexit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def heard(self, wait: float) -> list[Announced]:
        """What was said since the last call; waits up to ``wait`` seconds for it."""
        import psycopg

        heard: list[Announced] = []
        try:
            async for note in self._connection.notifies(timeout=wait, stop_after=1):
                heard += self._whole(note.pid, note.payload)
        except psycopg.Error as error:
            raise StoreUnavailable(f"PostgreSQL cannot be listened to: {database_sentence(error, self._url)}") from None
        return heard

    def _whole(self, session: int, text: str) -> list[Announced]:
        """Put together what was sent in parts; those of one session come in their order."""
        try:
            origin, number, parts, part = text.split(" ", 3)
        except ValueError:  # not one of ours
            return []
        if number == "1":
            self._parts[session] = []
        said = self._parts.setdefault(session, [])
        said.append(part)
        if number != parts:
            return []
        del self._parts[session]
        return [Announced(0, origin, "".join(said))]
