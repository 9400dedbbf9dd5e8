"""The one door in: whatever the cause, an execution begins here, as a row.

Each cause has a key, and a key opens its executions once:

* ``fire:<instant>`` a planned fire, on time or made up for
* ``key:<…>`` what a caller calls the same request
* ``retry:<execution>`` another attempt
* ``again:<execution>`` what somebody has done again after it had ended; with the caller's key behind it, once for each
* ``parent:<execution>`` a child of what succeeded, ``parent:broadcast:<id>`` a child of a whole broadcast
* ``batch:<id>:<instant>`` a logical time of a batch
* ``test:<…>`` a test of code, by what its caller calls the request

Doing any of it twice changes nothing. Two things are decided for all of them alike: a job with a super task runs that
one's handler, and a job that broadcasts opens one execution for each address but those the caller says to ``avoid``.

A handler whose parameter is code (``orth.domain.scripts``) is told what the job says, or what somebody was allowed to
tell it. A parent's result is neither, nor is what was given to an execution while its job had another handler.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orth.coordinator.aftermath import RunAgain, StartChildren
from orth.coordinator.broadcasts import EVERYBODY, Avoid, in_shards
from orth.coordinator.facts import ExecutionsOpened
from orth.coordinator.planning import PlannedRun
from orth.domain.batches import Batch
from orth.domain.executions import TEST_KEY, Execution, LogLevel
from orth.domain.jobs import Job, TriggerCause
from orth.domain.scripts import reads_code
from orth.errors import Invalid
from orth.events import Events
from orth.store.database import Connection
from orth.store.executions import Opening, ids_of_trigger, ids_of_triggers, open_executions, request_of, storable
from orth.store.jobs import jobs_by_id
from orth.store.script_drafts import Draft, keep_draft


@dataclass(frozen=True, slots=True)
class Request:
    """A trigger by hand or by API. ``key`` is what makes a repeated request the same one."""

    cause: TriggerCause
    key: str
    param: str | None = None  # None: the job's own
    addresses: tuple[str, ...] = ()
    log_level: LogLevel | None = None  # None: as the job has it

    @property
    def trigger_key(self) -> str:
        return f"key:{self.key}"

    @property
    def digest(self) -> str:
        """What was asked for, in short: the same key with another digest is another request."""
        asked = (self.param, self.addresses)
        # Without a level as before there were any: a request may be repeated after an upgrade.
        return digest_of(*asked) if self.log_level is None else digest_of(*asked, self.log_level)


def digest_of(*asked: object) -> str:
    """A request in short, to tell a repeated one from another under the same key."""
    return hashlib.sha256(json.dumps(asked).encode("utf-8", "surrogatepass")).hexdigest()


def check_same_request(stored: tuple[str | None, int], digest: str, job_group: int) -> None:
    """Refuse a key that was used for something else, or in another group, which the job has left since: what it opened
    there is not this group's.
    """
    if stored != (digest, job_group):
        raise Invalid.of("key_used")


def open_planned(
    connection: Connection, planned: Sequence[tuple[Job, PlannedRun]], now: int, avoid: Avoid = EVERYBODY
) -> Sequence[Opening]:
    """Open the executions of planned fires; these."""
    return _open(
        connection,
        [
            _opening(job, run.cause, f"fire:{run.fire_time}", run.fire_time, not_before=run.not_before)
            for job, run in planned
        ],
        {job.id: job for job, _run in planned},
        now,
        avoid,
    )


def open_requested(connection: Connection, job: Job, request: Request, now: int, avoid: Avoid = EVERYBODY) -> list[int]:
    """Open what somebody asked for, or find it when they asked before; the ids."""
    opening = _opening(job, request.cause, request.trigger_key, None, request.param, addresses=request.addresses)
    opening = replace(opening, request_digest=request.digest, log_level=request.log_level)
    _open(connection, [opening], {job.id: job}, now, avoid)
    return opened_before(connection, job, request)


def opened_before(connection: Connection, job: Job, request: Request) -> list[int]:
    """What the same request has opened; ``Invalid`` when its key was used for another."""
    opened = ids_of_trigger(connection, job.id, request.trigger_key)
    if opened:
        check_same_request(request_of(connection, opened[0]), request.digest, job.job_group)
    return opened


def open_test(connection: Connection, job: Job, test: Request, draft: Draft, now: int) -> tuple[int, bool]:
    """Open a test of code that is not the job's: once, never as a broadcast. Its id, and whether it is new; ``Invalid``
    when its key was used for another.
    """
    key, digest = f"{TEST_KEY}{test.key}", digest_of(test.param, test.addresses, draft.glue_type, draft.source)
    opened = ids_of_trigger(connection, job.id, key)
    if opened:
        check_same_request(request_of(connection, opened[0]), digest, job.job_group)
        return opened[0], False
    opening = _opening(job, test.cause, key, None, test.param, addresses=test.addresses)
    open_executions(connection, [replace(opening, request_digest=digest, retries_left=0)], now)
    (execution_id,) = ids_of_trigger(connection, job.id, key)
    keep_draft(connection, execution_id, draft)
    return execution_id, True


def open_retries(
    connection: Connection, ended: Sequence[tuple[Job, Execution, RunAgain]], now: int
) -> Sequence[Opening]:
    """Open the next attempt at each, with the same parameter, logical time, shard and log level; these."""
    openings = [
        replace(
            _opening(job, TriggerCause.RETRY, f"retry:{before.id}", before.schedule_time, before.executor_param),
            retries_left=again.retries_left,
            attempt=again.attempt,
            broadcast_id=before.broadcast_id,
            not_before=_not_before(before, now + again.pause, now),
            **_same_place(before),
        )
        for job, before, again in ended
    ]
    jobs = {job.id: job for job, _before, _again in ended}
    return _open_one_by_one(connection, openings, [before for _job, before, _again in ended], jobs, now)


def open_again(
    connection: Connection, ended: Sequence[tuple[Job, Execution]], cause: TriggerCause, now: int, key: str = ""
) -> dict[int, int]:
    """Open what somebody wants done again, as it was, with a new budget; for each that has ended, the id of the other.

    Without a ``key`` each can be done again once. A shard leaves its broadcast, which has counted it.
    """
    openings = [
        replace(
            _opening(job, cause, again_key(before.id, key), before.schedule_time, before.executor_param),
            **_same_place(before),
        )
        for job, before in ended
    ]
    befores = [before for _job, before in ended]
    _open_one_by_one(connection, openings, befores, {job.id: job for job, _before in ended}, now)
    keys = [(opening.job_id, opening.trigger_key) for opening in openings]
    found = ids_of_triggers(connection, keys)
    return {one.id: found[keys[place]] for place, (_job, one) in enumerate(ended)}


def again_key(execution_id: int, key: str = "") -> str:
    """The key under which an execution is done again."""
    return f"again:{execution_id}:{key}" if key else f"again:{execution_id}"


def open_children(
    connection: Connection,
    children: Sequence[tuple[Job, Execution, StartChildren]],
    results: Mapping[int, str],
    now: int,
    avoid: Avoid = EVERYBODY,
) -> Sequence[Opening]:
    """Open child jobs of what has succeeded, each under its key, with the logical time of the parent; these. By
    execution ``results`` has what was returned, as it came: a child's parameter is the whole of it.
    """
    openings = [
        replace(
            _opening(child, TriggerCause.PARENT, start.key, parent.schedule_time, _passed_on(parent, start, results)),
            origin_id=parent.id,
        )
        for child, parent, start in children
    ]
    return _open(connection, openings, {child.id: child for child, _parent, _start in children}, now, avoid)


def open_batch(
    connection: Connection, job: Job, batch: Batch, instants: Iterable[int], now: int, avoid: Avoid = EVERYBODY
) -> Sequence[Opening]:
    """Open logical times of a batch; what was opened, which for a broadcast is more."""
    openings = [
        replace(
            _opening(job, TriggerCause.BATCH, f"batch:{batch.id}:{instant}", instant, batch.executor_param),
            addresses=batch.addresses,
            batch_id=batch.id,
        )
        for instant in instants
    ]
    return _open(connection, openings, {job.id: job}, now, avoid)


def tell_opened(events: Events, causes: Iterable[TriggerCause]) -> None:
    """Tell, after the commit, what was opened."""
    for cause, count in Counter(causes).items():
        events.emit(ExecutionsOpened(cause, count))


def _open(
    connection: Connection, openings: Sequence[Opening], jobs: Mapping[int, Job], now: int, avoid: Avoid
) -> Sequence[Opening]:
    with_handlers = [
        _told_by_job(opening, jobs) if opening.cause is TriggerCause.PARENT else opening
        for opening in _with_super_handlers(connection, openings, jobs)
    ]
    opened = in_shards(connection, with_handlers, jobs, avoid)
    open_executions(connection, opened, now)
    return opened


def _open_one_by_one(
    connection: Connection,
    openings: Sequence[Opening],
    befores: Sequence[Execution],
    jobs: Mapping[int, Job],
    now: int,
) -> Sequence[Opening]:
    """Open what has its place already, after ``befores``: it is not split into shards, for it may be one."""
    opened = [
        opening if opening.executor_handler == before.executor_handler else _told_by_job(opening, jobs)
        for opening, before in zip(_with_super_handlers(connection, openings, jobs), befores, strict=True)
    ]
    open_executions(connection, opened, now)
    return opened


def _not_before(before: Execution, pause_over: int, now: int) -> int | None:
    """When the attempt after ``before`` may start: what was sent ahead of its fire and failed still waits for it."""
    due = max(pause_over, before.not_before or 0)
    return due if due > now else None


def _same_place(before: Execution) -> dict[str, Any]:
    """Where and as what an execution that follows another one runs."""
    return {
        "origin_id": before.id,
        "root_id": before.root,
        "addresses": before.addresses,
        "shard_index": before.shard_index,
        "shard_total": before.shard_total,
        "batch_id": before.batch_id,
        "log_level": before.log_level,
    }


def _passed_on(parent: Execution, start: StartChildren, results: Mapping[int, str]) -> str | None:
    """The parameter of a child; None for its own."""
    return storable(results.get(parent.id, "")) if start.with_result else None


def _with_super_handlers(
    connection: Connection, openings: Sequence[Opening], jobs: Mapping[int, Job]
) -> Sequence[Opening]:
    """``openings`` with the handlers of super tasks. Where one is missing dispatch ends the execution and says so."""
    wanted = {job.super_id for job in jobs.values() if job.super_id is not None}
    if not wanted:
        return openings
    supers = jobs_by_id(connection, wanted)
    handlers = {job.id: supers[job.super_id].executor_handler for job in jobs.values() if job.super_id in supers}
    return [
        replace(opening, executor_handler=handlers.get(opening.job_id, opening.executor_handler))
        for opening in openings
    ]


def _told_by_job(opening: Opening, jobs: Mapping[int, Job]) -> Opening:
    """``opening`` with the job's own parameter, if that is code."""
    if not reads_code(opening.executor_handler):
        return opening
    return replace(opening, executor_param=jobs[opening.job_id].executor_param)


def _opening(
    job: Job,
    cause: TriggerCause,
    key: str,
    schedule_time: int | None,
    param: str | None = None,  # None: the job's own
    *,
    addresses: tuple[str, ...] = (),
    not_before: int | None = None,
) -> Opening:
    return Opening(
        job_id=job.id,
        job_group=job.job_group,
        job_version=job.version,
        cause=cause,
        trigger_key=key,
        schedule_time=schedule_time,
        executor_handler=job.executor_handler,
        executor_param=job.executor_param if param is None else param,
        retries_left=job.executor_fail_retry_count,
        addresses=addresses,
        not_before=not_before,
    )
