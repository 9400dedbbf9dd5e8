"""The one door out: whatever the end, an execution ends here.

The status change is guarded by the store; only who wins it draws the consequences, in the same transaction. So a
result delivered twice, a late report and a race between two reporters all have one effect.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from orth import failpoints
from orth.coordinator.aftermath import RunAgain, WaitAgain, follow_up
from orth.coordinator.facts import ExecutionFinished
from orth.coordinator.planning import schedule_of
from orth.coordinator.triggering import open_retry
from orth.domain.executions import SUCCESS, Execution, Status, tag
from orth.domain.jobs import Job
from orth.events import Events
from orth.store.database import Connection
from orth.store.executions import Ending, end_executions
from orth.store.jobs import jobs_by_id, wait_again


@dataclass(frozen=True, slots=True)
class Finished:
    """An execution this process ended. ``job`` is None when the definition is gone."""

    execution: Execution
    job: Job | None


def finish(connection: Connection, endings: Sequence[Ending], now: int) -> list[Finished]:
    """End executions and do what follows; those this call ended."""
    won = end_executions(connection, endings, now)
    jobs = jobs_by_id(connection, {execution.job_id for execution in won})
    finished = [Finished(execution, jobs.get(execution.job_id)) for execution in won]
    for one in finished:
        if one.job is not None:  # a deleted job has no consequences
            _draw_consequences(connection, one.job, one.execution, now)
    if failpoints.armed and finished:
        failpoints.hit("finishing.written")
    return finished


def tell(events: Events, finished: Sequence[Finished]) -> None:
    """Tell, after the commit, what has ended."""
    for one in finished:
        execution = one.execution
        began = execution.start_time or execution.trigger_time
        reason = execution.trigger_msg if execution.status is Status.TRIGGER_FAILED else execution.handle_msg
        events.emit(
            ExecutionFinished(
                execution.id,
                execution.job_id,
                one.job.job_desc if one.job else f"job {execution.job_id}",
                tag(execution.trigger_code, execution.handle_code),
                max(0, (execution.handle_time or began) - began) / 1000,
                execution.executor_address,
                "" if execution.handle_code == SUCCESS else _first_line(reason),
            )
        )


def _first_line(message: str | None) -> str:
    return next(iter((message or "").strip().splitlines()), "")[:200]


def _draw_consequences(connection: Connection, job: Job, execution: Execution, now: int) -> None:
    for consequence in follow_up(job, execution):
        match consequence:
            case RunAgain():
                open_retry(connection, job, execution, consequence, now)
            case WaitAgain(last_fire):
                schedule = schedule_of(job)
                following = schedule.next_after(now)
                assert following is not None  # a delay always has an end
                wait_again(connection, job.id, last_fire, following, schedule.due_at(following))
