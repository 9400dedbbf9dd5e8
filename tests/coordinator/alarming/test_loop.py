"""Alarms on a hand-cranked cluster, with real receivers: from a handler that fails to a message that arrives."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select, update

from orth.coordinator.alarming.definitions import checked
from orth.coordinator.alarming.facts import AlarmDelayed, AlarmGivenUp, AlarmsWithheld, AlarmTold
from orth.coordinator.defining import remove_job
from orth.domain.alarms import AlarmKind, AlarmState, Sign, SignKind, Silence
from orth.domain.jobs import Job, RouteStrategy
from orth.executor.context import JobContext, JobFailed
from orth.executor.handlers import Handlers
from orth.settings import Settings
from orth.settings.sections import AlarmsSection
from orth.store.alarm_channels import Channel, create_channel, delete_channel, list_channels
from orth.store.alarms import Message, claim_messages, list_messages, list_standings, next_alarm_at, note_signs
from orth.store.record_tables import alarms
from orth.store.silences import add_silence
from orth.store.tables import executions
from orth.testing import Cluster
from tests.receivers import HANG, MailReceiver, WebhookReceiver


class Moody:
    """A handler that fails while ``failing``."""

    def __init__(self) -> None:
        self.failing = True
        self.app = Handlers("tests")
        self.app.job("moody")(self._run)

    def _run(self, ctx: JobContext) -> None:
        if self.failing and ctx.param != "well":
            raise JobFailed("out of paper")


class Rig:
    """A cluster with a moody handler."""

    def __init__(self, cluster: Cluster, handler: Moody) -> None:
        self.cluster = cluster
        self.handler = handler

    async def channel(self, name: str, url: str, **more: Any) -> None:
        channel = Channel(name, "webhook", checked("webhook", {"url": url, **more}))
        await self.cluster.db.tx(create_channel, channel, self.cluster.clock.now())

    async def job(self, **fields: Any) -> Job:
        return await self.cluster.job(start=False, executor_handler="moody", **fields)

    async def run(self, job: Job, times: int = 1, *, fails: bool = True, param: str | None = None) -> list[int]:
        self.handler.failing = fails
        ids = [one for _ in range(times) for one in await self.cluster.trigger_all(job, param)]
        await self.cluster.advance(seconds=0)
        return ids

    async def pass_time(self, seconds: float) -> None:
        """Second by second, with what is sent arriving in between."""
        for _ in range(int(seconds)):
            await self.cluster.advance(seconds=1)
            await self.sent()

    async def sent(self) -> None:
        for coordinator in self.cluster.coordinators:
            await coordinator.records.alarms.all_sent()

    async def messages(self) -> list[Message]:
        found = await self.cluster.db.read(list_messages, before=None, limit=100)
        return found[::-1]

    async def statuses(self, ids: list[int]) -> list[int]:
        def read(connection: Connection) -> list[int]:
            found = select(executions.c.alarm_status).where(executions.c.id.in_(ids)).order_by(executions.c.id)
            return list(connection.scalars(found))

        return await self.cluster.db.read(read)


Opened = Callable[..., Any]


@pytest.fixture
def rig(tmp_path: Path) -> Opened:
    @asynccontextmanager
    async def opened(store_url: str | None = None, coordinators: int = 1, **more: Any) -> AsyncIterator[Rig]:
        own = AlarmsSection(**{"allow_local": True, "timeout": timedelta(seconds=20), **more})
        handler = Moody()
        settings = Settings(alarms=own)
        async with Cluster(
            tmp_path, handler.app, settings=settings, store_url=store_url, coordinators=coordinators
        ) as cluster:
            yield Rig(cluster, handler)

    return opened


async def test_first_repeat_and_resolved(rig: Opened, store_url: str) -> None:
    with WebhookReceiver() as receiver:
        async with rig(store_url) as site:
            await site.channel("ops", receiver.url)
            job = await site.job(alarm_policy='{"repeat": 30}')
            failed = await site.run(job, 3)
            await site.pass_time(4)
            assert receiver.posted == []
            await site.pass_time(3)
            assert [one.json["title"] for one in receiver.posted] == ["moody failed 3 times"]
            assert receiver.posted[0].json["reason"] == "out of paper"
            assert receiver.posted[0].json["execution_id"] == failed[0]
            assert await site.statuses(failed) == [2, 2, 2]
            quiet = await site.run(job, 2)
            await site.pass_time(10)
            assert len(receiver.posted) == 1
            assert await site.statuses(quiet) == [1, 1]
            await site.cluster.advance(seconds=30)
            again = await site.run(job)
            await site.pass_time(3)
            assert receiver.posted[1].json["kind"] == "repeat"
            assert receiver.posted[1].json["failures"] == 6
            assert await site.statuses(again) == [2]
            await site.run(job, fails=False)
            await site.pass_time(3)
            assert receiver.posted[2].json["title"] == "moody succeeded again"
            assert await site.cluster.db.read(list_standings, 0, 10) == []
            await site.run(job, fails=False)
            await site.pass_time(10)
            assert len(receiver.posted) == 3
            assert {one.state for one in await site.messages()} == {AlarmState.TOLD}


async def test_a_hundred_failures_are_one_message(rig: Opened) -> None:
    with WebhookReceiver() as receiver:
        async with rig() as site:
            await site.channel("ops", receiver.url, preset="slack")
            job = await site.job()
            ids = []
            for _ in range(50):
                ids += await site.run(job, 2)
                await site.pass_time(1)
            await site.pass_time(10)
            (posted,) = receiver.posted
            assert "moody failed 100 times" in posted.json["text"]
            assert set(await site.statuses(ids)) == {2}


async def test_a_failure_that_is_tried_again_is_not_told_unless_asked_for(rig: Opened) -> None:
    with WebhookReceiver() as receiver:
        async with rig() as site:
            await site.channel("ops", receiver.url)
            patient = await site.job(executor_fail_retry_count=2)
            await site.run(patient)
            await site.pass_time(7)
            assert [one.json["failures"] for one in receiver.posted] == [1]
            impatient = await site.job(executor_fail_retry_count=2, alarm_policy='{"each": true}')
            await site.run(impatient)
            await site.pass_time(7)
            assert [one.json["failures"] for one in receiver.posted] == [1, 3]


async def test_a_receiver_that_fails_first_gets_the_same_message_again(rig: Opened) -> None:
    with WebhookReceiver(500, HANG, 200) as receiver:
        async with rig(timeout=timedelta(seconds=2)) as site:
            await site.channel("ops", receiver.url)
            failed = await site.run(await site.job())
            await site.pass_time(6)
            assert await site.statuses(failed) == [-1]
            await site.pass_time(45)
            assert len(receiver.posted) == 3
            assert len({one.json["message_id"] for one in receiver.posted}) == 1
            assert len({one.headers["Orth-Message-Id"] for one in receiver.posted}) == 1
            assert await site.statuses(failed) == [2]
            assert [event.attempt for event in site.cluster.recorder.all(AlarmDelayed)] == [1, 2]
            assert len(site.cluster.recorder.all(AlarmTold)) == 1


async def test_a_message_is_given_up_after_its_attempts(rig: Opened, free_port: int) -> None:
    with WebhookReceiver() as receiver:
        async with rig(attempts=2) as site:
            await site.channel("ops", receiver.url)
            await site.channel("away", f"http://127.0.0.1:{free_port}/secret")
            failed = await site.run(await site.job())
            await site.pass_time(6)
            assert await site.statuses(failed) == [-1]
            await site.pass_time(20)
            assert await site.statuses(failed) == [3]
            states = {one.channel: (one.state, one.attempts) for one in await site.messages()}
            assert states == {"ops": (AlarmState.TOLD, 1), "away": (AlarmState.FAILED, 2)}
            assert len(receiver.posted) == 1
            (given_up,) = site.cluster.recorder.all(AlarmGivenUp)
            assert "secret" not in str(given_up)


async def test_that_it_is_well_again_does_not_overtake_that_it_failed(rig: Opened) -> None:
    with WebhookReceiver(500, 200) as receiver:
        async with rig() as site:
            await site.channel("ops", receiver.url)
            job = await site.job()
            failed = await site.run(job)
            await site.pass_time(6)
            await site.run(job, fails=False)
            await site.pass_time(3)
            assert [one.json["kind"] for one in receiver.posted] == ["first"]
            assert await site.statuses(failed) == [-1]
            await site.pass_time(20)
            assert [one.json["kind"] for one in receiver.posted] == ["first", "first", "resolved"]
            assert await site.statuses(failed) == [2]


async def test_who_never_heard_that_it_failed_does_not_hear_that_it_is_well(rig: Opened) -> None:
    with WebhookReceiver(500) as deaf, WebhookReceiver() as receiver:
        async with rig(attempts=2) as site:
            await site.channel("deaf", deaf.url)
            await site.channel("ops", receiver.url)
            job = await site.job()
            failed = await site.run(job)
            await site.pass_time(6)
            await site.run(job, fails=False)
            await site.pass_time(25)
            assert [one.json["kind"] for one in deaf.posted] == ["first", "first"]
            assert [one.json["kind"] for one in receiver.posted] == ["first", "resolved"]
            assert await site.statuses(failed) == [3]
            settled = {(one.kind, one.channel): (one.state, one.error) for one in await site.messages()}
            assert settled[AlarmKind.RESOLVED, "ops"] == (AlarmState.TOLD, None)
            state, error = settled[AlarmKind.RESOLVED, "deaf"]
            assert (state, "nobody was told" in (error or "")) == (AlarmState.FAILED, True)
            assert len(site.cluster.recorder.all(AlarmGivenUp)) == 2
            assert await site.cluster.db.read(next_alarm_at) is None


async def test_a_failure_is_told_by_the_message_about_it_alone(rig: Opened) -> None:
    """The channel that was to tell of it is gone: another one, which tells that it is well, does not settle that."""
    with WebhookReceiver(500) as deaf, WebhookReceiver() as receiver:
        async with rig(attempts=2) as site:
            await site.channel("deaf", deaf.url)
            job = await site.job()
            failed = await site.run(job)
            await site.pass_time(6)
            await site.channel("ops", receiver.url)
            (gone,) = [one for one in await site.cluster.db.read(list_channels, 0, 10) if one.name == "deaf"]
            await site.cluster.db.tx(delete_channel, gone.id)
            await site.run(job, fails=False)
            await site.pass_time(3)
            assert [one.json["kind"] for one in receiver.posted] == ["resolved"]
            assert await site.statuses(failed) == [-1]
            await site.pass_time(25)
            assert await site.statuses(failed) == [3]


async def test_one_that_hangs_does_not_hold_up_the_others(rig: Opened) -> None:
    with WebhookReceiver(HANG) as slow, WebhookReceiver() as quick:
        async with rig() as site:
            await site.channel("slow", slow.url)
            await site.channel("quick", quick.url)
            await site.run(await site.job())
            await site.cluster.advance(seconds=6)
            await asyncio.to_thread(quick.wait_for, 1)
            await asyncio.to_thread(slow.wait_for, 1)
            await site.cluster.coordinators[0].records.alarms.close()
            states = {one.channel: (one.state, one.attempts) for one in await site.messages()}
            assert states["slow"] == (AlarmState.WAITING, 0)


async def test_nothing_to_tell(rig: Opened) -> None:
    async with rig() as site:
        without_channel = await site.run(await site.job())
        doomed = await site.job()
        of_deleted = await site.run(doomed)
        await site.cluster.db.tx(remove_job, doomed.id, site.cluster.clock.now())
        await site.pass_time(7)
        assert await site.statuses(without_channel + of_deleted) == [1, 1]
        assert {event.reason for event in site.cluster.recorder.all(AlarmsWithheld)} == {"no_channel", "no_job"}


async def test_a_job_without_a_channel_stands_as_failing_and_is_told_of_once_it_has_one(rig: Opened) -> None:
    with WebhookReceiver() as receiver:
        async with rig() as site:
            job = await site.job()
            await site.run(job, 2)
            await site.pass_time(7)
            (standing,) = await site.cluster.db.read(list_standings, 0, 10)
            assert (standing.job_id, standing.failures, standing.told_at) == (job.id, 2, 0)
            await site.channel("late", receiver.url)
            await site.run(job)
            await site.pass_time(7)
            assert [one.json["title"] for one in receiver.posted] == ["moody failed 3 times"]


async def test_a_job_without_a_channel_that_is_well_again_does_not_stand_as_failing(rig: Opened) -> None:
    async with rig() as site:
        job = await site.job()
        await site.run(job)
        await site.pass_time(7)
        await site.run(job, fails=False)
        await site.pass_time(7)
        assert await site.cluster.db.read(list_standings, 0, 10) == []


async def test_alarms_that_are_switched_off(rig: Opened) -> None:
    with WebhookReceiver() as receiver:
        async with rig(enabled=False) as site:
            await site.channel("ops", receiver.url)
            failed = await site.run(await site.job())
            await site.pass_time(7)
            assert await site.statuses(failed) == [1]
            assert receiver.posted == []


@pytest.mark.parametrize("whose", ["job", "group", "all", "another"])
async def test_silences(rig: Opened, whose: str) -> None:
    with WebhookReceiver() as receiver:
        async with rig() as site:
            await site.channel("ops", receiver.url)
            job, now = await site.job(), site.cluster.clock.now()
            job_id = {"job": job.id, "another": job.id + 1}.get(whose)
            group = job.job_group if whose == "group" else None
            silence = Silence(job_id, group, now, now + 60_000, "moving house", "me")
            await site.cluster.db.tx(add_silence, silence)
            failed = await site.run(job, 2)
            await site.pass_time(7)
            if whose == "another":
                assert len(receiver.posted) == 1
                return
            assert receiver.posted == []
            assert await site.statuses(failed) == [1, 1]
            await site.cluster.advance(seconds=60)
            await site.run(job)
            await site.pass_time(7)
            assert [(one.json["kind"], one.json["failures"]) for one in receiver.posted] == [("first", 3)]


async def test_a_job_chooses_its_channels(rig: Opened) -> None:
    with WebhookReceiver() as ops, WebhookReceiver() as dev:
        async with rig() as site:
            await site.channel("ops", ops.url)
            await site.channel("dev", dev.url)
            await site.run(await site.job(alarm_policy='{"channels": ["dev"]}'))
            await site.pass_time(7)
            assert (len(ops.posted), len(dev.posted)) == (0, 1)


async def test_the_addresses_of_a_job_get_mail(rig: Opened) -> None:
    with MailReceiver() as receiver:
        more = {"smtp_host": "127.0.0.1", "smtp_port": receiver.port, "smtp_security": "none", "allow_local": False}
        async with rig(**more) as site:
            failed = await site.run(await site.job(alarm_email="a@b.example,c@d.example"))
            nobody = await site.run(await site.job())
            await site.pass_time(7)
            assert receiver.recipients == [["a@b.example", "c@d.example"]]
            assert receiver.mails[0]["Subject"] == "[Orth] moody failed"
            assert await site.statuses(failed + nobody) == [2, 1]


async def test_a_broadcast_has_recovered_when_all_of_it_has(rig: Opened) -> None:
    with WebhookReceiver() as receiver:
        async with rig() as site:
            site.cluster.add_executor()
            await site.cluster.advance(seconds=0)
            await site.channel("ops", receiver.url)
            job = await site.job(executor_route_strategy=RouteStrategy.SHARDING_BROADCAST)
            assert len(await site.run(job)) == 2
            await site.pass_time(7)
            assert [one.json["failures"] for one in receiver.posted] == [2]
            await site.run(job, fails=False)
            await site.pass_time(3)
            assert [one.json["kind"] for one in receiver.posted] == ["first", "resolved"]


async def test_a_leader_that_dies_while_sending_leaves_nothing_stuck(rig: Opened, store_url: str) -> None:
    with WebhookReceiver() as receiver:
        async with rig(store_url, coordinators=2) as site:
            await site.channel("ops", receiver.url)
            failed = await site.run(await site.job())
            now = site.cluster.clock.now()
            await site.cluster.advance(seconds=4)
            first = next(one for one in site.cluster.coordinators if one.work.election.term is not None)
            # As the leader would have it in the instant of its death: judged, claimed, and nothing more.
            first.records.alarms._claim = _nothing  # type: ignore[method-assign]
            await site.cluster.advance(seconds=3)
            claimed = await site.cluster.db.tx(claim_messages, "the-dead", now + 7_000, now + 13_000, 10)
            assert len(claimed) == 1
            assert await site.statuses(failed) == [-1]
            await site.cluster.kill_coordinator(first)
            await site.pass_time(60)
            (posted,) = receiver.posted
            assert posted.json["message_id"] == claimed[0].message_id
            assert await site.statuses(failed) == [2]


async def _nothing(*_: object) -> None:
    return None


async def test_signs_whose_message_is_gone_do_not_stick(rig: Opened) -> None:
    with WebhookReceiver(500) as receiver:
        async with rig() as site:
            await site.channel("ops", receiver.url)
            failed = await site.run(await site.job())
            await site.pass_time(6)
            assert await site.statuses(failed) == [-1]

            def lose(connection: Connection) -> None:
                waiting = alarms.c.state == AlarmState.WAITING
                connection.execute(update(alarms).where(waiting).values(state=AlarmState.FAILED))

            await site.cluster.db.tx(lose)
            await site.pass_time(28)
            assert await site.statuses(failed) == [3]


async def test_a_flood_is_told_at_once_and_settled_in_parts(rig: Opened) -> None:
    with WebhookReceiver() as receiver:
        async with rig() as site:
            await site.channel("ops", receiver.url)
            job, now = await site.job(), site.cluster.clock.now()
            flood = [Sign(1_000_000 + n, job.id, SignKind.FAILURE, now) for n in range(2_500)]
            await site.cluster.db.tx(note_signs, flood, now)
            await site.pass_time(3)
            (posted,) = receiver.posted
            assert posted.json["failures"] == 1_000
            (standing,) = await site.cluster.db.read(list_standings, 0, 10)
            assert standing.failures == 2_500
            assert await site.cluster.db.read(next_alarm_at) is None


async def test_what_a_job_left_in_a_group_from_which_it_was_moved_is_told_to_nobody(rig: Opened) -> None:
    with WebhookReceiver() as receiver:
        async with rig() as site:
            await site.channel("ops", receiver.url)
            job, now = await site.job(), site.cluster.clock.now()
            groups = {1_000: job.job_group + 1, 1_001: job.job_group}
            signs = [Sign(one, job.id, SignKind.FAILURE, now, job_group=group) for one, group in groups.items()]
            await site.cluster.db.tx(note_signs, signs, now)
            await site.pass_time(10)
            assert [(one.json["execution_id"], one.json["failures"]) for one in receiver.posted] == [(1_001, 1)]
            (standing,) = await site.cluster.db.read(list_standings, 0, 10)
            assert (standing.failures, standing.job_group) == (1, job.job_group)


async def test_many_jobs_fail_at_the_same_time(rig: Opened) -> None:
    with WebhookReceiver() as receiver:
        async with rig() as site:
            await site.channel("ops", receiver.url)
            jobs = [await site.job() for _ in range(50)]
            now = site.cluster.clock.now()
            for job in jobs:
                await site.cluster.db.tx(note_signs, [Sign(job.id * 1_000, job.id, SignKind.FAILURE, now)], now)
            await site.pass_time(20)
            assert {one.json["job_id"] for one in receiver.posted} == {job.id for job in jobs}
            assert len(receiver.posted) == 50
