"""Which token is whose: what executors show, and what they are shown."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from orth.coordinator.executor_keys import REMEMBERED, WITHOUT_STORE, ExecutorKeys
from orth.coordinator.roster import Roster
from orth.coordinator.sealing import Sealing
from orth.coordinator.tokens import make_secret
from orth.domain.jobs import AddressType, Group, GroupDialect
from orth.domain.nodes import ExecutorEntry
from orth.domain.tokens import Token, TokenKind
from orth.errors import StoreUnavailable
from orth.store.database import Database, open_database
from orth.store.dispatching import Assignment, assign_executions
from orth.store.enrolments import Joining, enrol
from orth.store.executions import end_executions
from orth.store.groups import create_group
from orth.store.registry import Beat, Goodbye, drop_former, record_beats, remove_executors
from orth.store.tokens import create_token, get_token, revoke_token, rotate_token
from orth.testing import ManualClock
from orth.testing.stores import prepare_store
from orth.wire.credentials import Credential, Refusal
from orth.wire.executor_link import NotSent
from orth.wire.messages import Extension
from orth.wire.signatures import key_of, receiver_name
from tests.store.builders import open_some, refusal

SHARED, BEFORE = "shared-by-all-executors", "what-they-shared-before"
ADDRESS = "http://10.0.0.7:9999"


class Place:
    """A store, its clock, and the keys as one coordinator knows them."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.clock = ManualClock()
        self.sealing = Sealing.fresh()
        self.keys = ExecutorKeys(db, self.clock, self.sealing, (SHARED, BEFORE))

    async def token(self, *app_names: str) -> tuple[int, str]:
        text, secret = make_secret(TokenKind.EXECUTOR, self.sealing)
        token = Token(TokenKind.EXECUTOR, app_names[0], app_names=app_names)
        return await self.db.tx(create_token, token, secret, self.clock.now()), text

    async def registered(
        self, key: str | None, *extensions: str, app_name: str = "demo", incarnation: str = "incarnation-a"
    ) -> None:
        key_id = None if key is None else key_of(key).id
        beat = Beat(app_name, ADDRESS, incarnation, frozenset(extensions), key_id=key_id)
        await self.db.tx(record_beats, [beat], self.clock.now())

    async def listed(self, app_name: str, dialect: GroupDialect = GroupDialect.AUTO) -> None:
        group = Group(0, app_name, app_name, AddressType.MANUAL, (ADDRESS,), dialect=dialect)
        await self.db.tx(create_group, group, self.clock.now())

    async def enrolled(self, app_name: str) -> None:
        joining = Joining("0123456789abcdef", app_name, "sealed", ADDRESS, "10.0.0.7", None, key_of(SHARED).id)
        await self.db.tx(enrol, joining, self.clock.now())

    def strict(self, *, shared_is_good: bool = True, must_sign: bool = False) -> ExecutorKeys:
        shared = (SHARED, BEFORE)
        return ExecutorKeys(
            self.db, self.clock, self.sealing, shared, shared_is_good=shared_is_good, must_sign=must_sign
        )


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    url = f"sqlite:///{tmp_path / 'orth.db'}"
    prepare_store(url)
    with open_database(url) as db:
        yield Place(db)


async def test_what_is_shown_says_for_whom_one_speaks(place: Place) -> None:
    token_id, text = await place.token("demo", "night")
    for shared in (SHARED, BEFORE):
        everybody = await place.keys.shown(shared)
        assert everybody is not None
        assert everybody.serves("anything")
    found = await place.keys.shown(text)
    assert found is not None
    assert (found.token_id, found.serves("demo"), found.serves("night"), found.serves("other")) == (
        token_id,
        True,
        True,
        False,
    )
    for wrong in ("", "x", text[:-1], text + "x", text.upper(), SHARED[:-1]):
        assert await place.keys.shown(wrong) is None


async def test_a_revoked_token_is_good_for_a_few_seconds_at_most(place: Place) -> None:
    token_id, text = await place.token("demo")
    assert await place.keys.shown(text) is not None
    await place.db.tx(revoke_token, token_id, place.clock.now())
    place.clock.move(REMEMBERED)
    assert await place.keys.shown(text) is None


async def test_a_token_is_known_while_the_database_is_away_for_a_while(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, text = await place.token("demo")
    assert await place.keys.shown(text) is not None

    async def away(*_: object) -> object:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(place.db, "read", away)
    place.clock.move(WITHOUT_STORE - 1)
    assert await place.keys.shown(text) is not None
    place.clock.move(1)
    with pytest.raises(StoreUnavailable):
        await place.keys.shown(text)


async def test_an_executor_is_shown_the_token_it_registered_with(place: Place) -> None:
    token_id, first = await place.token("demo")
    await place.registered(first)
    second, secret = make_secret(TokenKind.EXECUTOR, place.sealing)
    await place.db.tx(rotate_token, token_id, secret, place.clock.now() + 600_000, place.clock.now())
    assert (await place.keys.credential(ADDRESS, "demo")).token == first
    await place.registered(second, Extension.SIGNED)
    place.clock.move(REMEMBERED)
    assert await place.keys.credential(ADDRESS, "demo") == Credential(second, True, "incarnation-a")
    for shared in (SHARED, BEFORE):
        await place.registered(shared)
        place.clock.move(REMEMBERED)
        assert (await place.keys.credential(ADDRESS + "/", "demo")).token == shared


async def test_nothing_is_shown_to_an_address_nobody_has_registered(place: Place) -> None:
    """Whoever may name an address must not be able to collect tokens there."""
    await place.token("demo")
    for app_name in ("demo", ""):
        assert await place.keys.credential("http://10.66.66.66:80", app_name) == Credential("")


@pytest.mark.parametrize("dialect", [GroupDialect.XXL, GroupDialect.XXL35, GroupDialect.ORTH])
async def test_third_party_executors_that_are_listed_are_shown_the_newest_token_of_their_group(
    place: Place, dialect: GroupDialect
) -> None:
    await place.listed("demo", dialect)
    assert await place.keys.credential(ADDRESS, "demo") == Credential(SHARED)
    place.clock.move(REMEMBERED)
    _, text = await place.token("demo")
    assert await place.keys.credential(ADDRESS, "demo") == Credential(text)


async def test_executors_that_are_listed_are_shown_no_token_unless_they_are_said_to_be_third_party(
    place: Place,
) -> None:
    await place.listed("demo")
    for app_name in ("demo", ""):
        expected = Credential(SHARED, signed=True, hidden="token_not_shown")
        assert await place.keys.credential(ADDRESS, app_name) == expected


async def test_no_token_is_shown_where_an_executor_of_the_group_enrolled(place: Place) -> None:
    """Whatever listens there now. The keys of another group do not decide it."""
    await place.listed("demo", GroupDialect.XXL)
    await place.enrolled("other")
    assert await place.keys.credential(ADDRESS, "demo") == Credential(SHARED)
    place.clock.move(REMEMBERED)
    await place.enrolled("demo")
    shown = await place.keys.credential(ADDRESS, "demo")
    assert shown == Credential(SHARED, signed=True, hidden="token_not_shown_to_orth")


@pytest.mark.parametrize("how", ["revoked", "expired", "rotated"])
async def test_an_executor_whose_token_is_good_no_more_is_not_called(place: Place, how: str) -> None:
    """Least of all with the token that all share: whoever has stolen one would be given it by its revocation."""
    text, secret = make_secret(TokenKind.EXECUTOR, place.sealing)
    now = place.clock.now()
    expires_at = now + 1_000 if how == "expired" else None
    token = Token(TokenKind.EXECUTOR, "demo", app_names=("demo",), expires_at=expires_at)
    token_id = await place.db.tx(create_token, token, secret, now)
    await place.registered(text)
    assert (await place.keys.credential(ADDRESS, "demo")).token == text
    if how == "revoked":
        await place.db.tx(revoke_token, token_id, now)
    elif how == "rotated":
        _, new = make_secret(TokenKind.EXECUTOR, place.sealing)
        await place.db.tx(rotate_token, token_id, new, now + 1_000, now)
    place.clock.move(max(REMEMBERED, 1))
    for app_name in ("demo", ""):
        with pytest.raises(NotSent, match="the token it registered with is good no more"):
            await place.keys.credential(ADDRESS, app_name)
    assert await place.keys.credential(ADDRESS, "other") == Credential("")


async def test_a_shared_token_that_lets_no_executor_in_is_shown_to_none(place: Place) -> None:
    keys = place.strict(shared_is_good=False)
    await place.listed("by-hand")
    with pytest.raises(NotSent, match="has no token"):
        await keys.credential(ADDRESS, "by-hand")
    for shared in (SHARED, BEFORE, None):
        await place.registered(shared)
        place.clock.move(REMEMBERED)
        with pytest.raises(NotSent, match="good no more"):
            await keys.credential(ADDRESS, "demo")
    _, text = await place.token("demo")
    await place.registered(text)
    place.clock.move(REMEMBERED)
    assert (await keys.credential(ADDRESS, "demo")).token == text


async def test_where_all_must_sign_no_bare_token_is_shown(place: Place) -> None:
    keys = place.strict(must_sign=True)
    _, text = await place.token("demo")
    await place.listed("by-hand")
    hidden = "executor_reads_no_signatures"
    assert await keys.credential(ADDRESS, "by-hand") == Credential(SHARED, signed=True, hidden=hidden)
    for key in (text, SHARED, None):
        await place.registered(key)
        place.clock.move(REMEMBERED)
        for app_name in ("demo", ""):
            with pytest.raises(NotSent, match="signatures"):
                await keys.credential(ADDRESS, app_name)
    await place.registered(text, Extension.SIGNED)
    place.clock.move(REMEMBERED)
    assert await keys.credential(ADDRESS, "demo") == Credential(text, True, "incarnation-a")


@pytest.mark.parametrize("remembered", [False, True])
async def test_of_several_apps_at_one_address_each_is_shown_its_own(place: Place, remembered: bool) -> None:
    """Whoever registers another's address under its own app does not keep calls from getting there."""
    _, victims = await place.token("victim")
    mine_id, mine = await place.token("mine")
    roster = Roster(place.clock, dead_after=90)
    for app_name, text in (("victim", victims), ("mine", mine)):
        place.clock.move(1)
        await place.registered(text, app_name=app_name)
        roster.stored(ExecutorEntry(app_name, ADDRESS, 0, None, key_id=key_of(text).id), 1)
    if remembered:
        place.keys.follow(roster)
    await place.listed("by-hand")
    await place.listed("by-hand-too")
    told = [(await place.keys.credential(ADDRESS, app_name)).token for app_name in ("victim", "mine", "other")]
    assert told == [victims, mine, ""]
    for app_name in ("by-hand", "by-hand-too"):
        assert (await place.keys.credential(ADDRESS, app_name)).token == SHARED
    assert (await place.keys.credential(ADDRESS, "")).token == mine
    await place.db.tx(revoke_token, mine_id, place.clock.now())
    place.clock.move(REMEMBERED)
    assert (await place.keys.credential(ADDRESS, "")).token == victims


async def test_an_address_is_taken_over_by_another_app_once_the_one_before_is_silent(place: Place) -> None:
    """A refusal of the process that is there now settles what was sent to the one before, and not what is sent to one
    that still beats: anybody may register its address.
    """
    _, before = await place.token("demo")
    _, after = await place.token("other")
    await place.registered(before, Extension.SIGNED)
    asked = asyncio.ensure_future(place.keys.successor(ADDRESS, "demo", "incarnation-b"))
    while not asked.done():  # it waits for one that may just be starting
        await asyncio.sleep(0.01)
        place.clock.move(1)
    assert await asked == Refusal(None, False)
    await place.registered(after, Extension.SIGNED, app_name="other", incarnation="incarnation-b")
    assert await place.keys.successor(ADDRESS, "demo", "incarnation-b") == Refusal(None, True)
    assert await place.keys.successor(ADDRESS, "demo", "incarnation-c") == Refusal(None, False)
    place.clock.move(1)
    await place.registered(before, Extension.SIGNED)
    assert await place.keys.successor(ADDRESS, "demo", "incarnation-b") == Refusal(None, False)


async def test_a_trigger_may_name_an_executor_of_another_app_that_has_the_same_token(place: Place) -> None:
    _, both = await place.token("demo", "night")
    for text, told in ((both, ["", both]), (SHARED, [SHARED, SHARED])):
        await place.registered(text)
        place.clock.move(REMEMBERED)
        assert [(await place.keys.credential(ADDRESS, app_name)).token for app_name in ("other", "night")] == told


async def test_what_is_put_into_queues_is_signed_for_every_executor_of_the_app(place: Place) -> None:
    shared = (key_of(SHARED), key_of(BEFORE))
    assert await place.keys.signing_keys("demo") == shared
    place.clock.move(REMEMBERED)
    token_id, old = await place.token("demo")
    await place.token("other")
    assert await place.keys.signing_keys("demo") == (key_of(old), *shared)
    new, secret = make_secret(TokenKind.EXECUTOR, place.sealing)
    now = place.clock.now()
    await place.db.tx(rotate_token, token_id, secret, now + 60_000, now)
    place.clock.move(REMEMBERED)
    assert await place.keys.signing_keys("demo") == (key_of(new), key_of(old), *shared)
    place.clock.move(60)
    assert await place.keys.signing_keys("demo") == (key_of(new), *shared)


async def test_what_this_coordinator_has_heard_itself_needs_no_database(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    roster = Roster(place.clock, dead_after=90)
    place.keys.follow(roster)
    entry = ExecutorEntry("demo", ADDRESS, 0, "b", frozenset({Extension.SIGNED}), key_id=key_of(SHARED).id)
    roster.stored(entry, 1)
    monkeypatch.setattr(place.db, "read", None)
    assert await place.keys.credential(ADDRESS, "") == Credential(SHARED, True, "b")


async def test_a_token_sealed_with_a_key_we_do_not_have_is_nobodys(place: Place) -> None:
    token_id, text = await place.token("demo")
    other = ExecutorKeys(place.db, place.clock, Sealing.fresh(), (SHARED,))
    assert await other.shown(text) is None
    assert (await place.db.read(get_token, token_id)).is_good(place.clock.now())


async def test_use_is_noted_once_a_minute(place: Place) -> None:
    token_id, text = await place.token("demo")
    key = await place.keys.shown(text)
    assert key is not None
    times = []
    for pause in (0, 59, 1):
        place.clock.move(pause)
        await place.keys.note_use(key)
        times.append((await place.db.read(get_token, token_id)).last_used_at)
    assert times[0] == times[1]
    assert times[2] == place.clock.now()


async def test_an_executor_that_left_with_open_executions_is_still_shown_its_token(place: Place) -> None:
    _, text = await place.token("demo")
    await place.registered(text, Extension.SIGNED)
    [execution_id] = await place.db.tx(open_some, 1)
    sent = Assignment(execution_id, ADDRESS, "incarnation-a", "routed")
    await place.db.tx(assign_executions, [sent], 1, place.clock.now())
    await place.db.tx(remove_executors, [Goodbye("demo", ADDRESS)], place.clock.now())
    for receiver in ("", receiver_name("incarnation-a")):
        place.clock.move(REMEMBERED)
        assert await place.keys.credential(ADDRESS, "demo", receiver) == Credential(text, True, "incarnation-a")
    assert await place.keys.credential("http://10.0.0.8:9999", "demo") == Credential("")
    await place.db.tx(end_executions, [refusal(execution_id)], place.clock.now())
    await place.db.tx(drop_former)
    place.clock.move(REMEMBERED)
    assert await place.keys.credential(ADDRESS, "demo") == Credential(""), "nothing is open there any more"
