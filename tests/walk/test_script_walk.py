"""Code on its whole way: edited centrally, sent to a real executor, run by its interpreter, and read in the log."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orth.testing.stores import prepare_store
from tests.walk.processes import Api, Site, eventually

JOBS = Path(__file__).parent / "noting_jobs.py"
PAGE = Path(__file__).parents[2] / "docs" / "scripts.md"
EXAMPLES = {
    kind: text
    for text in re.findall(
        r"^```(?:sh|python|js|php|powershell)\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    for kind in re.findall(r"\A.*?(GLUE\w*)$", text, re.MULTILINE)
}
INTERPRETERS = {"GLUE_NODEJS": "node", "GLUE_PHP": "php", "GLUE_POWERSHELL": "pwsh"}
ALL = "shell,python,nodejs,php,powershell,glue"


class Scripts:
    """A coordinator and an executor that takes every kind of code, in a group that allows it."""

    def __init__(self, site: Site, kinds: str = ALL) -> None:
        self.site = site
        site.coordinator()
        shared = {"ORTH_EXECUTOR__SCRIPTS": kinds, "ORTH_EXECUTOR__SCRIPTS_SHARE_USER": "true"}
        self.executor = site.executor(JOBS, NOTES=str(site.folder / "notes"), **shared)
        self.api: Api = site.api()
        body = {"app_name": "walk-tests", "scripts_allowed": True}
        self.group: dict[str, Any] = self.api.call("POST", "/api/v1/groups", body)

    def job(self, kind: str, source: str, **fields: object) -> int:
        body = {
            "job_group": self.group["id"],
            "job_desc": kind,
            "glue_type": kind,
            "glue_source": source,
            "glue_remark": "first version",
            **fields,
        }
        return int(self.api.call("POST", "/api/v1/jobs", body)["id"])

    def save(self, job_id: int, source: str) -> None:
        body = {"glue_source": source, "glue_remark": "another version"}
        self.api.call("PUT", f"/api/v1/scripts/{job_id}", body)

    def allow(self, allowed: bool) -> None:
        body = {"app_name": "walk-tests", "scripts_allowed": allowed}
        self.api.call("PUT", f"/api/v1/groups/{self.group['id']}", body)

    def trigger(self, job_id: int, param: str = "") -> int:
        body = {"executor_param": param}
        (opened,) = self.api.call("POST", f"/api/v1/jobs/{job_id}/trigger", body, expect=202)["execution_ids"]
        return int(opened)

    def ended(self, execution_id: int) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            found: dict[str, Any] = self.api.call("GET", f"/api/v1/executions/{execution_id}")
            return found if found["status"] not in ("init", "pending") else None

        return eventually(look, what=f"the end of execution {execution_id}")

    def running(self, execution_id: int) -> None:
        def look() -> bool:
            return "begun" in str(self.api.call("GET", f"/api/v1/executions/{execution_id}/log?from=1")["content"])

        eventually(look, what=f"the begin of execution {execution_id}")

    def log(self, execution_id: int) -> str:
        return str(self.api.call("GET", f"/api/v1/executions/{execution_id}/log?from=1")["content"])

    def why(self, execution_id: int) -> dict[str, Any]:
        found: dict[str, Any] = self.api.call("GET", f"/api/v1/executions/{execution_id}/why")
        return found


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scripts]:
    with Site(tmp_path_factory.mktemp("scripts")) as site:
        yield Scripts(site)


def waiting(folder: Path, word: str) -> str:
    """A script that says that it has begun, and ends when a file is there."""
    return f"echo begun {word}; until [ -e {folder}/released ]; do sleep 0.05; done; echo '::result {word}'"


def test_the_page_has_an_example_of_every_kind() -> None:
    kinds = {"GLUE", "GLUE_SHELL", "GLUE_PYTHON", "GLUE_NODEJS", "GLUE_PHP", "GLUE_POWERSHELL"}
    assert set(EXAMPLES) == kinds


def test_every_kind_is_edited_centrally_and_run(scripts: Scripts) -> None:
    """Also a kind whose interpreter is not installed here: then the executor says so."""
    for kind, source in sorted(EXAMPLES.items()):
        job_id = scripts.job(kind, source)
        ended = scripts.ended(scripts.trigger(job_id, "monday"))
        if kind in INTERPRETERS and shutil.which(INTERPRETERS[kind]) is None:
            assert ended["status"] == "trigger_failed"
            assert f"{kind} needs {INTERPRETERS[kind]}, which is not installed" in ended["trigger_msg"]
            continue
        assert (ended["status"], ended["handle_msg"]) == ("success", "cleaned monday"), (kind, ended)
        assert "cleaning monday" in scripts.log(ended["id"])
        scripts.save(job_id, source.replace("cleaned", "swept"))
        again = scripts.ended(scripts.trigger(job_id, "monday"))
        assert (again["status"], again["handle_msg"]) == ("success", "swept monday"), (kind, again)


def test_the_example_with_a_header_declares_what_it_takes_and_runs(scripts: Scripts) -> None:
    (source,) = re.findall(r"^```python\n(# /// script\n.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    job_id = scripts.job("GLUE_PYTHON", source)
    told = scripts.api.call("GET", f"/api/v1/scripts/{job_id}")
    assert told["requirements"] == ["pydantic>=2"]
    assert told["params_schema"]["required"] == ["day"]
    ended = scripts.ended(scripts.trigger(job_id, '{"day": "monday", "limit": 3}'))
    assert (ended["status"], ended["handle_msg"]) == ("success", "cleaned monday")
    assert "cleaning 3 files of monday" in scripts.log(ended["id"])


def test_code_lives_in_every_database(store_url: str, tmp_path: Path) -> None:
    prepare_store(store_url)
    with Site(tmp_path, store_url) as site:
        scripts = Scripts(site, "shell")
        job_id = scripts.job("GLUE_SHELL", "echo '::result one 日本語'")
        assert scripts.ended(scripts.trigger(job_id))["handle_msg"] == "one 日本語"
        scripts.save(job_id, "echo '::result two'")
        new, old = scripts.api.items(f"/api/v1/scripts/{job_id}/versions")
        assert (new["author"], old["glue_remark"]) == ("admin", "first version")
        body = {"source": "echo '::result draft'"}
        (test,) = scripts.api.call("POST", f"/api/v1/scripts/{job_id}/test", body, expect=202)["execution_ids"]
        tried = scripts.ended(test)
        assert (tried["test"], tried["handle_msg"]) == (True, "draft")
        scripts.api.call(
            "POST", f"/api/v1/scripts/{job_id}/rollback", {"version_id": old["id"], "remark": "it was better"}
        )
        assert scripts.ended(scripts.trigger(job_id))["handle_msg"] == "one 日本語"
        assert len(scripts.api.items(f"/api/v1/scripts/{job_id}/versions")) == 3


@pytest.mark.parametrize("strategy", ["SERIAL_EXECUTION", "DISCARD_LATER", "COVER_EARLY"])
def test_another_version_ends_what_runs(scripts: Scripts, tmp_path: Path, strategy: str) -> None:
    discards = strategy == "DISCARD_LATER"  # which a coordinator does itself where overlap is "cluster"
    own = {"executor_block_strategy": strategy, "overlap": "executor" if discards else "cluster"}
    job_id = scripts.job("GLUE_SHELL", waiting(tmp_path, "old"), **own)
    first = scripts.trigger(job_id)
    scripts.running(first)
    scripts.save(job_id, "echo '::result new'")
    second = scripts.ended(scripts.trigger(job_id))
    assert (second["status"], second["handle_msg"]) == ("success", "new")
    ended = scripts.ended(first)
    assert ended["status"] == "failed"
    assert f"execution {second['id']} brought another handler or version" in ended["handle_msg"]


def test_the_same_version_waits_its_turn_or_covers(scripts: Scripts, tmp_path: Path) -> None:
    serial = scripts.job("GLUE_SHELL", waiting(tmp_path, "serial"))
    covers = scripts.job("GLUE_SHELL", waiting(tmp_path, "covers"), executor_block_strategy="COVER_EARLY")
    one, covered = scripts.trigger(serial), scripts.trigger(covers)
    scripts.running(one)
    scripts.running(covered)
    two, covering = scripts.trigger(serial), scripts.trigger(covers)
    assert "COVER_EARLY" in scripts.ended(covered)["handle_msg"]
    (tmp_path / "released").touch()
    assert [scripts.ended(id_)["status"] for id_ in (one, two, covering)] == ["success"] * 3


def test_a_test_runs_beside_the_job_and_leaves_it_alone(scripts: Scripts, tmp_path: Path) -> None:
    job_id = scripts.job("GLUE_SHELL", waiting(tmp_path, "own"), executor_fail_retry_count=2)
    own = scripts.trigger(job_id)
    scripts.running(own)
    address = scripts.api.items("/api/v1/executors")[0]["address"]
    body = {"source": "echo trying $1; exit 3", "executor_param": "it", "address": address}
    (test,) = scripts.api.call("POST", f"/api/v1/scripts/{job_id}/test", body, expect=202)["execution_ids"]
    tried = scripts.ended(test)
    assert (tried["status"], tried["handle_msg"], tried["cause"]) == ("failed", "exit value 3", "manual")
    assert "trying it" in scripts.log(test)
    (tmp_path / "released").touch()
    assert scripts.ended(own)["handle_msg"] == "own"
    assert [one["id"] for one in scripts.api.items(f"/api/v1/executions?job_id={job_id}")] == [test, own]
    assert waiting(tmp_path, "own") == scripts.api.call("GET", f"/api/v1/scripts/{job_id}")["glue_source"]


def test_a_group_that_changed_its_mind_gets_nothing(scripts: Scripts) -> None:
    job_id = scripts.job("GLUE_SHELL", "echo ran", executor_fail_retry_count=2)
    scripts.allow(False)
    ended = scripts.ended(scripts.trigger(job_id))
    assert (ended["status"], ended["reason_code"]) == ("trigger_failed", "scripts_off")
    told = scripts.why(ended["id"])
    assert told["reason_code"] == "scripts_off"
    assert 'the group "walk-tests" does not allow scripts' in told["summary"]
    assert len(scripts.api.items(f"/api/v1/executions?job_id={job_id}")) == 1
    scripts.allow(True)
    assert scripts.ended(scripts.trigger(job_id))["status"] == "success"


def test_a_kind_that_the_executor_does_not_name_is_refused_by_it(tmp_path: Path) -> None:
    with Site(tmp_path) as site:
        scripts = Scripts(site, "python")
        job_id = scripts.job("GLUE_SHELL", "echo ran > ran")
        ended = scripts.ended(scripts.trigger(job_id))
        assert (ended["status"], ended["reason_code"]) == ("trigger_failed", "script_refused")
        assert "GLUE_SHELL is not allowed on this executor" in scripts.why(ended["id"])["summary"]
        assert not (tmp_path / "ran").exists()
