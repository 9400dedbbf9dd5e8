"""What people know jobs by, for what is stored with their ids alone.

It is told to those who may see the group where its job is now: what a job did in one group is seen there, and how
it is called in the next one is not.
"""

from collections.abc import Mapping
from typing import Any

from orth.coordinator.http.callers import Caller
from orth.coordinator.http.tools import Tools
from orth.domain.access import Permission
from orth.store.overview import Known, names_of


async def named(tools: Tools, caller: Caller, shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same, with name and tags of each job as they are now; null and none for one that was removed, or that
    ``caller`` may not see.
    """
    seen = caller.rights.groups(Permission.VIEW)
    names: Mapping[int, Known] = await tools.db.read(names_of, {one["job_id"] for one in shown} - {None}, seen)
    return [one | _told(names.get(one["job_id"])) for one in shown]


def _told(job: Known | None) -> dict[str, Any]:
    return {"job_desc": job.job_desc, "job_tags": list(job.tags)} if job else {"job_desc": None, "job_tags": []}
