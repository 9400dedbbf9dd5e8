"""What a job or a trigger may refer to: children, a super task, secrets, addresses.

A definition that is stored refers to what exists, and stays so: whoever refers to a job holds it against removal, and
whoever removes one looks for references first. The jobs that follow each other never lead back to the first. A job runs
its own handler or that of one other job, never of a third. Code stays in its group: a job runs another one's code only
where both are in the same group, for whoever writes it there was not asked by anybody else.
"""

from collections.abc import Collection, Iterable, Mapping

from orth.domain.jobs import GlueType, Job
from orth.domain.nodes import known_addresses
from orth.domain.scripts import runs_code
from orth.errors import Conflict, Invalid
from orth.store.batches import has_running_batch
from orth.store.database import Connection
from orth.store.executor_entries import list_executors
from orth.store.group_scopes import groups_of_jobs
from orth.store.groups import get_group
from orth.store.jobs import hold_referred, parents_of, sub_tasks_of
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
        raise Invalid.of("no_handler_of_its_own", field="executor_handler")


def check_not_referred(connection: Connection, job: Job, seen: Collection[int] | None = None) -> None:
    """Refuse to remove a job that others need, and name those of them that are in the groups ``seen`` (None: all). The
    caller holds it.
    """
    below, parents = sub_tasks_of(connection, job.id), parents_of(connection, job.id)
    needing = sorted({*below, *parents})
    others, hidden = told_apart(needing, groups_of_jobs(connection, needing), seen)
    if hidden:
        raise Conflict.of("job_needed_elsewhere", job=job.id, others=others, hidden=hidden)
    if below:
        raise Conflict.of("job_handler_used", job=job.id, others=_named(below))
    if parents:
        raise Conflict.of("job_followed_by", job=job.id, others=_named(parents))
    if has_running_batch(connection, job.id):
        raise Conflict.of("job_has_batch", job=job.id)


def check_addresses(connection: Connection, job: Job, addresses: tuple[str, ...]) -> None:
    """Only addresses that are registered or written into the group: a trigger must not make us call strangers."""
    if not addresses:
        return
    group = get_group(connection, job.job_group)
    known = known_addresses(group.addresses, list_executors(connection, group.app_name))
    strangers = [address for address in addresses if address not in known]
    if strangers:
        about = {"address": strangers[0], "group": group.app_name}
        if not known:
            raise Invalid.of("not_an_executor_of_none", **about, field="address_list")
        raise Invalid.of("not_an_executor", **about, names=", ".join(sorted(known)), field="address_list")


def source_of(connection: Connection, job: Job) -> Job:
    """The job whose handler or code this one runs: itself or its super task."""
    return job if job.super_id is None else _super_task(connection, job.super_id)


def _check_children(connection: Connection, job: Job) -> None:
    """Walk from the children on, holding each job that is passed, so that two edits cannot close a ring together."""
    came_from: dict[int, int] = dict.fromkeys(job.child_job_ids, job.id)
    if job.id in came_from:
        raise Invalid.of("follows_itself", job=job.id, field="child_jobid")
    wave = set(came_from)
    while wave:
        passed = hold_referred(connection, wave)
        missing = [child for child in job.child_job_ids if child in wave - passed.keys()]
        if missing:
            raise Invalid.of("no_such_child", job=missing[0], field="child_jobid")
        wave = set()
        for one in passed.values():
            for child in one.child_job_ids:
                if child == job.id:
                    ring = " → ".join(map(str, _way_back(came_from, one.id, job.id)))
                    raise Invalid.of("follow_for_ever", ring=ring, field="child_jobid")
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
        raise Invalid.of("super_task_of_another", job=above.id, other=above.super_id, field="super_task_id")
    below = sub_tasks_of(connection, job.id) if job.id else []  # a new job has no id yet, and nobody names it
    if below:
        listed = ", ".join(map(str, below))
        raise Invalid.of("super_task_needed", others=listed, field="super_task_id")


def _performance(job: Job) -> tuple[object, ...]:
    return (job.job_group, job.super_task_id, job.glue_type, job.executor_handler)


def _check_code_stays(connection: Connection, job: Job) -> None:
    """Refuse that code of one group would run in another."""
    source = source_of(connection, job)
    if not runs_code(source):
        return
    if source.job_group != job.job_group:
        raise Invalid.of("super_task_elsewhere", job=source.id, field="super_task_id")
    below = sub_tasks_of(connection, job.id) if job.id and source is job else []
    if any(group != job.job_group for group in groups_of_jobs(connection, below).values()):
        raise Conflict.of("code_used_elsewhere", job=job.id)


def _check_secrets(connection: Connection, job: Job) -> None:
    if not job.secrets:
        return
    known = known_names(connection, job.job_group, job.secrets, hold=True)
    missing = [name for name in job.secrets if name not in known]
    if missing:
        raise Invalid.of("no_secret_here", name=missing[0], group=job.job_group, field="secrets")


def told_apart(ids: Iterable[int], groups: Mapping[int, int], seen: Collection[int] | None) -> tuple[str, int]:
    """Jobs, whose ``groups`` are known, as they are told to somebody who may see some groups (None: all): the ids that
    this one may read, and how many others there are.
    """
    listed = list(ids)
    shown = [one for one in listed if seen is None or groups.get(one) in seen]
    return _named(shown) or "–", len(listed) - len(shown)


def _named(ids: list[int]) -> str:
    shown = ", ".join(map(str, ids[:_SHOWN]))
    return shown if len(ids) <= _SHOWN else f"{shown} and {len(ids) - _SHOWN} more"


def _super_task(connection: Connection, job_id: int) -> Job:
    found = hold_referred(connection, {job_id}).get(job_id)
    if found is None:
        raise Invalid.of("no_such_super_task", job=job_id, field="super_task_id")
    return found
