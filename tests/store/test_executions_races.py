"""Whoever reports at the same time: one terminal status, one winner, forever."""

import asyncio
import itertools

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from orth.domain.executions import FAILURE, NOT_YET, SUCCESS, TIMED_OUT, Execution, Phase
from orth.store.database import Database
from orth.store.dispatching import Assignment, assign_executions, record_accepted, record_unknown, take_due
from orth.store.executions import Ending, end_executions, ids_of_trigger, open_executions
from tests.store.builders import NOW, an_opening, assign, execution, on_servers, open_some, success, until_blocked

EXECUTIONS = 5
Report = tuple[int, tuple[int, int]]

REFUSED = (FAILURE, NOT_YET)
codes = st.sampled_from([(SUCCESS, SUCCESS), (SUCCESS, FAILURE), (SUCCESS, TIMED_OUT), REFUSED])
reports = st.lists(st.tuples(st.integers(0, EXECUTIONS - 1), codes), min_size=1, max_size=8)
keys = (f"race-{number}" for number in itertools.count())


@settings(
    max_examples=12,
    deadline=None,
    # Each example opens executions of its own, so what earlier ones left does not matter.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(batches=st.lists(reports, min_size=2, max_size=6))
async def test_an_execution_is_ended_by_one_of_many_and_by_no_other(
    db: Database, peer: Database, batches: list[list[Report]]
) -> None:
    ids = await db.tx(open_some, EXECUTIONS, prefix=next(keys))
    await db.tx(assign, *ids)
    calls = [
        (db, peer)[n % 2].tx(end_executions, [_ending(ids[which], pair, n) for which, pair in batch], NOW + n)
        for n, batch in enumerate(batches)
    ]
    answers = [db.tx(record_accepted, ids, NOW), peer.tx(record_unknown, [(one, "lost") for one in ids], NOW)]
    won, _nothing = await asyncio.gather(asyncio.gather(*calls), asyncio.gather(*answers))
    winners = [one for batch in won for one in batch]
    assert len({one.id for one in winners}) == len(winners)
    assert [await db.read(execution, one.id) for one in winners] == winners
    assert all(one.status.terminal and one.phase is Phase.ENDED for one in winners)
    for number in ids:
        said = {dict(reversed(batch))[ids.index(number)] for batch in batches if ids.index(number) in dict(batch)}
        if number not in {one.id for one in winners}:
            # Nobody reported on it, or the executor's yes was stored before all who said that nobody took it.
            assert said <= {REFUSED}
            assert not (await db.read(execution, number)).status.terminal
    # Later reports, whatever they say, change nothing.
    assert await peer.tx(end_executions, [success(one.id, handle_msg="late") for one in winners], NOW + 99) == []
    assert [await db.read(execution, one.id) for one in winners] == winners


def _ending(execution_id: int, pair: tuple[int, int], caller: int) -> Ending:
    return Ending(
        execution_id=execution_id, trigger_code=pair[0], handle_code=pair[1], handle_msg=f"said by caller {caller}"
    )


async def test_overlapping_batches_in_opposite_orders_all_finish(db: Database, peer: Database) -> None:
    ids = await db.tx(open_some, 120)
    forward = [success(number) for number in ids]
    calls = [(db, peer)[n % 2].tx(end_executions, batch, NOW) for n, batch in enumerate([forward, forward[::-1]] * 3)]
    won = [one.id for batch in await asyncio.gather(*calls) for one in batch]
    assert sorted(won) == ids


@on_servers
async def test_a_result_waits_for_the_one_before_it_and_loses(db: Database, peer: Database) -> None:
    [number] = await db.tx(open_some, 1)
    with db.engine.begin() as first:
        [won] = end_executions(first, [success(number)], NOW)
        second = asyncio.create_task(peer.tx(end_executions, [_ending(number, (SUCCESS, FAILURE), 2)], NOW + 1))
        await until_blocked(db)
    assert await second == []
    assert await db.read(execution, number) == won


async def test_one_key_opened_by_many_at_once_is_one_execution(db: Database, peer: Database) -> None:
    def request(connection: Connection, param: str) -> list[int]:
        open_executions(connection, [an_opening("key:once", executor_param=param)], NOW)
        return ids_of_trigger(connection, 1, "key:once")

    answers = await asyncio.gather(*((db, peer)[n % 2].tx(request, f"caller {n}") for n in range(8)))
    assert len({tuple(ids) for ids in answers}) == 1
    [number] = answers[0]
    assert (await db.read(execution, number)).executor_param.startswith("caller ")


async def test_overlapping_batches_of_fires_are_opened_once_each(db: Database, peer: Database) -> None:
    fires = [an_opening(f"fire:{number}") for number in range(60)]
    batches = [fires[:40], fires[:19:-1], fires[10:50], fires[::-1]]
    await asyncio.gather(*((db, peer)[n % 2].tx(open_executions, batch, NOW) for n, batch in enumerate(batches)))
    assert len(await db.tx(take_due, NOW, 100)) == 60


async def test_two_dispatchers_share_the_work_without_overlap(db: Database, peer: Database) -> None:
    def claim(connection: Connection, address: str) -> list[Execution]:
        taken = take_due(connection, NOW, 7)
        assign_executions(connection, [Assignment(one.id, address, None, "") for one in taken], 1, NOW)
        return taken

    ids = await db.tx(open_some, 40)
    claimed: dict[str, list[int]] = {"http://a:1": [], "http://b:1": []}

    async def work(node: Database, address: str) -> None:
        while taken := await node.tx(claim, address):
            claimed[address] += [one.id for one in taken]

    await asyncio.gather(work(db, "http://a:1"), work(peer, "http://b:1"))
    # Skipping what the other holds, one may find nothing and stop early; what is left is still opened.
    left = [one.id for one in await db.tx(take_due, NOW, 100)]
    assert sorted(claimed["http://a:1"] + claimed["http://b:1"] + left) == ids
    for address, mine in claimed.items():
        assert all([(await db.read(execution, number)).executor_address == address for number in mine])
