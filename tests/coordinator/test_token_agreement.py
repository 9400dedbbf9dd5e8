"""All coordinators of a database have one access token, whenever they start and however long they were silent."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orth.coordinator.token_agreement import TokenAgreement, agreed_tokens
from orth.errors import CannotStart
from orth.settings import Settings
from orth.settings.sections import SecuritySection
from orth.store.database import Connection, Database, open_database
from orth.store.nodes import Beat, Load, NodeState, Role, join
from orth.store.users import find_secret
from orth.testing.stores import prepare_store

NOW = 1_700_000_000_000


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    url = f"sqlite:///{tmp_path / 'orth.db'}"
    prepare_store(url)
    with open_database(url) as opened:
        yield opened


async def agreement(node: str, token: str, previous: str | None = None) -> TokenAgreement:
    settings = Settings(security=SecuritySection(access_token=token, access_token_previous=previous))
    return await TokenAgreement.of(settings, node, token)


def enter(connection: Connection, one: TokenAgreement, now: int) -> None:
    said = Beat(one.node_id, "i", f"http://{one.node_id}", Role.FOLLOWER, NodeState.ACTIVE, Load(), "host", 1, "0")
    join(connection, said, now)
    one.settle(connection, now)


async def start_with(db: Database, node: str, token: str, previous: str | None = None, now: int = NOW) -> None:
    one = await agreement(node, token, previous)
    await db.read(one.check, now)
    await db.tx(enter, one, now)


async def test_two_coordinators_have_one_access_token(db: Database) -> None:
    await start_with(db, "one", "a")
    await start_with(db, "two", "a")
    with pytest.raises(CannotStart, match=r"another access token than the coordinators .* \(one, two\)") as refused:
        await start_with(db, "three", "b")
    assert "ORTH_SECURITY__ACCESS_TOKEN" in str(refused.value)
    assert "access-token" in str(refused.value)
    stored = await db.read(find_secret, "access-token-digests")
    assert stored is not None
    assert stored != "a"
    assert len(stored) == 32


async def test_one_of_two_that_start_at_once_is_refused(db: Database) -> None:
    """Both have passed the check before either of them has entered."""
    first, second = await agreement("one", "a"), await agreement("two", "b")
    for one in (first, second):
        await db.read(one.check, NOW)
    await db.tx(enter, first, NOW)
    with pytest.raises(CannotStart, match=r"another access token than the coordinators .* \(one\)"):
        await db.tx(enter, second, NOW)
    await start_with(db, "three", "a")


async def test_a_check_changes_nothing(db: Database) -> None:
    await start_with(db, "one", "a")
    before = await db.read(find_secret, "access-token-digests")
    await db.read((await agreement("two", "b")).check, NOW + 61_000)
    assert await db.read(find_secret, "access-token-digests") == before


async def test_the_access_token_is_changed_node_by_node(db: Database) -> None:
    for node in ("one", "two"):
        await start_with(db, node, "old")
    await start_with(db, "one", "new", "old")
    await start_with(db, "two", "old")  # it crashed before its turn
    await start_with(db, "two", "new", "old")
    for node in ("one", "two"):
        await start_with(db, node, "new")
    with pytest.raises(CannotStart, match="another access token"):
        await start_with(db, "three", "old")


async def test_who_is_alone_changes_the_access_token_at_once(db: Database) -> None:
    await start_with(db, "one", "old")
    await start_with(db, "one", "new")
    later = NOW + 61_000
    await start_with(db, "two", "another", now=later)
    with pytest.raises(CannotStart, match="another access token"):
        await start_with(db, "one", "new", now=later)


@pytest.mark.parametrize(
    ("known", "own", "alone", "stored"),
    [
        (["a"], ["a"], False, ["a"]),
        (["a"], ["b"], False, None),
        (["a"], ["b"], True, ["b"]),
        (["a"], ["b", "a"], False, ["b", "a"]),
        (["b", "a"], ["a"], False, ["b", "a"]),
        (["b", "a"], ["b"], False, ["b"]),
        (["b", "a"], ["c"], False, None),
    ],
)
def test_the_tokens_that_are_stored(known: list[str], own: list[str], alone: bool, stored: list[str] | None) -> None:
    assert agreed_tokens(known, own, alone=alone) == stored
