"""Reading the tables of an xxl-job database, or of the fork of it that is also called Orth.

The schema has changed a little with every release: columns came, were renamed, and some installations carry columns
of their own. So nothing here names a column. A row is what the database gives, under the names it gives, and
``orth.importing`` knows what they mean. The other database is read in one read-only snapshot and never written.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import URL, Connection, inspect, text
from sqlalchemy.exc import OperationalError, ProgrammingError, SQLAlchemyError

from orth.errors import CannotStart, Invalid, StoreUnavailable
from orth.store.engines import open_engine, read_url

ROWS_LIMIT = 100_000
"""Of any one table: more than any installation has jobs."""

_PATIENCE = 60.0
_SILENCE = 20  # seconds without a word: whoever listens there is no database, or one that hangs
_LOST = 2013  # what the driver calls a connection that broke, or was silent for too long
_PREFIXES = ("xxl_job_", "orth_job_")
_OURS = "orth_schema_version"


@dataclass(frozen=True, slots=True)
class ForeignTables:
    """The rows of one installation. ``prefix`` is that of its tables."""

    prefix: str
    groups: list[Mapping[str, object]]
    jobs: list[Mapping[str, object]]
    scripts: list[Mapping[str, object]]
    users: list[Mapping[str, object]]


def read_foreign_tables(address: str) -> ForeignTables:
    """Everything at ``address`` that can be imported; ``Invalid`` when that is no xxl-job database."""
    url = _mysql_url(address)
    bounds = {"read_timeout": str(_SILENCE), "write_timeout": str(_SILENCE)} | dict(url.query)
    engine = open_engine(url.set(query=bounds), size=1, patience=_PATIENCE)
    try:
        with engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
            connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
            return _read(connection)
    except (OperationalError, ProgrammingError) as error:
        raise StoreUnavailable(f"{url.host}/{url.database} cannot be read: {_cause(error)}.") from None
    finally:
        engine.dispose()


def _mysql_url(address: str) -> URL:
    try:
        url = read_url(address)
    except CannotStart:  # it speaks of a setting, which this is not
        url = None
    if url is None or url.get_backend_name() != "mysql" or not url.database:
        raise Invalid(
            "That is not the address of an xxl-job database.", hint="Write mysql://user:password@host/xxl_job."
        )
    return url


def _read(connection: Connection) -> ForeignTables:
    there = set(inspect(connection).get_table_names())
    prefix = next((prefix for prefix in _PREFIXES if f"{prefix}info" in there and f"{prefix}group" in there), None)
    if prefix is None:
        raise Invalid(
            "There are no xxl-job tables (xxl_job_info, xxl_job_group) in that database.", hint="Check its name."
        )
    if _OURS in there:
        raise Invalid("That database is one of this Orth already, so there is nothing to import from it.")
    # A table that is missing holds nothing: an installation without scripts may have lost that one long ago.
    groups, jobs, scripts, users = (
        _rows(connection, prefix + name) if prefix + name in there else []
        for name in ("group", "info", "logglue", "user")
    )
    return ForeignTables(prefix, groups, jobs, scripts, users)


def _rows(connection: Connection, table: str) -> list[Mapping[str, object]]:
    statement = text(f"SELECT * FROM {table} ORDER BY id LIMIT {ROWS_LIMIT + 1}")  # noqa: S608  # names of our own
    rows: list[Mapping[str, object]] = [dict(row) for row in connection.execute(statement).mappings()]
    if len(rows) > ROWS_LIMIT:
        raise Invalid(f"{table} has more than {ROWS_LIMIT:,} rows.", hint="Is it the table of an xxl-job?")
    return rows


def _cause(error: SQLAlchemyError) -> str:
    """What the server said, without the address: that may hold a password."""
    orig = getattr(error, "orig", None)
    told = orig.args[-1] if orig is not None and orig.args else type(error).__name__
    if orig is not None and orig.args[0] == _LOST and "timed out" in str(told):
        return f"it accepted the connection and said nothing for {_SILENCE} s"
    return str(told).splitlines()[0].rstrip(".")
