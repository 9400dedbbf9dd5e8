"""What a job or a trigger may refer to: children, a super task, secrets, addresses.

A definition that is stored refers to what exists, and stays so: whoever refers to a job holds it against removal, and
whoever removes one looks for references first. The jobs that follow each other never lead back to the first. A job runs
its own handler or that of one other job, never of a third. Code stays in its group: a job runs another one's code only
where both are in the same group, for whoever writes it there was not asked by anybody else.
"""

from orth.domain.jobs import GlueType, Job
from orth.domain.nodes import normal_address
from orth.domain.scripts import runs_code
from orth.errors import Conflict, Invalid
from orth.store.batches import has_running_batch
from orth.store.database import Connection
from orth.store.group_scopes import groups_of_jobs
from orth.store.groups import get_group
from orth.store.jobs import hold_referred, parents_of, sub_tasks_of
from orth.store.registry import list_executors
from orth.store.secrets import known_names

_SHOWN = 5


def check_references(connection: Connection, job: Job, before: Job | None = None) -> None:
    """Refuse children, super tasks and secrets that cannot be. ``before`` is the job as it is stored: what an edit
    leaves alone is not looked at again.
    """
    if before is None or before.child_job_ids != job.child_job_ids:
        _check_children(connection, job)
    if before is None or before.super_task_id != job.super_task_id:
        _check_super_task(connection, job)
    if before is None or _performance(before) != _performance(job):
        _check_code_stays(connection, job)
    if before is None or (before.secrets, before.job_group) != (job.secrets, job.job_group):
        _check_secrets(connection, job)
    if job.super_id is None and job.glue_type is GlueType.BEAN and not job.executor_handler:
        raise Invalid(
            "The job has no handler of its own.",
            hint="Name one, or a super task that has one.",
            field="executor_handler",
        )


def check_not_referred(connection: Connection, job: Job) -> None:
    """Refuse to remove a job that others need. The caller holds it."""
    for others, code in (
        (sub_tasks_of(connection, job.id), "job_handler_used"),
        (parents_of(connection, job.id), "job_followed_by"),
    ):
        if others:
            raise Conflict.of(code, job=job.id, others=_named(others))
    if has_running_batch(connection, job.id):
        raise Conflict.of("job_has_batch", job=job.id)


def check_addresses(connection: Connection, job: Job, addresses: tuple[str, ...]) -> None:
    """Only addresses that are registered or written into the group: a trigger must not make us call strangers."""
    if not addresses:
        return
    group = get_group(connection, job.job_group)
    known = {normal_address(address) for address in group.addresses}
    known |= {normal_address(entry.address) for entry in list_executors(connection, group.app_name)}
    strangers = [address for address in addresses if address not in known]
    if strangers:
        raise Invalid(
            f"{strangers[0]} is not an executor of {group.app_name}.",
            hint=f"Known: {', '.join(sorted(known)) or 'none'}.",
            field="address_list",
        )


def source_of(connection: Connection, job: Job) -> Job:
    """The job whose handler or code this one runs: itself or its super task."""
    return job if job.super_id is None else _super_task(connection, job.super_id)


def _check_children(connection: Connection, job: Job) -> None:
    """Walk from the children on, holding each job that is passed, so that two edits cannot close a ring together."""
    came_from: dict[int, int] = dict.fromkeys(job.child_job_ids, job.id)
    if job.id in came_from:
        raise Invalid(f"Job {job.id} cannot follow itself.", field="child_jobid")
    wave = set(came_from)
    while wave:
        passed = hold_referred(connection, wave)
        missing = [child for child in job.child_job_ids if child in wave - passed.keys()]
        if missing:
            raise Invalid(f"There is no job {missing[0]} that could follow.", field="child_jobid")
        wave = set()
        for one in passed.values():
            for child in one.child_job_ids:
                if child == job.id:
                    ring = " → ".join(map(str, _way_back(came_from, one.id, job.id)))
                    raise Invalid(f"These jobs would follow each other for ever: {ring}.", field="child_jobid")
                if child not in came_from:
                    came_from[child] = one.id
                    wave.add(child)


def _way_back(came_from: dict[int, int], last: int, first: int) -> list[int]:
    way = [first, last]
    while way[-1] != first:
        way.append(came_from[way[-1]])
    return way[::-1]


def _check_super_task(connection: Connection, job: Job) -> None:
    if job.super_id is None:
        return
    above = _super_task(connection, job.super_id)
    if above.super_id is not None:
        raise Invalid(
            f"Job {above.id} runs the handler of job {above.super_id} itself.",
            hint=f"Name job {above.super_id}.",
            field="super_task_id",
        )
    below = sub_tasks_of(connection, job.id) if job.id else []  # a new job has no id yet, and nobody names it
    if below:
        listed = ", ".join(map(str, below))
        raise Invalid(
            f"Job {listed} runs the handler of this one, so it must have its own.",
            hint="There is one level of super tasks only.",
            field="super_task_id",
        )


def _performance(job: Job) -> tuple[object, ...]:
    return (job.job_group, job.super_task_id, job.glue_type, job.executor_handler)


def _check_code_stays(connection: Connection, job: Job) -> None:
    """Refuse that code of one group would run in another."""
    source = source_of(connection, job)
    if not runs_code(source):
        return
    if source.job_group != job.job_group:
        raise Invalid(
            f"Job {source.id} has code and is in another group; code runs in its own group only.",
            hint="Name a super task of the same group, or write the code here.",
            field="super_task_id",
        )
    below = sub_tasks_of(connection, job.id) if job.id and source is job else []
    if any(group != job.job_group for group in groups_of_jobs(connection, below).values()):
        raise Conflict(
            f"A job of another group runs the handler of job {job.id}, so this one cannot have code.",
            hint="Give that job a handler of its own first, or write the code into another job.",
        )


def _check_secrets(connection: Connection, job: Job) -> None:
    if not job.secrets:
        return
    known = known_names(connection, job.job_group, job.secrets, hold=True)
    missing = [name for name in job.secrets if name not in known]
    if missing:
        raise Invalid(
            f"There is no secret {missing[0]} for the group {job.job_group}.",
            hint=f"An administrator can store it: orth secret set {missing[0]} --group {job.job_group}",
            field="secrets",
        )


def _named(ids: list[int]) -> str:
    shown = ", ".join(map(str, ids[:_SHOWN]))
    return shown if len(ids) <= _SHOWN else f"{shown} and {len(ids) - _SHOWN} more"


def _super_task(connection: Connection, job_id: int) -> Job:
    found = hold_referred(connection, {job_id}).get(job_id)
    if found is None:
        raise Invalid(f"There is no job {job_id} whose handler could be run.", field="super_task_id")
    return found
