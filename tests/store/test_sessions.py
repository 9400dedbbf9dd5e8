"""Sessions in each kind of database: good until they are over, with their user, and never too many."""

import asyncio
from dataclasses import replace

from orth.domain.access import Role
from orth.domain.sessions import Session, SessionKind, Way
from orth.store.database import Connection, Database
from orth.store.sessions import (
    MOST_OF_ONE_USER,
    add_session,
    carry_over,
    drop_stale_sessions,
    end_session,
    end_sessions,
    find_signed_in,
    good_sessions,
    hold_session,
    newest_origins,
    note_use,
    replace_secret,
    sessions_of,
)
from orth.store.users import add_user, find_user, remove_user, set_disabled, set_password
from tests.store.builders import NOW

LATER = NOW + 1000


async def user_id(db: Database, name: str = "ada") -> int:
    await db.tx(add_user, name, "hash", "viewer", NOW)
    user = await db.read(find_user, name)
    assert user is not None
    return user.id


def session(user: int, name: str = "s", **changed: object) -> Session:
    made = Session(
        id=name,
        user_id=user,
        kind=SessionKind.TOKENS,
        way=Way.PASSWORD,
        password_version=1,
        digest="d" * 64,
        created_at=NOW,
        seen_at=NOW,
        idle_until=LATER,
        expires_at=LATER + 1000,
        address="203.0.113.7",
        agent="curl/8 é",
    )
    return replace(made, **changed)  # type: ignore[arg-type]  # any of its fields


async def test_origins_of_the_newest_sessions_come_in_the_order_of_their_age(db: Database) -> None:
    ada, bob = await user_id(db), await user_id(db, "bob")
    for number, user in enumerate((ada, bob, ada)):
        made = session(user, f"s{number}", created_at=NOW + number, address=f"203.0.113.{number}")
        await db.tx(add_session, made)
    assert await db.read(newest_origins, 2) == [("203.0.113.1", "bob"), ("203.0.113.2", "ada")]


async def test_a_session_comes_back_as_stored_with_its_user(db: Database) -> None:
    made = session(await user_id(db))
    await db.tx(add_session, made)
    found = await db.read(find_signed_in, "s", NOW)
    assert found is not None
    assert found.session == made
    assert (found.user.username, found.user.rights.everywhere) == ("ada", Role.VIEWER)
    assert await db.read(find_signed_in, "S", NOW) is None
    assert await db.read(find_signed_in, "", NOW) is None


async def test_it_is_over_when_idle_too_long_too_old_or_without_its_user(db: Database) -> None:
    user = await user_id(db)
    await db.tx(add_session, session(user, "idle", idle_until=NOW))
    await db.tx(add_session, session(user, "old", expires_at=NOW))
    await db.tx(add_session, session(user, "password", password_version=2))
    await db.tx(add_session, session(user + 1, "nobody's"))
    await db.tx(add_session, session(user, "good", idle_until=NOW + 1))
    names = ["idle", "old", "password", "nobody's", "good", "none"]
    assert await db.read(good_sessions, names, NOW) == {"good"}
    assert [await db.read(find_signed_in, name, NOW) is not None for name in names] == [False] * 4 + [True, False]
    assert [one.id for one in await db.read(sessions_of, user, NOW)] == ["good"]
    await db.tx(set_disabled, user, NOW, NOW)
    assert await db.read(good_sessions, names, NOW) == set()


async def test_many_are_asked_about_at_once(db: Database) -> None:
    await db.tx(add_session, session(await user_id(db), "good"))
    assert await db.read(good_sessions, [f"none-{n}" for n in range(1200)] + ["good"], NOW) == {"good"}
    assert await db.read(good_sessions, [], NOW) == set()


async def test_a_changed_password_ends_all_but_the_one_that_is_carried_over(db: Database) -> None:
    user = await user_id(db)
    for name in ("here", "there"):
        await db.tx(add_session, session(user, name))
    await db.tx(set_password, "ada", "another", NOW)
    assert await db.read(good_sessions, ["here", "there"], NOW) == set()
    await db.tx(carry_over, "here", 2)
    assert await db.read(good_sessions, ["here", "there"], NOW) == {"here"}


async def test_a_secret_is_replaced_and_use_is_noted(db: Database) -> None:
    made = session(await user_id(db))
    await db.tx(add_session, made)
    await db.tx(replace_secret, made, "e" * 64, "f" * 64, now=NOW + 5, idle_until=LATER + 5)
    held = await db.tx(hold_session, "s")
    assert held == replace(
        made,
        digest="e" * 64,
        previous_digest=made.digest,
        successor="f" * 64,
        generation=2,
        replaced_at=NOW + 5,
        seen_at=NOW + 5,
        idle_until=LATER + 5,
    )
    await db.tx(note_use, "s", now=NOW + 9, idle_until=LATER + 9)
    again = await db.tx(hold_session, "s")
    assert again is not None
    assert (again.seen_at, again.idle_until) == (NOW + 9, LATER + 9)
    assert await db.tx(hold_session, "none") is None


async def test_one_ends_only_ones_own(db: Database) -> None:
    ada, bob = await user_id(db), await user_id(db, "bob")
    for name, user in (("a1", ada), ("a2", ada), ("a3", ada), ("b1", bob)):
        await db.tx(add_session, session(user, name))
    assert not await db.tx(end_session, "b1", ada)
    assert await db.tx(end_session, "a1", ada)
    assert not await db.tx(end_session, "a1", ada)
    assert await db.tx(end_sessions, ada, but="a2") == ["a3"]
    assert await db.read(good_sessions, ["a1", "a2", "a3", "b1"], NOW) == {"a2", "b1"}
    assert sorted(await db.tx(end_sessions, bob)) == ["b1"]


async def test_sessions_go_with_their_user(db: Database) -> None:
    user = await user_id(db)
    await db.tx(add_session, session(user))
    await db.tx(remove_user, user)
    assert await db.tx(hold_session, "s") is None


async def test_the_oldest_make_room(db: Database) -> None:
    user = await user_id(db)
    for number in range(MOST_OF_ONE_USER + 3):
        await db.tx(add_session, session(user, f"s{number}", created_at=NOW + number // 50))
    left = {one.id for one in await db.read(sessions_of, user, NOW)}
    assert len(left) == MOST_OF_ONE_USER
    assert {f"s{number}" for number in range(50, MOST_OF_ONE_USER + 3)} <= left


async def test_what_is_over_is_removed_a_little_at_a_time(db: Database) -> None:
    user = await user_id(db)
    for number in range(5):
        await db.tx(add_session, session(user, f"s{number}", idle_until=NOW + number))
    await db.tx(drop_stale_sessions, NOW + 3, 2)
    assert [await db.tx(hold_session, f"s{number}") is None for number in range(5)] == [True] * 2 + [False] * 3
    await db.tx(drop_stale_sessions, NOW + 3)
    assert await db.tx(hold_session, "s3") is None
    assert await db.tx(hold_session, "s4") is not None


async def test_of_many_who_replace_a_secret_each_sees_the_one_before(db: Database, peer: Database) -> None:
    await db.tx(add_session, session(await user_id(db)))

    def replace_it(connection: Connection, number: int) -> int:
        held = hold_session(connection, "s")
        assert held is not None
        replace_secret(connection, held, f"{number:064}", "", now=NOW, idle_until=LATER)
        return held.generation

    seen = await asyncio.gather(*((db, peer)[n % 2].tx(replace_it, n) for n in range(10)))
    assert sorted(seen) == list(range(1, 11))
