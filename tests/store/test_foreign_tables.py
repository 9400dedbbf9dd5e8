"""Reading somebody else's tables, whatever they hold."""

import socket
from collections.abc import Callable

import pytest
from sqlalchemy import create_engine, text

from orth.errors import Invalid, StoreUnavailable
from orth.store import foreign_tables
from orth.store.engines import read_url
from orth.store.foreign_tables import read_foreign_tables

Execute = Callable[[str], None]


@pytest.fixture
def execute(mariadb_url: str) -> Execute:
    """Run statements in a database that looks like that of an xxl-job."""
    engine = create_engine(read_url(mariadb_url))

    def execute(statements: str) -> None:
        with engine.begin() as connection:
            for statement in statements.split(";"):
                connection.execute(text(statement))
        engine.dispose()

    execute("CREATE TABLE xxl_job_group (id int, app_name text); CREATE TABLE xxl_job_info (id int, anything json)")
    return execute


def test_rows_come_in_order_under_the_names_they_have(mariadb_url: str, execute: Execute) -> None:
    execute("""INSERT INTO xxl_job_info VALUES (2, '{}'), (1, NULL); CREATE TABLE xxl_job_user (id int, username text);
               INSERT INTO xxl_job_user VALUES (1, 'li')""")
    found = read_foreign_tables(mariadb_url)
    assert (found.prefix, found.groups, found.scripts) == ("xxl_job_", [], [])
    assert found.jobs == [{"id": 1, "anything": None}, {"id": 2, "anything": "{}"}]
    assert found.users == [{"id": 1, "username": "li"}]


def test_a_table_without_end_is_refused(mariadb_url: str, execute: Execute, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_tables, "ROWS_LIMIT", 2)
    execute("INSERT INTO xxl_job_group VALUES (1, 'a'), (2, 'b')")
    assert len(read_foreign_tables(mariadb_url).groups) == 2
    execute("INSERT INTO xxl_job_group VALUES (3, 'c')")
    with pytest.raises(Invalid, match="xxl_job_group has more than 2 rows"):
        read_foreign_tables(mariadb_url)


def test_views_are_not_taken_for_tables(mariadb_url: str, execute: Execute) -> None:
    execute("DROP TABLE xxl_job_group; CREATE VIEW xxl_job_group AS SELECT 1 AS id")
    with pytest.raises(Invalid, match="no xxl-job tables"):
        read_foreign_tables(mariadb_url)


def test_a_server_that_never_speaks_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_tables, "_SILENCE", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"mysql://root:secret@127.0.0.1:{silent.getsockname()[1]}/xxl_job"
        with pytest.raises(StoreUnavailable, match="it accepted the connection and said nothing for 1 s") as told:
            read_foreign_tables(address)
    assert "secret" not in str(told.value)
