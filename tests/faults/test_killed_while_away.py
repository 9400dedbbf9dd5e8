"""Executions that are killed while Redis is away do not begin when it is back, though whoever killed them is dead."""

import signal
from pathlib import Path

import pytest

from tests.conftest import StartServer
from tests.faults.gated_jobs import app
from tests.servers.redis import RedisServer
from tests.walk.processes import Process, Site, eventually
from tests.walk.test_queue_walk import QUICK, trigger, until

JOBS = Path(__file__).with_name("gated_jobs.py")
APP = app.app_name


@pytest.mark.parametrize("executor", ["lives", "restarted"])
def test_what_was_killed_while_redis_was_away_is_not_begun(
    tmp_path: Path, start_server: StartServer, executor: str
) -> None:
    server, gate, passed = start_server(RedisServer), tmp_path / "gate", tmp_path / "passed"
    files = {"GATE": str(gate), "PASSED": str(passed), "ORTH_CHANNELS__URL": server.url()}
    with Site(tmp_path, **files, **QUICK) as site:
        node, process, api = site.coordinator(), taker(site, "executor-1"), site.api()
        group = api.call("POST", "/api/v1/groups", {"app_name": APP})["id"]
        body = {"job_group": group, "job_desc": "g", "executor_handler": "gated", "executor_queue": "a"}
        body["overlap"] = "executor"  # several of one job are offered at once
        job = int(api.call("POST", "/api/v1/jobs", body)["id"])
        busy = trigger(api, job)
        until(api, busy, phase="running")
        killed, wanted = [trigger(api, job) for _ in range(2)], trigger(api, job)
        for one in (*killed, wanted):
            until(api, one, phase="offered")
        server.kill()
        for one in killed:
            assert not api.call("POST", f"/api/v1/executions/{one}/kill")["told"]
        node.end(signal.SIGKILL)
        server.start()
        gate.touch()
        if executor == "restarted":
            process.end(signal.SIGKILL)
            process = taker(site, "executor-2")
        eventually(lambda: "No coordinator accepted /api/openOffers" in process.text(), what="a question")
        site.coordinator()
        until(site.api(), wanted, within=60, status="success")
        assert not {int(line) for line in passed.read_text().split()} & set(killed)


def taker(site: Site, name: str) -> Process:
    queue = {"ORTH_EXECUTOR__TRANSPORT": "queue", "ORTH_EXECUTOR__QUEUE": "a", "ORTH_EXECUTOR__QUEUE_CONCURRENCY": "1"}
    return site.executor(JOBS, name, **queue)
