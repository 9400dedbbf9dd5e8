"""[1] The DueJobs loop: claim due jobs, plan each, open its executions; one leader transaction a batch.

The pause runs to the next due time, so an idle coordinator does almost nothing and a fire is late only by the work
itself. A local edit wakes the loop; an edit on another node is noticed within ``_LONGEST_PAUSE``.
"""

from dataclasses import dataclass, replace

from orth import failpoints
from orth.clock import Clock
from orth.cluster.election import Election, Term
from orth.cluster.leading import LeaderLoop
from orth.coordinator.facts import JobQuarantined, JobsPlanned
from orth.coordinator.planning import Bounds, Plan, plan, schedule_of
from orth.coordinator.triggering import open_planned
from orth.domain.calendars import Calendar
from orth.domain.fires import FireDecision
from orth.domain.jobs import Job
from orth.domain.schedules import Schedule
from orth.errors import OrthError
from orth.events import Events
from orth.loop import Loop
from orth.store.calendars import calendars_by_id
from orth.store.database import Connection, Database
from orth.store.fires import record_fires
from orth.store.jobs import Move, claim_due_jobs, move_jobs, next_due_time

_LONGEST_PAUSE = 1.0
_REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class _Pass:
    """What one transaction did."""

    claimed: int
    runs: int
    skipped: int
    quarantined: tuple[tuple[int, str], ...]
    next_due: int | None


class Schedules:
    """Parsed schedules by job and version: an expression is parsed once per edit, not once per fire."""

    def __init__(self) -> None:
        self._parsed: dict[int, tuple[int, Calendar | None, Schedule]] = {}

    def of(self, job: Job, calendar: Calendar | None) -> Schedule:
        known = self._parsed.get(job.id)
        if known is not None and known[0] == job.version and known[1] == calendar:
            return known[2]
        if len(self._parsed) >= _REMEMBERED:
            self._parsed.clear()  # simplest bound; refilling costs microseconds per job
        schedule = schedule_of(job, calendar)
        self._parsed[job.id] = (job.version, calendar, schedule)
        return schedule


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
    ) -> None:
        super().__init__(election, clock, events)
        self._db = db
        self._bounds = bounds
        self._batch = batch
        self._dispatch = dispatch
        self._schedules = Schedules()

    async def lead(self, term: Term) -> float:
        now = self.clock.now()
        done = await self._db.leader_tx(term.epoch, self._plan_batch, term.epoch, now)
        if failpoints.armed and done.claimed:
            failpoints.hit("due.committed")
        self.election.worked()
        for job_id, reason in done.quarantined:
            self.events.emit(JobQuarantined(job_id, reason))
        if done.claimed:
            self.events.emit(JobsPlanned(done.claimed, done.runs, done.skipped))
        if done.runs:
            self._dispatch.wake()
        if done.next_due is None:
            return _LONGEST_PAUSE
        return min(_LONGEST_PAUSE, max(0.0, (done.next_due - self.clock.now()) / 1000))

    def _plan_batch(self, connection: Connection, epoch: int, now: int) -> _Pass:
        jobs = claim_due_jobs(connection, now, self._batch)
        calendars = calendars_by_id(connection, {job.calendar_id for job in jobs if job.calendar_id is not None})
        plans: list[tuple[Job, Plan]] = []
        quarantined: list[tuple[int, str]] = []
        for job in jobs:
            try:
                calendar = calendars.get(job.calendar_id) if job.calendar_id is not None else None
                plans.append((job, plan(job, self._schedules.of(job, calendar), now, self._bounds)))
            except OrthError as error:
                quarantined.append((job.id, str(error)))
                plans.append((job, _quarantine(job, str(error))))
        if failpoints.armed and plans:
            failpoints.hit("due.planned")
        planned = [(job, run) for job, its in plans for run in its.runs]
        decisions = [decision for _job, its in plans for decision in its.decisions]
        open_planned(connection, planned, now)
        record_fires(connection, decisions, epoch, now)
        move_jobs(connection, [_move(job, its) for job, its in plans])
        if failpoints.armed and plans:
            failpoints.hit("due.written")
        skipped = sum(decision.decision != "run" for decision in decisions)
        return _Pass(len(jobs), len(planned), skipped, tuple(quarantined), next_due_time(connection))


def _move(job: Job, its: Plan) -> Move:
    return Move(job.id, job.version, its.last_fire, its.next_fire, its.due_time, its.running)


def _quarantine(job: Job, reason: str) -> Plan:
    """Stop a job whose schedule can no longer be computed, and write down why: one bad definition must not stop the
    others.
    """
    fire = job.trigger_next_time
    decision = FireDecision(job.id, fire, fire, 1, "skipped", f"the job was stopped: {reason}", job.version)
    return Plan((), (decision,), job.trigger_last_time, 0, 0, running=False)


def restarted(job: Job, schedule: Schedule, now: int) -> Job:
    """``job`` waiting for its first fire after ``now``."""
    fire = schedule.next_after(now)
    due = 0 if fire is None else schedule.due_at(fire)
    return replace(job, trigger_status=True, trigger_last_time=0, trigger_next_time=fire or 0, due_time=due)
