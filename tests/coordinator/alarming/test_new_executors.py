"""What is told of executors that enrol: each of them, gathered by app, to every channel."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from orth.coordinator.alarming.judging import Rules
from orth.coordinator.alarming.new_executors import tell_of_executor
from orth.coordinator.alarming.texts import Alarm, read_content
from orth.domain.alarms import AlarmKind, Silence, Timing
from orth.domain.enrolments import EnrolledKey, KeyState
from orth.store.alarm_channels import Channel, create_channel
from orth.store.alarms import Message, claim_messages, list_messages
from orth.store.database import Database, open_database
from orth.store.groups import create_group
from orth.store.silences import add_silence
from orth.testing.stores import prepare_store
from tests.store.builders import NOW, a_group

RULES = Rules(True, Timing(5_000, 60_000, 0), False, "https://orth.example", "node-1", 15_000)


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    prepare_store(store_url)
    with open_database(store_url, size=2) as db:
        yield db


def executor(number: int, app_name: str = "reports", state: KeyState = KeyState.ADMITTED) -> EnrolledKey:
    address, source = f"http://10.0.0.{number}:9999", f"10.0.0.{number}"
    return EnrolledKey(
        number, f"{number:016x}", app_name, "", state, address, source, None, "f" * 16, NOW, None, None, None
    )


async def channel(db: Database, name: str, kind: str = "webhook", **definition: object) -> None:
    await db.tx(create_channel, Channel(name, kind, definition), NOW)


async def tell(db: Database, one: EnrolledKey, now: int = NOW, rules: Rules = RULES) -> None:
    await db.tx(tell_of_executor, one, one.id, rules, now)


async def messages(db: Database) -> list[tuple[Message, Alarm]]:
    found: list[Message] = await db.read(list_messages, before=None, limit=100)
    return [(one, read_content(one.content, one.message_id)[0]) for one in reversed(found)]


async def test_a_new_executor_is_told_to_every_channel_with_a_receiver(db: Database) -> None:
    await channel(db, "ops")
    await channel(db, "people", "mail", to=["ops@example.com"])
    await channel(db, "jobs-only", "mail")
    await tell(db, executor(1, state=KeyState.WAITING))
    told = await messages(db)
    assert [one.channel for one, _alarm in told] == ["ops", "people"]
    message, alarm = told[0]
    assert (message.kind, alarm.title) == (AlarmKind.EXECUTOR, "New executor of reports")
    assert alarm.text.splitlines() == [
        "Executor 1 at http://10.0.0.1:9999 enrolled from 10.0.0.1. It waits to be admitted: orth executors admit 1",
        "https://orth.example/executors",
    ]


async def test_executors_that_enrol_together_share_a_message_with_those_of_their_app(db: Database) -> None:
    await channel(db, "ops")
    for number in range(1, 8):
        await tell(db, executor(number), NOW + number)
    await tell(db, executor(8, "other"), NOW + 8)
    first, other = await messages(db)
    assert (first[1].title, other[1].title) == ("7 new executors of reports", "New executor of other")
    assert first[1].reason.splitlines()[-2:] == [
        "Executor 5 at http://10.0.0.5:9999 enrolled from 10.0.0.5. It is admitted.",
        "And 2 more.",
    ]
    assert first[0].next_attempt == NOW + 7 + 5_000, "it waits until nobody came for a while"
    await tell(db, executor(9), NOW + 58_000)
    assert (await messages(db))[0][0].next_attempt == first[0].created_at + 60_000, "but no longer than that"


async def test_who_enrols_while_a_message_is_being_sent_is_told_of_by_the_next(db: Database) -> None:
    await channel(db, "ops")
    await tell(db, executor(1))
    assert len(await db.tx(claim_messages, "node-1", NOW + 6_000, NOW + 20_000, 10)) == 1
    await tell(db, executor(2), NOW + 7_000)
    assert [alarm.failures for _message, alarm in await messages(db)] == [1, 1]


async def test_an_executor_that_enrols_for_another_app_is_told_again(db: Database) -> None:
    await channel(db, "ops")
    one = executor(1)
    await db.tx(tell_of_executor, one, 101, RULES, NOW)
    await db.tx(tell_of_executor, replace(one, app_name="other"), 102, RULES, NOW)
    assert [alarm.group for _message, alarm in await messages(db)] == ["reports", "other"]


async def test_nothing_is_told_of_a_silenced_group_or_where_alarms_are_off(db: Database) -> None:
    await channel(db, "ops")
    group = await db.tx(create_group, a_group("reports"), NOW)
    await db.tx(add_silence, Silence(None, group, NOW - 1, NOW + 1_000, "rollout", "ann"))
    await tell(db, executor(1))
    await tell(db, executor(2), NOW + 2_000, replace(RULES, enabled=False))
    assert await messages(db) == []
    await tell(db, executor(3), NOW + 2_000)
    ((message, _alarm),) = await messages(db)
    assert message.job_group == group, "people of the group see it"
