"""Where SQLite, PostgreSQL and MariaDB/MySQL differ, in one file.

Everything else in ``orth.store`` is written once.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Engine,
    Insert,
    Select,
    String,
    Table,
    TableValuedAlias,
    Text,
    any_,
    bindparam,
    column,
    create_engine,
    event,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import QueuePool

from orth.distribution import install_command
from orth.errors import CannotStart, Invalid
from orth.store.locked_file import LockedFile, write_ahead
from orth.store.unstorable import is_storable, refuse_unstorable

T = TypeVar("T")

_DRIVERS = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",
}
_EXTRAS = {"postgresql": "postgres", "mysql": "mysql", "mariadb": "mysql"}

_FEW = 64  # values up to which SQLite takes a parameter for each
_CHUNK = 500
_MANY = 50  # rows from which on it pays to look for columns in which all agree

# Part of the patience a transaction may stand idle: whoever waits for its locks must outlast it.
_IDLE_SHARE = 0.75

# Errors after which the same unit, run again, is likely to succeed: it was rolled back as a whole. A lock that was
# waited for in vain is not among them: the patience is used up. 1305 is how a deadlock inside a savepoint shows on
# MariaDB: the savepoint went with the transaction, and going back to it fails.
_REPEATABLE = {"40001", "40P01", 1213, 1020, 1305}
_NO_WRITES = {"25006", 1290, 1792, 1836}


def read_url(text: str) -> URL:
    """A store address as people write it, with the driver we use filled in."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):  # a port that is no number is the latter
        raise CannotStart(
            "store.url is not a database address.",
            hint="Write sqlite:///path, postgresql://user@host/db or mysql://user@host/db.",
        ) from None
    driver = _DRIVERS.get(url.get_backend_name())
    if driver is None:
        raise CannotStart(
            f"store.url names {url.get_backend_name()!r}, which is not supported.",
            hint="Use sqlite, postgresql, mysql or mariadb.",
        )
    return url.set(drivername=driver)


def is_sqlite(url: URL) -> bool:
    return url.get_backend_name() == "sqlite"


def open_engine(url: URL, *, size: int, patience: float, writer: bool = True) -> Engine:
    """An engine with at most ``size`` connections; no statement, lock wait or idle transaction outlives ``patience``
    seconds. What an error says of a statement never has its values: they would stand in logs.

    The bound is what makes fencing safe to wait for: a frozen holder of the epoch's share lock is cut off by the
    server.
    """
    try:
        engine = _engine(url, size, patience, writer)
    except ModuleNotFoundError as missing:
        extra = _EXTRAS.get(url.get_backend_name(), "server")
        raise CannotStart(
            f"The driver for {url.get_backend_name()} is not installed ({missing.name}).",
            hint=f"Run: {install_command(extra)}",
        ) from None
    refuse_unstorable(engine)
    return engine


def _engine(url: URL, size: int, patience: float, writer: bool) -> Engine:
    if is_sqlite(url):
        return _sqlite_engine(url, size, patience, writer)
    if url.get_backend_name() == "postgresql":
        return _postgres_engine(url, size, patience)
    return _mysql_engine(url, size, patience)


def _sqlite_engine(url: URL, size: int, patience: float, writer: bool) -> Engine:
    if not url.database or url.database == ":memory:":
        raise CannotStart("store.url must name a file for SQLite.", hint="For example sqlite:///.orth/orth.db")
    _own_file(Path(url.database))
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=size,
        max_overflow=0,
        hide_parameters=True,
        connect_args={"timeout": patience, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves
        write_ahead(connection, patience)
        connection.execute("PRAGMA synchronous=FULL")  # "committed" means it survives a power cut
        if not writer:
            connection.execute("PRAGMA query_only=ON")

    lock = LockedFile(patience)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if writer:
            lock.begin(connection)
        else:
            connection.exec_driver_sql("BEGIN")

    return engine


def _own_file(file: Path) -> None:
    """Make sure the database file is there and, if we make it, that only its owner can read it: it holds secrets."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Never one that exists: closing a file drops every lock this process has on it, SQLite's too, and another
        # process would then remove the journal under us.
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        if not (file.is_file() and os.access(file, os.R_OK | os.W_OK)):
            raise _unusable(file, "it is not a file that may be read and written") from None
    except OSError as error:
        raise _unusable(file, error.strerror or str(error)) from None


def _unusable(file: Path, reason: str) -> CannotStart:
    return CannotStart(f"The database file {file} cannot be opened: {reason}.", hint="Check store.url and the folder.")


def _postgres_engine(url: URL, size: int, patience: float) -> Engine:
    ms, idle = int(patience * 1000), int(patience * _IDLE_SHARE * 1000)
    bounds = f"-c statement_timeout={ms} -c lock_timeout={ms} -c idle_in_transaction_session_timeout={idle}"
    return create_engine(
        url,
        isolation_level="READ COMMITTED",
        pool_size=size,
        max_overflow=0,
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args={"options": bounds, "connect_timeout": 5},
    )


def _mysql_engine(url: URL, size: int, patience: float) -> Engine:
    seconds, idle = max(1, int(patience)), max(1, int(patience * _IDLE_SHARE))
    engine = create_engine(
        url,
        isolation_level="READ COMMITTED",
        pool_size=size,
        max_overflow=0,
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args={"connect_timeout": 5, "charset": "utf8mb4"},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"SET SESSION innodb_lock_wait_timeout={seconds}")
            cursor.execute(
                "SET SESSION sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'"
            )  # never cut a value silently
            cursor.execute("SELECT VERSION()")
            if "MariaDB" in cursor.fetchone()[0]:
                cursor.execute(f"SET SESSION idle_transaction_timeout={idle}")
                cursor.execute(f"SET SESSION max_statement_time={seconds}")

    return engine


def connect_once(engine: Engine, seconds: int) -> None:
    """Make a connection to the server of ``engine`` and close it, within about ``seconds``; raises what the driver
    raises.
    """
    arguments, named = engine.dialect.create_connect_args(engine.url)
    bounds = {"connect_timeout": seconds}
    if engine.dialect.name != "postgresql":
        bounds["read_timeout"] = seconds  # the greeting of the server is read after connecting
    engine.dialect.connect(*arguments, **{**named, **bounds}).close()


def may_repeat(error: DBAPIError) -> bool:
    """Whether the unit that met ``error`` was rolled back whole and is worth running again at once."""
    return not _REPEATABLE.isdisjoint(_codes(error))


def refuses_writes(error: DBAPIError) -> bool:
    """Whether a server said that it takes no writes, as a standby does: one that was the primary a moment ago, too."""
    return not _NO_WRITES.isdisjoint(_codes(error))


def _codes(error: DBAPIError) -> set[object]:
    # psycopg names the SQL state; PyMySQL gives MariaDB's own number first, and in newer versions the state as well.
    return {getattr(error.orig, "sqlstate", None), *getattr(error.orig, "args", ())[:1]}


def insert_all(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, in their order. All name the same columns."""
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        given, values = _in_columns(table, rows)
        names = list(rows[0])
        connection.execute(insert(table).from_select(names, select(*(given[name] for name in names))), values)
    else:
        connection.execute(insert(table), [dict(row) for row in rows])


def insert_new(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows whose unique keys do not exist yet; leave the others as they are. All name the same columns."""
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        given, values = _in_columns(table, rows)
        names = list(rows[0])
        taken = postgresql.insert(table).from_select(names, select(*(given[name] for name in names)))
        connection.execute(taken.on_conflict_do_nothing(), values)
    else:
        # One row's statement with many rows: it is compiled once ever, and each driver sends it in bulk.
        connection.execute(_insert_or_keep(connection.dialect.name, table), [dict(row) for row in rows])


def _insert_or_keep(dialect: str, table: Table) -> Insert:
    if dialect == "sqlite":
        return sqlite.insert(table).on_conflict_do_nothing()
    # Not INSERT IGNORE, which would also swallow values that do not fit. Setting the key to itself touches only
    # duplicates.
    key = next(iter(table.primary_key.columns))
    return mysql.insert(table).on_duplicate_key_update({key.name: key})


def among(connection: Connection, wanted: Column[Any], values: Iterable[Any]) -> ColumnElement[bool]:
    """Whether a column has one of ``values``. PostgreSQL takes them as one array, so that the statement is the same
    however many they are, and is prepared once. So does SQLite take many of them, as one JSON text: each connection
    keeps its last statements, and twenty of them with 48,000 parameters each took 150 MB. For a few, a parameter for
    each is faster.

    MariaDB and MySQL keep no statements. There a statement is as long as its values: callers pass ``chunks`` of them.
    """
    given = list(values)
    if connection.dialect.name == "postgresql":
        return wanted == any_(bindparam(None, given, type_=_array_of(wanted)))
    if connection.dialect.name == "sqlite" and len(given) > _FEW:
        return wanted.in_(select(_in_json(given).c.value))
    return wanted.in_(given)


def listed(connection: Connection, like: Column[Any], values: Iterable[Any]) -> TableValuedAlias | None:
    """``values`` as rows of one column ``value`` of the type of ``like``, in a statement that is the same however many
    they are. None on MariaDB and MySQL, which take no lists.
    """
    given = list(values)
    if connection.dialect.name == "postgresql":
        array = bindparam(None, given, type_=_array_of(like))
        return func.unnest(array).table_valued(column("value", like.type)).render_derived()
    return _in_json(given) if connection.dialect.name == "sqlite" else None


def _in_json(values: Sequence[Any]) -> TableValuedAlias:
    if not is_storable(values):  # in JSON, a NUL is no NUL any more
        raise Invalid.of("text_unstorable")
    return func.json_each(bindparam(None, json.dumps(values, ensure_ascii=False), type_=Text())).table_valued("value")


def chunks(values: Iterable[T]) -> Iterator[list[T]]:
    """``values`` in lists short enough for one statement."""
    rest = iter(values)
    while chunk := list(islice(rest, _CHUNK)):
        yield chunk


def update_many(
    connection: Connection,
    table: Table,
    keys: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    *only: ColumnElement[bool],
) -> None:
    """Write each of ``rows`` over the row of ``table`` that has its ``keys``, where ``only`` holds. All name the same
    columns.
    """
    if not rows:
        return
    names = list(rows[0])
    given: Mapping[str, ColumnElement[Any]]
    if connection.dialect.name == "postgresql":
        given, values = _in_columns(table, rows)
    else:
        given = {name: bindparam(f"b_{name}") for name in names}
        values = [{f"b_{name}": value for name, value in row.items()} for row in rows]
    same = [table.c[name] == given[name] for name in keys]
    statement = update(table).where(*same, *only).values({name: given[name] for name in names if name not in keys})
    connection.execute(statement, values)


def _in_columns(table: Table, rows: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, ColumnElement[Any]], Any]:
    """``rows`` as one array per column, which PostgreSQL turns into rows again, and the parameters for it.

    One statement for all of them, which costs a fraction of one for each. A column in which many rows agree is a single
    value: writing arrays is most of what is left.
    """
    first, *others = rows[0]
    same = [name for name in others if _agree(rows, name)] if len(rows) >= _MANY else []
    listed = [first, *(name for name in others if name not in same)]
    arrays = [bindparam(f"b_{name}", type_=_array_of(table.c[name])) for name in listed]
    columns = [column(name, table.c[name].type) for name in listed]
    given = func.unnest(*arrays).table_valued(*columns, name="given").render_derived()
    found: dict[str, ColumnElement[Any]] = {name: given.c[name] for name in listed}
    found |= {name: bindparam(f"b_{name}", type_=table.c[name].type) for name in same}
    values: dict[str, Any] = {f"b_{name}": [row[name] for row in rows] for name in listed}
    return found, values | {f"b_{name}": rows[0][name] for name in same}


def _array_of(one: Column[Any]) -> postgresql.ARRAY[Any]:
    # Not of the column's own length: the driver casts, and a cast to a length cuts what is longer without a word.
    return postgresql.ARRAY(Text() if isinstance(one.type, String) else one.type)


def _agree(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    value = rows[0][name]
    return all(row[name] == value for row in rows)


def upsert(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> None:
    """Insert each of ``rows``, or update its other columns where its ``keys`` exist: each atomic. All name the same
    columns.
    """
    if rows:
        statement = _insert_or_update(connection.dialect.name, table, keys, [n for n in rows[0] if n not in keys])
        connection.execute(statement, [dict(row) for row in rows])


def _insert_or_update(dialect: str, table: Table, keys: Sequence[str], changed: Sequence[str]) -> Insert:
    if dialect == "postgresql":
        new = postgresql.insert(table)
        return new.on_conflict_do_update(index_elements=list(keys), set_={name: new.excluded[name] for name in changed})
    if dialect == "sqlite":
        row = sqlite.insert(table)
        return row.on_conflict_do_update(index_elements=list(keys), set_={name: row.excluded[name] for name in changed})
    mine = mysql.insert(table)
    return mine.on_duplicate_key_update({name: mine.inserted[name] for name in changed})


def insert_returning_id(connection: Connection, table: Table, row: Mapping[str, Any]) -> int:
    """Insert one row and give its id."""
    key = connection.execute(insert(table).values(**row)).inserted_primary_key
    assert key is not None
    return int(key[0])


def locked(statement: Select[Any], connection: Connection, *, skip: bool = False) -> Select[Any]:
    """``statement`` with its rows locked for update; SQLite's writer has the whole file already."""
    if connection.dialect.name == "sqlite":
        return statement
    return statement.with_for_update(skip_locked=skip)


def share_locked(statement: Select[Any], connection: Connection) -> Select[Any]:
    """``statement`` with its rows locked against change but not against other readers."""
    if connection.dialect.name == "sqlite":
        return statement
    return statement.with_for_update(read=True)
