"""Whose things are whose: which group something belongs to, and lists that are kept to some groups.

``groups`` is what ``Rights.groups`` gives: None means every group, and asks for nothing.
"""

from collections.abc import Collection, Iterable

from sqlalchemy import Column, ColumnElement, Connection, select

from orth.store.engines import among, locked, share_locked
from orth.store.tables import batches, executions, jobs
from orth.store.tables import groups as group_rows


def in_groups(column: Column[int], groups: Collection[int] | None) -> list[ColumnElement[bool]]:
    """For what bears its group itself."""
    return [] if groups is None else [column.in_(sorted(groups))]


def of_jobs_in_groups(job_id: Column[int], groups: Collection[int] | None) -> list[ColumnElement[bool]]:
    """For what bears only its job: that has to be in one of the groups now."""
    return [] if groups is None else [job_id.in_(select(jobs.c.id).where(*in_groups(jobs.c.job_group, groups)))]


def groups_of_jobs(connection: Connection, ids: Iterable[int]) -> dict[int, int]:
    """The group of each of these jobs that exists, readable or not."""
    found = select(jobs.c.id, jobs.c.job_group).where(among(connection, jobs.c.id, set(ids)))
    return {row.id: row.job_group for row in connection.execute(found)}


def hold_groups_of_jobs(connection: Connection, ids: Iterable[int]) -> dict[int, int]:
    """The same; they stay there until the transaction ends."""
    found = select(jobs.c.id, jobs.c.job_group).where(among(connection, jobs.c.id, set(ids))).order_by(jobs.c.id)
    return {row.id: row.job_group for row in connection.execute(share_locked(found, connection))}


def hold_group_of_job(connection: Connection, job_id: int) -> int | None:
    """The group of a job, which stays in it until the transaction ends; None without such a job."""
    found = select(jobs.c.job_group).where(jobs.c.id == job_id)
    return connection.execute(locked(found, connection)).scalar_one_or_none()


def group_of_execution(connection: Connection, execution_id: int) -> int | None:
    """The group an execution was opened for, which never changes; None without such an execution."""
    found = select(executions.c.job_group).where(executions.c.id == execution_id)
    return connection.execute(found).scalar_one_or_none()


def group_of_batch(connection: Connection, batch_id: int) -> int | None:
    """The group a batch was started in, which never changes; None without such a batch."""
    return connection.execute(select(batches.c.job_group).where(batches.c.id == batch_id)).scalar_one_or_none()


def app_names(connection: Connection, groups: Collection[int]) -> frozenset[str]:
    """What the executors of these groups register as."""
    found = select(group_rows.c.app_name).where(*in_groups(group_rows.c.id, groups))
    return frozenset(connection.scalars(found))
