"""What does not leave its group, decided anew for each execution that is about to be sent: pure.

An execution belongs to the group it was opened for, and its job to the one it is in now. A job may have been moved in
between, executors come and go, and addresses are taken out of a group; what was allowed when an execution was opened
need not be when it is sent. Nothing of a group goes to an address that is not one of that group's.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from orth.domain import reasons
from orth.domain.executions import Execution
from orth.domain.jobs import GlueType, Group, Job, RouteStrategy
from orth.domain.nodes import ExecutorEntry, known_addresses, normal_address
from orth.domain.scripts import COMMAND


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an execution cannot be sent to anybody."""

    code: str
    message: str


def moved_away(job: Job, group: Group) -> Refusal | None:
    """Why an execution of ``group`` is not sent, if its job has left it: settings, code and secrets are those of
    another group by now, while the parameter and the executors would be this one's.
    """
    if job.job_group == group.id:
        return None
    told = f'The job was moved out of the group "{group.app_name}" before this was sent.'
    return Refusal(reasons.JOB_MOVED, f"{told} If it is still wanted, trigger the job where it is now.")


def code_refused(execution: Execution, source: Job, group: Group) -> Refusal | None:
    """Why the code of ``source`` does not run in ``group``; None when it is none, or may."""
    if source.glue_type is not GlueType.BEAN:
        what = f"{source.glue_type} code"
    elif execution.executor_handler == COMMAND:
        what = COMMAND
    else:
        return None
    if source.job_group != group.id:
        told = f"It runs {what} of job {source.id}, which is in another group, and code stays in its group."
        return Refusal(reasons.SCRIPTS_OFF, f"{told} Choose another super task.")
    if not group.scripts_allowed:
        told = f'It runs {what}, and the group "{group.app_name}" does not allow scripts.'
        return Refusal(reasons.SCRIPTS_OFF, f"{told} An administrator can: orth script allow {group.id}")
    return None


def strangers_refused(execution: Execution, job: Job, group: Group, entries: Iterable[ExecutorEntry]) -> Refusal | None:
    """Why an execution is not sent to the addresses it names; None when all of them are the group's. A broadcast names
    the address of each shard itself.
    """
    if not execution.addresses:
        return None
    known = known_addresses(group.addresses, entries)
    strange = [address for address in execution.addresses if normal_address(address) not in known]
    if not strange:
        return None
    if job.executor_route_strategy is RouteStrategy.SHARDING_BROADCAST:
        told = f'It belongs to {strange[0]}, which has left the group "{group.app_name}" since this was opened.'
        return Refusal(reasons.EXECUTOR_LEFT, told)
    told = f'It was to go to {strange[0]}, which is no executor of the group "{group.app_name}".'
    return Refusal(reasons.ADDRESS_REFUSED, f"{told} Trigger it again, with another address or none.")
