"""Checks of what a request names: it has to be there, in a group where the caller may do this.

Each is made in the transaction of what it allows. What the caller may not see is answered in the words for what is not
there.
"""

from orth.coordinator.http.callers import Caller
from orth.domain.access import Permission
from orth.domain.alarms import Silence
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
    """A silence is of a job while that is in a group, of a group, or of everything."""
    group = group_silenced(connection, get_silence(connection, silence_id))
    caller.check(permission, group, "silence", silence_id)


def group_silenced(connection: Connection, silence: Silence) -> int | None:
    """The group that a silence belongs to; None stands for no group in particular. One that names only its job, as
    somebody asks for it, is of the group where that is.
    """
    if silence.job_group is not None or silence.job_id is None:
        return silence.job_group
    return groups_of_jobs(connection, [silence.job_id]).get(silence.job_id)


def _check_found(caller: Caller, permission: Permission, group: int | None, what: str, key: object) -> None:
    if group is None:
        raise NotFound(what, key)
    caller.check(permission, group, what, key)
