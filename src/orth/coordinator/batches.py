"""The Batches loop: spans of schedules, opened at the pace that was asked for.

A batch is a row that says how far it has come. Opening its next fires and moving that mark are one leader transaction,
so a batch that changes hands goes on where it was. The loop looks at each batch when an execution has ended here, and
every second besides, which finds what ended on other nodes.

A batch runs the fires it was counted with, in the group in which it was started. When the schedule of its job changes,
or can no longer be computed, or the job moves to another group, it is cancelled and says so.
"""

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice

from orth.clock import Clock
from orth.cluster.election import Election
from orth.cluster.leading import LeaderLoop
from orth.coordinator.broadcasts import Avoid
from orth.coordinator.defining import with_schedule
from orth.coordinator.facts import BatchEnded
from orth.coordinator.references import check_addresses, source_of
from orth.coordinator.triggering import check_same_request, digest_of, open_batch, tell_opened
from orth.domain.batches import Batch, BatchState, fires_within, timing_of
from orth.domain.cron.zones import zone_named
from orth.domain.jobs import Job, ScheduleType, TriggerCause
from orth.domain.schedules import Schedule, parse_instant
from orth.domain.scripts import reads_code
from orth.errors import Conflict, Invalid, InvalidSchedule, OrthError, TooBusy
from orth.events import Events
from orth.loop import Loop
from orth.store.batches import (
    NewBatch,
    advance_batch,
    batch_of_key,
    done_instants,
    end_batch,
    hold_batch,
    open_instants,
    running_batches,
    store_batch,
)
from orth.store.database import Connection, Database
from orth.store.jobs import hold_job
from orth.store.leases import Term

RUNNING_LIMIT = 100
"""Batches that may run at the same time in the whole cluster."""

_EDGE = 20  # fires shown at each end of a preview
_LOOKED_AT = 5  # times the limit: fires that are looked at before a span counts as endless
_CHUNK = 500  # fires opened in one transaction
_PAUSE = 1.0
_REPEATING = (ScheduleType.CRON, ScheduleType.FIX_RATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRequest:
    """What somebody asked for. ``start`` and ``end`` are as they wrote them: a local time is the job's."""

    key: str
    start: str
    end: str
    limit: int
    at_once: int = 1
    param: str | None = None
    addresses: tuple[str, ...] = ()
    skip_done: bool = False
    actor: str = ""

    @property
    def digest(self) -> str:
        return digest_of(self.start, self.end, self.at_once, self.param, self.addresses, self.skip_done)


@dataclass(frozen=True, slots=True)
class Survey:
    """The fires of a span: those to run, the first and the last few of them, and how many are left out."""

    start: int
    end: int
    count: int
    first: tuple[int, ...]
    last: tuple[int, ...]
    refused: int  # by the calendar
    done: int


@dataclass(frozen=True, slots=True)
class _Step:
    """What one transaction did for a batch."""

    opened: tuple[TriggerCause, ...] = ()
    more: bool = False
    ended: BatchEnded | None = None


def survey_batch(connection: Connection, job_id: int, asked: BatchRequest) -> Survey:
    """What a batch would run."""
    job, schedule = with_schedule(connection, job_id)
    return _survey(connection, job, schedule, asked)


def was_started(connection: Connection, job_id: int, asked: BatchRequest) -> bool:
    """Whether the same was asked for before."""
    return batch_of_key(connection, job_id, _trigger_key(asked)) is not None


def start_batch(connection: Connection, job_id: int, asked: BatchRequest, now: int) -> Batch:
    """Store a batch, or find it when it was asked for before."""
    hold_job(connection, job_id)  # against removal
    job, schedule = with_schedule(connection, job_id)
    trigger_key = _trigger_key(asked)
    if batch_of_key(connection, job_id, trigger_key) is None:
        survey = _survey(connection, job, schedule, asked)
        if survey.count == 0:
            raise Invalid.of("batch_of_nothing", field="end")
        check_addresses(connection, job, asked.addresses)
        if len(running_batches(connection, RUNNING_LIMIT)) == RUNNING_LIMIT:
            raise TooBusy.of("batches_full", limit=RUNNING_LIMIT)
        premise = _premise(connection, job, schedule, asked.param)
        store_batch(connection, _new_batch(job, premise, asked, survey, trigger_key), now)
    found = batch_of_key(connection, job_id, trigger_key)
    assert found is not None
    batch, digest = found
    check_same_request((digest, batch.job_group), asked.digest, job.job_group)
    return batch


def cancel_batch(connection: Connection, batch_id: int, actor: str, now: int) -> None:
    """Open nothing more of a batch; a cancelled one is left as it is."""
    batch = hold_batch(connection, batch_id)
    if batch.state is BatchState.DONE:
        raise Conflict.of("batch_done", batch=batch_id)
    if batch.state is BatchState.RUNNING:
        end_batch(connection, batch_id, BatchState.CANCELLED, f"cancelled by {actor}", now)


def _trigger_key(asked: BatchRequest) -> str:
    return f"key:{asked.key}"


class Batches(LeaderLoop):
    """Opens the next fires of batches as room appears."""

    def __init__(
        self, db: Database, election: Election, clock: Clock, events: Events, *, dispatch: Loop, avoid: Avoid
    ) -> None:
        super().__init__(election, clock, events)
        self._db = db
        self._dispatch = dispatch
        self._avoid = avoid
        self._done: dict[int, set[int]] = {}
        """For batches that leave out what was done: those instants, as they were when this node first looked."""

    async def lead(self, term: Term) -> float:
        running = await self._db.read(running_batches, RUNNING_LIMIT)
        self._done = {batch_id: done for batch_id, done in self._done.items() if batch_id in running}
        more = False
        for batch_id in running:
            step = await self._db.leader_tx(term, self._advance, batch_id, self.clock.now())
            more = more or step.more
            if step.opened:
                tell_opened(self.events, step.opened)
                self._dispatch.wake()
            if step.ended is not None:
                self.events.emit(step.ended)
        return 0.0 if more else _PAUSE

    def _advance(self, connection: Connection, batch_id: int, now: int) -> _Step:
        batch = hold_batch(connection, batch_id)
        if batch.state is not BatchState.RUNNING:
            return _Step()
        try:
            job, schedule = with_schedule(connection, batch.job_id)
            premise = _premise(connection, job, schedule, batch.executor_param)
        except OrthError as error:
            return _end(connection, batch, BatchState.CANCELLED, str(error), now)
        broken = _broken(batch, job, premise)
        if broken:
            return _end(connection, batch, BatchState.CANCELLED, broken, now)
        under_way = open_instants(connection, batch.id)
        if batch.next_time >= batch.end_time:
            return _Step() if under_way else _end(connection, batch, BatchState.DONE, "", now)
        room = min(batch.at_once - under_way, _CHUNK)
        if room <= 0:
            return _Step()
        instants = list(islice(self._remaining(connection, batch, schedule), room))
        opened = open_batch(connection, job, batch, instants, now, self._avoid)
        reached = instants[-1] + 1 if len(instants) == room else batch.end_time
        advance_batch(connection, batch.id, reached, len(instants), now)
        return _Step(tuple(one.cause for one in opened), more=len(instants) in (0, _CHUNK))

    def _remaining(self, connection: Connection, batch: Batch, schedule: Schedule) -> Iterator[int]:
        if batch.skip_done and batch.id not in self._done:
            self._done[batch.id] = done_instants(
                connection, batch.job_id, batch.job_group, batch.start_time, batch.end_time
            )
        done: Collection[int] = self._done.get(batch.id, ())
        for fire, refusal in fires_within(schedule, batch.next_time, batch.end_time):
            if refusal is None and fire not in done:
                yield fire


def _end(connection: Connection, batch: Batch, state: BatchState, reason: str, now: int) -> _Step:
    end_batch(connection, batch.id, state, reason, now)
    return _Step(ended=BatchEnded(batch.id, batch.job_id, state, batch.opened, reason))


def _premise(connection: Connection, job: Job, schedule: Schedule, param: str | None) -> str:
    """What a batch was counted with, in short. A parameter of its own that was no code must not become some later,
    when the job gets another handler: whoever started the batch was asked what they may do with this one.
    """
    timing = timing_of(job, schedule)
    handler = "" if param is None else source_of(connection, job).executor_handler
    return digest_of(timing, handler) if reads_code(handler) else timing


def _broken(batch: Batch, job: Job, premise: str) -> str:
    """Why a batch does not go on; empty while it does. Whoever started it was asked what they may do in one group: in
    another, nobody agreed to their parameter and their addresses.
    """
    if job.job_group != batch.job_group:
        return "the job was moved to another group"
    return "" if premise == batch.timing else "the schedule or handler of the job was changed"


def _new_batch(job: Job, premise: str, asked: BatchRequest, survey: Survey, trigger_key: str) -> NewBatch:
    return NewBatch(
        job_id=job.id,
        job_group=job.job_group,
        trigger_key=trigger_key,
        request_digest=asked.digest,
        start_time=survey.start,
        end_time=survey.end,
        total=survey.count,
        at_once=asked.at_once,
        executor_param=asked.param,
        addresses=asked.addresses,
        skip_done=asked.skip_done,
        timing=premise,
        actor=asked.actor,
    )


def _survey(connection: Connection, job: Job, schedule: Schedule, asked: BatchRequest) -> Survey:
    """Walk through the span, which must be one a batch can have."""
    if job.schedule_type not in _REPEATING:
        raise Conflict.of("batch_without_fires", job=job.id, schedule=job.schedule_type.value)
    start, end = (_instant(text, job, field) for text, field in ((asked.start, "start"), (asked.end, "end")))
    if start >= end:
        raise Invalid.of("batch_span", field="end")
    done = done_instants(connection, job.id, job.job_group, start, end) if asked.skip_done else set()
    count = refused = left_out = 0
    first: list[int] = []
    last: deque[int] = deque(maxlen=_EDGE)
    bound = asked.limit * _LOOKED_AT
    for looked_at, (fire, refusal) in enumerate(fires_within(schedule, start, end)):
        if looked_at == bound:
            raise Invalid.of("batch_far_too_large", count=bound, limit=asked.limit, field="end")
        if refusal is not None:
            refused += 1
        elif fire in done:
            left_out += 1
        else:
            count += 1
            last.append(fire)
            if len(first) < _EDGE:
                first.append(fire)
    if count > asked.limit:
        raise Invalid.of("batch_too_large", count=count, limit=asked.limit, field="end")
    return Survey(start, end, count, tuple(first), tuple(last), refused, left_out)


def _instant(text: str, job: Job, field: str) -> int:
    try:
        return parse_instant(text, zone_named(job.timezone))
    except InvalidSchedule as error:
        raise Invalid.like(error, field=field) from None
