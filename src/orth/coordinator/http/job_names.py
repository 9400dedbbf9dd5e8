"""The names of jobs, for what is stored with their ids alone."""

from collections.abc import Mapping
from typing import Any

from orth.coordinator.http.tools import Tools
from orth.store.overview import names_of


async def named(tools: Tools, shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same, with the name of each job as it is now; null for one that was removed."""
    names: Mapping[int, tuple[int, str]] = await tools.db.read(names_of, {one["job_id"] for one in shown})
    return [one | {"job_desc": names[one["job_id"]][1] if one["job_id"] in names else None} for one in shown]
