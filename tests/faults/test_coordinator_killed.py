"""A coordinator killed with SIGKILL at every step of the walk, real processes: on SQLite, and, all or some of the steps
as in ``make faults`` or ``make test``, on PostgreSQL.

After a restart every due fire ran exactly once or has a recorded reason. The witness is a file the handler writes:
one line per run, whatever the database believes.
"""

import os
import signal
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from orth.failpoints import POINTS
from orth.testing.stores import prepare_store
from tests.walk.processes import SHORT, Api, Process, Site, eventually

JOBS = Path(__file__).parents[1] / "walk" / "noting_jobs.py"
STEP = 500


# Alarms are no part of the way of a fire; they have a test of their own (test_alarm_sender_killed).
ON_THE_WAY = [name for name in POINTS if not name.startswith("alarms.")]
LONG = os.environ.get("ORTH_TEST_FAULTS") == "long"
ON_POSTGRESQL = ON_THE_WAY if LONG else ["due.committed", "dispatch.sent", "finishing.written"]


def _rounds(points: list[str]) -> list[list[str]]:
    """The points one site is killed at, one after the other: a few share a site, whose start costs more than a kill."""
    return [[point] for point in points] if LONG else [points[at::3] for at in range(3) if points[at::3]]


@pytest.mark.parametrize("points", _rounds(ON_THE_WAY), ids=",".join)
def test_every_fire_ran_once_or_has_a_reason(points: list[str], tmp_path: Path) -> None:
    kill_and_go_on(points, f"sqlite:///{tmp_path / 'orth.db'}", tmp_path)


@pytest.mark.parametrize("points", [[point] for point in ON_POSTGRESQL] if LONG else [ON_POSTGRESQL], ids=",".join)
def test_so_it_is_on_postgresql(points: list[str], postgres_url: str, tmp_path: Path) -> None:
    kill_and_go_on(points, postgres_url, tmp_path)


def kill_and_go_on(points: list[str], url: str, tmp_path: Path) -> None:
    prepare_store(url)
    notes = tmp_path / "notes"
    with Site(tmp_path, url, NOTES=str(notes), **SHORT) as site:
        doomed = site.coordinator(ORTH_FAILPOINTS=f"{points[0]}=kill@3")
        site.executor(JOBS)
        job_id = _job_twice_a_second(site.api())
        _await_death(doomed)
        for point in points[1:]:
            _await_death(site.coordinator(ORTH_FAILPOINTS=f"{point}=kill@3", ready=False))
        site.coordinator()
        api = site.api()
        runs_by_then = len(_executions(api, job_id))
        eventually(lambda: len(_ended(api, job_id)) >= runs_by_then + 3, what="three more executions")
        api.call("POST", f"/api/v1/jobs/{job_id}/stop")
        eventually(lambda: len(_ended(api, job_id)) == len(_executions(api, job_id)), what="the end of all executions")
        _check(api, job_id, notes)


def _await_death(doomed: Process) -> None:
    doomed.popen.wait(30)
    assert doomed.popen.returncode == -signal.SIGKILL, doomed.text()


def _job_twice_a_second(api: Api) -> int:
    group = api.call("POST", "/api/v1/groups", {"app_name": "walk-tests"})
    job = api.call(
        "POST",
        "/api/v1/jobs",
        {
            "job_group": group["id"],
            "job_desc": "note",
            "schedule_type": "FIX_RATE",
            "schedule_conf": f"{STEP}ms",
            "misfire_strategy": "FIRE_ALL",
            "executor_handler": "note",
        },
    )
    api.call("POST", f"/api/v1/jobs/{job['id']}/start")
    return int(job["id"])


def _executions(api: Api, job_id: int) -> list[dict[str, Any]]:
    return api.items(f"/api/v1/executions?job_id={job_id}")


def _ended(api: Api, job_id: int) -> list[dict[str, Any]]:
    return [one for one in _executions(api, job_id) if one["phase"] == "ended"]


def _ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def _check(api: Api, job_id: int, notes: Path) -> None:
    ledger = api.items(f"/api/v1/jobs/{job_id}/fires")[::-1]
    for earlier, later in pairwise(ledger):
        assert _ms(later["fire_time"]) == _ms(earlier["last_time"]) + STEP, "a fire is missing from the ledger"
    assert all(entry["decision"] == "run" or entry["reason"] for entry in ledger)
    planned = {_ms(entry["fire_time"]) for entry in ledger if entry["decision"] == "run"}
    executions = _executions(api, job_id)
    recalled = {_ms(one["schedule_time"]) for one in executions if one["reason_code"] == "job_stopped"}
    fires = [_ms(one["schedule_time"]) for one in executions]
    assert len(set(fires)) == len(fires), "a fire has two executions"
    assert set(fires) - recalled == planned, "executions and ledger disagree"
    noted = [line.split() for line in notes.read_text().splitlines()]
    assert len({log_id for log_id, _due in noted}) == len(noted), "an execution ran twice"
    succeeded = {one["id"] for one in executions if one["status"] == "success"}
    assert {int(log_id) for log_id, _due in noted} == succeeded
    unexplained = [one for one in executions if one["status"] != "success" and not one["trigger_msg"]]
    assert unexplained == []
    assert len(succeeded) >= 3
