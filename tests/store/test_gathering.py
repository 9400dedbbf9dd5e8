"""Small writes that share a transaction."""

import asyncio
import threading
from collections.abc import Sequence

import pytest
from sqlalchemy import Connection

from orth.errors import StoreUnavailable, TooBusy
from orth.store.database import Database
from orth.store.gathering import Gathering
from tests.store.builders import on_sqlite

pytestmark = on_sqlite


class Work:
    """Doubles numbers; holds the first batch until it is let go, and fails as it is told."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.begun = threading.Event()
        self.go = threading.Event()
        self.away = False

    def __call__(self, _connection: Connection, numbers: Sequence[int]) -> list[int]:
        self.batches.append(list(numbers))
        self.begun.set()
        assert self.go.wait(10)
        if self.away:
            raise StoreUnavailable("away")
        if 13 in numbers:
            raise ValueError("thirteen cannot be stored")
        return [2 * number for number in numbers]


async def test_what_comes_during_a_transaction_shares_the_next(db: Database) -> None:
    work = Work()
    gathering: Gathering[int, int] = Gathering(db, work, at_once=3, waiting=10)
    first = asyncio.create_task(gathering.put(1))
    assert await asyncio.to_thread(work.begun.wait, 10)
    others = [asyncio.create_task(gathering.put(number)) for number in (2, 3, 4, 5)]
    await asyncio.sleep(0)
    work.go.set()
    assert await first == 2
    assert await asyncio.gather(*others) == [4, 6, 8, 10]
    assert work.batches == [[1], [2, 3, 4], [5]]
    assert await gathering.put(6) == 12


async def test_a_failed_transaction_is_told_to_everybody_in_it_and_the_next_goes_on(db: Database) -> None:
    work = Work()
    work.go.set()
    work.away = True
    gathering: Gathering[int, int] = Gathering(db, work, waiting=10)
    told = await asyncio.gather(*(gathering.put(number) for number in (1, 2)), return_exceptions=True)
    assert [type(one) for one in told] == [StoreUnavailable, StoreUnavailable]
    work.away = False
    assert await gathering.put(3) == 6


async def test_one_that_cannot_be_stored_does_not_spoil_the_others(db: Database) -> None:
    work = Work()
    work.go.set()
    gathering: Gathering[int, int] = Gathering(db, work, waiting=10)
    told = await asyncio.gather(*(gathering.put(number) for number in (12, 13, 14)), return_exceptions=True)
    assert (told[0], told[2]) == (24, 28)
    assert isinstance(told[1], ValueError)


async def test_beyond_its_bound_it_refuses_loudly(db: Database) -> None:
    work = Work()
    gathering: Gathering[int, int] = Gathering(db, work, waiting=2)
    carried = asyncio.create_task(gathering.put(1))
    assert await asyncio.to_thread(work.begun.wait, 10)
    waiting = [asyncio.create_task(gathering.put(number)) for number in (2, 3)]
    await asyncio.sleep(0)
    with pytest.raises(TooBusy):
        await gathering.put(4)
    work.go.set()
    assert await asyncio.gather(carried, *waiting) == [2, 4, 6]


async def test_who_does_not_wait_for_the_answer_holds_up_nobody(db: Database) -> None:
    work = Work()
    gathering: Gathering[int, int] = Gathering(db, work, waiting=10)
    gone, stays = asyncio.create_task(gathering.put(1)), asyncio.create_task(gathering.put(2))
    assert await asyncio.to_thread(work.begun.wait, 10)
    gone.cancel()
    work.go.set()
    assert await stays == 4
    assert work.batches == [[1, 2]]
