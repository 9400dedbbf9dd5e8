"""Batches: the past (or any span) of a schedule, run again at a pace.

A batch covers the fires of one job in [start, end), opens them oldest first with their logical times, and keeps at most
``at_once`` of them open. It is independent of the schedule's own progress: a stopped job can be backfilled.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from orth.domain.jobs import Job
from orth.domain.schedules import FixedRate, Schedule


class BatchState(StrEnum):
    """Where a batch is."""

    RUNNING = "running"  # fires remain to be opened, or opened ones have not ended
    DONE = "done"  # everything was opened and has ended, however
    CANCELLED = "cancelled"  # nothing more is opened; what is open goes on


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One request to run a span of a schedule."""

    id: int
    job_id: int
    job_group: int  # in which it was started
    start_time: int
    end_time: int  # excluded
    next_time: int  # fires before it have been dealt with
    total: int
    opened: int
    at_once: int
    executor_param: str | None  # None: the job's own
    addresses: tuple[str, ...]
    skip_done: bool
    timing: str
    state: BatchState
    reason: str
    actor: str
    created_at: int
    changed_at: int


def fires_within(schedule: Schedule, start: int, end: int) -> Iterator[tuple[int, str | None]]:
    """The fires in [start, end), oldest first, each with why the calendar refuses it or None."""
    fire = schedule.next_after(start - 1)
    while fire is not None and fire < end:
        yield fire, schedule.skip_reason(fire)
        fire = schedule.next_after(fire)


def timing_of(job: Job, schedule: Schedule) -> str:
    """What decides the fires of a job, in short: a batch goes on only while it is what it was counted with."""
    calendar = None if schedule.calendar is None else schedule.calendar.to_dict()
    deciding: list[object] = [job.schedule_type, job.schedule_conf, job.timezone, job.dst_policy, calendar]
    if isinstance(schedule.fires, FixedRate) and schedule.fires.anchor:
        deciding.append(schedule.fires.anchor)
    return hashlib.sha256(json.dumps(deciding).encode()).hexdigest()
