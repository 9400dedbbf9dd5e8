"""Checks of what a request names: it has to be there, in a group where the caller may do this.

Each is made in the transaction of what it allows. What the caller may not see is answered in the words for what is not
there.
"""

from orth.coordinator.http.callers import Caller
from orth.domain.access import Permission
from orth.domain.jobs import Job
from orth.errors import Invalid, NotFound
from orth.store.database import Connection
from orth.store.group_scopes import group_of_batch, group_of_execution, groups_of_jobs, hold_group_of_job
from orth.store.silences import get_silence


def check_job(connection: Connection, caller: Caller, permission: Permission, job_id: int) -> None:
    """For what reads a job, or opens an execution of it as it is at the moment."""
    _check_found(caller, permission, groups_of_jobs(connection, [job_id]).get(job_id), "job", job_id)


def check_held_job(connection: Connection, caller: Caller, permission: Permission, job_id: int) -> None:
    """For what changes a job: it stays in its group until the transaction ends."""
    _check_found(caller, permission, hold_group_of_job(connection, job_id), "job", job_id)


def check_execution(connection: Connection, caller: Caller, permission: Permission, execution_id: int) -> None:
    _check_found(caller, permission, group_of_execution(connection, execution_id), "execution", execution_id)


def check_batch(connection: Connection, caller: Caller, permission: Permission, batch_id: int) -> None:
    """A batch belongs to the group in which it was started, wherever its job is now."""
    _check_found(caller, permission, group_of_batch(connection, batch_id), "batch", batch_id)


def check_silence(connection: Connection, caller: Caller, permission: Permission, silence_id: int) -> None:
    """A silence is of a job, of a group, or of everything."""
    silence = get_silence(connection, silence_id)
    for group in groups_silenced(connection, silence.job_id, silence.job_group):
        _check_somewhere(caller, permission, group, "silence", silence_id)


def groups_silenced(connection: Connection, job_id: int | None, job_group: int | None) -> list[int | None]:
    """The groups that a silence is about; None stands for no group in particular."""
    of_job = [] if job_id is None else [groups_of_jobs(connection, [job_id]).get(job_id)]
    of_group: list[int | None] = [] if job_group is None else [job_group]
    return of_job + of_group or [None]


def check_mentions(connection: Connection, caller: Caller, job: Job, before: Job | None = None) -> None:
    """What a definition names anew: a child runs when the job has succeeded, so it must be one the caller may run; of
    a super task the handler runs here, so it must be one the caller may see.
    """
    moved = before is None or before.job_group != job.job_group
    known = frozenset[int]() if moved or before is None else frozenset(before.child_job_ids)
    children = [child for child in job.child_job_ids if child not in known]
    above = None if not moved and before is not None and before.super_id == job.super_id else job.super_id
    groups = groups_of_jobs(connection, [*children, *([] if above is None else [above])])
    for child in children:
        if not _is_seen(caller, groups.get(child)):
            raise Invalid.of("no_such_child", job=child, field="child_jobid")
        caller.check(Permission.OPERATE, groups[child], "job", child)
    if above is not None and not _is_seen(caller, groups.get(above)):
        raise Invalid.of("no_such_super_task", job=above, field="super_task_id")


def _is_seen(caller: Caller, group: int | None) -> bool:
    return group is not None and caller.rights.allows(Permission.VIEW, group)


def _check_found(caller: Caller, permission: Permission, group: int | None, what: str, key: object) -> None:
    if group is None:
        raise NotFound(what, key)
    caller.check(permission, group, what, key)


def _check_somewhere(caller: Caller, permission: Permission, group: int | None, what: str, key: object) -> None:
    if group is None and not caller.rights.allows(Permission.VIEW):
        raise NotFound(what, key)
    caller.check(permission, group, what, key)
