"""Users and shared secrets: the first to store one decides, and everybody learns the same."""

import asyncio

import pytest

from orth.domain.access import Rights, Role
from orth.errors import NotFound
from orth.store.database import Connection, Database
from orth.store.groups import delete_group
from orth.store.users import (
    add_user,
    find_user,
    get_user,
    hold_admins,
    hold_groups,
    hold_user,
    list_users,
    remove_user,
    set_disabled,
    set_grants,
    set_password,
    set_role,
    shared_secret,
)
from tests.store.builders import NOW, on_servers, stored_group, until_blocked


async def test_a_user_comes_back_as_stored(db: Database) -> None:
    assert await db.tx(add_user, "ada", "hash-1", "admin", NOW)
    user = await db.read(find_user, "ada")
    assert user is not None
    assert (user.username, user.password, user.password_version, user.role) == ("ada", "hash-1", 1, "admin")
    assert await db.read(find_user, "Ada") is None


@pytest.mark.parametrize("name", ["ada ", "ada  ", " ada", "ADA", "adá", "ada\u00a0"])
async def test_a_user_is_found_by_that_very_name(db: Database, name: str) -> None:
    """MariaDB compares as if spaces at the end were not there, and tries to sign in are counted by what was typed."""
    await db.tx(add_user, "ada", "hash-1", "admin", NOW)
    assert await db.read(find_user, name) is None
    assert await db.read(list_users, 0, 10, name) == []
    stored = await db.tx(add_user, name, "hash-2", "viewer", NOW)
    found = await db.read(find_user, name)
    assert (found is not None) == stored, "where it cannot be stored beside the other, nobody is made"
    ada = await db.read(find_user, "ada")
    assert ada is not None
    assert (ada.password, ada.role) == ("hash-1", "admin")


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


async def added(db: Database, username: str, role: str = "") -> int:
    await db.tx(add_user, username, "hash", role, NOW)
    user = await db.read(find_user, username)
    assert user is not None
    return user.id


async def test_what_somebody_may_is_a_role_everywhere_and_others_in_groups(db: Database) -> None:
    ada = await added(db, "ada", "viewer")
    group, other = await stored_group(db, "reports"), await stored_group(db, "invoices")
    await db.tx(set_grants, ada, {group: Role.EDITOR, other: Role.OPERATOR})
    await db.tx(set_grants, ada, {group: Role.ADMIN})
    user = await db.read(get_user, ada)
    assert user.rights == Rights(Role.VIEWER, {group: Role.ADMIN})
    assert user == await db.read(find_user, "ada") == await db.tx(hold_user, ada)
    await db.tx(set_role, ada, None, NOW)
    assert (await db.read(get_user, ada)).rights == Rights(None, {group: Role.ADMIN})


async def test_users_are_listed_with_their_grants(db: Database) -> None:
    ids = [await added(db, name, role) for name, role in (("ada", "admin"), ("bob", ""), ("eve", "owner"))]
    group = await stored_group(db)
    await db.tx(set_grants, ids[1], {group: Role.VIEWER})
    listed = await db.read(list_users, 0, 10)
    assert [(one.id, one.rights) for one in listed] == [
        (ids[0], Rights(Role.ADMIN)),
        (ids[1], Rights(None, {group: Role.VIEWER})),
        (ids[2], Rights(None)),  # a role of a version to come grants nothing
    ]
    assert await db.read(list_users, ids[0], 1) == listed[1:2]


async def test_whoever_is_removed_leaves_no_grants(db: Database) -> None:
    ada, group = await added(db, "ada"), await stored_group(db)
    await db.tx(set_grants, ada, {group: Role.VIEWER})
    await db.tx(remove_user, ada)
    for gone in (get_user, hold_user, remove_user):
        with pytest.raises(NotFound):
            await db.tx(gone, ada)
    assert (await db.read(get_user, await added(db, "ada"))).grants == {}


async def test_a_group_that_is_deleted_leaves_no_grants(db: Database) -> None:
    ada, group = await added(db, "ada"), await stored_group(db)
    await db.tx(set_grants, ada, {group: Role.VIEWER})
    assert await db.tx(hold_groups, [group, 99999]) == {group}
    await db.tx(delete_group, group)
    assert (await db.read(get_user, ada)).grants == {}


async def test_administrators_are_those_who_may_sign_in(db: Database) -> None:
    ada, bob, _eve = [await added(db, name, role) for name, role in (("ada", "admin"), ("bob", "admin"), ("eve", ""))]
    assert await db.tx(hold_admins) == {ada, bob}
    await db.tx(set_disabled, bob, NOW, NOW)
    assert await db.tx(hold_admins) == {ada}
    await db.tx(set_disabled, bob, None, NOW)
    assert await db.tx(hold_admins) == {ada, bob}


def demote_if_another_is_left(connection: Connection, user_id: int) -> bool:
    left = hold_admins(connection) - {user_id}
    if left:
        set_role(connection, user_id, None, NOW)
    return bool(left)


@on_servers
async def test_two_administrators_cannot_take_each_other_away(db: Database, peer: Database) -> None:
    ada, bob = await added(db, "ada", "admin"), await added(db, "bob", "admin")
    with db.engine.begin() as connection:
        assert demote_if_another_is_left(connection, ada)
        waiting = asyncio.ensure_future(peer.tx(demote_if_another_is_left, bob))
        await until_blocked(db)
    assert not await waiting
    assert await db.tx(hold_admins) == {bob}
