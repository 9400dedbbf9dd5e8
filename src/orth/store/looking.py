"""Looking at a database without changing it: what it is, how quick, and which schema it has."""

from dataclasses import dataclass
from statistics import median

from sqlalchemy import Connection, literal, select
from sqlalchemy.exc import SQLAlchemyError

from orth.clock import Clock
from orth.errors import StoreUnavailable
from orth.store.database_reasons import database_sentence
from orth.store.engines import open_engine, read_url
from orth.store.migrating import known_versions, stored_version

_PATIENCE = 3.0
_SAMPLES = 5
OLDEST = {"SQLite": (3, 35), "PostgreSQL": (13,), "MariaDB": (10, 6), "MySQL": (8,)}
"""The oldest versions that are supported."""


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """What a database says of itself; ``seconds`` is how long the smallest question takes."""

    kind: str
    version: str
    too_old: bool
    schema: str | None
    needed: str
    newer: bool
    """A later program than this has been here."""
    seconds: float

    @property
    def oldest(self) -> str:
        return ".".join(map(str, OLDEST[self.kind]))


def look(url: str, clock: Clock) -> StoreFacts:
    """What is there; ``StoreUnavailable`` if it does not answer."""
    engine = open_engine(read_url(url), size=1, patience=_PATIENCE, writer=False)
    try:
        with engine.connect() as connection:
            return _facts(connection, clock)
    except SQLAlchemyError as error:
        reason = database_sentence(error, engine.url)
        raise StoreUnavailable(
            f"The database cannot be used: {reason}.", hint="Check store.url and its server."
        ) from None
    finally:
        engine.dispose()


def _facts(connection: Connection, clock: Clock) -> StoreFacts:
    kind = _kind(connection)
    version = connection.dialect.server_version_info or ()
    schema, known = stored_version(connection), known_versions()
    return StoreFacts(
        kind=kind,
        version=".".join(map(str, version)),
        too_old=tuple(part for part in version if isinstance(part, int)) < OLDEST[kind],
        schema=schema,
        needed=known[-1],
        newer=schema is not None and schema not in known,
        seconds=median(_asked(connection, clock) for _ in range(_SAMPLES)),
    )


def _kind(connection: Connection) -> str:
    if connection.dialect.name == "mysql":
        return "MariaDB" if getattr(connection.dialect, "is_mariadb", False) else "MySQL"
    return {"sqlite": "SQLite", "postgresql": "PostgreSQL"}[connection.dialect.name]


def _asked(connection: Connection, clock: Clock) -> float:
    began = clock.monotonic()
    connection.execute(select(literal(1)))
    return clock.monotonic() - began
