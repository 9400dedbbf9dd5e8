"""What follows from the end of an execution: pure."""

from dataclasses import dataclass

from orth.domain.executions import Execution, Status
from orth.domain.jobs import Job, ScheduleType


@dataclass(frozen=True, slots=True)
class RunAgain:
    """Another attempt at the same fire."""

    retries_left: int
    attempt: int


@dataclass(frozen=True, slots=True)
class WaitAgain:
    """The delay of a FIX_DELAY job begins."""

    last_fire: int


FollowUp = RunAgain | WaitAgain


def follow_up(job: Job, execution: Execution) -> list[FollowUp]:
    """The consequences of a terminal ``execution``, each to take effect once."""
    if execution.status is not Status.SUCCESS and execution.retries_left > 0:
        return [RunAgain(execution.retries_left - 1, execution.attempt + 1)]
    if job.schedule_type is ScheduleType.FIX_DELAY and execution.schedule_time is not None:
        return [WaitAgain(execution.schedule_time)]
    return []
