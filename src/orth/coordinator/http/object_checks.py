"""Checks of what a request names: it has to be there, in a group where the caller may do this.

Each is made in the transaction of what it allows. What the caller may not see is answered in the words for what is not
there.
"""

from orth.coordinator.http.callers import Caller
from orth.domain.access import Permission
from orth.errors import NotFound
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


def _check_found(caller: Caller, permission: Permission, group: int | None, what: str, key: object) -> None:
    if group is None:
        raise NotFound(what, key)
    caller.check(permission, group, what, key)


def _check_somewhere(caller: Caller, permission: Permission, group: int | None, what: str, key: object) -> None:
    if group is None and not caller.rights.allows(Permission.VIEW):
        raise NotFound(what, key)
    caller.check(permission, group, what, key)
