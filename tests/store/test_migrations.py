"""The sum of the migrations is the schema the program sees, on every database."""

from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from orth.store.all_tables import metadata
from orth.store.engines import open_engine, read_url
from orth.store.migrating import VERSION_TABLE, upgrade
from tests.servers.mariadb import MariaDBServer
from tests.servers.postgres import PostgresServer


def connect(url: str) -> sa.Engine:
    return open_engine(read_url(url), size=1, patience=30.0)


def shape(engine: sa.Engine) -> dict[str, Any]:
    """Everything the database tells about its tables, in a form that can be compared."""
    inspector = sa.inspect(engine)
    return {name: _table_shape(inspector, name) for name in inspector.get_table_names() if name != VERSION_TABLE}


def _table_shape(inspector: sa.Inspector, name: str) -> dict[str, Any]:
    return {
        "columns": [{**column, "type": repr(column["type"])} for column in inspector.get_columns(name)],
        "primary key": inspector.get_pk_constraint(name)["constrained_columns"],
        "indexes": sorted(map(_index_shape, inspector.get_indexes(name)), key=lambda index: str(index["name"])),
        "unique": sorted((u["name"] or "", u["column_names"]) for u in inspector.get_unique_constraints(name)),
        "options": {key: value for key, value in inspector.get_table_options(name).items() if "auto_inc" not in key},
    }


def _index_shape(index: Any) -> dict[str, Any]:
    # What SQLite says of a partial index is an expression, and two of the same words are not equal.
    options = {key: str(value) for key, value in index.get("dialect_options", {}).items()}
    return {**index, "dialect_options": options}


@pytest.fixture
def other_url(request: pytest.FixtureRequest, store_url: str) -> str:
    """A second empty database beside ``store_url``."""
    if store_url.startswith("sqlite"):
        return store_url.replace("orth.db", "other.db")
    server = "postgres_server" if store_url.startswith("postgresql") else "mariadb_server"
    made: PostgresServer | MariaDBServer = request.getfixturevalue(server)
    return made.create_database()


def test_the_migrations_add_up_to_the_schema_of_the_program(store_url: str, other_url: str) -> None:
    upgrade(store_url)
    migrated, created = connect(store_url), connect(other_url)
    metadata.create_all(created)
    assert set(shape(migrated)) == set(metadata.tables)
    assert shape(migrated) == shape(created)
    assert counting_tables(migrated) == counting_tables(created)
    migrated.dispose()
    created.dispose()


def counting_tables(engine: sa.Engine) -> set[str]:
    """On SQLite, which tables count their rows for ever: the inspector does not tell AUTOINCREMENT."""
    if engine.dialect.name != "sqlite":
        return set()
    with engine.connect() as connection:
        counting = sa.text("SELECT name FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%'")
        return set(connection.execute(counting).scalars())


def test_alembic_sees_no_difference(store_url: str) -> None:
    upgrade(store_url)
    engine = connect(store_url)
    with engine.connect() as connection:
        options = {"version_table": VERSION_TABLE, "compare_type": True, "compare_server_default": True}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), metadata) == []
    engine.dispose()


def test_text_is_compared_by_code_point_and_holds_every_character(mariadb_url: str) -> None:
    upgrade(mariadb_url)
    engine = connect(mariadb_url)
    with engine.connect() as connection:
        columns = sa.text(
            "SELECT DISTINCT collation_name FROM information_schema.columns"
            f" WHERE table_schema = database() AND collation_name IS NOT NULL AND table_name <> '{VERSION_TABLE}'"
        )
        assert connection.execute(columns).scalars().all() == ["utf8mb4_bin"]
        engines = sa.text("SELECT DISTINCT engine FROM information_schema.tables WHERE table_schema = database()")
        assert connection.execute(engines).scalars().all() == ["InnoDB"]
    engine.dispose()
