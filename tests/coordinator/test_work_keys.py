"""Work keys at coordinators: kept sealed, looked up for the process that answers, and fought over."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from orth.clock import SystemClock
from orth.coordinator.executor_keys import ExecutorKeys
from orth.coordinator.facts import AddressContested
from orth.coordinator.roster import Roster
from orth.coordinator.sealing import Sealing
from orth.coordinator.work_keys import WorkKeys
from orth.domain.jobs import AddressType, Group
from orth.domain.nodes import ExecutorEntry
from orth.executor.handlers import Handlers
from orth.store.database import Database, open_database
from orth.store.executor_entries import list_executors
from orth.store.groups import create_group
from orth.store.registry import Beat, record_beats
from orth.testing import Cluster
from orth.testing.stores import prepare_store
from orth.wire.credentials import Credential
from orth.wire.messages import Announcement, Extension, RegistryRequest
from orth.wire.signatures import key_of
from orth.wire.work_keys import new_work_key, work_key_of

TOKEN, ADDRESS = "shared-by-all-executors", "http://10.0.0.7:9999"
FIRST, SECOND, THIEFS = new_work_key(), new_work_key(), new_work_key()
UNKNOWN = Credential(TOKEN, signed=True, hidden="token_not_shown")
"""What is shown at an address that a group lists."""


def beat(incarnation: str, work_key: str | None) -> RegistryRequest:
    said = Announcement(incarnation=incarnation, extensions=("signed",), work_key=work_key)
    return RegistryRequest(registry_key="demo", registry_value=ADDRESS, orth=said)


# --- kept


def test_what_is_sealed_is_its_own_process_s() -> None:
    keys = WorkKeys(Sealing.fresh())
    entry = ExecutorEntry("demo", ADDRESS, 0, "one", work_key=keys.sealed("demo", ADDRESS, "one", FIRST, None))
    assert keys.opened(entry) == FIRST
    assert FIRST not in str(entry.work_key)
    for other in (
        replace(entry, incarnation="two"),
        replace(entry, app_name="other"),
        replace(entry, address="http://10.0.0.8:9999"),
        replace(entry, work_key=None),
        replace(entry, work_key="orth1:nonsense"),
    ):
        assert keys.opened(other) is None
    assert WorkKeys(Sealing.fresh()).opened(entry) is None


def test_a_work_key_that_is_known_is_not_sealed_anew() -> None:
    keys = WorkKeys(Sealing.fresh())
    known = ExecutorEntry("demo", ADDRESS, 0, "one", work_key=keys.sealed("demo", ADDRESS, "one", FIRST, None))
    assert keys.sealed("demo", ADDRESS, "one", FIRST, known) == known.work_key
    assert keys.sealed("demo", ADDRESS, "one", SECOND, known) != known.work_key
    assert keys.sealed("demo", ADDRESS, "two", FIRST, known) != known.work_key


def test_a_seal_of_the_master_key_before_is_replaced() -> None:
    old, new = b"o" * 32, b"n" * 32
    text = WorkKeys(Sealing(old)).sealed("demo", ADDRESS, "one", FIRST, None)
    known, keys = ExecutorEntry("demo", ADDRESS, 0, "one", work_key=text), WorkKeys(Sealing(new, old))
    assert keys.opened(known) == FIRST
    anew = keys.sealed("demo", ADDRESS, "one", FIRST, known)
    assert WorkKeys(Sealing(new)).opened(replace(known, work_key=anew)) == FIRST


# --- beats


async def test_the_next_beat_of_the_true_process_sets_it_right(tmp_path: Path) -> None:
    """Somebody with the token of the app registers its address, with its incarnation or another one."""
    async with Cluster(tmp_path, Handlers("demo"), executors=0) as cluster:
        node, keys = cluster.coordinators[0], WorkKeys(cluster.coordinators[0].given.sealing)

        async def stored() -> tuple[str | None, str | None]:
            (entry,) = await cluster.db.read(list_executors)
            return entry.incarnation, keys.opened(entry)

        take = node.presence.registrations
        assert not await take.beat(beat("true", FIRST))
        assert not await take.beat(beat("true", FIRST))
        for thief in ("true", "thief"):
            await take.beat(beat(thief, THIEFS))
            assert await stored() == (thief, THIEFS)
            assert await take.beat(beat("true", FIRST))
            assert await stored() == ("true", FIRST)
        assert {one.address for one in cluster.recorder.all(AddressContested)} == {ADDRESS}


async def test_a_restart_is_no_contest(tmp_path: Path) -> None:
    async with Cluster(tmp_path, Handlers("demo"), executors=0) as cluster:
        take = cluster.coordinators[0].presence.registrations
        for incarnation, work_key in (
            ("one", FIRST),
            ("two", SECOND),
            ("two", SECOND),
            ("three", THIEFS),
            ("old", None),
        ):
            assert not await take.beat(beat(incarnation, work_key))
        (entry,) = await cluster.db.read(list_executors)
        assert entry.work_key is None, "one that tells none has none"


def test_what_another_coordinator_wrote_makes_the_next_beat_a_whole_one() -> None:
    """Otherwise the key of a thief that registered elsewhere would stay."""
    roster = Roster(SystemClock(), dead_after=90)
    mine = ExecutorEntry("demo", ADDRESS, 1, "true", work_key="sealed")
    roster.stored(mine, 7, row=3)
    assert roster.last_stored("demo", ADDRESS, 7) is not None
    # With the same time: a beat that only repeats writes nothing else into the row of the other.
    for seen in (replace(mine, last_beat=2, work_key="sealed by another"), replace(mine, incarnation="x")):
        roster.stored(mine, 7, row=3)
        roster.begin_look()
        roster.follow([seen])
        assert roster.last_stored("demo", ADDRESS, 7) is None
    assert roster.comes_back("demo", ADDRESS, "true")
    assert not roster.comes_back("demo", ADDRESS, "a new one")


# --- what a process is asked with


class Place:
    """A store, and the keys as one coordinator knows them, whose roster may be behind."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.sealing = Sealing.fresh()
        self.clock = SystemClock()
        self.keys = ExecutorKeys(db, self.clock, self.sealing, (TOKEN,))
        self.roster = Roster(self.clock, dead_after=90)
        self.keys.follow(self.roster)

    async def registered(self, incarnation: str, work_key: str, *, heard: bool) -> None:
        """A beat, taken by this coordinator or by another one; whoever was there before is gone, as far as it knew."""
        text = WorkKeys(self.sealing).sealed("demo", ADDRESS, incarnation, work_key, None)
        extensions, key_id = frozenset({Extension.SIGNED, Extension.WORK_KEY}), key_of(TOKEN).id
        before = next(iter(await self.db.read(list_executors)), None)
        instead_of = None if before is None else before.work_key
        said = Beat("demo", ADDRESS, incarnation, extensions, key_id=key_id, work_key=text, instead_of=instead_of)
        await self.db.tx(record_beats, [said], self.clock.now())
        if heard:
            entry = ExecutorEntry("demo", ADDRESS, 0, incarnation, extensions, key_id=key_id, work_key=text)
            self.roster.stored(entry, 1)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    url = f"sqlite:///{tmp_path / 'orth.db'}"
    prepare_store(url)
    with open_database(url) as db:
        yield Place(db)


def asked(incarnation: str, work_key: str | None) -> Credential:
    return Credential(TOKEN, True, incarnation, None if work_key is None else work_key_of(TOKEN, work_key))


async def test_a_process_is_asked_with_its_own_work_key(place: Place) -> None:
    await place.registered("one", FIRST, heard=True)
    assert await place.keys.credential(ADDRESS, "demo") == asked("one", FIRST)
    assert await place.keys.credential(ADDRESS, "demo", "one") == asked("one", FIRST)
    assert asked("one", FIRST).key != asked("one", None).key == key_of(TOKEN)


async def test_a_coordinator_that_is_behind_finds_the_key_of_the_process_that_answers(place: Place) -> None:
    await place.registered("one", FIRST, heard=True)
    await place.registered("two", SECOND, heard=False)
    assert await place.keys.credential(ADDRESS, "demo") == asked("one", FIRST)
    assert await place.keys.credential(ADDRESS, "demo", "two") == asked("two", SECOND)


async def test_a_process_that_has_not_registered_is_asked_with_the_token_and_waited_for(place: Place) -> None:
    await place.registered("one", FIRST, heard=True)
    token_alone = await place.keys.credential(ADDRESS, "demo", "two")
    assert (token_alone.token, token_alone.signed, token_alone.work_key) == (TOKEN, True, None)
    waiting = asyncio.create_task(place.keys.another(ADDRESS, "demo", "two", token_alone.key))
    await asyncio.wait([waiting], timeout=0.1)
    assert not waiting.done()
    await place.registered("two", SECOND, heard=False)
    assert await waiting == asked("two", SECOND)


async def test_a_process_whose_address_was_taken_is_asked_with_no_key_of_the_thief(place: Place) -> None:
    await place.registered("true", FIRST, heard=True)
    await place.registered("thief", THIEFS, heard=True)
    assert await place.keys.credential(ADDRESS, "demo", "true") == asked("thief", None)
    began = place.clock.monotonic()
    assert await place.keys.another(ADDRESS, "demo", "true", key_of(TOKEN)) is None
    waited = place.clock.monotonic() - began
    assert await place.keys.another(ADDRESS, "demo", "true", key_of(TOKEN)) is None
    assert place.clock.monotonic() - began < 2 * waited, "not by every call"


async def test_an_address_by_hand_may_lead_to_a_process_that_registered_under_another_one(place: Place) -> None:
    """It accepts nothing but its work key, wherever it is called."""
    by_hand = "http://executor.example:80"
    await place.db.tx(create_group, Group(0, "demo", "demo", AddressType.MANUAL, (by_hand,)), place.clock.now())
    await place.registered("one", FIRST, heard=True)
    assert await place.keys.credential(by_hand, "demo") == UNKNOWN
    assert await place.keys.credential(by_hand, "demo", "one") == asked("one", FIRST)
    assert await place.keys.credential(by_hand, "demo", "unheard of") == UNKNOWN


async def test_an_address_by_hand_may_be_of_another_app_whose_token_is_good_for_both(place: Place) -> None:
    await place.db.tx(create_group, Group(0, "twins", "twins", AddressType.MANUAL, (ADDRESS,)), place.clock.now())
    await place.registered("one", FIRST, heard=True)
    assert await place.keys.credential(ADDRESS, "twins") == UNKNOWN
    assert await place.keys.credential(ADDRESS, "twins", "one") == asked("one", FIRST)


@pytest.mark.parametrize("incarnation", ["true", "thief"])
async def test_a_process_that_was_asked_before_is_known_though_its_address_was_taken(
    place: Place, incarnation: str
) -> None:
    await place.registered("true", FIRST, heard=True)
    assert await place.keys.credential(ADDRESS, "demo") == asked("true", FIRST)
    await place.registered(incarnation, THIEFS, heard=True)
    shown = await place.keys.credential(ADDRESS, "demo", "true")
    if shown.work_key == work_key_of(TOKEN, THIEFS):
        better = await place.keys.another(ADDRESS, "demo", "true", shown.key)
        assert better is not None
        shown = better
    assert shown.work_key == work_key_of(TOKEN, FIRST)


async def test_where_nobody_has_a_work_key_nobody_is_waited_for(place: Place) -> None:
    said = Beat("demo", ADDRESS, "one", frozenset({Extension.SIGNED}), key_id=key_of(TOKEN).id)
    await place.db.tx(record_beats, [said], place.clock.now())
    async with asyncio.timeout(1):
        assert await place.keys.another(ADDRESS, "demo", "one", key_of(TOKEN)) is None
