"""What an end leaves for the alarms, written with the end itself: an end whose alarm is forgotten cannot happen.

Nothing is decided here beyond who is concerned. ``alarming`` gathers the signs and judges them, on the leader, in its
own time.
"""

from collections.abc import Sequence, Set
from typing import Protocol

from orth.domain import reasons
from orth.domain.alarms import AlarmPolicy, Sign, SignKind
from orth.domain.executions import Execution, Status
from orth.domain.jobs import Job
from orth.store.alarms import failing_jobs, note_signs, unbroken_broadcasts
from orth.store.database import Connection


class Ended(Protocol):
    """An execution that has ended, with its job if that can be read."""

    @property
    def execution(self) -> Execution: ...

    @property
    def job(self) -> Job | None: ...


def note_ends(connection: Connection, ends: Sequence[Ended], for_good: Set[int], now: int) -> None:
    """Leave a sign of every failure that concerns somebody, and of successes of jobs that were failing. Ids in
    ``for_good`` failed and are not tried again. A test says nothing about its job, however it ends; nor does what was
    opened in a group that the job has left.
    """
    ends = [end for end in ends if end.job is None or end.job.job_group == end.execution.job_group]
    signs = [_sign(end, SignKind.FAILURE, now) for end in ends if _concerns(end, for_good)]
    signs += [
        _sign(end, SignKind.RESOLVED, now) for end in _recoveries(connection, ends, {one.job_id for one in signs})
    ]
    if signs:
        note_signs(connection, signs, now)


def _concerns(end: Ended, for_good: Set[int]) -> bool:
    execution = end.execution
    if execution.status is Status.SUCCESS or execution.reason_code in reasons.EXPECTED or execution.is_test:
        return False
    if execution.id in for_good:
        return True
    return end.job is not None and end.job.alarm_policy is not None and AlarmPolicy.read(end.job.alarm_policy).each


def _recoveries(connection: Connection, ends: Sequence[Ended], failing_here: Set[int]) -> list[Ended]:
    """One success for each job that was failing. Which of the ends of one batch came first is not known, so a job that
    has also failed in it has not recovered; and a shard shows nothing before all of its broadcast have succeeded.
    """
    succeeded = (end for end in ends if end.execution.status is Status.SUCCESS and not end.execution.is_test)
    last = {end.execution.job_id: end for end in succeeded}
    candidates = last.keys() - failing_here
    if not candidates:
        return []
    found = [last[job_id] for job_id in sorted(failing_jobs(connection, candidates))]
    shards = [(end.execution.job_id, end.execution.broadcast_id) for end in found if end.execution.broadcast_id]
    whole = unbroken_broadcasts(connection, shards) if shards else frozenset()
    return [end for end in found if not end.execution.broadcast_id or end.execution.broadcast_id in whole]


def _sign(end: Ended, kind: SignKind, now: int) -> Sign:
    return Sign(end.execution.id, end.execution.job_id, kind, now, job_group=end.execution.job_group)
