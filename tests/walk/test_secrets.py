"""Secrets with real processes: from the API through the database and the network to a handler, and nowhere else."""

from pathlib import Path

from orth.testing.stores import prepare_store
from tests.cli.running import orth
from tests.walk.processes import PASSWORD, TOKEN, Site, eventually

CANARY = "canary-of-this-test"
JOBS = """
import logging

from orth import Executor, JobContext

app = Executor("walk-tests")


@app.job("use")
def use(ctx: JobContext) -> str:
    print("connecting with", ctx.secrets["API_KEY"])
    try:
        raise ValueError(ctx.secrets["API_KEY"])
    except ValueError:
        logging.getLogger("a.library").exception("refused for %s", ctx.secrets["API_KEY"])
    return f"{len(ctx.secrets['API_KEY'])} characters of {ctx.secrets['API_KEY']}"
"""


def test_a_secret_reaches_its_handler_and_no_file(store_url: str, tmp_path: Path) -> None:
    prepare_store(store_url)
    target = tmp_path / "jobs.py"
    target.write_text(JOBS)
    with Site(tmp_path, store_url) as site:
        coordinator = site.coordinator()
        executor = site.executor(target)
        api = site.api()
        group = api.call("POST", "/api/v1/groups", {"app_name": "walk-tests"})["id"]
        api.call("PUT", f"/api/v1/secrets/API_KEY?job_group={group}", {"value": CANARY}, expect=201)
        body = {"job_group": group, "job_desc": "use", "executor_handler": "use", "secrets": ["API_KEY"]}
        job_id = api.call("POST", "/api/v1/jobs", body)["id"]
        api.call("POST", f"/api/v1/jobs/{job_id}/trigger", expect=202)
        [done] = eventually(
            lambda: api.items(f"/api/v1/executions?job_id={job_id}&status=success"), what="the execution's end"
        )
        assert done["handle_msg"] == f"{len(CANARY)} characters of ***"
        log = api.call("GET", f"/api/v1/executions/{done['id']}/log?from=1")["content"]
        assert "connecting with ***" in log
        assert "refused for ***" in log
        assert "refused for ***" in executor.text(), "what libraries log is in the log of the process as well"
        verified = orth("audit", "verify", "--store", store_url, cwd=tmp_path)
        assert verified.stdout.startswith("The audit is whole"), verified
        assert (executor.end(), coordinator.end()) == (0, 0)
    left = [file for file in tmp_path.rglob("*") if file.is_file() and CANARY.encode() in file.read_bytes()]
    assert left == []


def test_a_node_with_another_master_key_does_not_start(store_url: str, tmp_path: Path) -> None:
    prepare_store(store_url)
    with Site(tmp_path, store_url) as site:
        site.coordinator()
        done = orth(
            *("server", "--store", store_url, "--listen", "127.0.0.1:0", "--data-dir", "elsewhere"),
            cwd=tmp_path,
            ORTH_SECURITY__ACCESS_TOKEN=TOKEN,
            ORTH_SECURITY__ADMIN_PASSWORD=PASSWORD,
        )
        assert done.returncode == 1
        assert "are sealed with the master key" in done.stderr
        assert len(done.stderr.splitlines()) == 1
