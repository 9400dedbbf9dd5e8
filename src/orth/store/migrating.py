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
from sqlalchemy.engine import URL
from sqlalchemy.exc import OperationalError

from orth.errors import CannotStart, SchemaMismatch, StoreUnavailable
from orth.store.database_reasons import database_sentence, is_unreachable
from orth.store.engines import is_sqlite, open_engine, read_url

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
        with _connected(engine) as connection:
            _be_alone(connection)
            before = stored_version(connection)
            _refuse_newer(before)
            command.upgrade(_config(connection), "head")
            after = stored_version(connection)
    finally:
        engine.dispose()
    if before == after:
        return f"The schema is up to date (version {after})."
    return f"The schema was brought from version {before or 'none'} to {after}."


def check_schema(url: str) -> None:
    """``SchemaMismatch`` unless the database has exactly the schema this program knows."""
    stored = _look(url)
    _refuse_newer(stored)
    if stored != known_versions()[-1]:
        raise SchemaMismatch(
            f"The database has schema version {stored or 'none'}, this program needs {known_versions()[-1]}.",
            hint="Run: orth db upgrade",
        )


def schema_status(url: str) -> str:
    """What the database has and what this program needs, for people."""
    stored = _look(url)
    newest = known_versions()[-1]
    verdict = "up to date" if stored == newest else "run: orth db upgrade"
    if stored is not None and stored not in known_versions():
        verdict = "newer than this program: install a newer orth"
    return f"database version {stored or 'none'}, program version {newest}: {verdict}"


def known_versions() -> list[str]:
    """Every version, oldest first."""
    script = ScriptDirectory(str(_FOLDER))
    return [revision.revision for revision in reversed(list(script.walk_revisions()))]


def _look(url: str) -> str | None:
    """The version a database says it has, without waiting for whoever writes to it. No file is made."""
    _refuse_new_file(read_url(url))
    engine = open_engine(read_url(url), size=1, patience=10.0, writer=False)
    try:
        with _connected(engine) as connection:
            return stored_version(connection)
    finally:
        engine.dispose()


def _refuse_new_file(url: URL) -> None:
    """Opening a database that is a file would make one, where the path may be wrong."""
    if is_sqlite(url) and url.database and not Path(url.database).exists():
        raise CannotStart(
            f"There is no database file {Path(url.database).absolute()}.",
            hint="Run it where the coordinator runs, or name the file with --store. To create it: orth db upgrade",
        )


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
        transaction = connection.begin()
    except OperationalError as error:
        said = f"The database cannot be opened: {database_sentence(error, engine.url)}."
        hint = "Check store.url and that the server runs."
        if is_unreachable(error):
            raise StoreUnavailable(said, hint=hint) from None
        raise CannotStart(said, hint=hint) from None
    with connection, transaction:
        yield connection


def _be_alone(connection: Connection) -> None:
    """Take the migration lock, until after the commit."""
    try:
        alone = _take_lock(connection)
    except OperationalError:  # the server ended the wait
        alone = False
    if not alone:
        raise CannotStart(
            "Another node has been migrating the database for minutes.", hint="Wait for it, or look at its log."
        )


def _take_lock(connection: Connection) -> bool:
    name = connection.dialect.name
    if name == "sqlite":
        return True  # its write transaction is a lock by itself
    if name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        return True
    # Never released by hand: it ends with the session, which is after the commit.
    wait = {"wait": int(_PATIENCE)}
    return connection.execute(text("SELECT GET_LOCK('orth_migration', :wait)"), wait).scalar() == 1


def stored_version(connection: Connection) -> str | None:
    """The version a database says it has; None if it has no schema of ours."""
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    return context.get_current_revision()


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    config.attributes["connection"] = connection
    return config
