"""What happens to the registry when something between its parts is gone: real processes, real sockets, a real server.

The times are a thirtieth of the usual ones, with some room for a busy machine: a beat a second, removal after six.
"""

import signal
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import URL, make_url

from orth.store.migrating import upgrade
from tests.conftest import StartServer
from tests.servers.postgres import PostgresServer
from tests.servers.processes import free_port
from tests.walk.cut_line import CutLine
from tests.walk.processes import Api, Process, Site, eventually

JOBS = Path(__file__).parent / "noting_jobs.py"
QUICK = {
    "ORTH_EXECUTOR__HEARTBEAT": "1s",
    "ORTH_REGISTRY__HEARTBEAT": "1s",
    "ORTH_REGISTRY__DEAD_AFTER": "6s",
    "ORTH_REGISTRY__MONITOR": "1s",
    "ORTH_REGISTRY__PROBE_TIMEOUT": "500ms",
}
DEAD_AFTER = 6.0


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


def executors(api: Api) -> dict[str, dict[str, Any]]:
    return {one["address"]: one for one in api.call("GET", "/api/v1/executors")["items"]}


def reached(api: Api, address: str) -> str | None:
    one = executors(api).get(address)
    return one["reachability"][0]["state"] if one else None


def job(api: Api, **fields: object) -> int:
    group = api.call("POST", "/api/v1/groups", {"app_name": "walk-tests"})
    body = {"job_group": group["id"], "job_desc": "note", "executor_handler": "note", **fields}
    return int(api.call("POST", "/api/v1/jobs?allow_unknown_handler=true", body)["id"])


def trigger(api: Api, job_id: int) -> int:
    return int(api.call("POST", f"/api/v1/jobs/{job_id}/trigger", {}, expect=202)["execution_ids"][0])


def ended(api: Api, execution_id: int) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        one: dict[str, Any] = api.call("GET", f"/api/v1/executions/{execution_id}")
        return one if one["status"] not in ("init", "pending") else None

    return eventually(look, what=f"the end of execution {execution_id}")


def has_left(process: Process, address: str) -> bool:
    return f"executor {address} left walk-tests" in process.text()


def test_a_dead_executor_on_a_reachable_host_is_out_of_routing_within_two_seconds(tmp_path: Path, notes: Path) -> None:
    with Site(tmp_path, NOTES=str(notes)) as site:  # the usual times: a beat every thirty seconds
        site.coordinator()
        port = free_port()
        doomed = site.executor(JOBS, "executor-1", port=port)
        site.executor(JOBS, "executor-2")
        api, address = site.api(), f"http://127.0.0.1:{port}"
        eventually(lambda: len(executors(api)) == 2, what="both executors")
        job_id = job(api, executor_route_strategy="FIRST")
        eventually(lambda: reached(api, address) == "reachable", what="the connection to it")
        killed = time.monotonic()
        doomed.end(signal.SIGKILL)
        eventually(lambda: reached(api, address) in ("suspect", "unreachable"), within=2, what="the suspicion")
        assert time.monotonic() - killed < 2
        for _ in range(5):
            one = ended(api, trigger(api, job_id))
            assert (one["status"], one["executor_address"] != address) == ("success", True)
        assert executors(api)[address]["state"] == "alive", "its last beat is not old, and it is avoided all the same"


def test_a_job_never_runs_in_another_application_that_has_taken_over_the_address(tmp_path: Path, notes: Path) -> None:
    with Site(tmp_path, NOTES=str(notes)) as site:  # the usual times: the dead one stays in the registry for a while
        site.coordinator()
        port = free_port()
        doomed = site.executor(JOBS, "executor-1", port=port)
        api, address = site.api(), f"http://127.0.0.1:{port}"
        eventually(lambda: address in executors(api), what="the registration")
        job_id = job(api)
        assert ended(api, trigger(api, job_id))["status"] == "success"
        doomed.end(signal.SIGKILL)
        site.executor(JOBS, "executor-2", port=port, ORTH_EXECUTOR__APP_NAME="other-app")
        one = ended(api, trigger(api, job_id))
        assert (one["status"], one["reason_code"]) == ("trigger_failed", "not_sent")
        assert "does not accept what was registered for it" in one["trigger_msg"]
        assert len(notes.read_text().splitlines()) == 1, "nothing ran in the other application"
        other = site.executor(JOBS, "executor-3")
        eventually(lambda: len(api.call("GET", "/api/v1/executors")["items"]) == 3, what="a second executor of the app")
        for _ in range(4):
            assert ended(api, trigger(api, job_id))["status"] == "success", "the other executor gets it"
        assert other.alive()


def test_an_executor_behind_a_partition_is_avoided_removed_and_back_at_once(tmp_path: Path, notes: Path) -> None:
    with Site(tmp_path, NOTES=str(notes), **QUICK) as site:
        coordinator = site.coordinator()
        port = free_port()
        with CutLine(port) as inwards, CutLine(site.port) as outwards:
            cut_off = {"ORTH_EXECUTOR__ADDRESS": inwards.url, "ORTH_EXECUTOR__COORDINATORS": outwards.url}
            executor = site.executor(JOBS, "executor-1", port=port, **cut_off)
            site.executor(JOBS, "executor-2")
            api = site.api()
            eventually(lambda: len(executors(api)) == 2, what="both executors")
            job_id = job(api, executor_route_strategy="ROUND")
            eventually(lambda: reached(api, inwards.url) == "reachable", what="the connection to it")
            inwards.cut()
            outwards.cut()
            eventually(lambda: reached(api, inwards.url) in ("suspect", "unreachable"), within=20, what="a suspicion")
            ends = [ended(api, trigger(api, job_id)) for _ in range(4)]
            assert {one["status"] for one in ends} == {"success"}
            assert inwards.url not in {one["executor_address"] for one in ends}
            eventually(lambda: inwards.url not in executors(api), within=30, what="its removal")
            assert has_left(coordinator, inwards.url)
            removed = eventually(lambda: api.call("GET", "/api/v1/executors?removed=true")["items"], what="its trace")
            assert [(one["address"], one["state"]) for one in removed] == [(inwards.url, "removed")]
            (group,) = api.items("/api/v1/groups")
            assert inwards.url not in group["address_list"]
            assert executor.alive()
            inwards.mend()
            outwards.mend()
            eventually(lambda: reached(api, inwards.url) == "reachable", within=20, what="its return")
            used = {ended(api, trigger(api, job_id))["executor_address"] for _ in range(4)}
            assert inwards.url in used


def test_an_executor_goes_on_with_another_coordinator(postgres_url: str, tmp_path: Path, notes: Path) -> None:
    upgrade(postgres_url)
    with Site(tmp_path, postgres_url, NOTES=str(notes), **QUICK) as site:
        first = site.coordinator("node-1")
        other = free_port()
        second = site.coordinator("node-2", port=other)
        both = f"{site.url},http://127.0.0.1:{other}"
        port = free_port()
        executor = site.executor(JOBS, port=port, ORTH_EXECUTOR__COORDINATORS=both)
        address, api = f"http://127.0.0.1:{port}", Api(f"http://127.0.0.1:{other}")
        eventually(lambda: address in executors(api), what="the registration")
        known = executors(api)[address]
        first.end(signal.SIGKILL)
        eventually(lambda: executors(api)[address]["last_beat"] > known["last_beat"], what="a beat through the other")
        eventually(lambda: "node-2 leads" in second.text(), what="the second leader")
        began = time.monotonic()
        while time.monotonic() - began < 1.5 * DEAD_AFTER:
            one = executors(api)[address]  # there all the time
            assert (one["incarnation"], one["since"]) == (known["incarnation"], known["since"])
            time.sleep(0.2)
        assert not has_left(second, address)
        assert ended(api, trigger(api, job(api)))["status"] == "success"
        assert executor.alive()


@pytest.mark.parametrize("silent", [False, True], ids=["gone", "silent"])
def test_nobody_is_thrown_out_because_the_database_was_away(
    start_server: StartServer, tmp_path: Path, notes: Path, silent: bool
) -> None:
    """It is gone, or it hangs: then nobody is told, and everybody has to find out."""
    server = start_server(PostgresServer, durable=True)
    url = make_url(server.create_database())
    upgrade(url.render_as_string(hide_password=False))
    assert url.port is not None
    with (
        CutLine(url.port) as line,
        Site(tmp_path, _through(url, line), NOTES=str(notes), **QUICK) as site,
    ):
        coordinator = site.coordinator()
        port = free_port()
        executor = site.executor(JOBS, port=port)
        address, api = f"http://127.0.0.1:{port}", site.api()
        eventually(lambda: reached(api, address) == "reachable", what="the registration")
        job_id = job(api)
        line.cut() if silent else server.halt()
        eventually(lambda: "not registered: " in executor.text(), what="a refused beat")
        eventually(lambda: "does not answer" in executor.text() or not silent, what="a beat that is told why")
        answer = api.call("GET", "/api/v1/executors")
        assert answer["from_memory"] is True
        (one,) = answer["items"]
        assert (one["address"], one["reachability"][0]["state"]) == (address, "reachable")
        api.call("GET", "/api/v1/jobs", expect=503)
        time.sleep(1.5 * DEAD_AFTER)  # the silence has to be longer than what removes an executor
        line.mend() if silent else server.start()
        eventually(lambda: _again(api, address), within=30, what="a beat that is stored")
        began = time.monotonic()
        while time.monotonic() - began < 1.5 * DEAD_AFTER:
            assert address in executors(api)
            time.sleep(0.2)
        assert not has_left(coordinator, address)
        assert ended(api, trigger(api, job_id))["status"] == "success"


def _through(url: URL, line: CutLine) -> str:
    return url.set(port=line.port).render_as_string(hide_password=False)


def _again(api: Api, address: str) -> bool:
    answer = api.call("GET", "/api/v1/executors")
    states = {one["address"]: one["state"] for one in answer["items"]}
    return not answer["from_memory"] and states.get(address) == "alive"
