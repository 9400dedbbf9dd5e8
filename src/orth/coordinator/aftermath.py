"""What follows from the end of an execution: pure."""

from dataclasses import dataclass

from orth.domain import reasons
from orth.domain.broadcasts import Tally
from orth.domain.executions import Execution, Status
from orth.domain.jobs import Job, ScheduleType, TriggerCause

# What ended so was not tried and failed: another attempt would meet the same, was not wanted, or could run beside the
# first, about which nobody knows.
_NOT_RETRIED = frozenset(
    {
        reasons.DISCARDED,
        reasons.SUPER_TASK_MISSING,
        reasons.DELETED,
        reasons.JOB_STOPPED,
        reasons.JOB_CHANGED,
        reasons.KILLED,
        reasons.NEVER_RESOLVED,
    }
)


@dataclass(frozen=True, slots=True)
class RunAgain:
    """Another attempt at the same fire."""

    retries_left: int
    attempt: int


@dataclass(frozen=True, slots=True)
class WaitAgain:
    """The delay of a FIX_DELAY job begins."""

    last_fire: int


@dataclass(frozen=True, slots=True)
class StartChildren:
    """The jobs that follow this one are opened, under this key."""

    children: tuple[int, ...]
    key: str


@dataclass(frozen=True, slots=True)
class LeaveChildren:
    """A broadcast has ended, but not so that the jobs that follow it may be opened."""

    children: tuple[int, ...]
    succeeded: int
    failed: int


FollowUp = RunAgain | WaitAgain | StartChildren | LeaveChildren


def tried_again(execution: Execution) -> bool:
    """Whether a terminal ``execution`` is followed by another attempt."""
    if execution.status is Status.SUCCESS or execution.reason_code in _NOT_RETRIED:
        return False
    return execution.retries_left > 0


def follow_up(job: Job, execution: Execution, whole: Tally | None) -> list[FollowUp]:
    """The consequences of a terminal ``execution``, each to take effect once.

    ``whole`` counts what it completed by ending (one execution, or all shards of a broadcast); None when other shards
    have not ended for good.
    """
    if tried_again(execution):
        return [RunAgain(execution.retries_left - 1, execution.attempt + 1)]
    follow: list[FollowUp] = []
    # A child carries its parent's logical time, which is no fire of its own.
    of_own_fire = execution.schedule_time is not None and execution.cause is not TriggerCause.PARENT
    if whole is not None and job.schedule_type is ScheduleType.FIX_DELAY and of_own_fire:
        assert execution.schedule_time is not None
        follow.append(WaitAgain(execution.schedule_time))
    children = tuple(child for child in job.child_job_ids if child != job.id)
    return follow + (_children(job, execution, whole, children) if children else [])


def _children(job: Job, execution: Execution, whole: Tally | None, children: tuple[int, ...]) -> list[FollowUp]:
    succeeded = execution.status is Status.SUCCESS
    if execution.broadcast_id is None or job.child_per_shard:
        return [StartChildren(children, f"parent:{execution.id}")] if succeeded else []
    if whole is None:
        return []
    if whole.failed:
        return [LeaveChildren(children, whole.succeeded, whole.failed)]
    return [StartChildren(children, f"parent:broadcast:{execution.broadcast_id}")]
