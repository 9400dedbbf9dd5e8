"""Jobs and calendars by what people call them: ids differ from place to place, names do not."""

from collections.abc import Collection, Iterable

from sqlalchemy import Connection, select

from orth.domain.definitions import JobName
from orth.store.engines import among
from orth.store.group_scopes import in_groups
from orth.store.tables import calendars, groups, jobs


def jobs_named(connection: Connection, group_id: int, name: str) -> list[int]:
    """The jobs of a group with this name, readable or not: nothing keeps people from using it twice."""
    found = select(jobs.c.id).where(jobs.c.job_group == group_id, jobs.c.job_desc == name).order_by(jobs.c.id)
    return list(connection.scalars(found))


def names_of_jobs(
    connection: Connection, ids: Iterable[int], allowed: Collection[int] | None = None
) -> dict[int, JobName]:
    """What those of these jobs are called that are in the groups that are allowed; None: in any."""
    found = select(jobs.c.id, groups.c.app_name, jobs.c.job_desc).join(groups, groups.c.id == jobs.c.job_group)
    found = found.where(among(connection, jobs.c.id, set(ids)), *in_groups(jobs.c.job_group, allowed))
    return {row.id: JobName(row.app_name, row.job_desc) for row in connection.execute(found)}


def calendar_named(connection: Connection, name: str) -> int | None:
    return connection.execute(select(calendars.c.id).where(calendars.c.name == name)).scalar_one_or_none()


def names_of_calendars(connection: Connection, ids: Iterable[int]) -> dict[int, str]:
    found = select(calendars.c.id, calendars.c.name).where(among(connection, calendars.c.id, set(ids)))
    return {row.id: row.name for row in connection.execute(found)}
