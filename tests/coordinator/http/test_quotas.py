"""A group that has as many jobs as it may: neither a new one nor one of another group comes in. (A65)"""

from collections.abc import Iterator
from pathlib import Path
from shutil import copy

import pytest

from orth.settings import Settings
from orth.settings.sections import SecuritySection
from tests.coordinator.http.live import Site

JOBS = "/api/v1/jobs"


@pytest.fixture
def site(prepared: Path, tmp_path: Path) -> Iterator[Site]:
    settings = Settings(security=SecuritySection(jobs_per_group=2))
    with Site(Path(copy(prepared, tmp_path / "orth.db")), settings) as site:
        yield site


def test_a_full_group_takes_no_further_job(site: Site) -> None:
    full, other = site.group("full"), site.group("other")
    first, _ = (site.job(job_group=full) for _ in range(2))
    elsewhere = site.job(job_group=other)
    admin = site.admin()
    body = {"job_group": full, "job_desc": "one more", "executor_handler": "report"}
    for method, path, sent in (
        ("POST", JOBS, body),
        ("PUT", f"{JOBS}/{elsewhere}", body),
        ("PATCH", f"{JOBS}/{elsewhere}", {"job_group": full}),
    ):
        problem = admin.call(method, path, sent).problem(409)
        assert problem["type"] == "urn:orth:problem:quota-reached"
        assert "has 2 jobs" in problem["detail"]
        assert "security.jobs_per_group" in problem["hint"]
        assert problem["errors"][0]["field"] == "job_group"
    assert admin.call("PATCH", f"{JOBS}/{first}", {"job_desc": "renamed"}).status == 200
    assert admin.call("DELETE", f"{JOBS}/{first}").status == 204
    assert admin.call("PATCH", f"{JOBS}/{elsewhere}", {"job_group": full}).status == 200
