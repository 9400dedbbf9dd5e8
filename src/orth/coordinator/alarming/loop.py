"""The duty: judge what has come, send what is due, mark what became of it."""

import asyncio
import logging
from dataclasses import dataclass

from orth import failpoints
from orth.clock import Clock
from orth.cluster.election import Election
from orth.cluster.leading import LeaderLoop
from orth.coordinator.alarming.facts import AlarmDelayed, AlarmGivenUp, AlarmsWithheld, AlarmTold
from orth.coordinator.alarming.judging import Judged, Rules, judge, unstick
from orth.coordinator.alarming.outbound import NotDelivered
from orth.coordinator.alarming.senders import Senders
from orth.coordinator.alarming.texts import read_content
from orth.coordinator.facts import ExecutionFinished
from orth.domain.alarms import MAIL_CHANNEL, AlarmKind, outcome_of, pause_before
from orth.domain.executions import Status
from orth.errors import OrthError
from orth.events import Event, Events
from orth.store.alarm_channels import Channel, enabled_channels
from orth.store.alarm_order import has_heard
from orth.store.alarms import (
    Message,
    claim_messages,
    due_jobs,
    hand_back,
    message_given_up,
    message_refused,
    message_sent,
    next_alarm_at,
    purge_messages,
    purge_standings,
    settle_signs,
    states_beside,
)
from orth.store.database import Connection, Database
from orth.store.leases import Term
from orth.store.silences import purge_silences

log = logging.getLogger("orth.coordinator")

_IDLE = 2.0  # ends are also stored by other coordinators, which cannot wake this one
_SHORTEST = 0.2  # failures come by the thousand, and each wakes the loop
_JOBS = 20
_UNSTUCK = 500
_PURGED = 500
_PURGE_EVERY = 3600.0
_UNHEARD = "Not sent: by this channel nobody was told that the job failed."


@dataclass(frozen=True, slots=True)
class Persistence:
    """How messages are sent: how many at once, how often, with which pauses, and how long they are kept. In
    milliseconds.
    """

    at_once: int
    attempts: int
    first_pause: int
    longest_pause: int
    kept: int


class AlarmLoop(LeaderLoop):
    """Tells people. Turns on the leader; sending goes on between its turns."""

    def __init__(
        self,
        db: Database,
        election: Election,
        clock: Clock,
        events: Events,
        *,
        senders: Senders,
        rules: Rules,
        persistence: Persistence,
    ) -> None:
        super().__init__(election, clock, events)
        self._db = db
        self._senders = senders
        self._rules = rules
        self._persistence = persistence
        self._sending: dict[asyncio.Task[None], Message] = {}
        self._look_again: dict[int, int] = {}
        """Jobs whose signs are being gathered, until when. Lost with the process: then they wait a little longer."""
        self._rested = clock.monotonic()
        self._purged = clock.monotonic() - _PURGE_EVERY
        events.listen(self._heard)

    async def lead(self, term: Term) -> float:
        early = self._rested - self.clock.monotonic()
        if early > 0:
            return early
        self._rested = self.clock.monotonic() + _SHORTEST
        await self._purge(term)
        now = self.clock.now()
        due = await self._db.read(next_alarm_at)
        if (due is not None and due <= now) or any(at <= now for at in self._look_again.values()):
            await self._judge(term, now)
            await self._claim(term, now)
            due = await self._db.read(next_alarm_at)
        return self._pause(due)

    async def all_sent(self) -> None:
        """Wait until nothing is on its way."""
        while self._sending:
            await asyncio.wait(self._sending)

    async def close(self) -> None:
        """Stop sending; what is on its way is left to the next leader, who sends it at once."""
        left = dict(self._sending)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        cut_off = [message for task, message in left.items() if task.cancelled()]
        if cut_off:
            await self._db.tx(hand_back, cut_off, self._rules.node_id, self.clock.now())
        self._senders.close()

    def _heard(self, event: Event) -> None:
        if isinstance(event, ExecutionFinished) and event.status is not Status.SUCCESS:
            self.wake()

    def _pause(self, due: int | None) -> float:
        waits = [*self._look_again.values()]
        if due is not None and len(self._sending) < self._persistence.at_once:
            waits.append(due)
        following = (min(waits) - self.clock.now()) / 1000 if waits else _IDLE
        return min(_IDLE, max(_SHORTEST, following))

    async def _judge(self, term: Term, now: int) -> None:
        ripe = sorted((at, job_id) for job_id, at in self._look_again.items() if at <= now)[:_JOBS]
        jobs = {job_id for _at, job_id in ripe} | set(await self._db.read(due_jobs, now, _JOBS - len(ripe)))
        judged = await self._db.leader_tx(term, self._judged, jobs, now)
        for job_id in jobs:
            self._look_again.pop(job_id, None)
        for one in judged:
            if one.look_again is not None:
                self._look_again[one.job_id] = one.look_again
            elif one.withheld and one.failures:
                self.events.emit(AlarmsWithheld(one.job_id, one.failures, one.withheld))

    def _judged(self, connection: Connection, jobs: set[int], now: int) -> list[Judged]:
        unstick(connection, self._rules, now, _UNSTUCK)
        return judge(connection, jobs, self._rules, now) if jobs else []

    async def _claim(self, term: Term, now: int) -> None:
        room = self._persistence.at_once - len(self._sending)
        if room <= 0:
            return
        until = now + self._rules.lease
        claimed, given_up = await self._db.leader_tx(term, self._claimed, now, until, room)
        for fact in given_up:
            self.events.emit(fact)
        if not claimed:
            return
        channels = await self._db.read(enabled_channels)
        for message in claimed:
            task = asyncio.create_task(self._send(term, message, channels.get(message.channel)))
            self._sending[task] = message
            task.add_done_callback(self._sent)

    def _claimed(self, connection: Connection, now: int, until: int, room: int) -> tuple[list[Message], list[Event]]:
        """What to send now; and what is not sent at all, because its receivers never heard what it answers."""
        claimed = claim_messages(connection, self._rules.node_id, now, until, room)
        unheard = [
            one
            for one in claimed
            if one.kind is AlarmKind.RESOLVED and not has_heard(connection, one.job_id, one.channel, one.id)
        ]
        facts = [self._mark(connection, one, _UNHEARD, final=True) for one in unheard]
        return [one for one in claimed if one not in unheard], [fact for fact in facts if fact is not None]

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._sending.pop(task, None)
        self.wake()

    async def _send(self, term: Term, message: Message, channel: Channel | None) -> None:
        if channel is None and message.channel == MAIL_CHANNEL:
            channel = self._senders.built_in
        failure: str | None = None
        alarm, recipients = read_content(message.content, message.message_id)
        try:
            if channel is None:
                raise NotDelivered.of("channel_gone", name=message.channel)
            await self._senders.send(channel, alarm, recipients)
        except OrthError as error:
            failure = str(error)
        except Exception as bug:  # of a library that talks to a stranger; the message has its attempts, and no more
            log.exception("sending %s by channel %s failed", message.message_id, message.channel)
            failure = type(bug).__name__
        if failpoints.armed:
            failpoints.hit("alarms.sent")
        try:
            told = await self._db.leader_tx(term, self._mark, message, failure)
        except OrthError:  # the term is over, or the database is away: it is sent again when its lease has run out
            return
        if told is not None:
            self.events.emit(told)

    def _mark(
        self, connection: Connection, message: Message, failure: str | None, *, final: bool = False
    ) -> Event | None:
        """Write down how it went; with the last message that says the same, the signs it told of are settled."""
        node, now = self._rules.node_id, self.clock.now()
        last = final or message.attempts >= self._persistence.attempts
        fact: Event
        if failure is None:
            won = message_sent(connection, message, node, now)
            fact = AlarmTold(message.message_id, message.kind, message.job_id, message.channel)
        elif last:
            won = message_given_up(connection, message, node, failure, now)
            fact = AlarmGivenUp(message.message_id, message.channel, message.attempts, failure)
        else:
            limits = self._persistence
            pause = pause_before(message.attempts, limits.first_pause, limits.longest_pause)
            won = message_refused(connection, message, node, failure, now + pause)
            fact = AlarmDelayed(message.message_id, message.channel, message.attempts, failure)
        if not won:
            return None
        outcome = outcome_of(states_beside(connection, message))
        if outcome is not None:
            settle_signs(connection, message.job_id, message.subject, outcome)
        return fact

    async def _purge(self, term: Term) -> None:
        if self.clock.monotonic() - self._purged < _PURGE_EVERY:
            return
        before = self.clock.now() - self._persistence.kept
        removed = [
            await self._db.leader_tx(term, purge_messages, before, _PURGED),
            await self._db.leader_tx(term, purge_silences, before, _PURGED),
            await self._db.leader_tx(term, purge_standings, _PURGED),
        ]
        if max(removed) < _PURGED:
            self._purged = self.clock.monotonic()
