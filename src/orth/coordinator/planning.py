"""What to do about a job whose time has come: pure.

Fires are *on time* within the misfire threshold and *missed* beyond it. Every fire on time runs. What happens to
missed ones is the job's misfire strategy, within bounds by count and age; what does not run is written down with its
reason. A span of missed fires is found by jumping to its end, never by walking through it.

Fires that become due within the window ahead are decided as well, where the schedule allows it (``PLANNED_AHEAD``).
Such a run carries the instant before which it must not start.

Instants are those of the wall clock, and it may be set back. A fire has one instant and runs once, so a cron job waits
until the clock has caught up. A period knows no instants: such a job goes on from the new time (``anchored_again``).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from orth.domain.calendars import Calendar
from orth.domain.fires import Decision, FireDecision
from orth.domain.jobs import CAUSE_OF_SCHEDULE, PLANNED_AHEAD, Job, MisfireStrategy, ScheduleType, TriggerCause
from orth.domain.schedules import FixedDelay, FixedRate, Schedule, parse_schedule

# Missed fires are counted up to here for the ledger; beyond, "many" says enough.
_COUNTED = 1000
_MISSED = "missed"
"""How the reasons of all decisions about missed fires begin."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of catching up and of looking ahead, in milliseconds and fires."""

    misfire_threshold: int
    catch_up_limit: int
    catch_up_age: int
    ahead: int = 0


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A fire that runs: now, or not before the instant it is due."""

    fire_time: int
    cause: TriggerCause
    due: int
    not_before: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """All that follows from one job being due. ``next_fire`` 0: nothing to wait for; ``running`` says whether it
    stays started.
    """

    runs: tuple[PlannedRun, ...]
    decisions: tuple[FireDecision, ...]
    last_fire: int
    next_fire: int
    due_time: int
    running: bool


def schedule_of(job: Job, calendar: Calendar | None = None) -> Schedule:
    """The schedule a definition describes; ``InvalidSchedule`` when it describes none. A fixed rate goes on from the
    fire the job waits for.
    """
    return parse_schedule(
        job.schedule_type,
        job.schedule_conf,
        timezone=job.timezone,
        dst=job.dst_policy,
        jitter=job.jitter,
        key=job.id,
        calendar=calendar,
        anchor=job.trigger_next_time,
    )


def plan(job: Job, schedule: Schedule, now: int, bounds: Bounds) -> Plan:
    """Decide about every fire of ``job`` that is due at ``now`` or, if it may be, within the window ahead."""
    on_time_from = now - bounds.misfire_threshold
    horizon = now + bounds.ahead if job.schedule_type in PLANNED_AHEAD else now
    runs: list[PlannedRun] = []
    decisions: list[FireDecision] = []
    fire: int | None = job.trigger_next_time
    last = job.trigger_last_time
    if schedule.due_at(job.trigger_next_time) < on_time_from:
        last = _last_missed(job, schedule, on_time_from)
        for run, decision in _missed(job, schedule, last, now, bounds):
            decisions.append(decision)
            runs.extend([run] if run is not None else [])
        fire = schedule.next_after(last) if schedule.repeats_by_clock else None
    while fire is not None and (due := schedule.due_at(fire)) <= horizon and len(decisions) < bounds.catch_up_limit:
        decision = _on_time(job, schedule, fire)
        decisions.append(decision)
        if decision.decision == "run":
            runs.append(PlannedRun(fire, CAUSE_OF_SCHEDULE[job.schedule_type], due, due if due > now else None))
        last = fire
        fire = schedule.next_after(fire) if schedule.repeats_by_clock else None
    return _advanced(job, schedule, now, tuple(runs), tuple(decisions), last, fire)


def within(its: Plan, left: int, reason: str) -> Plan:
    """``its`` with the first ``left`` of its runs; the fires of the others are skipped, for this ``reason``. Not for a
    schedule that waits for the end of what it has started.
    """
    if len(its.runs) <= left:
        return its
    cut = {run.fire_time for run in its.runs[left:]}
    decisions: list[FireDecision] = []
    for one in its.decisions:
        if one.decision != "run" or one.fire_time not in cut:
            decisions.append(one)
        elif decisions and decisions[-1].reason == reason:
            before = decisions[-1]
            decisions[-1] = replace(before, last_time=one.last_time, fires=(before.fires or 0) + (one.fires or 0))
        else:
            decisions.append(replace(one, decision="skipped", reason=reason))
    return replace(its, runs=its.runs[:left], decisions=tuple(decisions))


def missed(decisions: Iterable[FireDecision]) -> Mapping[Decision, int]:
    """How many fires among these were missed, by what was decided. Many count as many as are worth counting."""
    fates: Counter[Decision] = Counter()
    for one in decisions:
        if one.reason.startswith(_MISSED):
            fates[one.decision] += _COUNTED if one.fires is None else one.fires
    return fates


def given_up(job: Job, schedule: Schedule, now: int, reason: str) -> FireDecision | None:
    """The fires of a started job that are due but undecided at ``now``, when it is stopped, retimed or deleted."""
    if not job.trigger_status or job.due_time == 0 or job.due_time > now:
        return None
    last = job.trigger_next_time
    if schedule.repeats_by_clock:
        last = max(last, _last_missed(job, schedule, now + 1))
    return _span(job, schedule, job.trigger_next_time, last, "skipped", reason)


def anchored_again(job: Job, schedule: Schedule, now: int, ahead: int, back: int) -> Plan | None:
    """Let a job with a period go on from ``now``, if it waits for a fire that lies further ahead than it can: the clock
    was set back by ``back`` milliseconds. None if it need not.
    """
    period = period_of(schedule)
    if period is None or job.trigger_next_time <= now + period + job.jitter + ahead:
        return None
    fire, onward = from_now(schedule, period, now, job.trigger_next_time)
    distance = (job.trigger_next_time - now) / 1000
    reason = (
        f"the clock was set back by {back / 1000:.1f} s: this lay {distance:.1f} s ahead, and a period counts from now"
    )
    decision = _decided(job, job.trigger_next_time, job.trigger_next_time, 1, "skipped", reason)
    return Plan((), (decision,), job.trigger_last_time, fire, onward.due_at(fire), running=True)


def period_of(schedule: Schedule) -> int | None:
    """What lies between two fires of a schedule that knows no instants, in milliseconds."""
    match schedule.fires:
        case FixedRate(period=period) | FixedDelay(delay=period):
            return period
    return None


def from_now(schedule: Schedule, period: int, now: int, waited_for: int) -> tuple[int, Schedule]:
    """A fire one period after ``now``, and the schedule that goes on from there. It shares no fire with the one that
    has ``waited_for``: before the clock was set back, those have run.
    """
    fire = now + period
    if (fire - waited_for) % period == 0:
        fire += 1
    return fire, replace(schedule, fires=FixedRate(period, fire)) if isinstance(schedule.fires, FixedRate) else schedule


def _advanced(
    job: Job,
    schedule: Schedule,
    now: int,
    runs: tuple[PlannedRun, ...],
    decisions: tuple[FireDecision, ...],
    last: int,
    fire: int | None,
) -> Plan:
    if job.schedule_type is ScheduleType.FIX_DELAY:
        if not decisions:  # looked at too early: it goes on waiting for what it waited for
            return Plan(runs, decisions, last, job.trigger_next_time, schedule.due_at(job.trigger_next_time), True)
        # The next delay counts from the end of what was started now; if nothing was, from now.
        following = None if runs else schedule.next_after(now)
        due = 0 if following is None else schedule.due_at(following)
        return Plan(runs, decisions, last, following or 0, due, running=True)
    if fire is None:
        return Plan(runs, decisions, last, 0, 0, running=False)
    return Plan(runs, decisions, last, fire, schedule.due_at(fire), running=True)


def _on_time(job: Job, schedule: Schedule, fire: int) -> FireDecision:
    refusal = schedule.skip_reason(fire)
    if refusal is not None:
        return _decided(job, fire, fire, 1, "skipped", refusal)
    return _decided(job, fire, fire, 1, "run", "")


def _last_missed(job: Job, schedule: Schedule, on_time_from: int) -> int:
    """The newest fire that is due before ``on_time_from``."""
    fire = schedule.previous_before(on_time_from)
    if fire is not None and schedule.due_at(fire) >= on_time_from:
        fire = schedule.previous_before(fire)  # jitter moves a fire by less than its distance to the next
    return job.trigger_next_time if fire is None else max(fire, job.trigger_next_time)


def _missed(
    job: Job, schedule: Schedule, last: int, now: int, bounds: Bounds
) -> Iterator[tuple[PlannedRun | None, FireDecision]]:
    """Decisions about the span from the job's next fire to ``last``, oldest first."""
    start: int | None = job.trigger_next_time
    chosen = _chosen(job, schedule, last, now, bounds)
    fate: Decision = "coalesced" if job.misfire_strategy is MisfireStrategy.FIRE_ONCE_NOW and chosen else "skipped"
    reason = _why(job, now, bounds, fate)
    for fire in chosen:
        if start is not None and start < fire:
            yield None, _span(job, schedule, start, schedule.previous_before(fire) or start, fate, reason)
        run = PlannedRun(fire, TriggerCause.MISFIRE, schedule.due_at(fire))
        yield run, _decided(job, fire, fire, 1, "run", f"{_MISSED}, run late")
        start = schedule.next_after(fire) if schedule.repeats_by_clock else None
        # From the first chosen one on, only the calendar keeps a missed fire from running.
        fate, reason = "skipped", f"{_MISSED}, and refused by the calendar"
    if start is not None and start <= last:
        yield None, _span(job, schedule, start, last, fate, reason)


def _chosen(job: Job, schedule: Schedule, last: int, now: int, bounds: Bounds) -> list[int]:
    """The missed fires that run after all, oldest first: the newest one, or the newest few within the bounds."""
    if job.misfire_strategy is MisfireStrategy.DO_NOTHING:
        return []
    wanted = 1 if job.misfire_strategy is MisfireStrategy.FIRE_ONCE_NOW else bounds.catch_up_limit
    oldest = job.trigger_next_time if wanted == 1 else max(job.trigger_next_time, now - bounds.catch_up_age)
    chosen: list[int] = []
    fire: int | None = last
    for _ in range(_COUNTED):
        if fire is None or fire < oldest or len(chosen) == wanted:
            break
        if schedule.skip_reason(fire) is None:
            chosen.append(fire)
        fire = schedule.previous_before(fire)
    return chosen[::-1]


def _why(job: Job, now: int, bounds: Bounds, fate: Decision) -> str:
    if fate == "coalesced":
        return f"{_MISSED}, made up for by one later run"
    if job.misfire_strategy is MisfireStrategy.DO_NOTHING:
        late = (now - job.trigger_next_time) / 1000
        return f"{_MISSED}: noticed {late:.1f} s late, more than the threshold of {bounds.misfire_threshold / 1000:g} s"
    return f"{_MISSED}, outside the catch-up bounds ({bounds.catch_up_limit} fires, {bounds.catch_up_age / 1000:g} s)"


def _span(job: Job, schedule: Schedule, first: int, last: int, fate: Decision, reason: str) -> FireDecision:
    count = schedule.count_between(first - 1, last, _COUNTED) if schedule.repeats_by_clock else 1
    return _decided(job, first, last, None if count >= _COUNTED else max(1, count), fate, reason)


def _decided(job: Job, first: int, last: int, count: int | None, fate: Decision, reason: str) -> FireDecision:
    return FireDecision(job.id, first, last, count, fate, reason, job.version)
