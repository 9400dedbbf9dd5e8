"""What no database can keep is refused before it is sent, and no error repeats what was."""

from typing import Any

import pytest
from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import DBAPIError

from orth.errors import Invalid
from orth.store.database import Database
from orth.store.engines import among, insert_all, insert_new, update_many, upsert
from orth.store.groups import find_group
from orth.store.tables import registry
from orth.store.unstorable import is_storable
from tests.store.builders import NOW

UNSTORABLE = ("a\x00b", "\x00", "\ud800", "é\udfff")
HERE = {"registry_group": "EXECUTOR", "registry_key": "reports", "update_time": NOW, "extensions": ""}


@pytest.mark.parametrize("text", UNSTORABLE)
@pytest.mark.parametrize("shape", [lambda text: (1, text), lambda text: {"a": text}, lambda text: [(b"", ["x", text])]])
def test_a_text_is_found_wherever_it_stands(text: str, shape: Any) -> None:
    assert not is_storable(shape(text))
    assert is_storable(shape("plain, é and 😀"))


@pytest.mark.parametrize("text", UNSTORABLE)
def test_it_is_refused_and_the_transaction_goes_on(db: Database, text: str) -> None:
    with db.engine.begin() as connection:
        with pytest.raises(Invalid) as refusal:
            find_group(connection, text)
        assert (refusal.value.status, refusal.value.code) == (422, "text_unstorable")
        connection.execute(insert(registry), [{**HERE, "registry_value": "http://h:1"}])
    with db.engine.connect() as connection:
        assert connection.scalars(select(registry.c.registry_value)).all() == ["http://h:1"]


def _each_way_to_write(connection: Connection, text: str) -> list[Any]:
    rows = [{**HERE, "registry_value": f"http://h:{port}"} for port in (1, 2)]
    rows[1]["registry_value"] = text
    return [
        lambda: insert_all(connection, registry, rows),
        lambda: insert_new(connection, registry, rows),
        lambda: upsert(connection, registry, rows, ("registry_group", "registry_key", "registry_value")),
        lambda: update_many(connection, registry, ("registry_value",), rows),
        lambda: connection.execute(select(registry).where(among(connection, registry.c.registry_value, ["a", text]))),
    ]


@pytest.mark.parametrize("text", ["\x00", "\ud800"])
def test_it_is_refused_in_whatever_form_rows_are_sent(db: Database, text: str) -> None:
    with db.engine.begin() as connection:
        for write in _each_way_to_write(connection, text):
            with pytest.raises(Invalid):
                write()
        assert connection.execute(select(registry)).all() == []


def test_an_error_does_not_repeat_values(db: Database) -> None:
    row = {**HERE, "registry_value": "http://what-nobody-may-read:1"}
    with pytest.raises(DBAPIError) as error, db.engine.begin() as connection:
        connection.execute(insert(registry), [row | {"update_time": None}])
    assert "INSERT" in str(error.value)
    assert "nobody-may-read" not in str(error.value).partition("[SQL")[2]
