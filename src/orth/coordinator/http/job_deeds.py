"""What is done to one job, each in one transaction: the caller is checked where the job is, and the audit is told."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from orth.coordinator.broadcasts import Avoid
from orth.coordinator.defining import remove_job, start_job, stop_job, trigger_once
from orth.coordinator.http.callers import Caller
from orth.coordinator.http.job_body import body_of
from orth.coordinator.http.job_links import check_mentions
from orth.coordinator.http.object_checks import check_held_job, check_job
from orth.coordinator.http.tools import Tools
from orth.coordinator.http.versions import check_match
from orth.coordinator.http.writers import writer_of
from orth.coordinator.scripting import check_param, define_with_code, edit_with_code
from orth.coordinator.triggering import Request as TriggerRequest
from orth.domain.access import Permission
from orth.domain.audit import Deed
from orth.domain.jobs import Job
from orth.store.audit import record
from orth.store.database import Connection
from orth.store.jobs import get_job, hold_job
from orth.store.quotas import check_room_for_job


def etag_of(job: Job) -> str:
    return f'"{job.version}"'


def create_job(connection: Connection, tools: Tools, caller: Caller, job: Job, allow_unknown_handler: bool) -> int:
    caller.check(Permission.EDIT, job.job_group, "group", job.job_group)
    check_room_for_job(connection, job.job_group, tools.settings.security.jobs_per_group)
    check_mentions(connection, caller, job)
    now = tools.clock.now()
    job_id = define_with_code(connection, job, writer_of(caller, tools), now, allow_unknown_handler)
    _tell(connection, caller, "job.create", replace(job, id=job_id), now, after=body_of(job))
    return job_id


def edit_job(
    connection: Connection,
    tools: Tools,
    caller: Caller,
    job_id: int,
    edited: Callable[[Job], Job],
    if_match: str | None,
    allow_unknown_handler: bool,
) -> None:
    """Read, change and write in one transaction: nobody's edit in between is lost."""
    check_held_job(connection, caller, Permission.EDIT, job_id)
    stored = hold_job(connection, job_id)
    check_match(if_match, etag_of(stored), what="job", key=str(job_id))
    written = edited(stored)
    caller.check(Permission.EDIT, written.job_group, "group", written.job_group)  # it may be moved there
    if written.job_group != stored.job_group:
        check_room_for_job(connection, written.job_group, tools.settings.security.jobs_per_group)
    check_mentions(connection, caller, written, stored)
    writer, now = writer_of(caller, tools), tools.clock.now()
    edit_with_code(connection, stored, written, writer, now, allow_unknown_handler=allow_unknown_handler)
    _tell(connection, caller, "job.update", written, now, before=body_of(stored), after=body_of(written))


def delete_job(connection: Connection, caller: Caller, job_id: int, if_match: str | None, now: int) -> None:
    check_held_job(connection, caller, Permission.EDIT, job_id)
    stored = hold_job(connection, job_id)
    check_match(if_match, etag_of(stored), what="job", key=str(job_id))
    remove_job(connection, job_id, now, caller.rights.groups(Permission.VIEW))
    _tell(connection, caller, "job.delete", stored, now, before=body_of(stored))


def start_one(connection: Connection, caller: Caller, job_id: int, now: int) -> None:
    check_held_job(connection, caller, Permission.OPERATE, job_id)
    stored = hold_job(connection, job_id)
    start_job(connection, job_id, now)
    if not stored.trigger_status:
        _tell(connection, caller, "job.start", stored, now)


def stop_one(connection: Connection, caller: Caller, job_id: int, now: int) -> None:
    check_held_job(connection, caller, Permission.OPERATE, job_id)
    stored = hold_job(connection, job_id)
    stop_job(connection, job_id, now)
    if stored.trigger_status:
        _tell(connection, caller, "job.stop", stored, now)


def trigger_one(
    connection: Connection, caller: Caller, job_id: int, asked: TriggerRequest, now: int, avoid: Avoid
) -> tuple[list[int], bool]:
    check_job(connection, caller, Permission.OPERATE, job_id)
    check_param(connection, get_job(connection, job_id), asked.param, caller.actor, caller.rights)
    ids, new = trigger_once(connection, job_id, asked, now, avoid)
    if new:
        after: dict[str, object] = {"executions": ids}
        if asked.param is not None:
            after["executor_param"] = asked.param
        if asked.addresses:
            after["address_list"] = list(asked.addresses)
        if asked.log_level is not None:
            after["log_level"] = asked.log_level
        _tell(connection, caller, "job.trigger", get_job(connection, job_id), now, after=after)
    return ids, new


def _tell(
    connection: Connection, caller: Caller, action: str, job: Job, now: int, **told: Mapping[str, object]
) -> None:
    """Tell the audit. Code has entries of its own, with the difference."""
    record(connection, caller.actor, Deed(action, "job", str(job.id), job.job_group, **told), now)
