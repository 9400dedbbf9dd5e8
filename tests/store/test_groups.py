"""Groups: one per app name, their addresses written by people or by the registry."""

import asyncio
from dataclasses import replace

import pytest

from orth.domain.jobs import AddressType, Group
from orth.errors import Conflict, NotFound
from orth.store.database import Database
from orth.store.groups import (
    count_empty_groups,
    create_group,
    delete_group,
    get_group,
    groups_by_id,
    list_groups,
    set_automatic_addresses,
    set_group,
)
from orth.store.jobs import create_job
from tests.store.builders import NOW, a_group, a_job, on_servers, open_some, stored_group, until_blocked


async def test_a_group_comes_back_as_it_was_stored(db: Database) -> None:
    group = Group(0, "größer-🚀", "Zähler", AddressType.MANUAL, ("http://10.0.0.1:9999", "http://10.0.0.2:9999"))
    number = await db.tx(create_group, group, NOW)
    assert await db.read(get_group, number) == replace(group, id=number)


async def test_groups_without_an_address_are_counted(db: Database) -> None:
    assert await db.read(count_empty_groups) == 0
    await stored_group(db, "nobody")
    await stored_group(db, "somebody")
    assert await db.read(count_empty_groups) == 2
    await db.tx(set_automatic_addresses, "somebody", ["http://10.0.0.1:9999"], NOW)
    assert await db.read(count_empty_groups) == 1


async def test_an_app_name_is_taken_once(db: Database) -> None:
    first = await stored_group(db, "app")
    with pytest.raises(Conflict, match="'app'"):
        await db.tx(create_group, a_group("app", title="Another"), NOW)
    assert [group.id for group in await db.read(list_groups, 0, 10)] == [first]


async def test_names_that_differ_in_case_or_accent_are_different(db: Database) -> None:
    names = ["app", "App", "äpp", "app2"]
    ids = [await stored_group(db, name) for name in names]
    found = await db.read(groups_by_id, set(ids))
    assert [found[one].app_name for one in ids] == names


async def test_of_many_who_create_the_same_group_one_succeeds(db: Database, peer: Database) -> None:
    tries = [node.tx(create_group, a_group("app"), NOW) for node in (db, peer) * 4]
    results = await asyncio.gather(*tries, return_exceptions=True)
    assert sum(isinstance(result, int) for result in results) == 1
    assert sum(isinstance(result, Conflict) for result in results) == 7


@on_servers
async def test_a_name_given_up_in_the_same_moment_can_be_taken(db: Database, peer: Database) -> None:
    """Two who wait for a third that is undone: one of them gets the name, the other a clear answer."""
    with db.engine.connect() as connection:
        transaction = connection.begin()
        create_group(connection, a_group("app"), NOW)
        others = [asyncio.create_task(peer.tx(create_group, a_group("app"), NOW)) for _ in range(2)]
        await until_blocked(db, 2)
        transaction.rollback()
    results = await asyncio.gather(*others, return_exceptions=True)
    assert {type(result) for result in results} == {int, Conflict}


async def test_what_does_not_exist_is_not_found(db: Database) -> None:
    for call in (
        db.read(get_group, 404),
        db.tx(set_group, a_group(id=404), NOW),
        db.tx(delete_group, 404),
    ):
        with pytest.raises(NotFound, match="no group 404"):
            await call
    assert await db.read(groups_by_id, {404}) == {}
    assert await db.read(groups_by_id, set()) == {}


async def test_groups_are_listed_by_id_page_by_page(db: Database) -> None:
    ids = [await stored_group(db, f"app-{number}") for number in range(5)]
    first = [group.id for group in await db.read(list_groups, 0, 3)]
    rest = [group.id for group in await db.read(list_groups, first[-1], 3)]
    assert (first, rest) == (ids[:3], ids[3:])


async def test_an_edit_changes_title_and_addresses_but_not_the_name(db: Database) -> None:
    number = await stored_group(db, "app")
    edited = Group(number, "other", "New", AddressType.MANUAL, ("http://a:1",))
    for _ in range(2):  # an edit that changes nothing is an edit too
        await db.tx(set_group, edited, NOW)
        assert await db.read(get_group, number) == replace(edited, app_name="app")


async def test_only_automatic_lists_follow_the_registry(db: Database) -> None:
    automatic = await stored_group(db, "auto")
    manual = await stored_group(db, "manual", address_type=AddressType.MANUAL, addresses=("http://m:1",))
    for name in ("auto", "manual", "nobody"):
        await db.tx(set_automatic_addresses, name, ["http://a:1", "http://b:1"], NOW)
    assert (await db.read(get_group, automatic)).addresses == ("http://a:1", "http://b:1")
    assert (await db.read(get_group, manual)).addresses == ("http://m:1",)
    await db.tx(set_automatic_addresses, "auto", [], NOW)
    assert (await db.read(get_group, automatic)).addresses == ()


async def test_an_edit_of_an_automatic_group_leaves_its_list_to_the_registry(db: Database) -> None:
    number = await stored_group(db, "auto")
    await db.tx(set_automatic_addresses, "auto", ["http://a:1"], NOW)
    await db.tx(set_group, a_group("auto", id=number, title="New", addresses=("http://stale:1",)), NOW)
    assert (await db.read(get_group, number)).addresses == ("http://a:1",)


async def test_a_group_with_jobs_stays(db: Database) -> None:
    number = await stored_group(db, "reports")
    await db.tx(create_job, a_job(number), NOW)
    with pytest.raises(Conflict, match="Group reports still has jobs"):
        await db.tx(delete_group, number)
    empty = await stored_group(db, "empty")
    await db.tx(delete_group, empty)
    assert [group.id for group in await db.read(list_groups, 0, 10)] == [number]


async def test_a_group_is_not_deleted_under_a_job_that_is_being_created(db: Database, peer: Database) -> None:
    for turn in range(5):
        number = await stored_group(db, f"app-{turn}")
        created, deleted = await asyncio.gather(
            db.tx(create_job, a_job(number), NOW), peer.tx(delete_group, number), return_exceptions=True
        )
        # Whoever comes first, the other is refused: a job without a group never exists.
        assert (isinstance(created, int), type(deleted)) in [(True, Conflict), (False, type(None))]
        assert isinstance(created, int | NotFound)


async def test_a_group_with_an_open_execution_stays(db: Database) -> None:
    group = await stored_group(db, "app")
    await db.tx(open_some, 1, job_group=group)
    with pytest.raises(Conflict, match="has not ended"):
        await db.tx(delete_group, group)
    assert (await db.read(get_group, group)).id == group
