"""Earlier and present versions of the source that travels with a job."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select

from orth.domain.jobs import GlueType
from orth.store.tables import glue_versions


@dataclass(frozen=True, slots=True)
class GlueVersion:
    """One saved source of a job."""

    glue_type: GlueType
    source: str
    remark: str
    saved_at: int
    author: str = ""


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


def list_glue_versions(connection: Connection, job_id: int) -> list[GlueVersion]:
    """A job's history, oldest first."""
    rows = connection.execute(
        select(glue_versions).where(glue_versions.c.job_id == job_id).order_by(glue_versions.c.id)
    )
    return [
        GlueVersion(GlueType(row.glue_type), row.glue_source, row.glue_remark, row.add_time, row.author) for row in rows
    ]
