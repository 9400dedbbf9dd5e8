"""One leader at a time, numbered, and no write of an old term after a new one has begun."""

import asyncio
import time
from typing import Any

import pytest
from sqlalchemy import Connection, Row, select, update
from sqlalchemy.exc import DBAPIError

from orth.errors import TermEnded
from orth.store.database import Database, open_database
from orth.store.leases import Lease, Term, hold_term, read_lease, renew_lease, resign_lease, take_lease
from orth.store.tables import epochs, leases
from orth.store.users import add_user, find_user
from tests.store.builders import NOW, on_servers, until_blocked


async def elect(db: Database, node: str = "node-1") -> Term:
    """Make ``node`` the leader, whoever was before; its term."""
    term = await db.tx(take_lease, await db.tx(read_lease), node, f"{node}-process")
    assert term is not None
    return term


def add(connection: Connection, name: str) -> bool:
    return add_user(connection, name, "hash", "admin", NOW)


async def test_the_first_sight_makes_a_lease_nobody_has(db: Database) -> None:
    assert await db.tx(read_lease) == await db.tx(read_lease) == Lease(None, None, 0, 0)


async def test_many_nodes_may_see_it_first(db: Database, peer: Database) -> None:
    seen = await asyncio.gather(*(node.tx(read_lease) for node in (db, peer) * 4))
    assert set(seen) == {Lease(None, None, 0, 0)}


async def test_who_takes_the_lease_begins_term_one(db: Database, peer: Database) -> None:
    assert await elect(db) == Term(1, "node-1-process")
    assert await peer.tx(read_lease) == Lease("node-1", "node-1-process", 1, 0)


async def test_of_many_contenders_with_one_sighting_one_wins(db: Database, peer: Database) -> None:
    for term in range(1, 6):
        seen = await db.tx(read_lease)
        terms = await asyncio.gather(
            *(node.tx(take_lease, seen, f"n{n}", f"p{n}") for n, node in enumerate((db, peer) * 3))
        )
        (winner,) = (n for n, won in enumerate(terms) if won is not None)
        assert terms[winner] == Term(term, f"p{winner}")
        assert await db.tx(read_lease) == Lease(f"n{winner}", f"p{winner}", term, 0)


async def test_a_sighting_that_is_not_exact_takes_nothing(db: Database) -> None:
    term = await elect(db)
    epoch = term.epoch
    seen = await db.tx(read_lease)
    assert await db.tx(renew_lease, term)
    renewed = await db.tx(read_lease)
    assert renewed.renewals == seen.renewals + 1
    for stale in (
        seen,
        Lease("node-1", "node-1-process", 0, renewed.renewals),
        Lease("node-1", "another-process", epoch, renewed.renewals),
        Lease(None, None, 0, 0),
    ):
        assert await db.tx(take_lease, stale, "node-2", "node-2-process") is None
    assert await db.tx(read_lease) == renewed
    assert await db.tx(take_lease, renewed, "node-2", "node-2-process") == Term(epoch + 1, "node-2-process")


async def test_only_the_process_that_has_the_term_renews_it(db: Database) -> None:
    term = await elect(db)
    for other in (
        Term(term.epoch, "node-1-restarted"),
        Term(term.epoch + 1, "node-1-process"),
        Term(term.epoch - 1, "node-1-process"),
    ):
        assert not await db.tx(renew_lease, other)
    assert await db.tx(read_lease) == Lease("node-1", "node-1-process", term.epoch, 0)
    assert await db.tx(renew_lease, term)
    await elect(db, "node-2")
    assert not await db.tx(renew_lease, term)


async def test_a_lease_given_up_is_free_at_once_and_its_term_stays_used(db: Database) -> None:
    term = await elect(db)
    assert not await db.tx(resign_lease, Term(term.epoch, "node-1-restarted"))
    assert await db.tx(resign_lease, term)
    assert not await db.tx(resign_lease, term)
    assert not await db.tx(renew_lease, term)
    free = await db.tx(read_lease)
    assert (free.node_id, free.incarnation, free.epoch) == (None, None, term.epoch)
    assert (await elect(db, "node-2")).epoch == term.epoch + 1


async def test_terms_only_grow(db: Database, peer: Database) -> None:
    terms = [await elect(node, name) for node, name in ((db, "a"), (peer, "b"), (db, "a"), (db, "a"), (peer, "c"))]
    assert [term.epoch for term in terms] == [1, 2, 3, 4, 5]


async def test_a_leader_transaction_of_the_newest_term_is_done(db: Database) -> None:
    assert await db.leader_tx(await elect(db), add, "ada")
    assert await db.read(find_user, "ada") is not None


@pytest.mark.parametrize("off", [-1, 1])
async def test_a_leader_transaction_of_any_other_term_does_nothing(db: Database, peer: Database, off: int) -> None:
    await elect(db)
    newest = await elect(peer, "node-2")
    begun = []

    def unit(connection: Connection) -> None:
        begun.append(True)
        add(connection, "ada")

    with pytest.raises(TermEnded) as refusal:
        await db.leader_tx(Term(newest.epoch + off, newest.incarnation), unit)
    assert refusal.value.epoch == newest.epoch + off
    assert not begun
    assert await db.read(find_user, "ada") is None


async def test_before_the_first_election_nobody_leads(db: Database) -> None:
    with pytest.raises(TermEnded):
        await db.leader_tx(Term(1, "node-1-process"), add, "ada")


async def test_a_number_that_was_given_out_twice_is_of_the_process_that_got_it_last(
    db: Database, peer: Database
) -> None:
    """The database went back to before an election that had been committed: as on a standby that lagged."""
    await elect(db, "node-0")
    before = await db.read(_leadership)
    old = await elect(db, "node-1")
    await db.tx(_restore, *before)
    new = await elect(peer, "node-2")
    assert old.epoch == new.epoch
    with pytest.raises(TermEnded):
        await db.leader_tx(old, add, "ada")
    assert not await db.tx(renew_lease, old)
    assert await peer.leader_tx(new, add, "ada")


def _leadership(connection: Connection) -> tuple[Row[Any], Row[Any]]:
    return connection.execute(select(leases)).one(), connection.execute(select(epochs)).one()


def _restore(connection: Connection, lease: Row[Any], epoch: Row[Any]) -> None:
    connection.execute(update(leases).values(**lease._mapping))
    connection.execute(update(epochs).values(**epoch._mapping))


# --- the race between an election and what the old term still has open ---


@on_servers
async def test_an_election_waits_for_the_old_term_to_commit(db: Database, peer: Database) -> None:
    old = await elect(db)
    with db.engine.begin() as connection:
        hold_term(connection, old)
        add(connection, "ada")
        election = asyncio.create_task(elect(peer, "node-2"))
        await until_blocked(db)
        assert not election.done()
    assert (await election).epoch == old.epoch + 1
    assert await peer.read(find_user, "ada") is not None


@on_servers
async def test_renewing_does_not_wait_for_the_work_of_the_term(db: Database, peer: Database) -> None:
    term = await elect(db)
    with db.engine.begin() as connection:
        hold_term(connection, term)
        async with asyncio.timeout(5):
            assert await peer.tx(renew_lease, term)
            assert await peer.leader_tx(term, add, "ada")  # nor does other work of the same term


@on_servers
async def test_an_old_transaction_that_had_not_locked_yet_is_refused(db: Database, peer: Database) -> None:
    old = await elect(db)
    with db.engine.connect() as connection, connection.begin():
        assert connection.execute(select(1)).scalar() == 1
        assert read_lease(connection).epoch == old.epoch  # it began, and even looked, in its own term
        assert (await elect(peer, "node-2")).epoch == old.epoch + 1
        with pytest.raises(TermEnded):
            hold_term(connection, old)


@on_servers
async def test_an_old_transaction_that_asks_during_the_election_is_refused(db: Database, peer: Database) -> None:
    old = await elect(db)
    with peer.engine.begin() as connection:
        assert take_lease(connection, read_lease(connection), "node-2", "node-2-process") is not None
        late = asyncio.create_task(db.leader_tx(old, add, "ada"))
        await until_blocked(peer)
    with pytest.raises(TermEnded):
        await late
    assert await db.read(find_user, "ada") is None


@on_servers
async def test_a_frozen_holder_is_cut_off_so_that_the_election_succeeds(empty_url: str) -> None:
    with open_database(empty_url, patience=2.0) as frozen, open_database(empty_url, patience=2.0) as contender:
        old = await elect(frozen)
        connection = frozen.engine.connect()
        transaction = connection.begin()
        hold_term(connection, old)
        add(connection, "ada")
        begun = time.monotonic()
        assert (await elect(contender, "node-2")).epoch == old.epoch + 1
        assert time.monotonic() - begun < 8.0
        with pytest.raises(DBAPIError):
            transaction.commit()
        connection.close()
        assert await contender.read(find_user, "ada") is None
