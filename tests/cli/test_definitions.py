"""``orth export``, ``orth plan`` and ``orth apply`` against a served coordinator."""

import json
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.conftest import Run
from tests.coordinator.http.live import Site


class Orth:
    def __init__(self, run: Run, site: Site) -> None:
        self._run = run
        self.site = site
        token = site.admin().headers["Authorization"].removeprefix("Bearer ")
        self._environ = {"ORTH_SERVER": site.url, "ORTH_TOKEN": token}

    def __call__(self, *arguments: str) -> Result:
        return self._run(*arguments, **self._environ)


@pytest.fixture
def orth(run: Run, served: Site) -> Orth:
    served.reset()
    return Orth(run, served)


def test_what_is_exported_is_applied_again(orth: Orth, tmp_path: Path) -> None:
    group = orth.site.group()
    child = orth.site.job(job_group=group, job_desc="child", tags=["eu"])
    orth.site.job(job_group=group, job_desc="parent", tags=["eu", "x"], child_jobid=[child], author="data")
    orth.site.job(job_group=group, job_desc="other")
    file = tmp_path / "jobs.json"
    file.write_text(orth("export", "--tag", "eu").stdout)
    read = json.loads(file.read_text())
    assert [one["job_desc"] for one in read["jobs"]] == ["child", "parent"]
    assert json.loads(orth("export", "--tag", "eu", "--tag", "x").stdout)["jobs"] == read["jobs"][1:]
    assert json.loads(orth("export", "--author", "data").stdout)["jobs"] == read["jobs"][1:]
    assert json.loads(orth("export", "--id", str(child)).stdout)["jobs"] == read["jobs"][:1]

    read["jobs"][0]["executor_timeout"] = 7
    read["jobs"].append({**read["jobs"][1], "job_desc": "new"})
    file.write_text(json.dumps(read))
    planned = orth("plan", "-f", str(file))
    assert planned.exit_code == 0, planned.output
    assert [line.split()[0] for line in planned.stdout.splitlines()] == ["FATE", "change", "same", "create"]
    assert "executor_timeout: 0 -> 7" in planned.stdout
    assert "1 would be created, 1 would be changed, 0 would be refused, 1 as they are" in planned.stderr
    assert len(orth.site.admin().get("/api/v1/jobs").json["items"]) == 3
    applied = json.loads(orth("apply", "-f", str(file), "-o", "json").stdout)
    assert (applied["created"], applied["changed"], applied["same"]) == (1, 1, 1)
    assert orth.site.admin().get(f"/api/v1/jobs/{child}").json["executor_timeout"] == 7


def test_what_is_refused_is_told_and_ends_with_1(orth: Orth, tmp_path: Path) -> None:
    orth.site.group()
    file = tmp_path / "jobs.json"
    good = {"job_group": "demo", "job_desc": "good", "executor_handler": "report"}
    file.write_text(json.dumps([good, {**good, "job_desc": "bad", "job_group": "nowhere"}]))
    applied = orth("apply", "-f", str(file))
    assert applied.exit_code == 1
    assert "There is no group 'nowhere' here. Create the group: orth group create nowhere" in applied.stdout
    assert [one["job_desc"] for one in orth.site.admin().get("/api/v1/jobs").json["items"]] == ["good"]


@pytest.mark.parametrize("text", ["jobs: []", "{}", '{"jobs": 7}'])
def test_a_file_without_definitions_is_an_error(orth: Orth, tmp_path: Path, text: str) -> None:
    file = tmp_path / "jobs.json"
    file.write_text(text)
    refused = orth("plan", "-f", str(file))
    assert refused.exit_code != 0
    assert "jobs.json" in str(refused.exception) + refused.stderr


def test_a_file_too_large_for_one_request_is_applied_in_parts(
    orth: Orth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that others name are in the first part, wherever they stand in the file."""
    monkeypatch.setattr("orth.domain.definitions.AT_ONCE", 2)
    orth.site.group()
    made = [{"job_group": "demo", "job_desc": f"job {number}", "executor_handler": "report"} for number in range(5)]
    for number in range(4):
        made[number]["child_jobid"] = [f"demo/job {number + 1}"]  # type: ignore[assignment]
    file = tmp_path / "jobs.json"
    file.write_text(json.dumps({"jobs": made}))
    planned = orth("plan", "-f", str(file))
    assert planned.exit_code == 0, planned.output
    assert "the first 2 of 5 definitions. What becomes of the other 3" in planned.stderr
    assert orth.site.admin().get("/api/v1/jobs").json["items"] == []
    applied = orth("apply", "-f", str(file), "-o", "json")
    assert applied.exit_code == 0, applied.output
    assert "part 2 of 3: 4 of 5 definitions\npart 3 of 3: 5 of 5 definitions" in applied.stderr
    answer = json.loads(applied.stdout)
    assert (answer["created"], answer["refused"], answer["plan"]) == (5, 0, None)
    assert [(one["place"], one["job_desc"]) for one in answer["items"]] == [(n, f"job {n}") for n in range(5)]
    again = json.loads(orth("apply", "-f", str(file), "-o", "json").stdout)
    assert again["same"] == 5


def test_one_job_is_not_told_of_in_two_parts(orth: Orth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orth.domain.definitions.AT_ONCE", 2)
    orth.site.group()
    one = {"job_group": "demo", "job_desc": "twice", "executor_handler": "report"}
    file = tmp_path / "jobs.json"
    file.write_text(json.dumps([one, {**one, "job_desc": "other"}, {**one, "executor_timeout": 7}]))
    refused = orth("apply", "-f", str(file))
    assert refused.exit_code != 0
    assert "definitions 1 and 3 are about the same job" in str(refused.exception) + refused.stderr
    assert orth.site.admin().get("/api/v1/jobs").json["items"] == []
