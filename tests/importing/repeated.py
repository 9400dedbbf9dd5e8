"""Repeated imports into one store, and edits of users between them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from orth.coordinator.defining import edit
from orth.coordinator.http.job_body import body_of
from orth.domain.audit import Actor, ActorKind, Deed
from orth.importing.report import Report
from orth.store.audit import record
from tests.importing.test_json import import_json
from tests.importing.test_xxl_job import Store

GROUP: dict[str, Any] = {"id": 1, "app_name": "shop-executor", "title": "Shop"}


def job(number: int, **own: object) -> dict[str, Any]:
    row = {"id": number, "jobGroup": 1, "jobDesc": f"job {number}", "executorHandler": f"h{number}", "glueType": "BEAN"}
    return {**row, **own}


class Importing:
    """Imports into one store, each time what is over there then."""

    def __init__(self, store: str, folder: Path) -> None:
        self.store = store
        self.folder = folder
        self.here = Store(store)

    def take(self, *jobs: dict[str, Any], group: dict[str, Any] = GROUP, **wishes: object) -> Report:
        return import_json(self.store, self.folder, {"groups": [group], "jobs": list(jobs)}, **wishes)

    def edited(self, name: str, action: str = "job.update") -> None:
        """Let somebody have edited a job."""
        job_id = self.here.jobs()[name].id
        with self.here.engine.begin() as connection:
            record(connection, Actor(ActorKind.USER, "ann"), Deed(action, "job", str(job_id)), 1)

    def edit(self, name: str, **changes: Any) -> None:
        """Change a job as a user does."""
        job = self.here.jobs()[name]
        edited = replace(job, **changes)
        deed = Deed("job.update", "job", str(job.id), before=body_of(job), after=body_of(edited))
        with self.here.engine.begin() as connection:
            edit(connection, job, edited, 1, True)
            record(connection, Actor(ActorKind.USER, "ann"), deed, 1)

    def family(self) -> dict[str, tuple[list[str], str]]:
        """By name, of each job that has any: its children and its super task."""
        jobs = self.here.jobs()
        names = {one.id: name for name, one in jobs.items()} | {0: ""}
        family = {
            name: ([names[child] for child in one.child_job_ids], names[one.super_task_id])
            for name, one in jobs.items()
        }
        return {name: relations for name, relations in family.items() if relations != ([], "")}
