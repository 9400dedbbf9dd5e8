"""The one door in: whatever the cause, an execution begins here, as a row.

Each cause has a key, and a key opens its executions once: ``fire:<instant>`` for a planned fire, ``key:<…>`` for what
a caller calls the same request, ``retry:<execution>`` for another attempt. Doing any of it twice changes nothing.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from orth.coordinator.aftermath import RunAgain
from orth.coordinator.planning import PlannedRun
from orth.domain.executions import Execution
from orth.domain.jobs import Job, TriggerCause
from orth.store.database import Connection
from orth.store.executions import Opening, ids_of_trigger, open_executions, request_digest_of


@dataclass(frozen=True, slots=True)
class Request:
    """A trigger by hand or by API. ``key`` is what makes a repeated request the same one."""

    cause: TriggerCause
    key: str
    param: str | None = None  # None: the job's own
    addresses: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """What was asked for, in short: the same key with another digest is another request."""
        asked = json.dumps([self.param, self.addresses])
        return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()


def open_planned(connection: Connection, planned: Sequence[tuple[Job, PlannedRun]], now: int) -> None:
    """Open the executions of planned fires."""
    openings = [
        _opening(job, run.cause, f"fire:{run.fire_time}", run.fire_time, job.executor_param) for job, run in planned
    ]
    open_executions(connection, openings, now)


def open_requested(connection: Connection, job: Job, request: Request, now: int) -> list[int] | None:
    """Open what somebody asked for, or find it when they asked before; the ids, or None when the key was used for
    something else.
    """
    param = job.executor_param if request.param is None else request.param
    key = f"key:{request.key}"
    opening = _opening(job, request.cause, key, None, param, addresses=request.addresses)
    open_executions(connection, [replace(opening, request_digest=request.digest)], now)
    opened = ids_of_trigger(connection, job.id, key)
    return opened if request_digest_of(connection, opened[0]) == request.digest else None


def open_retry(connection: Connection, job: Job, ended: Execution, again: RunAgain, now: int) -> None:
    """Open the next attempt at what ``ended`` was to do, with the same parameter, logical time and shard."""
    opening = Opening(
        job_id=job.id,
        job_group=job.job_group,
        job_version=job.version,
        cause=TriggerCause.RETRY,
        trigger_key=f"retry:{ended.id}",
        schedule_time=ended.schedule_time,
        executor_handler=job.executor_handler,
        executor_param=ended.executor_param,
        retries_left=again.retries_left,
        attempt=again.attempt,
        origin_id=ended.id,
        addresses=ended.addresses,
        shard_index=ended.shard_index,
        shard_total=ended.shard_total,
    )
    open_executions(connection, [opening], now)


def _opening(
    job: Job, cause: TriggerCause, key: str, schedule_time: int | None, param: str, *, addresses: tuple[str, ...] = ()
) -> Opening:
    return Opening(
        job_id=job.id,
        job_group=job.job_group,
        job_version=job.version,
        cause=cause,
        trigger_key=key,
        schedule_time=schedule_time,
        executor_handler=job.executor_handler,
        executor_param=param,
        retries_left=job.executor_fail_retry_count,
        addresses=addresses,
    )
