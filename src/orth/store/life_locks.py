"""Locks that live exactly as long as a connection: how the server itself tells that a process is gone.

A process that is killed loses its connections at once, and with them the lock on its incarnation, long before anybody
has waited for its lease to run out. A lock that is free proves less than that, for connections also break under the
living: so it is a reason to look closely, never to write without the epoch. A server that says nothing keeps nobody
waiting here either: the connection is cut with all the others of this process (``silence``). SQLite has no server; its
coordinators share a machine, where a lock file tells the same (``orth.cluster.alone``).
"""

from contextlib import nullcontext
from hashlib import sha256

from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from orth.errors import StoreUnavailable
from orth.store.database import Database
from orth.store.engines import open_engine

_PATIENCE = 5.0
_SPACE = 0x4F525448
"""What keeps our advisory locks apart from those of other programs on PostgreSQL."""

_HELD = {
    "postgresql": "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    "AND classid = CAST(:space AS oid) AND objid = CAST(:number AS oid)",
    "mysql": "SELECT IS_USED_LOCK(:name) IS NOT NULL",
}
_HELD_HERE = {
    "postgresql": _HELD["postgresql"] + " AND pid = pg_backend_pid()",
    "mysql": "SELECT COALESCE(IS_USED_LOCK(:name) = CONNECTION_ID(), 0)",
}
_TAKE = {
    "postgresql": "SELECT pg_try_advisory_lock(CAST(:space AS integer), CAST(:number AS integer))",
    "mysql": "SELECT GET_LOCK(:name, 0)",
}


def lives(connection: Connection, incarnation: str) -> bool | None:
    """Whether some connection holds the lock of this process; None where the database has no such locks."""
    return None if connection.dialect.name == "sqlite" else _asked(connection, _HELD, incarnation)


class LifeLock:
    """The lock of this process, on a connection of its own. Used by one thread at a time."""

    def __init__(self, db: Database, incarnation: str) -> None:
        self._engine = open_engine(db.url, size=1, patience=_PATIENCE)
        self._looked_at = nullcontext if db.silence is None else db.silence.looked_at
        if db.silence is not None:
            db.silence.watch(self._engine)
        self._incarnation = incarnation
        self._connection: Connection | None = None

    def keep(self) -> bool:
        """Hold it, again if the connection was lost; False when the server cannot be reached or refuses."""
        try:
            with self._looked_at():
                if self._connection is None:
                    self._connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
                held = _asked(self._connection, _HELD_HERE, self._incarnation)
                return held or _asked(self._connection, _TAKE, self._incarnation)
        except (SQLAlchemyError, StoreUnavailable):
            self._let_go()
            return False

    def close(self) -> None:
        self._let_go()
        self._engine.dispose()

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()  # the session ends, and its locks with it
            connection.close()


def _asked(connection: Connection, questions: dict[str, str], incarnation: str) -> bool:
    if connection.dialect.name == "postgresql":
        number = int.from_bytes(sha256(incarnation.encode()).digest()[:4], "big") >> 1  # fits a signed one, too
        values: dict[str, object] = {"space": _SPACE, "number": number}
        return bool(connection.execute(text(questions["postgresql"]), values).scalar_one())
    return bool(connection.execute(text(questions["mysql"]), {"name": f"orth:{incarnation}"}).scalar_one())
