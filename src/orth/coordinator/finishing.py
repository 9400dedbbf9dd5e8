"""The one door out: whatever the end, an execution ends here.

The status change is guarded by the store; only who wins it draws the consequences, in the same transaction. So a
result delivered twice, a late report and a race between two reporters all have one effect. They come in this order:
another attempt, the jobs that follow or the next delay; what failed for good is kept as a dead letter; it is counted;
and whoever is to be told about it finds a sign.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from orth import failpoints
from orth.coordinator.aftermath import (
    FollowUp,
    LeaveChildren,
    LoseChildren,
    RunAgain,
    StartChildren,
    WaitAgain,
    failed_for_good,
    follow_up,
    tried_again,
)
from orth.coordinator.alarm_signs import note_ends
from orth.coordinator.broadcasts import EVERYBODY, Avoid, completed
from orth.coordinator.facts import ExecutionFinished
from orth.coordinator.planning import schedule_of
from orth.coordinator.triggering import open_children, open_retries, tell_opened
from orth.domain import reasons
from orth.domain.executions import EXECUTOR_MESSAGE_LIMIT, SUCCESS, Execution, Status, came_cut, ran_for
from orth.domain.jobs import Job, ScheduleType, TriggerCause
from orth.events import Events
from orth.store.ahead import RECALLS, skip_dropped
from orth.store.database import Connection
from orth.store.dead_letters import add_dead_letters
from orth.store.executions import Ending, Opening, end_executions
from orth.store.jobs import jobs_by_id, unreadable_jobs, wait_again
from orth.store.notes import Note, add_notes
from orth.store.possibly_running import note_unconfirmed
from orth.store.statistics import count_ends

_NOBODY = ""
"""Who writes notes about consequences: they follow from the end itself, whichever node stored it."""


@dataclass(frozen=True, slots=True)
class Finished:
    """An execution this process ended. ``job`` is None when the definition is gone or cannot be read."""

    execution: Execution
    job: Job | None
    opened: tuple[TriggerCause, ...] = ()
    """Of what its end has opened, the causes."""


@dataclass(frozen=True, slots=True)
class _Consequence:
    """One follow-up, with whose it is."""

    job: Job
    execution: Execution
    follow_up: FollowUp


def finish(connection: Connection, endings: Sequence[Ending], now: int, avoid: Avoid = EVERYBODY) -> list[Finished]:
    """End executions and do what follows; those this call ended."""
    won = end_executions(connection, endings, now)
    if not won:
        return []
    jobs = jobs_by_id(connection, {execution.job_id for execution in won})
    # A job that is deleted or unreadable has no consequences; its shards are counted all the same.
    over = completed(
        connection, (one for one in won if one.job_id not in jobs or not tried_again(jobs[one.job_id], one))
    )
    opened = _draw(
        connection,
        [
            _Consequence(jobs[one.job_id], one, following)
            for one in won
            if one.job_id in jobs
            for following in follow_up(jobs[one.job_id], one, over.get(one.id))
        ],
        {ending.execution_id: ending.handle_msg or "" for ending in endings},
        now,
        avoid,
    )
    _leave_unreadable(connection, [one for one in won if one.job_id not in jobs], now)
    finished = _finished(won, jobs, opened)
    unconfirmed = {ending.execution_id for ending in endings if not ending.confirmed}
    _keep_places(connection, [one for one in finished if one.execution.id in unconfirmed], now)
    _keep(connection, finished, now)
    if failpoints.armed:
        failpoints.hit("finishing.written")
    return finished


def _finished(won: Sequence[Execution], jobs: Mapping[int, Job], opened: Sequence[Opening]) -> list[Finished]:
    causes: dict[int | None, list[TriggerCause]] = {}
    for opening in opened:
        causes.setdefault(opening.origin_id, []).append(opening.cause)
    return [Finished(one, jobs.get(one.job_id), tuple(causes.get(one.id, ()))) for one in won]


def _keep(connection: Connection, finished: Sequence[Finished], now: int) -> None:
    """Write down what outlives the end: fires that were recalled in time, dead letters, counts, and signs for the
    alarms.
    """
    _skip_dropped(connection, [one.execution for one in finished if one.execution.reason_code in RECALLS], now)
    for_good = [one.execution for one in finished if failed_for_good(one.job, one.execution)]
    add_dead_letters(connection, for_good, now)
    count_ends(connection, [one.execution for one in finished], now)
    note_ends(connection, finished, {one.id for one in for_good}, now)


def _keep_places(connection: Connection, unconfirmed: Sequence[Finished], now: int) -> None:
    """Let those that may still be running at an executor keep other executions of their job away from the others. Also
    of jobs that may overlap: an edit may change that before this one has ended.
    """
    placed = [
        one.execution
        for one in unconfirmed
        if one.job is not None and not one.execution.is_test
        if one.execution.executor_address is not None or one.execution.queue is not None
    ]
    note_unconfirmed(connection, placed, now)


def _skip_dropped(connection: Connection, recalled: Sequence[Execution], now: int) -> None:
    fires: dict[tuple[int, str], set[int]] = {}
    for one in recalled:
        if one.schedule_time is not None and one.reason_code is not None:
            fires.setdefault((one.job_id, one.reason_code), set()).add(one.schedule_time)
    for (job_id, reason_code), fire_times in sorted(fires.items()):
        skip_dropped(connection, job_id, fire_times, reason_code, now)


def may_lead_on(one: Finished) -> bool:
    """Whether its end may have opened something or begun a delay. Most ends do neither, and wake nobody."""
    if one.job is None:
        return False
    follows = one.job.child_job_ids or one.job.schedule_type is ScheduleType.FIX_DELAY
    return bool(follows) or one.execution.status is not Status.SUCCESS


def tell(events: Events, finished: Sequence[Finished]) -> None:
    """Tell, after the commit, what has ended, and what that has opened."""
    for one in finished:
        execution = one.execution
        took = ran_for(execution.duration_ms, execution.start_time or execution.trigger_time, execution.handle_time)
        reason = execution.trigger_msg if execution.status is Status.TRIGGER_FAILED else execution.handle_msg
        events.emit(
            ExecutionFinished(
                execution.id,
                execution.job_id,
                one.job.job_desc if one.job else f"job {execution.job_id}",
                execution.tag,
                (took or 0) / 1000,
                execution.executor_address,
                "" if execution.handle_code == SUCCESS else _first_line(reason),
                execution.status,
                execution.cancelled,
            )
        )
    tell_opened(events, (cause for one in finished for cause in one.opened))


def _first_line(message: str | None) -> str:
    return next(iter((message or "").strip().splitlines()), "")[:200]


def _leave_unreadable(connection: Connection, ended: Sequence[Execution], now: int) -> None:
    """Say where an end had no consequences because its job cannot be read."""
    unreadable = unreadable_jobs(connection, {one.job_id for one in ended})
    left = [one for one in ended if one.job_id in unreadable]
    for one in left:
        if one.schedule_time is not None:  # a FIX_DELAY would wait for ever: planning looks at it now, and stops it
            wait_again(connection, one.job_id, one.schedule_time, now, now)
    if left:
        add_notes(connection, [_unreadable_note(one, unreadable[one.job_id]) for one in left], _NOBODY, now)


def _draw(
    connection: Connection, consequences: Iterable[_Consequence], results: Mapping[int, str], now: int, avoid: Avoid
) -> list[Opening]:
    """Carry out consequences; those of one kind together, however many executions ended at once. What was opened."""
    retries: list[tuple[Job, Execution, RunAgain]] = []
    starts: list[tuple[Execution, StartChildren]] = []
    notes: list[Note] = []
    for one in consequences:
        match one.follow_up:
            case RunAgain() as again:
                retries.append((one.job, one.execution, again))
            case WaitAgain(last_fire):
                _wait_again(connection, one.job, last_fire, now)
            case StartChildren() as start if start.with_result and came_cut(results.get(one.execution.id, "")):
                notes.append(_too_long_note(one.execution, start))
            case StartChildren() as start:
                starts.append((one.execution, start))
            case LeaveChildren() as left:
                notes.append(_left_note(one.execution, left))
            case LoseChildren():
                notes.append(_lost_note(one.execution))
    opened: list[Opening] = []
    if retries:
        opened += open_retries(connection, retries, now)
    if starts:
        started, missing = _start_children(connection, starts, results, now, avoid)
        opened += started
        notes += missing
    if notes:
        add_notes(connection, notes, _NOBODY, now)
    return opened


def _wait_again(connection: Connection, job: Job, last_fire: int, now: int) -> None:
    try:
        schedule = schedule_of(job)
        following = schedule.next_after(now)
        assert following is not None  # a delay always has an end
        due = schedule.due_at(following)
    except Exception:  # the result counts all the same; planning meets this now, and stops the job
        following = due = now
    wait_again(connection, job.id, last_fire, following, due)


def _start_children(
    connection: Connection,
    starts: Sequence[tuple[Execution, StartChildren]],
    results: Mapping[int, str],
    now: int,
    avoid: Avoid,
) -> tuple[Sequence[Opening], list[Note]]:
    """Open the children that exist; these, and notes about the others."""
    jobs = jobs_by_id(connection, {child for _parent, start in starts for child in start.children})
    wanted = [(child, parent, start) for parent, start in starts for child in start.children]
    there = [(jobs[child], parent, start) for child, parent, start in wanted if child in jobs]
    missing = [
        Note(parent.id, reasons.CHILD_MISSING, f"Job {child} should follow, but it does not exist or cannot be read.")
        for child, parent, _start in wanted
        if child not in jobs
    ]
    return open_children(connection, there, results, now, avoid), missing


def _unreadable_note(execution: Execution, reason: str) -> Note:
    message = f"No retry, no child and no next delay followed: the job cannot be read ({reason})."
    return Note(execution.id, reasons.JOB_UNREADABLE, message)


def _too_long_note(execution: Execution, start: StartChildren) -> Note:
    listed = ", ".join(map(str, start.children))
    message = f"Job {listed} was not started: the result is its parameter, and the executor has reported only a part "
    when = f"of it, as of {EXECUTOR_MESSAGE_LIMIT} characters or more, and of less while long results fill its outbox."
    return Note(execution.id, reasons.RESULT_TOO_LONG, message + when)


def _left_note(execution: Execution, left: LeaveChildren) -> Note:
    listed = ", ".join(map(str, left.children))
    shards = left.succeeded + left.failed
    message = f"Job {listed} was not started: {left.failed} of {shards} shards of the broadcast did not succeed."
    return Note(execution.id, reasons.CHILDREN_NOT_STARTED, message)


def _lost_note(execution: Execution) -> Note:
    message = "The jobs that follow it were not started: it was moved to another group before this ended."
    return Note(execution.id, reasons.JOB_MOVED, message)
