"""What follows from the end of an execution: pure."""

from dataclasses import dataclass

from orth.domain import reasons
from orth.domain.broadcasts import Tally
from orth.domain.executions import Execution, Status
from orth.domain.jobs import ChildParam, Job, ScheduleType, TriggerCause
from orth.domain.retries import chance_of, gives_up, pause_before

# What ended so was not tried and failed: another attempt would meet the same, was not wanted, or could run beside the
# first, about which nobody knows.
_NOT_RETRIED = frozenset(
    {
        reasons.DISCARDED,
        reasons.SUPER_TASK_MISSING,
        reasons.SCRIPTS_OFF,
        reasons.DELETED,
        reasons.JOB_STOPPED,
        reasons.JOB_CHANGED,
        reasons.JOB_MOVED,
        reasons.KILLED,
        reasons.GIVEN_UP,
        reasons.NEVER_RESOLVED,
    }
)

# Somebody wanted it so, or the job itself did: a failure that nobody has to look at.
_AS_WANTED = frozenset(
    {
        reasons.DISCARDED,
        reasons.DELETED,
        reasons.JOB_STOPPED,
        reasons.JOB_CHANGED,
        reasons.KILLED,
    }
)


@dataclass(frozen=True, slots=True)
class RunAgain:
    """Another attempt at the same fire, after ``pause`` milliseconds."""

    retries_left: int
    attempt: int
    pause: int = 0


@dataclass(frozen=True, slots=True)
class WaitAgain:
    """The delay of a FIX_DELAY job begins."""

    last_fire: int


@dataclass(frozen=True, slots=True)
class StartChildren:
    """The jobs that follow this one are opened, under this key."""

    children: tuple[int, ...]
    key: str
    with_result: bool = False
    """Whether what the execution returned is their parameter, instead of each its own."""


@dataclass(frozen=True, slots=True)
class LeaveChildren:
    """A broadcast has ended, but not so that the jobs that follow it may be opened."""

    children: tuple[int, ...]
    succeeded: int
    failed: int


@dataclass(frozen=True, slots=True)
class LoseChildren:
    """It has succeeded after its job was moved to another group, and starts nothing there. Which jobs that would have
    been is not said: they are named by people of the other group.
    """


FollowUp = RunAgain | WaitAgain | StartChildren | LeaveChildren | LoseChildren


def tried_again(job: Job, execution: Execution) -> bool:
    """Whether a terminal ``execution`` is followed by another attempt. None is made in another group than its own, to
    which its job may have been moved: nobody there agreed to its parameter.
    """
    if job.job_group != execution.job_group:
        return False
    if execution.status is Status.SUCCESS or execution.reason_code in _NOT_RETRIED or execution.is_test:
        return False
    if gives_up(job.retry_policy, execution.status, execution.handle_code):
        return False
    return execution.retries_left > 0


def failed_for_good(job: Job | None, execution: Execution) -> bool:
    """Whether a terminal ``execution`` is a failure that is not tried again and that somebody should see. What was
    wanted so (killed, discarded, recalled, its job deleted) is none, nor is a test. Nothing follows where ``job``
    cannot be read.
    """
    if execution.status is Status.SUCCESS or execution.reason_code in _AS_WANTED or execution.is_test:
        return False
    return job is None or not tried_again(job, execution)


def follow_up(job: Job, execution: Execution, whole: Tally | None) -> list[FollowUp]:
    """The consequences of a terminal ``execution``, each to take effect once.

    ``whole`` counts what it completed by ending (one execution, or all shards of a broadcast); None when other shards
    have not ended for good.
    """
    if execution.is_test:
        return []
    if tried_again(job, execution):
        attempt = execution.attempt + 1
        pause = pause_before(job.retry_policy, attempt, chance_of(execution.id, attempt))
        return [RunAgain(execution.retries_left - 1, attempt, pause)]
    follow: list[FollowUp] = []
    # A child carries its parent's logical time, which is no fire of its own.
    of_own_fire = execution.schedule_time is not None and execution.cause is not TriggerCause.PARENT
    if whole is not None and job.schedule_type is ScheduleType.FIX_DELAY and of_own_fire:
        assert execution.schedule_time is not None
        follow.append(WaitAgain(execution.schedule_time))
    children = tuple(child for child in job.child_job_ids if child != job.id)
    following = _children(job, execution, whole, children) if children else []
    if job.job_group != execution.job_group:
        following = [LoseChildren() for one in following if isinstance(one, StartChildren)]
    return follow + following


def _children(job: Job, execution: Execution, whole: Tally | None, children: tuple[int, ...]) -> list[FollowUp]:
    succeeded, with_result = execution.status is Status.SUCCESS, job.child_param is ChildParam.RESULT
    if execution.broadcast_id is None and execution.shard_total > 1 and not job.child_per_shard:
        return []  # a shard that somebody ran again when its broadcast was over: it completes nothing
    if execution.broadcast_id is None or job.child_per_shard:
        return [StartChildren(children, f"parent:{execution.id}", with_result)] if succeeded else []
    if whole is None:
        return []
    if whole.failed:
        return [LeaveChildren(children, whole.succeeded, whole.failed)]
    return [StartChildren(children, f"parent:broadcast:{execution.broadcast_id}", with_result)]
