"""Executions: opened once, moved phase by phase, ended once, and their messages kept within bounds."""

import pytest
from sqlalchemy import Connection, insert

from orth.domain.executions import FAILURE, NOT_YET, SUCCESS, TIMED_OUT, Execution, Phase, Status
from orth.domain.jobs import TriggerCause
from orth.store.cluster_history import note_term
from orth.store.database import Database
from orth.store.dispatching import (
    Assignment,
    assign_executions,
    doubt_earlier_dispatches,
    list_unknown,
    record_accepted,
    record_unknown,
    take_due,
)
from orth.store.execution_filters import Filter
from orth.store.execution_lists import list_executions
from orth.store.executions import (
    Ending,
    end_executions,
    find_execution,
    ids_of_trigger,
    list_taken,
    open_executions,
    request_of,
    sent_among,
)
from orth.store.tables import ownership
from tests.store.builders import NOW, an_opening, assign, execution, on_servers, open_some, refusal, success

# --- opening ---


async def test_every_field_of_an_opening_comes_back(db: Database) -> None:
    opening = an_opening(
        job_id=7,
        job_group=3,
        cause=TriggerCause.RETRY,
        executor_param="größer 🚀" * 10_000,
        retries_left=2,
        attempt=3,
        addresses=("http://a:1", "http://b:1"),
        shard_index=1,
        shard_total=4,
        not_before=NOW + 500,
        batch_id=12,
        log_level="WARNING",
    )
    await db.tx(open_executions, [opening], NOW + 5)
    [number] = await db.read(ids_of_trigger, 7, "fire:1")
    assert await db.read(execution, number) == Execution(
        id=number,
        job_id=7,
        job_group=3,
        cause=TriggerCause.RETRY,
        trigger_code=NOT_YET,
        handle_code=NOT_YET,
        phase=Phase.OPENED,
        schedule_time=NOW,
        trigger_time=NOW + 5,
        addresses=("http://a:1", "http://b:1"),
        executor_handler="nightly",
        executor_param="größer 🚀" * 10_000,
        shard_index=1,
        shard_total=4,
        retries_left=2,
        attempt=3,
        trigger_key="fire:1",
        not_before=NOW + 500,
        batch_id=12,
        log_level="WARNING",
    )


async def test_a_second_opening_with_the_same_key_changes_nothing(db: Database, peer: Database) -> None:
    await db.tx(open_executions, [an_opening("key:x", executor_param="first")], NOW)
    ids = await db.read(ids_of_trigger, 1, "key:x")
    again = [an_opening("key:x", executor_param="second"), an_opening("key:y")]
    await peer.tx(open_executions, again, NOW + 1)
    assert await db.read(ids_of_trigger, 1, "key:x") == ids
    assert (await db.read(execution, ids[0])).executor_param == "first"
    assert len(await db.read(ids_of_trigger, 1, "key:y")) == 1


async def test_what_was_asked_for_first_is_remembered(db: Database) -> None:
    for digest in ("d" * 64, "e" * 64):
        await db.tx(open_executions, [an_opening("key:x", request_digest=digest), an_opening("fire:1")], NOW)
    for key, kept in (("key:x", "d" * 64), ("fire:1", None)):
        [number] = await db.read(ids_of_trigger, 1, key)
        assert await db.read(request_of, number) == (kept, 1)


async def test_an_ended_execution_is_not_opened_again(db: Database) -> None:
    [number] = await db.tx(open_some, 1)
    await db.tx(end_executions, [success(number)], NOW)
    assert await db.tx(open_some, 1) == [number]
    assert (await db.read(execution, number)).phase is Phase.ENDED


async def test_the_key_counts_per_job_and_shard(db: Database) -> None:
    openings = [an_opening("fire:1", job_id=job, shard_index=i, shard_total=3) for job in (1, 2) for i in range(3)]
    for _ in range(2):
        await db.tx(open_executions, openings, NOW)
    for job in (1, 2):
        shards = [(await db.read(execution, n)).shard_index for n in await db.read(ids_of_trigger, job, "fire:1")]
        assert shards == [0, 1, 2]
    assert await db.read(ids_of_trigger, 3, "fire:1") == []


async def test_keys_that_differ_in_case_are_different(db: Database) -> None:
    await db.tx(open_executions, [an_opening("key:a"), an_opening("key:A")], NOW)
    assert await db.read(ids_of_trigger, 1, "key:a") != await db.read(ids_of_trigger, 1, "key:A")


# --- the walk ---


async def test_the_whole_walk(db: Database) -> None:
    [number] = await db.tx(open_some, 1)
    assert [one.id for one in await db.tx(take_due, NOW, 10)] == [number]
    assert await db.read(sent_among, [number]) == {}

    await db.tx(assign_executions, [Assignment(number, "http://a:1", "process-1", "routed to a")], 4, NOW + 1)
    sent = await db.read(execution, number)
    assert (sent.phase, sent.status, sent.executor_address) == (Phase.DISPATCHING, Status.INIT, "http://a:1")
    assert (sent.incarnation, sent.trigger_msg) == ("process-1", "routed to a")
    assert await db.tx(take_due, NOW, 10) == []
    assert (await db.read(sent_among, [number])).keys() == {number}

    await db.tx(record_unknown, [(number, "no answer")], NOW + 2)
    [(doubted, since)] = await db.read(list_unknown, 10)
    assert (doubted.id, doubted.status, doubted.trigger_msg, since) == (number, Status.INIT, "no answer", NOW + 2)

    await db.tx(record_accepted, [number], NOW + 3)
    taken = await db.read(execution, number)
    assert (taken.phase, taken.status) == (Phase.DISPATCHED, Status.PENDING)
    assert await db.read(list_unknown, 10) == []

    ending = success(number, handle_msg="done", start_time=NOW + 4)
    [won] = await db.tx(end_executions, [ending], NOW + 9)
    assert won == await db.read(execution, number)
    assert (won.phase, won.status, won.handle_msg) == (Phase.ENDED, Status.SUCCESS, "done")
    assert (won.start_time, won.handle_time, won.trigger_msg) == (NOW + 4, NOW + 9, "no answer")


@pytest.mark.parametrize(("measured", "kept"), [(None, None), (0, 0), (3, 3), (9_999, 7)])
async def test_the_measured_duration_is_kept_as_far_as_it_can_be(
    db: Database, measured: int | None, kept: int | None
) -> None:
    """Nothing ran longer than since it was opened."""
    [number] = await db.tx(open_some, 1)
    await db.tx(assign, number)
    [won] = await db.tx(end_executions, [success(number, start_time=NOW, duration_ms=measured)], NOW + 7)
    assert won == await db.read(execution, number)
    assert won.duration_ms == kept


async def test_the_oldest_are_taken_first_up_to_the_limit(db: Database) -> None:
    ids = await db.tx(open_some, 5)
    await db.tx(assign, ids[1])
    assert [one.id for one in await db.tx(take_due, NOW, 3)] == [ids[0], ids[2], ids[3]]


@on_servers
async def test_two_dispatchers_never_take_the_same_execution(db: Database, peer: Database) -> None:
    ids = await db.tx(open_some, 6)
    with peer.engine.begin() as other:
        theirs = [one.id for one in take_due(other, NOW, 4)]
        ours = [one.id for one in await db.tx(take_due, NOW, 4)]
    assert theirs == ids[:4]
    assert not set(ours) & set(theirs)


async def test_only_an_opened_execution_is_assigned(db: Database) -> None:
    [number] = await db.tx(open_some, 1)
    await db.tx(assign, number, epoch=1)
    await db.tx(assign_executions, [Assignment(number, "http://b:1", "process-2", "again")], 2, NOW)
    assert (await db.read(execution, number)).executor_address == "http://10.0.0.1:9999"


async def test_an_answer_to_what_was_never_sent_changes_nothing(db: Database) -> None:
    [number] = await db.tx(open_some, 1)
    before = await db.read(execution, number)
    await db.tx(record_accepted, [number, 404], NOW)
    await db.tx(record_unknown, [(number, "lost"), (404, "lost")], NOW)
    assert await db.read(execution, number) == before


async def test_a_doubt_does_not_take_back_a_yes(db: Database) -> None:
    [number] = await db.tx(open_some, 1)
    await db.tx(assign, number)
    await db.tx(record_accepted, [number], NOW)
    await db.tx(record_unknown, [(number, "lost")], NOW)
    assert (await db.read(execution, number)).phase is Phase.DISPATCHED


async def test_what_earlier_terms_were_sending_becomes_unknown(db: Database) -> None:
    earlier, current, opened, taken, ended = await db.tx(open_some, 5)
    await db.tx(assign, earlier, taken, ended, epoch=3)
    await db.tx(assign, current, epoch=4)
    await db.tx(record_accepted, [taken], NOW)
    await db.tx(end_executions, [success(ended)], NOW)
    assert await db.tx(doubt_earlier_dispatches, 4, NOW + 7) == [earlier]
    assert [(one.id, since) for one, since in await db.read(list_unknown, 10)] == [(earlier, NOW + 7)]
    phases = [(await db.read(execution, number)).phase for number in (current, opened, taken, ended)]
    assert phases == [Phase.DISPATCHING, Phase.OPENED, Phase.DISPATCHED, Phase.ENDED]
    assert await db.tx(doubt_earlier_dispatches, 4, NOW + 8) == []


async def test_the_doubtful_are_listed_oldest_first(db: Database) -> None:
    ids = await db.tx(open_some, 4)
    await db.tx(assign, *ids)
    await db.tx(record_unknown, [(number, "lost") for number in reversed(ids)], NOW)
    assert [one.id for one, _since in await db.read(list_unknown, 3)] == ids[:3]


async def test_what_executors_have_is_listed_page_by_page(db: Database) -> None:
    ids = await db.tx(open_some, 7)
    await db.tx(assign, *ids[1:])
    await db.tx(record_accepted, ids[2:], NOW)
    await db.tx(end_executions, [success(ids[3])], NOW)
    first = await db.read(list_taken, 0, 3)
    assert [one.id for one in first] == [ids[2], ids[4], ids[5]]
    assert [one.id for one in await db.read(list_taken, first[-1].id, 3)] == ids[6:]


# --- ending ---


async def test_a_callback_may_overtake_the_answer_to_its_dispatch(db: Database) -> None:
    [number] = await db.tx(open_some, 1)
    await db.tx(assign, number)
    await db.tx(end_executions, [success(number, handle_msg="quick")], NOW)
    ended = await db.read(execution, number)
    await db.tx(record_accepted, [number], NOW + 1)
    await db.tx(record_unknown, [(number, "lost")], NOW + 1)
    await db.tx(assign, number, epoch=9)
    await db.tx(doubt_earlier_dispatches, 9, NOW + 1)
    assert await db.read(execution, number) == ended


@pytest.mark.parametrize(
    ("trigger_code", "handle_code", "status"),
    [
        (SUCCESS, SUCCESS, Status.SUCCESS),
        (SUCCESS, TIMED_OUT, Status.TIMEOUT),
        (SUCCESS, FAILURE, Status.FAILED),
        (SUCCESS, 777, Status.FAILED),
        (SUCCESS, -1, Status.FAILED),
        (SUCCESS, NOT_YET, Status.FAILED),
        (FAILURE, NOT_YET, Status.TRIGGER_FAILED),
        (NOT_YET, SUCCESS, Status.SUCCESS),
        (NOT_YET, FAILURE, Status.FAILED),
        (NOT_YET, NOT_YET, Status.TRIGGER_FAILED),
    ],
)
async def test_every_pair_of_codes_ends_an_execution(
    db: Database, trigger_code: int, handle_code: int, status: Status
) -> None:
    [number] = await db.tx(open_some, 1)
    ending = Ending(execution_id=number, trigger_code=trigger_code, handle_code=handle_code)
    [won] = await db.tx(end_executions, [ending], NOW)
    assert won == await db.read(execution, number)
    assert (won.status, won.phase) == (status, Phase.ENDED)
    found = await db.read(list_executions, Filter(statuses=frozenset({status})), limit=10)
    assert [one.id for one in found] == [number]


async def test_of_two_endings_the_first_counts(db: Database) -> None:
    ids = await db.tx(open_some, 2)
    together = [success(ids[0], handle_msg="first"), refusal(ids[1]), refusal(ids[0])]
    assert [one.id for one in await db.tx(end_executions, together, NOW)] == ids
    first = await db.read(execution, ids[0])
    assert (first.status, first.handle_msg) == (Status.SUCCESS, "first")
    assert await db.tx(end_executions, [refusal(ids[0]), refusal(404)], NOW + 1) == []
    assert await db.read(execution, ids[0]) == first


async def test_what_an_executor_has_taken_cannot_fail_to_be_sent(db: Database) -> None:
    """A refusal may be the late answer to a second question; the first was answered with yes."""
    [number] = await db.tx(open_some, 1)
    await db.tx(assign, number)
    await db.tx(record_accepted, [number], NOW)
    taken = await db.read(execution, number)
    assert await db.tx(end_executions, [refusal(number)], NOW) == []
    assert await db.read(execution, number) == taken
    assert [one.status for one in await db.tx(end_executions, [success(number)], NOW)] == [Status.SUCCESS]


async def test_many_end_at_once(db: Database) -> None:
    ids = await db.tx(open_some, 600)
    await db.tx(end_executions, [success(number) for number in ids[::2]], NOW)
    won = await db.tx(end_executions, [refusal(number) for number in reversed(ids)], NOW)
    assert [one.id for one in won] == ids[1::2]
    assert (await db.read(sent_among, [*ids, 404])).keys() == set(ids)


# --- messages ---


def stored_message(connection: Connection, message: str) -> str | None:
    [number] = open_some(connection, 1)
    assign(connection, number)
    record_unknown(connection, [(number, message)], NOW)
    end_executions(connection, [success(number, handle_msg=message)], NOW)
    found = execution(connection, number)
    assert found.trigger_msg == found.handle_msg
    return found.handle_msg


async def test_a_message_of_the_limit_is_kept_whole(db: Database) -> None:
    message = "🚀" * 15_000  # four bytes each: 60,000 of the 65,535 a MariaDB text holds
    assert await db.tx(stored_message, message) == message


@pytest.mark.parametrize("letter", ["x", "ß", "🚀", "\x00", "\ud800"])
async def test_a_long_message_keeps_head_and_tail(db: Database, letter: str) -> None:
    message = await db.tx(stored_message, f"Traceback:{letter * 49_000}ValueError: no")
    assert message is not None
    assert len(message) == 15_000
    assert message.startswith("Traceback:")
    assert message.endswith("ValueError: no")
    assert "characters left out" in message


@pytest.mark.parametrize(
    ("message", "stored"),
    [
        ("", ""),
        ("a\x00b", "a\\x00b"),
        ("half \ud83d of a pair", "half \\ud83d of a pair"),
        ("\udcff from the file system", "\\udcff from the file system"),
        ("🚀 日報 größer\r\n\t'\"\\%s%%:name", "🚀 日報 größer\r\n\t'\"\\%s%%:name"),
    ],
)
async def test_any_text_can_be_a_message(db: Database, message: str, stored: str) -> None:
    assert await db.tx(stored_message, message) == stored


# --- owners ---


async def test_the_owner_is_shown(db: Database) -> None:
    owned, free = await db.tx(open_some, 2)
    owner = {"execution_id": owned, "node_id": "node-1", "generation": 1, "state": "owned", "changed_at": NOW}
    await db.tx(lambda connection: connection.execute(insert(ownership).values(owner)).rowcount)
    assert (await db.read(execution, owned)).owner_node == "node-1"
    assert (await db.read(execution, free)).owner_node is None
    listed = await db.read(list_executions, limit=10)
    assert [(one.id, one.owner_node) for one in listed] == [(free, None), (owned, "node-1")]
    assert await db.read(find_execution, 404) is None


async def test_who_sent_it_is_known_by_the_term_also_when_it_has_ended(db: Database) -> None:
    sent, unsent = await db.tx(open_some, 2)
    await db.tx(note_term, 3, "node-1", "process-1", NOW)
    await db.tx(assign_executions, [Assignment(sent, "http://a:1", "process-2", "by hand")], 3, NOW)
    await db.tx(end_executions, [Ending(execution_id=sent, trigger_code=SUCCESS, handle_code=SUCCESS)], NOW)
    ended = await db.read(execution, sent)
    assert (ended.phase, ended.owner_node, ended.sent_by) == (Phase.ENDED, None, "node-1")
    listed = await db.read(list_executions, limit=10)
    assert [(one.id, one.sent_by) for one in listed] == [(unsent, None), (sent, "node-1")]
