"""The names of jobs, for what is stored with their ids alone.

A name is told to those who may see the group where its job is now: what a job did in one group is seen there, and how
it is called in the next one is not.
"""

from collections.abc import Mapping
from typing import Any

from orth.coordinator.http.callers import Caller
from orth.coordinator.http.tools import Tools
from orth.domain.access import Permission
from orth.store.overview import names_of


async def named(tools: Tools, caller: Caller, shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same, with the name of each job as it is now; null for one that was removed, or that ``caller`` may not
    see.
    """
    seen = caller.rights.groups(Permission.VIEW)
    names: Mapping[int, tuple[int, str]] = await tools.db.read(names_of, {one["job_id"] for one in shown}, seen)
    return [one | {"job_desc": names[one["job_id"]][1] if one["job_id"] in names else None} for one in shown]
