"""Bringing a database to the schema this program knows, and refusing any other.

Migrations are numbered files, applied in order by Alembic, by one node at a time: SQLite in one write transaction,
PostgreSQL and MariaDB under a lock that lives in the server. A migration may be interrupted and run again (MariaDB
commits every table by itself), so each step looks before it acts.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from orth.errors import CannotStart, SchemaMismatch
from orth.store.engines import open_engine, read_url

# Alembic tells every step it considers; what people need to know is returned by ``upgrade``.
logging.getLogger("alembic").setLevel(logging.WARNING)

_FOLDER = Path(__file__).parent / "migrations"
_LOCK = 0x6F727468  # "orth"; any number nobody else uses
VERSION_TABLE = "orth_schema_version"
_PATIENCE = 300.0  # a migration may rewrite a large table, or wait for the node that is at it


def upgrade(url: str) -> str:
    """Apply the migrations this database lacks; a line for people that says what was done."""
    engine = open_engine(read_url(url), size=1, patience=_PATIENCE)
    try:
        with _connected(engine) as connection, _alone(connection):
            before = _stored_version(connection)
            _refuse_newer(before)
            command.upgrade(_config(connection), "head")
            after = _stored_version(connection)
    finally:
        engine.dispose()
    if before == after:
        return f"The schema is up to date (version {after})."
    return f"The schema was brought from version {before or 'none'} to {after}."


def check_schema(url: str) -> None:
    """``SchemaMismatch`` unless the database has exactly the schema this program knows."""
    engine = open_engine(read_url(url), size=1, patience=10.0)
    try:
        with _connected(engine) as connection:
            stored = _stored_version(connection)
    finally:
        engine.dispose()
    _refuse_newer(stored)
    if stored != known_versions()[-1]:
        raise SchemaMismatch(
            f"The database has schema version {stored or 'none'}, this program needs {known_versions()[-1]}.",
            hint="Run: orth db upgrade",
        )


def schema_status(url: str) -> str:
    """What the database has and what this program needs, for people."""
    engine = open_engine(read_url(url), size=1, patience=10.0)
    try:
        with _connected(engine) as connection:
            stored = _stored_version(connection)
    finally:
        engine.dispose()
    newest = known_versions()[-1]
    verdict = "up to date" if stored == newest else "run: orth db upgrade"
    if stored is not None and stored not in known_versions():
        verdict = "newer than this program: install a newer orth"
    return f"database version {stored or 'none'}, program version {newest}: {verdict}"


def known_versions() -> list[str]:
    """Every version, oldest first."""
    script = ScriptDirectory(str(_FOLDER))
    return [revision.revision for revision in reversed(list(script.walk_revisions()))]


def _refuse_newer(stored: str | None) -> None:
    if stored is not None and stored not in known_versions():
        raise SchemaMismatch(
            f"The database has schema version {stored}; this program knows only up to {known_versions()[-1]}.",
            hint="A newer orth has been here: install that version or a later one.",
        )


@contextmanager
def _connected(engine: Engine) -> Iterator[Connection]:
    try:
        connection = engine.connect()
    except OperationalError as error:
        reason = (str(error.orig).strip().splitlines() or ["no answer"])[0]
        raise CannotStart(
            f"The database cannot be opened: {reason}.", hint="Check store.url and that the server runs."
        ) from None
    with connection, connection.begin():
        yield connection


@contextmanager
def _alone(connection: Connection) -> Iterator[None]:
    """Hold the migration lock. SQLite's write transaction is one by itself."""
    name = connection.dialect.name
    if name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        yield
    elif name == "sqlite":
        yield
    else:
        if connection.execute(text("SELECT GET_LOCK('orth_migration', :wait)"), {"wait": int(_PATIENCE)}).scalar() != 1:
            raise CannotStart(
                "Another node has been migrating the database for minutes.", hint="Wait for it, or look at its log."
            )
        try:
            yield
        finally:
            connection.execute(text("SELECT RELEASE_LOCK('orth_migration')"))


def _stored_version(connection: Connection) -> str | None:
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    return context.get_current_revision()


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    config.attributes["connection"] = connection
    return config
