"""[1] The DueJobs loop: claim due jobs, plan each, open its executions; one leader transaction a batch.

With ``plan_ahead`` a fire is decided before it is due, and its execution carries the instant before which it must not
start: what the work takes, and what sending takes, is over by then. The loop turns when half of the window is left for
the next fire, so that fires that follow closely share a transaction, and it knows no grid: it sleeps exactly until
then. A local edit wakes it; an edit on another node is noticed within ``_LONGEST_PAUSE``, or sooner
where leases are short.

Between two turns wall clock and monotonic clock advance alike. Where they did not, the wall clock was set: that is
told, and if it was set back, jobs with a period are let go on from the new time before anything else is planned.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from orth import failpoints
from orth.clock import Clock
from orth.cluster.election import Election
from orth.cluster.leading import LeaderLoop
from orth.coordinator.broadcasts import Avoid
from orth.coordinator.facts import ClockStepped, FiresMissed, JobQuarantined, JobsPlanned
from orth.coordinator.planning import (
    Bounds,
    Plan,
    anchored_again,
    from_now,
    missed,
    period_of,
    plan,
    schedule_of,
    within,
)
from orth.coordinator.triggering import open_planned, tell_opened
from orth.domain.calendars import Calendar
from orth.domain.fires import Decision, FireDecision
from orth.domain.jobs import Job, TriggerCause
from orth.domain.schedules import Schedule
from orth.errors import Invalid, OrthError
from orth.events import Events
from orth.loop import Loop
from orth.store.calendars import calendars_by_id
from orth.store.database import Connection, Database
from orth.store.fires import record_fires
from orth.store.jobs import Move, UnreadableJob, Upcoming, claim_due_jobs, move_jobs, periodic_jobs, upcoming_jobs
from orth.store.leases import Term

_LONGEST_PAUSE = 1.0
_PASSES_OF_A_LEASE = 4  # a lead without a planning pass for a whole lease is given up
_WHILE_EDITED = 0.02  # what could have been claimed and was not is in somebody else's hands, for a moment
_STEP = 1000  # milliseconds; what clocks are corrected by day by day is far less
_AT_ONCE = 0.1  # seconds in which both clocks must be read to be compared
_LONGEST_AHEAD = 60_000  # what the setting allows; another node may have another value


@dataclass(frozen=True, slots=True)
class _Pass:
    """What one transaction did."""

    claimed: int
    runs: int
    skipped: int
    quarantined: tuple[tuple[int, str], ...]
    upcoming: Upcoming
    opened: tuple[TriggerCause, ...]
    dues: tuple[int, ...]
    """When each run was due, or will be."""
    missed: Mapping[Decision, int]
    fired: Mapping[int, int]
    """How many fires of which group run."""


class FireQuota:
    """How many fires of a group run in a minute: of the group's own, whatever others have. ``limit`` 0: any number.

    Counted by the leader, in its memory; a new one begins anew. A job that waits for the end of what it has started
    fires no faster than that ends, and is not kept from it: nothing else would let it go on.
    """

    def __init__(self, limit: int, clock: Clock) -> None:
        self._limit = limit
        self._clock = clock
        self._minute = 0
        self._fired: Counter[int] = Counter()

    def within(self, job: Job, its: Plan, fired: Mapping[int, int]) -> Plan:
        """What of a plan may run, when this pass has ``fired`` so many already."""
        if not self._limit:
            return its
        before = self._fired[job.job_group] if self._now() == self._minute else 0
        left = max(0, self._limit - before - fired.get(job.job_group, 0))
        reason = (
            f"group {job.job_group} had its {self._limit:,} fires of a minute (security.fires_per_minute_per_group)"
        )
        return within(its, left, reason)

    def count(self, fired: Mapping[int, int]) -> None:
        """So many are planned for good."""
        if self._now() != self._minute:
            self._minute, self._fired = self._now(), Counter()
        self._fired.update(fired)

    def _now(self) -> int:
        return int(self._clock.monotonic() / 60)


class ClockWatch:
    """Notices that the wall clock was set."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset = self._read()

    def step(self) -> int:
        """By how much it was set since the last call, in milliseconds; 0 if it was not."""
        offset = self._read()
        if offset is None:
            return 0
        before, self._offset = self._offset, offset
        return 0 if before is None or abs(offset - before) < _STEP else offset - before

    def _read(self) -> int | None:
        """The distance between the two clocks; None if this process was held up between reading them."""
        began = self._clock.monotonic()
        now = self._clock.now()
        return now - round(began * 1000) if self._clock.monotonic() - began < _AT_ONCE else None


class DueJobs(LeaderLoop):
    """Plans what is due."""

    def __init__(
        self,
        db: Database,
        election: Election,
        clock: Clock,
        events: Events,
        *,
        bounds: Bounds,
        batch: int,
        dispatch: Loop,
        avoid: Avoid,
        fires_a_minute: int = 0,
    ) -> None:
        super().__init__(election, clock, events)
        self._db = db
        self._bounds = bounds
        self._batch = batch
        self._dispatch = dispatch
        self._avoid = avoid
        self._quota = FireQuota(fires_a_minute, clock)
        self._idle = min(_LONGEST_PAUSE, election.lease / _PASSES_OF_A_LEASE)
        self._watch = ClockWatch(clock)
        self._set_back = 0
        """By how much the clock was set back since jobs were last looked at for it."""

    async def turn(self) -> float:
        step = self._watch.step()
        if step:
            self.events.emit(ClockStepped(step / 1000))
            self._set_back = max(0, self._set_back - step)
        return await super().turn()

    async def lead(self, term: Term) -> float:
        if self._set_back:
            await self._anchor_again(term)
        now = self.clock.now()
        done = await self._db.leader_tx(term, self._plan_batch, term.epoch, now)
        if failpoints.armed and done.claimed:
            failpoints.hit("due.committed")
        self.election.worked()
        self._quota.count(done.fired)
        for job_id, reason in done.quarantined:
            self.events.emit(JobQuarantined(job_id, reason))
        if done.claimed:
            self._tell(done)
        if done.runs:
            self._dispatch.wake()
        return _pause(done, self.clock.now(), self._bounds.ahead, self._idle)

    async def _anchor_again(self, term: Term) -> None:
        after: int | None = 0
        while after is not None:
            after = await self._db.leader_tx(
                term, self._anchor_batch, term.epoch, after, self._set_back, self.clock.now()
            )
        self._set_back = 0

    def _anchor_batch(self, connection: Connection, epoch: int, after: int, back: int, now: int) -> int | None:
        """Look at some jobs with a period; where to go on, None at the end."""
        waiting = periodic_jobs(connection, now + self._bounds.ahead, after, self._batch)
        plans: list[tuple[Job, Plan]] = []
        for job in (one for one in waiting if isinstance(one, Job)):
            with suppress(Exception):  # one whose schedule cannot be computed is stopped when it is due
                its = anchored_again(job, schedule_of(job), now, self._bounds.ahead, back)
                plans.extend([] if its is None else [(job, its)])
        record_fires(connection, [decision for _job, its in plans for decision in its.decisions], epoch, now)
        move_jobs(connection, [_move(job, its) for job, its in plans])
        return waiting[-1].id if waiting else None

    def _tell(self, done: _Pass) -> None:
        now = self.clock.now()
        lateness = tuple(max(0, now - due) / 1000 for due in done.dues)
        self.events.emit(JobsPlanned(done.claimed, done.runs, done.skipped, lateness))
        tell_opened(self.events, done.opened)
        if done.missed:
            self.events.emit(FiresMissed(*(done.missed.get(fate, 0) for fate in ("run", "coalesced", "skipped"))))

    def _plan_batch(self, connection: Connection, epoch: int, now: int) -> _Pass:
        ahead = self._bounds.ahead
        claimed = claim_due_jobs(connection, now, self._batch, ahead)
        jobs = [one for one in claimed if isinstance(one, Job)]
        calendars = calendars_by_id(connection, {job.calendar_id for job in jobs if job.calendar_id is not None})
        plans: list[tuple[Job, Plan]] = []
        fired: Counter[int] = Counter()
        bad: list[tuple[Job | UnreadableJob, str]] = [
            (one, f"it cannot be read: {one.reason}") for one in claimed if isinstance(one, UnreadableJob)
        ]
        for job in jobs:
            try:
                schedule = schedule_of(job, _calendar(job, calendars))
                its = plan(job, schedule, now, self._bounds)
                its = self._quota.within(job, its, fired) if schedule.repeats_by_clock else its
                fired[job.job_group] += len(its.runs)
                plans.append((job, its))
            except Exception as error:  # whatever is wrong with one job must not stop the others
                bad.append((job, str(error) if isinstance(error, OrthError) else repr(error)))
        if failpoints.armed and claimed:
            failpoints.hit("due.planned")
        planned = [(job, run) for job, its in plans for run in its.runs]
        decided = [*plans, *((job, _quarantine(job, reason)) for job, reason in bad)]
        decisions = [decision for _job, its in decided for decision in its.decisions]
        opened = open_planned(connection, planned, now, self._avoid)
        record_fires(connection, decisions, epoch, now)
        move_jobs(connection, [_move(job, its) for job, its in decided])
        if failpoints.armed and claimed:
            failpoints.hit("due.written")
        skipped = sum(decision.decision != "run" for decision in decisions)
        quarantined = tuple((job.id, reason) for job, reason in bad)
        return _Pass(
            len(claimed),
            len(planned),
            skipped,
            quarantined,
            upcoming_jobs(connection, now, ahead),
            tuple(opening.cause for opening in opened),
            tuple(run.due for _job, run in planned),
            missed(decisions),
            fired,
        )


def _pause(done: _Pass, now: int, ahead: int, longest: float) -> float:
    """How long there is nothing to plan."""
    if done.upcoming.plannable is not None:
        return 0.0 if done.claimed else _WHILE_EDITED
    moments = [] if done.upcoming.on_time is None else [done.upcoming.on_time]
    if done.upcoming.beyond is not None:
        moments.append(done.upcoming.beyond - ahead // 2)
    return min([longest, *(max(0, moment - now) / 1000 for moment in moments)])


def _calendar(job: Job, calendars: Mapping[int, Calendar]) -> Calendar | None:
    if job.calendar_id is None:
        return None
    if job.calendar_id not in calendars:
        raise Invalid(f"calendar {job.calendar_id} does not exist or cannot be read")
    return calendars[job.calendar_id]


def _move(job: Job | UnreadableJob, its: Plan) -> Move:
    return Move(job.id, job.version, its.last_fire, its.next_fire, its.due_time, its.running)


def _quarantine(job: Job | UnreadableJob, reason: str) -> Plan:
    """Stop a job that cannot be read or whose schedule cannot be computed, and write down why: one bad definition must
    not stop the others.
    """
    fire = job.trigger_next_time
    decision = FireDecision(job.id, fire, fire, 1, "skipped", f"the job was stopped: {reason}", job.version)
    return Plan((), (decision,), job.trigger_last_time, 0, 0, running=False)


def restarted(job: Job, schedule: Schedule, now: int, decided: Collection[int]) -> Job:
    """``job`` waiting for its first fire after ``now`` that is not among ``decided``: those are over, or under way."""
    fire = schedule.next_after(now)
    while fire is not None and fire in decided:
        fire = schedule.next_after(fire)
    period = period_of(schedule)
    if fire is not None and period is not None and fire > now + period + _LONGEST_AHEAD:
        # So far ahead only a clock can have decided that was set back since.
        fire, schedule = from_now(schedule, period, now, fire)
    due = 0 if fire is None else schedule.due_at(fire)
    started = fire is not None
    return replace(job, trigger_status=started, trigger_last_time=0, trigger_next_time=fire or 0, due_time=due)
