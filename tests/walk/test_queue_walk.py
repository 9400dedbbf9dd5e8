"""A trigger through a queue and back, with real processes, over every kind of channels."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.processes import free_port
from tests.walk.processes import Api, Process, Site, eventually

JOBS = Path(__file__).with_name("noting_jobs.py")
QUICK = {
    "ORTH_CLUSTER__HEARTBEAT": "1s",
    "ORTH_CLUSTER__DEAD_AFTER": "3s",
    "ORTH_CLUSTER__ORPHAN_CHECK": "2s",
    "ORTH_EXECUTOR__QUEUE_HEARTBEAT": "500ms",
}


@pytest.fixture(params=["memory", "database", "redis"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    url = request.getfixturevalue("redis_url") if request.param == "redis" else f"{request.param}://"
    with Site(tmp_path, NOTES=str(tmp_path / "notes"), ORTH_CHANNELS__URL=url, **QUICK) as site:
        site.coordinator()
        yield site


def executor(site: Site, name: str, queues: str) -> Process:
    return site.executor(JOBS, name, ORTH_EXECUTOR__TRANSPORT="queue", ORTH_EXECUTOR__QUEUE=queues)


def job(api: Api, handler: str, **fields: Any) -> int:
    groups = {group["app_name"]: group["id"] for group in api.items("/api/v1/groups")}
    if "walk-tests" not in groups:
        groups["walk-tests"] = api.call("POST", "/api/v1/groups", {"app_name": "walk-tests"})["id"]
    body = {"job_group": groups["walk-tests"], "job_desc": handler, "executor_handler": handler, **fields}
    return int(api.call("POST", "/api/v1/jobs", body)["id"])


def trigger(api: Api, job_id: int, **body: Any) -> int:
    return int(api.call("POST", f"/api/v1/jobs/{job_id}/trigger", body)["execution_ids"][0])


def until(api: Api, execution_id: int, within: float = 30.0, **facts: Any) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        found: dict[str, Any] = api.call("GET", f"/api/v1/executions/{execution_id}")
        return found if all(found[name] == value for name, value in facts.items()) else None

    return eventually(look, within=within, what=f"execution {execution_id} with {facts}")


def test_the_way_of_an_execution_through_a_queue(site: Site) -> None:
    api = site.api()
    quick, slow = (
        job(api, "note", executor_queue="a"),
        job(api, "slow", executor_queue="b", executor_param='{"seconds": 60}'),
    )
    waiting = trigger(api, quick)
    until(api, waiting, phase="offered")
    assert "no executor takes from it" in api.call("GET", f"/api/v1/executions/{waiting}/why")["next"]

    first = executor(site, "executor-1", "a,b")
    ended = until(api, waiting, status="success")
    assert (ended["handle_msg"], ended["queue"]) == ("noted", "walk-tests.a")
    listed = eventually(lambda: api.items("/api/v1/executors"), what="the executor in the list")
    assert sorted(listed[0]["queues"]) == ["walk-tests.a", "walk-tests.b"]

    held = trigger(api, slow)
    taken = until(api, held, phase="running")
    assert taken["executor_address"] == listed[0]["address"]
    api.call("POST", f"/api/v1/executions/{held}/kill")
    until(api, held, status="failed", reason_code="killed")
    eventually(lambda: api.items("/api/v1/executors")[0]["load"] == 0, what="the handler to be ended")

    assert first.end() == 0
    again = trigger(api, quick)
    executor(site, "executor-2", "a")
    until(api, again, status="success")
    notes = Path(site.settings["NOTES"]).read_text().split("\n")
    assert sorted(int(line.split()[0]) for line in notes if line) == [waiting, held, again]


def test_logs_outlive_their_executor(site: Site) -> None:
    api = site.api()
    failing = job(api, "fail", executor_queue="a")
    gone = executor(site, "executor-1", "a")
    one = trigger(api, failing)
    until(api, one, status="failed")

    def whole() -> dict[str, Any] | None:
        found: dict[str, Any] = api.call("GET", f"/api/v1/executions/{one}/log")
        return found if found["end"] else None

    before = eventually(whole, what="the end of the log")
    assert "failed as asked" in before["content"]
    gone.end(signal.SIGKILL)
    for file in (site.folder / "executor-1").rglob("*.log"):
        file.unlink()
    assert api.call("GET", f"/api/v1/executions/{one}/log")["content"] == before["content"]


def test_coordinators_that_come_to_share_a_file_hear_each_other(tmp_path: Path) -> None:
    """Nobody has set any channels. The executor knows only the coordinator that came later and does not lead."""
    lease = {"ORTH_CLUSTER__LEASE": "60s", "ORTH_CLUSTER__LEASE_RENEW": "10s"}
    with Site(tmp_path, NOTES=str(tmp_path / "notes"), **QUICK, **lease) as site:
        site.coordinator()
        api, second = site.api(), free_port()
        held = until(api, trigger(api, job(api, "note", executor_queue="a")), phase="offered")
        site.coordinator("node-2", port=second)
        site.executor(
            JOBS,
            ORTH_EXECUTOR__TRANSPORT="queue",
            ORTH_EXECUTOR__QUEUE="a",
            ORTH_EXECUTOR__COORDINATORS=f"http://127.0.0.1:{second}",
        )
        assert until(api, held["id"], status="success")["handle_msg"] == "noted"
