"""Links between jobs: who may make them, and who may move one of their ends into another group.

A child runs when its parent has succeeded, so whoever makes the link must be allowed to edit the parent and to operate
the child; of a super task the handler runs in place of one's own, so it must be one that may be seen. Both ends may be
in different groups: then somebody with a role in both has agreed. To say anew what a child is given, or how often it
follows, is to make the link anew. And whoever moves a job makes all of its links anew, in both directions.
"""

from collections.abc import Iterable

from orth.coordinator.http.callers import Caller
from orth.coordinator.references import told_apart
from orth.domain.access import Permission
from orth.domain.jobs import Job
from orth.errors import Conflict, Invalid
from orth.store.database import Connection
from orth.store.group_scopes import groups_of_jobs, hold_groups_of_jobs
from orth.store.jobs import parents_of, sub_tasks_of


def check_mentions(connection: Connection, caller: Caller, job: Job, before: Job | None = None) -> None:
    """What a definition names anew has to be there, and the caller allowed to name it. ``before`` is the job as it is
    stored, and held by the caller. Nobody moves what is named meanwhile: whoever does waits, and finds the link.
    """
    if before is not None and before.job_group != job.job_group:
        _check_move(connection, caller, job, before)
    children = _children_anew(job, before)
    above = None if before is not None and before.super_id == job.super_id else job.super_id
    groups = hold_groups_of_jobs(connection, [*children, *([] if above is None else [above])])
    for child in children:
        if not _is_seen(caller, groups.get(child)):
            raise Invalid.of("no_such_child", job=child, field="child_jobid")
        caller.check(Permission.OPERATE, groups[child], "job", child)
    if above is not None and not _is_seen(caller, groups.get(above)):
        raise Invalid.of("no_such_super_task", job=above, field="super_task_id")


def _children_anew(job: Job, before: Job | None) -> list[int]:
    """All of them if they are told something else, or follow more often, than before."""
    if before is None or _manner(before) != _manner(job):
        return list(job.child_job_ids)
    return [child for child in job.child_job_ids if child not in before.child_job_ids]


def _manner(job: Job) -> tuple[object, ...]:
    return (job.child_param, job.child_per_shard)


def _check_move(connection: Connection, caller: Caller, job: Job, before: Job) -> None:
    """Refuse to move a job away from others to which the caller could not link it where it goes."""
    needed = dict(_links(connection, job, before))
    groups = groups_of_jobs(connection, needed)
    barred = [one for one, group in sorted(groups.items()) if not caller.rights.allows(needed[one], group)]
    if barred:
        others, hidden = told_apart(barred, groups, caller.rights.groups(Permission.VIEW))
        raise Conflict.of("links_into_groups", job=job.id, others=others, hidden=hidden)


def _links(connection: Connection, job: Job, before: Job) -> Iterable[tuple[int, Permission]]:
    """The jobs that stay linked with ``job``, each with what it takes there to make such a link; the most last."""
    if job.super_id is not None and job.super_id == before.super_id:
        yield job.super_id, Permission.VIEW
    for child in set(job.child_job_ids).intersection(before.child_job_ids):
        yield child, Permission.OPERATE
    for other in (*parents_of(connection, job.id), *sub_tasks_of(connection, job.id)):
        yield other, Permission.EDIT


def _is_seen(caller: Caller, group: int | None) -> bool:
    return group is not None and caller.rights.allows(Permission.VIEW, group)
