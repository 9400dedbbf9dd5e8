"""Changing the master key: everything moves to the new one, or nothing does."""

import secrets
from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, insert, update

from orth.coordinator.alarming.definitions import checked
from orth.coordinator.alarming.sealed import opened, seal_channels, sealed
from orth.coordinator.executor_keys import seal_context
from orth.coordinator.first_start import signing_secret
from orth.coordinator.resealing import reseal, seal_the_open
from orth.coordinator.sealing import Sealing, agree
from orth.domain.audit import Actor, ActorKind
from orth.errors import CannotStart, Unreadable
from orth.store.alarm_channels import Channel, create_channel, get_channel, list_channels
from orth.store.audit import Wanted, newest_entries
from orth.store.audit_tables import job_secrets
from orth.store.database import Database, open_database
from orth.store.sealed_values import sealed_values
from orth.store.secrets import SealedSecret, find_secret, put_secret
from orth.store.token_tables import token_secrets
from orth.testing.stores import prepare_store

OLD, NEW = secrets.token_bytes(32), secrets.token_bytes(32)
COMMAND = Actor(ActorKind.COMMAND, "ann")
URL = "https://hooks.example/xyzzy"
DIGEST = "d" * 64


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    prepare_store(store_url)
    with open_database(store_url, size=2) as db:
        yield db


def fill(connection: Connection, sealing: Sealing) -> None:
    secret = SealedSecret(3, "NAME", "", updated_by="x", update_time=1)
    sealed_value = sealing.seal(b"the value", secret.context)
    put_secret(connection, SealedSecret(3, "NAME", sealed_value, updated_by="x", update_time=1))
    row = {"digest": DIGEST, "token_id": 1, "key_id": "k", "shown": "s", "created_at": 1}
    token = sealing.seal(b"the token", seal_context(DIGEST))
    connection.execute(insert(token_secrets).values(**row, sealed=token))
    channel = Channel("ops", "webhook", checked("webhook", {"url": URL}))
    create_channel(connection, sealed(channel, sealing), 1)


def value_of(connection: Connection, sealing: Sealing) -> bytes:
    secret = find_secret(connection, 3, "NAME")
    assert secret is not None
    return sealing.open(secret.sealed, secret.context)


async def test_everything_moves_to_the_newest_key(db: Database) -> None:
    old, both, new = Sealing(OLD), Sealing(NEW, OLD), Sealing(NEW)
    await agree(db, old, 1)
    signing = await signing_secret(db, old, 1)
    await db.tx(fill, old)
    assert await db.tx(reseal, both, COMMAND, 5) == 4
    await agree(db, new, 6)
    with pytest.raises(CannotStart):
        await agree(db, old, 6)
    assert await db.read(value_of, new) == b"the value"
    assert await signing_secret(db, new, 7) == signing
    [channel] = await db.read(list_channels, 0, 10)
    assert opened(channel, new).definition["url"] == URL
    [token] = [one for one in await db.tx(lambda connection: list(sealed_values(connection))) if one.what == "token"]
    assert new.open(token.sealed, seal_context(DIGEST)) == b"the token"
    assert await db.tx(reseal, both, COMMAND, 8) == 0
    [entry, _] = await db.read(newest_entries, Wanted(action="store.reseal"), None, 10)
    assert (entry.actor_kind, entry.actor) == ("command", "ann")


async def test_with_one_value_that_cannot_be_opened_nothing_changes(db: Database) -> None:
    old = Sealing(OLD)
    await agree(db, old, 1)
    await db.tx(fill, old)
    lost = Sealing.fresh().seal(b"x", "job-secret:3:NAME")
    await db.tx(lambda connection: connection.execute(update(job_secrets).values(sealed=lost)) and None)
    with pytest.raises(Unreadable):
        await db.tx(reseal, Sealing(NEW, OLD), COMMAND, 5)
    await agree(db, old, 6)
    [channel] = await db.read(list_channels, 0, 10)
    assert opened(channel, old).definition["url"] == URL


async def test_channels_of_an_earlier_version_are_sealed_at_the_start(db: Database) -> None:
    sealing = Sealing(OLD)
    plain = Channel("ops", "mail", checked("mail", {"to": ["a@b.example"], "host": "mx.example", "password": "xyzzy"}))
    channel_id = await db.tx(create_channel, plain, 1)
    await seal_the_open(db, sealing)
    stored = await db.read(get_channel, channel_id)
    assert "xyzzy" not in str(stored)
    assert stored.definition["to"] == plain.definition["to"]
    assert stored.version == 1
    assert opened(stored, sealing).definition == plain.definition
    assert await db.tx(seal_channels, sealing) == 0
    assert opened(stored, Sealing(NEW)).definition.get("password") is None
