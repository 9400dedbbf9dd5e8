"""How many jobs a group may have: an editor is trusted with a group, not with the whole cluster's time."""

from sqlalchemy import Connection, func, select

from orth.errors import NotFound, QuotaReached
from orth.store.engines import locked
from orth.store.tables import groups, jobs


def check_room_for_job(connection: Connection, group_id: int, limit: int) -> None:
    """``QuotaReached`` when the group has ``limit`` jobs (0: it may have any number). The group is held until the
    transaction ends, so that of two who would each be the last one only one is let in.
    """
    if not limit:
        return
    held = locked(select(groups.c.app_name).where(groups.c.id == group_id), connection)
    app_name = connection.execute(held).scalar_one_or_none()
    if app_name is None:
        raise NotFound("group", group_id)
    count = select(func.count()).select_from(jobs).where(jobs.c.job_group == group_id)
    if connection.execute(count).scalar_one() >= limit:
        raise QuotaReached(app_name, limit)
