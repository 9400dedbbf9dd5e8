"""What people chose for the console: theirs alone, merged name by name, and gone with them."""

import asyncio

import pytest
from sqlalchemy import select

from orth.errors import NotFound
from orth.store.access_tables import user_preferences
from orth.store.database import Connection, Database
from orth.store.preferences import change_preferences, preferences_of
from orth.store.users import add_user, find_user, remove_user
from tests.store.builders import NOW


async def added(db: Database, name: str) -> int:
    await db.tx(add_user, name, "hash", "viewer", NOW)
    user = await db.read(find_user, name)
    assert user is not None
    return user.id


async def test_choices_are_written_over_name_by_name(db: Database) -> None:
    ada, bob = await added(db, "ada"), await added(db, "bob")
    assert await db.read(preferences_of, "ada") == {}
    assert await db.tx(change_preferences, ada, {"theme": "dark", "zone": "Europe/Zürich"}, NOW) == {
        "theme": "dark",
        "zone": "Europe/Zürich",
    }
    await db.tx(change_preferences, ada, {"theme": "light", "views": [{"name": "é 视图"}]}, NOW)
    await db.tx(change_preferences, ada, {"zone": None}, NOW)
    await db.tx(change_preferences, bob, {"theme": "system"}, NOW)
    assert await db.read(preferences_of, "ada") == {"theme": "light", "views": [{"name": "é 视图"}]}
    assert await db.read(preferences_of, "bob") == {"theme": "system"}


async def test_two_browsers_at_once_lose_no_choice(db: Database) -> None:
    ada = await added(db, "ada")
    names = [f"choice{number}" for number in range(8)]
    await asyncio.gather(*(db.tx(change_preferences, ada, {name: True}, NOW) for name in names))
    assert await db.read(preferences_of, "ada") == dict.fromkeys(names, True)


async def test_nothing_is_kept_for_who_is_gone(db: Database) -> None:
    ada = await added(db, "ada")
    await db.tx(change_preferences, ada, {"theme": "dark"}, NOW)
    await db.tx(remove_user, ada)
    with pytest.raises(NotFound):
        await db.tx(change_preferences, ada, {"theme": "light"}, NOW)

    def rows(connection: Connection) -> list[int]:
        return list(connection.scalars(select(user_preferences.c.user_id)))

    assert await db.read(rows) == []
