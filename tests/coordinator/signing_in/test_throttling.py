"""How long whoever tried in vain has to wait: longer each time, never for ever, and never for others."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from orth.coordinator.signing_in.throttling import (
    ATTACKED_FROM,
    FIRST_PAUSE_MS,
    FORGOTTEN_AFTER_MS,
    FREE,
    FREE_OF_ADDRESS,
    FREE_WHEN_ATTACKED,
    LONGEST_PAUSE_MS,
    Attempt,
    pause,
    take_back,
    take_try,
)
from orth.store.database import Database
from orth.store.sign_in_tallies import Tally
from tests.store.builders import NOW

NONE = Tally(0, 0)
TALLIES = st.builds(Tally, st.integers(0, 10**6), st.integers(NOW - 10**9, NOW + 10**9))


def test_pauses_grow_from_the_first_to_the_longest() -> None:
    waits = [pause(Tally(tries, NOW), NONE, NONE, NOW) for tries in range(FREE + 12)]
    assert waits[: FREE + 3] == [0] * FREE + [FIRST_PAUSE_MS, 2 * FIRST_PAUSE_MS, 4 * FIRST_PAUSE_MS]
    assert waits[-1] == LONGEST_PAUSE_MS
    assert waits == sorted(waits)


def test_an_address_waits_for_what_it_did_at_other_accounts() -> None:
    assert pause(NONE, Tally(FREE_OF_ADDRESS - 1, NOW), NONE, NOW) == 0
    assert pause(NONE, Tally(FREE_OF_ADDRESS, NOW), NONE, NOW) == FIRST_PAUSE_MS


@given(TALLIES, TALLIES, TALLIES)
def test_no_pause_is_negative_or_longer_than_the_longest(pair: Tally, address: Tally, account: Tally) -> None:
    assert 0 <= pause(pair, address, account, NOW) <= LONGEST_PAUSE_MS


@given(TALLIES)
def test_an_address_that_tried_nothing_never_waits_whatever_others_do(account: Tally) -> None:
    assert pause(NONE, NONE, account, NOW) == 0


def test_an_account_that_is_attacked_leaves_an_address_fewer_tries() -> None:
    attacked = Tally(ATTACKED_FROM, NOW)
    assert pause(Tally(FREE_WHEN_ATTACKED, NOW), NONE, attacked, NOW) == FIRST_PAUSE_MS
    assert pause(Tally(FREE_WHEN_ATTACKED, NOW), NONE, Tally(ATTACKED_FROM - 1, NOW), NOW) == 0


def test_keys_say_nothing_and_keep_apart_what_is_different() -> None:
    one = Attempt("ada", "203.0.113.7")
    others = [Attempt("ada", "203.0.113.8"), Attempt("bob", "203.0.113.7"), Attempt("ad", "a203.0.113.7")]
    keys = [key for attempt in (one, *others) for key in (attempt.pair, attempt.by_address, attempt.by_account)]
    assert len(set(keys)) == len(keys) - 2  # ada's account and the first address are named twice
    assert {len(key) for key in keys} == {64}
    assert Attempt("\udcff", "").pair


async def test_tries_at_once_are_counted_before_they_are_made(db: Database, peer: Database) -> None:
    attempt = Attempt("ada", "203.0.113.7")
    waits = await asyncio.gather(*((db, peer)[n % 2].tx(take_try, attempt, NOW) for n in range(20)))
    assert waits.count(0) == FREE
    assert set(waits) == {0, FIRST_PAUSE_MS}


async def test_what_was_not_made_is_taken_back_and_what_is_old_forgotten(db: Database) -> None:
    attempt = Attempt("ada", "203.0.113.7")
    for _ in range(3 * FREE):
        assert await db.tx(take_try, attempt, NOW) == 0
        await db.tx(take_back, attempt)
    for _ in range(FREE):
        assert await db.tx(take_try, attempt, NOW) == 0
    assert await db.tx(take_try, attempt, NOW) > 0
    for _ in range(FREE):
        assert await db.tx(take_try, attempt, NOW + FORGOTTEN_AFTER_MS) == 0
