"""Three coordinators on one database, each with executions to look after: a stage on which some of them are lost."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orth.testing.stores import prepare_store
from tests.console.site import JOBS
from tests.servers.binaries import find_program
from tests.servers.processes import free_port
from tests.walk.processes import PASSWORD, Process, Site, eventually

NODES = ("coordinator-1", "coordinator-2", "coordinator-3")
"""Named as those of `orth up` are, for that is what tables have to have room for."""
OPEN = 45
"""Executions that stay open: so many that who takes them hands some over, and each coordinator owns some."""
SETTINGS = {
    "ORTH_CHANNELS__URL": "database://",
    "ORTH_CLUSTER__LEASE": "4s",
    "ORTH_CLUSTER__LEASE_RENEW": "1s",
    "ORTH_CLUSTER__HEARTBEAT": "1s",
    "ORTH_CLUSTER__DEAD_AFTER": "5s",
    "ORTH_CLUSTER__ORPHAN_CHECK": "1s",
    "ORTH_CLUSTER__ASSIGNMENT_TIMEOUT": "3s",
    "ORTH_REGISTRY__HEARTBEAT": "2s",
    "ORTH_REGISTRY__DEAD_AFTER": "6s",
    "ORTH_REGISTRY__MONITOR": "1s",
    "ORTH_EXECUTOR__HEARTBEAT": "2s",
}


@contextmanager
def three_coordinators(folder: Path) -> Iterator[dict[str, str]]:
    """The environment in which stories are told about them."""
    url = f"sqlite:///{folder / 'orth.db'}"
    prepare_store(url)
    with Site(folder, url, **SETTINGS) as site:
        ports = {NODES[0]: site.port} | {name: free_port() for name in NODES[1:]}
        processes = {name: _begin(site, name, port) for name, port in ports.items()}
        for name, process in processes.items():
            _ready(process, f"http://127.0.0.1:{ports[name]}/health/ready")
        known = ",".join(f"http://127.0.0.1:{port}" for port in ports.values())
        executor = site.executor(JOBS, ORTH_EXECUTOR__COORDINATORS=known)
        _occupy(site)
        nodes = {
            name: {"url": f"http://127.0.0.1:{ports[name]}", "pid": process.popen.pid}
            for name, process in processes.items()
        }
        yield {
            "ORTH_STORY_URL": site.url,
            "ORTH_STORY_USER": "admin",
            "ORTH_STORY_PASSWORD": PASSWORD,
            "ORTH_STORY_JOBS": "{}",
            "ORTH_STORY_NODES": json.dumps(nodes),
            "ORTH_STORY_EXECUTOR": str(executor.popen.pid),
            "ORTH_STORY_BROWSER": str(find_program("chromium-headless-shell")),
        }


def _begin(site: Site, name: str, port: int) -> Process:
    return site.coordinator(name, port=port, ready=False, ORTH_COORDINATOR__DATA_DIR=str(site.folder / name))


def _ready(process: Process, url: str) -> None:
    eventually(lambda: Site.answers(process, url), within=90, what=f"{process.name} ready")


def _occupy(site: Site) -> None:
    """Executions that last, until everybody owns some."""
    api = site.api()
    eventually(lambda: api.items("/api/v1/executors"), within=60, what="the executor")
    group = api.call("POST", "/api/v1/groups", {"app_name": "stories", "title": "Stories"})
    body = {"job_group": group["id"], "job_desc": "Rebuild the search index", "executor_handler": "linger"}
    job = api.call("POST", "/api/v1/jobs", body)
    for _ in range(OPEN):
        api.call("POST", f"/api/v1/jobs/{job['id']}/trigger", expect=202)

    def all_own() -> bool:
        nodes = api.call("GET", "/api/v1/cluster")["nodes"]
        return len(nodes) == len(NODES) and all(node["owned"] > 0 for node in nodes)

    eventually(all_own, within=90, what="every coordinator to own something")
