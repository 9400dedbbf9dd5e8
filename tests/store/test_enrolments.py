"""Keys of executors in the store: one row for each, decided once, bounded and forgotten."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import Connection

from orth.domain.enrolments import Admission, KeyState
from orth.domain.tokens import Token, TokenKind
from orth.errors import Conflict, TooBusy
from orth.store import enrolments
from orth.store.database import Database, open_database
from orth.store.enrolments import (
    Joining,
    admit_key,
    drop_unseen_keys,
    enrol,
    list_enrolled,
    note_proved,
    remove_unknown,
    revoke_key,
)
from orth.store.executor_entries import list_executors
from orth.store.groups import create_group
from orth.store.registry import Beat, record_beats
from orth.store.tokens import TokenSecret, create_token
from orth.testing.stores import prepare_store
from tests.store.builders import NOW, a_group

DAY = 86_400_000
JOINING = Joining("0" * 16, "reports", "sealed", "http://10.0.0.1:9999", "10.0.0.1", None, "f" * 16)


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    prepare_store(store_url)
    with open_database(store_url, size=2) as db:
        yield db


def joining(number: int, **more: object) -> Joining:
    return replace(JOINING, key_id=f"{number:016x}", **more)  # type: ignore[arg-type]  # of several kinds


async def test_whom_a_group_lets_in_decides_what_a_new_key_is(db: Database) -> None:
    await db.tx(create_group, replace(a_group("reports"), admission=Admission.KNOWN), NOW)
    stored, is_new = await db.tx(enrol, joining(1), NOW)
    assert (stored.state, is_new) == (KeyState.WAITING, True)
    again, is_new = await db.tx(enrol, joining(1, source="10.0.0.2"), NOW + 1)
    assert (again.id, again.state, again.source, is_new) == (stored.id, KeyState.WAITING, "10.0.0.2", False)
    other, _ = await db.tx(enrol, joining(2, app_name="other"), NOW)
    assert (other.state, other.decided_by) == (KeyState.ADMITTED, None), "there is no group: whoever has a token"


async def test_a_key_is_admitted_and_revoked_by_somebody(db: Database) -> None:
    stored, _ = await db.tx(enrol, joining(1), NOW)
    beat = Beat("reports", JOINING.address, "one", key_id=JOINING.key_id[:-1] + "1", work_key="sealed")
    await db.tx(record_beats, [beat], NOW)
    await db.tx(admit_key, stored.id, "ann", NOW)
    before, taken_off = await db.tx(revoke_key, stored.id, "bob", NOW)
    assert (before.state, before.decided_by) == (KeyState.ADMITTED, "ann")
    assert taken_off == [("reports", JOINING.address)]
    assert await db.read(list_executors) == []
    for unit in (enrol, admit_key):
        with pytest.raises(Conflict):
            await (db.tx(enrol, joining(1), NOW) if unit is enrol else db.tx(admit_key, stored.id, "ann", NOW))
    (kept,) = await db.read(list_enrolled, 0, 10)
    assert (kept.state, kept.decided_by) == (KeyState.REVOKED, "bob")


async def test_a_join_token_is_used_once(db: Database) -> None:
    await db.tx(create_group, replace(a_group("reports"), admission=Admission.KNOWN), NOW)
    token = Token(TokenKind.EXECUTOR, "join", app_names=("reports",), once=True, expires_at=NOW + DAY)
    token_id = await db.tx(create_token, token, TokenSecret("d" * 64, "e" * 16, "orth_ext_"), NOW)
    with_token = {"token_id": token_id, "join_token": "join"}
    stored, _ = await db.tx(enrol, joining(1, **with_token), NOW)
    assert (stored.state, stored.decided_by) == (KeyState.ADMITTED, "join token join")
    with pytest.raises(Conflict, match="used already"):
        await db.tx(enrol, joining(2, **with_token), NOW)
    assert len(await db.read(list_enrolled, 0, 10)) == 1, "nothing of the second is left"


async def test_a_token_enrols_so_many_keys_in_an_hour(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enrolments, "PER_TOKEN", 2)
    for number in (1, 2):
        await db.tx(enrol, joining(number), NOW)
    with pytest.raises(TooBusy):
        await db.tx(enrol, joining(3), NOW)
    await db.tx(enrol, joining(1), NOW)  # it is known
    await db.tx(enrol, joining(3, token_key="a" * 16), NOW)
    await db.tx(enrol, joining(4), NOW + 3_600_001)


async def test_a_full_app_makes_room_by_the_key_unseen_longest(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enrolments, "PER_APP", 2)
    for number in (1, 2):
        await db.tx(enrol, joining(number), NOW)
    with pytest.raises(TooBusy):
        await db.tx(enrol, joining(3), NOW)
    later = NOW + 2 * 3_600_000
    (first, _second) = await db.read(list_enrolled, 0, 10)
    await db.tx(note_proved, first.id, later)
    await db.tx(enrol, joining(3), later)
    assert [one.key_id[-1] for one in await db.read(list_enrolled, 0, 10)] == ["1", "3"]


async def test_an_admitted_key_makes_room_for_nobody(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the holder of a token could put admitted executors out, by enrolling many."""
    monkeypatch.setattr(enrolments, "PER_APP", 1)
    admitted, _ = await db.tx(enrol, joining(1), NOW)
    await db.tx(admit_key, admitted.id, "ann", NOW)
    with pytest.raises(TooBusy):
        await db.tx(enrol, joining(2), NOW + DAY)
    assert [one.id for one in await db.read(list_enrolled, 0, 10)] == [admitted.id]


async def test_keys_that_nobody_proves_are_forgotten(db: Database) -> None:
    for number in (1, 2, 3, 4):
        await db.tx(enrol, joining(number), NOW)
    admitted, proved, _unseen, revoked = await db.read(list_enrolled, 0, 10)
    await db.tx(admit_key, admitted.id, "ann", NOW)
    await db.tx(revoke_key, revoked.id, "ann", NOW)
    await db.tx(note_proved, proved.id, NOW + 6 * DAY)
    await db.tx(drop_unseen_keys, NOW + 8 * DAY)
    assert {one.id for one in await db.read(list_enrolled, 0, 10)} == {admitted.id, proved.id, revoked.id}
    await db.tx(drop_unseen_keys, NOW + 91 * DAY)
    assert [one.id for one in await db.read(list_enrolled, 0, 10)] == [revoked.id], "it must not become a new one"


async def test_executors_without_a_key_are_taken_off_the_list(db: Database) -> None:
    def beats(connection: Connection) -> None:
        known = Beat("reports", "http://10.0.0.1:9999", "one", key_id="1" * 16, work_key="sealed")
        record_beats(connection, [known, Beat("reports", "http://10.0.0.2:9999")], NOW)

    await db.tx(beats)
    await db.tx(remove_unknown, "reports", NOW)
    assert [one.address for one in await db.read(list_executors)] == ["http://10.0.0.1:9999"]
