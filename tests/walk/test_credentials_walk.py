"""Whole executions between real processes that trust each other by tokens of groups, signatures and certificates."""

import os
import shutil
import signal
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest
import urllib3

from orth.apphost.certificates import _Authority
from tests.walk.processes import HTTP, TOKEN, Api, Site, eventually

JOBS = """
from orth import Executor
app = Executor("demo")
@app.job("hello")
def hello():
    return "hello"
"""


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    file = tmp_path / "jobs.py"
    file.write_text(JOBS)
    return file


def run_once(api: Api) -> int:
    """Trigger a job and wait for its end, its result and its log; the job."""
    group = api.call("POST", "/api/v1/groups", {"app_name": "demo"})["id"]
    body = {"job_group": group, "job_desc": "hello", "executor_handler": "hello", "glue_type": "BEAN"}
    job = api.call("POST", "/api/v1/jobs", body)["id"]
    eventually(lambda: bool(api.items("/api/v1/executors")), what="the executor is registered")
    run_again(api, job)
    return int(job)


def run_again(api: Api, job: int) -> None:
    (execution,) = api.call("POST", f"/api/v1/jobs/{job}/trigger")["execution_ids"]
    path = f"/api/v1/executions/{execution}"
    eventually(lambda: api.call("GET", path)["status"] not in ("init", "pending"), what="the execution has ended")
    assert api.call("GET", path)["status"] == "success", api.call("GET", path)
    eventually(lambda: api.call("GET", f"{path}/log")["end"], what="its log can be read")


def refused_run(port: int, headers: dict[str, str]) -> int:
    return HTTP.request("POST", f"http://127.0.0.1:{port}/beat", body=b"{}", headers=headers).status


def test_the_token_of_a_group_and_signatures_that_are_required(tmp_path: Path, jobs: Path, free_port: int) -> None:
    with Site(tmp_path) as site:
        site.settings |= {
            "ORTH_SECURITY__REQUIRE_SIGNATURES": "true",
            "ORTH_SECURITY__GLOBAL_EXECUTOR_TOKEN": "false",
        }
        site.coordinator()
        api = site.api()
        made = api.call("POST", "/api/v1/tokens", {"kind": "executor", "name": "demo", "app_names": ["demo"]})
        own = {"ORTH_SECURITY__ACCESS_TOKEN": made["token"]}
        executor = site.executor(jobs, port=free_port, **own)
        job = run_once(api)
        executor.end(signal.SIGKILL)
        executor = site.executor(jobs, port=free_port, **own)
        run_again(api, job)  # another process, with another work key; the coordinator may know only the one before
        for token in (made["token"], TOKEN):
            assert refused_run(free_port, {"ORTH-ACCESS-TOKEN": token}) == 401, "a bare token is not enough"
        assert made["token"] not in executor.text()
        assert api.call("GET", f"/api/v1/tokens/{made['id']}")["last_used_at"] is not None
        shared = site.executor(jobs, "executor-2")
        eventually(lambda: "lets no executor in" in shared.text(), what="the shared token is refused")
        assert len(api.items("/api/v1/executors")) == 1


def test_a_wrong_token_of_a_group_never_gets_in(tmp_path: Path, jobs: Path) -> None:
    with Site(tmp_path) as site:
        site.coordinator()
        api = site.api()
        made = api.call("POST", "/api/v1/tokens", {"kind": "executor", "name": "other", "app_names": ["other"]})
        executor = site.executor(jobs, ORTH_SECURITY__ACCESS_TOKEN=made["token"])
        eventually(lambda: "does not speak for" in executor.text(), what="it is told why")
        assert api.items("/api/v1/executors") == []


def test_a_whole_execution_with_certificates_on_both_sides(tmp_path: Path, jobs: Path, free_port: int) -> None:
    """Without a client certificate the handshake fails; with one an execution goes all its way."""
    files = _Authority(shutil.which("openssl") or "openssl", tmp_path / "tls").certificates(["localhost"])
    stranger = _stranger(tmp_path)
    with Site(tmp_path) as site:
        site.url = f"https://127.0.0.1:{site.port}"
        site.settings |= {
            "ORTH_SECURITY__TLS_CERTIFICATE": str(files.certificate),
            "ORTH_SECURITY__TLS_KEY": str(files.key),
            "ORTH_SECURITY__TLS_CLIENT_CA": str(files.ca),
            "ORTH_SECURITY__TLS_VERIFY_CLIENTS": "true",
            "ORTH_COORDINATOR__URL": site.url,
        }
        ours = _pool(files.ca, (files.certificate, files.key))
        site.coordinator(ready=False)
        eventually(lambda: _answers(ours, f"{site.url}/health/ready"), what="the coordinator is ready")
        site.settings["ORTH_EXECUTOR__COORDINATORS"] = site.url
        site._start("executor-1", ["executor", str(jobs)], _executor_environment(site, free_port))
        here = f"https://127.0.0.1:{free_port}"
        eventually(lambda: _answers(ours, f"{here}/health"), what="the executor is ready")
        run_once(_SecureApi(site.url, ours))
        for url in (site.url, here):
            for shown in (None, stranger):
                with pytest.raises(urllib3.exceptions.HTTPError):
                    _pool(files.ca, shown).request("GET", f"{url}/health", timeout=5)
            with pytest.raises((OSError, urllib3.exceptions.HTTPError)):
                HTTP.request("GET", url.replace("https", "http"))


class _SecureApi(Api):
    """The admin API for somebody with a certificate."""

    def __init__(self, url: str, pool: urllib3.PoolManager) -> None:
        super().__init__(url)
        self._pool = pool

    def call(self, method: str, path: str, body: object = None, *, expect: int | None = None) -> Any:
        headers = {"Authorization": f"Bearer {self._signed_in()}"} if "/auth/" not in path else {}
        answer = self._pool.request(method, self.url + path, json=body, headers=headers)
        assert answer.status < 400, answer.data
        return answer.json() if answer.data else None


def _pool(authority: Path, shown: tuple[Path, Path] | None) -> urllib3.PoolManager:
    context = ssl.create_default_context(cafile=str(authority))
    if shown is not None:
        context.load_cert_chain(*shown)
    return urllib3.PoolManager(ssl_context=context, retries=False, timeout=10)


def _answers(pool: urllib3.PoolManager, url: str) -> bool:
    try:
        return pool.request("GET", url).status == 200
    except urllib3.exceptions.HTTPError:
        return False


def _executor_environment(site: Site, port: int) -> dict[str, str]:
    return {
        **site.settings,
        "ORTH_EXECUTOR__LISTEN": f"127.0.0.1:{port}",
        "ORTH_EXECUTOR__DATA_DIR": str(site.folder / "executor-1"),
    }


def _stranger(folder: Path) -> tuple[Path, Path]:
    """A certificate nobody vouches for."""
    key, certificate = folder / "stranger-key.pem", folder / "stranger.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(key), "-out", str(certificate), "-days", "1", "-subj", "/CN=stranger"]
    subprocess.run(command, check=True, capture_output=True, env={"PATH": os.environ["PATH"]})
    return certificate, key
