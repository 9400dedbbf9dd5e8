"""One of two executors ends or freezes while it holds triggers that were sent ahead of their time.

Killed, it has started none of what was not due: the other executor starts it, in time. Frozen, it will start what it
holds when it moves again, so nobody else may.
"""

import os
import signal
import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.servers.processes import free_port
from tests.walk.processes import Api, Process, Site, eventually

JOBS = Path(__file__).parent.parent / "walk" / "noting_jobs.py"
STEP = 1000
STEADY = {"ORTH_CLUSTER__LEASE": "10s", "ORTH_CLUSTER__LEASE_RENEW": "2s"}
"""The lead does not change for a moment without a processor: that is another story."""
NOTICED = 700
"""Milliseconds within which a dead process is noticed and what it held is sent again, on a busy machine."""


def test_what_a_killed_executor_held_is_started_by_the_other(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    with Site(tmp_path, NOTES=str(notes), **STEADY) as site:
        api, job_id, holder, address = _two_executors(site, notes)
        held = _held(api, job_id, address)
        holder.popen.kill()
        holder.popen.wait(10)
        dead = time.time() * 1000
        wanted = [fire for fire in held if fire > dead + NOTICED]
        assert wanted, "nothing was held that could be saved"
        eventually(lambda: set(wanted) <= _noted(notes).keys(), within=10, what="every fire that was held")
        api.call("POST", f"/api/v1/jobs/{job_id}/stop")
        assert [fire for fire, count in _noted(notes).items() if count != 1] == []


def test_what_a_frozen_executor_holds_is_started_by_nobody_else(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    with Site(tmp_path, NOTES=str(notes), ORTH_REGISTRY__PROBE_TIMEOUT="300ms", **STEADY) as site:
        api, job_id, holder, address = _two_executors(site, notes)
        held = _held(api, job_id, address)
        os.kill(holder.popen.pid, signal.SIGSTOP)
        frozen = time.time() * 1000
        eventually(lambda: max(_noted(notes)) > max(held) + STEP, what="fires that the other executor starts")
        assert not {fire for fire in held if fire > frozen} & _noted(notes).keys()
        os.kill(holder.popen.pid, signal.SIGCONT)
        eventually(lambda: set(held) <= _noted(notes).keys(), within=10, what="what it held")
        api.call("POST", f"/api/v1/jobs/{job_id}/stop")
        assert [fire for fire, count in _noted(notes).items() if count != 1] == []


def _two_executors(site: Site, notes: Path) -> tuple[Api, int, Process, str]:
    """A job that fires every second, and the executor that gets all of it."""
    site.coordinator()
    api = site.api()
    ports = sorted([free_port(), free_port()], key=str)
    holder, _other = (site.executor(JOBS, f"executor-{port}", port=port) for port in ports)
    eventually(lambda: _reachable(api) == 2, what="both executors")
    group = api.call("POST", "/api/v1/groups", {"app_name": "walk-tests"})
    body = {
        "job_group": group["id"],
        "job_desc": "fires every second",
        "schedule_type": "FIX_RATE",
        "schedule_conf": f"{STEP}ms",
        "executor_handler": "note",
        "executor_route_strategy": "FIRST",
        "overlap": "executor",  # else the job keeps to the executor that may be running it
    }
    job_id = int(api.call("POST", "/api/v1/jobs", body)["id"])
    api.call("POST", f"/api/v1/jobs/{job_id}/start")
    eventually(lambda: len(_noted(notes)) >= 2, what="the first fires")
    return api, job_id, holder, f"http://127.0.0.1:{ports[0]}"


def _reachable(api: Api) -> int:
    states = [entry["reachability"] for entry in api.call("GET", "/api/v1/executors")["items"]]
    return sum(bool(found) and found[0]["state"] == "reachable" for found in states)


def _held(api: Api, job_id: int, address: str) -> list[int]:
    """The fires that the executor has and that are due later than in a second; as soon as there are some."""

    def look() -> list[int]:
        soon = time.time() * 1000 + STEP
        items: list[dict[str, Any]] = api.items(f"/api/v1/executions?job_id={job_id}&status=pending")
        found = [_instant(item["schedule_time"]) for item in items if item["executor_address"] == address]
        return found if any(fire > soon for fire in found) else []

    return eventually(look, what="fires sent ahead")


def _instant(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def _noted(notes: Path) -> Counter[int]:
    lines = notes.read_text().splitlines() if notes.exists() else []
    return Counter(int(line.split()[1]) for line in lines)
