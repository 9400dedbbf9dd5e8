"""An executor killed with SIGKILL at random moments under load, and started again on its address and its folder.

Two witnesses tell what the coordinator must know in the end: a file that the handlers force to the disk, and the
journal as each killed process left it. A journalled result is a promise: the coordinator has it, once, as it was
written. A run that is witnessed and was not journalled died with its process; it is not run again, and is no success.
"""

import json
import os
import random
import re
import shutil
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from orth.events import Events
from orth.executor.journal import Journal
from orth.wire.messages import CallbackItem
from tests.servers.processes import free_port
from tests.walk.processes import HTTP, TOKEN, Api, Site, eventually

JOBS = Path(__file__).parent / "witness_jobs.py"
LONG = os.environ.get("ORTH_TEST_FAULTS") == "long"
KILLS = 50 if LONG else 4
HANDLER_SECONDS = (0.0, 0.0, 0.0, 0.02, 0.1, 0.2)
JOBS_OF_EACH = 16 if LONG else 5
STEP = 200
"""Milliseconds between two fires of a job: 480 triggers a second of all jobs together, or 150. They are planned many at
a time and so sent many at a time."""
AT_WORK = 50
AT_MOST = 2 * KILLS
"""Only kills that met results on their way count, journalled and not acknowledged: at random moments, some do not."""


def test_every_recorded_result_arrives_once(tmp_path: Path) -> None:
    chance = random.Random(20_260_101)
    notes, outbox = tmp_path / "notes", tmp_path / "executor-1" / "outbox"
    promised: dict[int, CallbackItem] = {}
    met: list[int] = []
    with Site(tmp_path, NOTES=str(notes)) as site:
        coordinator = site.coordinator()
        port = free_port()
        executor = site.executor(JOBS, port=port)
        api = site.api()
        jobs = _start_jobs(api)
        while sum(map(bool, met)) < KILLS and len(met) < AT_MOST:
            _wait_for_more(notes)
            time.sleep(chance.uniform(0.0, 0.6))
            executor.popen.kill()
            executor.popen.wait(10)
            left = _journalled(outbox)
            met.append(len(left))
            promised |= left
            executor = site.executor(JOBS, port=port)
        for job_id in jobs:
            api.call("POST", f"/api/v1/jobs/{job_id}/stop")
        eventually(lambda: _at_rest(port), what="delivery of the rest")
        assert executor.end() == 0
        assert _journalled(outbox) == {}
        _check(_executions(api, jobs), _witnessed(notes), promised, coordinator.text())
    assert sum(map(bool, met)) == KILLS, f"results that the kills met: {met}"


def _start_jobs(api: Api) -> list[int]:
    """Jobs of handlers that take no time, some and a while."""
    group = api.call("POST", "/api/v1/groups", {"app_name": "walk-tests"})
    jobs = []
    for seconds in HANDLER_SECONDS * JOBS_OF_EACH:
        body = {
            "job_group": group["id"],
            "job_desc": f"takes {seconds}",
            "schedule_type": "FIX_RATE",
            "schedule_conf": f"{STEP}ms",
            "executor_handler": "witness",
            "executor_param": json.dumps({"seconds": seconds}),
        }
        jobs.append(int(api.call("POST", "/api/v1/jobs", body)["id"]))
    for job_id in jobs:
        api.call("POST", f"/api/v1/jobs/{job_id}/start")
    return jobs


def _wait_for_more(notes: Path) -> None:
    """Until the executor is at work again, and in the middle of it."""
    before = len(_witnessed(notes))
    eventually(lambda: len(_witnessed(notes)) >= before + AT_WORK, what=f"{AT_WORK} more executions")


def _witnessed(notes: Path) -> list[int]:
    return [int(line) for line in notes.read_text().split()] if notes.exists() else []


def _journalled(outbox: Path) -> dict[int, CallbackItem]:
    """The results a dead process has left to be delivered, found as its successor will find them.

    They are read from a copy: reading mends, and it is the successor that is to meet what the kill has torn.
    """
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "outbox"
        shutil.copytree(outbox, copy)
        journal = Journal(copy, Events())
        try:
            return journal.recover()
        finally:
            journal.close()


def _executions(api: Api, jobs: list[int]) -> list[dict[str, Any]]:
    return [one for job_id in jobs for one in api.items(f"/api/v1/executions?job_id={job_id}")]


def _at_rest(port: int) -> bool:
    """Whether the executor has nothing left to do and nothing left to deliver."""
    answer = HTTP.request("GET", f"http://127.0.0.1:{port}/health", headers={"ORTH-ACCESS-TOKEN": TOKEN})
    health = json.loads(answer.data)
    return bool(health["open"] == health["undelivered"] == 0)


def _check(
    executions: list[dict[str, Any]], witnessed: list[int], promised: dict[int, CallbackItem], told: str
) -> None:
    by_id = {one["id"]: one for one in executions}
    assert [log_id for log_id, times in Counter(witnessed).items() if times > 1] == [], "an execution ran twice"
    missing = [log_id for log_id in promised if by_id[log_id]["handle_code"] != promised[log_id].handle_code]
    assert missing == [], "a journalled result has not arrived"
    assert all(by_id[log_id]["handle_msg"] == item.handle_msg for log_id, item in promised.items())
    succeeded = {one["id"] for one in executions if one["status"] == "success"}
    assert succeeded <= set(witnessed), "a success that nobody saw run"
    assert all(by_id[log_id]["handle_msg"] == f"witnessed {log_id}" for log_id in succeeded)
    ended = Counter(int(log_id) for log_id in re.findall(r"#(\d+)  Success 200/200", told))
    assert ended.keys() == succeeded
    assert set(ended.values()) <= {1}, "a result was stored twice"
    assert len(succeeded) >= AT_WORK * KILLS
