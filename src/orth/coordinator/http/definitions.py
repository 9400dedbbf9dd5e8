"""Definitions as they stand in a file: the fields of ``JobBody``, with names in the place of ids.

Ids differ from place to place. So a group is its app name, a calendar its name, and another job (a child, a super task)
the app name of its group and its own name with a slash between: ``shop/Nightly report``. Ids are read too, for files
that stay where they were made.

Which job a definition is about is said by its group and its name.
"""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from orth.coordinator.field_troubles import kind_of, sentence_of
from orth.coordinator.http.callers import Caller
from orth.coordinator.http.job_body import JobBody, shown
from orth.domain.access import Permission
from orth.domain.definitions import Definition, parted
from orth.domain.jobs import Job
from orth.errors import Invalid, quotable
from orth.store.database import Connection
from orth.store.groups import find_group, groups_by_id
from orth.store.job_names import calendar_named, jobs_named, names_of_calendars, names_of_jobs
from orth.store.unstorable import is_storable

_SHOWN = 3
_NAMING = ("job_group", "super_task_id", "child_jobid", "calendar_id")
"""What is looked up before ``JobBody`` sees it."""


def as_definitions(connection: Connection, caller: Caller, found: Sequence[Job]) -> list[dict[str, Any]]:
    """Jobs as they stand in a file, code included. What the caller may not see keeps its id."""
    mentioned = {one for job in found for one in (*job.child_job_ids, job.super_id or 0)} - {0}
    names = names_of_jobs(connection, mentioned, caller.rights.groups(Permission.VIEW))
    groups = groups_by_id(connection, {job.job_group for job in found})
    calendars = names_of_calendars(connection, {job.calendar_id for job in found if job.calendar_id is not None})

    def named(job_id: int) -> str | int:
        return "/".join(names[job_id]) if job_id in names else job_id

    written = []
    for job in found:
        values = {name: value for name, value in shown(job).items() if name in JobBody.model_fields}
        values["job_group"] = groups[job.job_group].app_name if job.job_group in groups else job.job_group
        values["child_jobid"] = [named(child) for child in job.child_job_ids]
        values["super_task_id"] = 0 if job.super_id is None else named(job.super_id)
        values["calendar_id"] = calendars.get(job.calendar_id or 0, job.calendar_id)
        values |= {"glue_source": job.glue_source or None, "glue_remark": job.glue_remark or None}
        written.append(values)
    return written


def read_definition(connection: Connection, caller: Caller, definition: Definition) -> JobBody:
    """A definition with the ids that its names stand for here; ``Invalid`` says which field is wrong."""
    values = dict(definition)
    for field in _NAMING:
        _check_storable(values.get(field), field)
    values["job_group"] = _group(connection, caller, values.get("job_group"))
    if isinstance(values.get("super_task_id"), str):
        values["super_task_id"] = _job(connection, caller, values["super_task_id"], "super_task_id")
    if isinstance(values.get("child_jobid"), list):
        values["child_jobid"] = [
            _job(connection, caller, one, "child_jobid") if isinstance(one, str) else one
            for one in values["child_jobid"]
        ]
    if isinstance(values.get("calendar_id"), str):
        values["calendar_id"] = _calendar(connection, values["calendar_id"])
    try:
        return JobBody.model_validate(values)
    except ValidationError as error:
        raise _trouble(error) from None


def _check_storable(named: object, field: str) -> None:
    """No such text can be looked for in a database, and nothing can be called so."""
    if not is_storable(named if isinstance(named, list) else [named]):
        raise Invalid.of("text_unstorable", field=field)


def _group(connection: Connection, caller: Caller, named: object) -> object:
    if not isinstance(named, str):
        return named  # an id, or nothing a job could have: JobBody says so
    found = find_group(connection, named.strip())
    if found is None or not caller.rights.allows(Permission.VIEW, found.id):
        raise Invalid.of("no_group_here", group=named[:80], field="job_group")
    return found.id


def _job(connection: Connection, caller: Caller, reference: str, field: str) -> int:
    app_name, name = parted(reference)
    if not name:
        raise Invalid.of("reference_strange", said=quotable(reference, 80), field=field)
    group = find_group(connection, app_name)
    seen = group is not None and caller.rights.allows(Permission.VIEW, group.id)
    found = jobs_named(connection, group.id, name) if group is not None and seen else []
    if not found:
        raise Invalid.of("no_job_here", job=name[:80], group=app_name[:64], field=field)
    if len(found) > 1:
        raise Invalid.of("same_name", count=len(found), field=field)
    return found[0]


def _calendar(connection: Connection, name: str) -> int:
    found = calendar_named(connection, name)
    if found is None:
        raise Invalid.of("no_calendar_here", calendar=name[:80], field="calendar_id")
    return found


def _trouble(error: ValidationError) -> Invalid:
    found = error.errors(include_url=False, include_input=False)
    places = [".".join(map(str, one["loc"])) or "definition" for one in found]
    said = [sentence_of(one) for one in found]
    listed = "; ".join(
        f"{place}: {words.rstrip('.')}" for place, words in list(zip(places, said, strict=True))[:_SHOWN]
    )
    told = Invalid(f"It cannot be read: {listed}.", field=places[0])
    kind = kind_of(found[0])
    told.code, told.facts = kind["code"], kind["facts"]
    return told
