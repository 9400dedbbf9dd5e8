"""Earlier and present versions of the source that travels with a job."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BindParameter, Connection, Row, bindparam, delete, insert, or_, select, update

from orth.domain.jobs import GlueType
from orth.domain.scripts import digest_of
from orth.errors import NotFound
from orth.store.group_scopes import in_groups
from orth.store.tables import glue_versions, jobs

_KINDS = {one.value: one for one in GlueType}
_WITH_CODE = sorted(kind for kind in _KINDS if kind != GlueType.BEAN)
_ROWS_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class GlueVersion:
    """One saved source of a job."""

    glue_type: GlueType
    source: str
    remark: str
    saved_at: int
    author: str = ""
    id: int = 0
    left_group: int | None = None
    """The group it was saved in, if the job has left that since."""

    @property
    def digest(self) -> str:
        return digest_of(self.source)


@dataclass(frozen=True, slots=True)
class JobWithCode:
    """A job that has code, without the code."""

    job_id: int
    job_desc: str
    job_group: int
    glue_type: GlueType
    remark: str
    saved_at: int | None
    """None when nobody knows."""


def list_jobs_with_code(
    connection: Connection, after: int, limit: int, groups: Collection[int] | None = None
) -> list[JobWithCode]:
    """Jobs that have code, in order of id, those after ``after``; only of these groups."""
    wanted = (
        jobs.c.id,
        jobs.c.job_desc,
        jobs.c.job_group,
        jobs.c.glue_type,
        jobs.c.glue_remark,
        jobs.c.glue_updatetime,
    )
    found = select(*wanted).where(
        jobs.c.id > after, jobs.c.glue_type.in_(_WITH_CODE), *in_groups(jobs.c.job_group, groups)
    )
    return [
        JobWithCode(int(job_id), name, int(group), _KINDS[kind], remark, saved_at or None)
        for job_id, name, group, kind, remark, saved_at in connection.execute(found.order_by(jobs.c.id).limit(limit))
    ]


def keep_glue_versions(connection: Connection, job_id: int, versions: Sequence[GlueVersion]) -> None:
    """Add versions to a job's history, oldest first."""
    rows = [
        {
            "job_id": job_id,
            "glue_type": version.glue_type,
            "glue_source": version.source,
            "glue_remark": version.remark,
            "author": version.author,
            "add_time": version.saved_at,
            "update_time": version.saved_at,
        }
        for version in versions
    ]
    if rows:
        connection.execute(insert(glue_versions), rows)


def set_glue_times(connection: Connection, times: Mapping[int, int]) -> None:
    """Write when versions were saved, by their ids."""
    at: BindParameter[int] = bindparam("at")
    statement = update(glue_versions).where(glue_versions.c.id == bindparam("version_id"))
    rows = [{"version_id": version_id, "at": saved_at} for version_id, saved_at in times.items()]
    if rows:
        connection.execute(statement.values(add_time=at, update_time=at), rows)


def list_glue_versions(
    connection: Connection,
    job_id: int,
    limit: int = _ROWS_AT_ONCE,
    before: int | None = None,
    groups: Collection[int] | None = None,
) -> list[GlueVersion]:
    """A job's history, newest first; only what is older than the version ``before``, and of groups that the job has
    left only what is of ``groups``. Kinds that this version does not know are left out.
    """
    rows = select(glue_versions).where(glue_versions.c.job_id == job_id, glue_versions.c.glue_type.in_(_KINDS))
    if groups is not None:
        left = glue_versions.c.left_group
        rows = rows.where(or_(left.is_(None), *in_groups(left, groups)))
    if before is not None:
        rows = rows.where(glue_versions.c.id < before)
    return [_version(row) for row in connection.execute(rows.order_by(glue_versions.c.id.desc()).limit(limit))]


def get_glue_version(connection: Connection, job_id: int, version_id: int) -> GlueVersion:
    """One version of that job; ``NotFound`` also when it is another job's."""
    wanted = select(glue_versions).where(glue_versions.c.id == version_id, glue_versions.c.job_id == job_id)
    row = connection.execute(wanted).one_or_none()
    if row is None or row.glue_type not in _KINDS:
        raise NotFound("version", version_id)
    return _version(row)


def newest_glue_version(connection: Connection, job_id: int) -> GlueVersion | None:
    return next(iter(list_glue_versions(connection, job_id, 1)), None)


def leave_group(connection: Connection, job_id: int, group: int, source: str) -> None:
    """The job goes to another group: what it does not run any more stays of the one that it leaves."""
    newest = newest_glue_version(connection, job_id)
    goes_along = newest.id if newest is not None and newest.source == source else 0
    stays = (glue_versions.c.job_id == job_id, glue_versions.c.left_group.is_(None), glue_versions.c.id != goes_along)
    connection.execute(update(glue_versions).where(*stays).values(left_group=group))


def trim_glue_versions(connection: Connection, job_id: int, kept: int) -> None:
    """Keep only so many versions of a job, the newest."""
    ids = select(glue_versions.c.id).where(glue_versions.c.job_id == job_id).order_by(glue_versions.c.id.desc())
    oldest = connection.execute(ids.limit(1).offset(kept - 1)).scalar()
    if oldest is not None:
        connection.execute(
            delete(glue_versions).where(glue_versions.c.job_id == job_id, glue_versions.c.id < int(oldest))
        )


def forget_glue_versions(connection: Connection, job_id: int) -> None:
    """Remove a job's history, with the job."""
    connection.execute(delete(glue_versions).where(glue_versions.c.job_id == job_id))


def _version(row: Row[Any]) -> GlueVersion:
    return GlueVersion(
        _KINDS[row.glue_type],
        row.glue_source,
        row.glue_remark,
        row.add_time,
        row.author,
        id=int(row.id),
        left_group=row.left_group,
    )
