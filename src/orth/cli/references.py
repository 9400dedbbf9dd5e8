"""How commands name jobs and groups, and how the names are looked up.

A group is named by its id or its app name, a job by its id or by GROUP/NAME as definitions write it. ``JOB`` and
``GROUP`` are the click types of all parameters that name one: they make a number of an id, and leave a name as it is.
``with_ids``, ``job_id`` and ``group_id`` look names up. An id is not looked up: also what is left of a deleted job or
group can be listed.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import click

from orth.cli.api_client import ApiClient
from orth.errors import ApiProblem, Conflict, NotFound

_GROUPS = "/api/v1/groups"
_JOBS = "/api/v1/jobs"
_UNCLAIMED = "/api/v1/executors/unclaimed"

Reference = int | str
"""The id of a job or group, or its name."""


class _JobType(click.ParamType[Reference]):
    name = "job"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Reference:
        if isinstance(value, int) or value.isdecimal():
            return int(value)
        if not all(value.partition("/")):
            self.fail(f"{value!r} is neither the id of a job nor GROUP/NAME.", param, ctx)
        return str(value)


class _GroupType(click.ParamType[Reference]):
    name = "group"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Reference:
        if isinstance(value, int) or value.isdecimal():
            return int(value)
        if not value.strip():
            self.fail(f"{value!r} is neither the id nor the app name of a group.", param, ctx)
        return str(value)


JOB = _JobType()
GROUP = _GroupType()

job_argument = click.argument("job_", metavar="JOB", type=JOB)
"""As ``job_``."""
group_argument = click.argument("group_", metavar="GROUP", type=GROUP)
"""As ``group_``."""


def find_group(client: ApiClient, named: Reference) -> dict[str, Any]:
    """The group that has this id or this app name."""
    if isinstance(named, int):
        found: dict[str, Any] = client.get(f"{_GROUPS}/{named}")
        return found
    known = list(client.items(_GROUPS))
    for one in known:
        if one["app_name"] == named:
            return one
    error = NotFound("group", named)
    if any(one["app_name"] == named for one in unclaimed_apps(client)):
        error.hint = f"Its executors are registered. Create the group: orth group adopt {named}"
    elif known:
        error.hint = f"There are: {', '.join(one['app_name'] for one in known)}."
    raise error


def group_id(client: ApiClient, named: Reference) -> int:
    """The id of a group."""
    return named if isinstance(named, int) else int(find_group(client, named)["id"])


def group_names(client: ApiClient) -> dict[int, str]:
    """The app names of all groups, by id."""
    return {one["id"]: one["app_name"] for one in client.items(_GROUPS)}


def unclaimed_apps(client: ApiClient) -> Iterator[dict[str, Any]]:
    """App names of registered executors that have no group, as far as the caller may see them."""
    try:
        yield from client.items(_UNCLAIMED)
    except ApiProblem as refused:
        if refused.status != 403:  # only who sees all groups may know of these
            raise


def job_id(client: ApiClient, named: Reference) -> int:
    """The id of a job."""
    if isinstance(named, int):
        return named
    group, _, name = named.partition("/")
    job_group = find_group(client, GROUP.convert(group, None, None))["id"]
    found = [int(one["id"]) for one in client.items(_JOBS, job_group=job_group) if one["job_desc"] == name]
    if not found:
        raise NotFound("job", named)
    if len(found) > 1:
        raise Conflict(f"Several jobs are called {named}: {', '.join(map(str, found))}.", hint="Name one by its id.")
    return found[0]


def job_path(client: ApiClient, named: Reference) -> str:
    """The address of a job."""
    return f"{_JOBS}/{job_id(client, named)}"


_FIELDS = {"job_id": job_id, "job_group": group_id}


def with_ids(client: ApiClient, query: Mapping[str, Any]) -> dict[str, Any]:
    """What is asked for, with ids in ``job_id`` and ``job_group`` where these hold names."""
    ids = {field: find(client, query[field]) for field, find in _FIELDS.items() if query.get(field) is not None}
    return {**query, **ids}
