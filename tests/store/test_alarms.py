"""Signs, messages and standings on every database: who wins, what is left, what a lease gives back."""

import asyncio

import pytest
from sqlalchemy import Connection, select

from orth.domain.alarms import AlarmKind, AlarmState, AlarmStatus, Sign, SignKind, Silence, Standing
from orth.domain.executions import FAILURE
from orth.errors import Conflict, NotFound
from orth.store.alarm_channels import Channel, create_channel, enabled_channels, get_channel, replace_channel
from orth.store.alarm_order import has_heard
from orth.store.alarms import (
    Message,
    abandon_signs,
    claim_messages,
    drop_signs,
    due_jobs,
    extend_locks,
    failing_jobs,
    forgotten_signs,
    hand_back,
    jobs_with_messages,
    keep_standings,
    list_messages,
    list_standings,
    lock_signs,
    message_given_up,
    message_refused,
    message_sent,
    next_alarm_at,
    note_signs,
    noted_signs,
    purge_messages,
    purge_standings,
    put_off,
    settle_signs,
    standings_of,
    states_beside,
    store_messages,
    unbroken_broadcasts,
)
from orth.store.database import Database
from orth.store.executions import end_executions, ids_of_trigger, open_executions
from orth.store.silences import add_silence, count_silences, end_silence, list_silences, purge_silences, silences_at
from orth.store.tables import executions
from tests.store.builders import NOW, an_opening, assign, open_some, stored_job, success

FIRST = AlarmKind.FIRST


async def opened(db: Database, count: int, job_id: int = 1) -> list[int]:
    await db.tx(open_executions, [an_opening(f"fire:{n}", job_id=job_id) for n in range(count)], NOW)
    return [(await db.read(ids_of_trigger, job_id, f"fire:{n}"))[0] for n in range(count)]


def failures(ids: list[int], job_id: int = 1) -> list[Sign]:
    return [Sign(one, job_id, SignKind.FAILURE, NOW) for one in ids]


def statuses(connection: Connection) -> list[int]:
    return list(connection.scalars(select(executions.c.alarm_status).order_by(executions.c.id)))


async def test_signs_are_noted_once_and_judged_in_order(db: Database) -> None:
    ids = await opened(db, 3)
    for _ in range(2):
        await db.tx(note_signs, [*failures(ids), Sign(99, 1, SignKind.RESOLVED, NOW)], NOW)
    found = await db.read(noted_signs, 1, 100)
    assert [(sign.execution_id, sign.kind) for sign in found] == [(one, SignKind.FAILURE) for one in ids] + [
        (99, SignKind.RESOLVED)
    ]
    assert await db.read(due_jobs, NOW, 10) == [1]
    assert await db.read(next_alarm_at) == NOW
    await db.tx(put_off, 1, NOW, NOW + 60_000)
    assert await db.read(due_jobs, NOW, 10) == []
    assert await db.read(next_alarm_at) == NOW + 60_000


async def test_a_shard_that_succeeded_at_a_later_attempt_breaks_no_broadcast(db: Database) -> None:
    def shards(connection: Connection) -> list[int]:
        first, second = open_some(connection, 2, broadcast_id=7)
        (third,) = open_some(connection, 1, prefix="retry", broadcast_id=7, origin_id=first)
        assign(connection, first, second, third)
        end_executions(connection, [success(first, handle_code=FAILURE), success(second)], NOW)
        return [third]

    (third,) = await db.tx(shards)
    assert await db.read(unbroken_broadcasts, [(1, 7)]) == set()
    await db.tx(end_executions, [success(third)], NOW)
    assert await db.read(unbroken_broadcasts, [(1, 7), (1, None)]) == {7}


async def test_who_is_failing(db: Database) -> None:
    await db.tx(note_signs, [Sign(1, 1, SignKind.FAILURE, NOW), Sign(2, 2, SignKind.RESOLVED, NOW)], NOW)
    await db.tx(keep_standings, {3: Standing(3, 5, NOW, NOW, 1)})
    assert await db.read(failing_jobs, [1, 2, 3, 4]) == {1, 3}


async def test_an_executions_alarm_status_goes_its_way_and_no_other(db: Database) -> None:
    ids = await opened(db, 4)
    await db.tx(note_signs, failures(ids), NOW)
    signs = await db.read(noted_signs, 1, 100)
    await db.tx(lock_signs, signs[:1], "first:1", "node-1", NOW + 10)
    await db.tx(lock_signs, signs[1:2], "first:2", "node-1", NOW + 10)
    await db.tx(drop_signs, signs[2:])
    assert await db.read(statuses) == [-1, -1, 1, 1]
    await db.tx(settle_signs, 1, "resolved:1", AlarmStatus.TOLD)
    await db.tx(settle_signs, 2, "first:1", AlarmStatus.TOLD)
    assert await db.read(statuses) == [-1, -1, 1, 1]
    await db.tx(settle_signs, 1, "first:1", AlarmStatus.TOLD)
    assert await db.read(statuses) == [2, -1, 1, 1]
    await db.tx(settle_signs, 1, "first:2", AlarmStatus.NOT_TOLD)
    assert await db.read(statuses) == [2, 3, 1, 1]
    await db.tx(lock_signs, signs, "first:3", "node-1", NOW)
    await db.tx(drop_signs, signs)
    assert await db.read(statuses) == [2, 3, 1, 1]
    assert await db.read(next_alarm_at) is None


async def test_a_locked_sign_never_sticks(db: Database) -> None:
    ids = await opened(db, 2)
    await db.tx(note_signs, failures(ids), NOW)
    await db.tx(lock_signs, await db.read(noted_signs, 1, 100), "first:1", "node-1", NOW + 10)
    assert await db.read(forgotten_signs, NOW + 9, 100) == []
    forgotten = await db.read(forgotten_signs, NOW + 10, 100)
    assert len(forgotten) == 2
    await db.tx(extend_locks, forgotten[:1], NOW + 99)
    await db.tx(abandon_signs, forgotten[1:])
    assert await db.read(statuses) == [-1, 3]
    assert len(await db.read(forgotten_signs, NOW + 99, 100)) == 1


async def test_a_message_goes_out_once_and_comes_back_when_its_lease_runs_out(db: Database) -> None:
    await db.tx(store_messages, [Message(1, 1, FIRST, "ops", "{}")], NOW)
    await db.tx(store_messages, [Message(1, 1, FIRST, "ops", "other")], NOW + 5)
    (claimed,) = await db.tx(claim_messages, "node-1", NOW, NOW + 15, 10)
    assert (claimed.content, claimed.attempts) == ("{}", 1)
    assert await db.tx(claim_messages, "node-2", NOW + 14, NOW + 30, 10) == []
    (again,) = await db.tx(claim_messages, "node-2", NOW + 15, NOW + 30, 10)
    assert again.message_id == claimed.message_id
    assert again.attempts == 2
    assert not await db.tx(message_sent, claimed, "node-1", NOW)
    assert await db.tx(message_sent, again, "node-2", NOW)
    assert not await db.tx(message_given_up, again, "node-2", "late", NOW)
    (told,) = await db.read(list_messages, before=None, limit=10)
    assert (told.state, told.error) == (AlarmState.TOLD, None)
    assert await db.read(next_alarm_at) is None


async def test_a_message_that_is_refused_waits_or_is_given_up(db: Database) -> None:
    await db.tx(store_messages, [Message(1, 1, FIRST, name, "{}") for name in ("a", "b")], NOW)
    one, other = await db.tx(claim_messages, "node-1", NOW, NOW + 15, 10)
    assert await db.tx(message_refused, one, "node-1", "x\x00\ud800" + "雨" * 600, NOW + 100)
    assert await db.tx(message_given_up, other, "node-1", "no", NOW)
    assert await db.read(states_beside, one) == {"a": AlarmState.WAITING, "b": AlarmState.FAILED}
    assert await db.read(jobs_with_messages, [1, 2]) == {1}
    assert await db.read(next_alarm_at) == NOW + 100
    assert await db.tx(claim_messages, "node-1", NOW + 99, NOW + 200, 10) == []
    (again,) = await db.tx(claim_messages, "node-1", NOW + 100, NOW + 200, 10)
    assert (again.channel, again.attempts) == ("a", 2)
    await db.tx(hand_back, [again], "node-1", NOW + 101)
    (back,) = await db.tx(claim_messages, "node-2", NOW + 101, NOW + 200, 10)
    assert back.attempts == 2


async def test_two_senders_never_claim_the_same_message(db: Database, peer: Database) -> None:
    await db.tx(store_messages, [Message(n, n, FIRST, "ops", "{}") for n in range(1, 101)], NOW)
    got = await asyncio.gather(
        *(node.tx(claim_messages, name, NOW, NOW + 99, 10) for _ in range(5) for node, name in ((db, "1"), (peer, "2")))
    )
    ids = [message.id for claimed in got for message in claimed]
    assert len(ids) == len(set(ids))
    while more := await db.tx(claim_messages, "3", NOW, NOW + 99, 50):
        ids += [message.id for message in more]
    assert sorted(set(ids)) == sorted(ids)
    assert len(ids) == 100


async def test_one_channel_hears_of_a_job_in_order(db: Database) -> None:
    first = [Message(1, 1, FIRST, name, "{}") for name in ("a", "b")]
    others = [Message(2, 1, AlarmKind.RESOLVED, "a", "{}"), Message(3, 1, FIRST, "a", "{}")]
    others.append(Message(4, 2, FIRST, "a", "{}"))
    await db.tx(store_messages, [*first, *others], NOW)
    claimed = await db.tx(claim_messages, "node-1", NOW, NOW + 15, 10)
    assert [(one.execution_id, one.channel) for one in claimed] == [(1, "a"), (1, "b"), (4, "a")]
    assert await db.tx(message_refused, claimed[0], "node-1", "busy", NOW + 100)
    assert await db.tx(message_sent, claimed[1], "node-1", NOW)
    assert await db.tx(message_sent, claimed[2], "node-1", NOW)
    assert await db.tx(claim_messages, "node-1", NOW + 50, NOW + 150, 10) == []
    assert await db.read(next_alarm_at) == NOW + 100, "and nobody looks at what waits, again and again"
    (again,) = await db.tx(claim_messages, "node-1", NOW + 100, NOW + 200, 10)
    assert again.id == claimed[0].id
    assert await db.tx(message_sent, again, "node-1", NOW + 101)
    assert await db.read(next_alarm_at) == NOW + 101
    (well,) = await db.tx(claim_messages, "node-1", NOW + 101, NOW + 200, 10)
    assert well.kind is AlarmKind.RESOLVED
    assert await db.tx(message_given_up, well, "node-1", "no", NOW + 102)
    (next_first,) = await db.tx(claim_messages, "node-1", NOW + 102, NOW + 200, 10)
    assert next_first.execution_id == 3


async def test_who_has_heard_of_a_failure(db: Database) -> None:
    kinds = [FIRST, AlarmKind.REPEAT, AlarmKind.RESOLVED, FIRST, AlarmKind.RESOLVED]
    await db.tx(store_messages, [Message(n, 1, kind, "a", "{}") for n, kind in enumerate(kinds)], NOW)
    heard = []
    for told in (False, True, True, False, True):
        (one,) = await db.tx(claim_messages, "node-1", NOW, NOW + 15, 10)
        heard.append(await db.read(has_heard, 1, "a", one.id))
        if told:
            await db.tx(message_sent, one, "node-1", NOW)
        else:
            await db.tx(message_given_up, one, "node-1", "no", NOW)
    assert heard == [True, False, True, True, False], "where nothing is left of it, they may have"


async def test_standings_are_kept_and_removed(db: Database) -> None:
    job_id = await stored_job(db)
    gone = job_id + 1
    await db.tx(keep_standings, {job_id: Standing(job_id, 1, NOW, 0, 1), gone: Standing(gone, 2, NOW, 0, 1)})
    await db.tx(keep_standings, {job_id: Standing(job_id, 1, NOW, NOW, 7)})
    assert (await db.read(standings_of, [job_id]))[job_id].failures == 7
    assert [one.job_id for one in await db.read(list_standings, 0, 10)] == [job_id, gone]
    assert [one.job_id for one in await db.read(list_standings, job_id, 10)] == [gone]
    assert await db.tx(purge_standings, 10) == 1
    await db.tx(keep_standings, {job_id: None})
    assert await db.read(list_standings, 0, 10) == []


async def test_the_list_and_its_end(db: Database) -> None:
    await db.tx(note_signs, failures([50]), NOW)
    await db.tx(store_messages, [Message(n, n % 2, FIRST, "ops", "{}") for n in range(1, 6)], NOW)
    everything = await db.read(list_messages, before=None, limit=10)
    assert [one.execution_id for one in everything] == [5, 4, 3, 2, 1]
    assert [one.execution_id for one in await db.read(list_messages, before=everything[1].id, limit=2)] == [3, 2]
    assert [one.execution_id for one in await db.read(list_messages, before=None, limit=10, job_id=0)] == [4, 2]
    for _ in range(3):
        (message,) = await db.tx(claim_messages, "node-1", NOW, NOW + 10, 1)
        await db.tx(message_sent, message, "node-1", NOW)
    assert len(await db.read(list_messages, before=None, limit=10, state=AlarmState.TOLD)) == 3
    assert await db.tx(purge_messages, NOW + 10, 2) == 0
    assert await db.tx(purge_messages, NOW + 11, 2) == 2
    assert await db.tx(purge_messages, NOW + 11, 2) == 1
    assert len(await db.read(list_messages, before=None, limit=10)) == 2


async def test_silences(db: Database) -> None:
    ids = [
        await db.tx(add_silence, Silence(*whose, NOW + start, NOW + end, "why", "me"))
        for whose, start, end in (((1, None), 0, 10), ((None, 2), 5, 20), ((None, None), 30, 40))
    ]
    assert [one.id for one in await db.read(silences_at, NOW + 5, 10)] == ids[:2]
    assert [one.id for one in await db.read(silences_at, NOW + 10, 10)] == ids[1:2]
    assert await db.read(count_silences, NOW + 10, 10) == 2
    await db.tx(end_silence, ids[1], NOW + 6)
    await db.tx(end_silence, ids[2], NOW + 6)
    await db.tx(end_silence, ids[0], NOW + 50)
    assert await db.read(silences_at, NOW + 35, 10) == []
    assert [one.id for one in await db.read(list_silences, before=None, limit=10)] == ids[::-1]
    assert [one.id for one in await db.read(list_silences, before=ids[2], limit=10, now=NOW + 6)] == ids[:1]
    assert await db.tx(purge_silences, NOW + 8, 10) == 2
    with pytest.raises(NotFound):
        await db.tx(end_silence, ids[2], NOW)


async def test_channels(db: Database) -> None:
    channel = Channel("ops", "webhook", {"url": "http://example/雨", "template": {"a": [1, None]}})
    channel_id = await db.tx(create_channel, channel, NOW)
    stored = await db.read(get_channel, channel_id)
    assert stored == Channel("ops", "webhook", channel.definition, True, 1, channel_id)
    with pytest.raises(Conflict):
        await db.tx(create_channel, channel, NOW)
    other = await db.tx(create_channel, Channel("dev", "mail", {}, enabled=False), NOW)
    assert list(await db.read(enabled_channels)) == ["ops"]
    with pytest.raises(Conflict):
        await db.tx(replace_channel, Channel("ops", "mail", {}, True, 1, other), NOW)
    await db.tx(replace_channel, Channel("dev", "mail", {"to": []}, True, 1, other), NOW)
    assert (await db.read(get_channel, other)).version == 2
    assert list(await db.read(enabled_channels)) == ["ops", "dev"]
