"""Users and shared secrets: the first to store one decides, and everybody learns the same."""

import asyncio

from orth.store.database import Database
from orth.store.users import add_user, find_user, set_password, shared_secret
from tests.store.builders import NOW


async def test_a_user_comes_back_as_stored(db: Database) -> None:
    assert await db.tx(add_user, "ada", "hash-1", "admin", NOW)
    user = await db.read(find_user, "ada")
    assert user is not None
    assert (user.username, user.password, user.password_version, user.role) == ("ada", "hash-1", 1, "admin")
    assert await db.read(find_user, "Ada") is None


async def test_a_user_who_exists_keeps_the_password(db: Database) -> None:
    await db.tx(add_user, "ada", "hash-1", "admin", NOW)
    assert not await db.tx(add_user, "ada", "hash-2", "viewer", NOW)
    user = await db.read(find_user, "ada")
    assert user is not None
    assert (user.password, user.role) == ("hash-1", "admin")


async def test_of_many_nodes_that_add_the_first_user_one_does(db: Database, peer: Database) -> None:
    hashes = [f"hash-{number}" for number in range(8)]
    added = await asyncio.gather(
        *((db, peer)[n % 2].tx(add_user, "admin", password, "admin", NOW) for n, password in enumerate(hashes))
    )
    assert added.count(True) == 1
    user = await db.read(find_user, "admin")
    assert user is not None
    assert user.password == hashes[added.index(True)]


async def test_a_new_password_is_a_new_version(db: Database) -> None:
    await db.tx(add_user, "ada", "hash-1", "admin", NOW)
    assert await db.tx(set_password, "ada", "hash-2", NOW)
    assert await db.tx(set_password, "ada", "hash-2", NOW)
    user = await db.read(find_user, "ada")
    assert user is not None
    assert (user.password, user.password_version) == ("hash-2", 3)
    assert not await db.tx(set_password, "nobody", "hash", NOW)


async def test_a_secret_is_stored_once(db: Database) -> None:
    assert await db.tx(shared_secret, "signing", "first", NOW) == "first"
    assert await db.tx(shared_secret, "signing", "second", NOW) == "first"
    assert await db.tx(shared_secret, "other", "second", NOW) == "second"


async def test_all_nodes_agree_on_one_secret(db: Database, peer: Database) -> None:
    proposals = [f"secret-{number}" for number in range(8)]
    agreed = await asyncio.gather(
        *((db, peer)[n % 2].tx(shared_secret, "signing", proposal, NOW) for n, proposal in enumerate(proposals))
    )
    assert len(set(agreed)) == 1
    assert agreed[0] in proposals
