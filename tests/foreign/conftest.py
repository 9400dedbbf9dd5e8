"""One coordinator, a real process, for executors of every make."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.walk.processes import Api, Site, eventually

QUICK = {
    "ORTH_COORDINATOR__DISPATCH_TIMEOUT": "10s",  # a machine that builds and tests at once may stand still for three
    "ORTH_COORDINATOR__LOST_AFTER": "3s",
    "ORTH_COORDINATOR__LOST_SCAN": "1s",
}
"""What makes waiting for a loss a matter of seconds, and for an answer long enough."""


class Coordinator:
    """A coordinator and what a test asks of it."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.url = site.url
        self.api: Api = site.api()
        self._numbers = itertools.count(1)

    def app_name(self) -> str:
        """One that no other test uses."""
        return f"foreign-{next(self._numbers)}"

    def group(self, app_name: str, **fields: object) -> int:
        return int(self.api.call("POST", "/api/v1/groups", {"app_name": app_name, **fields})["id"])

    def job(self, group: int, **fields: object) -> int:
        body = {"job_group": group, "job_desc": "foreign", "executor_handler": "demoJobHandler", **fields}
        body = {"executor_route_strategy": "FIRST", **body}
        return int(self.api.call("POST", "/api/v1/jobs?allow_unknown_handler=true", body)["id"])

    def trigger(self, job: int, **body: object) -> int:
        (execution,) = self.api.call("POST", f"/api/v1/jobs/{job}/trigger", body)["execution_ids"]
        return int(execution)

    def execution(self, execution: int) -> dict[str, Any]:
        found: dict[str, Any] = self.api.call("GET", f"/api/v1/executions/{execution}")
        return found

    def kill(self, execution: int) -> dict[str, Any]:
        answer: dict[str, Any] = self.api.call("POST", f"/api/v1/executions/{execution}/kill")
        return answer

    def until(self, execution: int, within: float = 60.0, **members: object) -> dict[str, Any]:
        """The execution, once it has these members."""
        last: dict[str, Any] = {}

        def look() -> dict[str, Any] | None:
            last.update(self.execution(execution))
            return last if all(last[name] == value for name, value in members.items()) else None

        try:
            return eventually(look, within=within, what=f"execution {execution} with {members}")
        except AssertionError as late:
            late.add_note(f"it was last seen as {last}")
            raise


@pytest.fixture(scope="package")
def coordinator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Coordinator]:
    with Site(tmp_path_factory.mktemp("foreign"), **QUICK) as site:
        site.coordinator()
        yield Coordinator(site)
