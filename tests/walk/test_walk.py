"""The walk with real processes: from a due fire to a stored result, over real HTTP, on every database."""

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from orth.testing.stores import prepare_store
from tests.walk.processes import HTTP, PASSWORD, Api, Site, eventually

JOBS = Path(__file__).parent / "noting_jobs.py"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


def site_of(tmp_path: Path, notes: Path, url: str | None = None, **settings: str) -> Site:
    return Site(tmp_path, url, NOTES=str(notes), **settings)


def job_of(site: Site, handler: str, **fields: object) -> int:
    api = site.api()
    groups = api.items("/api/v1/groups")
    group = groups[0] if groups else api.call("POST", "/api/v1/groups", {"app_name": "walk-tests"})
    body = {"job_group": group["id"], "job_desc": handler, "executor_handler": handler, **fields}
    return int(api.call("POST", "/api/v1/jobs", body)["id"])


def ended(site: Site, job_id: int) -> dict[str, Any]:
    """Trigger a job; its execution, when that has ended."""
    api = site.api()
    (one,) = api.call("POST", f"/api/v1/jobs/{job_id}/trigger", expect=202)["execution_ids"]
    shown = f"/api/v1/executions/{one}"
    eventually(lambda: api.call("GET", shown)["phase"] == "ended", what="the end")
    found: dict[str, Any] = api.call("GET", shown)
    return found


def test_a_scheduled_job_succeeds_on_every_database(store_url: str, tmp_path: Path, notes: Path) -> None:
    prepare_store(store_url)
    with site_of(tmp_path, notes, store_url) as site:
        coordinator = site.coordinator()
        executor = site.executor(JOBS)
        job_id = job_of(site, "note", schedule_type="FIX_RATE", schedule_conf="500ms")
        api = site.api()
        api.call("POST", f"/api/v1/jobs/{job_id}/start")
        done = eventually(
            lambda: [one for one in api.items(f"/api/v1/executions?job_id={job_id}") if one["status"] == "success"],
            what="the first success",
        )[-1]
        assert (done["tag"], done["handle_msg"], done["cause"]) == ("Success 200/200", "noted", "fixed_rate")
        assert done["schedule_time"] <= done["start_time"] <= done["handle_time"], "planned ahead, never started early"
        log = api.call("GET", f"/api/v1/executions/{done['id']}/log?from=1")
        assert log["end"]
        assert "note" in log["content"]
        assert (tmp_path / "executor-1" / "logs").is_dir()
        assert [path.name for path in (tmp_path / "executor-1" / "logs").rglob(f"{done['id']}.log")]
        assert (executor.end(), coordinator.end()) == (0, 0)
        assert "Success 200/200" in coordinator.text()


def test_a_failure_is_shown_with_its_message(tmp_path: Path, notes: Path) -> None:
    with site_of(tmp_path, notes) as site:
        site.coordinator()
        site.executor(JOBS)
        job_id = job_of(site, "fail", executor_fail_retry_count=1)
        api = site.api()
        api.call("POST", f"/api/v1/jobs/{job_id}/trigger", expect=202)
        failed = eventually(
            lambda: api.items(f"/api/v1/executions?job_id={job_id}&status=failed")[1:], what="the retry"
        )
        assert failed[0]["handle_msg"] == "failed as asked"
        assert len(notes.read_text().splitlines()) == 2


def test_a_timeout_is_a_timeout(tmp_path: Path, notes: Path) -> None:
    with site_of(tmp_path, notes) as site:
        site.coordinator()
        site.executor(JOBS)
        job_id = job_of(site, "slow", executor_timeout=1, executor_param='{"seconds": 30}')
        api = site.api()
        api.call("POST", f"/api/v1/jobs/{job_id}/trigger", expect=202)
        ended = eventually(lambda: api.items(f"/api/v1/executions?job_id={job_id}&status=timeout"), what="the timeout")
        assert ended[0]["tag"] == "Timeout 200/502"


def test_a_stopping_executor_finishes_what_runs_and_reports_it(tmp_path: Path, notes: Path) -> None:
    with site_of(tmp_path, notes) as site:
        site.coordinator()
        executor = site.executor(JOBS)
        job_id = job_of(site, "slow", executor_param='{"seconds": 2}')
        api = site.api()
        api.call("POST", f"/api/v1/jobs/{job_id}/trigger", expect=202)
        eventually(notes.exists, what="the start")
        assert executor.end(signal.SIGTERM) == 0
        (ended,) = api.items(f"/api/v1/executions?job_id={job_id}")
        assert (ended["status"], ended["handle_msg"]) == ("success", "took a while")
        assert api.call("GET", "/api/v1/executors")["items"] == []


def test_a_clean_stop_hands_over_within_a_second_and_any_node_shows_logs(
    postgres_url: str, tmp_path: Path, notes: Path
) -> None:
    prepare_store(postgres_url)
    long_lease = {"ORTH_CLUSTER__LEASE": "30s", "ORTH_CLUSTER__LEASE_RENEW": "300ms"}
    with site_of(tmp_path, notes, postgres_url, **long_lease) as site:
        first = site.coordinator("node-1")
        eventually(lambda: "leads: term 1" in first.text(), what="the first term")
        second = site.coordinator("node-2", port=site.port + 1)
        site.executor(JOBS)
        one = ended(site, job_of(site, "note"))["id"]
        log = f"/api/v1/executions/{one}/log?from=1"
        read = [Api(url).call("GET", log) for url in (site.url, f"http://127.0.0.1:{site.port + 1}")]
        assert read[0] == read[1]
        assert (read[0]["end"], "note" in read[0]["content"]) == (True, True)
        began = time.monotonic()
        assert first.end() == 0
        eventually(lambda: "leads: term 2" in second.text(), within=10, what="the second term")
        assert time.monotonic() - began < 10, "a third of the lease that another would have to wait for"


def test_a_killed_embedded_coordinator_is_back_without_waiting_for_the_lease(tmp_path: Path, notes: Path) -> None:
    with site_of(tmp_path, notes, ORTH_CLUSTER__LEASE="10m", ORTH_CLUSTER__LEASE_RENEW="1m") as site:
        first = site.coordinator()
        eventually(lambda: "leads: term 1" in first.text(), what="the first term")
        first.end(signal.SIGKILL)
        second = site.coordinator()
        eventually(lambda: "leads: term 2" in second.text(), within=5, what="the second term")


def test_the_first_password_is_generated_and_told_once(tmp_path: Path, notes: Path) -> None:
    """To a file of this user alone where the output is no terminal; to a terminal, ``test_first_start`` has it."""
    with site_of(tmp_path, notes, ORTH_SECURITY__ADMIN_PASSWORD="") as site:
        first = site.coordinator()
        line = next(line for line in first.text().splitlines() if "how to sign in as admin" in line)
        file = Path(line.split(" is in ")[1].partition(". Delete")[0])
        assert file.stat().st_mode & 0o777 == 0o600
        told = file.read_text()
        password = told.split("with the password")[1].split()[0]
        assert password not in first.text()
        body = {"username": "admin", "password": password}
        assert HTTP.request("POST", f"{site.url}/api/v1/auth/login", json=body).status == 200
        link = told.split()[-1]
        assert "/?t=" not in first.text()
        assert link.startswith(f"{site.url}/?t=")
        opened = {"token": link.partition("?t=")[2]}
        statuses = [HTTP.request("POST", f"{site.url}/api/v1/auth/link", json=opened).status for _ in range(2)]
        assert statuses == [200, 401]
        assert first.end() == 0
        first.output.unlink()
        again = site.coordinator()
        assert "how to sign in as admin" not in again.text()
        assert HTTP.request("POST", f"{site.url}/api/v1/auth/login", json=body).status == 200
        assert not any(password in path.read_text() for path in tmp_path.rglob("*") if path.suffix == ".log")
        assert password != PASSWORD
